"""What is seen of a run while it goes on: at a terminal, off one, and after Ctrl-C."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import pytest
from rich.console import Console
from tests.cli.command import Command
from tests.cli.screen import CTRL_C, HIDE_CURSOR, SHOW_CURSOR, Screen, at_a_terminal
from tests.cli.test_run import FIND, REMIND, SLOW, posix

from sopwith import Engine, Policy, tool
from sopwith.cli.columns import width
from sopwith.cli.exit_code import ExitCode
from sopwith.cli.live_view import LiveView
from sopwith.cli.progress import Progress
from sopwith.cli.terminal import Terminal
from sopwith.ir.body import Body
from sopwith.ir.event import Event
from sopwith.lang.numbering import numbers
from sopwith.lang.read import read
from sopwith.models.scripted import ScriptedModel
from sopwith.run.state import State

COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-7]|9[0-7]|38;)[\d;]*m")
SURVEY = """
schema: sopwith/procedure/1
id: survey
name: 客户回访
inputs:
  phone: {type: string, from: run.request}
output: {type: object}
start: look
steps:
  look: {name: 查询客户资料, tool: crm.find, with: {phone: "${inputs.phone}"}, as: customer, next: kind}
  kind:
    name: 判断来意
    do: say what they want
    uses: [customer]
    returns: {enum: [退款, 换货]}
    as: wish
    next: [{to: each, judge: 客户很着急}, {otherwise: each}]
  each:
    name: 逐项登记
    each: {in: "${customer['items']}", as: item}
    tool: crm.note
    with: {text: "${item}"}
    as: notes
    next: done
  done: {end: complete, result: {wish: "${wish}"}}
"""


@tool(name="crm.find")
def find(phone: str) -> dict[str, object]:
    """Who it is."""
    return {"name": "王小明", "phone": phone, "items": ["甲", "乙", "丙"], "notes": "很长的备注" * 600}


@tool(name="crm.note")
def note(text: str) -> str:
    """Note something down."""
    return f"已登记 {text} \x1b[31m"


async def seen(language: str = "en", cells: int = 78) -> list[list[str]]:
    """The lines of the view after every event of a whole run."""
    document = read(SURVEY)
    view = LiveView(document.procedure, numbers(document.procedure), language)
    screens: list[list[str]] = []

    def look(event: Event, state: State) -> None:
        view.take(event, state)
        screens.append(view.lines(cells))

    engine = Engine(document, [find, note], ScriptedModel(["A", "B"]), policy=Policy())
    engine.subscribe(look)
    async with engine:
        run = await engine.run("13812345678")
    assert run.status == "completed", run.outcome
    return screens


async def test_it_shows_where_the_run_is_and_where_it_may_go() -> None:
    shown = [line for screen in await seen("zh") for line in screen]
    assert any("✓ 1 查询客户资料 → ● 2 判断来意 → 3 逐项登记" in line for line in shown)
    assert any("模型处理中 可选: A 退款 · B 换货" in line for line in shown)
    assert any("模型处理中 可选: A 客户很着急 · B 否则" in line for line in shown)
    assert any("调用 crm.find" in line for line in shown)
    assert any(re.search(r"各项 共 3 项，完成 \d，进行中 \d", line) for line in shown)
    assert any("wish = 退款" in line for line in shown)
    assert any("模型调用 2 次" in line and "工具调用 4 次" in line for line in shown)


@pytest.mark.parametrize("cells", [30, 78, 160])
async def test_no_line_is_wider_than_the_terminal_also_in_chinese(cells: int) -> None:
    assert max(width(line) for screen in await seen("zh", cells) for line in screen) <= cells


async def test_secrets_stay_placeholders_long_values_previews_and_controls_words() -> None:
    shown = "\n".join(line for screen in await seen(cells=400) for line in screen)
    assert "13812345678" not in shown
    assert "<phone:1>" in shown
    assert "很长的备注" * 40 not in shown
    assert "\x1b" not in shown
    assert "\\u001b[31m" in shown


class Unheard(Body):
    """A kind of event that this version does not know."""

    kind: Literal["unheard.of"] = "unheard.of"


async def test_what_it_does_not_know_changes_nothing() -> None:
    document = read(SURVEY)
    view = LiveView(document.procedure, numbers(document.procedure), "en")
    assert view.lines(80) == []
    told: list[tuple[Event, State]] = []
    engine = Engine(document, [find, note], ScriptedModel(["A", "B"]))
    engine.subscribe(lambda event, state: told.append((event, state)))
    async with engine:
        await engine.run("13812345678")
    progress = Progress(Terminal(), document.procedure, numbers(document.procedure), "en", loads=False)
    for event, state in told:
        for each in (event, event._replace(body=Unheard())):
            view.take(each, state)
            progress(each, state)
        assert view.lines(80)


async def test_a_run_that_it_started_is_shown_while_it_goes_on() -> None:
    document = read(SURVEY)
    view = LiveView(document.procedure, numbers(document.procedure), "en")
    told: list[tuple[Event, State]] = []
    engine = Engine(document, [find, note], ScriptedModel(["A", "B"] * 2))
    engine.subscribe(lambda event, state: told.append((event, state)))
    async with engine:
        await engine.run("first", run_id="parent")
        await engine.run("second", run_id="child")
    middle = next(i for i, (event, _) in enumerate(told) if event.run == "child" and event.step == "kind")
    for event, state in told[: middle + 1]:
        view.take(event, state)
    assert "  beside it survey child: running ● kind" in view.lines(80)
    for event, state in told[middle + 1 :]:
        view.take(event, state)
    assert not [line for line in view.lines(80) if "child" in line]


async def test_it_is_drawn_by_rich_without_a_line_too_many() -> None:
    document = read(SURVEY)
    view = LiveView(document.procedure, numbers(document.procedure), "zh")
    engine = Engine(document, [find, note], ScriptedModel(["A", "B"]))
    engine.subscribe(view.take)
    async with engine:
        await engine.run("13812345678")
    for columns in (40, 100):
        out = io.StringIO()
        Console(file=out, force_terminal=True, width=columns, color_system="truecolor").print(view)
        lines = re.sub(r"\x1b\[[\d;]*m", "", out.getvalue()).splitlines()
        assert len(lines) == len(view.lines(columns - 1))
        assert max(map(width, lines)) < columns


@contextmanager
def in_the_tool_at_a_terminal(project: Command, *arguments: str, **environment: str) -> Iterator[Screen]:
    """The command at a terminal, once its tool is at work."""
    project.write("tools.py", SLOW)
    reading, writing = os.pipe()
    try:
        with at_a_terminal(project, *arguments, ready=writing, **environment) as screen:
            os.close(writing)
            assert os.read(reading, 5) == b"ready"
            yield screen
    finally:
        os.close(reading)


@posix
def test_ctrl_c_leaves_the_terminal_sane_and_the_run_resumable(project: Command) -> None:
    with in_the_tool_at_a_terminal(project, *FIND) as screen:
        screen.read_until("calls orders.find")
        assert HIDE_CURSOR in screen.shown
        screen.press(CTRL_C)
        assert screen.read_all() == ExitCode.INTERRUPTED
    assert screen.shown.rindex(SHOW_CURSOR) > screen.shown.rindex(HIDE_CURSOR)
    assert "Traceback" not in screen.shown
    run = project("runs", "--json").document[0]["run"]
    assert f"sopwith resume {run}" in screen.shown
    with at_a_terminal(project, "resume", run) as resumed:
        assert resumed.read_all() == ExitCode.OK
    assert any("orders.find ✓" in line for line in resumed.lines)
    assert '"order_id": "A-1001"' in resumed.shown


PARENT = """
schema: sopwith/procedure/1
id: desk
inputs: {request: {type: string, from: run.request}}
start: look
steps:
  look: {name: Look it up, call: {procedure: late_order}, next: done}
  done: {end: complete}
"""


@posix
def test_a_run_that_it_calls_is_drawn_as_a_part_of_it(project: Command) -> None:
    project.write("desk.yaml", PARENT)
    with in_the_tool_at_a_terminal(project, "run", "desk.yaml", *FIND[2:]) as screen:
        screen.read_until("beside it late_order [^ ]*: running ● find")
        assert "waits for late_order" in screen.shown
        screen.press(CTRL_C)
        assert screen.read_all() == ExitCode.INTERRUPTED
    assert screen.shown.count(SHOW_CURSOR) >= screen.shown.count(HIDE_CURSOR)
    assert "Traceback" not in screen.shown
    with at_a_terminal(project, "run", "desk.yaml", *FIND[2:], "--quiet") as quiet:
        assert quiet.read_all() == ExitCode.OK
    assert "↳" not in quiet.shown
    assert "orders.find" not in quiet.shown


@posix
def test_with_no_color_nothing_is_coloured(project: Command) -> None:
    with in_the_tool_at_a_terminal(project, *FIND, NO_COLOR="1") as screen:
        screen.read_until("calls orders.find")
        screen.press(CTRL_C)
        screen.read_all()
    assert not COLOUR.search(screen.shown)


@posix
@pytest.mark.parametrize("option", ["--plain", "--quiet"])
def test_plain_draws_nothing_again_and_quiet_says_no_step(project: Command, option: str) -> None:
    with at_a_terminal(project, *FIND, option) as screen:
        assert screen.read_all() == ExitCode.OK
    assert not re.search(r"\x1b\[(?!0?m|\d+m)", screen.shown)
    assert ("orders.find ✓" in screen.shown) is (option == "--plain")
    assert "sopwith trace" in screen.shown


@posix
def test_a_question_is_asked_on_a_terminal_that_stands_still(project: Command) -> None:
    with at_a_terminal(project, *REMIND) as screen:
        screen.read_until("orders.remind")
        screen.read_until(r"waits|\?|y/n")
        assert screen.shown.count(SHOW_CURSOR) == screen.shown.count(HIDE_CURSOR)
        screen.press(b"y\n")
        assert screen.read_all() == ExitCode.OK


@posix
def test_runs_are_watched_as_a_table_at_a_terminal(project: Command) -> None:
    run = project(*FIND, "--json").document["run"]
    with at_a_terminal(project, "runs", "--watch") as screen:
        screen.read_until(run)
        again = project(*FIND, "--json").document["run"]
        screen.read_until(again)
        screen.press(CTRL_C)
        assert screen.read_all() == ExitCode.INTERRUPTED
    assert screen.shown.rindex(SHOW_CURSOR) > screen.shown.rindex(HIDE_CURSOR)


@posix
@pytest.mark.parametrize("extra", [(), ("--json",)], ids=["lines", "json"])
def test_runs_are_watched_as_a_line_for_every_change_off_a_terminal(
    project: Command, extra: tuple[str, ...]
) -> None:
    first = project(*FIND, "--json").document["run"]
    with project.start("runs", "--watch", *extra) as watching:
        assert watching.stdout is not None
        line = watching.stdout.readline()
        assert first in line and "completed" in line
        second = project(*FIND, "--json").document["run"]
        while second not in line or "completed" not in line:
            line = watching.stdout.readline()
            assert line, "the watch has ended"
        assert "\x1b" not in line
        watching.kill()
