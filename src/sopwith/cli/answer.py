"""A person's answer: typed text into the value that a question's schema asks for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import cast

from sopwith.cli.json_text import json_value
from sopwith.cli.terminal import Terminal
from sopwith.errors import Text, UserError
from sopwith.ir.schema import together, validator
from sopwith.ir.value import Json
from sopwith.run.preview import as_text

YES = ("y", "yes", "true", "ok", "是", "对", "好", "同意")
NO = ("n", "no", "false", "否", "不", "不对", "不同意")

_HINT = Text("answer with {}", "请回答：{}")
_TRUTH = Text("y or n", "y 或 n")
_NUMBER = Text("a number", "一个数字")
_WHOLE = Text("a whole number", "一个整数")
_TEXT = Text("text", "文本")
_JSON = Text("JSON: {}", "JSON：{}")


def read_answer(text: str, schema: Mapping[str, Json], *, listed: bool = False) -> Json:
    """The value that `text` stands for under `schema`. Raises `UserError` with what would be an answer.

    A choice is named by its value. `listed` says that the choices were shown with numbers (`expected`): then a number
    stands for one as well.
    """
    check = validator(dict(schema))
    readings = _readings(text.strip(), schema, listed)
    for value in readings:
        if check.accepts(value):
            return value
    # What is wrong with the likeliest reading: `9` for a number up to 5 is too large, and not "text".
    said = together(check.problems(readings[0]))
    wanted = expected(schema, listed=listed)
    raise UserError(
        Text(f"'{text}' is not an answer to this: {said.en}", f"“{text}”不是合适的回答：{said.zh}"),
        Text(_HINT.en.format(wanted.en), _HINT.zh.format(wanted.zh)),
    )


def _readings(text: str, schema: Mapping[str, Json], listed: bool) -> list[Json]:
    """What `text` may mean, the likeliest first; as it stands at last."""
    kind, choices = schema.get("type"), _choices(schema)
    found = [choice for choice in choices if as_text(choice) == text]
    alike = [choice for choice in choices if as_text(choice).casefold() == text.casefold()]
    if len(alike) == 1:
        found += alike
    if listed and _numbered(choices) and text.isdecimal() and 1 <= int(text) <= len(choices):
        found.append(choices[int(text) - 1])
    if kind == "boolean" and text.casefold() in (*YES, *NO):
        found.append(text.casefold() in YES)
    if kind == "string":
        found.append(text)
    with suppress(ValueError):
        found.append(json_value(text))
    return [*found, text]


def _numbered(choices: Sequence[Json]) -> bool:
    """Whether a number can stand for a choice: not where a choice is a number itself."""
    return not any(as_text(choice).isdecimal() for choice in choices)


def _choices(schema: Mapping[str, Json]) -> list[Json]:
    enum = schema.get("enum")
    if isinstance(enum, list):
        return cast("list[Json]", enum)
    arms = schema.get("oneOf")
    listed = cast("list[dict[str, Json]]", arms) if isinstance(arms, list) else []
    return [arm["const"] for arm in listed] if all("const" in arm for arm in listed) else []


def expected(schema: Mapping[str, Json], *, listed: bool = False) -> Text:
    """What to type, in a few words; `listed` numbers the choices, where that cannot be mistaken for one of them."""
    choices = _choices(schema)
    if choices:
        numbers = listed and _numbered(choices)
        shown = ", ".join(
            f"{i}. {as_text(choice)}" if numbers else as_text(choice) for i, choice in enumerate(choices, 1)
        )
        return Text(shown, shown)
    match schema.get("type"):
        case "boolean":
            return _TRUTH
        case "integer":
            return _WHOLE
        case "number":
            return _NUMBER
        case "string" | None:
            return _TEXT
        case _:
            shown = json.dumps(dict(schema), ensure_ascii=False)
            return Text(_JSON.en.format(shown), _JSON.zh.format(shown))


def ask_at(terminal: Terminal, question: str, schema: Mapping[str, Json]) -> Json:
    """Ask whoever sits at the terminal until the answer fits. Ctrl-C and Ctrl-D leave the question open."""
    terminal.say(f"\n{question}")
    wanted = terminal.text(expected(schema, listed=True))
    while True:
        terminal.say_part(f"[{wanted}] > ")
        try:
            return read_answer(input(), schema, listed=True)
        except UserError as error:
            terminal.say(error.render(terminal.language))
