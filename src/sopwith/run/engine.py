"""The engine: procedures, tools and a model in; runs out. Synchronous use is one `run_sync` at the edge."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from sopwith.errors import Text, UserError
from sopwith.guard.alert import AlertSink, Webhook
from sopwith.guard.budget import Budgets, differing
from sopwith.guard.permit import Policy
from sopwith.guard.price import Prices
from sopwith.guard.redact import Redactor
from sopwith.guard.redact_rules import RedactRules
from sopwith.guard.screen import Screen
from sopwith.guard.vault import MemoryVault, SqliteVault, Vault
from sopwith.ir.event import Principal, RunStarted
from sopwith.ir.procedure import Grip, Procedure
from sopwith.ir.usage import SHOWN_TOKENS, UNLIMITED, VALUE_QUOTA, Budget
from sopwith.ir.value import Json, storable
from sopwith.lang.document import Document
from sopwith.log.head import Heads
from sopwith.log.memory import MemoryLog
from sopwith.log.port import Log
from sopwith.log.sqlite import SqliteLog
from sopwith.models.port import Model
from sopwith.models.profile import Profiles
from sopwith.run.account import Accounts
from sopwith.run.actor import Surroundings
from sopwith.run.approval import ANSWER_HINT, answered, voter
from sopwith.run.budget import hold_to_prices
from sopwith.run.callers import Callers
from sopwith.run.children import Children
from sopwith.run.connected import ConnectedModels, hold_to_models
from sopwith.run.decision import VERSION as DECISIONS
from sopwith.run.driving import Driving
from sopwith.run.due import due
from sopwith.run.finder import Finder
from sopwith.run.given import (
    ProcedureLike,
    ToolLike,
    checked_inputs,
    document_of,
    held_grip,
    tool_sources,
)
from sopwith.run.heart import Heart
from sopwith.run.journal import Clock, Subscriber
from sopwith.run.lease import new_driver
from sopwith.run.makers import makers_of
from sopwith.run.operator import hand_back, only_tells, say_happened, set_values, take_over
from sopwith.run.pausing import answer_missed
from sopwith.run.pinned import Library, as_blob
from sopwith.run.prompt_file import prompts_digest
from sopwith.run.redaction import Redaction
from sopwith.run.run import Run
from sopwith.run.signal import send_signal
from sopwith.run.stopping import Stopping
from sopwith.run.stored_run import StoredRun, no_run, open_run
from sopwith.run.telling import telling
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
    list, or other ones. `value_quota` is how many characters of long values a run may store. A transcript begins with
    about `tools_shown` tokens of tools at most; where there are more, a model searches for them.
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
        value_quota: int = VALUE_QUOTA,
        tools_shown: int = SHOWN_TOKENS,
        clock: Clock = _now,
    ) -> None:
        given = [procedures] if isinstance(procedures, Procedure | Document | Path | str) else procedures
        self._catalogue = Catalogue(tool_sources(tools))
        self._models = ConnectedModels.of_given(model, models, profiles)
        self._log: Log = log if log is not None else MemoryLog()
        self._policy = policy if policy is not None else Policy()
        self._budgets = budget if isinstance(budget, Budgets) else Budgets(run=budget or UNLIMITED)
        self._prices = prices if prices is not None else Prices()
        self._screen = screen if screen is not None else Screen()
        self._vault = vault if vault is not None else _vault_for(self._log)
        self._clock = clock
        self._value_quota = value_quota
        self._heart = Heart(self._log, clock, new_driver())
        self._alerts = tuple(alerts)
        self._subscribers: list[Subscriber] = [telling(self._alerts)] if alerts else []
        documents = [document_of(item) for item in given]
        self._library = Library(documents, self._catalogue, self._budgets, self._models, tools_shown)
        self._finder = Finder([document.procedure for document in documents])
        self._redaction = Redaction(self._vault, redact)
        self._accounts = Accounts(
            self._log, self._vault, self._redaction, clock, self._budgets.principal, self._heart.name
        )
        rules = {
            "policy": self._policy.to_data(),
            "screen": self._screen.rules.model_dump(mode="json"),
            **self._redaction.to_data(),
        }
        self._driving = Driving(
            self._log,
            clock,
            self._heart,
            self._accounts,
            self._redaction,
            as_blob(rules),
            heads,
            self._subscribers,
            self._surroundings,
            self._models,
            Callers(self._log),
        )
        stopping = Stopping(self._log, self._heart, clock, self._redaction.of)
        self._children = Children(self._driving, self._catalogue, stopping)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Release the tools, the log, the vault, and a model that was named; one that was passed is its maker's."""
        self._finder.close()
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
        return await self._library.procedures()

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
        chosen = await self._library.choose(procedure)
        held = held_grip(grip)
        book = self._library.book(chosen, held)
        given = checked_inputs(chosen, dict(inputs or {}))
        self._library.hold_to_roles(chosen, held, given)
        run = run_id or secrets.token_hex(6)
        if ":" in run:
            raise UserError(Text(f"run_id: '{run}' has a colon", f"run_id：“{run}”含有冒号"), _RUN_ID_HINT)
        who = principal if isinstance(principal, Principal) else Principal(id=principal)
        hold_to_prices(self._prices, self._budgets.all(), self._models)
        names = self._redaction.rules.names_in(chosen.inputs, who.id, given)
        budget, account = await self._accounts.reserve(who.id, run, self._budgets.run, names)
        driver = self._driving.driver(book, run, run)
        journal = driver.journal
        try:
            redactor = driver.around.redactor
            redactor.learn(names)
            await self._driving.begin(
                driver,
                RunStarted(
                    procedure_id=chosen.id,
                    procedure=journal.keep(*self._library.blob(chosen.id)),
                    tools=journal.keep(*self._library.tools),
                    policy=journal.keep(*self._driving.rules),
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
                    tools_shown=book.tools_shown,
                    dry_run=dry_run,
                    budget=budget,
                    step_budget=self._budgets.step,
                    step_budgets=self._budgets.by_step(),
                    account=account,
                    cut=differing(budget, self._budgets.run),
                    children={
                        name: journal.keep(*blob) for name, blob in self._library.callees(chosen).items()
                    },
                ),
            )
            return await self._children.drive(driver)
        except BaseException:
            await self._accounts.give_back(journal, account)
            raise

    def run_sync(self, request: str, **options: Any) -> Run:
        """`run` for callers without an event loop; takes the same options."""
        return asyncio.run(self.run(request, **options))

    async def resume(
        self, run: str, *, answer: Json = None, answered: bool = False, by: Principal | str = "operator"
    ) -> Run:
        """Take a run up again: after a crash, when what it waits for has come, or with a person's `answer` (set
        `answered` to give null).

        The run goes on with the procedure and tools it was started with. Where it waits for a run that it has called,
        that one is looked after first; where that is a time or an event, it goes on when that has come, and waits on
        else. An approval is answered by whom its terms admit: the roles of a `Principal` are believed, those of a name
        are looked up in the policy. When it ends, the run that has called it goes on. Raises `UserError` for an unknown
        run, one that has ended, an answer that the question does not allow or that `by` may not give, or a missing
        answer, and `RunBusy` where another driver has it.
        """
        stored = await self._stored(run)
        state = stored.state
        cursor = state.cursor
        given = answered or answer is not None
        if given:
            if cursor is None or cursor.question is None:
                raise UserError(Text("the run asks nothing", "该运行没有提问"))
            return await self._answered(stored, answer, by)
        if state.suspended_at is None:
            return await self._children.up(await self._children.go_on(stored, by))
        looked = await self._children.look(stored)
        if looked.state.seq == state.seq and cursor is not None and cursor.question is not None:
            raise UserError(Text("the run waits for an answer", "该运行在等待回答"), ANSWER_HINT)
        return await self._children.up(looked)

    async def look(self, run: str, *, principal: str | None = None) -> Run:
        """A run as it is in the log: nothing is done. With a `principal`, one that acts for somebody else is not there.

        Raises `UserError` for an unknown run.
        """
        stored = await open_run(self._log, run, self._driving.driver)
        if principal is not None and not stored.acts_for(principal):
            raise no_run(run)
        return self._driving.run(stored.driver, stored.events)

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

    async def may_approve(self, run: str, *, by: Principal | str) -> bool:
        """Whether `approve` would take the leave of `by`. Raises `UserError` where the run does not wait for it."""
        stored = await self._waiting(run)
        makers = await makers_of(self._driving, stored) if stored.must_differ(True) else ()
        try:
            voter(stored.driver, by, makers, agrees=True)
        except UserError:
            return False
        return True

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
        if answer_missed(stored.state, stored.events, self._clock()) is not None:
            raise UserError(_TOO_LATE, _GO_ON_WITHOUT)
        await self._children.hold_above(stored)
        makers = await makers_of(self._driving, stored) if stored.must_differ(answer) else ()
        told = answered(driver, asked.body, answer, by, why, makers)
        driver.journal.emit(told, asked.seq)
        if stored.state.suspended_at is None:
            return await self._children.up(await self._children.go_on(stored, by))
        return await self._driving.park(stored)

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
        is made again only with `again`. What has happened may also be said alone, of a run that has ended otherwise.
        Raises `UserError` for a run that cannot be taken over, and for values and steps that do not fit.
        """
        stored = await open_run(self._log, run, self._driving.driver, self._catalogue)
        stored.must_be_free(self._clock())
        if to is not None:
            hold_to_prices(self._prices, stored.state.budgets, self._models)
        driver = stored.driver
        if happened is not None and to is None and not values and only_tells(stored.state):
            say_happened(driver, by, happened)
            return await self._driving.park(stored)
        take_over(driver, by, why)
        if happened is not None:
            say_happened(driver, by, happened)
        set_values(driver, by, values or {})
        if to is None:
            return await self._driving.park(stored)
        hand_back(driver, by, to, again=again)
        await self._children.hold_above(stored)
        return await self._children.up(await self._children.go_on(stored, by))

    async def _stored(self, run: str) -> StoredRun:
        """A run that can be gone on with."""
        stored = await open_run(self._log, run, self._driving.driver, self._catalogue)
        stored.must_go_on()
        stored.must_be_free(self._clock())
        hold_to_prices(self._prices, stored.state.budgets, self._models)
        hold_to_models(self._models, stored.driver.book.procedure)
        return stored

    async def cancel(
        self, run: str, *, by: str = "operator", why: str | None = None, alone: bool = False
    ) -> Run:
        """End a run as cancelled, with all that it has called: at once, or where somebody drives it, as soon as they
        have stopped. The run that has called it goes on then, with the error `cancelled`; with `alone`, which needs no
        tools and no model, it is left to whoever wakes or resumes it.

        Raises `UserError` for an unknown or ended run, `RunBusy` where its driver does not stop.
        """
        ended = await self._children.cancel(run, by, why)
        return ended if alone else await self._children.up(ended)

    async def signal(
        self, run: str, event: str, *, payload: Json = None, by: Principal | str = "operator"
    ) -> Run:
        """Tell a run that `event` has happened outside. Where it waits for that, it goes on; else it is kept until the
        run comes to a step that does, and is taken once.

        Raises `UserError` for a run that has ended, an event that its procedure nowhere waits for, and a payload that
        no such step takes: then nothing is kept.
        """
        stored = await self._children.open(run)
        stored.must_be_open()
        await send_signal(self._log, stored, event, payload, by, self._clock())
        state = stored.state
        if state.suspended_at is None or state.taken_by is not None:
            return self._driving.run(stored.driver, stored.events)
        hold_to_prices(self._prices, state.budgets, self._models)
        return await self._children.up(await self._children.look(stored))

    async def wake(self) -> list[Run]:
        """Go on with every run whose time, event, deadline or child has come. Returns those that have gone on.

        A run that somebody else takes up first, and one that this engine cannot go on with, is left to others.
        """
        woken: list[Run] = []
        for run in await due(self._log, self._clock()):
            try:
                before = len(await self._log.read(run))
                went = await self.resume(run, by="wake")
                woken += [went] if went.state.seq > before else []
            except UserError as error:
                _LOGGER.warning("run %s is due and cannot go on: %s", run, error.message.en)
        return woken

    def _surroundings(self, redactor: Redactor) -> Surroundings:
        return Surroundings(
            self._models.of, self._models.profiles, self._catalogue, self._policy, self._screen, redactor,
            self._prices, self._clock, self._finder, self._value_quota,
        )  # fmt: skip


def _vault_for(log: Log) -> Vault:
    """A vault that lasts as long as the log does."""
    return SqliteVault(log.path.with_suffix(".vault")) if isinstance(log, SqliteLog) else MemoryVault()


_TOO_LATE = Text("the time for an answer is over", "回答的时限已过")
_GO_ON_WITHOUT = Text(
    "without an answer the run goes on as for a timeout: sopwith resume RUN",
    "不带回答则按超时继续：sopwith resume RUN",
)
_WAITING_HINT = Text("`sopwith approvals` lists what waits", "用 sopwith approvals 查看等待批准的调用")
_RUN_ID_HINT = Text("a colon marks what stands beside a run", "冒号用于标记运行的附属日志")
