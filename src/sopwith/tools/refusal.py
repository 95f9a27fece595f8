"""An error in words of this library, so that each run can be told it in its own language."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from sopwith.errors import Text
from sopwith.ir.tool import ErrorData, ToolSpec


class Refusal(ErrorData):
    """An `ErrorData` whose `message` is English; `said` has both languages, and is stored nowhere."""

    said: Text = Field(exclude=True, repr=False)


def refusal(code: str, said: Text) -> Refusal:
    """The error `code` in the words `said`."""
    return Refusal(code=code, message=said.en, said=said)


def unknown_tool(name: str) -> Refusal:
    """The error of a call of a tool that is not there."""
    return refusal("unknown_tool", Text(f"there is no tool {name}", f"没有工具 {name}"))


def known(specs: Mapping[str, ToolSpec] | None, source: str, name: str) -> ToolSpec | Refusal:
    """The tool `name` among those that `source` has read, or why it cannot be called."""
    if specs is None:
        return not_read_yet(source)
    return specs.get(name) or unknown_tool(name)


def not_read_yet(source: str) -> Refusal:
    """That `source` was asked for a call before its tools were read."""
    said = Text(f"the tools of {source} were not read yet", f"尚未读取 {source} 的工具")
    return refusal("unavailable", said)


def took_too_long(name: str, seconds: str) -> Text:
    """What is said of a call that was given up after so many seconds."""
    return Text(f"{name} took longer than {seconds} s", f"{name} 超过了 {seconds} 秒")


def both(error: ErrorData) -> Text:
    """What `error` says, in both languages where it is in the words of this library."""
    return error.said if isinstance(error, Refusal) else Text(error.message, error.message)


def in_language(error: ErrorData, language: str) -> ErrorData:
    """`error` as it is written into the log of a run in `language`; a tool's own words stay as they are."""
    if not isinstance(error, Refusal):
        return error
    return ErrorData(code=error.code, message=error.said.in_(language), step=error.step, item=error.item)
