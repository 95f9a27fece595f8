"""Limits of time: which of them a run has outlasted, and what is left of one. Time that a run waits does not count."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from sopwith.run.book import Book
from sopwith.run.lifecycle import LIFECYCLE, MODEL_SECONDS, STEP_SECONDS
from sopwith.run.state import Cursor, State

Scope = Literal["step", "phase", "run"]

LEAST_SECONDS = 0.05
"""What a model call is given at least, however late it is."""


def outlasted(book: Book, state: State, now: int) -> Iterator[tuple[Scope, float]]:
    """The limits in seconds that are passed at `now` (microseconds) and are not written down yet."""
    if now - state.started_at <= book.shortest_limit or state.outcome or state.suspended_at is not None:
        return
    cursor = state.cursor
    if cursor is not None and cursor.timed_out is None and cursor.failed is None and _has_limit(book, cursor):
        limit = step_seconds(book, cursor.step)
        if now - cursor.entered_at - (state.waited - state.step_waited) > limit * 1e6:
            yield "step", limit
    if state.timed_out is not None:
        return
    limit = book.procedure.timeout
    if limit is not None and now - state.started_at - state.waited > limit * 1e6:
        yield "run", limit
        return
    limit = LIFECYCLE[state.phase].seconds
    if now - state.phase_at - (state.waited - state.phase_waited) > limit * 1e6:
        yield "phase", limit


def _has_limit(book: Book, cursor: Cursor) -> bool:
    """Whether the step or item at hand has a limit of its own: in a step over a list, each item has it."""
    return bool(cursor.step) and (cursor.item is not None or book.machine.nodes[cursor.step].each is None)


def step_seconds(book: Book, step: str) -> float:
    """The limit of a step, or of each of its items, in seconds."""
    return book.machine.nodes[step].step.timeout or STEP_SECONDS


def call_seconds(book: Book, state: State, own: float | None) -> float:
    """What a tool's call may take: what is left of the step's time, and at most the tool's `own` limit."""
    cursor = state.cursor
    if cursor is None or not cursor.step:
        return own or STEP_SECONDS
    spent = max(0, state.at - cursor.entered_at - (state.waited - state.step_waited)) / 1e6
    left = step_seconds(book, cursor.step) - spent
    return max(LEAST_SECONDS, left if own is None else min(own, left))


def model_seconds(book: Book, state: State) -> float:
    """What is left of the step's time, at most the limit of one model call."""
    cursor = state.cursor
    if cursor is None or not cursor.step:
        return MODEL_SECONDS
    spent = max(0, state.at - cursor.entered_at - (state.waited - state.step_waited)) / 1e6
    return max(LEAST_SECONDS, min(MODEL_SECONDS, step_seconds(book, cursor.step) - spent))
