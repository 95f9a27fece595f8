"""A procedure to look at: from a file, or the one that a run is pinned to; with what is known of its tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sopwith.cli.connection import pinned
from sopwith.cli.named_procedure import open_named
from sopwith.cli.project import Options
from sopwith.cli.settings import load_settings
from sopwith.cli.store import find_run, open_to_read
from sopwith.cli.terminal import Terminal
from sopwith.cli.toolbox import open_tools, tools_named
from sopwith.errors import LogDamaged, SopwithError, Text, UserError
from sopwith.ir.procedure import Procedure
from sopwith.ir.tool import Effect
from sopwith.log.sqlite_file import RESTORE
from sopwith.run.fold import fold_all
from sopwith.run.state import Visited

RUN = "run:"
"""What stands before the id of a run where a file could stand as well."""

_NO_TOOLS = Text(
    "{}: its tools could not be opened, so writes are not known: {}",
    "{}：无法打开其工具，因此不知道哪些是写操作：{}",
)


@dataclass(frozen=True, slots=True)
class Version:
    """A procedure, where it is from, the effects of the tools that are known, and the path of its run, if any."""

    name: str
    procedure: Procedure
    effects: Mapping[str, Effect] = field(default_factory=dict[str, Effect])
    path: tuple[Visited, ...] = ()

    @property
    def writes(self) -> frozenset[str]:
        """The tools that are known to write."""
        return frozenset(name for name, effect in self.effects.items() if effect is not Effect.READ)


async def open_version(shown: Terminal, name: str, options: Options) -> Version:
    """The procedure that `name` names: a file, `library:` and an id, or `run:` and the id of a run or its beginning.

    Tools that cannot be opened are said to be missing, and no error: nothing is run.
    """
    if name.startswith(RUN):
        return await _of_run(name.removeprefix(RUN) or None, options)
    project, document = open_named(name, options)
    effects: dict[str, Effect] = {}
    if project.connects:
        try:
            async with open_tools(project) as catalogue:
                specs = await catalogue.specs(needed=tools_named([document]))
                effects = {name: spec.effect for name, spec in specs.items()}
        except SopwithError as error:
            shown.say(shown.text(_NO_TOOLS).format(name, shown.text(error.message)))
    return Version(name, document.procedure, effects)


async def _of_run(wanted: str | None, options: Options) -> Version:
    log = open_to_read(load_settings(Path.cwd(), {"data": options.data}).data)
    try:
        run = await find_run(log, wanted)
        events = list(await log.read(run))
        if not events and log.damage:
            raise LogDamaged(log.damage[0], RESTORE)
        if not events:
            raise UserError(Text(f"the run '{run}' has no event", f"运行“{run}”没有事件"))
        machine = await pinned(log, events)
        effects = {spec.name: spec.effect for spec in machine.tools.values()}
        return Version(f"{RUN}{run}", machine.procedure, effects, fold_all(events).path)
    finally:
        await log.close()
