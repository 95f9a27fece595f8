"""What is killed: a process that drives one run against the ledger, by the engine or by a naive loop."""

from __future__ import annotations

import asyncio
import importlib
import os
import sqlite3
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from benchmarks.ledger import Gate, Ledger
from sopwith import Engine, Event, Policy, Procedure, SqliteLog, tool
from sopwith.models.port import ModelReply, ModelRequest
from sopwith.models.scripted import ScriptedModel
from sopwith.tools import FunctionSource, McpSource
from sopwith.tools.declaration import tools_of
from sopwith.tools.mcp_lookup import lookup
from sopwith.tools.port import ToolSource
from sopwith.tools.reconcile import Done, NotDone

importlib.import_module("sopwith.tools.mcp_connection")  # else each forked process would import it
ROOT = Path(__file__).parent.parent
SERVER = "from benchmarks.ledger_server import main; main()"
RUN = "run"
WORD = '{"word": "paid"}'
ITEMS = 3
"""Items of a list, all at work at once."""
EFFECTS = {"balance": "read", "find": "read", "post": "write", "book": "write", "send": "irreversible"}
"""The tools: `post` is idempotent, `book` can be asked about, `send` neither."""


@dataclass(frozen=True, slots=True)
class Case:
    """One run: its folder, the steps that write, in their order, and whether an MCP server has the tools.

    Steps whose names end in `_all` go over a list.
    """

    folder: Path
    writes: tuple[str, ...]
    server: bool

    @property
    def effects(self) -> tuple[str, ...]:
        """What is to be done once: the steps that write, and of those over a list the items."""
        return tuple(each for step in self.writes for each in items_of(step))

    @property
    def log(self) -> Path:
        """The engine's log."""
        return self.folder / "log.db"

    @property
    def ledger(self) -> Path:
        """Where the effects are."""
        return self.folder / "ledger.db"

    @property
    def pipe(self) -> str:
        """Through which a process says that it is at its instant."""
        return str(self.folder / "pipe")

    @property
    def steps(self) -> tuple[str, ...]:
        """All steps: reads and a question to the model lie between the writes."""
        first, second, *others = self.writes
        return ("look", first, "word", second, "look_again", *others)


def items_of(step: str) -> tuple[str, ...]:
    """What a step does once each, as the log calls it: itself, or the items of its list."""
    return tuple(f"{step}[{i}]" for i in range(ITEMS)) if step.endswith("_all") else (step,)


def tool_of(step: str) -> str:
    """The tool of a step, without its source."""
    return "balance" if step.startswith("look") else step.partition("[")[0].partition("_")[0]


def procedure(case: Case) -> Procedure:
    """The case as a procedure."""
    steps: dict[str, object] = {}
    for step, after in zip(case.steps, (*case.steps[1:], None), strict=True):
        way: dict[str, object] = {"end": "complete"} if after is None else {"next": [{"to": after}]}
        steps[step] = {"id": step, **_work(step), **way}
    inputs = {"account": {"schema": {"type": "string"}}}
    return Procedure.from_data({"id": "settle", "inputs": inputs, "start": case.steps[0], "steps": steps})


def _work(step: str) -> dict[str, object]:
    if step == "word":
        schema = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
        return {"do": "Say it in one word", "returns": schema}
    given = {"account": "${inputs.account}"}
    if step.endswith("_all"):
        listed = ", ".join(f"'{item}'" for item in items_of(step))
        each = {"in": f"${{[{listed}]}}", "at_once": ITEMS}
        return {"each": each, "tool": f"ledger.{tool_of(step)}", "with": {**given, "step": "${item}"}}
    return {
        "tool": f"ledger.{tool_of(step)}",
        "with": given if step.startswith("look") else {**given, "step": step},
    }


class Tools:
    """The ledger's tools as functions in the process of the engine."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    @tool(name="ledger.balance")
    def balance(self, account: str) -> dict[str, int]:
        """How many entries an account has."""
        return {"entry": self._ledger.balance(account)}

    @tool(name="ledger.post", effect="write", idempotent=True)
    def post(self, account: str, step: str, *, idempotency_key: str) -> dict[str, int]:
        """Add an entry, once for each key."""
        return {"entry": self._ledger.add(account, step, idempotency_key, once=True)}

    def _asked(self, account: str, step: str, *, idempotency_key: str) -> Done | NotDone:
        entry = self._ledger.find(idempotency_key)
        return NotDone() if entry is None else Done({"entry": entry})

    @tool(name="ledger.book", effect="write", reconcile=_asked)
    def book(self, account: str, step: str, *, idempotency_key: str) -> dict[str, int]:
        """Add an entry at each call; the ledger can be asked for it."""
        return {"entry": self._ledger.add(account, step, idempotency_key, once=False)}

    @tool(name="ledger.send", effect="irreversible")
    def send(self, account: str, step: str, *, idempotency_key: str) -> dict[str, int]:
        """Add an entry at each call, and tell nobody."""
        return {"entry": self._ledger.add(account, step, idempotency_key, once=False)}


def source(case: Case, actor: str, gate: Gate) -> ToolSource:
    """The tools of the case, in this process or behind a server."""
    if not case.server:
        return FunctionSource(tools_of(Tools(Ledger(case.ledger, actor, gate))), "ledger")
    gated = (gate.pipe, gate.instant, "hold" if gate.hold else "pass", str(os.getpid()))
    return McpSource(
        "ledger",
        sys.executable,
        ["-S", "-c", SERVER, str(case.ledger), actor, *gated],
        cwd=str(ROOT),
        effects=EFFECTS,
        idempotent=["post"],
        key_argument="key",
        reconcile={
            "book": lookup("find", "result.entry != null", "{'entry': result.entry}", {"reference": "${key}"})
        },
    )


class GatedLog(SqliteLog):
    """The engine's log on the disk, with a gate before and after each append, named after what is appended."""

    def __init__(self, path: Path, gate: Gate) -> None:
        super().__init__(path)
        self._gate = gate

    async def append(
        self,
        run: str,
        events: Sequence[Event],
        blobs: Mapping[str, bytes] | None = None,
        *,
        durable: bool = False,
    ) -> str:
        """As `Log.append`."""
        for event in events:
            self._gate.reach(f"before {event.body.kind} {event.step or ''}".strip())
        head = await super().append(run, events, blobs, durable=durable)
        for event in events:
            self._gate.reach(f"after {event.body.kind} {event.step or ''}".strip())
        return head


async def drive(case: Case, actor: str, gate: Gate) -> None:
    """Begin the run, or go on with it."""

    def reply(request: ModelRequest) -> str | ModelReply:
        gate.reach("model")
        return WORD

    engine = Engine(
        procedure(case),
        [source(case, actor, gate)],
        ScriptedModel(reply),
        policy=Policy(allow_writes=["ledger.*"]),
        log=GatedLog(case.log, gate),
    )
    async with engine:
        if await engine.log.read(RUN):
            await engine.resume(RUN)
        else:
            await engine.run("settle it", inputs={"account": RUN}, run_id=RUN)


async def drive_naively(case: Case, actor: str, gate: Gate) -> None:
    """A loop with a checkpoint after each step, as simple agents have: a step that has none is run again.

    It is fair: each step has a key, the same one each time, so that what is idempotent stays so.
    """
    tools = source(case, actor, gate)
    await tools.specs()
    with closing(sqlite3.connect(case.log, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE IF NOT EXISTS done (step TEXT PRIMARY KEY)")
        done = {row[0] for row in db.execute("SELECT step FROM done")}
        for step in (each for one in case.steps for each in items_of(one)):
            if step in done:
                continue
            if step == "word":
                gate.reach("model")
            else:
                given = {"account": RUN} if step.startswith("look") else {"account": RUN, "step": step}
                result = await tools.call(
                    f"ledger.{tool_of(step)}", dict(given), key=f"{RUN}/{step}", seconds=None
                )
                if result.error is not None:
                    raise RuntimeError(result.error.message)
            gate.reach(f"before call.finished {step}")
            db.execute("INSERT INTO done VALUES (?)", (step,))
            gate.reach(f"after call.finished {step}")
        db.execute("INSERT OR IGNORE INTO done VALUES ('')")
    await tools.close()


def live(case: Case, actor: str, gate: Gate, *, naive: bool) -> NoReturn:
    """The life of the forked process. Its status is 1, and `case.folder/errors` says why, where it fails."""
    try:
        asyncio.run((drive_naively if naive else drive)(case, actor, gate))
    except BaseException:
        with (case.folder / "errors").open("a", encoding="utf-8") as errors:
            errors.write(f"{actor}\n{traceback.format_exc()}\n")
        os._exit(1)
    os._exit(0)
