"""The work that every side of the overhead benchmark does: procedures, prompts, a scripted model, a no-op
tool.

One step is: render a prompt, ask the model, parse its JSON reply, call the tool, keep the result, go on.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field
from typing import Any

ROUTES = ("a", "b")


@dataclass(frozen=True, slots=True)
class Shape:
    """A procedure as a picture: `edges[step]` maps a route to the next step; the key "" is the only way on.
    Every run takes `length` steps."""

    name: str
    steps: tuple[str, ...]
    start: str
    edges: dict[str, dict[str, str]]
    length: int

    def after(self, step: str, route: str) -> str | None:
        """The step that follows, or None at the end."""
        ways = self.edges.get(step, {})
        return ways.get("", ways.get(route))


def linear(length: int) -> Shape:
    """`length` steps in a row."""
    steps = tuple(f"step{i}" for i in range(1, length + 1))
    edges = {before: {"": after} for before, after in itertools.pairwise(steps)}
    return Shape(f"linear{length}", steps, steps[0], edges, length)


def branched() -> Shape:
    """Seven steps, of which a run takes five: a choice, two arms of two steps, and two steps after they
    rejoin."""
    edges = {
        "sort": {"a": "refund_check", "b": "repair_check"},
        "refund_check": {"": "refund_note"},
        "repair_check": {"": "repair_note"},
        "refund_note": {"": "settle"},
        "repair_note": {"": "settle"},
        "settle": {"": "close"},
    }
    return Shape("branched7", (*edges, "close"), "sort", edges, 5)


@dataclass(slots=True)
class Script:
    """The scripted model: a fixed reply, no waiting. The route alternates from run to run.

    `characters` sums up the prompts it was shown.
    """

    length: int
    calls: int = 0
    characters: int = 0
    replies: tuple[str, ...] = field(
        default=tuple(json.dumps({"value": 7, "route": route}) for route in ROUTES), init=False
    )

    def next(self, prompt: str) -> str:
        """The reply to `prompt`."""
        self.characters += len(prompt)
        route = self.calls // self.length % len(ROUTES)
        self.calls += 1
        return self.replies[route]

    async def reply(self, prompt: str) -> str:
        """The same, as a peer's model."""
        return self.next(prompt)


async def noop(value: int, route: str) -> dict[str, Any]:
    """The tool: it hands its arguments back."""
    return {"value": value, "route": route}


@dataclass(frozen=True, slots=True)
class Prompter:
    """The prompts of the peers: a constant prefix of `characters`, and a tail with the last result, the
    step and the legal action, like the tail of a strict step."""

    characters: int

    def render(self, prefix: str, step: str, values: dict[str, Any]) -> str:
        """The prompt of `step`, with the values it uses."""
        variables = json.dumps(values, ensure_ascii=False)
        now = f"<step>{step}</step>\n<legal>bench.noop</legal>"
        return f"{prefix}\n<variables>\n{variables}\n</variables>\n{now}\n"

    def prefix(self, shape: Shape) -> str:
        """Role, rules and the steps of `shape`, filled up so that prefix and tail come to `characters`."""
        text = "You carry out one step of a procedure.\n<routine>\n"
        text += "".join(f"{i}. {step}: call bench.noop\n" for i, step in enumerate(shape.steps, 1))
        text += "</routine>\n<tools>bench.noop(value: integer, route: string)</tools>\n"
        tail = len(self.render("", shape.start, {"last": {"value": 7, "route": "a"}}))
        return text.ljust(max(0, self.characters - tail), ".")
