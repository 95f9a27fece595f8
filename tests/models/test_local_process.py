"""The process of a local model: it can be killed inside a prompt, survives a crash, and ends with its owner."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.models.real_model import real_model_file

from sopwith.errors import ModelError, ModelFileError, UserError
from sopwith.models.local import LocalModel
from sopwith.models.local_process import STOP_SECONDS
from sopwith.models.port import Action, ModelRequest, Prompt

GRACE = 3.0
YES = ModelRequest(
    Prompt("You answer.\n", (), "Say yes."),
    "action",
    (Action("a", "", {"type": "object", "properties": {"v": {"enum": ["yes"]}}, "required": ["v"]}),),
    ("a",),
    max_tokens=24,
)
LONG = ModelRequest(Prompt("word " * 3500, (), "Go on."), "text", max_tokens=4)
SAID = '{"v": "yes"}'


def children(pid: int) -> list[int]:
    """The processes that descend from `pid`."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            if state not in "ZX":
                parents[int(entry.name)] = int(parent)
    found = [child for child, parent in parents.items() if parent == pid]
    return [*found, *(below for child in found for below in children(child))]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def wait_until_gone(pids: list[int], seconds: float) -> float:
    """How long it took until none of `pids` was left."""
    began = time.monotonic()
    while any(map(alive, pids)):
        assert time.monotonic() - began < seconds, f"{pids} are still there"
        time.sleep(0.01)
    return time.monotonic() - began


def own(before: set[int]) -> list[int]:
    """The supervisor and the model below it that were started since `before`."""
    return [pid for pid in children(os.getpid()) if pid not in before]


def computed_seconds(pid: int) -> float:
    """The time that all threads of `pid` have computed for."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def stop_inside_the_prompt(pid: int) -> None:
    """Let the model read for a moment, then stop its process, so that no machine is fast enough to end the call."""
    before = computed_seconds(pid)
    while computed_seconds(pid) - before < 0.1:
        time.sleep(0.001)
    os.kill(pid, signal.SIGSTOP)


def wait_until_started(before: set[int], call: asyncio.Task[object]) -> None:
    """Until another process is there, or the call has given up."""
    while not call.done() and len(own(before)) < 2:
        time.sleep(0.01)


@pytest.fixture
def before() -> set[int]:
    return set(children(os.getpid()))


@pytest.fixture
def model() -> Iterator[LocalModel]:
    local = LocalModel(real_model_file(), context=4096, slots=2)
    yield local
    asyncio.run(local.close())


async def test_a_file_that_is_no_model_is_told_by_the_process(tmp_path, before):
    path = tmp_path / "nothing.gguf"
    path.write_bytes(b"GGUF" + bytes(4096))
    local = LocalModel(path)
    for ask in (local.load, local.load, lambda: local.complete(YES)):
        with pytest.raises(ModelFileError) as caught:
            await ask()
        assert "not a complete GGUF" in caught.value.message.en and caught.value.hint.zh
    await local.close()
    await local.close()
    assert own(before) == []
    with pytest.raises(UserError):
        await local.complete(YES)


def test_no_process_before_the_first_call(tmp_path, before):
    path = tmp_path / "nothing.gguf"
    path.write_bytes(b"GGUF" + bytes(4096))
    LocalModel(path)
    assert own(before) == []


@pytest.mark.slow
async def test_a_limit_holds_inside_a_long_prompt_and_the_next_call_starts_anew(model, before):
    await model.load()
    first = own(before)
    assert len(first) == 2
    call = asyncio.create_task(model.complete(LONG))
    await asyncio.to_thread(stop_inside_the_prompt, first[-1])
    assert not call.done()
    began = time.monotonic()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert time.monotonic() - began < 0.5
    took = await asyncio.to_thread(wait_until_gone, first, STOP_SECONDS + GRACE)
    print(f"gone after {took:.2f} s")
    began = time.monotonic()
    assert (await model.complete(YES)).text == SAID
    print(f"next call after {time.monotonic() - began:.2f} s")
    assert set(own(before)).isdisjoint(first)


@pytest.mark.slow
async def test_a_call_beside_one_that_was_given_up_is_asked_again(model, before):
    await model.load()
    first = own(before)
    given_up = asyncio.create_task(model.complete(LONG))
    await asyncio.to_thread(stop_inside_the_prompt, first[-1])
    beside = asyncio.create_task(model.complete(YES))
    given_up.cancel()
    assert (await beside).text == SAID
    await asyncio.to_thread(wait_until_gone, first, STOP_SECONDS + GRACE)
    assert (await model.complete(YES)).text == SAID


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
async def test_a_crash_costs_one_more_attempt_and_a_second_one_is_told(model, before, number):
    await model.load()
    call = asyncio.create_task(model.complete(YES))
    await asyncio.sleep(0)
    os.kill(own(before)[-1], number)
    assert (await call).text == SAID
    call = asyncio.create_task(model.complete(LONG))
    for _ in range(2):
        known = own(before)
        os.kill(known[-1], number)
        await asyncio.to_thread(wait_until_gone, known, GRACE)
        await asyncio.to_thread(wait_until_started, before, call)
    with pytest.raises(ModelError) as caught:
        await call
    assert number.name in caught.value.message.en and "memory" in caught.value.hint.en
    assert (await model.complete(YES)).text == SAID


@pytest.mark.slow
async def test_nothing_is_left_when_the_model_is_dropped(before):
    local = LocalModel(real_model_file(), context=512, slots=1)
    await local.load()
    known = own(before)
    del local
    gc.collect()
    await asyncio.to_thread(wait_until_gone, known, GRACE)


_OWNER = """
import asyncio, os, sys, time
from tests.models.test_local_process import SAID, YES, children
from sopwith.models.local import LocalModel

model = LocalModel(sys.argv[1], context=512, slots=1)
asyncio.run(model.load())
if sys.argv[2] == "wait":
    print(*children(os.getpid()), flush=True)
    time.sleep(600)
if os.fork() == 0:
    own = asyncio.run(model.complete(YES)).text == SAID
    os._exit(0 if own else 1)
_, status = os.wait()
print(status, asyncio.run(model.complete(YES)).text == SAID, flush=True)
"""


def owner(what: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _OWNER, str(real_model_file()), what]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_the_process_dies_with_a_parent_that_is_killed():
    with owner("wait") as process:
        assert process.stdout is not None
        known = [int(pid) for pid in process.stdout.readline().split()]
        assert len(known) == 2
        process.kill()
        print(f"gone after {wait_until_gone(known, GRACE):.2f} s")


@pytest.mark.slow
def test_a_fork_has_a_model_of_its_own():
    with owner("fork") as process:
        assert process.stdout is not None
        assert process.stdout.read().split() == ["0", "True"]
        assert process.wait() == 0


@pytest.mark.slow
async def test_a_process_that_does_not_read_blocks_nobody(model, before):
    await model.load()
    first = own(before)
    for pid in first[1:]:
        os.kill(pid, signal.SIGSTOP)
    large = ModelRequest(Prompt("请" * 190_000, (), "Go on."), "text", max_tokens=4)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1.0):
            await model.complete(large)
    await asyncio.to_thread(wait_until_gone, first, STOP_SECONDS + GRACE)
    assert (await model.complete(YES)).text == SAID
