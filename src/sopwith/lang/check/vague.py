"""Words that name nothing which can be observed, as they stand in conditions for a model. English and Chinese."""

from __future__ import annotations

import re

_ENGLISH = (
    r"(?:if|when|where|as|whenever) (?:it (?:is|seems) )?(?:appropriate|necessary|needed|required|suitable|applicable)",
    r"(?:is|seems|looks|feels|deemed) (?:appropriate|suitable|fit|right|reasonable|advisable|sensible)",
    r"(?:the |a )?(?:model|agent|assistant|ai|llm|you) (?:think|believe|feel|decide|see fit|deem|consider|judge)s?",
    r"(?:at|in|use|using) (?:your|its|own|the model's) (?:own |best )?(?:discretion|judge?ment|opinion)",
    r"if (?:it )?(?:makes|make) sense", r"if (?:at all )?possible", r"as you see fit", r"sees? fit",
    r"depending on (?:the )?(?:situation|circumstances|context|case)", r"where (?:it )?helps",
    r"in (?:some|certain|special|suitable) (?:cases|circumstances|situations)",
)  # fmt: skip
_CHINESE = (
    "视情况", "看情况", "视情形", "根据情况", "根据实际情况", "视实际情况", "视需要", "根据需要", "必要时", "如有必要",
    "如有需要", "有必要的话", "如果需要", "需要时", "酌情", "酌处", "适当时", "适当的时候", "合适时", "合适的话",
    "如果合适", "若合适", "认为合适", "觉得合适", "认为有必要", "觉得有必要", "你认为", "你觉得", "模型认为",
    "模型觉得", "模型判断", "自行判断", "自行决定", "灵活处理", "灵活掌握", "特殊情况", "某些情况",
    "尽可能", "如果可能", "合理时",
)  # fmt: skip

_VAGUE = re.compile(
    "|".join((*(rf"\b{words}\b" for words in _ENGLISH), *map(re.escape, _CHINESE))), re.IGNORECASE
)


def vague(words: str) -> str | None:
    """The first part of `words` that leaves the decision to taste, as it is written."""
    found = _VAGUE.search(words)
    return None if found is None else found[0]
