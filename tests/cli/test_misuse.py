"""A command line that cannot be understood is refused in the language of the reader, with the parameter's name."""

from __future__ import annotations

import re
from typing import Annotated, Any

import pytest
import typer
from tests.cli.command import Command

from sopwith.cli.exit_code import ExitCode
from sopwith.cli.misuse import misuse
from sopwith.errors import Text

MISUSED = [
    (("rnu",), "No such command 'rnu'", "没有命令 rnu"),
    (("policy", "tset"), "No such command 'tset'. Did you mean 'test'?", "没有命令 tset，是否想写 test"),
    (("policy",), "Missing command.", "缺少子命令"),
    (("run",), "Missing argument 'PROCEDURE'", "缺少参数 PROCEDURE"),
    (("run", "x.yaml", "--foo"), "No such option: --foo", "没有选项 --foo"),
    (
        ("run", "x.yaml", "--reques", "a"),
        "--quiet, --request, --request-file",
        "是否想写 --quiet、--request、--request-file",
    ),
    (("run", "x.yaml", "y"), "Got unexpected extra argument", "多余的参数：y"),
    (
        ("run", "x.yaml", "--request"),
        "Option '--request' requires an argument",
        "选项 --request 后面需要一个值",
    ),
    (("run", "x.yaml", "--json=3"), "Option '--json' does not take a value", "选项 --json 不带值"),
    (
        ("run", "x.yaml", "--grip", "loose"),
        "'loose' is not one of 'strict', 'bounded', 'guide', 'free'",
        "--grip 的值不正确：'loose' 不在可选值之内：'strict'、'bounded'、'guide'、'free'",
    ),
    (("run", "x.yaml", "--budget-tokens", "x"), "'--budget-tokens'", "--budget-tokens 的值不正确：应为整数"),
    (
        ("run", "x.yaml", "--budget-tokens", "-1"),
        "'--budget-tokens'",
        "--budget-tokens 的值不正确：应不小于 0",
    ),
    (("run", "x.yaml", "--budget-money", "x"), "'--budget-money'", "--budget-money 的值不正确：应为数字"),
    (
        ("run", "x.yaml", "--budget-money", "inf"),
        "--budget-money: must be a finite number",
        "--budget-money：应为有限的数",
    ),
]


@pytest.mark.parametrize(("arguments", "en", "zh"), MISUSED, ids=[" ".join(m[0]) for m in MISUSED])
def test_a_command_line_is_refused_in_both_languages(
    sopwith: Command, arguments: tuple[str, ...], en: str, zh: str
) -> None:
    english, chinese = sopwith("--lang", "en", *arguments), sopwith("--lang", "zh", *arguments)
    assert english.code == chinese.code == ExitCode.USAGE
    assert en in english.err and zh in chinese.err
    said = chinese.err.splitlines()[0]
    assert not re.search("No such|Missing|Invalid|Input should|unexpected|requires|does not", said)


def raised_by(function: Any, *arguments: str) -> Any:
    """What typer raises for a command line of the verb `function`."""
    app = typer.Typer()
    app.command()(function)
    with pytest.raises(Exception) as caught:
        typer.main.get_command(app).main(list(arguments), standalone_mode=False)
    return caught.value


def test_a_required_option_is_named() -> None:
    def send(to: Annotated[str, typer.Option("--to", "-t")]) -> None:
        """Send."""

    assert misuse(raised_by(send)).zh == "命令行有误：缺少选项 --to、-t"


def refuse(value: str) -> str:
    """A callback that takes no value."""
    raise typer.BadParameter(f"no {value}")


def test_what_a_callback_refuses_is_said_as_it_is() -> None:
    def send(to: Annotated[str, typer.Option("--to", callback=refuse)]) -> None:
        """Send."""

    error = raised_by(send, "--to", "x")
    assert misuse(error) == Text(error.format_message(), "命令行有误：--to 的值不正确：no x")
