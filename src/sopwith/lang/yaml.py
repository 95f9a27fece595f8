"""The YAML form of a procedure: read, written, and brought into canonical form."""

from __future__ import annotations

import json
from typing import cast

from pydantic import ValidationError

from sopwith.errors import SopwithError, Text
from sopwith.ir.procedure import SCHEMA, Procedure
from sopwith.ir.pydantic_problem import told
from sopwith.ir.value import Json
from sopwith.lang.comments import Comments, read_comments
from sopwith.lang.document import Document, nearest
from sopwith.lang.fields import PROCEDURE, PROCEDURE_WORDS
from sopwith.lang.kinds import SKIP, Reading, describe, fields
from sopwith.lang.layout import lay_out
from sopwith.lang.problem import Problems
from sopwith.lang.spelling import canonical, spell
from sopwith.lang.tree import Tree, read_tree


def read_yaml(text: str, file: str = "<text>") -> Document:
    """The procedure in `text`. Raises `ProcedureError` with a diagnostic for every problem found."""
    reading, data = read_data(text, file)
    reading.problems.refuse()
    return Document(_validate(reading, data), reading.tree.places, file, text)


def read_data(text: str, file: str) -> tuple[Reading, dict[str, Json]]:
    """The fields of the procedure in `text`, as far as they can be read, and the reading with its problems."""
    problems = Problems(file)
    tree = read_tree(text.removeprefix("\ufeff"), problems)
    reading = Reading(tree, problems)
    return reading, _procedure(reading) if tree.complete else {}


def write_yaml(procedure: Procedure) -> str:
    """`procedure` as canonical YAML: what `read_yaml` reads as an equal procedure."""
    return lay_out(spell(procedure))


def format_yaml(text: str, file: str = "<text>") -> str:
    """`text` as canonical YAML with the same meaning and the same comments. Raises `ProcedureError` as
    `read_yaml` does, and `SopwithError` where the meaning or a comment would be lost."""
    before, tree, comments = _read_with_comments(text, file)
    data = canonical(cast("dict[str, Json]", tree.value), comments)
    formatted = lay_out(data, comments)
    after, _, kept = _read_with_comments(formatted, file)
    if json.dumps(before.to_data()) != json.dumps(after.to_data()) or comments.all() != kept.all():
        raise SopwithError(
            Text(f"{file} cannot be formatted without a loss", f"{file} 无法无损地格式化"),
            Text("leave it as it is, and report the file", "请保持原样，并报告该文件"),
        )
    return formatted


def _read_with_comments(text: str, file: str) -> tuple[Procedure, Tree, Comments]:
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    procedure = read_yaml(plain, file).procedure
    tree = read_tree(plain, Problems(file))
    return procedure, tree, read_comments(plain, tree)


def _procedure(reading: Reading) -> dict[str, Json]:
    """The fields of the procedure as the `ir` wants them, as far as they can be read."""
    value = reading.tree.value
    if not isinstance(value, dict):
        hint = Text(f"begin with 'schema: {SCHEMA}'", f"请以“schema: {SCHEMA}”开头")
        said = describe(value)
        message = (
            Text("the file is empty", "文件是空的")
            if value is None
            else Text(
                f"a procedure is a mapping; this file is {said.en}", f"流程应是映射，这个文件是{said.zh}"
            )
        )
        reading.problem("SW112", (), message, hint)
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
            place = nearest(reading.tree.places, one["loc"], reading.problems.file)
            reading.problems.add("SW112", place, *told(one))
        reading.problems.refuse()
        raise
