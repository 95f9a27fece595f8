"""Models by name, and `scripted:FILE.jsonl`, which says what a file tells it to: for trying a procedure without one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from sopwith.cli.json_text import read_json
from sopwith.errors import Text
from sopwith.ir.usage import Usage
from sopwith.lang.text_file import read_text_file
from sopwith.models.connect import connect, id_of
from sopwith.models.port import Model, ModelReply
from sopwith.models.profile import Profiles
from sopwith.models.scripted import ScriptedModel

SCRIPTED = "scripted:"
_HINT = Text(
    'a script has a reply on each line, such as "A" or {"kind": "annual"}',
    '脚本每行一条回复，例如 "A" 或 {"kind": "annual"}',
)


def model_of(spec: str, profiles: Profiles | None = None) -> Model:
    """The model that `spec` names, see `connect`; or the script in a file, one reply a line.

    A line is JSON, an empty one is left out: a text is the reply, an object or list is a reply in JSON, and
    `{"reply": …, "confidence": …}` is a reply with its confidence. Raises `UserError` for a file that cannot be read.
    """
    if not spec.startswith(SCRIPTED):
        return connect(spec, profiles)
    file = Path(spec.removeprefix(SCRIPTED)).expanduser()
    lines = read_text_file(file, hint=_HINT).splitlines()
    return ScriptedModel(
        [_reply(file, i, line) for i, line in enumerate(lines, 1) if line.strip()], id=f"scripted:{file.name}"
    )


def model_id(spec: str) -> str:
    """The id of the model that `spec` names, which is not connected. Raises as `id_of` does."""
    return (
        id_of(spec)
        if not spec.startswith(SCRIPTED)
        else f"{SCRIPTED}{Path(spec.removeprefix(SCRIPTED)).name}"
    )


def _reply(file: Path, number: int, line: str) -> ModelReply:
    value = read_json(line, f"{file}:{number}", _HINT)
    confidence = None
    if (
        isinstance(value, dict)
        and "reply" in value
        and set(cast("dict[str, Any]", value)) <= {"reply", "confidence"}
    ):
        given = cast("dict[str, Any]", value)
        value, confidence = given["reply"], given.get("confidence")
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return ModelReply(text, confidence=confidence, usage=Usage(), model=f"scripted:{file.name}")


def absolute(spec: str | None) -> str | None:
    """A model's spec with the path in it made absolute, so that it means the same from another folder."""
    if spec is None:
        return None
    kind, mark, rest = spec.partition(":")
    path = Path(rest).expanduser()
    return f"{kind}:{path.absolute()}" if mark and kind in ("scripted", "local") and path.is_file() else spec
