"""Edits of a YAML text by place, so that nothing else of it changes, and in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sopwith.errors import Text
from sopwith.ir.cut import cut
from sopwith.ir.diagnostic import Edit, Place
from sopwith.ir.value import Json
from sopwith.lang.document import Path
from sopwith.lang.kinds import spell
from sopwith.lang.scalar import spell_text
from sopwith.lang.tree import Tree

LONGEST = 80
"""Characters that are shown of a text that was changed."""

_Span = tuple[int, int, str]


def edited(text: str, tree: Tree, edits: Sequence[Edit]) -> str | None:
    """`text` (with `\\n` line ends) with `edits` made in its own lines. None where one of them needs more than a scalar
    on one line."""
    place = _Places(text, tree)
    spans = [place.span(edit) for edit in edits]
    for span in sorted((one for one in spans if one is not None), reverse=True):
        begin, end, new = span
        text = text[:begin] + new + text[end:]
    return None if None in spans else text


class _Places:
    """Where the parts of a text stand."""

    def __init__(self, text: str, tree: Tree) -> None:
        self.text = text
        self.tree = tree
        self.ends = dict(tree.scalars)
        self.lines = [0]
        for line in text.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))

    def span(self, edit: Edit) -> _Span | None:
        """What is replaced, and by what."""
        if edit.action == "set" and edit.path not in self.tree.places and len(edit.path) == 1:
            first = self.tree.rows[0].offset if self.tree.rows else -1
            return (
                None
                if first < 0 or self.tree.rows[0].flow
                else (first, first, f"{edit.path[0]}: {edit.text}\n")
            )
        if edit.action == "set":
            return self._scalar(self._value(edit.path), edit, value=True)
        if edit.action == "rename":
            return self._scalar(self.tree.keys.get(edit.path), edit, value=False)
        return self._line(edit.path) if edit.action == "remove" else None

    def _value(self, path: Path) -> Place | None:
        """Where the value at `path` stands; the step that `next: step` names in short."""
        found = self.tree.places.get(path)
        return self.tree.places.get(path[:-2]) if found is None and path[-2:] == (0, "to") else found

    def _scalar(self, place: Place | None, edit: Edit, *, value: bool) -> _Span | None:
        begin = -1 if place is None else self._offset(place)
        end = self.ends.get(begin)
        if end is None:
            return None
        old = self.text[begin:end]
        if "\n" in old.rstrip() or old[:1] in ("|", ">") or not old.strip():
            return None
        end = begin + len(old.rstrip())
        flow = any(start <= begin < stop for start, stop in self.tree.brackets)
        return begin, end, spell_text(edit.text, flow or not value)

    def _line(self, path: Path) -> _Span | None:
        """The whole line of a key with a scalar that has nothing else on it."""
        key, value = self.tree.keys.get(path), self.tree.places.get(path)
        if key is None or value is None or key.line != value.line:
            return None
        end = self.ends.get(self._offset(value))
        begin, after = self.lines[key.line - 1], self.lines[key.line]
        alone = end is not None and not self.text[begin : self._offset(key)].strip()
        return (begin, after, "") if alone and not self.text[end:after].strip() else None

    def _offset(self, place: Place) -> int:
        return self.lines[place.line - 1] + place.column - 1


def edit_words(value: Json, edit: Edit) -> Text:
    """What `edit` does to `value` (the tree of the YAML form), in words."""
    where, parent = spell(edit.path).strip("'"), spell(edit.path[:-1]).strip("'")
    last = str(edit.path[-1])
    if edit.action == "remove":
        return Text(f"{where} is removed", f"删除 {where}")
    if edit.action == "last":
        return Text(f"{where} is moved to the end of its list", f"将 {where} 移到列表末尾")
    if edit.action == "rename":
        inside = Text(f" in {parent}", f"{parent} 中：") if edit.path[:-1] else Text("", "")
        return Text(f"'{last}' → '{edit.text}'{inside.en}", f"{inside.zh}“{last}”→“{edit.text}”")
    old, new = _at(value, edit.path), cut(edit.text, LONGEST)
    if old is None:
        return Text(f"'{where}: {new}' is added", f"补上“{where}: {new}”")
    old = cut(str(old), LONGEST)
    if old == new:
        return Text(f"'{new}' is put in quotes in {where}", f"{where}：给“{new}”加上引号")
    return Text(f"'{old}' → '{new}' in {where}", f"{where}：“{old}”→“{new}”")


def _at(value: Any, path: Path) -> Json:
    for i, part in enumerate(path):
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return value if path[i:] == (0, "to") and isinstance(value, str) else None
    return value
