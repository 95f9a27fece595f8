"""The families of rules, and the check that runs them all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain

from sopwith.ir.diagnostic import Diagnostic, Severity
from sopwith.ir.procedure import Procedure
from sopwith.ir.tool import ToolSpec
from sopwith.lang.check import (
    callees,
    calls,
    conditions,
    edges,
    ends,
    examples,
    expressions,
    grips,
    joins,
    judges,
    lists,
    names,
    reach,
    schemas,
    size,
    support,
    unused,
    waits,
)
from sopwith.lang.check.certain import Certain
from sopwith.lang.check.remedies import in_form
from sopwith.lang.check.subject import Subject
from sopwith.lang.document import Document

Family = Callable[[Subject], Iterator[Diagnostic]]

FAMILIES: tuple[Family, ...] = (
    reach.problems,
    edges.problems,
    conditions.problems,
    joins.problems,
    judges.problems,
    size.problems,
    ends.problems,
    names.problems,
    schemas.problems,
    expressions.problems,
    examples.problems,
    calls.problems,
    lists.problems,
    callees.problems,
    waits.problems,
    grips.problems,
    support.problems,
)
ADVICE: tuple[Family, ...] = (unused.problems,)
"""What is certain only of a procedure without errors: a misspelled name is not one that nothing reads."""


def check(
    document: Document,
    tools: Mapping[str, ToolSpec] | None = None,
    library: Mapping[str, Procedure] | None = None,
    now: int | None = None,
) -> list[Diagnostic]:
    """Every problem of a procedure, in file order, with what its reader noted. Of one that was read partly, what holds
    whatever the other part says.

    `tools` are those that are connected, by name (`source.tool`); None where they are not known: then what a
    tool takes and gives is not judged. `library` are the procedures that may be called, by id; None where they
    are not known either. A wait until a time before `now` (µs since 1970) is found. Pure: no model, no network,
    and the same answer every time.
    """
    subject = Subject(document, tools, library, now)
    certain = Certain(document)
    every = (diagnostic for family in FAMILIES for diagnostic in family(subject))
    found = dict.fromkeys(diagnostic for diagnostic in every if certain.holds(diagnostic))
    if not any(diagnostic.severity is Severity.ERROR for diagnostic in chain(document.notes, found)):
        found |= dict.fromkeys(diagnostic for family in ADVICE for diagnostic in family(subject))
    told = found if document.form == "yaml" else in_form(found, document.form)
    return sorted(
        dict.fromkeys((*document.notes, *told)), key=lambda d: (d.place.line, d.place.column, d.code)
    )
