"""Who in a procedure reads the request of a run."""

from __future__ import annotations

from collections.abc import Collection

from sopwith.expr.expression import Expression
from sopwith.ir.procedure import Procedure
from sopwith.lang.check.sites import sites
from sopwith.lang.document import Path

REQUEST = "run.request"


def reader_of_request(procedure: Procedure, given: Collection[str]) -> Path | None:
    """The first place that reads the request: an input that comes from it, or an expression. None where none does.

    `given` are the inputs that are passed: an input without `from` that is not passed is taken from the request.
    """
    for name, item in procedure.inputs.items():
        if item.from_ == REQUEST or (item.from_ is None and name not in given):
            return ("inputs", name)
    whole = tuple(REQUEST.split("."))
    for site in sites(procedure):
        if isinstance(site.found, Expression) and any(
            path == whole[: len(path)] for path in site.found.paths
        ):
            return site.path
    return None
