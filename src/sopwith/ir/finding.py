"""Events of a model that looks for tools and procedures: what it searched, and what it had described."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from sopwith.ir.body import Body

EntryKind = Literal["tool", "procedure"]


class FoundEntry(BaseModel):
    """A tool or a procedure that a search has found: its name, what it is for in one line, and its score (0 to 1)."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    entry: EntryKind
    name: str
    says: str = ""
    score: float = 0.0


class SearchMade(Body):
    """A model has searched: what its task is about, what `tools` and `procedures` it looks for, and what was
    `found`, as its next prompt lists it."""

    kind: Literal["search.made"] = "search.made"
    context: str
    tools: tuple[str, ...] = ()
    procedures: tuple[str, ...] = ()
    found: tuple[FoundEntry, ...] = ()


class EntryDescribed(Body):
    """A model has had a tool or a procedure described. The `text` of a procedure is what its next prompt shows; that of
    a tool is made from what the run is pinned to."""

    kind: Literal["entry.described"] = "entry.described"
    entry: EntryKind
    name: str
    text: str = ""
