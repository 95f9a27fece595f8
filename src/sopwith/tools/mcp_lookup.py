"""How an MCP server is asked whether a write happened: a tool of its own that reads, and how its result is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from sopwith.errors import ExpressionError, Text, UserError
from sopwith.expr.expression import Expression, parse
from sopwith.expr.template import Template, parse_template
from sopwith.ir.tool import ToolSpec
from sopwith.ir.value import Json
from sopwith.tools.port import Reconciled
from sopwith.tools.reconcile import happened

_NAMES = ("arguments", "key", "result")


@dataclass(frozen=True, slots=True)
class Lookup:
    """The tool to ask, by the server's own name, and CEL over `result`, `arguments` and `key`.

    `happened` says whether the write happened: true, false, or null where that cannot be said. `value` is then
    what the write gave. `given` are the arguments of the question; without it, those arguments of the write that
    the asked tool lists as well.
    """

    tool: str
    happened: Expression
    value: Expression
    given: Template | None = None

    def arguments(self, asked: ToolSpec, arguments: dict[str, Json], key: str) -> dict[str, Json]:
        """What to ask with. Raises `ExpressionError`."""
        if self.given is not None:
            return cast("dict[str, Json]", self.given.render({"arguments": arguments, "key": key}))
        listed = cast("dict[str, Json]", asked.input_schema.get("properties", {}))
        return {name: value for name, value in arguments.items() if name in listed}

    def read(self, spec: ToolSpec, result: Json, arguments: dict[str, Json], key: str) -> Reconciled:
        """What `result` says about the call of `spec`."""
        scope = {"result": result, "arguments": arguments, "key": key}
        try:
            found = self.happened.evaluate(scope)
            if found is True:
                return happened(spec, self.value.evaluate(scope))
        except ExpressionError as error:
            return Reconciled(reason=error.message.en)
        if found is False:
            return Reconciled(happened=False)
        return Reconciled(
            reason=f"{self.happened.source} is {'null' if found is None else 'neither true nor false'}"
        )


def lookup(
    tool: str, happened: str, value: str = "result", given: Mapping[str, Json] | None = None
) -> Lookup:
    """A `Lookup` of its texts. Raises `UserError` with what is wrong in them."""
    try:
        made = Lookup(
            tool, parse(happened), parse(value), None if given is None else parse_template(dict(given))
        )
    except ExpressionError as error:
        raise UserError(error.message, error.hint) from error
    read = {*made.happened.names, *made.value.names}
    asks = {path[0] for path in made.given.paths} if made.given is not None else set[str]()
    unknown = sorted((read - set(_NAMES)) | (asks - {"arguments", "key"}))
    if unknown:
        raise UserError(
            Text(f"there is no {unknown[0]} here", f"这里没有 {unknown[0]}"),
            Text(
                "An expression reads arguments and key; happened and value read result as well.",
                "表达式可读 arguments 和 key；happened 和 value 还可读 result。",
            ),
        )
    return made
