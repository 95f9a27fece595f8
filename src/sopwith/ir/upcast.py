"""Reading what earlier versions wrote: one function for each step from a version of a schema to the next.

A kind of event is at version 1 until its body changes in a way that a field with a default cannot say. Then a function
is registered here, from the version before to the new one; bodies that are written from then on carry their version
as their first member, `"v"`. What was written is never changed: it is read anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sopwith.ir.value import Json

Upcaster = Callable[[dict[str, Json]], dict[str, Json]]

PROCEDURE = "procedure"
"""The kind of what a run is pinned to."""

UPCASTERS: dict[tuple[str, int], Upcaster] = {}
"""From `(kind, version)` to the version after it; each function gets a body of its own and may change it."""

VERSION_MEMBER = "v"


class UnknownVersion(ValueError):
    """What was written by a newer version than this one knows."""


def current(kind: str) -> int:
    """The version that bodies of a kind are written in."""
    version = 1
    while (kind, version) in UPCASTERS:
        version += 1
    return version


def upcast(kind: str, version: int, body: dict[str, Json]) -> dict[str, Json]:
    """A body that was written in `version`, in the current one. Raises `UnknownVersion` for a newer one."""
    newest = current(kind)
    if not 1 <= version <= newest:
        raise UnknownVersion(f"{kind} of version {version}; this one knows {newest}")
    for step in range(version, newest):
        body = UPCASTERS[kind, step](body)
    return body


def marked(kind: str, data: bytes) -> bytes:
    """The JSON object `data` with its version in it, where that is not 1."""
    version = current(kind)
    if version == 1:
        return data
    rest = data[1:] if data == b"{}" else b"," + data[1:]
    return b'{"%b":%d%b' % (VERSION_MEMBER.encode(), version, rest)


def unmarked(body: dict[str, Json]) -> tuple[int, dict[str, Json]]:
    """The version that a stored body carries, and the body without it."""
    rest = dict(body)
    version: Any = rest.pop(VERSION_MEMBER, 1)
    return version if type(version) is int else 0, rest
