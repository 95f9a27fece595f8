"""The procedures in a folder, in whatever form they are written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sopwith.errors import Text, UserError
from sopwith.lang.form import SKILL, SUFFIXES, WORD, holds_procedure, is_skill

_MOST_READ = 80_000
_NO_PROCEDURE = Text("it does not say that it is a procedure", "内容未表明它是流程")
_DOCUMENT = Text("a document is checked when it is named", "文档需在命令中写明才会检查")
_UNREADABLE = Text("it cannot be read", "无法读取")


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file of a folder that could be a procedure and is not taken for one."""

    file: Path
    why: Text


@dataclass(slots=True)
class Found:
    """The procedures, each once and in order; and what was passed over in their folders."""

    procedures: list[Path] = field(default_factory=list[Path])
    skipped: list[Skipped] = field(default_factory=list[Skipped])


def find_procedures(given: list[Path]) -> Found:
    """The files as they are; of a folder the skill that it is, or all procedures below it. A hidden file is none, and
    what lies in the folder of a skill is part of the skill. Raises `UserError` for a folder without a procedure."""
    found = Found()
    seen: set[Path] = set()
    for path in given:
        inside = sorted(set(_inside(path, found))) if path.is_dir() and not is_skill(path) else [path]
        if not inside:
            raise UserError(
                Text(f"there is no procedure in {path}", f"{path} 中没有流程"),
                Text(
                    "a procedure says so: 'schema: sopwith/procedure/…' in YAML, 'Step 1.' in Routine text, a"
                    " flowchart; --skipped says why files are none, and a draft is checked when it is named",
                    "流程会表明自己：YAML 中的“schema: sopwith/procedure/…”、Routine 文本的“步骤 1.”、流程图；"
                    "--skipped 说明其他文件为何不是；草稿需写明文件名才会检查",
                ),
            )
        found.procedures += (one for one in inside if one.resolve() not in seen)
        seen.update(one.resolve() for one in inside)
    return found


def _inside(folder: Path, found: Found) -> Iterator[Path]:
    skills = [one.parent for one in folder.rglob(SKILL) if one.is_file()]
    for file in folder.rglob("*"):
        suffix = file.suffix.lower()
        hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
        if hidden or suffix not in SUFFIXES or not file.is_file():
            continue
        skill = next((one for one in skills if file.is_relative_to(one)), None)
        if skill is not None and file != skill / SKILL:
            continue
        why = _DOCUMENT if suffix == WORD else _why_not(file, suffix)
        if why is not None:
            found.skipped.append(Skipped(file, why))
        else:
            yield skill or file


def _why_not(file: Path, suffix: str) -> Text | None:
    """Why a file is not taken for a procedure; None where it is one."""
    try:
        with file.open("rb") as opened:
            beginning = opened.read(_MOST_READ).decode("utf-8", "replace")
    except OSError:
        return _UNREADABLE
    return None if holds_procedure(beginning, suffix) else _NO_PROCEDURE
