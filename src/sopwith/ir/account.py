"""The events of an account: what the runs of one principal have reserved and used."""

from __future__ import annotations

from typing import Literal

from sopwith.ir.body import Body
from sopwith.ir.usage import Budget, Usage


class BudgetReserved(Body):
    """In the log of an account: a run may use at most `budget`, out of what the principal's `limits` leave.

    The account counts for the window from `since` to `until`, in microseconds since 1970. `principal` is redacted.
    `driver` is in whose name it is reserved. A later one of the same run says who has it now; after a settlement, what
    the run holds beyond what it has used.
    """

    kind: Literal["budget.reserved"] = "budget.reserved"
    of: str
    budget: Budget
    principal: str
    limits: Budget
    since: int
    until: int
    driver: str = ""


class BudgetSettled(Body):
    """In the log of an account: a run has ended, and has used so much of what it had reserved.

    One that has not `started` gives it all back, as if it had never reserved.
    """

    kind: Literal["budget.settled"] = "budget.settled"
    of: str
    usage: Usage = Usage()
    seconds: float = 0.0
    started: bool = True
