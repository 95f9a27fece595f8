"""Arguments as the log holds them: what is a stored value of the run already is not written down again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from sopwith.ir.reference import PassedValue
from sopwith.ir.value import Json, canonical
from sopwith.run.actor import Actor
from sopwith.run.decision import Link
from sopwith.run.preview import MARK, is_long
from sopwith.run.state import Reference
from sopwith.run.value_path import Part, replaced, spell, walk


@dataclass(frozen=True, slots=True)
class Written:
    """Arguments with placeholders, and what stands in them by reference."""

    arguments: dict[str, Json]
    passed: tuple[PassedValue, ...] = ()


def written_down(actor: Actor, arguments: dict[str, Json], links: Sequence[Link]) -> Written:
    """How true `arguments` are written down. A linked part that is not exactly the value (the tool reads it otherwise)
    is written as it is, and so is a short one."""
    kept: list[tuple[Link, PassedValue]] = []
    skeleton: Json = arguments
    for link in links:
        found = _passed(actor, arguments, link)
        if found is not None:
            kept.append((link, found))
            skeleton = replaced(skeleton, link.at, None)
    told: Json = actor.redact(skeleton)
    for link, found in kept:
        path = cast("tuple[Part, ...]", tuple(actor.redact(list(link.path))))
        told = replaced(told, found.at, {MARK: spell(link.name, path)})
    return Written(cast("dict[str, Json]", told), tuple(found for _, found in kept))


def _passed(actor: Actor, arguments: dict[str, Json], link: Link) -> PassedValue | None:
    stored = actor.state.values.get(link.name)
    if not isinstance(stored, Reference):
        return None
    try:
        here = walk(arguments, link.at)
        if not is_long(here):
            return None
        there = walk(actor.values.true(stored), link.path)
    except LookupError:
        return None
    if canonical(here) != canonical(there):
        return None
    at, path = actor.redact(list(link.at)), actor.redact(list(link.path))
    try:
        walk(json.loads(actor.journal.blob(stored.blob)), path)
    except LookupError:  # the key is written otherwise where it stands alone
        return None
    return PassedValue(at=tuple(at), blob=stored.blob, path=tuple(path))
