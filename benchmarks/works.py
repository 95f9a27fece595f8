"""The work of a step, by chance: one function for each kind, and the tools that they call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from benchmarks.conditions import Expressions, Scope
from benchmarks.values import WORDS, Schema, choice, field, instance, record
from sopwith.ir.procedure import Grip, Procedure
from sopwith.ir.tool import Effect
from sopwith.lang import refused

PLAIN = (
    "查询余额", "verify that the user may ask", "摘出类型", "look it up", "第1步", "it's here", "50%", "check again",
    "The end", "说明原因", "ok?", "3.5 days", "（内部）", "a/b",
)  # fmt: skip
"""Words that no form takes for its own."""

ERRORS = ("busy", "not_found", "timeout", "denied", "odd")
EVENT = "paid"
BOSS = "boss"
"""Who gives leave: a name that has the role of the same name."""

KINDS = (
    "tool", "tool", "tool", "returns", "returns", "ask", "answer", "free", "route", "cited",
    "each", "wait", "call",
)  # fmt: skip
"""The kinds that are drawn, likely ones more than once."""

GRIPS = tuple(str(grip) for grip in Grip if grip not in getattr(refused, "GRIPS", ()))

Work = tuple[dict[str, Any], Schema | None]
"""The fields of a step, and what is known about the value that it gives; None where it gives none."""


@dataclass(frozen=True, slots=True)
class ToolPlan:
    """A tool to be made: what it takes, what it gives, what it does to the world."""

    name: str
    properties: dict[str, Schema]
    required: tuple[str, ...]
    output: Schema
    effect: Effect = Effect.READ
    idempotent: bool = False
    reconcilable: bool = False


def library(rng: Random, size: int = 40) -> tuple[ToolPlan, ...]:
    """Tools to draw from, with names of any script."""
    plans: list[ToolPlan] = []
    for i in range(size):
        names = rng.sample(("who", "what", "days", "kind", "note"), rng.randint(0, 3))
        effect = rng.choice((Effect.READ, Effect.READ, Effect.READ, Effect.WRITE, Effect.IRREVERSIBLE))
        writes = effect is not Effect.READ
        plans.append(
            ToolPlan(
                name=f"{rng.choice(('hr', 'desk', '人事', 'a-b'))}.{rng.choice(('get', 'find', '查询', 'file'))}_{i}",
                properties={name: field(rng, 1) for name in names},
                required=tuple(name for name in names if rng.random() < 0.7),
                output=record(rng),
                effect=effect,
                idempotent=writes and rng.random() < 0.4,
                reconcilable=writes and rng.random() < 0.3,
            )
        )
    return tuple(plans)


def closed(properties: dict[str, Schema], *required: str) -> Schema:
    """The schema of an object with these fields and no others."""
    return {
        "type": "object",
        "required": list(required or properties),
        "properties": properties,
        "additionalProperties": False,
    }


class Works:
    """Draws the work of steps. `child` makes a procedure that can be called; without it nothing is."""

    def __init__(
        self,
        rng: Random,
        tools: tuple[ToolPlan, ...],
        say: Expressions,
        child: Callable[[str], Procedure] | None,
        *,
        plain: bool,
    ) -> None:
        self.rng = rng
        self.tools = tools
        self.say = say
        self.child = child
        self.plain = plain
        self.children: dict[str, Procedure] = {}

    def draw(self, scope: Scope) -> tuple[str, dict[str, Any], Schema | None]:
        """The work of one step: its kind, its fields, and what it gives."""
        kind = self.rng.choice(("tool", "tool", "returns", "route") if self.plain else KINDS)
        step, gives = getattr(self, kind)(scope)
        return kind, step, gives

    def words(self) -> str:
        """Constant words."""
        return self.rng.choice(PLAIN if self.plain else WORDS)

    def route(self, scope: Scope) -> Work:
        return {}, None

    def tool(self, scope: Scope) -> Work:
        rng = self.rng
        plan = rng.choice(self.tools)
        asked = self.plain or rng.random() < 0.45
        bound = {
            name: self.say.binding(scope, one)
            for name, one in plan.properties.items()
            if not self.plain
            and (rng.random() < 0.4 if asked else name in plan.required or rng.random() < 0.4)
        }
        step: dict[str, Any] = {"tool": plan.name, "with": bound}
        if asked:
            step["do"] = self.words() if self.plain else self.say.words(scope)
        if plan.effect is not Effect.READ and not self.plain and not plan.idempotent:
            step["verify"] = ""
        if rng.random() < 0.3 and not self.plain:
            step["retry"] = {"times": rng.randint(0, 2), "errors": rng.sample(ERRORS, rng.randint(0, 2))}
        if not self.plain and rng.random() < 0.1:
            step["approval"] = BOSS
        return step, plan.output

    def returns(self, scope: Scope) -> Work:
        if self.plain:
            return {"returns": {"type": "string"}, "do": self.words()}, {"type": "string"}
        schema = choice(self.rng) if self.rng.random() < 0.5 else record(self.rng)
        step: dict[str, Any] = {"returns": schema, "do": self.say.words(scope)}
        if "type" not in schema and self.rng.random() < 0.4:
            step["min_confidence"] = 0.5
        if self.rng.random() < 0.4:
            step["examples"] = [{"answer": instance(self.rng, schema)} for _ in range(2)]
        return step, schema

    def cited(self, scope: Scope) -> Work:
        """A value that the model may only take from what was found."""
        found = self.say.choices(scope)
        if found is None:
            return self.returns(scope)
        items = found.schema["items"]
        if self.rng.random() < 0.5:
            return {"do": self.words(), "returns": {"enum": "${" + found.at + "}"}}, items
        inner = {"enum": "${" + f"{found.at}.map(x, x)" + "}"}
        properties = {"which": inner, "why": {"type": "string", "maxLength": 40}}
        given = {"type": "object", "required": ["which", "why"], "properties": properties}
        return {"do": self.words(), "returns": given}, closed({"which": items, "why": {"type": "string"}})

    def ask(self, scope: Scope) -> Work:
        schema = self.rng.choice(
            ({"type": "boolean"}, choice(self.rng), record(self.rng), {"type": "string"})
        )
        return {"ask": self.say.words(scope), "returns": schema}, schema

    def answer(self, scope: Scope) -> Work:
        return {"answer": self.say.words(scope)}, {"type": "string"}

    def each(self, scope: Scope) -> Work:
        """The work of another step, for every item of a list."""
        rng = self.rng
        lists = [
            one for one in self.say.leaves(scope) if one.schema.get("type") == "array" and not one.guards
        ]
        if not lists:
            return self.tool(scope)
        over = rng.choice(lists)
        step, gives = getattr(self, rng.choice(("tool", "returns", "answer")))(
            {**scope, "item": over.schema["items"]}
        )
        for idle in ("verify", "min_confidence"):
            step.pop(idle, None)
        each: dict[str, Any] = {"in": "${" + over.at + "}"}
        if rng.random() < 0.3:
            each["at_once"] = rng.randint(1, 3)
        items = gives or {"type": "string"}
        if rng.random() < 0.4:
            each["on_item_error"] = "collect"
            error = closed({key: {"type": "string"} for key in ("code", "message")})
            items = closed({"ok": {"type": "boolean"}, "value": items, "error": error}, "ok")
        return {**step, "each": each}, {"type": "array", "items": items}

    def free(self, scope: Scope) -> Work:
        schema = record(self.rng)
        tools = sorted({tool.name for tool in self.rng.sample(self.tools, 2)})
        return {"grip": "free", "do": self.say.words(scope), "returns": schema, "tools": tools}, schema

    def wait(self, scope: Scope) -> Work:
        """A pause: for a while, until a time that may be over, or for an event."""
        rng = self.rng
        match rng.choice(("for", "until", "event", "event")):
            case "for":
                return {"wait": {"for": rng.choice(("2d", "1s", "90m"))}}, None
            case "until":
                return {
                    "wait": {"until": rng.choice(("2099-01-01T00:00:00Z", "${run.date}T00:00:00Z"))}
                }, None
            case _:
                step: dict[str, Any] = {"wait": {"event": EVENT}}
                if rng.random() < 0.5:
                    step["timeout"] = 3600.0
                if rng.random() < 0.3:
                    return step, None
                schema = record(rng)
                return {**step, "returns": schema}, schema

    def call(self, scope: Scope) -> Work:
        """Another procedure."""
        rng = self.rng
        if self.child is None:
            return self.tool(scope)
        if not self.children or (len(self.children) < 2 and rng.random() < 0.4):
            name = f"child_{len(self.children)}"
            self.children[name] = self.child(name)
        name = rng.choice(sorted(self.children))
        called = self.children[name]
        given = {
            n: self.say.binding(scope, one.schema_) for n, one in called.inputs.items() if one.from_ is None
        }
        call: dict[str, Any] = {"procedure": name, "with": given}
        if rng.random() < 0.2:
            call["share"] = 0.5
        step: dict[str, Any] = {"call": call}
        if rng.random() < 0.3:
            step["retry"] = {"times": 1, "errors": ["failed", "exhausted"]}
        return step, called.output
