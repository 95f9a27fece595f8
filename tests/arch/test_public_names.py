"""The root exports about twenty names, and importing it is cheap."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import sopwith
from sopwith import errors

NAMES = {
    "Budget", "Diagnostic", "Edge", "Effect", "Engine", "Event", "Grip", "MemoryLog", "Outcome", "Policy",
    "Principal", "Procedure", "ProcedureError", "Rule", "SopwithError", "SqliteLog", "Step", "ToolError",
    "ToolSpec", "UserError", "check", "connect", "read", "tool",
}  # fmt: skip
HEAVY = {"anthropic", "mcp", "openai", "rich", "typer", "xllamacpp"}
WHEN_NEEDED = {"cel_expr_python", "cryptography", "jsonschema_rs", "pydantic", "ruamel", "sqlite3"}


def loaded_by(program: str) -> set[str]:
    """The modules that `program` loads beyond those of a bare start of Python."""
    report = "\nimport sys, json; print(json.dumps(sorted(sys.modules)))"
    bare, full = (
        subprocess.run([sys.executable, "-c", code + report], check=True, capture_output=True, text=True)
        for code in ("", program)
    )
    return set(json.loads(full.stdout)) - set(json.loads(bare.stdout))


def packages(names: set[str]) -> set[str]:
    """The top-level packages of module names."""
    return {name.partition(".")[0] for name in names}


def test_the_root_exports_exactly_these_names() -> None:
    assert set(sopwith.__all__) == NAMES
    assert list(sopwith.__all__) == sorted(sopwith.__all__)


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_public_name_is_there_and_says_what_it_is(name: str) -> None:
    assert getattr(sopwith, name).__doc__


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Engin'"):
        _ = sopwith.Engin  # pyright: ignore


def test_public_names_are_listed_by_dir() -> None:
    assert set(dir(sopwith)) >= NAMES


def test_import_sopwith_loads_almost_nothing() -> None:
    loaded = loaded_by("import sopwith")
    assert packages(loaded) & (HEAVY | WHEN_NEEDED) == set()
    assert len(loaded) < 40


def test_the_engine_loads_no_optional_package() -> None:
    assert packages(loaded_by("from sopwith import Engine")) & HEAVY == set()


def test_every_error_has_a_code_of_its_own() -> None:
    kinds = [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.SopwithError)
    ]
    codes = [kind.code for kind in kinds]
    assert len(set(codes)) == len(codes)
    assert all(f"{kind.__name__} " in (errors.__doc__ or "") for kind in kinds)
