"""One run at the command line: it is driven, people are asked, and its end is reported."""

from __future__ import annotations

import asyncio
import getpass
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from sopwith.cli.answer import ask_at, expected, read_answer
from sopwith.cli.approvals import who_may
from sopwith.cli.connection import Connection
from sopwith.cli.exit_code import ExitCode, of_status
from sopwith.cli.money import dollars
from sopwith.cli.progress import Progress
from sopwith.cli.terminal import Terminal
from sopwith.cli.waits import chain, how_to_go_on, waits_json
from sopwith.errors import SopwithError, Text, UserError
from sopwith.ir.event import CallJudged, Event, HumanAnswered, HumanAsked, Outcome, event_json
from sopwith.ir.value import Json
from sopwith.lang.machine import Machine
from sopwith.models.local import LocalModel
from sopwith.run.engine import Engine
from sopwith.run.operator import TAKEN_FROM
from sopwith.run.run import Run, deepest, highest
from sopwith.run.state import State
from sopwith.run.waiting import waiting_of

T = TypeVar("T")

_WAITS = Text("the run waits for an answer: {}", "运行在等待回答：{}")
_ANSWER_WITH = Text(
    "answer ({}): sopwith resume {} --answer …{}", "回答（{}）：sopwith resume {} --answer …{}"
)
_APPROVE_WITH = Text(
    "approve: sopwith approve {0} --by NAME{1}, or refuse: sopwith deny {0} --by NAME --why …{1}",
    "批准：sopwith approve {0} --by 姓名{1}，或拒绝：sopwith deny {0} --by 姓名 --why …{1}",
)
_VOID = {
    "expired": Text("the approval had expired: it is asked for again", "批准已过期，需重新批准"),
    "changed": Text(
        "what was approved, or the rule, has changed: it is asked for again",
        "批准的内容或规则已改变，需重新批准",
    ),
}
_DRY = Text("DRY RUN (nothing was written): {}", "试运行（没有执行任何写操作）：{}")
_LOOK = Text("run {}{} · look: sopwith trace {}{}", "运行 {}{} · 查看：sopwith trace {}{}")
_TAKE_OVER = Text(
    "a person can go on with it: sopwith takeover {} --to STEP{}{}",
    "可由人接管后继续：sopwith takeover {} --to 步骤{}{}",
)
_TAKEN = Text(
    "{} has the run; hand it back: sopwith takeover {} --to STEP{}",
    "运行由 {} 接管；交还：sopwith takeover {} --to 步骤{}",
)
_STOPPED = Text("interrupted; go on with: sopwith resume {}{}", "已中断；继续运行：sopwith resume {}{}")
_OF = Text("  ↳ {} (run {})", "  ↳ {}（运行 {}）")
_NOTHING = Text("interrupted before the run began", "在运行开始之前被中断")
_ENDS = {
    "completed": Text("completed", "已完成"),
    "escalated": Text("handed to a person", "已转交人工"),
    "denied": Text("denied", "被拒绝"),
    "exhausted": Text("out of budget or time", "超出预算或时间"),
    "cancelled": Text("cancelled", "已取消"),
    "failed": Text("failed", "失败"),
}


@dataclass(slots=True)
class Session:
    """One run, from its start or its resumption to its end or a question that stays open.

    `answers` are given in order to what is asked; `shown_data` is the data folder where it is not the usual one.
    """

    terminal: Terminal
    runner: asyncio.Runner
    answers: list[str] = field(default_factory=list[str])
    lines: bool = False
    by: str | None = None
    """Who answers; None for whoever sits here."""
    reveal: bool = False
    """Whether questions, answers and outputs are printed with true values; else with placeholders."""
    shown_data: Path | None = None
    run_id: str = ""
    began: bool = False
    progress: Progress | None = None
    others: dict[str, Progress] = field(default_factory=dict[str, Progress])
    """What is shown of the other runs of the family, by run."""
    machines: Sequence[Machine] = ()
    earlier: Sequence[Event] = ()
    """What the log holds of a run that is taken up again."""

    def __post_init__(self) -> None:
        if self.by is not None:
            acting(self.by)

    @property
    def who(self) -> str:
        """Who answers."""
        return acting(self.by)

    def drive(
        self, connection: Connection, language: str, start: Callable[[], Coroutine[Any, Any, Run]]
    ) -> ExitCode:
        """Start, answer as long as there are answers, report. Ctrl-C leaves a run that can be resumed."""
        try:
            if self.terminal.view != "quiet":
                self.progress = Progress(
                    self.terminal,
                    connection.machine.procedure,
                    connection.machine.numbers,
                    language,
                    loads=isinstance(connection.model, LocalModel),
                )
                self.progress.take_up(self.earlier)
            self.machines = (connection.machine, *connection.family)
            connection.engine.subscribe(self._see)
            run = highest(self.runner.run(start()))
            asking = deepest(run)
            while asking.outcome is None and asking.question is not None and asking.state.taken_by is None:
                answer = self._answer(asking, connection.engine)
                if answer is None:
                    break
                resumed = connection.engine.resume(asking.id, answer=answer[0], answered=True, by=self.who)
                went = self.runner.run(resumed)
                if went.id == run.id or went.called_by is not None:
                    run = highest(went)
                asking = deepest(highest(went))
            return self._report(run, connection, asking)
        except KeyboardInterrupt:
            self._still()
            said = _STOPPED if self.began else _NOTHING
            self.terminal.say("\n" + self.terminal.text(said).format(self.run_id, self._data_option()))
            if self.terminal.json:
                self.terminal.document({"run": self.run_id if self.began else None, "status": "interrupted"})
            return ExitCode.INTERRUPTED
        except SopwithError:
            self._still()
            if self.began:
                self.terminal.say(
                    self.terminal.text(_LOOK).format(self.run_id, "", self.run_id, self._data_option())
                )
            raise
        finally:
            self._still()
            self.runner.run(connection.close())

    def _still(self) -> None:
        if self.progress is not None:
            self.progress.still()

    def _see(self, event: Event, state: State) -> None:
        self.began = True
        if self.lines:
            live = event_json(event)
            del live["hash"]  # known when it is stored
            self.terminal.line(json.dumps(live, ensure_ascii=False))
        elif self.progress is None:
            return
        elif event.run == self.run_id:
            self.progress(event, state)
        else:
            self._see_other(self.progress, event, state)

    def _see_other(self, own: Progress, event: Event, state: State) -> None:
        """An event of a run of the same family: its steps are shown as those of the run itself, below a line of its
        own."""
        shown = self.others.get(event.run)
        if shown is None:
            machine = next((m for m in self.machines if m.procedure.id == state.procedure_id), None)
            if machine is None:
                return
            self._still()
            self.terminal.say(
                self.terminal.text(_OF).format(machine.procedure.name or state.procedure_id, event.run)
            )
            shown = own.beside(machine.procedure, machine.numbers, state.language)
            self.others[event.run] = shown
        shown(event, state)

    def _answer(self, run: Run, engine: Engine) -> tuple[Json] | None:
        """The next answer: given on the command line, or typed by whoever sits here. None: nobody answers.

        For leave to call nobody is asked who may not give it.
        """
        asked = question(run.events)
        schema = asked.answer_schema or {}
        if self.answers:
            return (self.given_answer(schema, run.id),)
        if not self.terminal.asks or self.lines or self.terminal.json:
            return None
        if asked.what == "approval" and not self.runner.run(engine.may_approve(run.id, by=self.who)):
            return None
        with suppress(EOFError):
            return (ask_at(self.terminal, self._question(run), schema),)
        return None

    def given_answer(self, schema: Mapping[str, Json], run: str | None = None) -> Json:
        """The next answer of the command line. Raises `UserError` that says how to answer this run instead."""
        try:
            return read_answer(self.answers.pop(0), schema)
        except UserError as error:
            hint = Text(*self._how_to_answer(schema, run or self.run_id))
            raise UserError(error.message, hint, error.code) from error

    def _how_to_answer(self, schema: Mapping[str, Json], run: str) -> tuple[str, str]:
        wanted = expected(schema)
        return (
            _ANSWER_WITH.en.format(wanted.en, run, self._data_option()),
            _ANSWER_WITH.zh.format(wanted.zh, run, self._data_option()),
        )

    def _question(self, run: Run) -> str:
        return (self.reveal and run.question) or question(run.events).question

    def _outcome(self, run: Run) -> Outcome | None:
        return run.outcome if self.reveal else run.state.outcome

    def _report(self, run: Run, connection: Connection, asking: Run) -> ExitCode:
        if self.terminal.json:
            self.terminal.document(self._document(run, connection.machine.numbers, asking))
        elif not self.lines and (outcome := self._outcome(run)) is not None:
            self._print_outcome(outcome, run.state.dry_run)
        elif not self.lines:
            for line in chain(run):
                self.terminal.say(line)
            self._say_how_to_go_on(asking)
        cost = f" · {dollars(run.state.money)}" if run.state.money else ""
        self.terminal.say(self.terminal.text(_LOOK).format(run.id, cost, run.id, self._data_option()))
        return of_status(run.status)

    def _say_how_to_go_on(self, run: Run) -> None:
        """What is waited for: the question that stays open, who may answer it, and how; a time, or an event."""
        if run.state.taken_by is not None:
            text = self.terminal.text(_TAKEN)
            self.terminal.say("\n" + text.format(run.state.taken_by, run.id, self._data_option()))
            return
        if run.question is None:
            for line in how_to_go_on(run, self._data_option(), self.machines):
                self.terminal.say(line)
            return
        asked, waits = question(run.events), waiting_of(run.events)
        told = (e.body for e in reversed(run.events) if isinstance(e.body, CallJudged | HumanAnswered))
        last = next(told, None)
        if waits is not None and isinstance(last, CallJudged) and last.void is not None:
            self.terminal.say("\n" + self.terminal.text(_VOID[last.void]))
        self.terminal.say("\n" + self.terminal.text(_WAITS).format(self._question(run)))
        if waits is None:
            self.terminal.say(Text(*self._how_to_answer(asked.answer_schema or {}, run.id)))
            return
        self.terminal.say(who_may(self.terminal, waits))
        self.terminal.say(self.terminal.text(_APPROVE_WITH).format(run.id, self._data_option()))

    def _document(self, run: Run, numbers: Any, asking: Run) -> dict[str, Any]:
        """A run as the one document of `--json`."""
        state = run.state
        asked = question(asking.events) if asking.question is not None else None
        outcome = self._outcome(run)
        return {
            "run": run.id,
            "status": run.status,
            "dry_run": state.dry_run,
            "procedure": state.procedure_id,
            "path": [
                {"step": v.step, "visit": v.visit, "number": numbers.get(v.step, ""), "by": v.by}
                for v in run.visited
            ],
            "question": None
            if asked is None
            else {
                "run": asking.id,
                "what": asked.what,
                "text": self._question(asking),
                "schema": asked.answer_schema,
            },
            "waits": waits_json(run),
            "outcome": None if outcome is None else outcome.model_dump(mode="json"),
            "usage": state.usage.model_dump(mode="json"),
            "seconds": round((state.at - state.started_at - state.waited) / 1e6, 3),
        }

    def _data_option(self) -> str:
        return f" --data {self.shown_data}" if self.shown_data is not None else ""

    def _print_outcome(self, outcome: Outcome, dry: bool) -> None:
        self.terminal.say("")
        if outcome.answer is not None:
            self.terminal.out(outcome.answer)
        if outcome.output is not None:
            self.terminal.out(json.dumps(outcome.output, ensure_ascii=False))
        reason = f": {outcome.packet.reason}" if outcome.packet is not None else ""
        end = self.terminal.text(_ENDS[outcome.kind]) + reason
        if outcome.kind in TAKEN_FROM and not dry:
            known = " --happened yes|no" if outcome.packet is not None and outcome.packet.open else ""
            end += "\n" + self.terminal.text(_TAKE_OVER).format(self.run_id, known, self._data_option())
        self.terminal.say(self.terminal.text(_DRY).format(end) if dry else end)


def question(events: Sequence[Event]) -> HumanAsked:
    """What was asked last."""
    return next(e.body for e in reversed(events) if isinstance(e.body, HumanAsked))


def acting(by: str | None) -> str:
    """Who acts: `by`, or whoever sits here where none is given. Raises `UserError` for a name without a letter."""
    if by is None:
        return user()
    return said(
        "--by", by, Text("give the name of whoever acts, or leave --by out", "请写明操作者，或去掉 --by")
    )


def reason(why: str | None) -> str | None:
    """Why something is done, where that is said. Raises `UserError` for a reason that is empty."""
    return (
        None
        if why is None
        else said("--why", why, Text("say why, or leave it out", "请说明理由，或去掉该选项"))
    )


def said(option: str, given: str, hint: Text) -> str:
    """What was given to an option whose text is recorded. Raises `UserError` where that is nothing."""
    if not given.strip():
        raise UserError(Text(f"{option} is empty", f"{option} 为空"), hint)
    return given


def user() -> str:
    """The name of whoever sits here."""
    with suppress(Exception):
        return getpass.getuser()
    return "operator"
