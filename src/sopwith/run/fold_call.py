"""The state after events of calls."""

from __future__ import annotations

from sopwith.ir.approval import NO_TERMS
from sopwith.ir.event import Body, CallFinished, CallJudged, CallProposed, CallReconciled, CallStarted, Event
from sopwith.ir.finding import EntryDescribed, FoundEntry, SearchMade
from sopwith.ir.input_request import CallContinued, CallPaused, InputWanted
from sopwith.ir.reference import ValueRead
from sopwith.ir.tool import Effect
from sopwith.run.block import READ
from sopwith.run.disclosure import DESCRIBE, SEARCH
from sopwith.run.state import State
from sopwith.run.state_change import (
    NOT_APPROVED,
    Fold,
    bind,
    change,
    change_cursor,
    close_exchange,
    close_write,
    lose_call,
    step_of,
)


def _proposed(state: State, event: Event, body: CallProposed) -> None:
    close_exchange(state, body.tool)
    change_cursor(
        state,
        tool=body.tool,
        arguments=body.arguments,
        passed=body.passed,
        read=None,
        reply=None,
        carried=None,
        rejections=(),
        verdict=None,
        **NOT_APPROVED,
        started=None,
        wanted=None,
        answer=None,
        key=None,
        attempt=0,
        lost=0,
        error=None,
        done=False,
    )


def _judged(state: State, event: Event, body: CallJudged) -> None:
    terms = body.terms or NO_TERMS
    change_cursor(state, verdict=body.verdict, rule=body.rule, judged=body.arguments, terms=terms)
    if body.void is not None:
        change_cursor(state, **NOT_APPROVED)


def _started(state: State, event: Event, body: CallStarted) -> None:
    change(state, calls=state.calls + 1)
    again = state.cursor is not None and state.cursor.unknown
    if again:
        # Made again with the same key: its outcome is open anew, and counted as a started call.
        close_write(state, state.latest_write)
    change_cursor(
        state,
        started=event.seq,
        effect=body.effect,
        key=body.key,
        attempt=body.attempt,
        unknown=False,
        again=again,
        unsure=False,
        error=None,
        wanted=None,
        rounds=0,
    )


def _paused(state: State, event: Event, body: CallPaused) -> None:
    """The call has begun, and is neither at work nor done."""
    wanted = InputWanted(forms=body.forms, state=body.state, held=body.held)
    rounds = 1 if state.cursor is None else state.cursor.rounds + 1
    change_cursor(state, wanted=wanted, rounds=rounds, answer=None)


def _continued(state: State, event: Event, body: CallContinued) -> None:
    change_cursor(state, wanted=None, answer=None)


def _finished_call(state: State, event: Event, body: CallFinished) -> None:
    if body.unknown:
        lose_call(state, body.error)
    elif body.error is not None:
        change_cursor(state, started=None, wanted=None, answer=None, error=body.error)
    else:
        bind(state, event, body)
        if state.cursor is not None and state.cursor.unknown:
            close_write(state, state.latest_write)
        if state.cursor is not None and state.cursor.effect is not Effect.READ and not body.stubbed:
            change(state, written=state.written | {step_of(event)})
        change_cursor(state, started=None, unknown=False, error=None, done=True, stubbed=body.stubbed)


def _reconciled(state: State, event: Event, body: CallReconciled) -> None:
    """What is known now. A call that did not act is an error where one is known, else it may be made again."""
    cursor = state.cursor
    if body.happened is None:
        change_cursor(state, unsure=True)
        return
    if body.by is None and body.happened:
        return  # `call.finished` follows, with its result
    if body.by is not None and body.happened:
        places = {step_of(event)} if cursor is None else {step_of(event), cursor.place}
        change(state, written=state.written | places)
    if cursor is not None and cursor.unknown and body.started == state.latest_write:
        change_cursor(state, unknown=False)
    close_write(state, body.started)


def _read(state: State, event: Event, body: ValueRead) -> None:
    close_exchange(state, READ)
    change_cursor(state, read=body, reply=None, rejections=(), rejected_text=None)


def _searched(state: State, event: Event, body: SearchMade) -> None:
    close_exchange(state, SEARCH)
    change(state, found=(*state.found, *body.found))
    change_cursor(state, read=body, reply=None, rejections=(), rejected_text=None)


def _described(state: State, event: Event, body: EntryDescribed) -> None:
    close_exchange(state, DESCRIBE)
    change(state, found=(*state.found, FoundEntry(entry=body.entry, name=body.name)))
    change_cursor(state, read=body, reply=None, rejections=(), rejected_text=None)


FOLDS: dict[type[Body], Fold] = {
    CallProposed: _proposed,
    CallJudged: _judged,
    CallStarted: _started,
    CallPaused: _paused,
    CallContinued: _continued,
    CallFinished: _finished_call,
    CallReconciled: _reconciled,
    ValueRead: _read,
    SearchMade: _searched,
    EntryDescribed: _described,
}
