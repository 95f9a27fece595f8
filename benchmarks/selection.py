"""How surely the right procedure is picked for a request, and none where none is right.

`data/selection` has a library of 60 procedures, half in Chinese, and labelled requests: `dev.yaml` to calibrate on, and
`test.yaml`, which nothing was tuned on; its README says who wrote and labelled it. Half of the requests have no right
procedure: half of these ask for something else about the same things, the other half for what any assistant is asked.
`_after_feedback`: the library once the requests of `dev.yaml` are among its examples, and those without a procedure
among what is outside.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from benchmarks.measure import Measure, rate
from sopwith.find import Embedder, Entry, Index
from sopwith.find.calibration import Labelled, calibrate
from sopwith.find.selection import Limits, fill, rank, select

DATA = Path(__file__).parent / "data" / "selection"


@dataclass(frozen=True, slots=True)
class Request:
    """What somebody asks for, and the procedure that is right; None where none is."""

    query: str
    procedure: str | None


def procedures() -> list[Entry]:
    """The library."""
    return [
        Entry(
            kind="procedure",
            id=each["id"],
            name=each["name"],
            description=each["description"],
            body="\n".join(each["steps"]),
            tags=tuple(each["tags"]),
            examples=tuple(each["examples"]),
        )
        for each in _read("library")
    ]


def requests(name: str) -> list[Request]:
    """Those of `dev` or `test`."""
    return [Request(each["query"], each["procedure"]) for each in _read(name)]


def measure_selection(embedder: Embedder | None, more: str = "") -> Iterator[Measure]:
    """What is picked for the requests of `test`, with limits from `dev`; `more` is put behind the names."""
    library, dev, test = procedures(), requests("dev"), requests("test")
    with Index(":memory:", embedder=lambda: embedder) as index:
        _fill(index, library)
        limits = calibrate(_ranked(index, dev)).limits
        yield from _picks(more, _ranked(index, test), limits)
        crossed: list[Labelled] = []
        for half in (0, 1):
            _fill(index, *_taught(library, dev[half::2]))
            crossed += _ranked(index, dev[1 - half :: 2])
        _fill(index, *_taught(library, dev))
        yield from _picks(f"{more}_after_feedback", _ranked(index, test), calibrate(crossed).limits)


def _picks(more: str, labelled: Sequence[Labelled], limits: Limits) -> Iterator[Measure]:
    selections = [(each.right, select(each.ranking, limits)) for each in labelled]
    matching = [(right, found) for right, found in selections if right is not None]
    others = [found for right, found in selections if right is None]
    picked = [
        (right, found.ranking.candidates[0].id) for right, found in matching if found.verdict == "picked"
    ]
    shown = sum(
        found.verdict != "none" and right in [each.id for each in found.alike] for right, found in matching
    )
    yield rate(f"right_pick_rate{more}", sum(right == id for right, id in picked), len(matching))
    yield rate(f"false_pick_rate{more}", sum(each.verdict == "picked" for each in others), len(others))
    yield rate(f"wrong_pick_rate{more}", sum(right != id for right, id in picked), len(matching))
    yield rate(f"right_picked_or_asked{more}", shown, len(matching))


def _fill(index: Index, library: Sequence[Entry], outside: Sequence[Entry] = ()) -> None:
    fill(index, library)
    index.put(outside)
    index.embed()


def _taught(library: Sequence[Entry], labelled: Sequence[Request]) -> tuple[list[Entry], list[Entry]]:
    """The library with labelled requests as examples, and those that none is for."""
    known: dict[str | None, list[str]] = defaultdict(list)
    for each in labelled:
        known[each.procedure].append(each.query)
    taught = [entry.model_copy(update={"examples": (*entry.examples, *known[entry.id])}) for entry in library]
    return taught, [Entry(kind="outside", id=text, examples=(text,)) for text in known[None]]


def _ranked(index: Index, asked: Sequence[Request]) -> list[Labelled]:
    return [Labelled(rank(index, each.query), each.procedure) for each in asked]


def _read(name: str) -> list[dict[str, Any]]:
    text = (DATA / f"{name}.yaml").read_text(encoding="utf-8")
    content: dict[str, Any] = YAML(typ="safe", pure=True).load(text)
    (listed,) = content.values()
    return listed
