"""Decisions: what happens next. `decide` returns one, the driver performs it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from sopwith.ir.approval import Terms
from sopwith.ir.event import Outcome, Phase, Purpose
from sopwith.ir.finding import EntryKind, SearchMade
from sopwith.ir.guidance import DeviationNoted, GuidanceGiven
from sopwith.ir.reference import ValueRead
from sopwith.ir.tool import ErrorData, ToolSpec
from sopwith.ir.value import Json
from sopwith.lang.machine import CompiledEdge
from sopwith.models.port import ModelRequest
from sopwith.run.value_path import Part

VERSION = 1
"""The version of the decision types."""


@dataclass(frozen=True, slots=True)
class EnterPhase:
    """Go to a phase of the lifecycle."""

    name: Phase


@dataclass(frozen=True, slots=True)
class ScreenRequest:
    """Hold the request against the rules for requests."""


@dataclass(frozen=True, slots=True)
class SelectProcedure:
    """Write down which procedure is followed."""


@dataclass(frozen=True, slots=True)
class BindInputs:
    """All inputs have values: those that were passed (`given`, with placeholders) and those a model found (true)."""

    given: dict[str, Json]
    found: dict[str, Json] = field(default_factory=dict[str, Json])
    repairs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EnterStep:
    """Begin a step that no edge leads to: the first one, or inside a region (`goes_on`) where the model goes."""

    step: str
    goes_on: bool = False


@dataclass(frozen=True, slots=True)
class AskModel:
    """Write down the prompt, send it, and write down the reply. Asking again after a crash does no harm."""

    purpose: Purpose
    request: ModelRequest
    model: str | None = None
    guidance: GuidanceGiven | None = None
    """Where the advice at the end of the prompt comes from."""


@dataclass(frozen=True, slots=True)
class RejectReply:
    """Refuse a reply. `final`: no further try, the step fails."""

    error: ErrorData
    repairs: tuple[str, ...] = ()
    final: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """A part of a call's arguments that was taken from a value: its place, the value's name, and the way to it there.
    Keys are true ones."""

    at: tuple[Part, ...]
    name: str
    path: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class StartCall:
    """Propose a call with true `arguments`, have it judged, and start it where that is allowed.

    `proposed` calls are in the log already (a retry, an approval); only the start is written. `links` say which parts
    of the arguments are values of the run, that need not be written down again.
    """

    tool: ToolSpec
    arguments: dict[str, Json]
    by: Literal["bound", "model"] = "bound"
    overruled: dict[str, Json] = field(default_factory=dict[str, Json])
    repairs: tuple[str, ...] = ()
    proposed: bool = False
    attempt: int = 1
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class PerformCall:
    """Perform the call that was started. The result gets the name `name`; `seconds` is the tool's own limit.

    A `stubbed` call does not reach the tool: its result is made up.
    """

    tool: ToolSpec
    arguments: dict[str, Json]
    key: str
    name: str
    seconds: float | None = None
    stubbed: bool = False


@dataclass(frozen=True, slots=True)
class ContinueCall:
    """Go on with the call that has asked: nobody has to be asked, or somebody has answered. Else as `PerformCall`."""

    tool: ToolSpec
    arguments: dict[str, Json]
    key: str
    name: str
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Reconcile:
    """Ask the tool whether the call of the event `started` has acted. The result gets the name `name`."""

    tool: ToolSpec
    arguments: dict[str, Json]
    key: str
    name: str
    started: int


@dataclass(frozen=True, slots=True)
class ReadValue:
    """Write down which part of a value the model looks at."""

    read: ValueRead
    repairs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FindEntries:
    """Search for tools among those that may be called, and for procedures, and write down what was found."""

    search: SearchMade
    repairs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DescribeEntry:
    """Write down which tool or procedure the model has described."""

    entry: EntryKind
    name: str
    repairs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoreValue:
    """Give a name the value that a model gave (a true one), or a person (with placeholders)."""

    name: str
    value: Json
    by: Literal["model", "human"] = "model"
    repairs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunCheck:
    """Write down how a `verify` came out."""

    scope: Literal["step", "procedure", "output"]
    ok: bool
    expression: str
    why: str | None = None


@dataclass(frozen=True, slots=True)
class TakeEdge:
    """Go on along an edge, and enter its step for the `visit`-th time. The reply at hand `fills` the step too."""

    edge: CompiledEdge
    by: Literal["always", "when", "judge", "otherwise", "error", "choice", "guide"]
    visit: int
    label: str | None = None
    confidence: float | None = None
    repairs: tuple[str, ...] = ()
    fills: bool = False


@dataclass(frozen=True, slots=True)
class NoteDeviation:
    """Write down that the action at hand is none of the ways on."""

    noted: DeviationNoted


@dataclass(frozen=True, slots=True)
class LeaveRegion:
    """Write down that the model has finished in a region."""

    repairs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FailStep:
    """The step ends in an error."""

    error: ErrorData
    alert: bool = False
    repairs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AskPerson:
    """Ask a person, and suspend the run. For an approval: its hash, the rule that asks, and its terms.

    One that covers the calls of several items names them, with the hash of each. `input`: a tool asks, in its call; of
    an item, where one is named.
    """

    question: str
    what: Literal["ask", "approval", "input"]
    answer_schema: dict[str, Json] | None = None
    arguments: str | None = None
    rule: str | None = None
    terms: Terms | None = None
    items: tuple[int, ...] = ()
    hashes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BeginItems:
    """Pin the items (true ones) that a step goes over."""

    items: list[Json]


@dataclass(frozen=True, slots=True)
class RunItems:
    """Do the work of these items, each until it has ended or can go no further: at most `at_once` at the same time.

    With `stop` no further item begins once one has failed.
    """

    items: tuple[int, ...]
    at_once: int
    stop: bool


@dataclass(frozen=True, slots=True)
class EndItems:
    """Give a name the results of all items, with placeholders. `failed` of them ended in an error."""

    name: str
    value: list[Json]
    failed: int = 0


@dataclass(frozen=True, slots=True)
class SendMessage:
    """Call a procedure with true `inputs`: what makes the child run is written down. Leave for it, where the step wants
    some, is asked for first; a `proposed` call is in the log already."""

    procedure: str
    inputs: dict[str, Json]
    share: float | None = None
    proposed: bool = False
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class BeginWait:
    """Wait until a time (µs since 1970), for so many seconds, or for an event and at most so many seconds."""

    until: int | None = None
    seconds: float | None = None
    event: str | None = None


@dataclass(frozen=True, slots=True)
class Suspend:
    """Leave the run until what it waits for has come."""

    waiting_for: Literal["time", "event", "child", "stop"]


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing can be done until what the run waits for has come."""


@dataclass(frozen=True, slots=True)
class Finish:
    """The run ends."""

    outcome: Outcome


Decision = (
    EnterPhase
    | ScreenRequest
    | SelectProcedure
    | BindInputs
    | EnterStep
    | AskModel
    | RejectReply
    | StartCall
    | PerformCall
    | ContinueCall
    | Reconcile
    | ReadValue
    | FindEntries
    | DescribeEntry
    | StoreValue
    | RunCheck
    | TakeEdge
    | NoteDeviation
    | LeaveRegion
    | FailStep
    | AskPerson
    | BeginItems
    | RunItems
    | EndItems
    | SendMessage
    | BeginWait
    | Suspend
    | Wait
    | Finish
)
