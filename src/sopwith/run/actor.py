"""What every performance of a decision acts with: the run's book and journal, and the world around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sopwith.guard.permit import Policy
from sopwith.guard.price import Prices
from sopwith.guard.redact import Redactor
from sopwith.guard.screen import Screen
from sopwith.ir.event import AlertRaised, Body, Principal, ReplyRejected, StepFailed, TimeoutPassed
from sopwith.ir.tool import ErrorData
from sopwith.ir.usage import VALUE_QUOTA
from sopwith.ir.value import Json
from sopwith.models.port import Model
from sopwith.models.profile import Profiles
from sopwith.run.book import Book
from sopwith.run.decision import FailStep, RejectReply
from sopwith.run.finder import Finder
from sopwith.run.journal import Clock, Journal
from sopwith.run.late import LateResults
from sopwith.run.limits import Scope
from sopwith.run.state import State
from sopwith.run.values import Values
from sopwith.tools.catalogue import Catalogue


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a driver acts through: models by the name that a step gives and the role, what is known of them,
    tools, guards, prices, the clock, what finds tools and procedures, and how many characters of long
    values a run may store."""

    models: Callable[[str | None, str], Model]
    profiles: Profiles
    catalogue: Catalogue
    policy: Policy
    screen: Screen
    redactor: Redactor
    prices: Prices
    clock: Clock
    finder: Finder
    value_quota: int = VALUE_QUOTA


class Actor:
    """One run that is acted on. `values` are its true values; what is written is redacted here."""

    def __init__(self, book: Book, journal: Journal, around: Surroundings) -> None:
        self.book = book
        self.journal = journal
        self.around = around
        self.values = Values(journal.blob, around.redactor.reveal)
        self.late = LateResults(journal, around.redactor, book.language)

    @property
    def state(self) -> State:
        """The state as what is acted on sees it: the run's."""
        return self.journal.state

    def emit(self, body: Body, cause: int | None = None) -> int:
        """One more event of what is acted on. Returns its seq."""
        return self.journal.emit(body, cause)

    def pass_limit(self, scope: Scope, limit: float) -> None:
        """Write down that a limit was passed, with an alert."""
        seq = self.emit(TimeoutPassed(scope=scope, limit=limit))
        self.emit(AlertRaised(code=f"timeout.{scope}", message=f"{scope} > {limit:g} s"), seq)

    def redact(self, value: Json) -> Json:
        """A value as it may be written: placeholders in the place of secrets and personal data."""
        return self.around.redactor.redact(value)

    def redact_mixed(self, text: str) -> str:
        """Text that may hold placeholders of this run already: they stay, what is new is replaced."""
        return self.around.redactor.redact_reply(text)

    def principal(self, state: State) -> Principal:
        """Who the run acts for, as policies see it."""
        known = state.principal
        true = str(self.values.true(known.id))
        return known if true == known.id else known.model_copy(update={"id": true})

    def reject(self, decision: RejectReply) -> None:
        """Refuse a reply of the model."""
        self.emit(ReplyRejected(error=self._own(decision.error), final=decision.final))

    def fail_step(self, decision: FailStep) -> None:
        """End the step in an error."""
        error = self._own(decision.error)
        seq = self.emit(StepFailed(error=error))
        if decision.alert:
            self.emit(AlertRaised(code=error.code, message=error.message), seq)

    def _own(self, error: ErrorData) -> ErrorData:
        """An error of our own as it may be written: what it quotes may hold placeholders of this run."""
        return self.around.redactor.redact_error(error, mixed=True)
