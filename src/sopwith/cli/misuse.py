"""What typer says about a command line that it cannot understand, in English and in Chinese."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from sopwith.errors import Text
from sopwith.ir.pydantic_problem import told


def misuse(error: Any) -> Text:
    """The message of an exception of typer or click, whichever of the two has raised it: they have the same names."""
    said = str(error.format_message())
    names = [kind.__name__ for kind in type(error).__mro__]
    found = next((_CHINESE[name](error) for name in names if name in _CHINESE), None)
    return Text(said, f"命令行有误：{found or said}")


def _missing(error: Any) -> str | None:
    what = "选项" if error.param is not None and error.param.param_type_name == "option" else "参数"
    return f"缺少{what} {_name(error)}"


def _no_option(error: Any) -> str | None:
    near = "、".join(sorted(error.possibilities or ()))
    return f"没有选项 {error.option_name}" + (f"（是否想写 {near}）" if near else "")


def _misused_option(error: Any) -> str | None:
    takes_none = "does not take a value" in error.message
    return f"选项 {error.option_name} " + ("不带值" if takes_none else "后面需要一个值")


def _bad_value(error: Any) -> str | None:
    return f"{_name(error)} 的值不正确：{_why(error)}"


def _why(error: Any) -> str:
    """What is wrong with a value: one of a few choices, of another type, or beyond a limit."""
    choice = re.search(r"('.*') is not one of (.*)\.$", error.message, re.DOTALL)
    if choice is not None:
        return f"{choice[1]} 不在可选值之内：{choice[2].replace(', ', '、')}"
    cause = error.__cause__
    return told(cause.errors()[0]).message.zh if isinstance(cause, ValidationError) else str(error.message)


def _name(error: Any) -> str:
    """The parameter as people write it: `--grip`, `PROCEDURE`."""
    parameter = error.param
    if parameter is None:
        return str(error.param_hint or "")
    is_option = parameter.param_type_name == "option"
    return "、".join(parameter.opts) if is_option else parameter.metavar or parameter.name


def _general(error: Any) -> str | None:
    """What has no class of its own."""
    for pattern, chinese in _SENTENCES:
        found = pattern.fullmatch(error.message)
        if found is not None:
            return chinese.format(*(part.replace("', '", "、").strip("'") for part in found.groups()))
    return None


_CHINESE: dict[str, Callable[[Any], str | None]] = {
    "MissingParameter": _missing,
    "NoSuchOption": _no_option,
    "BadOptionUsage": _misused_option,
    "BadParameter": _bad_value,
    "UsageError": _general,
}
"""What is said of each class; the nearest one of an exception's classes is taken."""

_SENTENCES = (
    (re.compile(r"No such command (.*)\. Did you mean (.*)\?", re.DOTALL), "没有命令 {0}，是否想写 {1}"),
    (re.compile(r"No such command (.*)\.", re.DOTALL), "没有命令 {0}"),
    (re.compile(r"Missing command\."), "缺少子命令"),
    (re.compile(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)", re.DOTALL), "多余的参数：{0}"),
)
