"""The families of rules, and the check that runs them all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from sopwith.ir.diagnostic import Diagnostic
from sopwith.ir.tool import ToolSpec
from sopwith.lang.check import calls, edges, ends, examples, expressions, names, reach, schemas, support
from sopwith.lang.check.subject import Subject
from sopwith.lang.document import Document

Family = Callable[[Subject], Iterator[Diagnostic]]

FAMILIES: tuple[Family, ...] = (
    reach.problems,
    edges.problems,
    ends.problems,
    names.problems,
    schemas.problems,
    expressions.problems,
    examples.problems,
    calls.problems,
    support.problems,
)


def check(document: Document, tools: Mapping[str, ToolSpec] | None = None) -> list[Diagnostic]:
    """Every problem of a procedure, in file order.

    `tools` are those that are connected, by name (`source.tool`); None where they are not known: then what a
    tool takes and gives is not judged. Pure: no model, no network, and the same answer every time.
    """
    subject = Subject(document, tools)
    found = dict.fromkeys(diagnostic for family in FAMILIES for diagnostic in family(subject))
    return sorted(found, key=lambda d: (d.place.line, d.place.column, d.code))
