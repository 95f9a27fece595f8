"""The documentation is true: links lead somewhere, examples run, and both languages say the same."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

import pytest
from tests.arch.pages import Block, Page, Table, read_page
from tests.arch.sources import ROOT, markdown_files, name_of

# Not the pages under src: those are prompts.
PLACES = ("docs/", "examples/")
PAGES = [path for path in markdown_files() if path.parent == ROOT or name_of(path).startswith(PLACES)]
SECONDS = 120


def blocks(*languages: str) -> Iterator[Block]:
    """The blocks of all pages in these languages that are to be run or read."""
    for path in PAGES:
        yield from (b for b in read_page(path).blocks if b.language in languages and b.mark != "not run")


def lay_out(page: Page, folder: Path) -> None:
    """Write the page's files into `folder`, and link the examples that it may name."""
    (folder / "examples").symlink_to(ROOT / "examples", target_is_directory=True)
    for block in page.blocks:
        if block.mark == "file":
            target = folder / block.said
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.text, encoding="utf-8")


def as_program(page: Page) -> str:
    """The Python blocks of a page as one program, each on the lines that it has in the page."""
    lines: list[str] = []
    for block in page.blocks:
        if block.language == "python" and block.mark is None:
            lines += [""] * (block.line - 1 - len(lines)) + block.text.splitlines()
    return "\n".join(lines) + "\n"


WITH_PYTHON = [path for path in PAGES if as_program(read_page(path)).strip()]
CONSOLES = [block for block in blocks("console") if block.mark == "run"]
PROCEDURES = [block for block in blocks("yaml") if re.search(r"^schema:", block.text, re.MULTILINE)]

# Pages that users read exist in both languages. In English only are the pages for those who change Sopwith
# (docs/design, why there is each dependency, how the tickets of an example are labelled, those at the root except
# README), and the results, which are generated.
ENGLISH_ONLY = {"docs/results.md", "docs/dependencies.md", "examples/support/LABELS.md"}
FOR_USERS = [
    path
    for path in PAGES
    if not path.name.endswith(".zh.md")
    and not name_of(path).startswith("docs/design/")
    and name_of(path) not in ENGLISH_ONLY
    and (path.parent != ROOT or path.name == "README.md")
]


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_links_lead_somewhere(path: Path) -> None:
    local = [target for target in read_page(path).targets if not re.match(r"[a-z][a-z0-9+.-]*:|#", target)]
    assert [target for target in local if not (path.parent / target.partition("#")[0]).exists()] == []


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_rows_stand_in_tables_and_blocks_are_closed(path: Path) -> None:
    assert read_page(path).strays == ()


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_anchors_are_headings(path: Path) -> None:
    for target in read_page(path).targets:
        file, _, anchor = target.partition("#")
        if not anchor or ":" in target:
            continue
        text = (path.parent / file if file else path).read_text(encoding="utf-8")
        assert unquote(anchor) in {_slug(head) for head in re.findall(r"^#+ +(.+)$", text, re.MULTILINE)}, (
            target
        )


def _slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("path", FOR_USERS, ids=name_of)
def test_the_chinese_page_has_the_parts_of_the_english_one(path: Path) -> None:
    chinese, english = read_page(path.with_suffix(".zh.md")), read_page(path)
    assert chinese.headings == english.headings
    assert [_kind(block) for block in chinese.blocks] == [_kind(block) for block in english.blocks]


@pytest.mark.parametrize("path", FOR_USERS, ids=name_of)
def test_the_chinese_page_has_every_row_of_the_tables_of_the_english_one(path: Path) -> None:
    chinese, english = read_page(path.with_suffix(".zh.md")), read_page(path)
    assert [_shape(table) for table in chinese.tables] == [_shape(table) for table in english.tables]
    for translated, table in zip(chinese.tables, english.tables, strict=True):
        names = [
            (_names(cell), _names(other)) for cell, other in zip(table.first, translated.first, strict=True)
        ]
        assert [(name, other) for name, other in names if name and other != name] == []


def test_no_chinese_page_stands_alone() -> None:
    twins = {path.with_suffix(".zh.md") for path in PAGES}
    assert [name_of(path) for path in PAGES if path.name.endswith(".zh.md") and path not in twins] == []


@pytest.mark.parametrize("path", FOR_USERS, ids=name_of)
def test_a_chinese_page_leads_to_chinese_pages(path: Path) -> None:
    """But for the link to its own English twin, and where there is none in Chinese."""
    twins = {p for p in FOR_USERS if p != path}
    local = (target.partition("#")[0] for target in read_page(path.with_suffix(".zh.md")).targets)
    assert [target for target in local if (path.parent / target).resolve() in twins] == []


def _kind(block: Block) -> tuple[str, str | None, str]:
    """What a block is, without the reason that a person reads."""
    return block.language, block.mark, "" if block.mark == "not run" else block.said


def _shape(table: Table) -> tuple[int, int]:
    return len(table.first), table.columns


def _names(cell: str) -> list[str]:
    """The names that a cell consists of: empty where it also has words, which are translated."""
    names = re.findall(r"`[^`]+`", cell)
    return names if not re.sub(r"`[^`]+`|[\s,、]", "", cell) else []


def test_every_page_of_the_documentation_is_on_the_map() -> None:
    named = {(ROOT / "docs" / target).resolve() for target in read_page(ROOT / "docs" / "README.md").targets}
    pages = {path for path in PAGES if path.parent == ROOT / "docs" and not path.name.endswith(".zh.md")}
    assert pages - named - {ROOT / "docs" / "README.md"} == set()


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_what_is_not_run_says_why(path: Path) -> None:
    assert [str(b) for b in read_page(path).blocks if b.mark == "not run" and not b.said] == []


@pytest.mark.parametrize("path", WITH_PYTHON, ids=name_of)
def test_the_python_of_a_page_runs(path: Path, tmp_path: Path) -> None:
    page = read_page(path)
    lay_out(page, tmp_path)
    program = tmp_path / f"{path.stem.replace('.', '_')}.py"
    program.write_text(as_program(page), encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-W", "error", program.name],
        cwd=tmp_path,
        env={
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT / 'src'}",
            "PYTHONIOENCODING": "utf-8",
        },
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("block", PROCEDURES, ids=str)
def test_a_procedure_in_the_docs_can_be_read(block: Block) -> None:
    import sopwith

    assert sopwith.read(block.text).procedure.steps


@pytest.mark.parametrize("block", list(blocks("yaml", "json", "toml")), ids=str)
def test_data_in_the_docs_parses(block: Block) -> None:
    import json
    import tomllib

    from ruamel.yaml import YAML

    readers = {"json": json.loads, "toml": tomllib.loads, "yaml": YAML(typ="safe").load}
    assert readers[block.language](block.text) is not None


@pytest.mark.parametrize("block", CONSOLES, ids=str)
def test_a_console_example_does_what_it_shows(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    lay_out(read_page(block.page), tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    expected = int(block.said.removeprefix("exit ") or 0)
    for command, shown in _commands(block.text):
        code = _sopwith(command, monkeypatch)
        output = capfd.readouterr()
        assert code == expected, output.err
        _assert_shown(shown, f"{output.out}{output.err}")


def _commands(text: str) -> list[tuple[list[str], list[str]]]:
    import shlex

    found: list[tuple[list[str], list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            name, *arguments = shlex.split(line[2:])
            assert name == "sopwith", f"only sopwith is run: {line}"
            found.append((arguments, []))
        elif line.strip():
            found[-1][1].append(line.rstrip())
    return found


def _sopwith(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    from sopwith.cli.app import main

    monkeypatch.setattr(sys, "argv", ["sopwith", *arguments])
    with _exit_code() as code:
        main()
    return code[0]


@contextmanager
def _exit_code() -> Iterator[list[int]]:
    code = [0]
    try:
        yield code
    except SystemExit as end:
        code[0] = end.code if isinstance(end.code, int) else int(end.code is not None)


def _assert_shown(shown: list[str], output: str) -> None:
    rest = iter(line.rstrip() for line in output.splitlines())
    for line in shown:
        if line.strip() not in ("…", "..."):
            assert line in rest, f"not in the output, or not in this order: {line}\n{output}"
