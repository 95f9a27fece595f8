"""Events: everything that a run is. Immutable, versioned, additive only.

An `Event` is an envelope around one body. The bodies form one union, discriminated by `kind`; a stored body leaves out
what equals its default. A value in a body is redacted already: it holds placeholders, never secrets.
Hashes of parts of a prompt, of procedures and of long values are digests of blobs that lie next to the events.
"""

from __future__ import annotations

import json
from enum import StrEnum
from functools import cache
from typing import Any, Literal, NamedTuple, cast, get_args

from pydantic import Field

from sopwith.ir.account import BudgetReserved, BudgetSettled
from sopwith.ir.approval import Terms
from sopwith.ir.body import BLOB, Blob, Body
from sopwith.ir.finding import EntryDescribed, SearchMade
from sopwith.ir.guidance import DeviationNoted, GuidanceGiven, RegionLeft
from sopwith.ir.input_request import CallContinued, CallPaused
from sopwith.ir.items import ItemsBegan, ItemsEnded
from sopwith.ir.message import MessageReceived, MessageSent
from sopwith.ir.outcome import Outcome
from sopwith.ir.pause import SignalSent, WaitBegan, WaitEnded
from sopwith.ir.person import (
    CancelAsked,
    FeedbackGiven,
    HumanAnswered,
    HumanAsked,
    RunHandedBack,
    RunTakenOver,
)
from sopwith.ir.reference import PassedValue, ValueRead
from sopwith.ir.tool import Effect, ErrorData
from sopwith.ir.upcast import UPCASTERS, VERSION_MEMBER, marked, unmarked, upcast
from sopwith.ir.usage import UNLIMITED, Budget, Money, Usage
from sopwith.ir.value import Json

VERSION = 1
"""The version of the event schemas. A log written by any earlier version stays readable."""


class Phase(StrEnum):
    """The phases of a run. ESCALATE can be reached from each of the others."""

    RECEIVE = "RECEIVE"
    PLAN = "PLAN"
    EXECUTE = "EXECUTE"
    VERIFY = "VERIFY"
    OUTPUT = "OUTPUT"
    ESCALATE = "ESCALATE"

    __hash__ = str.__hash__  # the one of enums is written in Python, and phases are looked up for every event


Verdict = Literal["allow", "deny", "ask"]
Purpose = Literal["inputs", "arguments", "returns", "judge", "answer", "free", "next", "guide"]


class Principal(Body):
    """Who a run acts for. Never extracted by a model."""

    id: str
    roles: tuple[str, ...] = ()


class RunStarted(Body):
    """The run exists, and what it is pinned to. `procedure`, `tools`, `policy` and `prompts` are digests of blobs;
    `request` and `inputs` are redacted; `date` is the run's ISO date in its time zone; `decisions` is the version of
    the decision types. In a `dry_run` no write reaches a tool, ever. `budget` limits the run,
    `step_budgets` the steps that are named and `step_budget` all others; `account` is where the run has reserved its
    budget, where its principal has one, and `cut` names the limits that are what the principal had left. `model` is the
    default model, and `models` are those of roles and names. `children` are the procedures that it may call, by id,
    with those that they call. A child run has a `parent` and the step instance that calls; it is `depth` calls below
    the run of its task, and waited for until `deadline` (µs since 1970). A transcript begins with
    about `tools_shown` tokens of tools at most; None: with all, however many."""

    kind: Literal["run.started"] = "run.started"
    version: int = VERSION
    decisions: int = 1
    procedure_id: str
    procedure: Blob
    tools: Blob
    policy: Blob
    prompts: str
    model: str
    principal: Principal
    request: str
    inputs: dict[str, Json] = Field(default_factory=dict)
    date: str
    language: str = "en"
    grip: str | None = None
    budget: Budget = UNLIMITED
    dry_run: bool = False
    step_budget: Budget = UNLIMITED
    step_budgets: dict[str, Budget] = Field(default_factory=dict)
    account: str | None = None
    cut: tuple[str, ...] = ()
    models: dict[str, str] = Field(default_factory=dict)
    children: dict[str, Blob] = Field(default_factory=dict)
    parent: str | None = None
    parent_step: str | None = None
    depth: int = 0
    deadline: int | None = None
    tools_shown: int | None = None


class PhaseEntered(Body):
    """The run has come to a phase of the lifecycle."""

    kind: Literal["phase.entered"] = "phase.entered"
    name: Phase


class RequestScreened(Body):
    """The request met the rules for requests; or, by `where`, the output those for outputs. `rule` is the one that
    decided."""

    kind: Literal["request.screened"] = "request.screened"
    where: Literal["request", "output"] = "request"
    verdict: Literal["pass", "deny", "escalate"] = "pass"
    rule: str | None = None


class ProcedureSelected(Body):
    """The procedure that this run follows, and why."""

    kind: Literal["procedure.selected"] = "procedure.selected"
    procedure_id: str
    why: Literal["only", "named", "found"] = "only"


class InputsBound(Body):
    """All inputs have values."""

    kind: Literal["inputs.bound"] = "inputs.bound"
    values: dict[str, Json]


class StepEntered(Body):
    """A step begins; `visit` counts from 1.

    `goes_on`: the model moves on inside a region of guide steps, and its transcript goes on. `unset` are names that
    have no value any more: those that the region wrote when it was entered before.
    """

    kind: Literal["step.entered"] = "step.entered"
    visit: int = 1
    goes_on: bool = False
    unset: tuple[str, ...] = ()


class ModelRequested(Body):
    """A prompt is about to be sent: the digests of its stable parts and the text of its tail.

    `legal` lists what the reply may choose: tool names, or the labels of a choice in order.
    """

    kind: Literal["model.requested"] = "model.requested"
    purpose: Purpose
    model: str
    prefix: Blob
    turns: Blob | None = None
    tail: str
    legal: tuple[str, ...] = ()


class ModelReplied(Body):
    """The model's reply as it came (redacted): its text, and the tool name where the provider gave one apart.

    What is made of it is derived by reading it strictly, and shows in the next events. `extra` names further calls
    that were asked for and not executed. `confidence` is 0..1, where the model gives log-probabilities;
    where it was calibrated, `raw_confidence` is the model's own. `cost` is what
    the reply cost when it came, in US dollars; none where no price was known.
    """

    kind: Literal["model.replied"] = "model.replied"
    text: str
    name: str | None = None
    extra: tuple[str, ...] = ()
    confidence: float | None = None
    raw_confidence: float | None = None
    usage: Usage = Usage()
    cost: Money | None = None
    ms: int = 0
    model: str | None = None
    finish: Literal["stop", "length", "tool_calls", "other"] = "stop"


class ReplyRepaired(Body):
    """How a reply was repaired before it was read: fence, prose, stringified value, namespace, overruled argument."""

    kind: Literal["reply.repaired"] = "reply.repaired"
    repairs: tuple[str, ...]


class ReplyRejected(Body):
    """A reply that cannot be used, with the structural error that the model is told."""

    kind: Literal["reply.rejected"] = "reply.rejected"
    error: ErrorData
    final: bool = False


class CallProposed(Body):
    """A tool and the arguments for it, exactly as it will get them. `by` says whether a model filled any of them.

    `defaults` names those that are the tool's own defaults; `overruled` holds what a model wrote for a bound argument.
    In the places of `passed` the arguments hold `{"$value": path}`; the tool gets what that blob holds.
    """

    kind: Literal["call.proposed"] = "call.proposed"
    tool: str
    arguments: dict[str, Json] = Field(default_factory=dict)
    by: Literal["bound", "model"] = "bound"
    overruled: dict[str, Json] = Field(default_factory=dict)
    defaults: tuple[str, ...] = ()
    passed: tuple[PassedValue, ...] = ()


class CallJudged(Body):
    """The policy's verdict on a call. `arguments` is the keyed hash of what was judged.

    `terms` are those of the approval that is asked for. `void` says why an approval that was given does not hold.
    """

    kind: Literal["call.judged"] = "call.judged"
    verdict: Verdict
    rule: str
    arguments: str
    terms: Terms | None = None
    void: Literal["expired", "changed"] | None = None


class CallStarted(Body):
    """The intent: the tool is about to act. For a write it is on disk before the tool sees the call."""

    kind: Literal["call.started"] = "call.started"
    tool: str
    effect: Effect = Effect.READ
    key: str
    attempt: int = 1


class CallFinished(Body):
    """What came back from a call: a value under `name`, a typed error, or neither (`unknown`: it may have acted, and
    `error` says what is known).

    A value longer than the threshold is a blob of `size` characters; `value` is then its preview. A `stubbed` call
    did not reach its tool: the value was made from its schema. `threshold` is the tool's own, where it has one.
    """

    kind: Literal["call.finished"] = "call.finished"
    name: str | None = None
    value: Json = None
    blob: Blob | None = None
    size: int | None = None
    error: ErrorData | None = None
    unknown: bool = False
    ms: int = 0
    stubbed: bool = False
    threshold: int | None = None


class CallReconciled(Body):
    """Somebody knows whether a call with an unknown outcome has acted: the tool's own hook, or a person (`by`).

    `started` is the seq of its `call.started`.

    `happened` is None where it is still not known. What the call gave, where that is known, follows as `call.finished`.
    """

    kind: Literal["call.reconciled"] = "call.reconciled"
    tool: str
    started: int | None = None
    happened: bool | None = None
    by: str | None = None
    ms: int = 0


class ValueStored(Body):
    """A name has a value that a model or a person (`who`) gave. Long values as in `CallFinished`."""

    kind: Literal["value.stored"] = "value.stored"
    name: str
    value: Json = None
    blob: Blob | None = None
    size: int | None = None
    by: Literal["model", "human"] = "model"
    who: str | None = None


class CheckRan(Body):
    """A `verify` was evaluated. `scope` is the step or the whole procedure."""

    kind: Literal["check.ran"] = "check.ran"
    scope: Literal["step", "procedure", "output"] = "step"
    ok: bool
    expression: str
    why: str | None = None


class EdgeTaken(Body):
    """The run goes on to another step. `by` says what decided, `label` what the edge says.

    `choice`: one reply of a model picked the edge among those that were open (grip bounded); where it `fills`, the same
    reply does the work of the step too. `guide`: the action of a model belongs to that step.
    """

    kind: Literal["edge.taken"] = "edge.taken"
    to: str
    by: Literal["always", "when", "judge", "otherwise", "error", "choice", "guide"] = "always"
    fills: bool = False
    label: str | None = None
    confidence: float | None = None


class StepFailed(Body):
    """The step ends in an error: nothing is retried any more. Its `on_error`, or an escalation, follows."""

    kind: Literal["step.failed"] = "step.failed"
    error: ErrorData


class TimeoutPassed(Body):
    """A step, a phase or the run has outlasted its limit (in seconds)."""

    kind: Literal["timeout.passed"] = "timeout.passed"
    scope: Literal["call", "step", "phase", "run"]
    limit: float


class ResultLate(Body):
    """A result that came after its call had timed out. It changes nothing. Long values as in `CallFinished`."""

    kind: Literal["result.late"] = "result.late"
    started: int
    value: Json = None
    blob: str | None = None
    size: int | None = None
    error: ErrorData | None = None


class AlertRaised(Body):
    """Something a person should look at."""

    kind: Literal["alert.raised"] = "alert.raised"
    code: str
    message: str


class LeaseTaken(Body):
    """A driver has the run to itself for `seconds` after each event that it writes; zero gives the run free.

    `driver` names the machine, the process and the engine: `machine/pid/start/engine`. A run that waits or has ended
    is free as well. `budget` is what the run may use in all from here on, where that has changed: it had to be reserved
    once more.
    """

    kind: Literal["lease.taken"] = "lease.taken"
    driver: str
    seconds: float
    budget: Budget | None = None


class RunSuspended(Body):
    """The run waits for a person, a time, an event or a child run; no driver is needed and the clock stands still.

    One that waits for `stop` ends as soon as the runs that it has called have been stopped; `ending` is how, where that
    does not follow from its state.
    """

    kind: Literal["run.suspended"] = "run.suspended"
    waiting_for: Literal["human", "time", "event", "child", "stop"] = "human"
    ending: Outcome | None = None


class RunResumed(Body):
    """A driver has taken the run up again. A started call without an outcome is unknown from here on.

    `policy` and `prompts` are the digests in force from here on, where they are not those the run was started with.
    """

    kind: Literal["run.resumed"] = "run.resumed"
    by: str = "driver"
    policy: Blob | None = None
    prompts: str | None = None


class RunFinished(Body):
    """The run has ended, in exactly one outcome."""

    kind: Literal["run.finished"] = "run.finished"
    outcome: Outcome


BODIES: tuple[type[Body], ...] = (
    RunStarted, PhaseEntered, RequestScreened, ProcedureSelected, InputsBound, StepEntered, ModelRequested,
    ModelReplied, ReplyRepaired, ReplyRejected, CallProposed, CallJudged, CallStarted, CallFinished, CallReconciled,
    ValueStored, CheckRan, EdgeTaken, StepFailed, HumanAsked, HumanAnswered, TimeoutPassed, ResultLate, AlertRaised,
    LeaseTaken, CancelAsked, RunSuspended, RunResumed, RunFinished, RunTakenOver, RunHandedBack, FeedbackGiven,
    BudgetReserved, BudgetSettled, ItemsBegan, ItemsEnded, MessageSent, MessageReceived, WaitBegan, WaitEnded,
    SignalSent, GuidanceGiven, DeviationNoted, RegionLeft, ValueRead, SearchMade, EntryDescribed, CallPaused,
    CallContinued,
)  # fmt: skip
"""Every kind of event. A new kind is a class above and a name here."""

_MARK = f'{{"{VERSION_MEMBER}":'.encode()
_BY_KIND: dict[str, type[Body]] = {str(b.model_fields["kind"].default): b for b in BODIES}
KINDS: tuple[str, ...] = tuple(_BY_KIND)


class Event(NamedTuple):
    """A body in its envelope.

    `at` is microseconds since 1970 UTC; `seq` counts from 1 per run; `step` is the step instance (`id` or
    `id#visit`, with `[item]` behind it for an item of a list); `cause` is the seq of the event that led to this one;
    `hash` (64 hex digits, empty until stored) chains this event to the one before.
    """

    task: str
    run: str
    seq: int
    at: int
    phase: Phase
    step: str | None
    cause: int | None
    body: Any
    hash: str = ""


def body_bytes(body: Body) -> bytes:
    """The bytes that are stored and hashed: JSON, UTF-8, without defaults (and so without `kind`)."""
    data = body.__pydantic_serializer__.to_json(body, exclude_defaults=True)
    return marked(body.kind, data) if UPCASTERS else data  # type: ignore[attr-defined]


def read_body(kind: str, data: bytes) -> Body:
    """The inverse of `body_bytes`, also for what an earlier version wrote.

    Raises `KeyError` for an unknown kind, `UnknownVersion` for a body of a newer version, pydantic's `ValidationError`.
    """
    known = _BY_KIND[kind]
    if not UPCASTERS and not data.startswith(_MARK):
        return known.model_validate_json(data)
    told: Any = json.loads(data)
    if not isinstance(told, dict):
        return known.model_validate_json(data)  # which says what is wrong with it
    body = upcast(kind, *unmarked(cast("dict[str, Json]", told)))
    return known.model_validate_json(json.dumps(body, ensure_ascii=False))


@cache
def blob_fields(kind: str) -> tuple[str, ...]:
    """The fields of a kind of event that name blobs; none for an unknown kind."""
    body = _BY_KIND.get(kind)
    return tuple(
        name
        for name, field in (body.model_fields if body is not None else {}).items()
        if BLOB in field.metadata
        or any(BLOB in getattr(arm, "__metadata__", ()) for arm in get_args(field.annotation))
    )


def event_json(event: Event) -> dict[str, Json]:
    """An event as one JSON object: the envelope, `kind`, and the body under `data`."""
    data = event.body.model_dump(mode="json", exclude_defaults=True)
    return {
        "task": event.task, "run": event.run, "seq": event.seq, "at": event.at, "phase": str(event.phase),
        "step": event.step, "cause": event.cause, "kind": event.body.kind, "data": data, "hash": event.hash,
    }  # fmt: skip
