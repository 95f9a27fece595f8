"""Writes the golden logs of a version: `python -m tests.golden.write FOLDER`. Done once a version, and never again.

Per language a run of the desk, and one that holds every kind of event once, in a store and exported as JSONL; beside
them the schema of the events.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from tests.run.desk import ALLOW, REFUND, REPLIES, Shop

from sopwith import Engine
from sopwith.guard.vault import MemoryVault
from sopwith.ir.event import BODIES, Body, Event, Outcome, Phase, RunFinished, RunStarted
from sopwith.ir.outcome import Packet
from sopwith.log.export import to_jsonl
from sopwith.log.schema import event_schema
from sopwith.log.sqlite import SqliteLog
from sopwith.models.scripted import ScriptedModel

START = 1_790_000_000_000_000
LANGUAGES = ("en", "zh")
IN_CHINESE = {
    "Refund an order": "订单退款",
    "Look an order up and pay it back where that is right": "查询订单，符合条件时为客户退款",
    "Copy the order number and say what is wanted": "摘出订单编号，并说明客户想要什么",
    "Which order do you mean? ${wanted.order} is not known.": "您指的是哪个订单？没有找到 ${wanted.order}。",
    "Pay the amount back, with a short note": "原路退回全部金额，并附上简短说明",
    "Say that ${order.amount} were paid back, receipt ${paid.receipt}": "告知退款 ${order.amount}，${paid.receipt}",
}


def _in_chinese(text: str) -> str:
    for english, chinese in IN_CHINESE.items():
        text = text.replace(english, chinese)
    return text


PROCEDURES = {"en": REFUND, "zh": _in_chinese(REFUND)}
WORDS = {
    "en": "Money back for A-7, my phone is 13800138000",
    "zh": "订单 A-7 到货破损，请退款，电话 13800138000",
}


async def write(folder: Path) -> None:
    """The golden logs of this version, into `folder`."""
    for language in LANGUAGES:
        log = SqliteLog(folder / f"{language}.sqlite")
        shop = Shop()
        ticks = iter(range(START, START + 1_000_000_000, 1000))
        engine = Engine(
            PROCEDURES[language],
            shop.tools(),
            ScriptedModel(REPLIES),
            log=log,
            policy=ALLOW,
            vault=MemoryVault(bytes(32)),
            clock=lambda ticks=ticks: next(ticks),
        )
        await engine.run(
            WORDS[language], principal="李雷" if language == "zh" else "li", run_id=f"desk-{language}"
        )
        started = (await log.read(f"desk-{language}"))[0].body
        await log.append(f"all-{language}", every_kind(f"all-{language}", started))
        lines = [await log.read(f"{name}-{language}") for name in ("desk", "all")]
        (folder / f"{language}.jsonl").write_text("".join(map(to_jsonl, lines)), encoding="utf-8")
        await engine.close()
        await log.close()
    schema = json.dumps(event_schema(), ensure_ascii=False, indent=1)
    (folder / "event.schema.json").write_text(schema + "\n", encoding="utf-8")


def every_kind(run: str, started: RunStarted) -> list[Event]:
    """One event of each kind, with a value in every field; they tell no story."""
    last = RunFinished(outcome=Outcome(kind="escalated", packet=Packet(reason="没有结果", open=("look",))))
    others = [filled(body) for body in BODIES if body not in (RunStarted, RunFinished)]
    return [
        Event(run, run, seq, START + seq, Phase.EXECUTE, "look", seq - 1 or None, body)
        for seq, body in enumerate([started, *others, last], 1)
    ]


def filled(body: type[Body]) -> Body:
    """A body of this kind with a value in each of its fields."""
    schema = body.model_json_schema()
    return body.model_validate_json(json.dumps(_value(schema, schema.get("$defs", {}))))


def _value(schema: dict[str, Any], shared: dict[str, Any]) -> Any:
    """A small value that fits a schema of ours."""
    if "$ref" in schema:
        return _value(shared[schema["$ref"].rpartition("/")[2]], shared)
    if "const" in schema or "enum" in schema:
        return schema.get("const", schema.get("enum", [None])[-1])
    for arm in schema.get("anyOf", ()):
        return _value(arm, shared)
    match schema.get("type"):
        case "object":
            return {name: _value(each, shared) for name, each in schema.get("properties", {}).items()}
        case "array":
            return [_value(schema["items"], shared)] if "items" in schema else []
        case "integer" | "number":
            return schema.get("minimum", 2)
        case "boolean":
            return True
        case "string":
            return "0.25" if "pattern" in schema else "word 词"
        case _:
            return {"any": [1, "值"]}


if __name__ == "__main__":
    place = Path(sys.argv[1])
    place.mkdir(parents=True)
    asyncio.run(write(place))
