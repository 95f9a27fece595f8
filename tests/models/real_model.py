"""The real model of the slow tests, and a server of llama.cpp around it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sopwith.errors import ModelFileError
from sopwith.models.catalogue import find

KEY = "test-key"


def real_model_file() -> Path:
    """The default model's file; the test is skipped where it was not fetched."""
    try:
        return find()
    except ModelFileError as error:
        pytest.skip(error.hint.en)


@contextmanager
def llama_server(path: Path, context: int = 2048) -> Iterator[str]:
    """The base URL of llama.cpp's own OpenAI-compatible server while the block runs."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = context
    params.warmup = False
    params.no_extra_bufts = True
    params.verbosity = 0
    params.api_keys = [KEY]
    server = xllamacpp.Server(params)
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server
