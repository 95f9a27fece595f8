"""The truth of a condition at a point of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sopwith.errors import ExpressionError, Text
from sopwith.run.book import Book
from sopwith.run.state import State
from sopwith.run.values import Values, scope

if TYPE_CHECKING:
    from sopwith.expr.expression import Expression

NOT_A_TRUTH = Text("it gives neither true nor false", "结果既不是 true 也不是 false")


def is_true(expression: Expression, book: Book, state: State, values: Values) -> bool:
    """The truth of a condition. Raises `ExpressionError` where it fails, or gives something else than a truth value."""
    found = expression.evaluate(scope(state, book.procedure.inputs, expression.names, values.true))
    if not isinstance(found, bool):
        raise ExpressionError(expression.source, NOT_A_TRUTH)
    return found
