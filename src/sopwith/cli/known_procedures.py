"""The procedures that a request may be for: those of a folder, and those that are pinned in the library."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from sopwith.cli.folder import find_procedures
from sopwith.cli.named_procedure import LIBRARY, library_of
from sopwith.cli.settings import Settings
from sopwith.errors import SopwithError, Text, UserError
from sopwith.find.index import Index
from sopwith.find.selection import LIMITS, By, Limits, Ranking, Selection, fill, rank, select
from sopwith.ir.procedure import Procedure
from sopwith.lang.document import Document
from sopwith.lang.read import read
from sopwith.library.library import Reference
from sopwith.run.entries import procedure_entry

Told = Callable[[Text], None]

_LEARNS = Text(
    "making vectors of what is new (it may take a while, once)",
    "正在为新内容计算向量（仅首次需要，可能稍慢）",
)
_SAME = Text("{} and {} have the same id: {}", "{} 与 {} 的 id 相同：{}")
_LEFT_OUT = Text("{} is left out: {}", "未纳入 {}：{}")


@dataclass(frozen=True, slots=True)
class Known:
    """A procedure, and what to write at the command line to run it."""

    procedure: Procedure
    name: str


def known_procedures(folder: Path, settings: Settings, told: Told) -> dict[str, Known]:
    """The procedures in `folder` and below, and the pinned ones of the library, by id: files come first.

    What cannot be read is told, and left out; of two files with one id the second is known by its name. Raises
    `UserError` where there are none.
    """
    found: dict[str, Known] = {}
    for name, document in _documents(folder, settings, told):
        id = document.procedure.id
        if id not in found:
            found[id] = Known(document.procedure, name)
        elif not name.startswith(LIBRARY):
            told(Text(_SAME.en.format(found[id].name, name, id), _SAME.zh.format(found[id].name, name, id)))
            found[name] = Known(document.procedure, name)
    if not found:
        raise UserError(
            Text(f"there is no procedure in {folder} that can be read", f"{folder} 中没有可读取的流程"),
            Text("see what is wrong: sopwith check", "查看问题：sopwith check"),
        )
    return found


def open_procedure_index(folder: Path, settings: Settings, known: Mapping[str, Known], told: Told) -> Index:
    """The index of these procedures, brought up to date: a file beside the log, one for each folder."""
    mark = sha256(str(folder.resolve()).encode()).hexdigest()[:8]
    index = Index(settings.data / f"procedures-{mark}.sqlite")
    try:
        entries = [
            procedure_entry(each.procedure).model_copy(update={"id": key}) for key, each in known.items()
        ]
        fill(index, entries)
        embed(index, told)
    except BaseException:
        index.close()
        raise
    return index


def embed(index: Index, told: Told) -> None:
    """Make the vectors that are missing, and say so where that takes a while."""
    if index.embed(1.0):
        told(_LEARNS)
        index.embed()


def limits_of(settings: Settings, by: By) -> Limits:
    """Those of the settings, or those of a library that was not calibrated."""
    return settings.find.get(by, LIMITS[by])


def selected(index: Index, settings: Settings, request: str) -> Selection:
    """Which procedure a request is for."""
    ranking: Ranking = rank(index, request)
    return select(ranking, limits_of(settings, ranking.by))


def _documents(folder: Path, settings: Settings, told: Told) -> Iterator[tuple[str, Document]]:
    library = library_of(settings)
    pinned = library.pinned_ids()
    try:
        files = find_procedures([folder]).procedures
    except UserError:
        if not pinned:
            raise
        files = []
    names = [str(file) for file in files if not library.holds(file)]
    names += [f"{LIBRARY}{id}" for id in pinned]
    for name in names:
        try:
            if name.startswith(LIBRARY):
                yield name, library.read(Reference(name.removeprefix(LIBRARY)))
            else:
                yield name, read(Path(name), name)
        except SopwithError as error:
            why = error.message
            told(Text(_LEFT_OUT.en.format(name, why.en), _LEFT_OUT.zh.format(name, why.zh)))
