"""Procedures by chance, from a seed: all kinds of steps, on graphs with branches, cycles, joins and failures.

They are built from the inside out: what is written where is known while a procedure grows, so that most of them have
no errors. A few expressions are wrong on purpose (`wild`); those procedures are for `check` to find.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from benchmarks.conditions import Expressions, Scope, same_kind
from benchmarks.values import WORDS, Schema, choice, field, record
from benchmarks.works import ERRORS, GRIPS, ToolPlan, Works, closed
from sopwith.ir.procedure import Procedure

Steps = dict[str, dict[str, Any]]

_JUDGES = ("the user names a date", "除请假外还提出了别的诉求", "asks for a person, twice", "原话中出现金额")
_INPUTS = ("user_id", "request", "note", "limit")
_LEVEL = "level"
"""The input that conditions in guided procedures are about."""

_FACTS = {"user_id": "run.principal.id", "request": "run.request"}


@dataclass(frozen=True, slots=True)
class Generated:
    """A procedure, the tools that it and its children name, and the children: the procedures that it calls."""

    procedure: Procedure
    tools: tuple[ToolPlan, ...]
    children: tuple[Procedure, ...] = ()


def generate(
    rng: Random,
    tools: tuple[ToolPlan, ...],
    *,
    size: int = 12,
    wild: float = 0.0,
    plain: bool = False,
    guided: bool = False,
) -> Generated:
    """One procedure of about `size` steps. A `plain` one has words and fields that Routine text can say; a `guided`
    one has regions of guide steps, with conditions that overlap or exclude those on the way to them."""
    maker = _Maker(rng, tools, wild, plain, lambda name: _child(rng, tools, name))
    if guided:
        maker.grip = "guide"
    procedure = maker.procedure(size, rng.choice(("leave_request", "Refund2", "_p")))
    children = tuple(maker.works.children.values())
    named = {name for one in (procedure, *children) for name in (*one.permitted_tools(), *one.step_tools())}
    return Generated(procedure, tuple(tool for tool in tools if tool.name in named), children)


def _child(rng: Random, tools: tuple[ToolPlan, ...], name: str) -> Procedure:
    """A procedure without errors that calls no other."""
    return _Maker(rng, tools, 0.0, False, None).procedure(4, name)


class _Maker:
    """One procedure in the making."""

    def __init__(
        self,
        rng: Random,
        tools: tuple[ToolPlan, ...],
        wild: float,
        plain: bool,
        child: Callable[[str], Procedure] | None,
    ) -> None:
        self.rng = rng
        self.tools = tools
        self.plain = plain
        self.say = Expressions(rng, wild)
        self.works = Works(rng, tools, self.say, child, plain=plain)
        self.steps: Steps = {}
        self.output: Schema | None = None
        self.made = 0
        self.grip = None if plain or rng.random() < 0.85 else rng.choice(GRIPS)

    def procedure(self, size: int, name: str) -> Procedure:
        rng = self.rng
        inputs = {} if self.plain else self._inputs()
        if self.grip == "guide":
            inputs[_LEVEL] = {"schema": {"type": "integer", "minimum": 0, "maximum": 9}}
        self.output = record(rng) if rng.random() < 0.6 and not self.plain else None
        scope = {"inputs": closed({name: one["schema"] for name, one in inputs.items()})} if inputs else {}
        end = self.fresh("end")
        start, after = self.chain(scope, size, end, looped=False)
        if after is None:
            del self.steps[end]
        else:
            self.steps[end] = self.end(after, "complete")
        data: dict[str, Any] = {
            "id": name,
            "name": self.works.words(),
            "description": self.works.words(),
            "inputs": inputs,
            "output": self.output,
            "start": start,
            "steps": {name: {"id": name, **step} for name, step in self._ordered().items()},
        }
        if not self.plain:
            data |= {"examples": rng.sample(WORDS, 2), "tags": [rng.choice(WORDS)]}
            data["grip"] = self.grip
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
        if size >= 2 and draw < (0.8 if self.grip == "guide" else 0.45):
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
        # Where a model may come back, or take steps in any order, arms do not exclude each other.
        alone = not looped and self.grip != "guide" and rng.random() < 0.4
        shared = None if not alone else (f"both_{self.made}", choice(rng))
        edges: list[dict[str, Any]] = []
        arrivals: list[Scope] = []
        if (
            self.grip == "guide" and rng.random() < 0.5
        ):  # a way out that is closed where one comes by an edge like it
            out, here = self.fresh("out"), self.fresh("here")
            self.steps[out] = {**self.end(after, "complete"), "grip": "strict"}
            onward = [{"to": out, "when": self._level("<=")}, {"to": to, "otherwise": True}]
            self.steps[here] = {"do": self.works.words(), "returns": choice(rng), "next": onward}
            edges.append({"to": here, "when": self._level(">")})
            arrivals.append(after)
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

    def _level(self, sign: str) -> str:
        return f"inputs.{_LEVEL} {sign} {self.rng.choice((4, 5))}"

    def way(self, scope: Scope, *, last: bool) -> dict[str, Any]:
        """The condition of one edge."""
        if last:
            return {"otherwise": True}
        extra: dict[str, Any] = {}
        if not self.plain and self.rng.random() < 0.1:
            extra = {"guidance": self.works.words(), "pitfalls": [self.works.words()]}
        if self.plain or self.rng.random() < 0.3:
            return {"judge": self.rng.choice(_JUDGES), **extra}
        if self.grip == "guide":
            return {"when": self._level(self.rng.choice(("<=", ">"))), **extra}
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
                "do": self.works.words(),
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
        failed: Scope = {**before, "error": closed({key: {"type": "string"} for key in ("code", "message")})}
        self.steps[handler] = self.end(failed, self.rng.choice(("complete", "escalate")))
        code = f"error.code == '{self.rng.choice(ERRORS)}'"
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
        kind, step, gives = self.works.draw(scope)
        if not self.plain:
            step |= self._extras(kind, step, gives)
        elif self.rng.random() < 0.7:
            step["name"] = self.works.words()
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

    def _extras(self, kind: str, step: dict[str, Any], gives: Schema | None) -> dict[str, Any]:
        """Fields that any step may have."""
        rng = self.rng
        found: dict[str, Any] = {"name": self.works.words()} if rng.random() < 0.6 else {}
        for key in ("needs", "gives"):
            if rng.random() < 0.15:
                found[key] = self.works.words()
        if rng.random() < 0.1:
            found["pitfalls"] = [self.works.words()]
        if kind != "free" and rng.random() < 0.1:
            found["grip"] = rng.choice([grip for grip in GRIPS if grip != "free"])
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
            step["do"] = self.works.words()
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
