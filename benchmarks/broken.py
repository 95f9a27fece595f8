"""For each code of `check`, sound procedures of which exactly that rule is broken.

`BREAKS` holds a function for each code of `sopwith.lang.check.codes`: it takes the data of a procedure that has no
errors and breaks one rule, mostly in a step that is put before the others. Somebody who adds a code adds a function
in one of the files below, and names in `IMPLIED` the other codes that cannot but be reported with it.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from random import Random

from benchmarks import broken_calls, broken_graph, broken_names, broken_steps
from benchmarks.breaking import BREAKS, IMPLIED, TOOLS
from sopwith.ir.diagnostic import Diagnostic
from sopwith.ir.procedure import Procedure
from sopwith.ir.tool import ToolSpec
from sopwith.lang.check import check
from sopwith.lang.document import Document

FAMILIES = (broken_graph, broken_names, broken_steps, broken_calls)
"""Where the functions are: importing them registers them."""

__all__ = ["BREAKS", "FAMILIES", "IMPLIED", "broken", "reported"]


def broken(code: str, procedure: Procedure, rng: Random) -> Procedure:
    """`procedure` with the rule of `code` broken."""
    data = copy.deepcopy(procedure.to_data())
    BREAKS[code](data, rng)
    return Procedure.from_data(data)


def reported(
    procedure: Procedure, tools: Mapping[str, ToolSpec], called: Sequence[Procedure]
) -> list[Diagnostic]:
    """What a check says about a broken procedure, given `tools`, those of the broken steps, and what is `called`."""
    library = {one.id: one for one in called} | broken_calls.LIBRARY
    return check(Document(procedure, {}, "p", ""), {**tools, **TOOLS}, library, broken_calls.NOW)
