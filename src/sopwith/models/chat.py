"""What every chat model is sent: a prompt as messages, and the actions that are legal now."""

from __future__ import annotations

import unicodedata

from sopwith.errors import Text, UserError
from sopwith.models.port import Action, ModelRequest, Prompt

WORD_TOKENS = 128
"""Tokens of the words of a label, at most."""

_AROUND = " \"'`“”‘’「」.。,，;；!！"

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def messages(prompt: Prompt, *, block: bool = True) -> list[dict[str, str]]:
    """`prompt` as chat messages: the prefix as system text, the turns, the tail as the last user text.

    `block`: append the tool block to the prefix, for a model that is not sent the tools apart.
    """
    system = prompt.prefix + prompt.block if block else prompt.prefix
    result = [{"role": "system", "content": system}] if system else []
    for turn in prompt.turns:
        result.append({"role": "user", "content": turn.user})
        result.append({"role": "assistant", "content": turn.assistant})
    result.append({"role": "user", "content": prompt.tail})
    return result


def legal_actions(request: ModelRequest) -> tuple[Action, ...]:
    """The actions that the reply may choose, in the order of `legal`.

    Raises `UserError` for a name without action.
    """
    by_name = {action.name: action for action in request.actions}
    unknown = [name for name in request.legal if name not in by_name]
    if unknown or not request.legal:
        names = ", ".join(unknown)
        raise UserError(
            Text(f"no action is given for the legal names: {names}", f"合法名称没有对应的动作：{names}")
        )
    return tuple(by_name[name] for name in request.legal)


def worded(labels: tuple[str, ...], text: str) -> int | None:
    """Which label `text` is word for word; else the only one that it is but for capitals, blanks and quotes."""
    for spelled in (str.strip, plain):
        said = spelled(text)
        found = [i for i, label in enumerate(labels) if said and spelled(label) == said]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def plain(words: str) -> str:
    """`words` as a model may write them: in lower case, without the quotes and the full stop around them."""
    folded = " ".join(unicodedata.normalize("NFKC", words).casefold().split())
    return folded.strip(_AROUND) or folded


def letters(request: ModelRequest) -> str:
    """One letter per label of a choice.

    Raises `UserError` when there are none, or more than there are letters.
    """
    count = len(request.labels)
    if not 1 <= count <= len(LETTERS):
        raise UserError(
            Text(
                f"a choice has 1 to {len(LETTERS)} labels, not {count}",
                f"一次选择可有 1 到 {len(LETTERS)} 个标签，而不是 {count} 个",
            )
        )
    return LETTERS[:count]
