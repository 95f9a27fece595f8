"""Budgets: the limits of runs, steps and principals, held against what was used. At a limit nothing more is done.

Everything here is pure. A limit is never guessed: what is unknown counts as used up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from decimal import ROUND_DOWN, Decimal
from pathlib import Path
from typing import Any, Self, cast

from pydantic import ValidationError

from sopwith.errors import Text, UserError
from sopwith.guard.policy_file import PolicyFile, open_policy
from sopwith.ir.duration import LONGEST, read_duration
from sopwith.ir.usage import UNLIMITED, Budget, Usage, exact
from sopwith.ir.value import Json

LIMITS = ("tokens", "money", "model_calls", "tool_calls", "seconds")
"""The names of the limits, as `Budget` has them, in the order in which they are looked at."""

_CALLS = ("model_calls", "tool_calls")
_SECTION = "budgets"
_PARTS = ("run", "step", "steps", "principal")
_LEAST_MONEY = Decimal("0.000000001")
_WHOLE = Text("a whole number, 0 or more", "不小于 0 的整数")
_NUMBER = Text("a number, 0 or more", "不小于 0 的数")
_LEAST_WINDOW = 1.0
_NO_WINDOW = Text("needs a window of time, from 1s to 36525d", "需要时间窗口，从 1s 到 36525d")
_WINDOW_HINT = Text("for example `window: 1d`", "例如 window: 1d")
_HINT = Text(
    f"limits: {', '.join(LIMITS)}; 0 means none at all, a limit that is left out is none",
    f"可用的上限：{'、'.join(LIMITS)}；0 表示完全不允许，不写表示不限制",
)


@dataclass(frozen=True, slots=True)
class PrincipalBudget:
    """What the runs of one principal may use together in a `window` of so many seconds, 1 to a hundred years."""

    limits: Budget
    window: float

    def __post_init__(self) -> None:
        if not _LEAST_WINDOW <= self.window <= LONGEST:
            raise UserError(_NO_WINDOW, _WINDOW_HINT)


@dataclass(frozen=True, slots=True)
class Budgets:
    """The limits of a run, of each step, of some steps by their ids, and of a principal.

    What `steps` says of a step replaces what `step` says, limit by limit.
    """

    run: Budget = UNLIMITED
    step: Budget = UNLIMITED
    steps: dict[str, Budget] = field(default_factory=dict[str, Budget])
    principal: PrincipalBudget | None = None

    @classmethod
    def read(cls, source: str | Path) -> Self:
        """The budgets in a policy file (a path, or text that ends in .yaml or .yml) or in the text itself.

        Raises `PolicyError` with file, line and column.
        """
        return cls.of(open_policy(source))

    @classmethod
    def of(cls, file: PolicyFile) -> Self:
        """The budgets in a policy file that was read."""
        given = _mapping(file, (_SECTION,), file.sections.get(_SECTION, {}))
        for name in given:
            if name not in _PARTS:
                known = ", ".join(_PARTS)
                file.refuse(
                    (_SECTION, name),
                    Text("unknown field", "未知字段"),
                    Text(f"known fields: {known}", f"可用字段：{known}"),
                )
        steps = _mapping(file, (_SECTION, "steps"), given.get("steps", {}))
        return cls(
            run=_limits(file, given.get("run", {}), "run"),
            step=_limits(file, given.get("step", {}), "step"),
            steps={name: _limits(file, value, "steps", name) for name, value in steps.items()},
            principal=_principal(file, given["principal"]) if "principal" in given else None,
        )

    def within(self, budget: Budget) -> Budgets:
        """The same, with a run held to `budget` too."""
        return Budgets(narrower(self.run, budget), self.step, self.steps, self.principal)

    def by_step(self) -> dict[str, Budget]:
        """The whole limits of each step that is named."""
        return {name: _over(self.step, own) for name, own in self.steps.items()}

    def all(self) -> tuple[Budget, ...]:
        """Every budget that is set."""
        principal = () if self.principal is None else (self.principal.limits,)
        return (self.run, self.step, *self.steps.values(), *principal)


def exceeded(budget: Budget, usage: Usage, seconds: float, of: Collection[str] = LIMITS) -> str | None:
    """The name of a limit that leaves no room for another action, or None where all leave some.

    A limit of zero leaves none from the start, and so does a limit of money where the price of what was used is
    not known, and one of tokens where a reply did not say what it used. `seconds` is the time without its waiting;
    `of` names the limits that the next action needs room in.
    """
    for name in LIMITS:
        limit = getattr(budget, name)
        if limit is not None and name in of:
            used = _used(usage, seconds, name)
            if used is None or not used < limit:
                return name
    return None


def narrower(*budgets: Budget) -> Budget:
    """Of each limit the smallest."""
    found: dict[str, Any] = {}
    for name in LIMITS:
        limits = [limit for budget in budgets if (limit := getattr(budget, name)) is not None]
        if limits:
            found[name] = min(limits)
    return Budget(**found)


def differing(budget: Budget, other: Budget) -> tuple[str, ...]:
    """The names of the limits in which two budgets differ."""
    return tuple(name for name in LIMITS if getattr(budget, name) != getattr(other, name))


def shown(limit: Any) -> str:
    """A limit as people read it: `0.5`, `3`."""
    return (
        f"{limit.normalize():f}"
        if isinstance(limit, Decimal)
        else f"{limit:g}"
        if isinstance(limit, float)
        else str(limit)
    )


def remaining(budget: Budget, usage: Usage, seconds: float = 0.0, held: Iterable[Budget] = ()) -> Budget:
    """What is left of each limit after what was used and what is `held` for others; never less than zero.

    What holds without a limit holds everything, and what is used at an unknown price, or without a count of tokens,
    has used everything.
    """
    held = tuple(held)
    left: dict[str, Any] = {}
    for name in LIMITS:
        limit = getattr(budget, name)
        if limit is None:
            continue
        taken = [_used(usage, seconds, name), *(getattr(each, name) for each in held)]
        zero = type(limit)(0)
        left[name] = zero if None in taken else max(zero, limit - sum(taken, zero))
    return Budget(**left)


def total(limits: Budget, held: Iterable[Budget]) -> Budget:
    """What is held together, of each limit that is set; all of it where somebody holds without a limit."""
    held = tuple(held)
    found: dict[str, Any] = {}
    for name in LIMITS:
        limit = getattr(limits, name)
        if limit is not None:
            amounts = [getattr(each, name) for each in held]
            found[name] = limit if None in amounts else sum(amounts)
    return Budget(**found)


def reserve(
    budget: Budget,
    usage: Usage,
    share: float | Decimal,
    *,
    seconds: float = 0.0,
    held: Iterable[Budget] = (),
    least: int = 0,
) -> Budget:
    """What a child may use: `share` (0 to 1) of what its parent has left, and no more than others leave of it.

    `held` are the budgets of the parent's other children that have not ended. Counts are rounded down, so a child may
    get zero, which is none at all; of calls it gets `least`, where so many are free. Wall time is not divided, since
    children run side by side. Raises `UserError` for a share that is none.
    """
    part = _share(share)
    whole = remaining(budget, usage, seconds)
    free = remaining(budget, usage, 0.0, held)
    given: dict[str, Any] = {}
    for name in LIMITS:
        limit = getattr(whole, name)
        if part == 0:
            given[name] = 0
        elif limit is not None and name == "seconds":
            given[name] = limit
        elif limit is not None:
            cut = Decimal(limit) * part
            rounded = cut.quantize(_LEAST_MONEY, ROUND_DOWN) if name == "money" else int(cut)
            rounded = max(rounded, least) if name in _CALLS else rounded
            given[name] = min(rounded, getattr(free, name))
    return Budget(**given)


def room(budget: Budget, usage: Usage, held: Iterable[Budget]) -> int | None:
    """How many children could still get a call of each kind that is limited; None where no kind is."""
    free = remaining(budget, usage, 0.0, held)
    return min((left for name in _CALLS if (left := getattr(free, name)) is not None), default=None)


def settle(usage: Usage, child: Usage, reserved: Budget) -> Usage:
    """What a parent has used after a child has ended: at an unknown price, all the money that the child was given, and
    without a count, all its tokens."""
    if child.money is None and reserved.money is not None:
        child = child.model_copy(update={"money": reserved.money})
    if child.uncounted and reserved.tokens is not None:
        unknown = max(0, reserved.tokens - child.tokens)
        child = child.model_copy(update={"input": child.input + unknown, "uncounted": 0})
    return usage + child


def within_all(usage: Usage, seconds: float, more: Budget) -> Budget:
    """The limits of all that may be used by one that has used `usage` and may use so much `more`."""
    found: dict[str, Any] = {}
    for name in LIMITS:
        limit = getattr(more, name)
        if limit is not None:
            found[name] = limit + (_used(usage, seconds, name) or type(limit)(0))
    return Budget(**found)


def _share(share: Any) -> Decimal:
    part = exact(share)
    if isinstance(part, Decimal) and part.is_finite() and 0 <= part <= 1:
        return part
    raise UserError(
        Text(f"{share!r} is no share of a budget", f"{share!r} 不是有效的预算份额"),
        Text("a share is a number from 0 to 1", "份额是 0 到 1 之间的数"),
    )


def _used(usage: Usage, seconds: float, name: str) -> Any:
    if name == "tokens" and usage.uncounted:
        return None
    return seconds if name == "seconds" else getattr(usage, name)


def _over(general: Budget, own: Budget) -> Budget:
    return general.model_copy(update=own.model_dump(exclude_none=True))


def _mapping(file: PolicyFile, path: tuple[str, ...], value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        file.refuse(path, Text("must be a mapping", "应为映射"), _HINT)
    return cast("dict[str, Json]", value)


def _limits(file: PolicyFile, value: Json, *place: str) -> Budget:
    return _budget(file, (_SECTION, *place), _mapping(file, (_SECTION, *place), value))


def _budget(file: PolicyFile, path: tuple[str, ...], given: dict[str, Json]) -> Budget:
    """The limits at `path`. A limit without a value is refused: it would be none at all, or no limit."""
    for name, limit in given.items():
        if name not in LIMITS:
            file.refuse((*path, name), Text("unknown limit", "未知的上限"), _HINT)
        try:
            Budget.model_validate({name: limit if limit is not None else ""})
        except ValidationError:
            wanted = _NUMBER if name in ("money", "seconds") else _WHOLE
            file.refuse(
                (*path, name),
                Text(f"must be {wanted.en}, not {limit!r}", f"应为{wanted.zh}，而不是 {limit!r}"),
                _HINT,
            )
    return Budget.model_validate(given)


def _principal(file: PolicyFile, value: Json) -> PrincipalBudget:
    path = (_SECTION, "principal")
    given = dict(_mapping(file, path, value))
    window = read_duration(given.pop("window", None))
    if window is None or window < _LEAST_WINDOW:
        inside = (*path, "window") if "window" in cast("dict[str, Json]", value) else path
        file.refuse(inside, _NO_WINDOW, _WINDOW_HINT)
    return PrincipalBudget(_budget(file, path, given), window)
