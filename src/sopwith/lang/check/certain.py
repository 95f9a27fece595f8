"""What of a check is certain where a part of the procedure could not be read: whatever that part may say, it holds."""

from __future__ import annotations

from collections import Counter

from sopwith.ir.diagnostic import Diagnostic
from sopwith.lang.document import Document
from sopwith.lang.kinds import IDENTIFIER
from sopwith.lang.partly import WAYS, lost_of

_PART = frozenset(
    {"SW201", "SW301", "SW302", "SW303", "SW304", "SW305", "SW306", "SW307", "SW308", "SW309", "SW310", "SW311",
     "SW331", "SW334", "SW335", "SW401", "SW403", "SW405", "SW406", "SW501", "SW502"}
)  # fmt: skip
"""Problems of one value by itself; those of others are of a whole step, whose other fields must be known."""

_STEPS = frozenset({"SW201", "SW202"})
_PATHS = frozenset({"SW203", "SW204", "SW207", "SW221", "SW303", "SW304", "SW322"})
_NAMES = frozenset({"SW302", "SW303", "SW304", "SW305", "SW322"})
_TYPES = frozenset(
    {
        "SW218",
        "SW219",
        "SW220",
        "SW224",
        "SW305",
        "SW307",
        "SW308",
        "SW309",
        "SW310",
        "SW311",
        "SW405",
        "SW422",
        "SW804",
    }
)
_OUTPUT = frozenset({"SW214", "SW215", "SW216"})
_TOOLS = frozenset({"SW402"})


class Certain:
    """Tells what holds of a document from what does not. Everything holds where nothing was lost."""

    def __init__(self, document: Document) -> None:
        self._lost = document.lost
        self._doubtful = _doubtful(document)

    def holds(self, diagnostic: Diagnostic) -> bool:
        """Whether `diagnostic` holds whatever the lost parts say."""
        if not self._lost:
            return True
        if diagnostic.code in self._doubtful:
            return False
        step = diagnostic.step
        return step is None or diagnostic.code in _PART | _PATHS or not lost_of(step, self._lost)


def _doubtful(document: Document) -> frozenset[str]:
    """The codes of problems that may be none."""
    lost, steps = document.lost, document.procedure.steps
    top = {path[0] for path in lost if len(path) == 1}
    some_step = (
        () in lost
        or "steps" in top
        or any(path[0] == "steps" and path[1] not in steps for path in lost if len(path) == 2)
    )
    gone = [lost_of(name, lost) for name in steps]
    ways = some_step or bool(top & {"start", "grip"}) or any(one & (WAYS | {"grip", "end"}) for one in gone)
    inputs = any(
        path[:1] == ("inputs",) and (len(path) == 1 or not IDENTIFIER.fullmatch(str(path[1])))
        for path in lost
    )
    names = some_step or inputs or any("as" in one for one in gone)
    shared = Counter(step.writes for step in steps.values() if step.writes is not None)
    found: set[str] = set()
    for doubt, codes in (
        (some_step or "start" in top, _STEPS), (ways, _PATHS), (names, _NAMES),
        (ways and max(shared.values(), default=0) > 1, _TYPES),
        (() in lost or "output" in {path[0] for path in lost if path}, _OUTPUT),
        (() in lost or any(path[0] == "tools" for path in lost if path), _TOOLS),
    ):  # fmt: skip
        found |= codes if doubt else set()
    return frozenset(found)
