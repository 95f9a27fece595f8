"""A source of tools that can vanish and come back, and procedures of every grip over whatever tools there are."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from hypothesis import strategies as st

from sopwith.errors import Text, ToolSourceError
from sopwith.ir.tool import ErrorData, ToolSpec
from sopwith.ir.value import Json
from sopwith.models.port import ModelReply, ModelRequest
from sopwith.models.scripted import ScriptedModel
from sopwith.tools.port import Reconciled, ToolResult

TEXTS = st.text(st.characters(), max_size=30) | st.sampled_from(
    ["查询员工年假余额", "look it up", "</tools>"]
)
NAMES = st.from_regex(r"[a-z]{1,4}\.[a-z_]{1,8}", fullmatch=True) | st.from_regex(
    r"[a-z]{1,3}\.[a-z]{1,3}\.[\u4e00-\u4e20]{1,6}", fullmatch=True
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
FIELDS = st.recursive(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["string", "integer", "number", "boolean"])},
        optional={"description": TEXTS, "default": SCALARS, "title": TEXTS, "examples": st.lists(SCALARS)},
    ),
    lambda inner: st.one_of(
        st.builds(lambda item: {"type": "array", "items": item}, inner),
        st.builds(lambda item: {"anyOf": [item, {"type": "null"}]}, inner),
        st.builds(
            lambda members: {"properties": members, "type": "object"},
            st.dictionaries(st.sampled_from(["id", "to", "编号", "q"]), inner),
        ),
    ),
    max_leaves=6,
)


def _shuffled(pairs: Sequence[tuple[str, Json]]) -> st.SearchStrategy[dict[str, Json]]:
    return st.permutations(list(pairs)).map(dict)


@st.composite
def specs(draw: st.DrawFn) -> ToolSpec:
    """A tool with a schema in any order of its keywords and properties."""
    fields = draw(st.dictionaries(st.from_regex(r"[a-z]{1,6}", fullmatch=True), FIELDS, max_size=4))
    members = draw(_shuffled(list(fields.items())))
    schema = draw(_shuffled([("type", "object"), ("properties", members), ("title", draw(TEXTS))]))
    return ToolSpec(name=draw(NAMES), description=draw(TEXTS), input_schema=schema)


CATALOGUES = st.lists(specs(), min_size=1, max_size=6, unique_by=lambda spec: spec.name)


class Shelf:
    """A source whose specs can be changed from outside; while it is `gone`, it cannot be reached."""

    def __init__(self, name: str, specs: Iterable[ToolSpec]) -> None:
        self.name = name
        self.held = list(specs)
        self.gone = False

    async def specs(self) -> Sequence[ToolSpec]:
        """What it holds now. Raises `ToolSourceError` while it is gone."""
        if self.gone:
            raise ToolSourceError(Text("gone", "不在"))
        return self.held

    def prepare(self, name: str, arguments: dict[str, Json]) -> dict[str, Json] | ErrorData:
        """The arguments as they are."""
        return arguments

    async def call(
        self, name: str, arguments: dict[str, Json], *, key: str, seconds: float | None
    ) -> ToolResult:
        """The arguments back, or an error while it is gone."""
        if self.gone:
            return ToolResult(error=ErrorData(code="unreachable", message="gone"))
        return ToolResult(value={"given": arguments})

    async def reconcile(
        self, name: str, arguments: dict[str, Json], *, key: str, seconds: float | None
    ) -> Reconciled:
        """Nothing is known."""
        return Reconciled(reason="not known")

    async def close(self) -> None:
        """Nothing is held."""


WORDS = {
    "en": ("Settle a case", "Say what is wanted", "Which one do you mean?", "Say what came of it"),
    "zh": ("处理一个案件", "说明想要什么", "您指的是哪一个？", "说明结果如何"),
}


def procedure(names: Sequence[str], grip: str, language: str, step: str = "guide") -> str:
    """A procedure that may use the tools `names`: a value, a question to a person, a transcript, an answer."""
    title, read, ask, tell = WORDS[language]
    inner = {"guide": "grip: guide, tool: " + json.dumps(names[0], ensure_ascii=False), "free": "grip: free"}
    listed = json.dumps(list(names), ensure_ascii=False)
    return f"""
schema: sopwith/procedure/1
id: case
name: {title}
tools: {listed}
grip: {grip}
inputs: {{request: {{type: string, from: run.request}}}}
start: read
steps:
  read:
    do: {read}
    uses: [inputs.request]
    returns: {{type: object, required: [wish], properties: {{wish: {{type: string, maxLength: 40}}}}}}
    examples: [{{given: {{request: {read}}}, answer: {{wish: x}}}}]
    as: wanted
    next: ask
  ask: {{ask: {ask}, returns: {{type: string}}, as: told, next: work}}
  work: {{{inner[step]}, do: {read}, as: worked, next: answer}}
  answer: {{answer: {tell}, end: complete}}
"""


class Watching(ScriptedModel):
    """A scripted model that keeps what it was asked."""

    def __init__(self, replies: Sequence[Any]) -> None:
        super().__init__(list(replies))
        self.heard: list[ModelRequest] = []

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The next reply."""
        self.heard.append(request)
        return await super().complete(request)


def sent(request: ModelRequest) -> tuple[str, ...]:
    """A request by its messages, in the order in which they are sent."""
    prompt = request.prompt
    turns = (text for turn in prompt.turns for text in (turn.user, turn.assistant))
    return (prompt.prefix + prompt.block, *turns, prompt.tail)
