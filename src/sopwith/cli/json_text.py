"""JSON that somebody typed, or put into a file that a command reads."""

from __future__ import annotations

import json

from sopwith.errors import Text, UserError, ValueRefused
from sopwith.ir.value import DEPTH, Json, storable


def json_value(text: str) -> Json:
    """The value of a JSON text. Raises `ValueError`, with the reason, for what is none or cannot be kept: NaN, a number
    without end, lists and objects nested deeper than `DEPTH`.
    """
    try:
        return storable(json.loads(text))
    except RecursionError:
        raise ValueError(f"nested deeper than {DEPTH}") from None
    except ValueRefused as error:
        raise ValueError(f"{error.message.en}") from None


def read_json(text: str, name: str, hint: Text | None = None) -> Json:
    """The value of a JSON text that messages call `name`. Raises `UserError` as `json_value`, with `hint`."""
    try:
        return json_value(text)
    except ValueError as error:
        said = Text(f"{name} is not JSON: {error}", f"{name} 不是 JSON：{error}")
        raise UserError(said, hint or Text("", "")) from None


def read_json_object(text: str, name: str, hint: Text | None = None) -> dict[str, Json]:
    """As `read_json`, for an object."""
    found = read_json(text, name, hint)
    if not isinstance(found, dict):
        raise UserError(Text(f"{name} is not a JSON object", f"{name} 不是 JSON 对象"), hint or Text("", ""))
    return found  # pyright: ignore[reportUnknownVariableType]
