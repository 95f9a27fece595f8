"""What a search compares: word stems, pairs of Chinese characters, and groups of synonyms."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

_LATIN_WORD = re.compile(r"[a-z0-9]+(?:['’][a-z]+)?")
_HAN_RUN = re.compile(r"[㐀-鿿]+")
_ENDINGS = (
    "ingly", "edly", "ations", "ation", "ings", "ing", "ies", "ied", "ers", "ed", "es", "er", "ly", "s",
)  # fmt: skip


def stem(word: str) -> str:
    """An English word without its commonest endings; short words stay as they are."""
    word = re.sub(r"['’][a-z]+$", "", word)
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            root = word[: -len(ending)]
            if ending in ("ies", "ied"):
                return root + "y"
            if len(root) > 3 and root[-1] == root[-2] and root[-1] not in "aeiouls":
                root = root[:-1]
            return root.removesuffix("e")
    return word.removesuffix("e") if len(word) > 4 else word


@dataclass(frozen=True)
class Words:
    """The words of `words.yaml`: what is passed over in English, what in Chinese, and what means the same."""

    ignored: frozenset[str]
    ignored_han: re.Pattern[str]
    same: tuple[re.Pattern[str], ...]


@cache
def words() -> Words:
    """The words of the search, read once."""
    reader: Any = YAML(typ="safe", pure=True)
    read = reader.load(Path(__file__).with_name("words.yaml"))
    ignore: dict[str, Any] = read["ignore"]
    han = "|".join([*sorted(ignore["zh"], key=len, reverse=True), f"[{ignore['zh_characters']}]"])
    return Words(frozenset(ignore["en"]), re.compile(han), tuple(_any_of(group) for group in read["same"]))


def _any_of(group: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(re.escape(w) if _HAN_RUN.search(w) else rf"\b{re.escape(w)}\b" for w in group))


def terms(text: str) -> list[str]:
    """What a text is compared by: stems, pairs of Chinese characters, `syn<n>` for a group of synonyms."""
    text, known = text.lower(), words()
    latin = (w for w in _LATIN_WORD.findall(text) if w not in known.ignored)
    found = [stem(w) for w in latin if len(w) > 1]
    for run in _HAN_RUN.findall(known.ignored_han.sub(" ", text)):
        found += [run[i : i + 2] for i in range(len(run) - 1)] or [run]
    return found + [f"syn{n}" for n, group in enumerate(known.same) if group.search(text)]
