"""References of a model to values of its run: `{"$value": "orders[3].id"}` in the arguments of a call.

An object with this one key is a reference, and so is the whole of what a model is shown of a long value, repeated;
nothing else is: a text that looks like a path stays a text. A part of a preview is refused, since it would pass for
the value. A tool whose own schema speaks of the key takes no references.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from sopwith.errors import Text
from sopwith.ir.cut import cut
from sopwith.ir.procedure import Input
from sopwith.ir.value import Json
from sopwith.models.port import Action, ModelReply
from sopwith.models.reply import Reading, Refused
from sopwith.run.book import Book
from sopwith.run.decision import Link
from sopwith.run.disclosure import called
from sopwith.run.form import Form
from sopwith.run.preview import DESCRIBED_KEYS, MARK, PREVIEW_KEYS
from sopwith.run.sketch import sketch
from sopwith.run.state import State
from sopwith.run.value_path import Part, is_name, parse_path, spell, walk
from sopwith.run.values import Values, input_values

MOST_NAMES = 40
"""So many names are told where one is unknown."""

LONGEST = 120

_UNKNOWN = Text(
    'there is no value "{}" in this run; there are: {}', "本次运行中没有名为“{}”的值；可用的有：{}"
)
_NO_PATH = Text(
    '"{}" is no path; write a name, or NAME.key or NAME[0]; there are: {}',
    "“{}”不是有效的路径；请写名称，或“名称.键”“名称[0]”；可用的有：{}",
)
_NO_PART = Text('"{}" has no part {}; it is {}', "“{}”没有 {} 这一部分；它的结构是 {}")
_CUT = Text(
    'this is a preview, and not the value; pass the value, or a part of it, as {{"$value": "PATH"}}; there are: {}',
    '这是预览，不是值本身；请以 {{"$value": "名称"}} 传递，或用路径传递其中一部分；可用的有：{}',
)
_NONE = Text("none", "无")


def names(state: State, inputs: Mapping[str, Input]) -> tuple[str, ...]:
    """The names that can be referred to, `inputs` among them where there are any."""
    own = tuple(name for name in state.values if is_name(name))
    return ("inputs", *own) if input_values(state, inputs) else own


class References:
    """Reads references at one point of a run. `links` are the places that were resolved."""

    def __init__(self, state: State, inputs: Mapping[str, Input], values: Values) -> None:
        self._state = state
        self._inputs = inputs
        self._values = values
        self._true: dict[str, Json] = {}
        self.links: list[Link] = []
        self.repairs: list[str] = []

    def resolve(self, action: Action, arguments: Json) -> Json:
        """`arguments` with the true values of all references in their places. Raises `Refused`.

        See `sopwith.models.reply.Resolve`.
        """
        self.links, self.repairs = [], []
        return arguments if speaks_of_mark(action.schema) else self._resolved(arguments, ())

    def look_up(self, path: str) -> tuple[str, tuple[Part, ...], Json]:
        """The name, the way from there, and the true value that `path` stands for. Raises `Refused`."""
        parsed = parse_path(path)
        if parsed is None:
            raise self._refused(_NO_PATH, path)
        name, parts = parsed
        if name not in names(self._state, self._inputs):
            raise self._refused(_UNKNOWN, path)
        if name not in self._true:
            self._true[name] = self._value(name)
        value = self._true[name]
        for at, part in enumerate(parts):
            try:
                value = walk(value, (part,))
            except LookupError:
                before, missing = spell(name, parts[:at]), spell("", (part,))
                shape = cut(sketch(value), LONGEST)
                raise Refused(
                    "unknown_value", *_both(_NO_PART, before, cut(missing, LONGEST), shape)
                ) from None
        return name, parts, value

    def _value(self, name: str) -> Json:
        if name != "inputs":
            return self._values.true(self._state.values[name])
        return {
            key: self._values.true(value) for key, value in input_values(self._state, self._inputs).items()
        }

    def _resolved(self, value: Json, at: tuple[Part, ...]) -> Json:
        if isinstance(value, dict):
            pairs = cast("dict[str, Json]", value)
            path = pairs.get(MARK)
            if pairs.keys() == PREVIEW_KEYS:
                raise self._refused(_CUT)
            described = "preview" in pairs and pairs.keys() - DESCRIBED_KEYS == {MARK}
            if isinstance(path, str) and (len(pairs) == 1 or described):
                if len(pairs) > 1:
                    self.repairs.append(f"preview {cut(path, LONGEST)}")
                name, parts, found = self.look_up(path)
                self.links.append(Link(at, name, parts))
                return found
            return {key: self._resolved(item, (*at, key)) for key, item in pairs.items()}
        if isinstance(value, list):
            return [self._resolved(item, (*at, i)) for i, item in enumerate(cast("list[Json]", value))]
        return value

    def _refused(self, why: Text, *path: str) -> Refused:
        known = names(self._state, self._inputs)
        listed = ", ".join(known[-MOST_NAMES:])
        told = (listed, listed) if known else (_NONE.en, _NONE.zh)
        short = tuple(cut(each, LONGEST) for each in path)
        return Refused("unknown_value", why.en.format(*short, told[0]), why.zh.format(*short, told[1]))


def read_action(book: Book, form: Form, reply: ModelReply, values: Values, references: References) -> Reading:
    """What a reply says, with true values, and with what it refers to in the arguments of tools and in the result of
    `finish`. A call of a tool that is not shown is read as that of the tool."""
    takers = book.block.takers

    def resolve(action: Action, arguments: Json) -> Json:
        return references.resolve(action, arguments) if action.name in takers else arguments

    speaks = MARK in reply.text or '"preview"' in reply.text or "\\u" in reply.text
    reading = form.read(reply, values, book.language, resolve if speaks else None)
    if form.callable and reading.action == book.block.call_name:
        reading = called(reading, form.callable, book.language, references.resolve if speaks else None)
    if not references.repairs:
        return reading
    return replace(reading, repairs=(*reading.repairs, *references.repairs))


def _both(text: Text, *parts: str) -> tuple[str, str]:
    return text.en.format(*parts), text.zh.format(*parts)


def speaks_of_mark(schema: Json) -> bool:
    """Whether a schema itself declares the key of a reference."""
    if isinstance(schema, dict):
        pairs = cast("dict[str, Json]", schema)
        return MARK in pairs or any(map(speaks_of_mark, pairs.values()))
    return isinstance(schema, list) and any(map(speaks_of_mark, cast("list[Json]", schema)))
