"""Logs that earlier versions wrote are read, verified, folded and traced, and stay what they were.

`tests/golden/vN` was written by version N of the event schemas and is never written again. To add one, when `VERSION`
in `ir/event.py` or in `log/sqlite_file.py` grows: `python -m tests.golden.write tests/golden/vN`, and commit it.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import Field
from tests.cli.command import Command, make
from tests.run.desk import REFUND

from sopwith import read
from sopwith.errors import LogError
from sopwith.ir import event as events_module
from sopwith.ir.event import KINDS, VERSION, StepEntered, body_bytes, read_body
from sopwith.ir.procedure import SCHEMA, Procedure
from sopwith.ir.upcast import PROCEDURE, UPCASTERS, UnknownVersion, current, upcast
from sopwith.log import sqlite_file
from sopwith.log.audit import verify
from sopwith.log.export import to_jsonl
from sopwith.log.scan import Scan
from sopwith.log.schema import event_schema
from sopwith.log.sqlite import SqliteLog
from sopwith.run.fold import fold_all

HERE = Path(__file__).parent
GOLDEN = sorted(HERE.glob("v*"))
LOGS = [(folder, language) for folder in GOLDEN for language in ("en", "zh")]
each_log = pytest.mark.parametrize(
    ("folder", "language"), LOGS, ids=lambda part: str(getattr(part, "name", part))
)


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command in an empty folder."""
    return make(tmp_path, monkeypatch)


def copied(folder: Path, language: str, to: Path) -> Path:
    """A golden store, where it may be opened."""
    to.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(folder / f"{language}.sqlite", to / "runs.db"))


def test_this_version_has_golden_logs() -> None:
    assert f"v{VERSION}" in {folder.name for folder in GOLDEN}


@each_log
async def test_a_golden_store_reads_as_it_was_exported(folder: Path, language: str, tmp_path: Path) -> None:
    log = SqliteLog(copied(folder, language, tmp_path))
    rows = list(reversed(await log.runs()))
    read = [await log.read(row.run) for row in rows]
    await log.close()
    assert [row.run for row in rows] == [f"desk-{language}", f"all-{language}"]
    exported = (folder / f"{language}.jsonl").read_text(encoding="utf-8")
    if not UPCASTERS:
        assert "".join(map(to_jsonl, read)) == exported
    lines = [json.loads(line) for line in exported.splitlines()]
    told = [(e.run, e.seq, e.body.kind, e.hash) for events in read for e in events]
    assert told == [(line["run"], line["seq"], line["kind"], line["hash"]) for line in lines]
    schema = json.loads((folder / "event.schema.json").read_text(encoding="utf-8"))
    assert {line["kind"] for line in lines} == {arm["properties"]["kind"]["const"] for arm in schema["oneOf"]}


@each_log
def test_a_golden_store_verifies(folder: Path, language: str, tmp_path: Path) -> None:
    scan = Scan(copied(folder, language, tmp_path))
    report = verify(scan, [f"desk-{language}"])
    assert report.findings == [] and report.events > 20
    # The other run names blobs that never were; its chain is whole.
    assert {f.what for f in verify(scan).findings} == {"blob missing"}
    scan.close()


@each_log
async def test_a_golden_log_folds(folder: Path, language: str, tmp_path: Path) -> None:
    log = SqliteLog(copied(folder, language, tmp_path))
    state = fold_all(await log.read(f"desk-{language}"))
    await log.close()
    assert (state.status, state.language, state.procedure_id) == ("completed", language, "refund")
    assert state.outcome is not None and state.outcome.output == {"receipt": "R-1"}


@each_log
def test_a_golden_log_is_traced(folder: Path, language: str, command: Command) -> None:
    copied(folder, language, command.folder / ".sopwith")
    traced = command("trace", f"desk-{language}", "--json")
    assert traced.code == 0
    assert [step["step"] for step in traced.document["path"] if step["step"]] == [
        "read", "look", "worth", "pay", "tell",
    ]  # fmt: skip
    assert command("trace", f"desk-{language}").code == 0
    assert len(command("trace", f"all-{language}", "--jsonl").out.splitlines()) >= len(KINDS) - 5


# Schemas only grow


@pytest.mark.parametrize("folder", GOLDEN, ids=lambda folder: folder.name)
def test_the_schema_of_events_only_grows(folder: Path) -> None:
    then = json.loads((folder / "event.schema.json").read_text(encoding="utf-8"))
    upcast_kinds = {kind for kind, _ in UPCASTERS}
    assert breaks(then, event_schema(), upcast_kinds) == []


def breaks(then: Any, now: Any, without: set[str] = frozenset()) -> list[str]:  # type: ignore[assignment]
    """What of a schema of events an event that fitted it `then` may not fit `now`; kinds in `without` are upcast."""
    shapes = {arm["properties"]["kind"]["const"]: arm["properties"]["data"] for arm in now["oneOf"]}
    found: list[str] = []
    for arm in then["oneOf"]:
        kind = arm["properties"]["kind"]["const"]
        if kind in without:
            continue
        if kind not in shapes:
            found.append(f"{kind}: gone")
            continue
        found += _breaks(kind, arm["properties"]["data"], shapes[kind], then["$defs"], now["$defs"])
    return found


def _breaks(place: str, then: Any, now: Any, old: Any, new: Any) -> list[str]:
    then, now = _resolved(then, old), _resolved(now, new)
    if "anyOf" in then or "anyOf" in now:
        arms = now.get("anyOf", [now])
        lost = [
            arm for arm in then.get("anyOf", [then])
            if not any(_breaks(place, arm, other, old, new) == [] for other in arms)
        ]  # fmt: skip
        return [f"{place}: no longer takes {_resolved(arm, old).get('type')}" for arm in lost]
    found: list[str] = []
    if "type" in now and then.get("type") != now["type"]:
        found.append(f"{place}: {then.get('type')} became {now['type']}")
    values = set(map(str, then.get("enum", [then["const"]] if "const" in then else [])))
    allowed = set(map(str, now.get("enum", [now["const"]] if "const" in now else values)))
    found += [f"{place}: no longer takes {value}" for value in sorted(values - allowed)]
    if not values and ("enum" in now or "const" in now):
        found.append(f"{place}: takes certain values only")
    found += [
        f"{place}.{name}: is required now"
        for name in now.get("required", [])
        if name not in then.get("required", [])
    ]
    for name, shape in then.get("properties", {}).items():
        if name not in now.get("properties", {}):
            found.append(f"{place}.{name}: gone")
        else:
            found += _breaks(f"{place}.{name}", shape, now["properties"][name], old, new)
    if isinstance(then.get("items"), dict) and isinstance(now.get("items"), dict):
        found += _breaks(f"{place}[]", then["items"], now["items"], old, new)
    return found


def _resolved(schema: Any, shared: Any) -> Any:
    return shared[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def _of(schema: Any, name: str) -> Any:
    return schema["$defs"][name]


def _field(schema: Any, body: str, name: str) -> Any:
    return schema["$defs"][body]["properties"][name]


CHANGES: list[tuple[str, Callable[[Any], Any]]] = [
    ("edge.taken.label: gone", lambda s: _of(s, "EdgeTaken")["properties"].pop("label")),
    (
        "step.entered.visit: integer became string",
        lambda s: _field(s, "StepEntered", "visit").update(type="string"),
    ),
    ("step.entered.visit: is required now", lambda s: _of(s, "StepEntered").update(required=["visit"])),
    (
        "call.judged.verdict: no longer takes ask",
        lambda s: _field(s, "CallJudged", "verdict")["enum"].remove("ask"),
    ),
    ("value.stored: gone", lambda s: s["oneOf"].pop(list(KINDS).index("value.stored"))),
    ("run.started.principal.id: gone", lambda s: _of(s, "Principal")["properties"].pop("id")),
    ("call.finished.blob: no longer takes null", lambda s: _field(s, "CallFinished", "blob")["anyOf"].pop()),
]


@pytest.mark.parametrize(("said", "change"), CHANGES, ids=[said for said, _ in CHANGES])
def test_a_schema_that_breaks_is_found(said: str, change: Callable[[Any], Any]) -> None:
    now = event_schema()
    change(now)
    assert said in breaks(event_schema(), now)


def test_a_new_kind_and_a_new_field_break_nothing() -> None:
    then, now = event_schema(), event_schema()
    _of(then, "EdgeTaken")["properties"].pop("label")  # type: ignore[index]
    then["oneOf"].pop()  # type: ignore[union-attr]
    assert breaks(then, now) == []


# Upcasters


class StepEnteredTwo(StepEntered):
    """As version 2 might have it: the visit counts from 0, and is needed."""

    kind: Literal["step.entered"] = "step.entered"
    round: int = Field(ge=0)


def two(body: dict[str, Any]) -> dict[str, Any]:
    """From version 1 to 2."""
    return {**body, "round": body.get("visit", 1) - 1}


@pytest.fixture
def second(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Sopwith whose `step.entered` is at version 2."""
    monkeypatch.setitem(UPCASTERS, ("step.entered", 1), two)
    monkeypatch.setitem(events_module._BY_KIND, "step.entered", StepEnteredTwo)


async def test_a_golden_log_is_read_by_a_version_that_changed_a_kind(second: None, tmp_path: Path) -> None:
    path = copied(HERE / "v1", "en", tmp_path)
    log = SqliteLog(path)
    steps = [e.body for e in await log.read("desk-en") if e.body.kind == "step.entered"]
    await log.close()
    assert [(body.visit, body.round) for body in steps] == [(1, 0)] * 5
    scan = Scan(path)
    assert verify(scan, ["desk-en"]).ok
    scan.close()


def test_a_body_of_a_later_version_says_so_and_comes_back(second: None) -> None:
    body = StepEnteredTwo(round=3, visit=4)
    data = body_bytes(body)
    assert json.loads(data) == {"v": 2, "round": 3, "visit": 4}
    assert read_body("step.entered", data) == body
    assert read_body("step.entered", b"{}") == StepEnteredTwo(round=0)


async def test_a_body_of_a_version_that_is_not_known_says_so(
    second: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = SqliteLog(tmp_path / "runs.db")
    event = events_module.Event(
        "r", "r", 1, 1, events_module.Phase.EXECUTE, None, None, StepEnteredTwo(round=1)
    )
    await log.append("r", [event])
    monkeypatch.delitem(UPCASTERS, ("step.entered", 1))
    with pytest.raises(LogError, match=r"step\.entered of version 2; this one knows 1") as caught:
        await log.read("r")
    assert "upgrade" in caught.value.hint.en
    await log.close()


def test_no_field_has_the_name_of_the_version() -> None:
    assert [b.__name__ for b in events_module.BODIES if "v" in b.model_fields] == []


def test_a_procedure_that_was_pinned_earlier_is_brought_up(monkeypatch: pytest.MonkeyPatch) -> None:
    assert f"sopwith/procedure/{current(PROCEDURE)}" == SCHEMA
    data = read(REFUND).procedure.to_data()
    assert Procedure.from_data(data).name == "Refund an order"
    monkeypatch.setitem(UPCASTERS, (PROCEDURE, 1), lambda body: {**body, "name": f"{body['name']}, 2"})
    assert Procedure.from_data(data).name == "Refund an order, 2"
    with pytest.raises(UnknownVersion, match="procedure of version 3; this one knows 2"):
        upcast(PROCEDURE, 3, data)


# Stores


def grow(connection: sqlite3.Connection) -> None:
    """A step to a second version of the tables."""
    connection.execute("CREATE TABLE note (text TEXT)")
    connection.execute("INSERT INTO note SELECT run FROM run")


async def test_a_golden_store_is_brought_up_and_a_copy_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = copied(HERE / "v1", "zh", tmp_path)
    before = path.read_bytes()
    monkeypatch.setattr(sqlite_file, "VERSION", 2)
    monkeypatch.setitem(sqlite_file.STEPS, 1, grow)
    log = SqliteLog(path)
    assert (await log.read("desk-zh"))[-1].body.kind == "run.finished"
    await log.close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM note").fetchone() == (2,)
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    assert len((tmp_path / "runs.db.v1").read_bytes()) == len(before)


async def test_a_step_that_fails_leaves_the_store_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(connection: sqlite3.Connection) -> None:
        grow(connection)
        connection.execute("INSERT INTO nowhere VALUES (1)")

    path = copied(HERE / "v1", "zh", tmp_path)
    with monkeypatch.context() as newer:
        newer.setattr(sqlite_file, "VERSION", 2)
        newer.setitem(sqlite_file.STEPS, 1, fail)
        with pytest.raises(LogError, match="from version 1 to 2") as caught:
            SqliteLog(path)
        assert "runs.db.v1" in caught.value.hint.en
    log = SqliteLog(path)
    assert len(await log.runs()) == 2
    await log.close()
