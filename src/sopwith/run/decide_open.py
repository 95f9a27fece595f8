"""What happens next in a transcript, at a free step and in a region alike: a call that the model chose, and its end."""

from __future__ import annotations

from typing import cast

from sopwith.errors import Text
from sopwith.ir.finding import SearchMade
from sopwith.ir.schema import together, validator
from sopwith.ir.tool import ErrorData
from sopwith.ir.value import Json
from sopwith.lang.machine import Node
from sopwith.models.reply import Reading
from sopwith.run.book import Book
from sopwith.run.decide_tool import decide_tool, refusal
from sopwith.run.decision import (
    Decision,
    DescribeEntry,
    FailStep,
    FindEntries,
    Link,
    ReadValue,
    RejectReply,
    StartCall,
)
from sopwith.run.disclosure import named, not_found
from sopwith.run.form import Form
from sopwith.run.lifecycle import FINDING_EXCHANGES, FREE_EXCHANGES
from sopwith.run.reading import value_read
from sopwith.run.rejection import reject
from sopwith.run.state import Cursor, State
from sopwith.run.step_error import step_error
from sopwith.run.values import Values
from sopwith.tools.names import alias

TOO_LONG = Text("not finished after {} exchanges", "{} 次往返后仍未完成")


def call_at_hand(book: Book, node: Node, state: State, cursor: Cursor, values: Values) -> Decision | None:
    """The next decision about a call that the model chose; None where there is none, or it has been answered.

    A refusal, like an error of the tool, is data for the model and fails no step.
    """
    if cursor.tool is None or cursor.done or cursor.reply is not None:
        return None
    if cursor.error is not None and not cursor.unknown:
        return None
    tool = book.machine.tools[cursor.tool]
    refused = refusal(book, node, tool, cursor)
    if refused is not None and not cursor.unknown:
        return reject(cursor, refused)
    return decide_tool(book, node, tool, state, cursor, values)


def look(
    book: Book, form: Form, state: State, cursor: Cursor, reading: Reading
) -> ReadValue | FindEntries | DescribeEntry | RejectReply | None:
    """The look at a value, the search, or the description that a reply asks for; None where it asks for none."""
    block, action = book.block, reading.action
    if action == block.read_name:
        return ReadValue(value_read(reading.value), reading.repairs)
    if not form.callable or action not in (block.search_name, block.describe_name):
        return None
    asked = cast("dict[str, Json]", reading.value)
    if action == block.search_name:
        return FindEntries(SearchMade.model_validate(asked), reading.repairs)
    name = asked["name"]
    tool = named(name, form.callable)
    if tool is not None:
        return DescribeEntry("tool", tool.name, reading.repairs)
    if any(one.name == name for one in state.found):
        return DescribeEntry("procedure", name, reading.repairs)
    return reject(cursor, not_found(name, book.language), reading.repairs)


def too_long(book: Book, node: Node, state: State, cursor: Cursor) -> FailStep | None:
    """The failure of a transcript that has gone on for too many exchanges."""
    most = FINDING_EXCHANGES if book.block.finds(node) else FREE_EXCHANGES
    if cursor.reply is not None or len(state.transcript) < most:
        return None
    return FailStep(step_error(book, node, "exchanges", TOO_LONG, str(most)))


def chosen_call(book: Book, reading: Reading, links: tuple[Link, ...] = ()) -> StartCall:
    """The call that a reply chose among the tools: its arguments were held to the tool's schema when it was read, with
    the values that it refers to (`links`)."""
    tool = next(spec for spec in book.machine.tools.values() if alias(spec.name) == reading.action)
    return StartCall(tool, cast("dict[str, Json]", reading.value), "model", {}, reading.repairs, links=links)


def handed_over(node: Node, reading: Reading) -> FailStep | None:
    """The end of a step whose `finish` gives the case to a person; None where it completes."""
    value = cast("dict[str, Json]", reading.value)
    if value["outcome"] != "escalate":
        return None
    reason = ErrorData(code="handed_over", message=str(value.get("reason") or ""), step=node.step.id)
    return FailStep(reason, repairs=reading.repairs)


def result_of(reading: Reading) -> Json:
    """The result that a `finish` gives."""
    return cast("dict[str, Json]", reading.value).get("result")


def wrong_result(book: Book, node: Node, reading: Reading) -> ErrorData | None:
    """What is wrong with the result of a `finish`; None where it is as it was asked for, or none was."""
    schema = book.block.result_schema(node)
    problems = () if schema is None else validator(schema).problems(result_of(reading))
    if not problems:
        return None
    message = f"result: {together(problems).in_(book.language)}"
    return ErrorData(code="invalid_arguments", message=message, step=node.step.id)
