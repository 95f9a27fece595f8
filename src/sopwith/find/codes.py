"""The codes of what may be wrong with an index, with a short title. `docs/diagnostics.md` explains each."""

from __future__ import annotations

from sopwith.errors import Text

FIND_CODES: dict[str, Text] = {
    "SW820": Text("an index of another version", "索引版本不同"),
    "SW821": Text("an index that is damaged", "索引已损坏"),
}
