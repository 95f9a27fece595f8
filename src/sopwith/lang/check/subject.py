"""What is checked: a procedure with the places of its parts, its tools, and what all rules need to know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Literal

from sopwith.errors import NO_HINT, Text
from sopwith.expr.expression import Expression
from sopwith.expr.infer import sole
from sopwith.expr.shape import DYN, Shapes
from sopwith.expr.types import close
from sopwith.ir.diagnostic import Diagnostic, Edit, Place, Severity
from sopwith.ir.procedure import Grip, Procedure, Step
from sopwith.ir.tool import ToolSpec
from sopwith.ir.value import Json
from sopwith.lang.check.flow import Flow, flow
from sopwith.lang.check.scopes import Scopes
from sopwith.lang.check.sites import Site, sites
from sopwith.lang.check.usable import unusable, without
from sopwith.lang.document import Document, Path
from sopwith.lang.graph import Graph, graph
from sopwith.lang.region import grip_of

__all__ = ["Subject", "close", "meant"]


def meant(
    path: Path, word: str, known: Iterable[str], action: Literal["set", "rename"] = "set"
) -> tuple[Edit, ...]:
    """The edit that writes what alone can have been meant by `word` at `path`; none where that is not clear."""
    only = sole(word, known)
    return () if only is None else (Edit(path=path, action=action, text=only),)


class Subject:
    """A document under check. `tools` is None where they are not known: then nothing is said about them, and the same
    for the `library` of procedures that may be called. `now` is the time of the check, µs since 1970.

    `unusable` are its schemas that are none; in `procedure` they say nothing, so that rules need not doubt a schema.
    """

    def __init__(
        self,
        document: Document,
        tools: Mapping[str, ToolSpec] | None,
        library: Mapping[str, Procedure] | None = None,
        now: int | None = None,
    ) -> None:
        self.document = document
        self.unusable = unusable(document.procedure)
        self.procedure: Procedure = without(document.procedure, self.unusable)
        self.tools = tools
        self.library = library
        self.now = now

    @cached_property
    def graph(self) -> Graph:
        """Who follows whom."""
        return graph(self.procedure)

    @cached_property
    def flow(self) -> Flow:
        """Which names have a value where."""
        return flow(self.procedure, self.graph)

    @cached_property
    def sites(self) -> tuple[Site, ...]:
        """Every expression of the procedure."""
        return tuple(sites(self.procedure))

    @cached_property
    def _by_step(self) -> dict[str | None, list[Site]]:
        found: dict[str | None, list[Site]] = {}
        for site in self.sites:
            found.setdefault(site.step, []).append(site)
        return found

    def sites_of(self, step: str) -> list[Site]:
        """The expressions of one step."""
        return self._by_step.get(step, [])

    @cached_property
    def scopes(self) -> Scopes:
        """What expressions can read where they stand."""
        return Scopes(self.procedure, self.flow, self.tools, self.library)

    @cached_property
    def _conditions(self) -> dict[Path, Site]:
        return {site.path: site for site in self.sites if site.role == "condition"}

    def site(self, path: Path) -> Site | None:
        """The condition that stands at `path`."""
        return self._conditions.get(path)

    def condition(self, path: Path) -> Expression | None:
        """The same as an expression; None where it cannot be read. Nothing is parsed again."""
        site = self.site(path)
        return site.found if site is not None and isinstance(site.found, Expression) else None

    @cached_property
    def _lone(self) -> dict[Path, Site]:
        return {site.path: site for site in self.sites if site.role == "value"}

    def gives(self, path: Path) -> Shapes:
        """What the lone expression at `path` gives; `dyn` where it is wrong anyway."""
        site = self._lone.get(path)
        found = None if site is None else self.scopes.examine(site)
        return DYN if found is None or found.problems else found.result

    @property
    def steps(self) -> Mapping[str, Step]:
        """The steps by their ids."""
        return self.procedure.steps

    def grip(self, step: Step) -> Grip:
        """How firmly a model is held in `step`."""
        return grip_of(step, self.procedure.grip)

    def tool(self, step: Step) -> ToolSpec | None:
        """The tool of `step`, where it is known."""
        return None if step.tool is None or self.tools is None else self.tools.get(step.tool)

    def error(
        self,
        code: str,
        path: Path,
        message: Text,
        hint: Text = NO_HINT,
        column: int = 0,
        fix: tuple[Edit, ...] = (),
    ) -> Diagnostic:
        """An error at `path`; `column` is one-based within the text that stands there (0: its beginning).

        `fix` is its remedy, where there is exactly one.
        """
        return self._diagnostic(Severity.ERROR, code, path, message, hint, column, fix)

    def warning(
        self, code: str, path: Path, message: Text, hint: Text = NO_HINT, fix: tuple[Edit, ...] = ()
    ) -> Diagnostic:
        """A warning at `path`."""
        return self._diagnostic(Severity.WARNING, code, path, message, hint, 0, fix)

    def text_at(self, path: Path) -> str | None:
        """The text that stands at `path`, if a text stands there."""
        value: Any = self._data
        for part in path:
            key = "to" if part == "otherwise" else part
            try:
                value = value[key]
            except (KeyError, IndexError, TypeError):
                return None
        return value if isinstance(value, str) else None

    @cached_property
    def _data(self) -> dict[str, Json]:
        return self.document.procedure.to_data()

    def respelled(self, path: Path, column: int, wrong: str, right: str) -> tuple[Edit, ...]:
        """The edit that writes `right` for the word `wrong` in `column` of the text at `path`, if it is there."""
        text = self.text_at(path) or ""
        at = column - 1
        if at < 0 or text[at : at + len(wrong)] != wrong:
            return ()
        return (Edit(path=path, text=text[:at] + right + text[at + len(wrong) :]),)

    def _diagnostic(
        self,
        severity: Severity,
        code: str,
        path: Path,
        message: Text,
        hint: Text,
        column: int,
        fix: tuple[Edit, ...],
    ) -> Diagnostic:
        step = str(path[1]) if len(path) > 1 and path[0] == "steps" else None
        return Diagnostic(
            code=code,
            severity=severity,
            place=self._place(path, column),
            message=message,
            hint=hint,
            step=step,
            fix=fix,
        )

    def _place(self, path: Path, column: int) -> Place:
        """Where `path` stands; inside its text only where that text is written on one line just as it is."""
        place = self.document.place(*path)
        if column < 1 or path not in self.document.places:
            return place
        line = self._lines[place.line - 1] if place.line <= len(self._lines) else ""
        text = line[place.column - 1 :]
        if text[:1] in ("|", ">", ""):
            return place
        quoted = text[0] in "\"'"
        shift = column - 1 + quoted
        if shift >= len(text) or (quoted and ("\\" in text[:shift] or "''" in text[:shift])):
            return place
        return place.model_copy(update={"column": place.column + shift})

    @cached_property
    def _lines(self) -> list[str]:
        return self.document.text.splitlines()
