"""The calls of an earlier run as a source of tools: what was called gives again what it gave, and nothing acts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sopwith.errors import Text
from sopwith.ir.tool import ErrorData, ToolSpec
from sopwith.ir.value import Json, canonical
from sopwith.tools.arguments import changes, prepared
from sopwith.tools.port import Reconciled, ToolResult, failed
from sopwith.tools.refusal import known


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One call and its result. `defaults` names those of its arguments that the tool itself had added."""

    tool: str
    arguments: Mapping[str, Json]
    result: ToolResult
    defaults: frozenset[str] = frozenset()

    def given(self) -> dict[str, Json]:
        """The arguments without the tool's own."""
        return {name: value for name, value in self.arguments.items() if name not in self.defaults}


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """What a tool said when it was asked whether a call of it has acted."""

    tool: str
    arguments: Mapping[str, Json]
    answer: Reconciled


@dataclass(frozen=True, slots=True)
class Recording:
    """The tools that a run was pinned to, and its calls in their order, with those of the runs that it has called."""

    specs: Sequence[ToolSpec] = ()
    calls: Sequence[RecordedCall] = field(default=())
    answers: Sequence[RecordedAnswer] = field(default=())


class RecordedSource:
    """The tools of a recording, named as they were. `load` gives it, once.

    The same arguments give the same results in the same order; a call that was not recorded, or not as often, is the
    error `not_recorded`. Nothing is called, whatever the effect of a tool is.
    """

    def __init__(self, name: str, load: Callable[[], Awaitable[Recording]]) -> None:
        self.name = name
        self.problems: list[Text] = []
        self._load = load
        self._specs: dict[str, ToolSpec] | None = None
        self._calls: list[RecordedCall] = []
        self._answers: list[RecordedAnswer] = []
        self._made: Counter[tuple[str, bytes]] = Counter()
        self._asked: Counter[tuple[str, bytes]] = Counter()

    async def specs(self) -> Sequence[ToolSpec]:
        """The tools, sorted by name. Raises what `load` raises."""
        if self._specs is None:
            found = await self._load()
            self._calls, self._answers = list(found.calls), list(found.answers)
            self._specs = {spec.name: spec for spec in found.specs}
        return [self._specs[name] for name in sorted(self._specs)]

    def prepare(self, name: str, arguments: dict[str, Json]) -> dict[str, Json] | ErrorData:
        """The arguments as the recorded tool had them, with its own defaults; see `ToolSource.prepare`."""
        spec = known(self._specs, self.name, name)
        if isinstance(spec, ErrorData):
            return spec
        plain = prepared(spec, arguments)
        if isinstance(plain, ErrorData):
            return plain
        wanted = canonical(plain)  # where 1 is not true
        same = (call for call in self._calls if call.tool == name and canonical(call.given()) == wanted)
        return next((dict(call.arguments) for call in same), plain)

    async def call(
        self, name: str, arguments: dict[str, Json], *, key: str, seconds: float | None
    ) -> ToolResult:
        """The next recorded result for these arguments; see `ToolSource.call`."""
        await self.specs()
        given = self.prepare(name, arguments)
        changed = given if isinstance(given, ErrorData) else changes(arguments, given)
        if changed is not None:
            return ToolResult(error=changed)
        wanted = (name, canonical(given))
        results = [c.result for c in self._calls if (c.tool, canonical(dict(c.arguments))) == wanted]
        made = self._made[wanted]
        if made >= len(results):
            said = Text(
                f"calls of {name} with these arguments in {self.name}: {len(results)}, and no more",
                f"{self.name} 中以这些参数调用 {name} 的记录只有 {len(results)} 次",
            )
            return failed("not_recorded", said)
        self._made[wanted] += 1
        return results[made]

    async def reconcile(
        self, name: str, arguments: dict[str, Json], *, key: str, seconds: float | None
    ) -> Reconciled:
        """What the tool said then; nobody can be asked any more."""
        await self.specs()
        wanted = (name, canonical(arguments))
        found = [a.answer for a in self._answers if (a.tool, canonical(dict(a.arguments))) == wanted]
        asked = self._asked[wanted]
        if asked >= len(found):
            return Reconciled(reason=f"{name} is a recording")
        self._asked[wanted] += 1
        return found[asked]

    async def close(self) -> None:
        """There is nothing to end."""
