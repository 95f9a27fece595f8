"""What the runs of an engine are pinned to: its procedures, checked once, and its tools, as blobs."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sopwith.errors import ProcedureError, Text, UserError
from sopwith.guard.budget import Budgets
from sopwith.ir.diagnostic import Severity
from sopwith.ir.procedure import Grip, Procedure
from sopwith.ir.tool import ToolSpec
from sopwith.ir.value import digest
from sopwith.lang.document import Document
from sopwith.run.book import Book
from sopwith.run.budget import hold_to_steps
from sopwith.run.connected import ConnectedModels, Where, hold_to_models
from sopwith.run.roles import hold_to_roles
from sopwith.tools.catalogue import Catalogue

_LOGGER = logging.getLogger("sopwith")

Blob = tuple[bytes, str]
"""What is stored apart from the events, and its digest."""


def as_blob(value: Any) -> Blob:
    """JSON in the given order: steps are numbered, and properties generated, in it also after a resume."""
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return data, digest(data)


class Library:
    """The procedures of an engine by id, and what they compile to with the tools of `catalogue`."""

    def __init__(
        self,
        documents: Sequence[Document],
        catalogue: Catalogue,
        budgets: Budgets,
        models: ConnectedModels,
        tools_shown: int | None,
    ) -> None:
        self._documents = documents
        self._catalogue = catalogue
        self._budgets = budgets
        self._models = models
        self._tools_shown = tools_shown
        self.specs: Mapping[str, ToolSpec] | None = None
        """The tools by name, once they are known."""
        self._checked: dict[str, Procedure] = {}
        self._blobs: dict[str, Blob] = {}
        self._books: dict[tuple[str, str | None], Book] = {}
        self.tools: Blob = as_blob([])
        """The specs of all tools."""

    async def procedures(self) -> Mapping[str, Procedure]:
        """The procedures by id, checked against the tools as they are now.

        Raises `ProcedureError` with all that is wrong, `ToolSourceError` for a source of theirs that does not start;
        another one is only a warning.
        """
        if self.specs is None or await self._catalogue.refresh():
            from sopwith.lang.check import check  # a run that is only gone on with needs none of the rules

            specs = dict(await self._catalogue.specs(needed=self._needed()))
            for name in self._catalogue.failed:  # what a server said last may hold secrets
                _LOGGER.warning(
                    "%s did not start, and no procedure needs it; `sopwith doctor` says why", name
                )
            self._books.clear()
            library = {document.procedure.id: document.procedure for document in self._documents}
            problems = [d for document in self._documents for d in check(document, specs, library)]
            errors = [d for d in problems if d.severity is Severity.ERROR]
            if errors:
                raise ProcedureError(_BROKEN, _BROKEN_HINT, errors)
            hold_to_steps(self._budgets, [document.procedure for document in self._documents])
            for document in self._documents:
                hold_to_models(self._models, document.procedure, document.place_of_model)
            self._checked = library
            self._blobs = {name: as_blob(each.to_data()) for name, each in self._checked.items()}
            self.tools = as_blob([spec.model_dump(mode="json") for spec in specs.values()])
            self.specs = specs
        return self._checked

    def _needed(self) -> set[str]:
        """The tools that any of the procedures may call."""
        each = (document.procedure for document in self._documents)
        return {name for one in each for name in (*one.permitted_tools(), *one.step_tools())}

    async def choose(self, name: str | None) -> Procedure:
        """The procedure `name`, or the only one. Raises `UserError` where that is none."""
        known = await self.procedures()
        if name is None and len(known) == 1:
            return next(iter(known.values()))
        if name is not None and name in known:
            return known[name]
        listed = ", ".join(sorted(known))
        if name is None:
            raise UserError(
                Text(f"there are {len(known)} procedures: {listed}", f"共有 {len(known)} 个流程：{listed}"),
                Text("name one with `procedure=`", "请用 procedure= 指定一个"),
            )
        raise UserError(
            Text(f"there is no procedure '{name}'", f"没有流程“{name}”"),
            Text(f"known: {listed}", f"已有：{listed}"),
        )

    def blob(self, procedure: str) -> Blob:
        """A checked procedure as it is pinned."""
        return self._blobs[procedure]

    def callees(self, procedure: Procedure) -> dict[str, Blob]:
        """The procedures that a checked procedure calls, and those that these call, as they are pinned."""
        found: dict[str, Blob] = {}
        left = list(procedure.callees())
        while left:
            name = left.pop()
            if name not in found:
                found[name] = self._blobs[name]
                left += self._checked[name].callees()
        return dict(sorted(found.items()))

    def hold_to_roles(self, procedure: Procedure, grip: Grip | None, given: Collection[str]) -> None:
        """Refuse a procedure, or one that it calls, with a step whose model has no one to fall back to. Raises
        `UserError`."""
        if self._models.default is not None:
            return
        hold_to_roles(self._models, self.book(procedure, grip).machine, given, self._where(procedure))
        for name in self.callees(procedure):
            called = self._checked[name]
            machine = self.book(called, None).machine
            hold_to_roles(self._models, machine, called.inputs, self._where(called))

    def _where(self, procedure: Procedure) -> Where:
        document = next(d for d in self._documents if d.procedure.id == procedure.id)
        return document.place_of_step

    def book(self, procedure: Procedure, grip: Grip | None) -> Book:
        """The book of a checked procedure.

        Raises `ProcedureError` where it is not sound at that grip: inside a region nothing is known by the path, and
        at `free` no step gives its name a value.
        """
        key = (procedure.id, grip)
        if key not in self._books:
            if (grip is Grip.GUIDE or grip is Grip.FREE) and procedure.grip is not grip:
                from sopwith.lang.check import check  # few runs are held by another grip

                held = document_at(procedure, grip)
                errors = [d for d in check(held, self.specs, self._checked) if d.severity is Severity.ERROR]
                if errors:
                    raise ProcedureError(_BROKEN, _BROKEN_HINT, errors)
            from sopwith.lang.compile import compile_procedure  # it needs CEL, which takes long to import

            machine = compile_procedure(procedure, self.specs or {}, grip)
            self._books[key] = Book(machine, tools_shown=self._tools_shown)
        return self._books[key]


def document_at(procedure: Procedure, grip: Grip) -> Document:
    """A procedure as it is held by another grip, to be checked; its places are not known any more."""
    held = procedure.model_copy(update={"grip": grip})
    return Document(held, {}, f"<{procedure.id}, grip {grip}>", "")


_BROKEN = Text("the procedures do not pass their checks", "流程未通过检查")
_BROKEN_HINT = Text("see the diagnostics, or run `sopwith check`", "请查看诊断，或运行 sopwith check")
