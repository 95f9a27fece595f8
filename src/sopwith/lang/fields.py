"""The keys of a procedure file and what stands under each: the one table of the YAML form, in canonical
order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from sopwith.errors import Text
from sopwith.ir.diagnostic import Edit
from sopwith.ir.procedure import MOST_AT_ONCE, MOST_ITEMS, Grip, Guidance
from sopwith.ir.value import Json
from sopwith.lang.document import Path
from sopwith.lang.kinds import (
    A_TOOL,
    IDENTIFIER,
    SKIP,
    Kind,
    Reading,
    Refused,
    anything,
    as_identifier,
    duration,
    fields,
    fraction,
    identifier,
    integer,
    many,
    mapping,
    name_of,
    not_identifier,
    one_of,
    one_or_many,
    one_tool,
    record,
    schema,
    text,
    truth,
    words,
)
from sopwith.lang.refused import GUIDANCE, KINDS

EDGE_WORDS = {
    "if": "when", "condition": "when", "case": "when", "goto": "to", "then": "to", "step": "to",
    "target": "to", "next": "to", "else": "otherwise", "default": "otherwise",
    "条件": "when", "否则": "otherwise",
}  # fmt: skip
STEP_WORDS = {
    "title": "name", "description": "do", "prompt": "do", "instruction": "do", "instructions": "do",
    "action": "do", "args": "with", "arguments": "with", "params": "with", "parameters": "with",
    "output": "as", "outputs": "as", "inputs": "uses", "input": "uses", "schema": "returns",
    "output_schema": "returns", "then": "next", "goto": "next", "edges": "next", "catch": "on_error",
    "onerror": "on_error", "check": "verify", "max_visits": "visits", "retries": "retry", "question": "ask",
    "reply": "answer",
    "for_each": "each", "foreach": "each",
    "名称": "name", "工具": "tool", "下一步": "next",
}  # fmt: skip
PROCEDURE_WORDS = {
    "title": "name", "version": "schema", "input": "inputs", "outputs": "output", "first": "start",
    "entry": "start", "nodes": "steps", "states": "steps", "allow": "tools", "名称": "name", "步骤": "steps",
}  # fmt: skip

WRITE_A_LIST = Text(
    "write 'next: step', or a list of '- to: step' with 'when' or 'judge', and '- otherwise: step'",
    "请写“next: 步骤”，或由“- to: 步骤”（带 when 或 judge）与“- otherwise: 步骤”组成的列表",
)

WRITE_A_WAIT = Text(
    "write 'until: time', 'for: 2d' or 'event: name'", "请写“until: 时间”、“for: 2d”或“event: 名称”"
)

EDGE: Mapping[str, Kind] = {
    "to": identifier,
    "when": text,
    "judge": text,
    "otherwise": identifier,
    "guidance": text,
    "pitfalls": many(text),
}


def edges(reading: Reading, path: Path, value: Json) -> Json:
    """`next` and `on_error`: a step, or a list of ways on."""
    if isinstance(value, str):
        step = identifier(reading, path, value)
        return SKIP if step is SKIP else [{"to": step}]
    if not isinstance(value, list):
        return reading.wrong(path, value, Text("a step or a list", "步骤或列表"), WRITE_A_LIST)
    items = [edge(reading, (*path, i), item) for i, item in enumerate(cast("list[Json]", value))]
    return [item for item in items if item is not SKIP]


def edge(reading: Reading, path: Path, value: Json) -> Json:
    """One way on: exactly one target, at most one condition."""
    if not isinstance(value, dict):
        return reading.wrong(
            path, value, Text("a mapping with 'to' or 'otherwise'", "带 to 或 otherwise 的映射"), WRITE_A_LIST
        )
    found = cast("dict[str, Json]", value)
    conditions = [key for key in ("when", "judge", "otherwise") if key in found]
    if len(conditions) > 1:
        one, other = conditions[:2]
        return reading.problem(
            "SW113",
            path,
            Text(f"an edge has '{one}' or '{other}', not both", f"一条出边只能有“{one}”或“{other}”之一"),
            Text("write two edges", "请写成两条出边"),
        )
    if ("otherwise" in found) == ("to" in found):
        return reading.problem(
            "SW113",
            path,
            Text("an edge needs exactly one of 'to' and 'otherwise'", "出边必须恰有“to”与“otherwise”之一"),
            Text("the default way is '- otherwise: step'", "默认出边写成“- otherwise: 步骤”"),
        )
    read = cast("dict[str, Json]", fields(reading, path, found, EDGE, (), EDGE_WORDS))
    if "otherwise" in read:
        read["to"], read["otherwise"] = read["otherwise"], True
        reading.tree.places[(*path, "to")] = reading.tree.places[(*path, "otherwise")]
    return read if "to" in read else SKIP


_FACT = name_of(Text("write a fact of the run, such as run.request", "请写运行信息，例如 run.request"))


def input_(reading: Reading, path: Path, value: Json) -> Json:
    """An input: a JSON Schema, and `from` beside its keywords."""
    read = schema(reading, path, value)
    if read is SKIP:
        return SKIP
    found = dict(cast("dict[str, Json]", read))
    result: dict[str, Json] = {}
    if "from" in found:
        source = _FACT(reading, (*path, "from"), found.pop("from"))
        if source is not SKIP:
            result["from"] = source
    return {"schema": found, **result}


def named(kind: Kind) -> Kind:
    """A mapping whose keys are identifiers."""

    def read(reading: Reading, path: Path, value: Json) -> Json:
        found = mapping(reading, path, value)
        if found is SKIP:
            return SKIP
        result: dict[str, Json] = {}
        for key, item in cast("dict[str, Json]", found).items():
            where = (*path, key)
            if not IDENTIFIER.fullmatch(key):
                fix = as_identifier(where, key, key=True)
                taken = [
                    *found,
                    *(e.text for other in found if other != key for e in as_identifier((), other)),
                ]
                fix = () if fix and fix[0].text in taken else fix
                reading.tree.lost.add(where)
                reading.problems.add("SW111", reading.key(where), *not_identifier(key), fix=fix)
                continue
            one = kind(reading, where, item)
            if one is not SKIP:
                result[key] = one
        return result

    return read


def _refused(key: str, kind: Kind) -> Kind:
    return Refused(kind, KINDS[key])


WAIT: Mapping[str, Kind] = {"until": text, "for": text, "event": text}
WAIT_WORDS = {"time": "until", "at": "until", "duration": "for", "signal": "event", "till": "until"}
CALL: Mapping[str, Kind] = {
    "procedure": name_of(Text("write the id of a procedure", "请写流程的 id")),
    "with": mapping,
    "share": fraction,
}
CALL_WORDS = {"id": "procedure", "name": "procedure", "args": "with", "inputs": "with", "budget": "share"}
APPROVAL: Mapping[str, Kind] = {
    "roles": one_or_many(text),
    "count": integer(1),
    "four_eyes": truth,
    "expires": duration,
}
APPROVAL_WORDS = {"role": "roles", "by": "roles", "timeout": "expires", "eyes": "four_eyes"}


def wait(reading: Reading, path: Path, value: Json) -> Json:
    """A pause: exactly one of a time, a duration and an event."""
    read = record(WAIT, known_as=WAIT_WORDS)(reading, path, value)
    given = [key for key in WAIT if isinstance(value, dict) and key in value]
    if read is SKIP or len(given) == 1:
        return read
    message = Text(
        "a 'wait' has exactly one of 'until', 'for' and 'event'", "wait 应恰有 until、for、event 之一"
    )
    return reading.problem("SW113", path, message, WRITE_A_WAIT)


def approval(reading: Reading, path: Path, value: Json) -> Json:
    """Who may give leave: a role, a list of them, or all of the terms."""
    if not isinstance(value, dict):
        return {"roles": one_or_many(text)(reading, path, value)}
    return record(APPROVAL, known_as=APPROVAL_WORDS)(reading, path, value)


EACH: Mapping[str, Kind] = {
    "in": text,
    "as": identifier,
    "at_once": integer(1, MOST_AT_ONCE),
    "on_item_error": one_of("stop", "collect"),
    "limit": integer(1, MOST_ITEMS),
}
EACH_WORDS = {
    "items": "in", "list": "in", "of": "in", "over": "in", "item": "as", "max": "limit", "concurrency": "at_once",
    "parallel": "at_once", "on_error": "on_item_error",
}  # fmt: skip

_GRIP = one_of(*Grip)
_GUIDANCE = one_of(*Guidance, refused=GUIDANCE)
_TOOLS = many(name_of(A_TOOL))
_USES = many(name_of(Text("write a name, such as inputs.request", "请写名称，例如 inputs.request")))

STEP: Mapping[str, Kind] = {
    "name": text,
    "do": text,
    "needs": text,
    "gives": text,
    "tool": one_tool,
    "answer": text,
    "ask": text,
    "wait": wait,
    "call": record(CALL, "procedure", known_as=CALL_WORDS),
    "each": record(EACH, "in", known_as=EACH_WORDS),
    "script": _refused("script", text),
    "code": _refused("code", text),
    "with": mapping,
    "uses": _USES,
    "returns": schema,
    "examples": many(record({"given": mapping, "answer": anything}, "answer")),
    "as": identifier,
    "tools": _TOOLS,
    "verify": text,
    "retry": record({"times": integer(0, 10), "errors": many(text)}, "times"),
    "timeout": duration,
    "visits": integer(1),
    "min_confidence": fraction,
    "approval": approval,
    "grip": _GRIP,
    "guidance": _GUIDANCE,
    "model": text,
    "pitfalls": many(text),
    "on_error": edges,
    "next": edges,
    "end": one_of("complete", "escalate"),
    "result": mapping,
}


def step(reading: Reading, path: Path, value: Json) -> Json:
    """A step; its id is the key it stands under."""
    if isinstance(value, dict) and "id" in value:
        reading.problems.add(
            "SW110",
            reading.key((*path, "id")),
            Text("a step has no field 'id'", "步骤没有“id”字段"),
            Text(f"its id is its key, '{path[-1]}'", f"它的键“{path[-1]}”就是 id"),
            step=str(path[-1]),
            fix=(Edit(path=(*path, "id"), action="remove"),) if value["id"] == path[-1] else (),
        )
        value = {k: v for k, v in cast("dict[str, Json]", value).items() if k != "id"}
    read = fields(reading, path, value, STEP, (), STEP_WORDS)
    if read is SKIP:
        return SKIP
    return {"id": str(path[-1]), **cast("dict[str, Json]", read)}


PROCEDURE: Mapping[str, Kind] = {
    "schema": text,
    "id": identifier,
    "name": words,
    "description": words,
    "examples": many(text),
    "tags": many(text),
    "tools": _TOOLS,
    "inputs": named(input_),
    "output": schema,
    "grip": _GRIP,
    "guidance": _GUIDANCE,
    "model": text,
    "verify": text,
    "timeout": duration,
    "start": identifier,
    "steps": named(step),
}
