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


def query_words(text: str) -> list[str]:
    """The words of a query, each once, in their order; without those that say nothing, unless there are no others."""
    found = list(dict.fromkeys(words(text)))
    return [word for word in found if word not in COMMON] or found


def is_dense(text: str) -> bool:
    """Whether a text is in a script without spaces, for a good part."""
    letters = sum(map(str.isalnum, text))
    return 5 * sum(1 for character in text if _IS_DENSE(character)) > letters


def spelled(text: str) -> str:
    """Text with identifiers as the words they are made of: `get_userName` is `get user Name`."""
    return _CAMEL.sub(" ", text.replace("_", " "))


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """The stem of a lowered word; one with other than English letters stays as it is."""
    if not (word.isascii() and word.isalpha()):
        return word
    # A stemmer holds the word it works on, and threads may search at once: each word has its own.
    stemmer: Any = EnglishStemmer()
    return stemmer.stemWord(word)


_ENGLISH = (
    "a an the and or but if so as at by for from in into of on onto out over to up with about than then i me my mine "
    "we us our you your he him his she her it its they them their this that these those there here is am are was were "
    "be been being do does did done doing have has had having can could may might must shall should will would please "
    "thanks thank hello hi dear help need want like let know tell how what which who whom whose when where why also "
    "just some any such s t re ve ll m d don not no yes"
)
_CHINESE = (
    "我的 我要 我想 想要 想知 知道 我需 需要 请问 请帮 请你 请您 帮我 帮忙 麻烦 给我 告诉 诉我 一下 下我 "
    "怎么 么办 什么 如何 可以 以吗 能否 能不 不能 能帮 是否 是不 不是 这个 那个 一个 这些 那些 你好 您好 "
    "谢谢 你能 您能 我们 你们 他们 有没 没有 有什 哪些 哪个 吗 呢 啊 的"
)
COMMON = frozenset([*map(stem, _ENGLISH.split()), *_CHINESE.split()])
"""Words that say nothing about what is looked for, as `words` gives them."""
