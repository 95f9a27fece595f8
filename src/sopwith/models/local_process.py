"""A local model in a process of its own, which can be killed in the middle of a prompt and is started again."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from multiprocessing.connection import Pipe
from pathlib import Path
from queue import SimpleQueue
from typing import Any
from weakref import finalize

from sopwith.errors import ModelError, Text, UserError
from sopwith.models.llama import LlamaFile
from sopwith.models.local_child import LOADING
from sopwith.models.port import ModelReply, ModelRequest
from sopwith.process.supervisor import GRACE_SECONDS, supervised

STOP_SECONDS = 1.0
"""How long a call that was given up may go on computing before its process is killed."""

_CRASHES = 2
_WAIT_SECONDS = GRACE_SECONDS + 1.0
_SERVE = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from sopwith.models.local_child import serve; serve(int(sys.argv[2]))"
)
_AFTER_FORK: list[_Process] = []
"""Processes of the parent of this process, which are not ours to end."""


class Ended(Exception):
    """The process ended during the call: with this exit status (below zero: by this signal), or by our own will."""

    def __init__(self, status: int | None, *, ours: bool) -> None:
        super().__init__(f"exit status {status}")
        self.status = status
        self.ours = ours


class ModelProcess:
    """A model in a process that is started at the first call, and anew after it was killed or has crashed.

    A call during which the process ended is asked again: as often as it was killed because of another call, and once
    after a crash.
    """

    def __init__(self, file: LlamaFile) -> None:
        self._file = file
        self._forget()

    def _forget(self) -> None:
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._process: _Process | None = None
        self._at_exit: finalize[..., ModelProcess] | None = None
        self._closed = False

    async def load(self) -> None:
        """Start the process. Raises `ModelFileError` for a file that is no model."""
        await self._asked(None)

    async def reply(self, request: ModelRequest) -> ModelReply:
        """One reply. Raises `ModelError` where llama.cpp reports one, or the process has crashed twice."""
        return await self._asked(request)

    async def close(self) -> None:
        """End the process, and the calls that wait for it."""
        with self._lock:
            self._closed = True
            process, self._process = self._process, None
        if process is not None and self._owner == os.getpid():
            await asyncio.to_thread(process.end)

    async def _asked(self, request: ModelRequest | None) -> Any:
        crashes = 0
        while True:
            process = self._running()
            number, answer = process.ask(request)
            try:
                return await asyncio.wrap_future(answer)
            except asyncio.CancelledError:
                process.give_up(number)
                raise
            except Ended as ended:
                if self._closed:
                    raise _closed() from None
                crashes += not ended.ours
                if crashes >= _CRASHES:
                    raise _crashed(self._file.id, ended.status) from None

    def _running(self) -> _Process:
        """The process, started where there is none. One of the process that this one was forked from is left alone."""
        if self._owner != os.getpid():
            if self._process is not None:
                _AFTER_FORK.append(self._process)
            self._forget()
        with self._lock:
            if self._closed:
                raise _closed()
            if self._process is None or self._process.ended:
                if self._at_exit is not None:
                    self._at_exit.detach()
                self._process = _Process(self._file)
                self._at_exit = finalize(self, self._process.end)
            return self._process


class _Process:
    """One child under its supervisor, and two threads: one reads what it says, and one writes what it is told.

    Nobody else touches the pipe: a child that does not read blocks the writer, and no caller.
    """

    def __init__(self, file: LlamaFile) -> None:
        self._owner = os.getpid()
        self._pipe, other = Pipe()
        path = json.dumps([entry or str(Path.cwd()) for entry in sys.path])
        command = [sys.executable, "-P", "-c", _SERVE, path, str(other.fileno())]
        with other:
            self._supervisor = subprocess.Popen(
                supervised(command),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,  # llama.cpp is talkative, and what matters comes over the pipe
                pass_fds=(other.fileno(),),
                start_new_session=True,
            )
        self._lock = threading.Lock()
        self._numbers = itertools.count(LOADING + 1)
        self._ready = False
        self._loads: set[int] = set()
        self._calls: dict[int, Future[Any]] = {}
        self._given_up: set[int] = set()
        self._killed = False
        self.ended = False
        self._to_send: SimpleQueue[tuple[Any, ...] | None] = SimpleQueue()
        self._to_send.put(("load", file))
        self._writer = threading.Thread(target=self._write, name="sopwith-model-out", daemon=True)
        self._writer.start()
        threading.Thread(target=self._read, name="sopwith-model", daemon=True).start()

    def ask(self, request: ModelRequest | None) -> tuple[int, Future[Any]]:
        """The number of a call and its reply to come; without a request, the end of loading."""
        with self._lock:
            number = next(self._numbers)
            answer: Future[Any] = Future()
            if self.ended:
                answer.set_exception(Ended(None, ours=True))
                return number, answer
            self._calls[number] = answer
            if request is not None:
                self._to_send.put(("ask", number, request))
            elif self._ready:
                self._settle(number, None)
            else:
                self._loads.add(number)
        return number, answer

    def give_up(self, number: int) -> None:
        """Stop a call, and kill the process where the call does not end soon."""
        with self._lock:
            if number not in self._calls or number in self._loads:
                return
            del self._calls[number]
            self._given_up.add(number)
            self._to_send.put(("stop", number))
        timer = threading.Timer(STOP_SECONDS, self._kill_for, (number,))
        timer.daemon = True
        timer.start()

    def end(self) -> None:
        """End the child and its supervisor, and wait for that."""
        if self._owner != os.getpid():
            return
        self._killed = True
        if self._supervisor.poll() is None:
            self._supervisor.terminate()
        try:
            self._supervisor.wait(_WAIT_SECONDS)
        except subprocess.TimeoutExpired:
            self._supervisor.kill()
            self._supervisor.wait()

    def _kill_for(self, number: int) -> None:
        if number in self._given_up and self._ready and not self.ended:
            self.end()

    def _write(self) -> None:
        """Tell the child what it is to do, until it has ended."""
        while (message := self._to_send.get()) is not None:
            with suppress(OSError):  # it has just ended, which the reader will tell
                self._pipe.send(message)

    def _read(self) -> None:
        """Hand out what the child says, until it has ended."""
        pipe: Any = self._pipe
        with suppress(EOFError, OSError):
            while True:
                kind, *rest = pipe.recv()
                with self._lock:
                    self._take(kind, *rest)
        status = self._status()
        with self._lock:
            self.ended = True
            for number in list(self._calls):
                self._settle(number, Ended(status, ours=self._killed))
            self._given_up.clear()
        self._to_send.put(None)
        self._writer.join()
        pipe.close()

    def _take(self, kind: str, number: int = LOADING, value: Any = None) -> None:
        if kind == "ready":
            self._ready = True
            for waiting in self._loads:
                self._settle(waiting, None)
        elif number == LOADING:
            for waiting in list(self._calls):
                self._settle(waiting, value.error())
        else:
            self._settle(number, value.error() if kind == "failed" else value)
            self._given_up.discard(number)

    def _settle(self, number: int, outcome: Any) -> None:
        answer = self._calls.pop(number, None)
        if answer is None:
            return
        with suppress(InvalidStateError):  # nobody waits for it any more
            if isinstance(outcome, Exception):
                answer.set_exception(outcome)
            else:
                answer.set_result(outcome)

    def _status(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            return self._supervisor.wait(_WAIT_SECONDS)
        return None


def _closed() -> UserError:
    return UserError(Text("this model is closed", "该模型已关闭"))


def _crashed(model: str, status: int | None) -> ModelError:
    how = f"status {status}"
    if status is not None and status < 0:
        with suppress(ValueError):
            how = signal.Signals(-status).name
    return ModelError(
        Text(f"the process of {model} has ended twice ({how})", f"{model} 的进程两次意外结束（{how}）"),
        Text(
            "free some memory, or take a smaller model or context; fetch the file again if it goes on",
            "请释放内存，或换用更小的模型或上下文；若仍发生，请重新下载模型文件",
        ),
    )
