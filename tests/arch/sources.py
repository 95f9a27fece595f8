"""What the tests of the repository read: its files and its Python sources."""

from __future__ import annotations

import ast
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "sopwith"


@cache
def files() -> tuple[Path, ...]:
    """The files that belong to the repository: tracked, or new and not ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    names = listed.stdout.decode("utf-8").split("\0")
    return tuple(path for name in sorted({*names} - {""}) if (path := ROOT / name).is_file())


def python_files() -> tuple[Path, ...]:
    """The Python files of the repository."""
    return tuple(path for path in files() if path.suffix == ".py")


def markdown_files() -> tuple[Path, ...]:
    """The Markdown files of the repository."""
    return tuple(path for path in files() if path.suffix == ".md")


def name_of(path: Path) -> str:
    """A file's name in a message: relative to the repository."""
    return path.relative_to(ROOT).as_posix()


@cache
def modules() -> dict[str, ast.Module]:
    """The modules of the package by dotted name, parsed."""
    found: dict[str, ast.Module] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text(encoding="utf-8"), str(path))
    return found
