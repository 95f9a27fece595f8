"""The YAML form of a procedure: read, written, and brought into canonical form."""

from __future__ import annotations

from typing import cast

from pydantic import ValidationError

from sopwith.errors import Text
from sopwith.ir.procedure import SCHEMA, Procedure
from sopwith.ir.value import Json
from sopwith.lang.document import Document, nearest
from sopwith.lang.fields import PROCEDURE, PROCEDURE_WORDS
from sopwith.lang.kinds import SKIP, Reading, fields
from sopwith.lang.problem import Problems
from sopwith.lang.tree import read_tree


def read_yaml(text: str, file: str = "<text>") -> Document:
    """The procedure in `text`. Raises `ProcedureError` with a diagnostic for every problem found."""
    problems = Problems(file)
    tree = read_tree(text.removeprefix("\ufeff"), problems)
    reading = Reading(tree, problems)
    if not problems or tree.value is not None:
        data = _procedure(reading)
        problems.refuse()
        procedure = _validate(reading, data)
        return Document(procedure, tree.places, file, text)
    problems.refuse()
    raise AssertionError("unreachable")


def _procedure(reading: Reading) -> dict[str, Json]:
    """The fields of the procedure as the `ir` wants them, as far as they can be read."""
    value = reading.tree.value
    if not isinstance(value, dict):
        hint = Text(f"begin with 'schema: {SCHEMA}'", f"请以“schema: {SCHEMA}”开头")
        reading.wrong((), value, Text("a procedure (a mapping)", "流程（映射）"), hint)
        return {}
    found = cast("dict[str, Json]", value)
    if not _right_version(reading, found):
        return {}
    read = fields(reading, (), found, PROCEDURE, ("schema", "id", "start", "steps"), PROCEDURE_WORDS)
    data = {} if read is SKIP else cast("dict[str, Json]", read)
    if found.get("steps") == {}:
        reading.problem(
            "SW109",
            ("steps",),
            Text("the procedure has no steps", "流程没有步骤"),
            Text("write at least one step with 'end: complete'", "请至少写一个带“end: complete”的步骤"),
        )
    return data


def _right_version(reading: Reading, found: dict[str, Json]) -> bool:
    """False where the file says that it is something else: then its fields are not looked at."""
    version = found.get("schema", SCHEMA)
    if version == SCHEMA:
        return True
    reading.problem(
        "SW108",
        ("schema",),
        Text(f"this version reads '{SCHEMA}', not '{version}'", f"本版本读取“{SCHEMA}”，不是“{version}”"),
        Text(
            f"write 'schema: {SCHEMA}', or use the version of Sopwith that the file was written for",
            f"请写“schema: {SCHEMA}”，或使用与该文件对应的 Sopwith 版本",
        ),
    )
    return False


def _validate(reading: Reading, data: dict[str, Json]) -> Procedure:
    """The procedure. What the kinds let pass and the types refuse is still a problem with a place."""
    try:
        return Procedure.from_data(data)
    except ValidationError as error:
        for one in error.errors():
            path = tuple(part for part in one["loc"] if isinstance(part, str | int))
            said = one["msg"]
            place = nearest(reading.tree.places, path, reading.problems.file)
            reading.problems.add("SW112", place, Text(said, said))
        reading.problems.refuse()
        raise
