"""What a run may write: values and texts with placeholders in the place of secrets and personal data.

What comes from outside (requests, results, answers) is redacted as it is. What a model wrote may hold placeholders
that it was shown: those stay. Its JSON is parsed first and redacted value by value, so that it stays JSON, and so that
no spelling of a secret (`\\u0030`, `1.38e10`) is missed.
"""

from __future__ import annotations

import json
from typing import cast

from sopwith.guard.redact import Redactor
from sopwith.ir.tool import ErrorData
from sopwith.ir.value import Json


def written_text(redactor: Redactor, text: str) -> str:
    """A model's reply as it may be written; the same text where nothing in it is secret."""
    try:
        value = json.loads(text)
    except ValueError:
        return redactor.redact_reply(text)
    # Without a "<" it holds no placeholder, and is redacted like anything from outside.
    safe = written(redactor, value) if "<" in text else redactor.redact(value)
    return text if safe is value else json.dumps(safe, ensure_ascii=False)


def written(redactor: Redactor, value: Json) -> Json:
    """A value that a model wrote, as it may be written; the same object where nothing in it is secret."""
    if isinstance(value, str):
        safe = redactor.redact_reply(value)
        return value if safe == value else safe
    if isinstance(value, list):
        items = cast("list[Json]", value)
        kept = [written(redactor, item) for item in items]
        return items if all(a is b for a, b in zip(items, kept, strict=True)) else kept
    if isinstance(value, dict):
        return _written_object(redactor, cast("dict[str, Json]", value))
    return redactor.redact(value)


def _written_object(redactor: Redactor, value: dict[str, Json]) -> dict[str, Json]:
    kept: dict[str, Json] = {}
    same = True
    for key, item in value.items():
        name = redactor.redact_reply(key)
        safe = written(redactor, item)
        if safe is item and not (isinstance(item, str) and "<" in item):
            # The key may tell that it is a secret: `password`.
            alone = redactor.redact({key: item})
            safe = item if alone.get(key) is item else next(iter(alone.values()))
        same = same and name == key and safe is item
        kept[name] = safe
    return value if same else kept


def written_error(redactor: Redactor, error: ErrorData) -> ErrorData:
    """An error as it may be written: its code and its message."""
    code, message = redactor.redact_reply(error.code), redactor.redact_reply(error.message)
    if code == error.code and message == error.message:
        return error
    return error.model_copy(update={"code": code, "message": message})


def outside_error(redactor: Redactor, error: ErrorData) -> ErrorData:
    """A tool's error as it may be written: nothing in it is taken for a placeholder of this run."""
    return error.model_copy(
        update={"code": redactor.redact(error.code), "message": redactor.redact(error.message)}
    )
