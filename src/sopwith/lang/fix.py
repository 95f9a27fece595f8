"""The problems with exactly one remedy, remedied in the text: comments stay, and nothing else changes its meaning.

A fix is a few edits of the YAML form. They are made in the lines where they belong, and nothing else of the text
changes; where that is not possible the whole text is written anew, in canonical form. It is read again and checked
again: what would bring a new error, or lose a comment, is not applied.
"""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sopwith.errors import ProcedureError, SopwithError, Text
from sopwith.ir.diagnostic import Diagnostic, Edit, Severity
from sopwith.ir.value import Json
from sopwith.lang.check import check
from sopwith.lang.comments import Comments, read_comments
from sopwith.lang.document import Document, Path
from sopwith.lang.edit import edit_words, edited
from sopwith.lang.layout import lay_out
from sopwith.lang.partly import read_partly
from sopwith.lang.problem import Problems
from sopwith.lang.tree import read_tree
from sopwith.lang.yaml import format_yaml, read_yaml

Check = Callable[[Document], list[Diagnostic]]

MOST_ROUNDS = 20
_QUOTED = "SW107"
"""A value that needs quotes is read as the text that it is, so that only writing it remains."""

_HIDES = frozenset({"SW202"})
"""Errors behind which others are not looked for. What cannot be read hides all, an unreached step what is in it."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """A text after its fixes (the same text where there were none), what was fixed, and what is left to be told.

    `changes` say in words what each of the `applied` fixes did; `rewritten`: the whole text was written anew.
    """

    text: str
    applied: tuple[Diagnostic, ...]
    left: tuple[Diagnostic, ...]
    changes: tuple[Text, ...] = ()
    rewritten: bool = False


def fix(text: str, file: str = "<text>", checked: Check = check) -> Fixed:
    """`text` (YAML) with all fixes applied that are certain, until none is left. `checked` gives what is wrong with it.

    Pure; fixing the result again changes nothing.
    """
    applied: list[Diagnostic] = []
    changes: list[Text] = []
    rewritten = False
    refused: set[tuple[str, tuple[Edit, ...]]] = set()
    found = _problems(text, file, checked)
    for _ in range(MOST_ROUNDS):
        chosen = _apart(d for d in found if d.place.file == file and (d.code, d.fix) not in refused)
        if not chosen:
            break
        for group in (chosen, *([one] for one in chosen if len(chosen) > 1)):
            changed = _applied(text, file, [edit for one in group for edit in one.fix])
            after = None if changed is None else _problems(changed.text, file, checked)
            if changed is not None and after is not None and _is_better(found, after, group):
                changes += (_said(text, file, one) for one in group)
                rewritten = rewritten or changed.rewritten
                text, found = changed.text, after
                applied += group
                break
            if len(group) == 1:
                refused.add((group[0].code, group[0].fix))
    if _unread(found):
        found = _partly(text, file, checked)
    return Fixed(text, tuple(applied), tuple(found), tuple(changes), rewritten)


def _said(text: str, file: str, diagnostic: Diagnostic) -> Text:
    """What the fix of `diagnostic` does to `text`."""
    value = read_tree(_plain(text), Problems(file)).value
    each = [edit_words(value, edit) for edit in diagnostic.fix]
    return Text(", ".join(one.en for one in each), "，".join(one.zh for one in each))


def _problems(text: str, file: str, checked: Check) -> list[Diagnostic]:
    try:
        return checked(read_yaml(text, file))
    except ProcedureError as error:
        return list(cast("Sequence[Diagnostic]", error.diagnostics))


def _partly(text: str, file: str, checked: Check) -> list[Diagnostic]:
    """What is wrong with a text that cannot be read, as far as it is certain."""
    try:
        return checked(read_partly(text, file))
    except ProcedureError as error:
        return list(cast("Sequence[Diagnostic]", error.diagnostics))


def _apart(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Those whose edits touch different parts; the others have their turn after them."""
    chosen: list[Diagnostic] = []
    taken: list[Path] = []
    for one in diagnostics:
        paths = [edit.path for edit in one.fix]
        if paths and not any(_overlap(path, other) for path in paths for other in taken):
            chosen.append(one)
            taken += [edit.path[:-1] if edit.action == "last" else edit.path for edit in one.fix]
    return chosen


def _overlap(one: Path, other: Path) -> bool:
    short = min(len(one), len(other))
    return one[:short] == other[:short]


def _is_better(before: list[Diagnostic], after: list[Diagnostic], group: list[Diagnostic]) -> bool:
    """Whether what was to be fixed is gone, and no new error has come that was not hidden before."""
    had, has = Counter(map(_identity, before)), Counter(map(_identity, after))
    if any(has[key] >= had[key] for key in map(_identity, group)):
        return False
    if _unread(before):
        return not _unread(after) or sum(has.values()) < sum(had.values())
    if any(one.code in _HIDES for one in group):
        return True
    unreached = {one.step for one in before if one.code == "SW203"}
    errors = (d for d in after if d.severity is Severity.ERROR and d.step not in unreached)
    return not Counter(map(_identity, errors)) - had


def _identity(diagnostic: Diagnostic) -> tuple[str, str | None, str]:
    return diagnostic.code, diagnostic.step, diagnostic.message.en


def _unread(diagnostics: list[Diagnostic]) -> bool:
    return any(diagnostic.code.startswith("SW1") for diagnostic in diagnostics)


def _plain(text: str) -> str:
    """`text` as it is read: without a byte order mark, and with one kind of line ends."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


@dataclass(frozen=True, slots=True)
class _Changed:
    text: str
    rewritten: bool


def _applied(text: str, file: str, edits: list[Edit]) -> _Changed | None:
    """`text` after `edits`: in its own lines, else in canonical form; None where that would lose something or cannot be
    read."""
    plain = _plain(text)
    problems = Problems(file)
    tree = read_tree(plain, problems)
    if not tree.complete or any(d.code != _QUOTED for d in problems.diagnostics()):
        return None
    comments = read_comments(plain, tree)
    every = comments.all()
    value = tree.value
    if not isinstance(value, dict):
        return None
    in_lines = edited(plain, tree, edits)
    whole = copy.deepcopy(cast("dict[str, Json]", value))
    try:
        for edit in edits:
            comments = _edit(whole, edit, comments)
        if in_lines is not None and _holds(in_lines, file, whole, every):
            return _Changed(_like(in_lines, text), rewritten=False)
        changed = _canonical(lay_out(whole, comments), file)
    except (SopwithError, LookupError):
        return None
    written = read_tree(changed, Problems(file))
    return _Changed(changed, rewritten=True) if read_comments(changed, written).all() == every else None


def _holds(text: str, file: str, value: dict[str, Json], comments: list[str]) -> bool:
    """Whether `text` says exactly `value`, in this order, with these comments."""
    tree = read_tree(text, Problems(file))
    same = tree.complete and json.dumps(tree.value) == json.dumps(value)
    return same and read_comments(text, tree).all() == comments


def _like(text: str, before: str) -> str:
    """`text` with the byte order mark and the line ends that stood `before`."""
    mark = "\ufeff" if before.startswith("\ufeff") else ""
    return mark + (text.replace("\n", "\r\n") if "\r\n" in before else text)


def _canonical(text: str, file: str) -> str:
    """`text` in canonical form, or as it is where it cannot be read yet."""
    try:
        return format_yaml(text, file)
    except ProcedureError:
        return text


def _edit(value: Json, edit: Edit, comments: Comments) -> Comments:
    """Change `value` in place; the comments at their new paths. `LookupError` where there is nothing to change."""
    path = _short(value, edit.path)
    holder: Any = value
    for part in path[:-1]:
        holder = holder[part]
    last: Any = path[-1]
    if edit.action == "set":
        if isinstance(holder, dict) and last not in holder:
            _replace(holder, {last: edit.text, **holder})  # the first line of a file
        else:
            holder[last] = edit.text
        return comments
    if edit.action == "remove":
        del holder[last]
        return _without(comments, path)
    if edit.action == "rename":
        if edit.text in holder:
            raise LookupError(edit.text)
        _replace(holder, {edit.text if key == last else key: item for key, item in holder.items()})
        return _moved(comments, path[:-1], {last: edit.text})
    holder.append(holder.pop(last))
    end = len(holder) - 1
    return _moved(comments, path[:-1], {last: end, **{i: i - 1 for i in range(last + 1, end + 1)}})


def _replace(holder: Any, items: dict[str, Json]) -> None:
    """Give the mapping `holder` these items, in this order."""
    holder.clear()
    holder.update(items)


def _short(value: Json, path: Path) -> Path:
    """`path`, or the path of the step that `next: step` names in short."""
    if len(path) < 2 or path[-2:] != (0, "to"):
        return path
    holder: Any = value
    for part in path[:-2]:
        holder = holder[part]
    return path[:-2] if isinstance(holder, str) else path


def _moved(comments: Comments, parent: Path, names: Mapping[str | int, str | int]) -> Comments:
    """The comments with parts of `parent` under other names."""
    depth = len(parent)

    def new(path: Path) -> Path:
        if len(path) <= depth or path[:depth] != parent or path[depth] not in names:
            return path
        return (*parent, names[path[depth]], *path[depth + 1 :])

    return Comments(
        comments.head,
        {new(path): lines for path, lines in comments.before.items()},
        {new(path): line for path, line in comments.beside.items()},
        {new(path): lines for path, lines in comments.foot.items()},
    )


def _without(comments: Comments, gone: Path) -> Comments:
    """The comments of what is `gone` at the end of what held it."""

    def inside(path: Path) -> bool:
        return path[: len(gone)] == gone

    orphans = [line for path, lines in comments.before.items() if inside(path) for line in lines if line]
    orphans += [line for path, line in comments.beside.items() if inside(path)]
    orphans += [line for path, lines in comments.foot.items() if inside(path) for line in lines if line]
    kept = Comments(
        comments.head,
        {path: lines for path, lines in comments.before.items() if not inside(path)},
        {path: line for path, line in comments.beside.items() if not inside(path)},
        {path: lines for path, lines in comments.foot.items() if not inside(path)},
    )
    if orphans:
        kept.foot[gone[:-1]] = [*kept.foot.get(gone[:-1], ()), *orphans]
    return kept
