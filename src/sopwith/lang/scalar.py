"""How one scalar is spelled in YAML, so that readers of YAML 1.1 and 1.2 agree on what it is."""

from __future__ import annotations

import json
import re

from sopwith.ir.value import Json
from sopwith.lang.tree import resolve_plain

_WORDS_OF_1_1 = re.compile(r"(y|n|yes|no|on|off|true|false|null|~|<<|=)", re.IGNORECASE)
_NUMBER_OF_1_1 = re.compile(r"[-+.]?[0-9][0-9a-fA-FxXoObe_.:,+\-TtZz ]*|[-+.][a-zA-Z]*|\.+")
_INDICATORS = frozenset("-?:,[]{}#&*!|>'\"%@`=~ \t")
_ODD = re.compile("[\x00-\x1f\x7f-\xa0\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]")
_FLOW_MARKS = re.compile(r"[,\[\]{}]")


def spell_scalar(value: Json, flow: bool = False) -> str:
    """A scalar on one line; `flow` inside brackets."""
    if isinstance(value, str):
        return spell_text(value, flow)
    return json.dumps(value)


def spell_text(text: str, flow: bool = False) -> str:
    """A text on one line: plain where it is safe, else in quotes."""
    if _is_plain(text, flow):
        return text
    if _ODD.search(text):
        return _escaped(text)
    if '"' not in text and "\\" not in text:
        return f'"{text}"'
    return "'" + text.replace("'", "''") + "'"


def block_text(text: str) -> tuple[str, list[str]] | None:
    """The header and lines of a literal block (`|`), or None where the text does not fit one."""
    body = text.removesuffix("\n")
    lines = body.split("\n")
    odd = any(_ODD.search(line) or line != line.rstrip() for line in lines)
    if len(lines) < 2 or odd or body.endswith("\n") or not lines[0] or lines[0][0] in " \t" or not lines[-1]:
        return None
    return "|" if text.endswith("\n") else "|-", lines


def _is_plain(text: str, flow: bool) -> bool:
    if not text or text[0] in _INDICATORS or text[-1] in ": \t" or _ODD.search(text):
        return False
    if ": " in text or " #" in text or text.startswith("${") or (flow and _FLOW_MARKS.search(text)):
        return False
    if _WORDS_OF_1_1.fullmatch(text) or _NUMBER_OF_1_1.fullmatch(text):
        return False
    return isinstance(resolve_plain(text), str)


def _escaped(text: str) -> str:
    """JSON's double quotes, with what YAML cannot hold escaped as well."""
    return _ODD.sub(lambda m: f"\\u{ord(m.group()):04x}", json.dumps(text, ensure_ascii=False))
