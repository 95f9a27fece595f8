"""What the fuzz benchmark draws: schemas, arguments that nearly fit them, and replies that say them badly."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

FORBIDDEN = "/etc/passwd"
"""The path that the policy denies, however it is wrapped."""

NODE = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string"},
        "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
    },
}
PATH = {"type": "string", "maxLength": 30}
LEAVES: list[dict[str, Any]] = [
    {"type": "string", "maxLength": 12},
    {"enum": ["annual", "sick", "1", "true"]},
    {"type": "integer", "minimum": -5, "maximum": 100},
    {"type": "number"},
    {"type": "boolean"},
    {"type": ["string", "null"]},
    {"anyOf": [{"type": "integer"}, {"type": "string"}]},
    {"$ref": "#/$defs/node"},
    {"type": "array", "items": {"$ref": "#/$defs/node"}, "maxItems": 3},
    {"type": "array", "items": {"type": "object", "properties": {"path": PATH}}},
    {"type": "object", "properties": {"path": PATH, "deep": {"type": "object"}}, "additionalProperties": False},
]  # fmt: skip
NAMES = ("a", "files", "值", "flag", "count")

text = st.text(max_size=12) | st.sampled_from([
    "[1,2]", "42", "true", "null", "{}", '{"a": 1}', "NaN", "\ud800", "```", FORBIDDEN, '"x"', "[[[[", "\\", "it's",
])  # fmt: skip
scalars = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | text
values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
nodes: st.SearchStrategy[Any] = st.recursive(
    st.fixed_dictionaries({"name": text}),
    lambda inner: st.fixed_dictionaries({"name": text, "children": st.lists(inner, max_size=2)}),
    max_leaves=4,
)
likely = st.one_of(
    values,
    nodes,
    st.lists(nodes, max_size=2),
    st.integers(-5, 100),
    st.floats(0, 9).map(lambda number: float(int(number))),
    st.sampled_from(["annual", "1", True, {"path": FORBIDDEN}, [{"path": FORBIDDEN}], [{"path": "a"}]]),
)


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, Any]:
    """The schema of a tool: up to five arguments, among them a path, some required."""
    names = draw(st.lists(st.sampled_from(NAMES), max_size=4, unique=True))
    properties = {"path": PATH, **{name: draw(st.sampled_from(LEAVES)) for name in names}}
    schema: dict[str, Any] = {"type": "object", "properties": properties, "$defs": {"node": NODE}}
    required = draw(st.lists(st.sampled_from(list(properties)), unique=True))
    if required:
        schema["required"] = required
    if draw(st.booleans()):
        schema["additionalProperties"] = False
    return schema


@st.composite
def arguments(draw: st.DrawFn, schema: dict[str, Any]) -> Any:
    """Arguments that nearly fit `schema`: some of the wrong type, some as text, some missing, some too many."""
    given: dict[str, Any] = {}
    for name in schema["properties"]:
        if draw(st.integers(0, 9)):
            value = draw(st.sampled_from([FORBIDDEN, "a.txt"]) | text if name == "path" else likely)
            given[name] = dumped(value) if draw(st.integers(0, 3)) == 0 else value
    if draw(st.integers(0, 7)) == 0:
        given[draw(text)] = draw(likely)
    return given


def dumped(value: Any) -> str:
    """JSON as a model might write it, NaN and lone surrogates and all."""
    return json.dumps(value, ensure_ascii=False)


@st.composite
def replies(draw: st.DrawFn, said: str) -> str:
    """`said` as a model might garble it."""
    for garble in draw(st.lists(st.sampled_from(GARBLES), max_size=3)):
        at, more = draw(st.integers(0, max(len(said), 1))), draw(text)
        said = garble(said, at, more)
    return said


GARBLES = [
    lambda said, at, more: said[:at],
    lambda said, at, more: said[at:],
    lambda said, at, more: said[:at] + more + said[at:],
    lambda said, at, more: said[:at] + said[at + 1 :],
    lambda said, at, more: f"好的:\n```json\n{said}\n```\n以上{more}",
    lambda said, at, more: f"{more} {said} {more}",
    lambda said, at, more: said + said,
    lambda said, at, more: f"{said}\n{said}",
    lambda said, at, more: dumped(said),
    lambda said, at, more: dumped({"name": more or "call", "arguments": said}),
    lambda said, at, more: f'{{"name": "fuzz__call", "arguments": {said}}}',
    lambda said, at, more: f"<tool_call>{said}</tool_call>",
    lambda said, at, more: said.replace('"', "'"),
    lambda said, at, more: said.replace("{", "{{", 1),
    lambda said, at, more: "[" * (at * 50) + said,
    lambda said, at, more: "[" * (at * 30) + "]" * (at * 30),
    lambda said, at, more: '{"a":' * (at * 20) + (said or "1") + "}" * (at * 20),
    lambda said, at, more: "",
]  # fmt: skip
