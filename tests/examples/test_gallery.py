"""The gallery: procedures of eight trades pass their checks, and each of their cases ends as it says."""

from __future__ import annotations

import datetime
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

from sopwith import Engine, Policy
from sopwith.lang.check import check
from sopwith.lang.read import read
from sopwith.models.port import ModelReply, ModelRequest
from sopwith.models.scripted import ScriptedModel
from sopwith.run.book import LETTERS, language_of
from sopwith.run.run import Run
from sopwith.tools.catalogue import Catalogue
from sopwith.tools.function import FunctionSource
from sopwith.tools.module import load_module

GALLERY = Path(__file__).parents[2] / "examples" / "gallery"
TRADES = sorted(path.name for path in GALLERY.iterdir() if path.is_dir())
CALLS = {"procurement": ("compliance",)}
"""Which procedures call those of other folders."""
CASES = [
    pytest.param(trade, json.loads(line), id=f"{trade}: {json.loads(line)['id']}")
    for trade in TRADES
    for line in (GALLERY / trade / "cases.jsonl").read_text("utf-8").splitlines()
]


class Script:
    """What the model of a case says: where a prompt shows what an entry `sees`, that; else the next one in order."""

    def __init__(self, replies: list[Any]) -> None:
        self._seen: list[dict[str, Any]] = [r for r in replies if isinstance(r, dict) and "sees" in r]
        self._left = [reply for reply in replies if reply not in self._seen]

    def __call__(self, request: ModelRequest) -> ModelReply:
        tail = request.prompt.tail
        seen = _of_an_item(tail, self._seen)
        said = seen["says"] if seen is not None else self._left.pop(0)
        if request.form == "choice":
            fits = [w == said or w.startswith(f"{said}:") for w in request.labels]
            return ModelReply(LETTERS[fits.index(True)], confidence=0.99)
        return ModelReply(said if isinstance(said, str) else json.dumps(said, ensure_ascii=False))


def _of_an_item(tail: str, seen: list[dict[str, Any]]) -> dict[str, Any] | None:
    return next((entry for entry in seen if entry["sees"] in tail and "text: " in tail), None)


class Day:
    """A clock that stands still until somebody waits."""

    def __init__(self, day: str) -> None:
        noon = datetime.datetime.combine(datetime.date.fromisoformat(day), datetime.time(12))
        self.now = int(noon.timestamp() * 1_000_000)

    def __call__(self) -> int:
        return self.now


def engine(trade: str, case: dict[str, Any], clock: Day, model: ScriptedModel | None = None) -> Engine:
    """The engine of a trade; its model says what the case says, unless another one is given."""
    folders = [GALLERY / name for name in (trade, *CALLS.get(trade, ()))]
    tools = [tool for folder in folders for tool in load_module(folder / "tools.py")]
    return Engine(
        [folder / "procedure.yaml" for folder in folders],
        tools,
        model or ScriptedModel(Script(list(case["replies"]))),
        policy=Policy.read(GALLERY / trade / "policy.yaml"),
        clock=clock,
    )


async def ended(desk: Engine, trade: str, case: dict[str, Any], clock: Day) -> Run:
    """The run of a case, with all that people and time do to it."""
    procedure = read(GALLERY / trade / "procedure.yaml").procedure.id
    given = case.get("inputs", {})
    run = await desk.run(case["request"], principal=case["by"], procedure=procedure, inputs=given)
    for then in case.get("then", []):
        ((what, value),) = cast("dict[str, Any]", then).items()
        assert run.status == "suspended", f"the run has ended before {what}"
        if what == "answer":
            run = await desk.resume(run.id, answer=value, answered=True, by=case["by"])
        elif what == "approve":
            run = await desk.approve(run.id, by=value)
        elif what == "deny":
            run = await desk.deny(run.id, by=value)
        elif what == "signal":
            run = await desk.signal(run.id, value)
        else:
            clock.now += value * 1_000_000
            run = await desk.resume(run.id)
    return run


@pytest.mark.parametrize(("trade", "case"), CASES)
async def test_a_case_ends_as_it_says(
    trade: str, case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXAMPLE_DATA", str(tmp_path))
    clock = Day(case.get("today", "2026-03-10"))
    async with engine(trade, case, clock) as desk:
        run = await ended(desk, trade, case, clock)
    assert run.status == case["expect"], run.outcome
    if "output" in case:
        assert run.outcome is not None
        assert run.outcome.output == case["output"]
    for query, rows in case["rows"].items():
        with closing(sqlite3.connect(tmp_path / f"{trade}.db")) as database:
            assert [list(row) for row in database.execute(query)] == rows


@pytest.mark.parametrize("trade", TRADES)
async def test_a_procedure_has_nothing_to_be_warned_of(trade: str) -> None:
    specs = await Catalogue([FunctionSource(load_module(GALLERY / trade / "tools.py"))]).specs()
    called = [read(GALLERY / name / "procedure.yaml").procedure for name in CALLS.get(trade, ())]
    library = {procedure.id: procedure for procedure in called}
    assert check(read(GALLERY / trade / "procedure.yaml"), specs, library) == []


def test_half_of_the_procedures_are_chinese() -> None:
    languages = [language_of(read(GALLERY / trade / "procedure.yaml").procedure) for trade in TRADES]
    assert languages.count("zh") == languages.count("en") == 4


@pytest.mark.parametrize("trade", TRADES)
def test_the_cases_show_more_than_one_ending(trade: str) -> None:
    lines = (GALLERY / trade / "cases.jsonl").read_text("utf-8").splitlines()
    assert {json.loads(line)["expect"] for line in lines} == {"completed", "escalated"}
