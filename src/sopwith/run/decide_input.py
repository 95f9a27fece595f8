"""What happens next in a call that its tool has interrupted with questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from sopwith.errors import Text
from sopwith.guard.redact import is_secret_name
from sopwith.ir.input_request import REFUSALS, Form, InputGiven, InputWanted
from sopwith.ir.tool import ToolSpec
from sopwith.ir.value import Json
from sopwith.run.book import Book, describe_fields
from sopwith.run.decision import AskPerson, ContinueCall, Decision
from sopwith.run.state import Cursor

ROUNDS = 10
"""So often one call may ask."""


def decide_input(
    book: Book, tool: ToolSpec, arguments: dict[str, Json], cursor: Cursor, name: str
) -> Decision:
    """Ask a person, or go on with the call where that has been answered or nobody is to be asked."""
    wanted = cast("InputWanted", cursor.wanted)
    forms = shown_forms(wanted)
    if forms and cursor.answer is None:
        return AskPerson(_question(book, tool, wanted, forms), "input", _schema(forms))
    return ContinueCall(tool, arguments, cursor.key or "", name, tool.timeout)


def shown_forms(wanted: InputWanted) -> dict[str, Form]:
    """The forms that may be shown: none that wants a secret. One is given to a server where it runs, at a `url`."""
    return {key: form for key, form in wanted.forms.items() if not secret_fields(form)}


def secret_fields(form: Form) -> list[str]:
    """The fields of a form whose values would be secrets, by their names or titles."""
    properties = cast("Mapping[str, Json]", form.fields.get("properties") or {})
    return [name for name, field in properties.items() if is_secret_name(name) or _hides(field)]


def _hides(field: Json) -> bool:
    if not isinstance(field, Mapping):
        return False
    said = cast("Mapping[str, Json]", field)
    return said.get("format") == "password" or is_secret_name(str(said.get("title") or ""))


@dataclass(frozen=True, slots=True)
class Reply:
    """What the tool is told: the answers, and which of its forms were declined since they want a secret."""

    given: InputGiven
    declined: tuple[str, ...]


def reply_of(wanted: InputWanted, answer: Json) -> Reply:
    """What the tool is told after a person's (true) `answer` to the forms that were shown."""
    shown = list(shown_forms(wanted))
    each = {shown[0]: answer} if len(shown) == 1 else cast("dict[str, Json]", answer or {})
    declined = tuple(key for key in wanted.forms if key not in shown)
    answers = {key: each.get(key, "cancel") for key in shown} | dict.fromkeys(declined, "decline")
    given = InputGiven.model_validate({"answers": answers, "state": wanted.state, "held": wanted.held})
    return Reply(given, declined)


def _schema(forms: Mapping[str, Form]) -> dict[str, Json]:
    """What may be answered: the one form, or all by key."""
    if len(forms) == 1:
        return next(iter(forms.values())).answer_schema()
    return {
        "type": "object",
        "properties": {key: form.answer_schema() for key, form in forms.items()},
        "required": list(forms),
        "additionalProperties": False,
    }


def _question(book: Book, tool: ToolSpec, wanted: InputWanted, forms: Mapping[str, Form]) -> str:
    language = book.language
    lines = [ASKS.in_(language).format(tool.name)]
    for key, form in forms.items():
        at = "" if len(forms) == 1 else f"{key}: "
        lines.append(f"{at}{form.message}")
        lines.append(
            FIELDS.in_(language).format(describe_fields(form.fields))
            if form.url is None
            else URL.in_(language).format(form.url)
        )
    lines.append(OR.in_(language).format(", ".join(REFUSALS)))
    if wanted.held:
        lines.append(HELD.in_(language))
    return "\n".join(lines)


ASKS = Text("The tool {} asks before it goes on:", "工具 {} 在继续之前询问：")
FIELDS = Text("Fields, as JSON: {}", "字段（JSON）：{}")
URL = Text(
    "Visit {} if you trust it, and then answer accept.", "如果信任该地址，请访问 {}，完成后回答 accept。"
)
OR = Text("Or answer one of: {}", "也可以回答：{}")
HELD = Text(
    "The call waits in the process that made it: once that ends, it is lost.",
    "调用在发起它的进程中等待：该进程一旦结束，调用即告丢失。",
)
