"""A Python file as a list of tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from sopwith.errors import ToolSourceError
from sopwith.tools import FunctionSource, load_module

TOOLS = """
from __future__ import annotations
from dataclasses import dataclass
from period import days, Span
from sopwith.tools import tool

@dataclass
class Box:
    span: Span

@tool(name="t.zeta", inline=True)
def zeta(n: int) -> int:
    return days() + n

def helper() -> None: ...

@tool(name="t.alpha", inline=True)
def alpha(box: Box) -> Box:
    import lazily
    return Box(Span(lazily.VALUE))

same = alpha
"""
PERIOD = (
    "from dataclasses import dataclass\n\n@dataclass\nclass Span:\n    n: int\n\ndef days():\n    return {}\n"
)


def write(folder: Path, days: int, tools: str = TOOLS) -> Path:
    folder.mkdir()
    (folder / "period.py").write_text(PERIOD.format(days), encoding="utf-8")
    (folder / "lazily.py").write_text(f"VALUE = {days}", encoding="utf-8")
    (folder / "tools.py").write_text(tools, encoding="utf-8")
    return folder / "tools.py"


def test_tools_come_in_the_order_of_their_definition_once(tmp_path: Path) -> None:
    assert [f.__name__ for f in load_module(write(tmp_path / "a", 1))] == ["zeta", "alpha"]


async def test_two_folders_may_have_files_of_the_same_names(tmp_path: Path) -> None:
    first = FunctionSource(load_module(write(tmp_path / "a", 1)))
    second = FunctionSource(load_module(str(write(tmp_path / "b", 100))))
    assert (await first.call("t.zeta", {"n": 1}, key="k", seconds=None)).value == 2
    assert (await second.call("t.zeta", {"n": 1}, key="k", seconds=None)).value == 101


async def test_an_import_inside_a_function_finds_its_neighbour(tmp_path: Path) -> None:
    source = FunctionSource(load_module(write(tmp_path / "a", 1)))
    result = await source.call("t.alpha", {"box": {"span": {"n": 5}}}, key="k", seconds=None)
    assert result.value == {"span": {"n": 1}}


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = write(tmp_path / "a", 1)
    load_module(path)
    path.write_text("from sopwith.tools import tool\n\n@tool\ndef changed() -> None: ...\n", encoding="utf-8")
    assert [f.__name__ for f in load_module(path)] == ["changed"]


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("x = 1\nimport no_such_package\n", 2, "ModuleNotFoundError: No module named 'no_such_package'"),
        ("x = 1\n\ndef f(:\n", 3, "SyntaxError"),
        ("def f():\n    1 / 0\n\nf()\n", 2, "ZeroDivisionError"),
        ("from sopwith.tools import tool\n@tool(effect='reads')\ndef f() -> None: ...\n", 2, "UserError"),
        ("raise SystemExit(1)\n", 1, "SystemExit: 1"),
    ],
)
def test_a_file_that_fails_is_named_with_its_line(tmp_path: Path, text: str, line: int, what: str) -> None:
    path = write(tmp_path / "a", 1, text)
    with pytest.raises(ToolSourceError) as caught:
        load_module(path)
    assert f"{path}:{line} cannot be imported: {what}" in caught.value.message.en
    assert f"{path}:{line} 无法导入：{what}" in caught.value.message.zh
    assert caught.value.hint.zh


@pytest.mark.parametrize("name", ["missing.py", "."])
def test_a_file_that_is_not_there_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(ToolSourceError, match="no tools file"):
        load_module(tmp_path / name)


def test_a_file_that_is_not_python_is_named(tmp_path: Path) -> None:
    (tmp_path / "tools.txt").write_text("", encoding="utf-8")
    with pytest.raises(ToolSourceError, match="not a Python file"):
        load_module(tmp_path / "tools.txt")
