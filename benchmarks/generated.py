"""Procedures by chance, from a seed: all kinds of steps, on graphs with branches, cycles, joins and failures.

They are built from the inside out: what is written where is known while a procedure grows, so that most of them have
no errors. A few expressions are wrong on purpose (`wild`); those procedures are for `check` to find.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from benchmarks.conditions import Expressions, Scope, same_kind
from benchmarks.values import WORDS, Schema, choice, field, instance, record
from sopwith.ir.procedure import Grip, Procedure
from sopwith.ir.tool import Effect
from sopwith.lang.refused import GRIPS, KINDS

RUN = tuple(kind for kind in ("each",) if kind not in KINDS)
"""The kinds of steps that are drawn where this version runs them."""

Steps = dict[str, dict[str, Any]]

_PLAIN = (
    "查询余额", "verify that the user may ask", "摘出类型", "look it up", "第1步", "it's here", "50%", "check again",
    "The end", "说明原因", "ok?", "3.5 days", "（内部）", "a/b",
)  # fmt: skip
_JUDGES = ("the user names a date", "除请假外还提出了别的诉求", "asks for a person, twice", "原话中出现金额")
_INPUTS = ("user_id", "request", "note", "limit")
_FACTS = {"user_id": "run.principal.id", "request": "run.request"}
_ERRORS = ("busy", "not_found", "timeout", "denied", "odd")


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


@dataclass(frozen=True, slots=True)
class Generated:
    """A procedure, and the tools that it names."""

    procedure: Procedure
    tools: tuple[ToolPlan, ...]


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


def generate(
    rng: Random, tools: tuple[ToolPlan, ...], *, size: int = 12, wild: float = 0.0, plain: bool = False
) -> Generated:
    """One procedure of about `size` steps. A `plain` one has words and fields that Routine text can say."""
    maker = _Maker(rng, tools, wild, plain)
    procedure = maker.procedure(size)
    named = {*procedure.permitted_tools(), *procedure.step_tools()}
    return Generated(procedure, tuple(tool for tool in tools if tool.name in named))


class _Maker:
    """One procedure in the making."""

    def __init__(self, rng: Random, tools: tuple[ToolPlan, ...], wild: float, plain: bool) -> None:
        self.rng = rng
        self.tools = tools
        self.plain = plain
        self.say = Expressions(rng, wild)
        self.steps: Steps = {}
        self.output: Schema | None = None
        self.made = 0

    def procedure(self, size: int) -> Procedure:
        rng = self.rng
        inputs = {} if self.plain else self._inputs()
        self.output = record(rng) if rng.random() < 0.6 and not self.plain else None
        scope = {"inputs": _object({name: one["schema"] for name, one in inputs.items()})} if inputs else {}
        end = self.fresh("end")
        start, after = self.chain(scope, size, end, looped=False)
        if after is None:
            del self.steps[end]
        else:
            self.steps[end] = self.end(after, "complete")
        data: dict[str, Any] = {
            "id": rng.choice(("leave_request", "Refund2", "_p")),
            "name": self.words(),
            "description": self.words(),
            "inputs": inputs,
            "output": self.output,
            "start": start,
            "steps": {name: {"id": name, **step} for name, step in self._ordered().items()},
        }
        if not self.plain:
            data |= {"examples": rng.sample(WORDS, 2), "tags": [rng.choice(WORDS)]}
            if rng.random() < 0.1:
                data["grip"] = rng.choice([str(grip) for grip in Grip if grip not in GRIPS])
            if rng.random() < 0.2:
                data["verify"] = "run.request.size() >= 0"
            if rng.random() < 0.2:
                data["tools"] = sorted(Procedure.from_data(_given(data)).step_tools()) or [self.tools[0].name]
        return Procedure.from_data(_given(data))

    def _inputs(self) -> dict[str, Any]:
        names = self.rng.sample(_INPUTS, self.rng.randint(0, 3))
        return {
            name: {"schema": {"type": "string"}, "from": _FACTS[name]}
            if name in _FACTS
            else {"schema": field(self.rng, 2)}
            for name in names
        }

    def _ordered(self) -> Steps:
        """The steps as a file lists them; now and then in no order at all."""
        names = list(self.steps)
        if not self.plain and self.rng.random() < 0.1:
            self.rng.shuffle(names)
        return {name: self.steps[name] for name in names}

    def fresh(self, word: str = "step") -> str:
        """An id that is not taken; its place in the file is where it was asked for."""
        self.made += 1
        name = f"{word}_{self.made}"
        self.steps[name] = {}
        return name

    def words(self) -> str:
        """Constant words."""
        return self.rng.choice(_PLAIN if self.plain else WORDS)

    # Graphs.

    def chain(self, scope: Scope, size: int, to: str, *, looped: bool) -> tuple[str, Scope | None]:
        """Steps, one after the other, that lead to `to`: the first of them, and what has a value at `to`.

        None where no path comes there.
        """
        ids = [self.fresh() for _ in range(max(1, min(size, self.rng.randint(1, 5))))]
        now = scope
        for i, name in enumerate(ids):
            onward = ids[i + 1] if i + 1 < len(ids) else to
            arrived = self.part(name, now, size // len(ids), onward, looped)
            if arrived is None:
                for never in ids[i + 1 :]:
                    del self.steps[never]
                return ids[0], None
            now = arrived
        return ids[0], now

    def part(self, name: str, scope: Scope, size: int, to: str, looped: bool) -> Scope | None:
        """The step `name` and what hangs on it, up to `to`."""
        draw = self.rng.random()
        if size >= 2 and draw < 0.45:
            return self.branch(name, scope, size - 1, to, looped)
        if size >= 3 and draw < 0.65:
            return self.loop(name, scope, size - 2, to)
        return self.line(name, scope, to)

    def line(self, name: str, scope: Scope, to: str) -> Scope:
        """One step with one way on, and perhaps ways on from its failure."""
        step, after = self.work(name, scope)
        step["next"] = [{"to": to}]
        self.steps[name] = step
        return self.failure(name, scope, after, to)

    def branch(self, name: str, scope: Scope, size: int, to: str, looped: bool) -> Scope | None:
        """A step with several ways on: some end, the others meet at `to`."""
        rng = self.rng
        step, after = ({}, scope) if rng.random() < 0.4 else self.work(name, scope)
        arms = rng.randint(2, 4)
        shared = None if looped or rng.random() < 0.6 else (f"both_{self.made}", choice(rng))
        edges: list[dict[str, Any]] = []
        arrivals: list[Scope] = []
        for i in range(arms):
            target, arrived = self.arm(after, size // arms, to, looped, shared)
            if arrived is not None:
                arrivals.append(arrived)
            edges.append({"to": target, **self.way(after, last=i == arms - 1)})
        step["next"] = _distinct(edges)
        self.steps[name] = step
        if not arrivals:
            return None
        # A recovery would arrive without what the arms wrote: these steps fail only into ends.
        self.failure(name, scope, after, None)
        return joined(arrivals)

    def way(self, scope: Scope, *, last: bool) -> dict[str, Any]:
        """The condition of one edge."""
        if last:
            return {"otherwise": True}
        extra: dict[str, Any] = {}
        if not self.plain and self.rng.random() < 0.1:
            extra = {"guidance": self.words(), "pitfalls": [self.words()]}
        if self.plain or self.rng.random() < 0.3:
            return {"judge": self.rng.choice(_JUDGES), **extra}
        return {"when": self.say.condition(scope), **extra}

    def arm(
        self, scope: Scope, size: int, to: str, looped: bool, shared: tuple[str, Schema] | None
    ) -> tuple[str, Scope | None]:
        """One way on from a branch: straight to where the arms meet, over some steps, or to an end."""
        draw = self.rng.random()
        if shared is not None and draw < 0.7:
            name = self.fresh("arm")
            self.steps[name] = {
                "returns": shared[1],
                "as": shared[0],
                "do": self.words(),
                "next": [{"to": to}],
            }
            self.say.written[shared[0]] = shared[1]
            return name, {**scope, shared[0]: shared[1]}
        if draw < 0.25 or size < 1:
            return to, scope
        if draw < 0.5:
            name = self.fresh("end")
            self.steps[name] = self.end(scope, self.rng.choice(("complete", "escalate")))
            return name, None
        return self.chain(scope, size, to, looped=looped)

    def loop(self, name: str, scope: Scope, size: int, to: str) -> Scope | None:
        """A step, some more, and a test that leads back to it or on."""
        step, after = self.work(name, scope)
        test = self.fresh("test")
        first, arrived = self.chain(after, size, test, looped=True)
        step["next"] = [{"to": first}]
        if self.rng.random() < 0.5 and not self.plain:
            step["visits"] = self.rng.randint(1, 4)
        self.steps[name] = step
        self.failure(name, scope, after, None)
        if arrived is None:
            del self.steps[test]
            return None
        edges = [{"to": name, **self.way(arrived, last=False)}, {"to": to, "otherwise": True}]
        if self.rng.random() < 0.3 and not self.plain:
            edges = [{"to": to, "when": self.say.condition(arrived)}, {"to": name, "otherwise": True}]
        self.steps[test] = {"next": edges}
        return arrived

    def failure(self, name: str, before: Scope, after: Scope, to: str | None) -> Scope:
        """Perhaps ways on from a failed step; what has a value at `to` with them."""
        if self.plain or self.rng.random() < 0.6:
            return after
        draw = self.rng.random()
        handler = self.fresh("failed")
        failed: Scope = {**before, "error": _object({key: {"type": "string"} for key in ("code", "message")})}
        self.steps[handler] = self.end(failed, self.rng.choice(("complete", "escalate")))
        code = f"error.code == '{self.rng.choice(_ERRORS)}'"
        if to is None or draw < 0.4:
            self.steps[name]["on_error"] = [{"to": handler}]
            return after
        if draw < 0.6:
            self.steps[name]["on_error"] = [{"to": handler, "when": code}, {"to": to, "otherwise": True}]
        else:
            self.steps[name]["on_error"] = [{"to": to, "when": code}, {"to": handler, "otherwise": True}]
        return joined([after, before])

    # Steps.

    def work(self, name: str, scope: Scope) -> tuple[dict[str, Any], Scope]:
        """A step that does something, and what has a value after it."""
        kinds = ("tool", "tool", "returns", "route") if self.plain else (
            "tool", "tool", "tool", "returns", "returns", "ask", "answer", "free", "route", "cited", *RUN,
        )  # fmt: skip
        kind = self.rng.choice(kinds)
        step, gives = getattr(self, f"_{kind}")(scope)
        if not self.plain:
            step |= self._extras(kind, step, gives)
        elif self.rng.random() < 0.7:
            step["name"] = self.words()
        if gives is None:
            return step, scope
        written = name
        if self.rng.random() < 0.5:
            written = step["as"] = f"v{self.made}"
            self.made += 1
        self.say.written[written] = gives
        if step.get("verify") == "":
            step["verify"] = self.say.condition({written: gives})
        return step, {**scope, written: gives}

    def _route(self, scope: Scope) -> tuple[dict[str, Any], Schema | None]:
        return {}, None

    def _tool(self, scope: Scope) -> tuple[dict[str, Any], Schema | None]:
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
            step["retry"] = {"times": rng.randint(0, 2), "errors": rng.sample(_ERRORS, rng.randint(0, 2))}
        return step, plan.output

    def _returns(self, scope: Scope) -> tuple[dict[str, Any], Schema | None]:
        if self.plain:
            return {"returns": {"type": "string"}, "do": self.words(), "as": f"t{self.made}"}, {
                "type": "string"
            }
        schema = choice(self.rng) if self.rng.random() < 0.5 else record(self.rng)
        step: dict[str, Any] = {"returns": schema, "do": self.say.words(scope)}
        if "type" not in schema and self.rng.random() < 0.4:
            step["min_confidence"] = 0.5
        if self.rng.random() < 0.4:
            step["examples"] = [{"answer": instance(self.rng, schema)} for _ in range(2)]
        return step, schema

    def _cited(self, scope: Scope) -> tuple[dict[str, Any], Schema | None]:
        """A value that the model may only take from what was found."""
        found = self.say.choices(scope)
        if found is None:
            return self._returns(scope)
        items = found.schema["items"]
        if self.rng.random() < 0.5:
            return {"do": self.words(), "returns": {"enum": "${" + found.at + "}"}}, items
        inner = {"enum": "${" + f"{found.at}.map(x, x)" + "}"}
        properties = {"which": inner, "why": {"type": "string", "maxLength": 40}}
        given = {"type": "object", "required": ["which", "why"], "properties": properties}
        return {"do": self.words(), "returns": given}, _object({"which": items, "why": {"type": "string"}})

    def _ask(self, scope: Scope) -> tuple[dict[str, Any], Schema | None]:
        schema = self.rng.choice(
            ({"type": "boolean"}, choice(self.rng), record(self.rng), {"type": "string"})
        )
        return {"ask": self.say.words(scope), "returns": schema}, schema

    def _answer(self, scope: Scope) -> tuple[dict[str, Any], Schema | None]:
        return {"answer": self.say.words(scope)}, {"type": "string"}

    def _each(self, scope: Scope) -> tuple[dict[str, Any], Schema | None]:
        """The work of another step, for every item of a list."""
        rng = self.rng
        lists = [
            one for one in self.say.leaves(scope) if one.schema.get("type") == "array" and not one.guards
        ]
        if not lists:
            return self._tool(scope)
        over = rng.choice(lists)
        step, gives = getattr(self, rng.choice(("_tool", "_returns", "_answer")))(
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
            error = _object({key: {"type": "string"} for key in ("code", "message")})
            items = _object({"ok": {"type": "boolean"}, "value": items, "error": error}, "ok")
        return {**step, "each": each}, {"type": "array", "items": items}

    def _free(self, scope: Scope) -> tuple[dict[str, Any], Schema | None]:
        schema = record(self.rng)
        tools = sorted({tool.name for tool in self.rng.sample(self.tools, 2)})
        return {"grip": "free", "do": self.say.words(scope), "returns": schema, "tools": tools}, schema

    def _extras(self, kind: str, step: dict[str, Any], gives: Schema | None) -> dict[str, Any]:
        """Fields that any step may have."""
        rng = self.rng
        found: dict[str, Any] = {"name": self.words()} if rng.random() < 0.6 else {}
        for key in ("needs", "gives"):
            if rng.random() < 0.15:
                found[key] = self.words()
        if rng.random() < 0.1:
            found["pitfalls"] = [self.words()]
        if rng.random() < 0.1:
            found["timeout"] = rng.choice((20.0, 0.5, 3600.0))
        if (
            gives is not None
            and "verify" not in step
            and rng.random() < 0.06
            and kind not in ("cited", "each")
        ):
            found["verify"] = ""
        return found

    def end(self, scope: Scope, end: str) -> dict[str, Any]:
        """A last step."""
        step: dict[str, Any] = {"end": end}
        if self.plain:
            step["do"] = self.words()
        elif self.rng.random() < 0.5:
            step["answer"] = self.say.words(scope)
        if end == "complete" and self.output is not None:
            step["result"] = {
                key: self.say.binding(scope, one)
                for key, one in self.output["properties"].items()
                if key in self.output["required"] or self.rng.random() < 0.5
            }
        return step


def joined(arrivals: list[Scope]) -> Scope:
    """What has a value where several ways meet, and is of one type whichever was taken."""
    first, *rest = arrivals
    return {
        name: schema
        for name, schema in first.items()
        if all(name in one and (one[name] == schema or same_kind(one[name], schema)) for one in rest)
    }


def _object(properties: dict[str, Schema], *required: str) -> Schema:
    return {
        "type": "object",
        "required": list(required or properties),
        "properties": properties,
        "additionalProperties": False,
    }


def _distinct(edges: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Edges of which no two have the same condition; a target that would be lost gets a condition of its own."""
    seen: set[str] = set()
    for edge in edges:
        said = edge.get("when")
        if said in seen:
            del edge["when"]
            edge["judge"] = f"{_JUDGES[0]} ({len(seen)})"
        elif said is not None:
            seen.add(said)
    return edges


def _given(data: dict[str, Any]) -> dict[str, Any]:
    """Procedure data without what was left out."""
    return {key: value for key, value in data.items() if value is not None}
