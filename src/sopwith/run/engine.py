"""The engine: procedures, tools and a model in; runs out. Synchronous use is one `run_sync` at the edge."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Self, cast

from sopwith.errors import LogError, PolicyError, ProcedureError, Text, UserError
from sopwith.guard.permit import Policy
from sopwith.guard.redact import Redactor
from sopwith.guard.screen import Screen
from sopwith.guard.vault import MemoryVault, SqliteVault, Vault
from sopwith.ir.diagnostic import Severity
from sopwith.ir.event import Event, Outcome, Principal, RunFinished, RunResumed, RunStarted
from sopwith.ir.procedure import Grip, Procedure
from sopwith.ir.schema import validator
from sopwith.ir.tool import ToolSpec
from sopwith.ir.usage import Budget
from sopwith.ir.value import Json, digest, storable
from sopwith.lang.check import check
from sopwith.lang.compile import compile_procedure
from sopwith.lang.document import Document
from sopwith.lang.read import read
from sopwith.log.head import Head, Heads
from sopwith.log.memory import MemoryLog
from sopwith.log.port import Log
from sopwith.log.sqlite import SqliteLog
from sopwith.models.connect import connect
from sopwith.models.port import Model
from sopwith.run.approval import ANSWER_HINT, answered
from sopwith.run.book import Book
from sopwith.run.decision import VERSION as DECISIONS
from sopwith.run.drive import Driver, Surroundings
from sopwith.run.fold import fold_all
from sopwith.run.journal import Clock, Journal, Subscriber
from sopwith.run.packet import packet
from sopwith.run.prompt_file import prompts_digest
from sopwith.run.run import Run
from sopwith.run.state import Reference, State
from sopwith.run.values import input_values
from sopwith.tools.catalogue import Catalogue
from sopwith.tools.function import FunctionSource
from sopwith.tools.port import ToolSource

_LOGGER = logging.getLogger("sopwith")

ProcedureLike = Procedure | Document | Path | str
ToolLike = ToolSource | Callable[..., Any]


def _now() -> int:
    return time.time_ns() // 1000


class Engine:
    """Runs procedures.

    `procedures` are files, texts or objects; `tools` are decorated functions and tool sources; `model` is a model or a
    name for `connect` ("local", "openai:…"). Without a `log` events are kept in memory. Without a `vault` secrets are
    kept sealed beside the log (`NAME.vault`), or in memory. Without a `policy` reads are allowed and writes are not.
    With `heads` the last hash of a run is signed and kept there whenever it ends or waits; where that fails, a warning
    is logged and the run goes on.
    Use it as an async context manager, or call `close`.
    """

    def __init__(
        self,
        procedures: Sequence[ProcedureLike] | ProcedureLike,
        tools: Sequence[ToolLike] = (),
        model: Model | str | None = None,
        *,
        log: Log | None = None,
        policy: Policy | None = None,
        budget: Budget | None = None,
        screen: Screen | None = None,
        vault: Vault | None = None,
        models: Mapping[str, Model] | None = None,
        heads: Heads | None = None,
        clock: Clock = _now,
    ) -> None:
        given = [procedures] if isinstance(procedures, Procedure | Document | Path | str) else procedures
        self._documents = [_document(item) for item in given]
        self._catalogue = Catalogue(_sources(tools))
        self._connected = connect(model) if isinstance(model, str) else None
        self._model = self._connected if isinstance(model, str) else model
        self._models = dict(models or {})
        self._log: Log = log if log is not None else MemoryLog()
        self._policy = policy if policy is not None else Policy()
        self._budget = budget if budget is not None else Budget()
        self._screen = screen if screen is not None else Screen()
        self._vault = vault if vault is not None else _vault_for(self._log)
        self._heads = heads
        self._clock = clock
        self._subscribers: list[Subscriber] = []
        self._books: dict[tuple[str, str | None], Book] = {}
        self._specs: dict[str, ToolSpec] | None = None
        self._tools_blob = _pinned([])
        self._procedure_blobs: dict[str, _Blob] = {}
        self._rules_blob = _pinned(
            {"policy": self._policy.to_data(), "screen": self._screen.rules.model_dump(mode="json")}
        )
        self._checked: dict[str, Procedure] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Release the tools, the log, the vault, and a model that was named; one that was passed is its maker's."""
        await self._catalogue.close()
        if self._connected is not None:
            await self._connected.close()
        self._vault.close()
        await self._log.close()

    def subscribe(self, subscriber: Subscriber) -> None:
        """Call `subscriber(event, state)` with every event of every run, as it happens."""
        self._subscribers.append(subscriber)

    @property
    def log(self) -> Log:
        """Where events are stored."""
        return self._log

    async def procedures(self) -> Mapping[str, Procedure]:
        """The procedures by id, checked against the tools. Raises `ProcedureError` with all that is wrong."""
        if self._specs is None:
            specs = dict(await self._catalogue.specs())
            problems = [d for document in self._documents for d in check(document, specs)]
            errors = [d for d in problems if d.severity is Severity.ERROR]
            if errors:
                raise ProcedureError(_BROKEN, _BROKEN_HINT, errors)
            self._checked = {d.procedure.id: d.procedure for d in self._documents}
            self._procedure_blobs = {name: _pinned(each.to_data()) for name, each in self._checked.items()}
            self._tools_blob = _pinned([spec.model_dump(mode="json") for spec in specs.values()])
            self._specs = specs
        return self._checked

    async def run(
        self,
        request: str,
        *,
        principal: Principal | str = "anonymous",
        procedure: str | None = None,
        inputs: Mapping[str, Json] | None = None,
        grip: Grip | str | None = None,
        run_id: str | None = None,
        dry_run: bool = False,
    ) -> Run:
        """Run a procedure on `request` until it ends or waits for somebody.

        `procedure` is an id, needed where there is more than one; `inputs` are those that are passed; `grip`
        overrides the procedure's own. In a `dry_run` tools that read are called, and no other ones: their results are
        made from their schemas, and approvals are noted and not waited for. Raises `UserError` for what was given
        wrongly, `LogError` when nothing can be written.
        """
        chosen = await self._choose(procedure)
        held = _held(grip)
        book = self._book(chosen, held)
        given = _checked_inputs(chosen, dict(inputs or {}))
        run = run_id or secrets.token_hex(6)
        driver = self._driver(book, run, run)
        journal = driver.journal
        who = principal if isinstance(principal, Principal) else Principal(id=principal)
        redactor = driver.around.redactor
        journal.emit(
            RunStarted(
                procedure_id=chosen.id,
                procedure=journal.keep(*self._procedure_blobs[chosen.id]),
                tools=journal.keep(*self._tools_blob),
                policy=journal.keep(*self._rules_blob),
                prompts=prompts_digest(book.language),
                model=self._model.id if self._model is not None else "none",
                decisions=DECISIONS,
                principal=who.model_copy(update={"id": redactor.redact(storable(who.id))}),
                request=redactor.redact(storable(request)),
                inputs=redactor.redact(given),
                date=datetime.fromtimestamp(self._clock() / 1e6).date().isoformat(),
                language=book.language,
                grip=None if held is None else str(held),
                budget=self._budget,
                dry_run=dry_run,
            )
        )
        return await self._drive(driver, [])

    def run_sync(self, request: str, **options: Any) -> Run:
        """`run` for callers without an event loop; takes the same options."""
        return asyncio.run(self.run(request, **options))

    async def resume(
        self, run: str, *, answer: Json = None, answered: bool = False, by: Principal | str = "operator"
    ) -> Run:
        """Take a run up again: after a crash, or with a person's `answer` (set `answered` to give null).

        The run goes on with the procedure and tools it was started with. An approval is answered by whom its terms
        admit: the roles of a `Principal` are believed, those of a name are looked up in the policy. Raises
        `UserError` for an unknown run, one that has ended, an answer that the question does not allow or that `by` may
        not give, or a missing answer.
        """
        driver, events = await self._take_up(run)
        journal = driver.journal
        cursor = journal.state.cursor
        given = answered or answer is not None
        if cursor is not None and cursor.question is not None:
            if not given:
                raise UserError(Text("the run waits for an answer", "该运行在等待回答"), ANSWER_HINT)
            return await self._answered(driver, events, answer, by)
        if given:
            raise UserError(Text("the run asks nothing", "该运行没有提问"))
        self._resumed(driver, events[0].body, by)
        return await self._drive(driver, events)

    async def approve(self, run: str, *, by: Principal | str) -> Run:
        """Give leave for the call that a run waits to make, and go on with it; as `resume`, which says who may.

        Raises `UserError` as `resume` does, and where the run does not wait for an approval.
        """
        driver, events = await self._take_up(run)
        _wants_approval(driver)
        return await self._answered(driver, events, True, by)

    async def deny(self, run: str, *, by: Principal | str, why: str | None = None) -> Run:
        """Refuse the call that a run waits to make, and go on: its `on_error` follows (`denied`), or it ends as denied.

        The requester may refuse too, where the terms want no role. Raises `UserError` as `approve`.
        """
        driver, events = await self._take_up(run)
        _wants_approval(driver)
        return await self._answered(driver, events, False, by, why)

    async def _answered(
        self,
        driver: Driver,
        events: list[Event],
        answer: Json,
        by: Principal | str,
        why: str | None = None,
    ) -> Run:
        """Write an answer down and go on, unless more people have to agree first."""
        asked = next(e for e in reversed(events) if e.body.kind == "human.asked")
        told = answered(driver, asked.body, answer, by, why)
        driver.journal.emit(told, asked.seq)
        if driver.journal.state.suspended_at is None:
            self._resumed(driver, events[0].body, told.by)
        return await self._drive(driver, events)

    def _resumed(self, driver: Driver, started: RunStarted, by: Principal | str) -> None:
        """Write down who goes on with the run, and under which rules and prompts where they are other ones."""
        journal = driver.journal
        rules, prompts = journal.keep(*self._rules_blob), prompts_digest(started.language)
        journal.emit(
            RunResumed(
                by=str(driver.redact(storable(by.id if isinstance(by, Principal) else by))),
                policy=None if rules == started.policy else rules,
                prompts=None if prompts == started.prompts else prompts,
            )
        )

    async def _hold_to(self, started: RunStarted, specs: Sequence[ToolSpec]) -> None:
        """Refuse to go on with tools that do something else than those the run was started with."""
        live = await self._catalogue.specs()
        changed = [s.name for s in specs if s.name in live and _does(live[s.name]) != _does(s)]
        if changed:
            names = ", ".join(changed)
            raise UserError(
                Text(
                    f"these tools have changed since the run began: {names}",
                    f"这些工具在运行开始后改变了：{names}",
                ),
                Text("connect them as they were, or cancel the run", "请连接原来的工具，或取消该运行"),
            )
        if started.decisions > DECISIONS:
            raise UserError(
                Text("the run was started by a newer version", "该运行由更新的版本启动"),
                Text("upgrade Sopwith", "请升级 Sopwith"),
            )

    async def cancel(self, run: str, *, by: str = "operator") -> Run:
        """End a run that has not ended as cancelled. Raises `UserError` for an unknown or ended run."""
        driver, events = await self._take_up(run)
        journal = driver.journal
        reason = _CANCELLED.in_(journal.state.language).format(by)
        left = packet(driver.book, journal.state).model_copy(update={"reason": reason})
        journal.emit(RunFinished(outcome=Outcome(kind="cancelled", packet=left)))
        await journal.flush()
        await self._sign(journal)
        return self._run(driver, [*events, *journal.events])

    async def _take_up(self, run: str) -> tuple[Driver, list[Event]]:
        """A driver at the state of a stored run, pinned to what the run was started with, and its events."""
        events = list(await self._log.read(run))
        if not events:
            raise UserError(Text(f"there is no run '{run}'", f"没有运行“{run}”"), _RUNS_HINT)
        state = fold_all(events)
        if state.outcome is not None:
            ended = Text(f"the run has ended: {state.status}", f"该运行已结束：{state.status}")
            raise UserError(ended, _RUNS_HINT)
        started = events[0].body
        procedure = Procedure.from_data(json.loads(await self._log.blob(started.procedure)))
        specs = [ToolSpec.model_validate(item) for item in json.loads(await self._log.blob(started.tools))]
        held = None if started.grip is None else Grip(started.grip)
        machine = compile_procedure(procedure, {spec.name: spec for spec in specs}, held)
        driver = self._driver(Book(machine, started.language), run, state.task)
        await self._hold_to(started, specs)
        driver.journal.take_up(state)
        await driver.journal.load([v.blob for v in state.values.values() if isinstance(v, Reference)])
        return driver, events

    async def _choose(self, name: str | None) -> Procedure:
        known = await self.procedures()
        if name is None and len(known) == 1:
            return next(iter(known.values()))
        if name is not None and name in known:
            return known[name]
        listed = ", ".join(sorted(known))
        if name is None:
            raise UserError(
                Text(f"there are {len(known)} procedures: {listed}", f"共有 {len(known)} 个流程：{listed}"),
                Text("name one with `procedure=`", "请用 procedure= 指定一个"),
            )
        raise UserError(
            Text(f"there is no procedure '{name}'", f"没有流程“{name}”"),
            Text(f"known: {listed}", f"已有：{listed}"),
        )

    def _book(self, procedure: Procedure, grip: Grip | None) -> Book:
        key = (procedure.id, grip)
        if key not in self._books:
            self._books[key] = Book(compile_procedure(procedure, self._specs or {}, grip))
        return self._books[key]

    def _driver(self, book: Book, run: str, task: str) -> Driver:
        journal = Journal(self._log, self._clock, self._subscribers, run, task)
        redactor = Redactor(self._vault, run)
        around = Surroundings(
            self._model_for, self._catalogue, self._policy, self._screen, redactor, self._clock
        )
        return Driver(book, journal, around)

    def _model_for(self, name: str | None) -> Model:
        model = self._models.get(name) if name is not None else self._model
        model = model or self._model
        if model is None:
            raise UserError(
                Text("this step needs a model, and none is connected", "该步骤需要模型，但没有连接模型"),
                Text('pass `model="local"` or another', '请传入 model="local" 或其他模型'),
            )
        return model

    async def _drive(self, driver: Driver, earlier: list[Event]) -> Run:
        await driver.drive()
        await self._sign(driver.journal)
        return self._run(driver, [*earlier, *driver.journal.events])

    async def _sign(self, journal: Journal) -> None:
        """Keep the signed head of a run that has ended or waits."""
        if self._heads is None or not journal.head:
            return
        try:
            await self._heads.add([Head(journal.run, journal.state.seq, journal.head, self._clock())])
        except LogError as error:
            _LOGGER.warning("%s", error.render(journal.state.language))

    def _run(self, driver: Driver, events: Sequence[Event]) -> Run:
        state: State = driver.journal.state
        outcome = None
        if state.outcome is not None:
            told = state.outcome.model_dump(mode="json")
            true = _revealed(driver, told)
            outcome = state.outcome if true is told else Outcome.model_validate(true)
        question = None
        if state.cursor is not None and state.cursor.question is not None:
            asked = next(e for e in reversed(events) if e.body.kind == "human.asked")
            question = str(_revealed(driver, asked.body.question))
        return Run(state, events, outcome, question, input_values(state, driver.book.procedure.inputs))


def _wants_approval(driver: Driver) -> None:
    cursor = driver.journal.state.cursor
    if cursor is None or cursor.question != "approval":
        raise UserError(Text("the run does not wait for an approval", "该运行不在等待批准"), _WAITING_HINT)


def _revealed(driver: Driver, told: Json) -> Json:
    """True values for the caller; placeholders where the vault does not hold them any more."""
    try:
        return driver.around.redactor.reveal(told)
    except PolicyError:
        return told


def _does(spec: ToolSpec) -> tuple[Json, ...]:
    """What a tool does, as far as its spec tells: all of it but its words and limits."""
    return (spec.effect, spec.idempotent, spec.input_schema, spec.output_schema)


def _held(grip: Grip | str | None) -> Grip | None:
    """The grip that a run is held by, where the caller names one. Raises `UserError` for one that is not executed."""
    if grip is None or grip in ("strict", "free"):
        return None if grip is None else Grip(grip)
    raise UserError(
        Text(f"the grip '{grip}' is not executed by this version", f"本版本不执行“{grip}”"),
        Text("use `strict` or `free`", "请使用 strict 或 free"),
    )


def _document(item: ProcedureLike) -> Document:
    if isinstance(item, Document):
        return item
    if isinstance(item, Procedure):
        return Document(item, {}, f"<{item.id}>", "")
    return read(item)


_Blob = tuple[bytes, str]
"""What is stored apart from the events, and its digest."""


def _pinned(value: Any) -> _Blob:
    """JSON in the given order: steps are numbered, and properties generated, in it also after a resume."""
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return data, digest(data)


def _vault_for(log: Log) -> Vault:
    """A vault that lasts as long as the log does."""
    return SqliteVault(log.path.with_suffix(".vault")) if isinstance(log, SqliteLog) else MemoryVault()


def _sources(tools: Sequence[ToolLike]) -> list[ToolSource]:
    functions = [cast("Callable[..., Any]", item) for item in tools if not hasattr(item, "specs")]
    sources = [cast("ToolSource", item) for item in tools if hasattr(item, "specs")]
    return [*sources, FunctionSource(functions)] if functions else sources


def _checked_inputs(procedure: Procedure, given: dict[str, Json]) -> dict[str, Json]:
    for name, value in given.items():
        item = procedure.inputs.get(name)
        if item is None or item.from_ is not None:
            raise UserError(
                Text(f"'{name}' is not an input that is passed", f"“{name}”不是可传入的输入"),
                Text(f"inputs: {', '.join(procedure.inputs)}", f"输入：{'、'.join(procedure.inputs)}"),
            )
        problems = validator(item.schema_).problems(value)
        if problems:
            listed = "; ".join(problems)
            raise UserError(Text(f"input '{name}': {listed}", f"输入“{name}”：{listed}"))
    return {name: storable(value) for name, value in given.items()}


_WAITING_HINT = Text("`sopwith approvals` lists what waits", "用 sopwith approvals 查看等待批准的调用")
_CANCELLED = Text("cancelled by {}", "由 {} 取消")
_BROKEN = Text("the procedures do not pass their checks", "流程未通过检查")
_BROKEN_HINT = Text("see the diagnostics, or run `sopwith check`", "请查看诊断，或运行 sopwith check")
_RUNS_HINT = Text("`sopwith runs` lists the runs", "用 sopwith runs 查看所有运行")
