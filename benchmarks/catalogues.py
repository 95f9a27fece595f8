"""Public catalogues of tools with queries and the tools that are right for them.

`BENCH_DATA` names the folder; its README has the sources and licences. Queries are split in two halves by their place:
what was tuned was tuned on the first, and the dev part where the data has one.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from sopwith.find import Entry
from sopwith.ir.value import Json
from sopwith.run.entries import schema_words

DATA = Path(os.environ.get("BENCH_DATA") or Path(__file__).parents[2] / "shared" / "bench")

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Query:
    """A request, and the tools that are right for it: of each set any one."""

    text: str
    relevant: tuple[frozenset[str], ...]
    tuned: bool
    """Whether something may have been tuned on it."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Tools as an index holds them, and queries over them."""

    entries: tuple[Entry, ...]
    queries: tuple[Query, ...]


def livemcp() -> Catalogue:
    """LiveMCPBench: tools of MCP servers, and tasks that need several; the question only."""
    rows = read_lines(DATA / "tool_retrieval" / "livemcpbench" / "tools.jsonl")
    entries = [
        _entry(
            row["id"],
            row["name"],
            row["description"] or "",
            row["inputSchema"],
            f"{row['server']}: {row['server_description']}",
        )
        for row in rows
    ]
    asked = read_lines(DATA / "tool_retrieval" / "livemcpbench" / "queries.jsonl")
    return _catalogue(entries, ((row["query"], row["relevant"]) for row in asked))


def sealtools() -> Catalogue:
    """Seal-Tools: synthetic APIs; the dev part was for tuning, the in-domain test part is measured."""
    rows = read_lines(DATA / "tool_retrieval" / "sealtools" / "tools.jsonl")
    entries = [
        _entry(
            row["id"], row["name"], row["description"], {"properties": row["parameters"]}, tag=row["field"]
        )
        for row in rows
    ]
    parts = {True: "queries_dev.jsonl", False: "queries_test_in_domain.jsonl"}
    queries = [
        Query(row["query"], _sets(row["relevant"]), tuned)
        for tuned, name in parts.items()
        for row in read_lines(DATA / "tool_retrieval" / "sealtools" / name)
    ]
    return Catalogue(tuple(entries), tuple(queries))


def metatool_single() -> Catalogue:
    """MetaTool: plugins, by one sentence each, and queries that need one."""
    return _metatool("queries_single_5k.jsonl")


def metatool_two() -> Catalogue:
    """MetaTool: queries that need two plugins."""
    return _metatool("queries_multi.jsonl")


def acebench(language: str = "zh") -> Catalogue:
    """ACEBench, the normal cases: the question with all its turns, over the tools of all of them."""
    with gzip.open(DATA / "acebench" / f"{language}.jsonl.gz", "rt", encoding="utf-8") as file:
        cases = [cast("Row", json.loads(line)) for line in file]
    normal = [case for case in cases if case["category"].startswith("normal")]
    tools: dict[str, Entry] = {}
    for case in normal:
        for spec in case["function"]:
            name, said = spec["name"], spec.get("description", "")
            tools.setdefault(name, _entry(name, name, said, spec.get("parameters") or {}))
    asked = ((case["question"], _names(case["answer"]["ground_truth"], tools)) for case in normal)
    return _catalogue(list(tools.values()), asked)


CATALOGUES: dict[str, Callable[[], Catalogue]] = {
    "livemcp": livemcp,
    "sealtools": sealtools,
    "metatool_single": metatool_single,
    "metatool_two": metatool_two,
    "zh": acebench,
}


def _metatool(name: str) -> Catalogue:
    folder = DATA / "tool_retrieval" / "metatool"
    entries = [
        _entry(row["id"], row["name"], row["description"], {}) for row in read_lines(folder / "tools.jsonl")
    ]
    return _catalogue(entries, ((row["query"], row["relevant"]) for row in read_lines(folder / name)))


def _catalogue(entries: Sequence[Entry], asked: Iterator[tuple[str, Any]]) -> Catalogue:
    known = ((text, _sets(relevant)) for text, relevant in asked if relevant)
    queries = [Query(text, relevant, at % 2 == 0) for at, (text, relevant) in enumerate(known)]
    return Catalogue(tuple(entries), tuple(queries))


def _entry(id: str, name: str, description: str, schema: Json, source: str = "", tag: str = "") -> Entry:
    words = "\n".join(dict.fromkeys(schema_words(schema)))
    tags = (tag,) if tag else ()
    return Entry(kind="tool", id=id, name=name, description=description, body=words, tags=tags, source=source)


def _sets(relevant: Sequence[str | Sequence[str]]) -> tuple[frozenset[str], ...]:
    return tuple(frozenset([one] if isinstance(one, str) else one) for one in relevant)


def _names(truth: Any, tools: dict[str, Entry]) -> list[str]:
    """The tools that an answer calls; several calls of one are numbered (`name_1`)."""
    calls = cast("list[Row]", truth if isinstance(truth, list) else [truth])
    found: dict[str, None] = {}
    for call in calls:
        for name in call:
            plain = name if name in tools else name.rpartition("_")[0]
            if plain in tools:
                found[plain] = None
    return list(found)


def read_lines(path: Path) -> list[Row]:
    """The rows of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
