"""The words of a text as the index knows them: stems of words, and pairs of characters of scripts without spaces."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Any

from snowballstemmer.english_stemmer import EnglishStemmer

# Scripts that write words without spaces: Thai to Khmer, Japanese, Chinese with its extensions, and Korean, whose words
# carry their particles.
_DENSE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u3096\u30a1-\u30fa\u30fc"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U000323af"
)
# Vowel signs and marks inside words, which are no letters to `\w`: Latin, Hebrew, Arabic, and the scripts of India.
_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u0670\u0900-\u0dff"
_RUN = re.compile(rf"[{_DENSE}]+|(?:(?![{_DENSE}_])[\w{_MARKS}])+")
_IS_DENSE = re.compile(rf"[{_DENSE}]").match
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def words(text: str) -> list[str]:
    """The words of `text` in their order, each as often as it is there.

    Text is normalised (NFKC) and lowered; `getUserName` and `get_user_name` are their parts, and what is written in
    camelCase is the whole word too (`WordPress`); English words are stems (Porter, 1980; Snowball). A run of Chinese,
    Japanese, Korean or another script without spaces is its pairs of neighbouring characters, or the character where
    it is one.
    """
    found: list[str] = []
    for run in _RUN.findall(unicodedata.normalize("NFKC", text)):
        if _IS_DENSE(run):
            found.extend(run[i : i + 2] for i in range(max(1, len(run) - 1)))
            continue
        parts = _CAMEL.split(run) if run.isascii() else [run]
        found.extend(stem(part.lower()) for part in parts)
        if len(parts) > 1:
            found.append(stem(run.lower()))
    return found


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """The stem of a lowered word; one with other than English letters stays as it is."""
    if not (word.isascii() and word.isalpha()):
        return word
    # A stemmer holds the word it works on, and threads may search at once: each word has its own.
    stemmer: Any = EnglishStemmer()
    return stemmer.stemWord(word)
