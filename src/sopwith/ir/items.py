"""The events of a step over a list as a whole. What happens in an item stands at `step[item]`, counted from 0."""

from __future__ import annotations

from typing import Literal

from sopwith.ir.body import Blob, Body
from sopwith.ir.value import Json


class ItemsBegan(Body):
    """A step goes over `count` items, which are pinned here: `value` is the list, a long one as in `CallFinished`."""

    kind: Literal["items.began"] = "items.began"
    count: int
    value: Json = None
    blob: Blob | None = None
    size: int | None = None


class ItemsEnded(Body):
    """All items are through: the list of what they gave, in the order of the items, gets the name `name`.

    `failed` counts the items that ended in an error, where those are collected. Long values as in `CallFinished`.
    """

    kind: Literal["items.ended"] = "items.ended"
    name: str
    value: Json = None
    blob: Blob | None = None
    size: int | None = None
    failed: int = 0
