"""The engine: procedures, tools and a model in; runs out. Synchronous use is one `run_sync` at the edge."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from sopwith.errors import LogConflict, LogError, ProcedureError, RunBusy, Text, UserError
from sopwith.guard.alert import AlertSink, Webhook
from sopwith.guard.budget import Budgets, differing
from sopwith.guard.permit import Policy
from sopwith.guard.price import Prices
from sopwith.guard.redact_rules import RedactRules
from sopwith.guard.screen import Screen
from sopwith.guard.vault import MemoryVault, SqliteVault, Vault
from sopwith.ir.diagnostic import Severity
from sopwith.ir.event import (
    Event,
    LeaseTaken,
    Outcome,
    Principal,
    RunResumed,
    RunStarted,
)
from sopwith.ir.procedure import Grip, Procedure
from sopwith.ir.tool import ToolSpec
from sopwith.ir.usage import UNLIMITED, Budget
from sopwith.ir.value import Json, digest, storable
from sopwith.lang.check import check
from sopwith.lang.compile import compile_procedure
from sopwith.lang.document import Document
from sopwith.log.head import Head, Heads
from sopwith.log.memory import MemoryLog
from sopwith.log.port import Log
from sopwith.log.sqlite import SqliteLog
from sopwith.models.port import Model
from sopwith.models.profile import Profiles
from sopwith.run.account import Accounts
from sopwith.run.actor import Surroundings
from sopwith.run.approval import ANSWER_HINT, answered
from sopwith.run.book import Book
from sopwith.run.budget import hold_to_prices, hold_to_steps
from sopwith.run.connected import ConnectedModels, hold_to_models
from sopwith.run.decision import VERSION as DECISIONS
from sopwith.run.drive import Driver
from sopwith.run.given import (
    ProcedureLike,
    ToolLike,
    checked_inputs,
    document_of,
    held_grip,
    tool_sources,
)
from sopwith.run.heart import Heart
from sopwith.run.journal import Clock, Journal, Subscriber
from sopwith.run.lease import LEASE_SECONDS, holder, new_driver
from sopwith.run.operator import hand_back, say_happened, set_values, take_over
from sopwith.run.prompt_file import prompts_digest
from sopwith.run.redaction import Redaction, revealed
from sopwith.run.run import Run
from sopwith.run.state import State
from sopwith.run.stopping import Stopping
from sopwith.run.stored_run import StoredRun, open_run, read_state
from sopwith.run.telling import telling
from sopwith.run.values import input_values
from sopwith.tools.catalogue import Catalogue

_LOGGER = logging.getLogger("sopwith")


def _now() -> int:
    return time.time_ns() // 1000


class Engine:
    """Runs procedures.

    `procedures` are files, texts or objects; `tools` are decorated functions and tool sources; `model` is a model or a
    name for `connect` ("local", "openai:…"); `models` are others, by a role (`execute`, `judge`, `answer`,
    `guide`) or a name that steps give, and `profiles` are what is known of any of them.
    Without a `log` events are kept in memory. Without a `vault` secrets are
    kept sealed beside the log (`NAME.vault`), or in memory. Without a `policy` reads are allowed and writes are not.
    With `heads` the last hash of a run is signed and kept there whenever it ends or waits; where that fails, a warning
    is logged and the run goes on.
    A `budget` limits each run, or as `Budgets` steps and principals too; `prices` are those of models that are in no
    list, or other ones.
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
        budget: Budget | Budgets | None = None,
        prices: Prices | None = None,
        screen: Screen | None = None,
        redact: RedactRules | None = None,
        vault: Vault | None = None,
        models: Mapping[str, Model | str] | None = None,
        profiles: Profiles | None = None,
        alerts: Sequence[AlertSink] = (),
        heads: Heads | None = None,
        clock: Clock = _now,
    ) -> None:
        given = [procedures] if isinstance(procedures, Procedure | Document | Path | str) else procedures
        self._documents = [document_of(item) for item in given]
        self._catalogue = Catalogue(tool_sources(tools))
        self._models = ConnectedModels.of_given(model, models, profiles)
        self._log: Log = log if log is not None else MemoryLog()
        self._policy = policy if policy is not None else Policy()
        self._budgets = budget if isinstance(budget, Budgets) else Budgets(run=budget or UNLIMITED)
        self._prices = prices if prices is not None else Prices()
        self._screen = screen if screen is not None else Screen()
        self._vault = vault if vault is not None else _vault_for(self._log)
        self._heads = heads
        self._clock = clock
        self._heart = Heart(self._log, clock, new_driver())
        self._alerts = tuple(alerts)
        self._subscribers: list[Subscriber] = [telling(self._alerts)] if alerts else []
        self._books: dict[tuple[str, str | None], Book] = {}
        self._specs: dict[str, ToolSpec] | None = None
        self._tools_blob = _pinned([])
        self._procedure_blobs: dict[str, _Blob] = {}
        self._redaction = Redaction(self._vault, redact)
        self._accounts = Accounts(
            self._log, self._vault, self._redaction, clock, self._budgets.principal, self._heart.name
        )
        self._rules_blob = _pinned(
            {
                "policy": self._policy.to_data(),
                "screen": self._screen.rules.model_dump(mode="json"),
                **self._redaction.to_data(),
            }
        )
        self._checked: dict[str, Procedure] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Release the tools, the log, the vault, and a model that was named; one that was passed is its maker's."""
        await self._catalogue.close()
        await self._models.close()
        self._vault.close()
        await self._log.close()
        for sink in self._alerts:
            if isinstance(sink, Webhook):
                await asyncio.to_thread(sink.close)

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
            hold_to_steps(self._budgets, [document.procedure for document in self._documents])
            for document in self._documents:
                hold_to_models(self._models, document.procedure, document.place_of_model)
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
        held = held_grip(grip)
        book = self._book(chosen, held)
        given = checked_inputs(chosen, dict(inputs or {}))
        run = run_id or secrets.token_hex(6)
        if ":" in run:
            raise UserError(Text(f"run_id: '{run}' has a colon", f"run_id：“{run}”含有冒号"), _RUN_ID_HINT)
        who = principal if isinstance(principal, Principal) else Principal(id=principal)
        hold_to_prices(self._prices, self._budgets.all(), self._models)
        names = self._redaction.rules.names_in(chosen.inputs, who.id, given)
        budget, account = await self._accounts.reserve(who.id, run, self._budgets.run, names)
        driver = self._driver(book, run, run)
        journal = driver.journal
        try:
            redactor = driver.around.redactor
            redactor.learn(names)
            journal.emit(
                RunStarted(
                    procedure_id=chosen.id,
                    procedure=journal.keep(*self._procedure_blobs[chosen.id]),
                    tools=journal.keep(*self._tools_blob),
                    policy=journal.keep(*self._rules_blob),
                    prompts=prompts_digest(book.language, self._models.shapes),
                    model=self._models.id,
                    models=self._models.ids,
                    decisions=DECISIONS,
                    principal=who.model_copy(update={"id": redactor.redact(storable(who.id))}),
                    request=redactor.redact(storable(request)),
                    inputs=self._redaction.inputs(redactor, given),
                    date=datetime.fromtimestamp(self._clock() / 1e6).date().isoformat(),
                    language=book.language,
                    grip=None if held is None else str(held),
                    dry_run=dry_run,
                    budget=budget,
                    step_budget=self._budgets.step,
                    step_budgets=self._budgets.by_step(),
                    account=account,
                    cut=differing(budget, self._budgets.run),
                )
            )
            journal.emit(LeaseTaken(driver=self._heart.name, seconds=LEASE_SECONDS))
            if account is not None:
                await journal.flush()
                await self._renew(journal)
            return await self._drive(driver, [])
        except BaseException:
            await self._accounts.give_back(journal, account)
            raise

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
        not give, or a missing answer, and `RunBusy` where another driver has it.
        """
        stored = await self._stored(run)
        state = stored.state
        cursor = state.cursor
        given = answered or answer is not None
        if cursor is not None and cursor.question is not None:
            if not given:
                raise UserError(Text("the run waits for an answer", "该运行在等待回答"), ANSWER_HINT)
            return await self._answered(stored, answer, by)
        if given:
            raise UserError(Text("the run asks nothing", "该运行没有提问"))
        return await self._go_on(stored, by)

    async def approve(self, run: str, *, by: Principal | str) -> Run:
        """Give leave for the call that a run waits to make, and go on with it; as `resume`, which says who may.

        Raises `UserError` as `resume` does, and where the run does not wait for an approval.
        """
        return await self._answered(await self._waiting(run), True, by)

    async def deny(self, run: str, *, by: Principal | str, why: str | None = None) -> Run:
        """Refuse the call that a run waits to make, and go on: its `on_error` follows (`denied`), or it ends as denied.

        The requester may refuse too, where the terms want no role. Raises `UserError` as `approve`.
        """
        return await self._answered(await self._waiting(run), False, by, why)

    async def _waiting(self, run: str) -> StoredRun:
        stored = await self._stored(run)
        cursor = stored.state.cursor
        if cursor is None or cursor.question != "approval":
            raise UserError(
                Text("the run does not wait for an approval", "该运行不在等待批准"), _WAITING_HINT
            )
        return stored

    async def _answered(
        self, stored: StoredRun, answer: Json, by: Principal | str, why: str | None = None
    ) -> Run:
        """Write an answer down and go on, unless more people have to agree first."""
        driver = stored.driver
        asked = next(e for e in reversed(stored.events) if e.body.kind == "human.asked")
        told = answered(driver, asked.body, answer, by, why)
        driver.journal.emit(told, asked.seq)
        if stored.state.suspended_at is None:
            return await self._go_on(stored, by)
        return await self._park(stored)

    async def take_over(
        self,
        run: str,
        *,
        by: str,
        to: str | None = None,
        values: Mapping[str, Json] | None = None,
        happened: bool | Mapping[str, bool] | None = None,
        again: bool = False,
        why: str | None = None,
    ) -> Run:
        """`by` takes over a run that has escalated or failed, and hands it back at the step `to`, where that is given.

        `values` are set with the name of `by` on them (`step[item]` names an item of a list); `happened` says whether
        the write with an unknown outcome has acted, or of several, by step or item, which have. A write that has acted
        is made again only with `again`. Raises `UserError` for a run that cannot be taken over, and
        for values and steps that do not fit.
        """
        stored = await open_run(self._log, run, self._driver, self._catalogue)
        stored.must_be_free(self._clock())
        if to is not None:
            hold_to_prices(self._prices, stored.state.budgets, self._models)
        driver = stored.driver
        take_over(driver, by, why)
        if happened is not None:
            say_happened(driver, by, happened)
        set_values(driver, by, values or {})
        if to is None:
            return await self._park(stored)
        hand_back(driver, by, to, again=again)
        return await self._go_on(stored, by)

    async def _stored(self, run: str) -> StoredRun:
        """A run that can be gone on with."""
        stored = await open_run(self._log, run, self._driver, self._catalogue)
        stored.must_go_on()
        stored.must_be_free(self._clock())
        hold_to_prices(self._prices, stored.state.budgets, self._models)
        hold_to_models(self._models, stored.driver.book.procedure)
        return stored

    async def _go_on(self, stored: StoredRun, by: Principal | str) -> Run:
        """Drive a stored run that is free. Who goes on with it, and under which other rules and prompts, is written
        down before anything is done: of two that try, one gets `RunBusy`."""
        driver, started = stored.driver, stored.started
        journal = driver.journal
        rules, prompts = (
            journal.keep(*self._rules_blob),
            prompts_digest(started.language, self._models.shapes),
        )
        journal.emit(
            RunResumed(
                by=str(driver.redact(storable(by.id if isinstance(by, Principal) else by))),
                policy=None if rules == started.policy else rules,
                prompts=None if prompts == started.prompts else prompts,
            )
        )
        journal.emit(LeaseTaken(driver=self._heart.name, seconds=LEASE_SECONDS))
        await self._heart.skip(journal.run)
        await self._append_first(journal)
        await self._renew(journal)
        return await self._drive(driver, stored.events)

    async def _renew(self, journal: Journal) -> None:
        """Hold what the run may use, once it is in the log that it begins or goes on, and before anything is done."""
        budget = await self._accounts.renew(journal.state)
        if budget != journal.state.budget:
            journal.emit(LeaseTaken(driver=self._heart.name, seconds=LEASE_SECONDS, budget=budget))

    async def _park(self, stored: StoredRun) -> Run:
        """Leave a run waiting, after what a person has said to it."""
        journal = stored.driver.journal
        await self._append_first(journal)
        await self._sign(journal)
        return self._run(stored.driver, [*stored.events, *journal.events])

    async def _append_first(self, journal: Journal) -> None:
        """Append before anybody else does. Raises `RunBusy` where somebody was faster; then nothing was written."""
        try:
            await journal.flush(durable=True)
        except LogConflict:
            journal.drop()
            _, state = await read_state(self._log, journal.run)
            raise RunBusy(journal.run, holder(state, self._clock())) from None

    async def cancel(self, run: str, *, by: str = "operator", why: str | None = None) -> Run:
        """End a run as cancelled: at once, or where somebody drives it, as soon as they have stopped.

        Raises `UserError` for an unknown or ended run, `RunBusy` where its driver does not stop.
        """
        stopping = Stopping(self._log, self._heart, self._clock, self._redaction.of)
        told = await stopping.stop(run, by, why)
        stored = await open_run(self._log, run, self._driver)
        if told and stored.state.outcome is not None:
            return self._run(stored.driver, stored.events)
        stored.must_be_open()
        stored.driver.cancel(by, why)
        await self._append_first(stored.driver.journal)
        return await self._drive(stored.driver, stored.events)

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

    def _driver(self, book: Book, run: str, task: str, started: RunStarted | None = None) -> Driver:
        journal = Journal(self._log, self._clock, self._subscribers, run, task)
        redactor = self._redaction.of(run, book.procedure.inputs, started)
        around = Surroundings(
            self._models.of, self._models.profiles, self._catalogue, self._policy, self._screen, redactor,
            self._prices, self._clock,
        )  # fmt: skip
        book.shape = self._models.shape
        return Driver(book, journal, around)

    async def _drive(self, driver: Driver, earlier: list[Event]) -> Run:
        with self._heart.driving(driver):
            state = await driver.drive(self._heart.name)
        await self._accounts.settle(state)
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
            true = revealed(driver.around.redactor, told)
            outcome = state.outcome if true is told else Outcome.model_validate(true)
        question = None
        if state.cursor is not None and state.cursor.question is not None:
            asked = next(e for e in reversed(events) if e.body.kind == "human.asked")
            question = str(revealed(driver.around.redactor, asked.body.question))
        return Run(state, events, outcome, question, input_values(state, driver.book.procedure.inputs))


_Blob = tuple[bytes, str]
"""What is stored apart from the events, and its digest."""


def _pinned(value: Any) -> _Blob:
    """JSON in the given order: steps are numbered, and properties generated, in it also after a resume."""
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return data, digest(data)


def _vault_for(log: Log) -> Vault:
    """A vault that lasts as long as the log does."""
    return SqliteVault(log.path.with_suffix(".vault")) if isinstance(log, SqliteLog) else MemoryVault()


_WAITING_HINT = Text("`sopwith approvals` lists what waits", "用 sopwith approvals 查看等待批准的调用")
_RUN_ID_HINT = Text("a colon marks what stands beside a run", "冒号用于标记运行的附属日志")
_BROKEN = Text("the procedures do not pass their checks", "流程未通过检查")
_BROKEN_HINT = Text("see the diagnostics, or run `sopwith check`", "请查看诊断，或运行 sopwith check")
