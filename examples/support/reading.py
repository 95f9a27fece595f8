"""What a customer says: their language, their own words, whether a person has to take it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from ruamel.yaml import YAML

Language = Literal["zh", "en"]

_HAN = re.compile(r"[㐀-鿿]")
_LATIN = re.compile(r"[A-Za-z]")
_LOG_LINE = re.compile(
    r"^\s*(?:"
    r"\[?\d{4}[-/]\d\d?[-/]\d\d?[T ]\d\d?:\d\d"  # a date and a time
    r"|\[?\d\d?:\d\d:\d\d"
    r"|\[?(?:trace|debug|info|warn(?:ing)?|error|fatal)\b\]?[ :]"
    r"|at \S+\(.*\)\s*$"  # a frame of a stack trace
    r"|(?:0x)?[0-9a-f]{8,}\b"
    r"|Traceback \(most recent call last\)"
    r")",
    re.IGNORECASE,
)
QUESTION_LENGTH = 240


def language(text: str) -> Language:
    """The language of a text: Chinese where more than a fifth of its letters are Chinese."""
    han = len(_HAN.findall(text))
    return "zh" if han * 5 > len(_LATIN.findall(text)) + han else "en"


def words(text: str) -> str:
    """What the customer wrote themselves: `text` without the lines of a log, unless nothing else is there."""
    lines = text.splitlines()
    own = "\n".join(line.strip() for line in lines if line.strip() and not _LOG_LINE.match(line))
    return own or text.strip()


def question(text: str) -> str:
    """The customer's own words on one line, cut in the middle to at most `QUESTION_LENGTH` characters."""
    line = " ".join(words(text).split())
    if len(line) <= QUESTION_LENGTH:
        return line
    half = QUESTION_LENGTH // 2 - 2
    return f"{line[:half]} … {line[-half:]}"


@dataclass(frozen=True)
class Rule:
    """One reason for which a person has to take a ticket, as in `rules.yaml`.

    `category` is what such a ticket is about, where the reason says so.
    """

    id: str
    reason: dict[Language, str]
    patterns: tuple[re.Pattern[str], ...]
    category: str | None = None


@cache
def rules() -> tuple[Rule, ...]:
    """The rules in the order in which they are tried."""
    reader: Any = YAML(typ="safe", pure=True)
    read = reader.load(Path(__file__).with_name("rules.yaml"))
    return tuple(_rule(**rule) for rule in read["rules"])


def _rule(id: str, reason: dict[Language, str], patterns: list[str], category: str | None = None) -> Rule:
    return Rule(id, reason, tuple(re.compile(p, re.IGNORECASE | re.DOTALL) for p in patterns), category)


def for_a_person(text: str) -> Rule | None:
    """The first rule by which a person has to take a ticket, going by the customer's own words."""
    own = words(text)
    return next((rule for rule in rules() if any(p.search(own) for p in rule.patterns)), None)
