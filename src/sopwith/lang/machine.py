"""A compiled procedure: the table of what is legal next, with everything parsed, resolved and derived."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from sopwith.ir.procedure import Edge, Grip, Procedure, Step, StepKind
from sopwith.ir.tool import ToolSpec
from sopwith.ir.value import Json
from sopwith.lang.region import Region

if TYPE_CHECKING:
    from sopwith.expr.expression import Expression
    from sopwith.expr.template import Template

FREE_STEP = "work"
"""The id of the one step of a machine of grip `free`."""


@dataclass(frozen=True, slots=True)
class Use:
    """A name that the model sees in a step: what it is called there, and the path of its value.

    `name` is the last part of the path (`request` for `inputs.request`), or the whole path where two would be
    alike.
    """

    name: str
    path: tuple[str, ...]


def named_uses(paths: tuple[tuple[str, ...], ...]) -> tuple[Use, ...]:
    """Each path once, with the shortest name that no other has."""
    distinct = tuple(dict.fromkeys(paths))
    alike = Counter(path[-1] for path in distinct)
    return tuple(Use(path[-1] if alike[path[-1]] == 1 else ".".join(path), path) for path in distinct)


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of a `returns` that is a choice, and what it means ("" where nothing is said)."""

    value: Json
    description: str = ""


@dataclass(frozen=True, slots=True)
class DynamicEnum:
    """An `enum` in a schema that is an expression: the path of the schema that holds it, and the list it
    gives."""

    path: tuple[str | int, ...]
    values: Template


@dataclass(frozen=True, slots=True)
class CompiledEdge:
    """An edge at its place among the edges of a step.

    `condition` is there for a `when`. The `judge` edges of a step are one choice.
    """

    edge: Edge
    index: int
    kind: Literal["always", "when", "judge", "otherwise"]
    condition: Expression | None = None


@dataclass(frozen=True, slots=True)
class CompiledEach:
    """The list that a step goes over (`over`, a template that gives it), and what is done with each item.

    `node` is the step as it is for one item, which is called `name` there: its kind is the kind of its work.
    """

    over: Template
    name: str
    at_once: int
    collect: bool
    limit: int
    node: Node


@dataclass(frozen=True, slots=True)
class Node:
    """A compiled step.

    `bound` are the parameters that `arguments` gives, `free` those that the model fills, in the order of the
    tool's schema; a `ready` call needs no model. `uses` is what the model sees while it fills or writes,
    `judge_uses` what it sees while it chooses an edge (the step's own result included). `returns` is the
    schema of the value that the step writes, `dynamic_enums` its parts that come from the run, `choices` its
    values where it is a choice of at most 26. `visits` bounds how often the step may be entered in one run.
    A step over a list is of kind `each`: what it does for an item is in `each.node`.
    """

    step: Step
    kind: StepKind
    number: str
    grip: Grip
    tool: ToolSpec | None
    arguments: Template
    bound: tuple[str, ...]
    free: tuple[str, ...]
    ready: bool
    uses: tuple[Use, ...]
    judge_uses: tuple[Use, ...]
    returns: Mapping[str, Json] | None
    dynamic_enums: tuple[DynamicEnum, ...]
    choices: tuple[Choice, ...]
    do: Template | None
    answer: Template | None
    ask: Template | None
    verify: Expression | None
    edges: tuple[CompiledEdge, ...]
    on_error: tuple[CompiledEdge, ...]
    result: Template | None
    writes: str | None
    visits: int
    call: Template | None = None
    """The inputs of the procedure that is called."""
    pause: Template | None = None
    """The time until which it is waited, or the duration."""
    each: CompiledEach | None = None

    @property
    def working(self) -> Node:
        """The step as it does its work: once, or for one item of its list."""
        return self if self.each is None else self.each.node

    @property
    def open(self) -> bool:
        """Whether the model chooses among tools here, in a transcript."""
        return self.kind == "free" or self.grip is Grip.GUIDE


@dataclass(frozen=True, slots=True)
class Machine:
    """A compiled procedure, pinned by `hash`. `permitted` are the names of the tools on its list, `tools` all of them
    and those of its steps, sorted by name.

    Of grip `free` it has one node, `work`, of kind `free`: the value that the model finishes with is the
    output. `regions` holds the region of each node of grip `guide`.
    """

    procedure: Procedure
    hash: str
    grip: Grip
    start: str
    nodes: Mapping[str, Node]
    tools: Mapping[str, ToolSpec]
    numbers: Mapping[str, str]
    output_schema: Mapping[str, Json] | None
    verify: Expression | None
    regions: Mapping[str, Region] = field(default_factory=dict[str, Region])
    permitted: tuple[str, ...] = ()

    @property
    def working(self) -> tuple[Node, ...]:
        """The nodes as they do their work: of a step over a list, that of one item."""
        return tuple(node.working for node in self.nodes.values())
