"""Everything around a generated procedure that answers by chance: its tools, a model, people, and a policy.

The tools are Python functions behind the real source; what they give is what they declare, or a typed error, an
exception, a result that breaks their own schema, or silence until their time is up. The model replies rightly,
malformed, with another action, with prose where a value is wanted, or the same wrong words again.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from benchmarks.values import annotation, instance
from benchmarks.works import BOSS, ToolPlan
from sopwith import Policy, Rule, ToolError, tool
from sopwith.errors import ModelError, Text
from sopwith.ir.tool import Effect
from sopwith.models.port import ModelReply, ModelRequest
from sopwith.tools.function import FunctionSource
from sopwith.tools.reconcile import Done, NotDone, Unsure

CODES = ("busy", "not_found", "odd", "denied")
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_REFUSALS = (
    "I cannot help with that.",
    "很抱歉，我不能这样做。",
    "",
    "```",
    "{",
    "null",
    "[]",
    "{}",
    '{"name": "finish"}',
)


class Chance:
    """The source of all chance in one run; tools and model share it."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.faults = 0.25
        """The share of calls and replies that are not what was wished for."""

    def functions(self, plans: Sequence[ToolPlan]) -> FunctionSource:
        """The planned tools, as functions."""
        return FunctionSource([self._function(plan) for plan in plans])

    def _function(self, plan: ToolPlan) -> Callable[..., Any]:
        async def call(**given: Any) -> Any:
            return await self._result(plan)

        parameters = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation(schema, name))
            if name in plan.required
            else inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation(schema, name) | None, default=None
            )
            for name, schema in plan.properties.items()
        ]
        call.__name__ = call.__qualname__ = "call"
        call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        call.__annotations__ = {one.name: one.annotation for one in parameters}
        call.__annotations__["return"] = annotation(plan.output, "Result")
        return tool(
            name=plan.name,
            effect=plan.effect,
            idempotent=plan.idempotent,
            timeout=0.01,
            reconcile=self._hook(plan, call) if plan.reconcilable else None,
        )(call)

    def _hook(self, plan: ToolPlan, call: Any) -> Callable[..., Any]:
        def reconcile(**given: Any) -> Any:
            return self.rng.choice((Done(instance(self.rng, plan.output)), NotDone(), Unsure()))

        key = inspect.Parameter("idempotency_key", inspect.Parameter.KEYWORD_ONLY, annotation=str)
        parameters = [*call.__signature__.parameters.values(), key]
        reconcile.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        reconcile.__annotations__ = {one.name: one.annotation for one in parameters}
        return reconcile

    async def _result(self, plan: ToolPlan) -> Any:
        rng = self.rng
        if rng.random() >= self.faults:
            return instance(rng, plan.output)
        match rng.choice(("error", "error", "error", "exception", "misfit", "silence")):
            case "error":
                raise ToolError(rng.choice(CODES), rng.choice(("no", "查无此人")))
            case "exception":
                raise rng.choice((ValueError("boom"), TimeoutError("late"), KeyError("k"), OSError("网络")))
            case "misfit":
                return rng.choice(({"unexpected": [1]}, None, [], "text", {}))
            case _:
                await asyncio.Event().wait()

    def reply(self, request: ModelRequest) -> str | ModelReply:
        """What the model says."""
        rng = self.rng
        if rng.random() < self.faults:
            return self._bad(request)
        if request.form == "choice":
            letter = rng.choice(LETTERS[: len(request.labels)])
            return ModelReply(letter, confidence=rng.choice((0.2, 0.6, 0.99, None)))
        if request.form == "text":
            return rng.choice(("Done.", "已办结，编号 A-1。", "It's “late”; 3.5 days"))
        return self._action(request)

    def _action(self, request: ModelRequest) -> str:
        rng = self.rng
        legal = rng.choice(request.legal)
        ends = next((name for name in request.legal if name.startswith("finish")), None)
        if ends is not None and rng.random() < 0.4:
            legal = ends
        action = next(one for one in request.actions if one.name == legal)
        single = len(request.legal) == 1
        schema = request.constraint if single and request.constraint is not None else action.schema
        value = instance(rng, request.constraints.get(legal, schema))
        if legal == ends and value.get("outcome") == "complete":
            result = schema["properties"].get("result")
            value = {"outcome": "complete"} | (
                {} if result is None else {"result": instance(rng, result, schema)}
            )
        said = value if single else {"name": legal, "arguments": value}
        return json.dumps(said, ensure_ascii=False)

    def _bad(self, request: ModelRequest) -> str | ModelReply:
        rng = self.rng
        match rng.choice(("refusal", "cut", "other", "broken", "letter", "endpoint")):
            case "cut":
                return ModelReply(rng.choice(('{"a": ', "所以")), finish="length")
            case "other":
                names = [one.name for one in request.actions] or ["nothing"]
                return ModelReply("{}", name=rng.choice(names))
            case "broken" if request.form == "action":
                return "So: " + self._action(request)[: rng.randint(1, 30)]
            case "letter":
                return rng.choice(("Z", "a.", "B. because", "AB", "1"))
            case "endpoint":
                raise ModelError(Text("the endpoint is gone", "端点不可用"), Text("try again", "请重试"))
            case _:
                return rng.choice(_REFUSALS)

    def answer(self, schema: dict[str, Any]) -> Any:
        """What a person says to a question."""
        return instance(self.rng, schema)

    def policy(self, plans: Sequence[ToolPlan]) -> Policy:
        """Everything is allowed; now and then a tool is denied or needs leave."""
        rules = [Rule(id="all", verdict="allow")]
        if plans and self.rng.random() < 0.3:
            verdict = self.rng.choice(("ask", "deny"))
            rules.insert(0, Rule(id="one", verdict=verdict, tool=self.rng.choice(plans).name))
        return Policy(rules, people={BOSS: [BOSS]})


def writes(plan: ToolPlan) -> bool:
    """Whether calls of the tool act on the world."""
    return plan.effect is not Effect.READ
