"""A YAML procedure of which a part cannot be read: the rest of it, so that the rest can be checked as well.

What was lost is replaced by what says least: a value of which nothing is known, ways on to every step.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path as File
from typing import cast

from pydantic import ValidationError

from sopwith.errors import ProcedureError
from sopwith.ir.procedure import Edge, Procedure, Step
from sopwith.ir.value import Json
from sopwith.lang.document import Document, Path
from sopwith.lang.fields import STEP
from sopwith.lang.form import form_of, procedure_file
from sopwith.lang.kinds import IDENTIFIER
from sopwith.lang.read import read
from sopwith.lang.text_file import read_text_file
from sopwith.lang.yaml import read_data

WAYS = frozenset({"next", "on_error"})
_WORK = frozenset({"tool", "answer", "ask", "wait", "call", "each", "script", "code", "returns"})
_FREE = frozenset({"do", "grip"})
"""With `returns`, they do not change what a step gives."""

_ANYTHING: dict[str, Json] = {"$comment": "lost"}
_KEPT = ("id", "as", "next", "on_error", "end")


def read_file_partly(file: File) -> Document:
    """As `read`; where a YAML file has problems what `read_partly` makes of it."""
    try:
        return read(file)
    except ProcedureError:
        path = procedure_file(file)
        if path.suffix.lower() not in (".yaml", ".yml"):
            raise
        return read_partly(read_text_file(path, str(file)), str(file))


def read_partly(text: str, file: str = "<text>") -> Document:
    """The procedure in `text` as far as it can be read, with its problems as `notes` and what they hide as `lost`.

    Only to be checked: nothing may run it. Raises `ProcedureError` where not even one step can be read.
    """
    reading, data = read_data(text, file)
    value = reading.tree.value
    found = cast("dict[str, Json]", value if isinstance(value, dict) else {})
    raw = found.get("steps")
    if form_of(text) != "yaml" or not isinstance(raw, dict) or not data.get("steps"):
        reading.problems.refuse()
    names = [name for name in cast("dict[str, Json]", raw) if IDENTIFIER.fullmatch(name)]
    lost = reading.tree.lost
    parts = {path[:1] for path in lost}
    read_ = cast("dict[str, Json]", data["steps"])
    steps = {name: _step(name, read_.get(name), lost, names) for name in names}
    inputs = _inputs(found.get("inputs"), data.get("inputs"))
    try:
        procedure = Procedure.from_data(
            {
                "id": "procedure",
                "start": names[0],
                **{key: value for key, value in data.items() if key != "schema" and (key,) not in parts},
                "inputs": inputs,
                "steps": {
                    name: step.model_dump(by_alias=True, exclude_defaults=True)
                    for name, step in steps.items()
                },
            }
        )
    except ValidationError:
        reading.problems.refuse()
        raise
    notes = reading.problems.diagnostics()
    return Document(procedure, reading.tree.places, file, text, notes, lost=frozenset(lost))


def lost_of(step: str, lost: Iterable[Path]) -> frozenset[str]:
    """The fields of a step that were lost, in whole or in part."""
    found: set[str] = set()
    for path in lost:
        if len(path) > 2 and path[:2] == ("steps", step):
            found.add(str(path[2]))
        elif path == ("steps", step)[: len(path)]:
            found.update(STEP)
    return frozenset(found)


def _step(name: str, read: Json, lost: Iterable[Path], names: Collection[str]) -> Step:
    """A step without what was lost of it: its work gives anything, its ways lead anywhere."""
    gone = lost_of(name, lost) if read is not None else frozenset(STEP)
    fields = cast("dict[str, Json]", read if isinstance(read, dict) else {})
    left: dict[str, Json] = {"id": name, **{key: value for key, value in fields.items() if key not in gone}}
    if "each" in gone:  # expressions may read its items
        left = {key: value for key, value in left.items() if key in _KEPT}
    if gone & (_WORK | _FREE) and not {"tool", "call", "answer"} & left.keys():
        left["returns"] = left.get("returns", _ANYTHING) if not gone & _WORK else _ANYTHING
    if gone & WAYS:
        left["next"] = [{"to": other} for other in names]
    try:
        return Step.model_validate(left)
    except ValidationError:
        return Step(id=name, returns=_ANYTHING, next=tuple(Edge(to=other) for other in names))


def _inputs(raw: Json, read: Json) -> dict[str, Json]:
    """The inputs; one that was lost is anything."""
    said = cast("Mapping[str, Json]", raw if isinstance(raw, dict) else {})
    known = cast("Mapping[str, Json]", read if isinstance(read, dict) else {})
    return {name: known.get(name, {"schema": {}}) for name in said if IDENTIFIER.fullmatch(name)}
