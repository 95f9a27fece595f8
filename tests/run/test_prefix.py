"""The beginning of a prompt is the same bytes, whatever else there is in a catalogue, and after every restart."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.run.prefix_child import pinned_book, stable_parts
from tests.run.shelf import CATALOGUES, WORDS, Shelf, Watching, procedure, sent
from tests.tools.servers import odd

from sopwith import Engine, MemoryLog, SqliteLog
from sopwith.errors import ToolSourceError
from sopwith.ir.event import ModelRequested
from sopwith.ir.procedure import Grip
from sopwith.ir.tool import ToolSpec
from sopwith.lang.compile import compile_procedure
from sopwith.lang.read import read
from sopwith.run.book import Book, language_of
from sopwith.tools import Catalogue

CHILD = Path(__file__).with_name("prefix_child.py")
FINISH = {
    "free": '{"name": "finish", "arguments": {"outcome": "complete", "result": "done"}}',
    "guide": '{"name": "finish", "arguments": {"outcome": "complete"}}',
}
ENDS = {"free": [FINISH["free"], "done"], "guide": [FINISH["guide"], FINISH["guide"], "done"]}
"""The replies from a transcript to the end of a run; in guide what is left out is told once."""

GRIPS = st.sampled_from(["strict", "bounded", "guide", "free"])
LANGUAGES = st.sampled_from(list(WORDS))


class OtherProcess:
    """A process that is asked for the stable parts of prompts; its sets have another order."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(CHILD)],
            env={**os.environ, "PYTHONHASHSEED": "77"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def stable_parts(self, asked: dict[str, Any]) -> dict[str, str]:
        """As `prefix_child.stable_parts`, of a procedure and tools as they are pinned."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        """End it."""
        with self._process:
            pass


@pytest.fixture(scope="module")
def other() -> Iterator[OtherProcess]:
    """One other process for all examples."""
    process = OtherProcess()
    yield process
    process.close()


async def book_of(text: str, shelves: list[Shelf], grip: str | None) -> tuple[Book, dict[str, Any]]:
    """The book of a procedure with the tools on `shelves`, and what a run of it is pinned to."""
    found = read(text, "case.yaml").procedure
    specs = await Catalogue(shelves).specs()
    held = None if grip is None else Grip(grip)
    listed = [spec.model_dump(mode="json") for spec in specs.values()]
    language = language_of(found)
    pinned = {"procedure": found.to_data(), "tools": listed, "grip": grip, "language": language}
    return Book(compile_procedure(found, specs, held)), pinned


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), held=CATALOGUES, grip=GRIPS, language=LANGUAGES)
def test_it_depends_on_nothing_but_the_procedure_and_its_tools(
    data: st.DataObject, held: list[ToolSpec], grip: str, language: str, other: OtherProcess
) -> None:
    named = [spec.name for spec in held]
    more = [spec for spec in data.draw(CATALOGUES) if spec.name not in named]
    text = procedure(named, grip, language, data.draw(st.sampled_from(["guide", "free"])))
    book, pinned = asyncio.run(book_of(text, [Shelf("one", held)], None))
    expected = stable_parts(book)
    mixed = data.draw(st.permutations([*held, *more]))
    cut = data.draw(st.integers(0, len(mixed)))
    again, again_pinned = asyncio.run(book_of(text, [Shelf("b", mixed[:cut]), Shelf("a", mixed[cut:])], None))
    assert stable_parts(again) == expected
    assert stable_parts(pinned_book(pinned)) == expected
    assert other.stable_parts(again_pinned) == expected


@settings(max_examples=40, deadline=None)
@given(data=st.data(), held=CATALOGUES, language=LANGUAGES, step=st.sampled_from(["guide", "free"]))
async def test_a_source_may_vanish_and_return_as_another_one_while_a_run_waits(
    data: st.DataObject, held: list[ToolSpec], language: str, step: str
) -> None:
    text, log = procedure([spec.name for spec in held], "strict", language, step), MemoryLog()
    before = Watching(['{"wish": "x"}', '{"wish": "x"}'])
    shelf = Shelf("one", held)
    first = await Engine(text, [shelf], before, log=log).run("go", run_id="r1")
    assert first.outcome is None
    shelf.gone = True
    after = Watching(ENDS[step])
    with pytest.raises(ToolSourceError):
        await Engine(text, [shelf], after, log=log).resume("r1", answer="this")
    named = {spec.name for spec in held}
    more = [spec for spec in data.draw(CATALOGUES) if spec.name not in named]
    reworded = [spec.model_copy(update={"description": "other words"}) for spec in held]
    back = Shelf("one", data.draw(st.permutations([*reworded, *more])))
    run = await Engine(text, [back], after, log=log).resume("r1", answer="this")
    assert run.status == "completed"
    asked = [event.body for event in run.events if isinstance(event.body, ModelRequested)]
    assert len({body.prefix for body in asked if body.purpose == step}) == 1
    assert len({body.prefix for body in asked if body.purpose != step}) == 1
    blocks = {request.prompt.block for request in [*before.heard, *after.heard]}
    assert len(blocks) == 1


CALLED = st.sampled_from([0, 1, 2, -1])


@settings(max_examples=40, deadline=None)
@given(
    held=CATALOGUES,
    calls=st.lists(CALLED, max_size=6),
    gone=st.integers(0, 6),
    grip=st.sampled_from(["free", "guide"]),
)
async def test_in_a_transcript_every_request_begins_with_the_one_before(
    held: list[ToolSpec], calls: list[int], gone: int, grip: str
) -> None:
    """Also where a source is gone for a while, and where replies are refused."""
    shelf = Shelf("one", held)
    book, _ = await book_of(procedure([spec.name for spec in held], "strict", "en", grip), [shelf], None)
    names = [action.name for action in book.block.actions if "__" in action.name or "-" in action.name]
    replies = ['{"wish": "x"}']
    for call in calls:
        name = names[call % len(names)] if names and call >= 0 else "nothing"
        replies.append(json.dumps({"name": name, "arguments": {}}))

    class Going(Watching):
        async def complete(self, request: Any) -> Any:
            shelf.gone = len(self.heard) == gone
            return await super().complete(request)

    model = Going([*replies, *ENDS[grip], *ENDS[grip]])
    log = MemoryLog()
    text = procedure([spec.name for spec in held], "strict", "en", grip)
    await Engine(text, [shelf], model, log=log).run("go", run_id="r1")
    await Engine(text, [Shelf("one", held)], model, log=log).resume("r1", answer="this")
    turns = [sent(request) for request in model.heard if "finish" in request.legal]
    assert turns
    for one, next_ in itertools.pairwise(turns):
        assert next_[: len(one)] == one


PROGRAM = """
import asyncio, sys
from tests.run.test_prefix import go_on
asyncio.run(go_on(*sys.argv[1:]))
"""

FIELDS = {"type": "object", "properties": {"b": {"type": "string"}, "a": {"default": 1.0}}}
SHELVED = [
    ToolSpec(name="hr.查询余额", description="查询员工年假余额", input_schema=FIELDS),
    ToolSpec(name="hr.find", description="Find a person"),
]


async def go_on(path: str, text: str, step: str) -> None:
    """Answer the question of the run in the log at `path`, in a process of its own and with more tools."""
    more = ToolSpec(name="a.first", description="comes before all others")
    shelves = [Shelf("two", [more]), Shelf("one", reversed(SHELVED))]
    async with Engine(text, shelves, Watching(ENDS[step]), log=SqliteLog(Path(path))) as engine:
        await engine.resume("r1", answer="this")


@pytest.mark.parametrize("step", ["guide", "free"])
@pytest.mark.parametrize("language", list(WORDS))
async def test_it_is_the_same_after_a_resume_in_another_process(
    step: str, language: str, tmp_path: Path
) -> None:
    text, path = procedure([spec.name for spec in SHELVED], "strict", language, step), tmp_path / "runs.db"
    model = Watching(['{"wish": "x"}'])
    async with Engine(text, [Shelf("one", SHELVED)], model, log=SqliteLog(path)) as engine:
        waiting = await engine.run("go", run_id="r1")
        assert waiting.outcome is None
    environment = {**os.environ, "PYTHONHASHSEED": "77"}
    command = [sys.executable, "-c", PROGRAM, str(path), text, step]
    await asyncio.to_thread(subprocess.run, command, check=True, timeout=60, env=environment)
    log = SqliteLog(path)
    events = await log.read("r1")
    asked = [event.body for event in events if isinstance(event.body, ModelRequested)]
    strict = {body.prefix for body in asked if body.purpose != step}
    assert [body.purpose for body in asked] == [
        "returns",
        step,
        *([step] if step == "guide" else []),
        "answer",
    ]
    assert len(strict) == 1
    assert (await log.blob(strict.pop())).decode() == sent(model.heard[0])[0]
    await log.close()


async def test_a_server_that_dies_and_comes_back_changes_nothing_that_was_sent() -> None:
    text = """
schema: sopwith/procedure/1
id: case
name: Ask a server
tools: [odd.echo, odd.die]
start: work
steps:
  work: {grip: free, do: Ask it, returns: {type: string}, end: complete}
"""
    calls = [("odd__echo", {"value": 1}), ("odd__die", {}), ("odd__echo", {"value": 2})]
    replies = [json.dumps({"name": name, "arguments": given}) for name, given in calls]
    model = Watching([*replies, FINISH["free"]])
    async with Engine(text, [odd()], model) as engine:
        run = await engine.run("go")
    assert run.status == "completed"
    errors = [e.body.error for e in run.events if e.body.kind == "call.finished"]
    assert [error is None for error in errors] == [True, False, True]
    turns = [sent(request) for request in model.heard]
    assert len(turns) == 4
    for one, next_ in itertools.pairwise(turns):
        assert next_[: len(one)] == one
