"""`sopwith resume`: a run goes on, after an answer or after a crash."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer

from sopwith.cli.connection import guards_of, open_again, pinned, pinned_family
from sopwith.cli.exit_code import ExitCode
from sopwith.cli.options import (
    Answers,
    AsJson,
    AsLines,
    By,
    Data,
    Lang,
    Mcp,
    ModelSpec,
    Plain,
    PolicyFile,
    PriceFile,
    Quiet,
    Reveal,
    RunId,
    Tools,
    new_verb,
)
from sopwith.cli.project import Options, Project, absolute_sources, remembered
from sopwith.cli.run import unusual
from sopwith.cli.session import Session, question
from sopwith.cli.settings import load_settings
from sopwith.cli.store import find_run, open_log
from sopwith.cli.terminal import terminal
from sopwith.errors import Text, UserError
from sopwith.ir.event import Event
from sopwith.ir.spoken import spoken
from sopwith.lang.machine import Machine
from sopwith.run.arrival import next_time
from sopwith.run.engine import Engine
from sopwith.run.fold import fold_all
from sopwith.run.operator import TAKEN_FROM
from sopwith.run.run import Run
from sopwith.run.state import State

verb = new_verb()


@verb.command()
def resume(
    context: typer.Context,
    run: RunId,
    answer: Answers = None,
    by: By = None,
    reveal: Reveal = False,
    model: ModelSpec = None,
    tools: Tools = None,
    mcp: Mcp = None,
    policy: PolicyFile = None,
    prices: PriceFile = None,
    data: Data = None,
    plain: Plain = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
    as_lines: AsLines = False,
    lang: Lang = "",
) -> int:
    """Go on with a run that waits for an answer, or whose process ended. Nothing is done twice.

    继续一个等待回答、或进程已结束的运行；不会重复执行写操作。
    """
    options = Options(model, data, tools or None, mcp, policy, prices)
    return take_up(context, run, options, _resume, by=by, answers=answer or (), lines=as_lines, reveal=reveal)


async def _resume(engine: Engine, session: Session, state: State, events: list[Event]) -> Run:
    at = next_time(state)
    if not _asks(state) or (not session.answers and at is not None and at <= time.time_ns() // 1000):
        return await engine.resume(session.run_id, by=session.who)
    if not session.answers:
        # Nothing to go on with yet: the question is put again.
        return Run(state, events, None, question(events).question)
    given = session.given_answer(question(events).answer_schema or {})
    return await engine.resume(session.run_id, answer=given, answered=True, by=session.who)


Act = Callable[[Engine, Session, State, list[Event]], Coroutine[Any, Any, Run]]
"""How a run is taken up: what the engine is asked to do first."""


def take_up(
    context: typer.Context,
    run: str,
    options: Options,
    act: Act,
    *,
    by: str | None = None,
    answers: Sequence[str] = (),
    lines: bool = False,
    reveal: bool = False,
    ended: bool = False,
) -> ExitCode:
    """Open what a stored run needs, take it up with `act`, and drive it. `run` is its id, or the beginning of it.

    Where it must not have `ended`, and has, a `UserError` says so before anything is opened.
    """
    settings = load_settings(Path.cwd(), {"data": options.data})
    options = replace(options, data=settings.data)
    session = Session(terminal(context), asyncio.Runner(), list(answers), lines, by, reveal)
    session.shown_data = unusual(settings.data)
    with session.runner:
        found = session.runner.run(_find(settings.data, run))
        session.run_id = found.run
        session.began = True
        if not ended:
            _refuse_ended(fold_all(found.events))
        return _go_on(session, project_again(options, found.events[0].task), found, act)


@dataclass(frozen=True, slots=True)
class Found:
    """A stored run: what it is pinned to, and its family."""

    run: str
    events: list[Event]
    machine: Machine
    others: list[Machine]


async def _find(data: Path, wanted: str) -> Found:
    log = open_log(data)
    try:
        name = await find_run(log, wanted)
        events = list(await log.read(name))
        return Found(name, events, await pinned(log, events), await pinned_family(log, events))
    finally:
        await log.close()


def project_again(options: Options, task: str) -> Project:
    """The files that the first run of a family was started with, where the command line names no others."""
    noted: dict[str, Any] = remembered(options.data or Path(), task)
    given = options.given()
    for name in ("tools", "mcp", "policy", "prices", "model"):
        if given[name] is None:
            given[name] = noted.get(name)
    given["openapi"] = noted.get("openapi")
    given["documents"] = noted.get("documents")
    given["models"] = {**noted.get("models", {}), **(given["models"] or {})}
    settings = load_settings(Path.cwd(), given)
    return Project(
        procedure=Path(noted.get("procedure", "")),
        tools=absolute_sources(settings.tools or ()),
        mcp=settings.mcp.absolute() if settings.mcp else None,
        policy=settings.policy.absolute() if settings.policy else None,
        prices=settings.prices.absolute() if settings.prices else None,
        settings=settings,
        allow=tuple(noted.get("allow", ())),
    )


def _refuse_ended(state: State) -> None:
    if state.outcome is None:
        return
    hint = Text(f"look: sopwith trace {state.run}", f"查看：sopwith trace {state.run}")
    if state.outcome.kind in TAKEN_FROM:
        hint = Text(
            f"{hint.en}; a person can go on with it: sopwith takeover {state.run} --to STEP",
            f"{hint.zh}；可由人接管后继续：sopwith takeover {state.run} --to 步骤",
        )
    raise UserError(
        Text(f"the run has ended: {state.status}", f"该运行已结束：{spoken(state.status).zh}"), hint
    )


def _go_on(session: Session, project: Project, found: Found, act: Act) -> ExitCode:
    state = fold_all(found.events)
    session.earlier = found.events
    guards = guards_of(project)
    session.terminal.secrets = guards.redact.secret_rules()
    connection = session.runner.run(
        open_again(project, guards, found.machine, found.others, state.inputs if state.bound else state.given)
    )

    async def begin() -> Run:
        return await act(connection.engine, session, state, found.events)

    return session.drive(connection, session.terminal.language, begin)


def _asks(state: State) -> bool:
    return state.cursor is not None and state.cursor.question is not None
