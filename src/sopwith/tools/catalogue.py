"""Several sources of tools as one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import partial

from sopwith.errors import NO_HINT, Text, ToolSourceError, UserError, ValueRefused
from sopwith.ir.diagnostic import Diagnostic, Place, Severity
from sopwith.ir.input_request import InputGiven
from sopwith.ir.tool import ErrorData, ToolSpec
from sopwith.ir.value import Json, canonical, digest, storable
from sopwith.tools.port import Asking, Changing, Reconciled, ToolResult, ToolSource, failed
from sopwith.tools.refusal import unknown_tool
from sopwith.tools.schema import UNUSABLE, hold_to_limits


class Catalogue:
    """The tools of `sources`, by name. Their specs are read once: a run is pinned to them."""

    def __init__(self, sources: Iterable[ToolSource]) -> None:
        self.sources = tuple(sources)
        self._specs: dict[str, ToolSpec] | None = None
        self._source_of: dict[str, ToolSource] = {}
        self._left_out: list[Diagnostic] = []
        self._failed: dict[str, ToolSourceError] = {}

    async def specs(self, *, needed: Iterable[str] | None = None) -> dict[str, ToolSpec]:
        """All tools, sorted by name.

        Raises `ToolSourceError` for a source that does not start. Where `needed` names are given, a server (`Changing`)
        that has none of them is among the `diagnostics` instead. Raises `UserError` for a name that occurs twice.
        """
        if self._specs is None:
            self._specs = await self._read()
        for name, error in self._failed.items():
            if needed is None or any(tool.startswith(f"{name}.") for tool in needed):
                raise error
        return self._specs

    @property
    def failed(self) -> tuple[str, ...]:
        """The names of the sources that did not start; `diagnostics` say why."""
        return tuple(self._failed)

    async def refresh(self) -> bool:
        """See whether sources have other tools now, and those that did not start do; whether `specs` has changed.

        A run is pinned to what it was started with; this is for the next one.
        """
        if self._specs is None:
            return False
        able = [source for source in self.sources if isinstance(source, Changing)]
        changed = await asyncio.gather(*(source.refresh() for source in able))
        if not any(changed) and not self._failed:
            return False
        before, self._specs = self._specs, await self._read()
        return self._specs != before

    async def digest(self) -> str:
        """The content hash of all specs, 64 hexadecimal digits."""
        listed = [spec.model_dump(mode="json") for spec in (await self.specs()).values()]
        return digest(canonical(listed))

    def source_name(self, tool: str) -> str:
        """The name of the source of a tool. Call it after `specs`."""
        source = self._source_of[tool]
        return str(getattr(source, "name", type(source).__name__))

    def problems(self) -> list[Text]:
        """What was left out, and why."""
        return [told.message for told in self.diagnostics()]

    def diagnostics(self) -> list[Diagnostic]:
        """The same with codes: what the sources have left out, and tools with a schema that is too large or endless."""
        told = [one for source in self.sources for one in _told(source)]
        return [*told, *self._left_out, *self.not_started()]

    def not_started(self) -> list[Diagnostic]:
        """Why sources did not start."""
        return [_down(name, error) for name, error in self._failed.items()]

    def prepare(self, name: str, arguments: dict[str, Json]) -> dict[str, Json] | ErrorData:
        """The arguments exactly as the tool will get them; see `ToolSource.prepare`. Call it after `specs`."""
        source = self._source_of.get(name)
        if source is None:
            return unknown_tool(name)
        return source.prepare(name, arguments)

    async def call(
        self, name: str, arguments: dict[str, Json], *, key: str, seconds: float | None
    ) -> ToolResult:
        """Call a tool at its source; see `ToolSource.call`."""
        if self._specs is None:
            await self.specs(needed=[name])
        source = self._source_of.get(name)
        if source is None:
            return ToolResult(error=unknown_tool(name))
        return await source.call(name, arguments, key=key, seconds=seconds)

    async def go_on(
        self, name: str, arguments: dict[str, Json], given: InputGiven, *, key: str, seconds: float | None
    ) -> ToolResult:
        """Go on with a call that has asked, at its source; see `Asking.go_on`."""
        if self._specs is None:
            await self.specs(needed=[name])
        source = self._source_of.get(name)
        if not isinstance(source, Asking):
            said = Text(f"the source of {name} asks nothing", f"{name} 的来源不会提问")
            return failed("input_lost", said, unknown=True)
        return await source.go_on(name, arguments, given, key=key, seconds=seconds)

    async def reconcile(
        self, name: str, arguments: dict[str, Json], *, key: str, seconds: float | None
    ) -> Reconciled:
        """Ask a tool's source whether a call happened; see `ToolSource.reconcile`."""
        source = self._source_of.get(name)
        if source is None:
            return Reconciled(reason=f"there is no tool {name}")
        return await source.reconcile(name, arguments, key=key, seconds=seconds)

    async def close(self) -> None:
        """End what the sources hold. May be called twice."""
        outcomes = await asyncio.gather(*(source.close() for source in self.sources), return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome

    async def _read(self) -> dict[str, ToolSpec]:
        read = await asyncio.gather(*(source.specs() for source in self.sources), return_exceptions=True)
        found: dict[str, ToolSpec] = {}
        source_of: dict[str, ToolSource] = {}
        down: dict[str, ToolSourceError] = {}
        self._left_out.clear()
        for source, specs in zip(self.sources, read, strict=True):
            # A server may come up again; a file that cannot be read is a mistake of whoever named it.
            if isinstance(specs, ToolSourceError) and isinstance(source, Changing):
                down[str(getattr(source, "name", ""))] = specs
                continue
            if isinstance(specs, BaseException):
                raise specs
            for spec in filter(None, map(partial(self._usable, source), specs)):
                if spec.name in source_of:
                    raise _twice(spec.name, source_of[spec.name], source)
                found[spec.name] = spec
                source_of[spec.name] = source
        self._source_of, self._failed = source_of, down
        return {name: found[name] for name in sorted(found)}

    def _usable(self, source: ToolSource, spec: ToolSpec) -> ToolSpec | None:
        """A tool as it can be written down, hashed and shown; None where it is left out."""
        try:
            if storable(spec.name) != spec.name:  # its source would not know it by another name
                raise UserError(_NAME, _RENAME, UNUSABLE)
            told = {field: _plain(getattr(spec, field)) for field in _WORDS}
            hold_to_limits(told["input_schema"])
            hold_to_limits(told["output_schema"])
        except UserError as error:
            name = storable(spec.name)
            said = Text(f"{name}: {error.message.en}", f"{name}：{error.message.zh}")
            self._left_out.append(_diagnostic(error.code, source, said, error.hint))
            return None
        return spec.model_copy(update=told)


_WORDS = ("description", "input_schema", "output_schema")
_NAME = Text("the name holds half of a character", "名称中含有半个字符")
_RENAME = Text("Give the tool a name in valid Unicode.", "请为工具取一个有效 Unicode 的名称。")
_NOT_JSON = Text("Declare the schema in plain JSON.", "请以标准 JSON 声明 schema。")


def _plain(value: Json) -> Json:
    """What a source says of a tool, as JSON that survives a round trip; raises `UserError` for what is none."""
    try:
        return storable(value)
    except ValueRefused as error:
        raise UserError(error.message, _NOT_JSON, UNUSABLE) from error


def _told(source: ToolSource) -> list[Diagnostic]:
    """What a source has left out; one that gives no codes has its `problems` under SW436."""
    coded: list[Diagnostic] | None = getattr(source, "diagnostics", None)
    if coded is not None:
        return coded
    problems: Iterable[Text] = getattr(source, "problems", ())
    return [_diagnostic("SW436", source, said) for said in problems]


def _down(name: str, error: ToolSourceError) -> Diagnostic:
    return Diagnostic(
        code="SW439",
        severity=Severity.WARNING,
        place=Place(file=name),
        message=error.message,
        hint=error.hint,
    )


def _diagnostic(code: str, source: ToolSource, said: Text, hint: Text = NO_HINT) -> Diagnostic:
    place = Place(file=str(getattr(source, "name", type(source).__name__)))
    return Diagnostic(code=code, severity=Severity.WARNING, place=place, message=said, hint=hint)


def _twice(name: str, first: ToolSource, second: ToolSource) -> UserError:
    both = f"{_title(first)}, {_title(second)}"
    return UserError(
        Text(f"two sources have a tool named {name}: {both}", f"两个来源都有名为 {name} 的工具：{both}"),
        Text("Rename one source, or one of the tools.", "请重命名其中一个来源或工具。"),
    )


def _title(source: ToolSource) -> str:
    return f"{type(source).__name__} {getattr(source, 'name', '')}".strip()
