"""`decide`: what happens next. Pure: the same book and state give the same decision, on any machine, at any time."""

from __future__ import annotations

from sopwith.errors import ExpressionError, Text
from sopwith.ir.event import Outcome, Phase
from sopwith.ir.procedure import Grip
from sopwith.ir.schema import validator
from sopwith.ir.tool import ErrorData
from sopwith.ir.value import Json
from sopwith.run.asking import inputs_form, inputs_request
from sopwith.run.book import Book
from sopwith.run.budget import within_budget
from sopwith.run.condition import is_true
from sopwith.run.decide_guided import RESULT, decide_guided
from sopwith.run.decide_items import decide_each
from sopwith.run.decide_step import decide_step
from sopwith.run.decision import (
    AskModel,
    BindInputs,
    Decision,
    EnterPhase,
    EnterStep,
    FailStep,
    Finish,
    RunCheck,
    ScreenRequest,
    SelectProcedure,
    Suspend,
    Wait,
)
from sopwith.run.lifecycle import LIFECYCLE
from sopwith.run.packet import packet
from sopwith.run.rejection import reject
from sopwith.run.state import State
from sopwith.run.values import Values, scope


def decide(book: Book, state: State, values: Values) -> Decision:
    """The next decision. `values` gives true values where an expression or a tool needs them.

    Total over every state that a prefix of a log can fold to; a run that has ended decides its outcome again.
    """
    if state.outcome is not None:
        return Finish(state.outcome)
    decision = _next(book, state, values)
    if state.children and _leaves(decision):
        return Wait() if state.waiting_for == "stop" else Suspend("stop")
    return decision


def _leaves(decision: Decision) -> bool:
    """Whether the run would end, or be on its way there: what it has called is stopped first."""
    return isinstance(decision, Finish) or (
        isinstance(decision, EnterPhase) and decision.name is not Phase.EXECUTE
    )


def _next(book: Book, state: State, values: Values) -> Decision:
    if state.cancelled_by is not None:
        return Finish(Outcome(kind="cancelled", packet=packet(book, state)))
    if state.suspended_at is not None:
        return Wait()
    if state.ending is not None:
        return Finish(state.ending)
    if state.phase is Phase.ESCALATE:
        return Finish(Outcome(kind="escalated", packet=packet(book, state)))
    if state.timed_out is not None:
        return _out_of_time(book, state)
    decision = _PHASES[state.phase](book, state, values)
    if isinstance(decision, EnterPhase) and decision.name not in LIFECYCLE[state.phase].to:
        raise ValueError(f"{decision.name} does not follow {state.phase}")
    return within_budget(book, state, decision)


def _receive(book: Book, state: State, values: Values) -> Decision:
    if state.screened is None:
        return ScreenRequest()
    if state.screened == "deny":
        return Finish(Outcome(kind="denied", packet=packet(book, state)))
    return EnterPhase(Phase.ESCALATE if state.screened == "escalate" else Phase.PLAN)


def _plan(book: Book, state: State, values: Values) -> Decision:
    if not state.selected:
        return SelectProcedure()
    if state.bound:
        return EnterPhase(Phase.EXECUTE)
    cursor = state.cursor
    if cursor is not None and cursor.failed is not None:
        return EnterPhase(Phase.ESCALATE)
    if cursor is not None and cursor.timed_out is not None:
        message = OUT_OF_TIME.in_(book.language).format(f"{cursor.timed_out:g}")
        return FailStep(ErrorData(code="timeout", message=message))
    missing = {
        name: item.schema_
        for name, item in book.procedure.inputs.items()
        if name not in state.given and item.from_ is None
    }
    if not missing:
        return BindInputs(dict(state.given))
    if not str(values.true(state.request)).strip():
        return EnterPhase(Phase.ESCALATE)  # there is nothing that they could be found in
    form = inputs_form(missing)
    if cursor is None or cursor.reply is None:
        return AskModel("inputs", inputs_request(book, form, state), book.procedure.model)
    reading = form.read(cursor.reply, values, book.language)
    if reading.error is not None:
        return reject(cursor, reading.error, reading.repairs)
    return BindInputs(dict(state.given), reading.value, reading.repairs)


def _execute(book: Book, state: State, values: Values) -> Decision:
    cursor = state.cursor
    if cursor is None:
        entered = state.entered_by
        return EnterStep(
            entered.step if entered else book.machine.start,
            goes_on=entered is not None and entered.by == "guide",
        )
    node = book.machine.nodes[cursor.step]
    try:
        if node.grip is Grip.GUIDE:
            return decide_guided(book, node, state, cursor, values)
        work = None if node.each is None else decide_each
        return decide_step(book, node, state, cursor, values, work)
    except ExpressionError as error:
        if cursor.failed is not None:
            return EnterPhase(Phase.ESCALATE)  # also the way on from the failure cannot be told
        text = Text(f"`{error.source}`: {error.message.en}", f"`{error.source}`：{error.message.zh}")
        return FailStep(ErrorData(code="expression", message=text.in_(book.language), step=cursor.step))


def _verify(book: Book, state: State, values: Values) -> Decision:
    procedure = book.machine
    if state.verified:
        return EnterPhase(Phase.OUTPUT)
    if state.verified is False:
        return EnterPhase(Phase.ESCALATE)
    try:
        if procedure.verify is not None and not is_true(procedure.verify, book, state, values):
            return RunCheck("procedure", False, procedure.verify.source)
        problems = output_problems(book, state, values)
    except ExpressionError as error:
        return RunCheck("procedure", False, error.source, error.message.in_(book.language))
    return RunCheck("output", not problems, "output", "; ".join(problems) or None)


def output_problems(book: Book, state: State, values: Values) -> tuple[str, ...]:
    """What the procedure's output schema has against the true output."""
    if book.machine.output_schema is None:
        return ()
    said = validator(book.machine.output_schema).problems(output_of(book, state, values, true=True))
    return tuple(one.in_(book.language) for one in said)


def output_of(book: Book, state: State, values: Values, *, true: bool) -> Json:
    """The output that the last step binds; with placeholders unless `true`."""
    node = book.machine.nodes[state.path[-1].step]
    if state.owners.get(RESULT) == node.step.id and RESULT in state.values:
        return values.true(state.values[RESULT]) if true else values.whole(state.values[RESULT])
    if node.kind == "free":
        stored = state.values.get(node.writes or "")
        return values.true(stored) if true else values.whole(stored)
    if node.result is None:
        return None
    names = {path[0] for path in node.result.paths}
    convert = values.true if true else values.whole
    return node.result.render(scope(state, book.procedure.inputs, names, convert))


def _output(book: Book, state: State, values: Values) -> Decision:
    if state.output_screened == "deny":
        return Finish(Outcome(kind="denied", packet=packet(book, state)))
    if state.output_screened == "escalate":
        return EnterPhase(Phase.ESCALATE)
    answer = None
    for visited in reversed(state.path):
        node = book.machine.nodes[visited.step]
        if node.kind == "answer" and node.writes is not None and node.writes in state.values:
            answer = values.whole(state.values[node.writes])
            break
    output = output_of(book, state, values, true=False)
    return Finish(Outcome(kind="completed", output=output, answer=answer))


def _out_of_time(book: Book, state: State) -> Decision:
    """A run that is out of time ends; a phase that is goes where the table of phases lets it."""
    ends = state.timed_out is None or state.timed_out[0] == "run"
    if ends or Phase.ESCALATE not in LIFECYCLE[state.phase].to:
        return Finish(Outcome(kind="exhausted", packet=packet(book, state)))
    return EnterPhase(Phase.ESCALATE)


OUT_OF_TIME = Text("the inputs were not found within {} s", "未能在 {} 秒内取得输入")

_PHASES = {
    Phase.RECEIVE: _receive,
    Phase.PLAN: _plan,
    Phase.EXECUTE: _execute,
    Phase.VERIFY: _verify,
    Phase.OUTPUT: _output,
}
