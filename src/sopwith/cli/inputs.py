"""The inputs that a run is given on its command line: from a file, and one by one."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from sopwith.cli.answer import read_answer
from sopwith.cli.json_text import json_value, read_json_object
from sopwith.cli.pairs import split_pairs
from sopwith.errors import Text, UserError
from sopwith.expr.witness import witness
from sopwith.ir.procedure import Procedure
from sopwith.ir.schema import validator
from sopwith.ir.schema_words import in_words
from sopwith.ir.value import Json
from sopwith.lang.text_file import read_text_file
from sopwith.run.preview import as_text


def read_inputs(procedure: Procedure, pairs: Sequence[str], file: Path | None) -> dict[str, Json]:
    """Inputs from a file and from pairs; the text of a pair is read by the schema of its input.

    Raises `UserError` that names the input, what is wanted and how to give it.
    """
    found = _inputs_file(file) if file is not None else {}
    for name, text in split_pairs(pairs).items():
        known = procedure.inputs.get(name)
        found[name] = text if known is None else _read(name, text, known.schema_)
    return found


def ways_to_give(procedure: Procedure, given: Mapping[str, Json]) -> Text:
    """How to give the inputs that a model would have to find; nothing where all are there."""
    missing = {
        name: item.schema_
        for name, item in procedure.inputs.items()
        if item.from_ is None and name not in given
    }
    if not missing:
        return Text("", "")
    options = " ".join(_option(name, witness(schema)) for name, schema in missing.items())
    return Text(f"{options}, or --inputs-file FILE.json", f"{options}，或 --inputs-file 文件.json")


def _read(name: str, text: str, schema: Mapping[str, Json]) -> Json:
    try:
        return read_answer(text, schema)
    except UserError as error:
        wanted, option = in_words(dict(schema)), _option(name, _near(text, schema))
        found = (
            Text(f"not '{text}'", f"不是“{text}”")
            if text
            else Text("and nothing was given", "但没有给出内容")
        )
        raise UserError(
            Text(
                f"the input '{name}' is {wanted.en}; {found.en}", f"输入“{name}”应为{wanted.zh}，{found.zh}"
            ),
            Text(
                f"for example: {option}, or --inputs-file FILE.json",
                f"例如：{option}，或用 --inputs-file 文件.json",
            ),
            error.code,
        ) from error


def _near(text: str, schema: Mapping[str, Json]) -> Json:
    """A value that `schema` admits: `text` as the only item of a list where it can be that."""
    if schema.get("type") == "array" and text:
        items: list[Json] = [text]
        with suppress(ValueError):
            items.append(json_value(text))
        for item in items:
            if validator(dict(schema)).accepts([item]):
                return [item]
    return witness(dict(schema))


def _option(name: str, value: Json) -> str:
    return f"--inputs {name}={shlex.quote(as_text(value)) if value is not None else '…'}"


def _inputs_file(file: Path) -> dict[str, Json]:
    return read_json_object(read_text_file(file).removeprefix("\ufeff"), str(file))
