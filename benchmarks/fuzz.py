"""Malformed replies and arguments, drawn by Hypothesis from a fixed seed, through the real reading, repairing, judging
and calling: how often something broke, how often a tool was called with arguments that its schema or the policy
refuses, and how often a reply that was not understood became empty arguments.

Half are replies to the reader (a tool call, one action of several, a choice, prose), half are whole runs of an engine
with a tool of a schema that was drawn as well. Who judges what was called is jsonschema-rs over the tool's own schema,
and a plain comparison of its path with the one that the policy denies.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import jsonschema_rs
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from benchmarks.malformed import FORBIDDEN, arguments, dumped, replies, schemas, text
from benchmarks.measure import Measure, options, publish, result
from sopwith import Engine, MemoryLog, Policy, ProcedureError, Rule, ToolSpec
from sopwith.ir.tool import ErrorData
from sopwith.ir.value import Json, storable
from sopwith.models.port import Action, ModelReply, ModelRequest, Prompt
from sopwith.models.reply import read_reply
from sopwith.models.scripted import ScriptedModel
from sopwith.tools import Reconciled, ToolResult
from sopwith.tools.arguments import problems
from sopwith.tools.refusal import refusal

EACH, QUICK = 10_000, 200
SEED = 20261130

PROCEDURE = """
schema: sopwith/procedure/1
id: fuzz
name: Fuzz
description: Call one tool with what a model says
start: call
steps:
  call: {name: Call, do: Call it, tool: fuzz.call, next: done, on_error: [{otherwise: lost}]}
  done: {name: Done, end: complete}
  lost: {name: Lost, end: escalate}
"""
POLICY = Policy([
    Rule(id="no", verdict="deny", tool="fuzz.call", when=f"has(arguments.path) && arguments.path == '{FORBIDDEN}'"),
])  # fmt: skip


class Tools:
    """One tool of any schema. It writes down what it was called with."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.spec = ToolSpec(name="fuzz.call", input_schema=schema)
        self.called: list[dict[str, Json]] = []

    async def specs(self) -> Sequence[ToolSpec]:
        """The one tool."""
        return [self.spec]

    def prepare(self, name: str, arguments: dict[str, Json]) -> dict[str, Json] | ErrorData:
        """As for the tools of an MCP server."""
        found = problems(self.spec, arguments)
        return refusal("invalid_arguments", found[0]) if found else arguments

    async def call(
        self, name: str, arguments: dict[str, Json], *, key: str, seconds: float | None
    ) -> ToolResult:
        """Take anything."""
        self.called.append(arguments)
        return ToolResult()

    async def reconcile(
        self, name: str, arguments: dict[str, Json], *, key: str, seconds: float | None
    ) -> Reconciled:
        """Nothing is known."""
        return Reconciled()

    async def close(self) -> None:
        """Nothing is held."""


class Tally:
    """What was seen; each kind of fault with the input that led to it."""

    def __init__(self) -> None:
        self.count: Counter[str] = Counter()
        self.faults: dict[str, list[str]] = {"crash": [], "refused": [], "empty": []}

    def fault(self, kind: str, *what: object) -> None:
        """One more."""
        self.faults[kind].append(" | ".join(map(repr, what)))

    def guarded(self, check: Callable[[], None], *what: object) -> None:
        """Run `check`; whatever it raises is a crash."""
        try:
            check()
        except Exception as error:
            self.fault("crash", f"{type(error).__name__}: {error}", *what)


def accepted(schema: dict[str, Any], value: Json) -> bool:
    """Whether the schema takes `value`, by a validator that shares nothing with the engine but the library."""
    return jsonschema_rs.validator_for(schema).is_valid(value)


def says_empty(said: str) -> bool:
    """Whether a reply says `{}` somewhere, or nothing at all."""
    return not said.strip() or "{}" in "".join(said.split())


def read(tally: Tally, schema: dict[str, Any], said: str, form: int, finish: str) -> None:
    """Read one reply in the form `form`."""
    call = Action("fuzz__call", "", schema)
    other = Action("other", "", {"type": "object", "properties": {"n": {"type": "integer"}}})
    prompt, actions = Prompt("", (), ""), (call, other)
    request = [
        ModelRequest(prompt, "action", actions=actions, legal=(call.name,)),
        ModelRequest(prompt, "action", actions=actions, legal=(call.name, other.name)),
        ModelRequest(prompt, "action", actions=actions, legal=(call.name,)),
        ModelRequest(prompt, "choice", labels=("yes", "no", said[:5])),
        ModelRequest(prompt, "text"),
    ][form]
    name = "fuzz__call" if form == 2 else None
    found = read_reply(request, ModelReply(said, name=name, finish=finish))  # type: ignore[arg-type]
    tally.count["read" if found.error is None else found.error.code] += 1
    if found.error is not None or request.form != "action":
        return
    action = next(action for action in actions if action.name == found.action)
    if not accepted(action.schema, found.value):
        tally.fault("refused", schema, said, found.value)
    if found.value == {} and not says_empty(said) and found.repairs == ():
        tally.fault("empty", schema, said, form)


async def run(tally: Tally, schema: dict[str, Any], said: str) -> None:
    """Let an engine ask for the arguments of a tool, and call it."""
    tools = Tools(schema)
    model = ScriptedModel(lambda request: said)
    async with Engine(PROCEDURE, tools=[tools], model=model, policy=POLICY, log=MemoryLog()) as engine:
        try:
            done = await engine.run("go")
        except ProcedureError:
            tally.count["unchecked"] += 1
            return
    tally.count["denied"] += any(
        e.body.kind == "call.judged" and e.body.verdict == "deny" for e in done.events
    )
    kind = "none" if done.outcome is None else done.outcome.kind
    tally.count[f"run {kind}"] += 1
    if kind in ("none", "failed"):
        tally.fault("crash", kind, schema, said)
    for called in tools.called:
        if not accepted(schema, called) or called.get("path") == FORBIDDEN or problems(tools.spec, called):
            tally.fault("refused", schema, said, called)
        if called == {} and not says_empty(said):
            tally.fault("empty", schema, said)


def drawn(examples: int, tally: Tally) -> None:
    """Both halves, `examples` each. The seed is fixed, so the same inputs come every time."""
    fixed = settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )

    @seed(SEED)
    @fixed
    @given(st.data(), schemas(), st.integers(0, 4), st.sampled_from(["stop", "stop", "tool_calls", "length"]))
    def reading(data: st.DataObject, schema: dict[str, Any], form: int, finish: str) -> None:
        said = data.draw(replies(data.draw(text | arguments(schema).map(dumped))))
        tally.count["replies"] += 1
        tally.guarded(lambda: read(tally, schema, said, form, finish), schema, said, form)

    @seed(SEED)
    @fixed
    @given(st.data(), schemas(), st.booleans())
    def running(data: st.DataObject, schema: dict[str, Any], garbled: bool) -> None:
        said = dumped(data.draw(arguments(schema)))
        if garbled:
            said = data.draw(replies(said))
        tally.count["pairs"] += 1
        tally.guarded(lambda: loop.run(run(tally, schema, storable(said))), schema, said)

    logger = logging.getLogger("sopwith")
    usual = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        reading()
        with asyncio.Runner() as loop:
            running()
    finally:
        logger.setLevel(usual)


def measures(tally: Tally) -> list[Measure]:
    """What is published."""
    n = tally.count["replies"] + tally.count["pairs"]
    called, denied = tally.count["run completed"], tally.count["denied"]
    return [
        Measure("fuzz_crashes", len(tally.faults["crash"]), "inputs", n),
        Measure("refused_arguments_called", len(tally.faults["refused"]), "inputs", n),
        Measure("silent_empty_arguments", len(tally.faults["empty"]), "inputs", n),
        Measure(
            "replies_read", tally.count["read"] / tally.count["replies"], "share", tally.count["replies"]
        ),
        Measure("runs_that_called", called / tally.count["pairs"], "share", tally.count["pairs"]),
        Measure("runs_denied", denied, "runs", tally.count["pairs"]),
    ]


def main() -> None:
    """Draw, measure and publish; each fault is shown with its input."""
    options_given = options(__doc__ or "")
    tally = Tally()
    drawn(QUICK if options_given.quick else EACH, tally)
    for kind, found in tally.faults.items():
        for what in found[:5]:
            sys.stderr.write(f"{kind}: {what[:2000]}\n")
    publish(result("fuzz", measures(tally)), options_given)


if __name__ == "__main__":
    main()
