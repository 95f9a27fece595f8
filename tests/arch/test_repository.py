"""What may lie in the repository, and how long a file and a function may be."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from tests.arch.sources import ROOT, files, name_of, python_files

LARGEST_FILE = 400_000
LONGEST_FILE = 500
LONGEST_FUNCTION = 70
NO_NOUN = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "base", "core"}
# Split, so that this file does not find itself.
MACHINE_PATHS = re.compile(
    "|".join(rf"(?<![\w.~])/{folder}/" for folder in ("work", "root", "home", "Users"))
)
LEFT_OVER = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X")) + r")\b")
REGISTRY = re.compile("--(extra-)?index" + "-url|--trusted" + "-host|^registry *=", re.MULTILINE)


def text_of(path: Path) -> str:
    """A file as text. Everything in the repository but pictures and golden stores is UTF-8."""
    return "" if path.suffix in {".png", ".gif", ".ico", ".sqlite"} else path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """Every file of the repository."""
    return {name_of(path): text_of(path) for path in files()}


def test_no_file_is_large() -> None:
    assert [name_of(path) for path in files() if path.stat().st_size > LARGEST_FILE] == []


def test_everything_is_utf8_with_plain_line_ends(texts: dict[str, str]) -> None:
    # A spreadsheet or a Windows editor adds these; a test that needs them writes them itself.
    assert [name for name, text in texts.items() if "\r" in text or text.startswith("\ufeff")] == []


@pytest.mark.parametrize(
    "pattern", [MACHINE_PATHS, LEFT_OVER, REGISTRY], ids=["path", "left over", "registry"]
)
def test_nothing_of_one_machine_or_moment(pattern: re.Pattern[str], texts: dict[str, str]) -> None:
    found = [f"{name}: {match.group()}" for name, text in texts.items() for match in pattern.finditer(text)]
    assert found == []


def test_source_files_are_short() -> None:
    lengths = {name_of(path): len(text_of(path).splitlines()) for path in python_files()}
    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}


def test_functions_fit_on_a_screen() -> None:
    long = {
        f"{name_of(path)}:{node.lineno} {node.name}": length
        for path in python_files()
        for node in ast.walk(ast.parse(text_of(path)))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or 0) - node.lineno + 1) > LONGEST_FUNCTION
    }
    assert long == {}


def test_a_file_is_named_after_what_it_holds() -> None:
    assert [name_of(path) for path in python_files() if path.stem.strip("_") in NO_NOUN] == []


def test_the_changelog_is_headed_by_the_version() -> None:
    heads = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    version = re.search(
        r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert version is not None
    assert heads[0].startswith(("Unreleased", version.group(1)))


def test_every_dependency_has_its_reason() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8").partition("[project.scripts]")[0]
    wanted = {
        name for name in re.findall(r'"([A-Za-z0-9_.-]+)(?:\[.*?\])?[><=]', project) if name != "sopwith"
    }
    reasons = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    assert {name for name in wanted if f"`{name}`" not in reasons} == set()


def test_make_bench_runs_every_benchmark() -> None:
    named = re.search(r"^BENCHMARKS := (.+)$", text_of(ROOT / "Makefile"), re.MULTILINE)
    assert named is not None
    programs = {p.stem for p in (ROOT / "benchmarks").glob("*.py") if "__main__" in text_of(p)}
    assert set(named.group(1).split()) == programs - {"report", "picture"}


def test_the_demo_installs_no_more_than_it_needs() -> None:
    recipe = text_of(ROOT / "Makefile").partition(".demo-stamp: ")[2].partition("\n\n")[0]
    assert re.findall(r'--editable "\.\[(.*)\]"', recipe) == ["local"]


def test_ci_is_one_executable_script() -> None:
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    assert text_of(script).splitlines()[:1] == ["#!/usr/bin/env bash"]
