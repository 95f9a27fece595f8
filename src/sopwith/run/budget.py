"""What a run may still do: its decisions held against its budget and that of its step."""

from __future__ import annotations

from collections.abc import Iterable

from sopwith.errors import Text, UserError
from sopwith.guard.budget import Budgets, exceeded, shown
from sopwith.guard.price import Prices
from sopwith.ir.event import Outcome
from sopwith.ir.procedure import Procedure
from sopwith.ir.spoken import spoken
from sopwith.ir.tool import ErrorData
from sopwith.ir.usage import UNLIMITED, Budget
from sopwith.models.port import Model
from sopwith.run.book import Book
from sopwith.run.decision import AskModel, Decision, FailStep, Finish, StartCall
from sopwith.run.packet import packet
from sopwith.run.state import Cursor, State

STEP_LIMIT = Text(
    "the step's limit of {0} ({1}) is reached: budgets.step or budgets.steps in the policy",
    "已达到该步骤的 {0} 上限（{1}）：见策略中的 budgets.step 或 budgets.steps",
)

_MODEL = ("tokens", "money", "model_calls", "seconds")
_TOOL = ("tool_calls", "seconds")


def within_budget(book: Book, state: State, decision: Decision) -> Decision:
    """`decision`, unless it would go beyond a limit. Decisions that cost nothing are always allowed.

    At a limit of the run the run ends; at a limit of its step the step fails, and may follow its `on_error`.
    """
    if not isinstance(decision, AskModel | StartCall):
        return decision
    needed = _MODEL if isinstance(decision, AskModel) else _TOOL
    if state.budget is not UNLIMITED:
        limit = exceeded(state.budget, state.usage, state.seconds, needed)
        if limit is not None:
            return Finish(Outcome(kind="exhausted", packet=packet(book, state, limit=limit)))
    cursor = state.cursor
    if cursor is None or not cursor.step or cursor.failed is not None or cursor.unknown:
        # A step that has failed is on its way out, and a write that may have acted is made known.
        return decision
    budget = state.step_budgets.get(cursor.step, state.step_budget)
    if budget is UNLIMITED:
        return decision
    limit = exceeded(budget, state.step_usage, _step_seconds(state, cursor), needed)
    if limit is None:
        return decision
    message = STEP_LIMIT.in_(book.language).format(
        spoken(limit).in_(book.language), shown(getattr(budget, limit))
    )
    return FailStep(ErrorData(code="budget", message=message, step=cursor.step))


def hold_to_prices(prices: Prices, budgets: Iterable[Budget], models: Iterable[Model]) -> None:
    """Refuse to start where money is limited and a model has no known price. Raises `UserError`."""
    if all(budget.money is None for budget in budgets):
        return
    unknown = sorted({model.id for model in models if not prices.known(model.id)})
    if unknown:
        name = unknown[0]
        raise UserError(
            Text(
                f"money is limited, and the price of {', '.join(unknown)} is not known",
                f"设置了金额上限，但不知道 {'、'.join(unknown)} 的价格",
            ),
            Text(
                f"give it in a price file, in US dollars per million tokens: `{name}: {{input: 1.25, output: 10}}`",
                f"请在价格文件中写明每百万 token 的美元价格：`{name}: {{input: 1.25, output: 10}}`",
            ),
        )


def hold_to_steps(budgets: Budgets, procedures: Iterable[Procedure]) -> None:
    """Refuse to start with a limit for a step that no procedure has: it would hold nothing. Raises `UserError`."""
    known = {step for procedure in procedures for step in procedure.steps}
    unknown = [step for step in budgets.steps if step not in known]
    if unknown:
        listed = ", ".join(sorted(known))
        raise UserError(
            Text(
                f"budgets.steps.{unknown[0]}: there is no such step",
                f"budgets.steps.{unknown[0]}：没有这个步骤",
            ),
            Text(f"steps: {listed}", f"步骤：{listed}"),
        )


def _step_seconds(state: State, cursor: Cursor) -> float:
    return (state.at - cursor.entered_at - (state.waited - state.step_waited)) / 1e6
