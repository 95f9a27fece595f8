"""A page is read as its blocks, each with the comment before it; and its Python keeps its lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.arch.pages import read_page
from tests.arch.test_docs import as_program

PAGE = """\
# Title

See [the other](other.md#part) and ![a picture](run.png).

<!-- file: leave.yaml -->
```yaml
schema: sopwith/procedure/1
```

```python
one = 1
```

<!-- not run: needs a key -->
```python
never
```

<!-- run: exit 4 -->
```console
$ sopwith check leave.yaml
```

Words between a comment and a block part them.

<!-- run -->

Words.

```python
two = one + 1
```
"""


@pytest.fixture
def page(tmp_path: Path):
    path = tmp_path / "page.md"
    path.write_text(PAGE, encoding="utf-8")
    return read_page(path)


def test_blocks_have_the_comment_before_them(page) -> None:
    assert [(b.language, b.mark, b.said) for b in page.blocks] == [
        ("yaml", "file", "leave.yaml"),
        ("python", None, ""),
        ("python", "not run", "needs a key"),
        ("console", "run", "exit 4"),
        ("python", None, ""),
    ]


def test_links_and_headings_are_found(page) -> None:
    assert page.targets == ("other.md#part", "run.png")
    assert page.headings == ("h1",)


def test_tables_are_found(tmp_path: Path) -> None:
    path = tmp_path / "table.md"
    path.write_text(
        "| key | says |\n|---|---|\n| `a`, `b` | one |\n| c | two |\n\nWords.\n\n| d | three |\n", "utf-8"
    )
    page = read_page(path)
    assert [(table.columns, table.first) for table in page.tables] == [(2, ("`a`, `b`", "c"))]
    assert page.strays == ("| d | three |",)


def test_the_program_has_the_lines_of_the_page(page) -> None:
    lines = PAGE.splitlines()
    program = as_program(page).splitlines()
    assert {number: line for number, line in enumerate(program) if line} == {
        lines.index("one = 1"): "one = 1",
        lines.index("two = one + 1"): "two = one + 1",
    }
