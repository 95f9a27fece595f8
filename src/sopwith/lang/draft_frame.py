"""The headings of a draft that are no steps: sections such as its purpose, and those around a list of steps."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sopwith.lang.draft import Block, Heading, Item, Paragraph, Table
from sopwith.lang.draft_mark import NUMBERED
from sopwith.lang.draft_table import says_steps

_USUAL = re.compile(
    r"(?:the\s+)?(?:procedure|steps?|process|workflow|instructions?|how to.*)"
    r"|(?:操作|处理|办理|执行|具体)?(?:流程|步骤|程序|过程|说明)",
    re.IGNORECASE,
)
_SECTION = re.compile(
    r"(?:purpose|aims?|objectives?|scope|applicability|responsibilit(?:y|ies)|roles?(?: and responsibilities)?"
    r"|definitions?|terms?(?: and definitions)?|abbreviations|references?|related documents|records?|revision history"
    r"|appendi(?:x|ces)\b.*|background|introduction|overview)"
    r"|(?:编制|制定)?(?:目的|依据)|(?:适用)?范围|(?:岗位|部门)?职责(?:分工|权限)?|职责和权限|角色(?:与职责)?"
    r"|术语(?:和定义|与定义|及定义)?|定义|缩略语|背景|概述|引言|总则|附则|附[录件表].*|参考(?:文件|资料)?|引用文件"
    r"|相关(?:文件|记录|表单)|记录(?:表单)?|修订(?:记录|历史)|注意事项|.{0,8}(?:分级|对照|一览|登记)表",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Frame:
    """A heading that is no step: its words without the number, and whether it is a section of the document.

    The number of one that is no section is that of a step.
    """

    words: str
    section: bool


def is_section(words: str) -> bool:
    """Whether `words` are the usual heading of a section or of the steps."""
    return bool(_SECTION.fullmatch(words.strip()) or _USUAL.fullmatch(words.strip()))


def frames(blocks: list[Block]) -> dict[int, Frame]:
    """The headings among `blocks` that are no steps, by their identity."""
    headings = [(i, block) for i, block in enumerate(blocks) if isinstance(block, Heading)]
    found: dict[int, Frame] = {}
    whole: set[int] = set()
    for at, (i, heading) in enumerate(headings):
        end = headings[at + 1][0] if at + 1 < len(headings) else len(blocks)
        own = blocks[i + 1 : end]
        words = words_of(heading)
        inner = at + 1 < len(headings) and headings[at + 1][1].level > heading.level
        listed = any(isinstance(block, Item) and block.number is not None for block in own)
        if _USUAL.fullmatch(words) and NUMBERED.match(heading.text) and (listed or inner):
            whole.add(heading.level)
        if is_section(words):
            found[id(heading)] = Frame(words, section=True)
        elif listed or _is_only_data(own):
            found[id(heading)] = Frame(words, section=not listed)
    for _, heading in headings:
        if heading.level in whole and NUMBERED.match(heading.text):
            found[id(heading)] = Frame(words_of(heading), section=True)
    return found


def words_of(heading: Heading) -> str:
    """The words of a heading without its number."""
    number = NUMBERED.match(heading.text)
    return (heading.text[number.end() :] if number is not None else heading.text).strip() or heading.text


def _is_only_data(blocks: list[Block]) -> bool:
    """Whether blocks are tables that say no steps, and nothing else."""
    tables = [block for block in blocks if isinstance(block, Table)]
    others = any(isinstance(block, Item | Paragraph) for block in blocks)
    return bool(tables) and not others and not any(says_steps(table) for table in tables)
