"""What a docstring says about a function and its parameters (Google style, in English or Chinese)."""

from __future__ import annotations

import inspect
import re
from typing import NamedTuple

_ARGUMENTS = ("args", "arguments", "parameters", "参数")
_OTHER = ("returns", "yields", "raises", "example", "examples", "note", "notes", "返回", "异常", "示例")
_HEADER = re.compile(rf"^({'|'.join(_ARGUMENTS + _OTHER)})[:：]\s*$", re.IGNORECASE)
_PARAMETER = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*[:：]\s*(.*)$")


class Docstring(NamedTuple):
    """The text before the first section, and one sentence per parameter."""

    description: str
    parameters: dict[str, str]


def read_docstring(function: object) -> Docstring:
    """The description and the `Args:` section of `function`'s docstring; empty where there is none."""
    before: list[str] = []
    inside: list[str] = []
    section = ""
    for line in (inspect.getdoc(function) or "").splitlines():
        header = _HEADER.match(line)
        if header:
            section = header[1].lower()
        elif not section:
            before.append(line)
        elif section in _ARGUMENTS:
            inside.append(line)
    return Docstring("\n".join(before).strip(), _parameters(inside))


def _parameters(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    name = ""
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    for line in lines:
        text = line[indent:]
        match = _PARAMETER.match(text)
        if match:
            name = match[1]
            found[name] = match[2].strip()
        elif name and text.strip():
            found[name] = f"{found[name]} {text.strip()}".strip()
    return found
