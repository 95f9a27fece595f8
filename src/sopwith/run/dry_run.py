"""What a call that is not made in a dry run gives: a value of the tool's output schema."""

from __future__ import annotations

from sopwith.errors import ExpressionError
from sopwith.ir.tool import ToolSpec
from sopwith.ir.value import Json
from sopwith.lang.machine import Node
from sopwith.run.book import Book
from sopwith.run.condition import is_true
from sopwith.run.state import State
from sopwith.run.values import Values


def made_up(book: Book, node: Node, tool: ToolSpec, name: str, state: State, values: Values) -> Json:
    """A value that the output schema of `tool` admits, one that passes the step's `verify` where there is one; null
    for a tool without a schema."""
    if tool.output_schema is None:
        return None
    from sopwith.expr.types import seeds_of  # only a dry run makes values up
    from sopwith.expr.witness import Seeds, variants

    seeds = Seeds() if node.verify is None else seeds_of(node.verify)
    found = variants(tool.output_schema, seeds=seeds)
    fitting = (value for value in found if _passes(book, node, name, value, state, values))
    return next(fitting, found[0] if found else None)


def _passes(book: Book, node: Node, name: str, value: Json, state: State, values: Values) -> bool:
    if node.verify is None:
        return True
    after = state.changed(values={**state.values, name: value})
    try:
        return is_true(node.verify, book, after, values)
    except ExpressionError:
        return False
