"""Processes for functions that a thread could not be stopped in: each is ended with all that it has started."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sopwith.errors import Text, ToolSourceError, UserError
from sopwith.ir.value import Json
from sopwith.process.supervisor import GRACE_SECONDS, supervised
from sopwith.tools.bounded import OutOfTime
from sopwith.tools.declaration import ToolError
from sopwith.tools.module import file_of
from sopwith.tools.process_child import receive, send
from sopwith.tools.signature import place
from sopwith.tools.worker import NotStarted, Workers

MOST = 8
"""So many calls of one source run side by side, each in a process; the others wait for their turn."""

_START_SECONDS = 30.0
_CLOSE_SECONDS = 1.0
_SERVE = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from sopwith.tools.process_child import serve; serve(int(sys.argv[2]), int(sys.argv[3]))"
)


class Ended(Exception):
    """The process ended during the call, with this exit status (below zero: by this signal)."""

    def __init__(self, status: int | None) -> None:
        super().__init__(f"its process ended during the call (exit status {status})")
        self.said = Text(str(self), f"其进程在调用期间结束（退出状态 {status}）")


@dataclass(frozen=True, slots=True)
class Target:
    """Where a process finds a function: in a module by its name, or in a file that `load_module` has read."""

    file: str | None
    module: str
    name: str


def target_of(function: Callable[..., Any]) -> Target:
    """The place of `function`. Raises `UserError` for one that another process cannot import."""
    module, name = function.__module__, function.__qualname__
    here = sys.modules.get(module)
    if inspect.iscoroutinefunction(function):
        why = Text("it is async: it is cancelled when its time is up", "它是异步函数：超时后会被取消")
        hint = Text("Leave process=True out.", "请去掉 process=True。")
    elif inspect.ismethod(function) or "." in name or name == "<lambda>":
        why = Text("it is not a function of a module's top level", "它不是模块顶层的函数")
        hint = Text("Define it with def at the top level of a module.", "请在模块顶层用 def 定义它。")
    elif module == "__main__":
        why = Text(
            "it is in __main__, which no other process can import", "它在 __main__ 中，其他进程无法导入"
        )
        hint = Text("Move it into a module of its own, and import it.", "请把它移到单独的模块中再导入。")
    elif place(getattr(here, name, function)) != place(function):
        why = Text(f"{module}.{name} is something else", f"{module}.{name} 是另一个对象")
        hint = Text("Let one name belong to one function.", "请让一个名称只对应一个函数。")
    else:
        return Target(file_of(module), module, name)
    where = place(function)
    raise UserError(
        Text(f"{where}: {name} cannot run in a process: {why.en}",
             f"{where}：{name} 不能在单独的进程中运行：{why.zh}"), hint,
    )  # fmt: skip


class Raised(Exception):
    """The function raised something; the text is the type and the words of it."""


class Unstorable(Exception):
    """What the function returned is not JSON; the text begins with the path."""


class Processes:
    """Processes that are started when needed, kept for the next call, and ended when a call is given up."""

    def __init__(self, most: int = MOST) -> None:
        self._threads = Workers(most=most)
        self._lock = threading.Lock()
        self._idle: list[_Process] = []
        self._all: set[_Process] = set()

    async def start(self, targets: list[Target]) -> None:
        """Have a process ready that knows `targets`. Raises `ToolSourceError` for what it cannot import."""
        call = _Call(self, targets, None, "")
        try:
            await self._threads.run(call.perform, _START_SECONDS, interrupt=False)
        except (OutOfTime, NotStarted, Ended) as error:
            await asyncio.to_thread(call.give_up)
            raise ToolSourceError(
                Text(f"the process for functions did not start: {error}", f"运行函数的进程未能启动：{error}")
            ) from error

    async def run(self, target: Target, arguments: dict[str, Json], key: str, seconds: float | None) -> Json:
        """What the function returned, as JSON. Raises `ToolError` as it did, `Raised` or `Unstorable`.

        Past `seconds` `OutOfTime`, when the process and all that it has started have ended; `NotStarted` when
        none was ready in that time. `Ended` where it ended by itself.
        """
        call = _Call(self, [target], arguments, key)
        try:
            return await self._threads.run(call.perform, seconds, interrupt=False)
        except OutOfTime:
            await asyncio.shield(asyncio.to_thread(call.give_up))
            if not call.begun:
                raise NotStarted from None
            raise
        except asyncio.CancelledError:
            threading.Thread(target=call.give_up, name="sopwith-end").start()
            raise

    async def close(self) -> None:
        """End the processes: those that are idle by themselves, others at once."""
        with self._lock:
            idle, self._idle = self._idle, []
            busy, self._all = self._all - set(idle), set()
        ends = [*(process.close for process in idle), *(process.end for process in busy)]
        await asyncio.gather(*(asyncio.to_thread(end) for end in ends))
        self._threads.close()

    def take(self) -> _Process:
        """A process that nobody uses, started where there is none."""
        with self._lock:
            while self._idle:
                process = self._idle.pop()
                if process.alive:
                    return process
                self._all.discard(process)
                process.close()
            return self._started()

    def give_back(self, process: _Process) -> None:
        """Keep a process for the next call; one that has ended is replaced by one that starts."""
        with self._lock:
            if process not in self._all:  # closed in the meantime
                process.close()
            elif process.alive:
                self._idle.append(process)
            else:
                self._all.discard(process)
                process.close()
                self._idle.append(self._started())

    def _started(self) -> _Process:
        process = _Process()
        self._all.add(process)
        return process


class _Call:
    """One call, performed in a thread; `give_up` ends its process from another."""

    def __init__(
        self, processes: Processes, targets: list[Target], arguments: dict[str, Json] | None, key: str
    ) -> None:
        self.begun = False
        self._processes = processes
        self._targets = targets
        self._arguments = arguments
        self._key = key
        self._given_up = False
        self._process: _Process | None = None
        self._lock = threading.Lock()

    def perform(self) -> Json:
        """The value of the call, or what `Processes.run` raises."""
        process = self._processes.take()
        with self._lock:
            self._process, given_up = process, self._given_up
        if given_up:
            process.end()
        try:
            return self._ask(process)
        except (EOFError, OSError):
            raise Ended(process.end()) from None
        finally:
            with self._lock:
                self._process = None
            self._processes.give_back(process)

    def _ask(self, process: _Process) -> Json:
        process.wait_until_ready()
        for target in self._targets:
            question: dict[str, Any] = asdict(target)
            if self._arguments is not None:
                question |= {"arguments": self._arguments, "key": self._key}
            send(process.requests, question)
            answer = receive(process.replies)
            if "unloaded" in answer:
                raise _unloaded(target, answer["unloaded"])
        if self._arguments is None:
            return None
        self.begun = True
        return _value(receive(process.replies))

    def give_up(self) -> None:
        """End the process that performs this call, with all that it has started."""
        with self._lock:
            self._given_up = True
            process = self._process
        if process is not None:
            process.end()


class _Process:
    """One child under its supervisor, and the pipes to it: whoever has taken it reads and closes them."""

    def __init__(self) -> None:
        requests, self.requests = os.pipe()
        self.replies, replies = os.pipe()
        path = json.dumps([entry or str(Path.cwd()) for entry in sys.path])
        command = [sys.executable, "-P", "-c", _SERVE, path, str(requests), str(replies)]
        try:
            self._supervisor = subprocess.Popen(
                supervised(command),
                stdin=subprocess.DEVNULL,
                pass_fds=(requests, replies),
                start_new_session=True,
            )
        finally:
            os.close(requests)
            os.close(replies)
        self._ready = False

    @property
    def alive(self) -> bool:
        """Whether the child runs."""
        return self._supervisor.poll() is None

    def wait_until_ready(self) -> None:
        """Wait for the child's first word. Raises `EOFError` where it ended instead."""
        if not self._ready:
            receive(self.replies)
            self._ready = True

    def close(self) -> None:
        """Let a child that nobody uses end by itself; soon it is ended."""
        os.close(self.requests)
        with suppress(subprocess.TimeoutExpired):
            self._supervisor.wait(_CLOSE_SECONDS)
        self.end()
        os.close(self.replies)

    def end(self) -> int | None:
        """End the child and all that it has started, and wait for that; its exit status."""
        if self.alive:
            self._supervisor.terminate()
        with suppress(subprocess.TimeoutExpired):
            return self._supervisor.wait(GRACE_SECONDS + _CLOSE_SECONDS)
        self._supervisor.kill()
        return self._supervisor.wait(_CLOSE_SECONDS)


def _value(answer: dict[str, Any]) -> Json:
    if "refused" in answer:
        code, message, zh = answer["refused"]
        raise ToolError(code, message, zh=zh)
    if "raised" in answer:
        raise Raised(answer["raised"])
    if "unstorable" in answer:
        raise Unstorable(answer["unstorable"])
    return answer["value"]


def _unloaded(target: Target, why: str) -> ToolSourceError:
    what = f"{target.file or target.module}: {target.name}"
    return ToolSourceError(
        Text(f"{what} cannot be imported in a process of its own: {why}",
             f"{what} 无法在单独的进程中导入：{why}"),
        Text("Importing its module must not depend on what this process did before.",
             "导入该模块不能依赖当前进程之前做过的事。"),
    )  # fmt: skip
