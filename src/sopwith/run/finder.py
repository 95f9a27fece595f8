"""Finds tools and procedures for the models of an engine."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable
from threading import Lock
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, finalize

from sopwith.ir.cut import cut
from sopwith.ir.finding import EntryKind, FoundEntry, SearchMade
from sopwith.ir.procedure import Procedure
from sopwith.run.book import Book

if TYPE_CHECKING:
    from sopwith.find import Hit, Index

TOOLS, PROCEDURES = 5, 3
"""So many tools, and procedures, are listed for one query at most."""

MOST = 16
"""So many are listed for one search at most."""

LEAST = 0.5
"""What has less than this share of the best score of its query is not listed."""

SEEN = 50
"""So many hits of an index are looked at for some that may be called here."""

LONGEST = 120
"""Characters of the line that says what a tool does."""

_ENDS = (". ", "。", "; ")


class Finder:
    """One index over each set of tools that a run may call, and one over `procedures`, in memory.

    It holds nothing that is not given by a run's pinned tools, so that a search gives the same on every machine.
    """

    def __init__(self, procedures: Iterable[Procedure]) -> None:
        self._procedures = {procedure.id: procedure for procedure in procedures}
        self._tools: WeakKeyDictionary[Book, Index] = WeakKeyDictionary()
        self._of_procedures: Index | None = None
        self._lock = Lock()

    async def find(self, search: SearchMade, book: Book, tools: Iterable[str]) -> tuple[FoundEntry, ...]:
        """What fits `search`: of `tools` those that do what is looked for, and procedures other than the run's own."""
        return await asyncio.to_thread(self._find, search, book, frozenset(tools))

    def describe(self, name: str, language: str) -> str:
        """The steps of a procedure in words; "" where it is not there any more."""
        from sopwith.lang.routine_text import write_routine  # seldom needed

        found = self._procedures.get(name)
        if found is None:
            return ""
        return write_routine(found, "zh" if language == "zh" else "en")

    def close(self) -> None:
        """Give up the indexes. May be called twice."""
        with self._lock:
            for index in (*self._tools.values(), self._of_procedures):
                if index is not None:
                    index.close()
            self._tools.clear()
            self._of_procedures = None

    def _find(self, search: SearchMade, book: Book, tools: frozenset[str]) -> tuple[FoundEntry, ...]:
        of_tools, of_procedures = search.tools, search.procedures
        if not of_tools and not of_procedures:
            of_tools = of_procedures = (search.context,)
        found: dict[tuple[EntryKind, str], FoundEntry] = {}
        with self._lock:
            for query in of_tools:
                for hit in _best(self._index_of(book), "tool", query, tools, TOOLS):
                    said = _says(book.machine.tools[hit.entry.id].description)
                    _add(found, "tool", hit, said)
            others = self._procedures.keys() - {book.procedure.id}
            for query in of_procedures if others else ():
                for hit in _best(self._index_of_procedures(), "procedure", query, others, PROCEDURES):
                    _add(found, "procedure", hit, _says(hit.entry.description or hit.entry.name))
        return tuple(found.values())[:MOST]

    def _index_of(self, book: Book) -> Index:
        from sopwith.run.entries import (
            tool_index,  # the index takes long to import, and most runs never need it
        )

        index = self._tools.get(book)
        if index is None:
            index = self._tools[book] = tool_index(book.machine.tools.values())
            finalize(book, index.close)
        return index

    def _index_of_procedures(self) -> Index:
        from sopwith.run.entries import procedure_index  # as above

        if self._of_procedures is None:
            self._of_procedures = procedure_index(self._procedures.values())
        return self._of_procedures


def _best(index: Index, kind: EntryKind, query: str, among: Collection[str], limit: int) -> list[Hit]:
    """What fits a query, best first: no more than `limit`, and nothing that is far behind the best."""
    hits = [hit for hit in index.search(query, (kind,), SEEN) if hit.entry.id in among][:limit]
    return [hit for hit in hits if hit.score >= LEAST * hits[0].score]


def _says(description: str) -> str:
    """The first sentence of a description, in one line."""
    lines = description.strip().splitlines()
    if not lines:
        return ""
    first = lines[0].strip()
    for end in _ENDS:
        head, found, _ = first.partition(end)
        if found:
            first = head + found.rstrip()
    return cut(first, LONGEST)


def _add(found: dict[tuple[EntryKind, str], FoundEntry], entry: EntryKind, hit: Hit, says: str) -> None:
    name, score = hit.entry.id, round(hit.score, 4)
    found.setdefault((entry, name), FoundEntry(entry=entry, name=name, says=says, score=score))
