"""The pages about the design are true: their types stand in the files they name, their calls take what they say."""

from __future__ import annotations

import importlib
import inspect
import re
from types import ModuleType
from typing import Any

import pytest
from tests.arch.sources import ROOT

TEXT = "\n".join(page.read_text("utf-8") for page in sorted((ROOT / "docs" / "design").glob("*.md")))
ROWS = [line.strip("|").split("|") for line in TEXT.splitlines() if line.startswith("| `")]
TYPES = [
    (name, file)
    for cells in ROWS
    if len(cells) == 3
    for file in re.findall(r"`([\w/]+\.py)`", cells[1])
    for name in re.findall(r"`(\w+)`", cells[0])
]
CALLS = [call for cells in ROWS if len(cells) == 2 for call in re.findall(r"`([\w.]+\(.*?\))`", cells[0])]


def found(dotted: str) -> Any:
    """The object of a dotted name below `sopwith`: modules as far as they go, then attributes."""
    value: Any = importlib.import_module("sopwith")
    for part in dotted.split("."):
        if isinstance(value, ModuleType) and hasattr(value, "__path__"):
            try:
                value = importlib.import_module(f"{value.__name__}.{part}")
                continue
            except ModuleNotFoundError:
                pass
        value = getattr(value, part)
    return value


@pytest.mark.parametrize(("name", "file"), TYPES)
def test_a_type_stands_in_its_file(name: str, file: str) -> None:
    value = getattr(found(file.removesuffix(".py").replace("/", ".")), name)
    assert getattr(value, "__module__", None) in (
        None, "types", "typing", "collections.abc", f"sopwith.{file.removesuffix('.py').replace('/', '.')}",
    )  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_a_call_takes_what_the_page_says(call: str) -> None:
    name, _, inside = call.removesuffix(")").partition("(")
    taken = [parameter for parameter in inspect.signature(found(name)).parameters if parameter != "self"]
    assert taken == [part.strip() for part in inside.split(",") if part.strip()]


def test_the_page_has_types_and_calls() -> None:
    assert len(TYPES) > 40
    assert len(CALLS) > 20
    assert set(re.findall(r"`([A-Z]\w+)`", TEXT.partition("## Decisions")[2])) <= set(
        dir(found("run.decision"))
    )
