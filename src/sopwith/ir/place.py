"""Where an event belongs: the text of a step instance, `id`, `id#visit`, `id[item]` or `id#visit[item]`."""

from __future__ import annotations

import re

_INSTANCE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:#([0-9]+))?\[([0-9]+)\]")


def step_id(instance: str) -> str:
    """The id of the step alone."""
    return instance.partition("[")[0].partition("#")[0]


def item_of(instance: str | None) -> int | None:
    """The place of the item in its list, or None where it is a whole step."""
    if instance is None or not instance.endswith("]"):
        return None
    found = _INSTANCE.fullmatch(instance)
    return None if found is None else int(found[3])
