"""What an index knows of a file whose passages it holds."""

from __future__ import annotations

import json
from dataclasses import dataclass

from sopwith.ir.diagnostic import Diagnostic


@dataclass(frozen=True, slots=True)
class HeldFile:
    """A file as it was read: `mark` says without reading whether it may have changed ("": it has to be read), `digest`
    is the hash of its content and of what read it. `ids` are its entries, `problem` is what was wrong with it."""

    name: str
    mark: str
    digest: str
    ids: tuple[str, ...] = ()
    problem: Diagnostic | None = None


Row = tuple[str, str, str, str, str | None]


def row_of(file: HeldFile) -> Row:
    """The file as a row of an index."""
    problem = None if file.problem is None else file.problem.model_dump_json()
    return file.name, file.mark, file.digest, json.dumps(file.ids), problem


def held_file(name: str, mark: str, digest: str, ids: str, problem: str | None) -> HeldFile:
    """The file that a row is."""
    told = None if problem is None else Diagnostic.model_validate_json(problem)
    return HeldFile(name, mark, digest, tuple(json.loads(ids)), told)
