"""Fixtures of the tests of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.command import Command, lay_out, make


@pytest.fixture
def sopwith(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command in an empty folder."""
    return make(tmp_path, monkeypatch)


@pytest.fixture
def project(sopwith: Command) -> Command:
    """The command in the folder of a new project."""
    lay_out(sopwith.folder)
    return sopwith
