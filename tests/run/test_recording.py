"""The calls of a stored run, read from its log with their true values."""

from __future__ import annotations

import asyncio
import json

import pytest

from sopwith import Engine, MemoryLog, Policy
from sopwith.guard.vault import MemoryVault
from sopwith.ir.procedure import Procedure
from sopwith.models.scripted import ScriptedModel
from sopwith.run.recording import recording_of
from sopwith.run.run import Run
from sopwith.tools import Done, NotDone, RecordedSource, ToolError, tool
from sopwith.tools.recorded import Recording

ROWS = [{"id": i, "note": f"row {i} of anna@example.com"} for i in range(200)]
PROCEDURE = Procedure.from_data(
    {
        "id": "report",
        "start": "read",
        "steps": {
            "read": {"id": "read", "tool": "t.rows", "as": "rows", "next": [{"to": "count"}]},
            "count": {
                "id": "count",
                "do": "Count the rows.",
                "tool": "t.count",
                "uses": ["rows"],
                "as": "n",
                "next": [{"to": "fail"}],
            },
            "fail": {"id": "fail", "tool": "t.fail", "on_error": [{"to": "done"}], "next": [{"to": "done"}]},
            "done": {"id": "done", "end": "complete"},
        },
    }
)


@tool(name="t.rows")
def rows() -> list[dict[str, int | str]]:
    """All rows."""
    return list(ROWS)


@tool(name="t.count", effect="write")
def count(rows: list[dict[str, int | str]]) -> int:
    """Count rows."""
    return len(rows)


@tool(name="t.fail")
def fail(code: int = 7) -> int:
    """Fail."""
    raise ToolError("no", f"code {code}")


async def test_recorded_calls_have_their_true_values_also_those_passed_by_reference() -> None:
    log, vault = MemoryLog(), MemoryVault()
    model = ScriptedModel([json.dumps({"rows": {"$value": "rows"}})])
    async with Engine(
        [PROCEDURE], [rows, count, fail], model, log=log, vault=vault, policy=Policy(allow_writes=["t.*"])
    ) as engine:
        run = await engine.run("count them")
        assert run.status == "completed"
        found = await recording_of(log, run.id, vault)
    assert [call.tool for call in found.calls] == ["t.rows", "t.count", "t.fail"]
    assert found.calls[0].result.value == ROWS
    assert found.calls[1].arguments == {"rows": ROWS} and found.calls[1].result.value == 200
    failed = found.calls[2]
    assert failed.result.error is not None and failed.result.error.code == "no"
    assert (failed.arguments, failed.defaults) == ({"code": 7}, {"code"})


class Bank:
    """Loses the answer to its first payment, which is booked where `books`, and can be asked about it."""

    def __init__(self, *, books: bool) -> None:
        self.books = books
        self.booked: list[str] = []
        self.calls = 0

    def was(self, to: str, *, idempotency_key: str) -> Done | NotDone:
        return Done("R-1") if self.booked else NotDone()

    @tool(name="b.pay", effect="write", reconcile=was)
    async def pay(self, to: str) -> str:
        """Pay."""
        self.calls += 1
        if self.calls == 1:
            if self.books:
                self.booked.append(to)
            raise ConnectionError("lost")
        self.booked.append(to)
        return f"R-{self.calls}"


PAYS = """
schema: sopwith/procedure/1
id: p
output: {type: object}
start: go
steps:
  go: {tool: b.pay, with: {to: anna}, as: r, retry: {times: 1}, next: done}
  done: {end: complete, result: {r: "${r}"}}
"""
ALLOWED = Policy(allow_writes=["b.*"])


async def again(log: MemoryLog, run: str, vault: MemoryVault, *procedures: str) -> Run:
    """The run, made anew with the calls that it has made."""
    found = await recording_of(log, run, vault)

    async def load() -> Recording:
        return found

    source = RecordedSource(f"recorded:{run}", load)
    async with Engine(list(procedures), [source], policy=ALLOWED) as engine:
        return await engine.run("go", procedure="top" if len(procedures) > 1 else None)


@pytest.mark.parametrize(("books", "receipt"), [(True, "R-1"), (False, "R-2")])
async def test_a_write_that_was_made_known_is_given_again_as_it_came_out(books: bool, receipt: str) -> None:
    log, vault, bank = MemoryLog(), MemoryVault(), Bank(books=books)
    async with Engine(PAYS, [bank.pay], log=log, vault=vault, policy=ALLOWED) as engine:
        run = await engine.run("go")
        replayed = await again(log, run.id, vault, PAYS)
    assert (run.output, replayed.output) == ({"r": receipt}, {"r": receipt})
    assert [e.body.kind for e in replayed.events] == [e.body.kind for e in run.events]
    assert bank.booked == ["anna"]


async def test_a_write_that_was_cut_off_and_made_known_is_given_again() -> None:
    log, vault, bank = MemoryLog(), MemoryVault(), Bank(books=True)
    reached = asyncio.Event()

    @tool(name="b.pay", effect="write", reconcile=bank.was)
    async def pay(to: str) -> str:
        """Pay."""
        bank.booked.append(to)
        reached.set()
        await asyncio.Event().wait()
        return ""

    async with Engine(PAYS, [pay], log=log, vault=vault, policy=ALLOWED) as engine:
        running = asyncio.create_task(engine.run("go", run_id="r1"))
        await reached.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        run = await engine.resume("r1")
        replayed = await again(log, "r1", vault, PAYS)
    assert (run.output, replayed.output) == ({"r": "R-1"}, {"r": "R-1"})


CHILD = """
schema: sopwith/procedure/1
id: child
inputs: {n: {type: integer}}
output: {type: object}
start: w
steps:
  w: {tool: b.note, with: {n: "${inputs.n}"}, as: z, next: done}
  done: {end: complete, result: {z: "${z}"}}
"""
MIDDLE = """
schema: sopwith/procedure/1
id: middle
inputs: {n: {type: integer}}
output: {type: object}
start: c
steps:
  c: {call: {procedure: child, with: {n: "${inputs.n}"}}, as: z, next: done}
  done: {end: complete, result: {z: "${z.z}"}}
"""
TOP = """
schema: sopwith/procedure/1
id: top
output: {type: object}
start: all
steps:
  all: {each: {in: "${[1, 2]}", as: n}, call: {procedure: middle, with: {n: "${n}"}}, as: r, next: own}
  own: {tool: b.own, as: o, next: done}
  done: {end: complete, result: {r: "${r}", o: "${o}"}}
"""


async def test_the_calls_of_the_runs_that_were_called_are_recorded_too() -> None:
    @tool(name="b.note", effect="write")
    def note(n: int) -> str:
        """Note."""
        return f"note {n}"

    @tool(name="b.own")
    def own() -> str:
        """What only the first run calls."""
        return "own"

    log, vault, all_three = MemoryLog(), MemoryVault(), [TOP, MIDDLE, CHILD]
    async with Engine(all_three, [note, own], log=log, vault=vault, policy=ALLOWED) as engine:
        run = await engine.run("go", procedure="top")
        found = await recording_of(log, run.id, vault)
        replayed = await again(log, run.id, vault, *all_three)
    assert [(c.tool, c.arguments) for c in found.calls] == [
        ("b.note", {"n": 1}),
        ("b.note", {"n": 2}),
        ("b.own", {}),
    ]
    wanted = {"r": [{"z": "note 1"}, {"z": "note 2"}], "o": "own"}
    assert (run.output, replayed.output) == (wanted, wanted)
