"""Errors of a step that are our own, in the language of its procedure."""

from __future__ import annotations

from sopwith.errors import Text
from sopwith.ir.tool import ErrorData
from sopwith.lang.machine import Node
from sopwith.run.book import Book


def step_error(book: Book, node: Node, code: str, text: Text, *what: object) -> ErrorData:
    """An error of the step `node`; `what` goes into the places of `text`."""
    said = text.in_(book.language)
    return ErrorData(code=code, message=said.format(*what) if what else said, step=node.step.id)
