"""The names that an expression can read where it stands, with their types."""

from __future__ import annotations

from collections.abc import Mapping

from sopwith.expr.expression import Expression
from sopwith.expr.shape import items_of, union
from sopwith.expr.shape_schema import schema_of
from sopwith.expr.types import Examination, examine
from sopwith.ir.procedure import Procedure, Step
from sopwith.ir.tool import ToolSpec
from sopwith.lang.check.flow import ERROR, Flow, Known, join
from sopwith.lang.check.sites import Site, list_sites
from sopwith.lang.check.types import ERROR as ERROR_TYPE
from sopwith.lang.check.types import RUN, Schema, inputs_type, joined, step_type, work_type


class Scopes:
    """What is known at each site. Everything is derived once and remembered."""

    def __init__(
        self,
        procedure: Procedure,
        flow: Flow,
        tools: Mapping[str, ToolSpec] | None,
        library: Mapping[str, Procedure] | None = None,
    ) -> None:
        self._procedure = procedure
        self._flow = flow
        self._tools = tools or {}
        self._library = library or {}
        self._joined: dict[tuple[str, ...], Schema] = {}
        self._ended: Known | None = join(
            flow.at_end(name)
            for name, step in procedure.steps.items()
            if step.end == "complete" and name in flow.after
        )
        self._items: dict[str, Schema] = {}
        self._examined: dict[Site, Examination | None] = {}
        self.fixed: dict[str, Schema] = {"inputs": inputs_type(procedure), "run": RUN}
        """The names that have a value everywhere."""

    def known(self, site: Site) -> Known | None:
        """What is known where `site` is evaluated; None where that is never."""
        if site.step is None:
            return self._ended
        before = self._flow.before
        at = {"before": before, "item": before, "checked": before, "failed": self._flow.failed}
        return at.get(site.moment, self._flow.after).get(site.step)

    def inner(self, site: Site) -> Mapping[str, Schema]:
        """The names that have a value only inside the step over a list where `site` is evaluated."""
        if site.step is None or site.moment not in ("item", "checked"):
            return {}
        step = self._procedure.steps[site.step]
        if step.each is None:
            return {}
        if site.step not in self._items:
            self._items[site.step] = self._item_type(site.step, step)
        found = {step.each.as_: self._items[site.step]}
        if site.moment == "checked" and step.writes is not None:
            found[step.writes] = work_type(step, self._tools.get(step.tool or ""), self._callee(step))
        return found

    def _callee(self, step: Step) -> Procedure | None:
        return None if step.call is None else self._library.get(step.call.procedure)

    def _item_type(self, name: str, step: Step) -> Schema:
        """The type of the items of the list that a step goes over; `{}` where it is not known."""
        for site in list_sites(name, step):
            found = self.examine(site) if site.role == "value" else None
            lists = [] if found is None or found.problems else [s for s in found.result if s.kind == "list"]
            return schema_of(union(items_of(shape) for shape in lists)) if lists else {}
        return {}

    def examine(self, site: Site) -> Examination | None:
        """What is wrong with the expression at `site` and what it gives; None where a name has no value."""
        if site not in self._examined:
            self._examined[site] = self._examine(site)
        return self._examined[site]

    def _examine(self, site: Site) -> Examination | None:
        if not isinstance(site.found, Expression):
            return None
        types = self._types(site, site.found)
        return None if types is None else examine(site.found, types)

    def _types(self, site: Site, expression: Expression) -> dict[str, Schema] | None:
        """The types of the names that `expression` reads; None where one of them has no value."""
        known = self.known(site)
        if known is None:
            return None
        inner = self.inner(site)
        found = {name: inner.get(name, self.type_at(known, name)) for name in expression.names}
        types = {name: one for name, one in found.items() if one is not None}
        return types if len(types) == len(found) else None

    def type_at(self, known: Known, name: str) -> Schema | None:
        """The type of `name` where this much is known; None where it has no value."""
        if name in self.fixed:
            return self.fixed[name]
        if not self._flow.has(known, name):
            return None
        return ERROR_TYPE if name == ERROR else self._written(tuple(self._flow.sources(known, name)))

    def _written(self, steps: tuple[str, ...]) -> Schema:
        """The type of a name that one of `steps` has written."""
        if steps not in self._joined:
            types = [
                step_type(step, self._tools.get(step.tool or ""), self._callee(step))
                for step in (self._procedure.steps[s] for s in steps)
            ]
            self._joined[steps] = joined(types)
        return self._joined[steps]
