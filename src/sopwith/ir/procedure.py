"""The procedure: what an expert writes, as data. Readers make it, `compile` turns it into a machine."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from sopwith.ir.approval import Terms, terms_of
from sopwith.ir.upcast import PROCEDURE, upcast
from sopwith.ir.value import Json, digest

SCHEMA = "sopwith/procedure/1"
_FIRST = "sopwith/procedure/1"


class Grip(StrEnum):
    """How firmly the procedure holds the model, from any permitted tool to exactly the bound one."""

    FREE = "free"
    GUIDE = "guide"
    BOUNDED = "bounded"
    STRICT = "strict"


class Guidance(StrEnum):
    """Where the advice of grip `guide` comes from: the words of the edges, a model, or a model where it pays."""

    STATIC = "static"
    MODEL = "model"
    AUTO = "auto"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)


class Edge(_Part):
    """One way on from a step: to a step, under a condition.

    At most one of `when` (a CEL expression), `judge` (words a model decides on) and `otherwise` is given;
    with none of them the edge is unconditional (`next: step`).
    """

    to: str
    when: str | None = None
    judge: str | None = None
    otherwise: bool = False
    guidance: str | None = None
    pitfalls: tuple[str, ...] = ()


class Example(_Part):
    """A worked case of one step: the values it saw (by the short name, see `Step.uses`) and the right answer.

    `answer` is an instance of the step's `returns`, the model's arguments of its tool, or, for a step with
    `judge` edges, the id of the step to go to.
    """

    given: dict[str, Json] = Field(default_factory=dict)
    answer: Json


class Retry(_Part):
    """Run a failed step again, up to `times` more, for these error codes (none named: every code)."""

    times: int = Field(ge=0, le=10)
    errors: tuple[str, ...] = ()


class Wait(_Part):
    """A pause: until a time (ISO 8601 with its zone), for a duration, or for an outside event.

    Times and durations are texts that may hold `${CEL}`. One of the three is given; how long an event is waited for at
    most is the `timeout` of its step.
    """

    until: str | None = None
    for_: str | None = Field(default=None, alias="for")
    event: str | None = None


class Call(_Part):
    """Another procedure, run as a child with these inputs, and at most this share of the budget that is left."""

    procedure: str
    with_: dict[str, Json] = Field(default_factory=dict, alias="with")
    share: float | None = Field(default=None, ge=0, le=1)


ITEMS = 1000
"""So many items a step over a list has at most, where its procedure does not say."""

MOST_ITEMS = 10_000
MOST_AT_ONCE = 64


class Each(_Part):
    """The step over a list: its work is done once for every item of `in`, which is called `as` there.

    At most `at_once` items are at work at the same time; None: 4, and one after the other where they write. A list of
    more than `limit` items is refused. With `on_item_error: stop` the first item that fails ends the step in its error;
    with `collect` the result holds `{ok, value}` or `{ok, error}` for each.
    """

    in_: str = Field(alias="in")
    as_: str = Field(default="item", alias="as")
    at_once: int | None = Field(default=None, ge=1, le=MOST_AT_ONCE)
    on_item_error: Literal["stop", "collect"] = "stop"
    limit: int = Field(default=ITEMS, ge=1, le=MOST_ITEMS)


StepKind = Literal[
    "tool", "returns", "answer", "ask", "free", "route", "wait", "call", "each", "script", "code"
]


class Step(_Part):
    """One step: at most one tool, the names it reads and the one it writes, and where to go next.

    `do`, `needs` and `gives` are for the model; `with_` binds arguments (literals, or text with `${CEL}`), the rest
    is the model's. `timeout` is in seconds. `end` makes the step a last one; `result` binds the procedure's output.
    """

    id: str
    name: str | None = None
    do: str | None = None
    needs: str | None = None
    gives: str | None = None
    tool: str | None = None
    with_: dict[str, Json] = Field(default_factory=dict, alias="with")
    as_: str | None = Field(default=None, alias="as")
    uses: tuple[str, ...] | None = None
    returns: dict[str, Json] | None = None
    answer: str | None = None
    ask: str | None = None
    wait: Wait | None = None
    call: Call | None = None
    each: Each | None = None
    script: str | None = None
    code: str | None = None
    examples: tuple[Example, ...] = ()
    tools: tuple[str, ...] | None = None
    verify: str | None = None
    retry: Retry | None = None
    timeout: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    visits: int | None = Field(default=None, ge=1)
    min_confidence: float | None = Field(default=None, ge=0, le=1)
    approval: Annotated[Terms, BeforeValidator(terms_of)] | None = None
    grip: Grip | None = None
    guidance: Guidance | None = None
    model: str | None = None
    pitfalls: tuple[str, ...] = ()
    next: tuple[Edge, ...] = ()
    on_error: tuple[Edge, ...] = ()
    end: Literal["complete", "escalate"] | None = None
    result: dict[str, Json] | None = None

    @property
    def kind(self) -> StepKind:
        """The kind of the step: `each` over a list, else that of its work."""
        return self.work if self.each is None else "each"

    @property
    def work(self) -> StepKind:
        """The kind of what the step does, once or for every item: from the one key that names it, else `route`."""
        if self.grip is Grip.FREE and (self.do is not None or self.returns is not None) and self.tool is None:
            return "free"
        for kind in ("tool", "answer", "ask", "wait", "call", "script", "code", "returns"):
            if getattr(self, kind) is not None:
                return kind
        return "route"

    @property
    def writes(self) -> str | None:
        """The name that the step's result gets, or None where it has none."""
        silent = self.kind == "route" or (self.kind == "wait" and self.returns is None)
        return None if silent else (self.as_ or self.id)

    @property
    def title(self) -> str:
        """What to call the step in a sentence."""
        return self.name or self.id


class Input(_Part):
    """One input: its JSON Schema, and where it comes from.

    `from_` names a fact of the run (`run.principal.id`, `run.request`, `run.date`). Without it the caller passes the
    value, and only where neither is the case is it extracted from the request by a model.
    """

    schema_: dict[str, Json] = Field(default_factory=dict, alias="schema")
    from_: str | None = Field(default=None, alias="from")


class Procedure(_Part):
    """A procedure (SOP): inputs, steps, one output."""

    schema_: str = Field(default=SCHEMA, alias="schema")
    id: str
    name: str = ""
    description: str = ""
    examples: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    tools: tuple[str, ...] | None = None
    inputs: dict[str, Input] = Field(default_factory=dict)
    output: dict[str, Json] | None = None
    grip: Grip = Grip.STRICT
    guidance: Guidance = Guidance.STATIC
    model: str | None = None
    verify: str | None = None
    timeout: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    start: str
    steps: dict[str, Step]

    def digest(self) -> str:
        """The content hash that identifies this version: 64 hexadecimal digits.

        The order of steps (their numbers) and of a schema's properties (their generation) is part of it.
        """
        return digest(json.dumps(self.to_data(), ensure_ascii=False, separators=(",", ":")).encode())

    def to_data(self) -> dict[str, Json]:
        """The procedure as plain JSON without defaults; the order of steps and edges is kept.

        Without a schema it is of the first version.
        """
        data = self.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        return data if SCHEMA == _FIRST else {"schema": SCHEMA, **data}

    @classmethod
    def from_data(cls, data: Mapping[str, Json]) -> Procedure:
        """The inverse of `to_data`, also for what an earlier version pinned. Raises `UnknownVersion` for a newer."""
        version = str(data.get("schema", _FIRST)).rpartition("/")[2]
        body = upcast(PROCEDURE, int(version) if version.isdecimal() else 0, dict(data))
        return cls.model_validate(body if "schema" not in body else {**body, "schema": SCHEMA})

    def callees(self) -> tuple[str, ...]:
        """The procedures that its steps call, in the order of the steps, each once."""
        return tuple(dict.fromkeys(step.call.procedure for step in self.steps.values() if step.call))

    def step_tools(self) -> tuple[str, ...]:
        """The tools that its steps name, in the order of the steps, each once."""
        named = (
            name for s in self.steps.values() for name in (*((s.tool,) if s.tool else ()), *(s.tools or ()))
        )
        return tuple(dict.fromkeys(named))

    def permitted_tools(self) -> tuple[str, ...]:
        """The allow-list as it is written: `tools`, or by default those that the steps name."""
        return self.step_tools() if self.tools is None else self.tools


def matching(listed: Iterable[str], tools: Iterable[str]) -> tuple[str, ...]:
    """The names that a list of tools stands for, in its order, each once: an entry with `*` (`crm.*`) is all of `tools`
    that fit it, sorted; any other one is a name, whether or not it is among them."""
    found: dict[str, None] = {}
    known: list[str] | None = None
    for entry in listed:
        if "*" not in entry:
            found[entry] = None
            continue
        known = sorted(tools) if known is None else known
        pattern = re.compile(".*".join(map(re.escape, entry.split("*"))))
        found.update((name, None) for name in known if pattern.fullmatch(name))
    return tuple(found)
