"""Everything that a run needs, opened: the store, the tools, the policy, the model, and the engine over them."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from sopwith.cli.library import files_of
from sopwith.cli.project import LOCAL, WHERE, Project
from sopwith.cli.script import model_of
from sopwith.cli.settings import Settings
from sopwith.cli.toolbox import tools_of
from sopwith.errors import LogDamaged, ProcedureError, Text, UserError
from sopwith.guard.alert import AlertSink, Webhook, log_alert
from sopwith.guard.budget import Budgets
from sopwith.guard.permit import Policy
from sopwith.guard.policy_file import PolicyFile, open_policy
from sopwith.guard.price import Prices
from sopwith.guard.redact_rules import RedactRules
from sopwith.guard.screen import Screen
from sopwith.guard.vault import SqliteVault
from sopwith.ir.diagnostic import Severity
from sopwith.ir.event import Event
from sopwith.ir.procedure import Grip, Procedure
from sopwith.ir.tool import ToolSpec
from sopwith.lang.check import check
from sopwith.lang.compile import compile_procedure
from sopwith.lang.document import Document
from sopwith.lang.machine import Machine
from sopwith.log.head import Heads, HeadsFile, is_url
from sopwith.log.head_url import HeadsUrl
from sopwith.log.port import ACCOUNT, Log
from sopwith.log.salvage import CarefulLog
from sopwith.log.scan import Scan
from sopwith.log.signing_key import SigningKey
from sopwith.log.sqlite import SqliteLog
from sopwith.models.port import Model
from sopwith.run.engine import Engine
from sopwith.run.roles import asks_for_inputs, roles_of
from sopwith.run.stored_run import pinned_book
from sopwith.tools.catalogue import Catalogue
from sopwith.tools.function import FunctionSource
from sopwith.tools.mcp import McpSource

RUNS = "runs.db"
VAULT = "vault.db"


def store_file(data: Path) -> Path:
    """The file of the event log in a data folder. Raises `UserError` where there is none."""
    _refuse_file(data)
    file = data / RUNS
    if not file.is_file():
        raise UserError(
            Text(f"there are no runs in {data}", f"{data} 中没有任何运行"),
            Text("name the data folder with --data", "请用 --data 指定数据目录"),
        )
    _refuse_emptied(data)
    return file


def _refuse_file(data: Path) -> None:
    """Raise `UserError` where something else than a folder stands in the place of the data folder."""
    if data.exists() and not data.is_dir():
        raise UserError(
            Text(f"{data} is a file, not a folder", f"{data} 是文件，不是文件夹"),
            Text("name a folder with --data", "请用 --data 指定文件夹"),
        )


def _refuse_emptied(data: Path) -> None:
    """Raise `LogDamaged` where the file of the event log is empty though there have been runs."""
    file = data / RUNS
    if not file.is_file() or file.stat().st_size:
        return
    if (data / VAULT).exists() or any((data / WHERE).glob("*.json")):
        raise LogDamaged(
            Text(
                f"the event log {file} is empty, and there have been runs in {data}",
                f"事件日志 {file} 是空的，而 {data} 中曾有运行",
            ),
            Text(
                "restore the store from a backup; nothing runs on an empty one in its place",
                "请从备份恢复存储；不会在空存储上继续运行",
            ),
        )


def scan_of(data: Path) -> Scan:
    """The raw rows of the event log in a data folder. Raises `UserError` where there is none."""
    return Scan(store_file(data))


def open_to_read(data: Path) -> CarefulLog:
    """The event log in a data folder for readers, also where it is damaged. Raises `UserError` where there is none."""
    return CarefulLog(store_file(data))


def open_log(data: Path, *, make: bool = False) -> SqliteLog:
    """The event log in a data folder. Raises `UserError` where there is none, unless it is to be made."""
    if make:
        _refuse_file(data)
        _refuse_emptied(data)
    file = data / RUNS if make else store_file(data)
    log = SqliteLog(file)
    ignored = data / ".gitignore"
    if make and not ignored.exists():
        # Runs and keys are never meant for a repository.
        ignored.write_text("*\n", encoding="utf-8")
    return log


def open_vault(data: Path) -> SqliteVault:
    """The vault in a data folder. Raises `UserError` where there is none."""
    _refuse_file(data)
    file = data / VAULT
    if not file.is_file():
        raise UserError(
            Text(f"there is no vault in {data}", f"{data} 中没有保险库"),
            Text("name the data folder with --data", "请用 --data 指定数据目录"),
        )
    return _whole_vault(file)


def _whole_vault(file: Path) -> SqliteVault:
    """The vault in `file`. Raises `LogDamaged` where damage is found in it."""
    vault = SqliteVault(file)
    try:
        vault.refuse_damaged()
    except BaseException:
        vault.close()
        raise
    return vault


@dataclass(frozen=True, slots=True)
class Guards:
    """The rules of a project: for calls, for requests and outputs, for what is secret, and for how much may be used."""

    policy: Policy
    screen: Screen
    redact: RedactRules
    budgets: Budgets


def guards_of(project: Project) -> Guards:
    """The rules in a project's policy file. What `--allow` names is allowed where no rule says otherwise; limits of
    the settings hold as well as those of the policy.

    Raises `PolicyError` for what is wrong in the file, with its place.
    """
    guards = Guards(Policy(), Screen(), RedactRules(), Budgets())
    if project.policy is not None:
        guards = _guards_in(open_policy(project.policy))
    if project.allow:
        policy = guards.policy
        allowed = (*policy.allow_writes, *project.allow)
        policy = Policy(policy.rules, allow_writes=allowed, people=policy.people)
        guards = replace(guards, policy=policy)
    return replace(guards, budgets=guards.budgets.within(project.settings.budget))


def _guards_in(file: PolicyFile) -> Guards:
    return Guards(Policy.of(file), Screen.of(file), RedactRules.of(file), Budgets.of(file))


def heads_of(settings: Settings) -> Heads | None:
    """Where heads are kept, where a setting says so. Raises `PolicyError` without a key: nothing starts unsigned."""
    if settings.heads is None:
        return None
    key = SigningKey.find(settings.signing_key)
    return HeadsUrl(str(settings.heads), key) if is_url(settings.heads) else HeadsFile(settings.heads, key)


def alerts_of(settings: Settings) -> list[AlertSink]:
    """Where alerts go. Raises `UserError` for what is neither `log` nor a URL."""
    key = os.environ.get("SOPWITH_ALERT_KEY")
    return [log_alert if name == "log" else Webhook(name, key) for name in settings.alerts]


def read_policy(path: Path) -> tuple[Policy, PolicyFile]:
    """The rules for calls in a policy file, and the file. Raises `PolicyError` for what is wrong anywhere in it."""
    file = open_policy(path)
    return _guards_in(file).policy, file


@dataclass(slots=True)
class Connection:
    """An engine for one procedure. `machine` is that procedure, compiled, and `family` those that it may call, or that
    have called it; `model` is None where none is needed."""

    engine: Engine
    machine: Machine
    family: Sequence[Machine]
    model: Model | None
    log: SqliteLog
    vault: SqliteVault
    others: tuple[Model, ...] = ()
    """The models of roles and names."""

    async def close(self) -> None:
        """Close everything."""
        await self.engine.close()
        for model in (self.model, *self.others):
            if model is not None:
                await model.close()
        self.vault.close()


async def open_for(
    project: Project, guards: Guards, document: Document, grip: Grip | None, given: Collection[str]
) -> Connection:
    """What a new run of `document` needs; `given` are the inputs that are passed.

    Raises `ProcedureError` where the procedure does not pass its checks.
    """
    catalogue = _catalogue(project)
    try:
        specs = await catalogue.specs()
        files = files_of(project)
        called = list(files.callees(document).values())
        for each in (document, *called):
            refuse_broken(each, specs, files.library(each))
        _allowed(project, specs)
        machine = compile_procedure(document.procedure, specs, grip)
        others = [compile_procedure(each.procedure, specs) for each in called]
        return await _connect(project, guards, [document, *called], machine, others, catalogue, given)
    except BaseException:
        await catalogue.close()
        raise


async def open_again(
    project: Project, guards: Guards, machine: Machine, others: Sequence[Machine], given: Collection[str]
) -> Connection:
    """What a run that was started earlier needs to go on: it is pinned to `machine`, and its family to `others`."""
    catalogue = _catalogue(project)
    try:
        return await _connect(project, guards, [], machine, others, catalogue, given)
    except BaseException:
        await catalogue.close()
        raise


async def _connect(
    project: Project,
    guards: Guards,
    documents: Sequence[Document],
    machine: Machine,
    others: Sequence[Machine],
    catalogue: Catalogue,
    given: Collection[str],
) -> Connection:
    heads = heads_of(project.settings)
    prices = Prices() if project.prices is None else Prices.read(project.prices)
    asks = needs_model(machine, given) or any(needs_model(each, each.procedure.inputs) for each in others)
    model, named = _models(project) if asks else (None, {})
    data = project.settings.data
    log = open_log(data, make=True)
    try:
        log.refuse_damaged()
        vault = _whole_vault(data / VAULT)
    except BaseException:
        await log.close()
        raise
    engine = Engine(
        documents,
        catalogue.sources,
        model,
        log=log,
        policy=guards.policy,
        budget=guards.budgets,
        prices=prices,
        screen=guards.screen,
        redact=guards.redact,
        vault=vault,
        alerts=alerts_of(project.settings),
        heads=heads,
        value_quota=project.settings.value_quota,
        models=named,
        profiles=project.settings.profiles,
    )
    return Connection(engine, machine, others, model, log, vault, tuple(named.values()))


def _models(project: Project) -> tuple[Model, dict[str, Model]]:
    """The default model and those of roles and names; one that is named twice is opened once."""
    default = project.model or LOCAL
    opened = {
        spec: model_of(spec, project.settings.profiles)
        for spec in dict.fromkeys((default, *project.models.values()))
    }
    return opened[default], {name: opened[spec] for name, spec in project.models.items()}


def _catalogue(project: Project) -> Catalogue:
    tools = tools_of(project)
    functions: list[Callable[..., Any]] = [tool for tool in tools if not isinstance(tool, McpSource)]
    servers = [tool for tool in tools if isinstance(tool, McpSource)]
    return Catalogue([FunctionSource(functions), *servers])


def refuse_broken(
    document: Document, specs: Mapping[str, ToolSpec], library: Mapping[str, Procedure] | None = None
) -> None:
    """Raise `ProcedureError` where a procedure does not pass its checks with these tools, and what it may call."""
    file = document.file
    errors = [d for d in check(document, specs, library) if d.severity is Severity.ERROR]
    if errors:
        raise ProcedureError(
            Text(f"{file} does not pass its checks", f"{file} 未通过检查"),
            Text(f"correct it, then: sopwith check {file}", f"请改正后运行：sopwith check {file}"),
            errors,
        )


def _allowed(project: Project, specs: dict[str, ToolSpec]) -> None:
    for tool in project.allow:
        if not any(fnmatchcase(name, tool) for name in specs):
            raise UserError(
                Text(f"--allow: there is no tool '{tool}'", f"--allow：没有工具“{tool}”"),
                Text(f"tools: {', '.join(specs)}", f"工具：{'、'.join(specs)}"),
            )


def needs_model(machine: Machine, given: Collection[str]) -> bool:
    """Whether any step of a machine, or the extraction of the inputs that are not `given`, may ask a model."""
    return asks_for_inputs(machine, given) or any(
        role for node in machine.nodes.values() for role in roles_of(node)
    )


async def pinned(log: Log, events: Sequence[Event]) -> Machine:
    """The machine that a run is pinned to, from its first event and the blobs beside it."""
    return (await pinned_book(log, events[0].body)).machine


async def pinned_family(log: Log, events: Sequence[Event]) -> list[Machine]:
    """The machines of the other runs of a family: of what its first run follows, and of all that may be called."""
    started = events[0].body
    root = started if started.parent is None else (await log.read(events[0].task))[0].body
    own = {started.procedure_id}
    versions = {root.procedure_id: root.procedure, **root.children}
    return [
        (await pinned_book(log, root.model_copy(update={"procedure": version, "grip": None}))).machine
        for name, version in versions.items()
        if name not in own
    ]


async def find_run(log: Log, wanted: str | None) -> str:
    """The id of a run: itself, or a beginning that only one run has, or None for the latest.

    Raises `UserError` where there is none or more than one.
    """
    rows = await log.runs(1 if wanted is None else 1000)
    names = [row.run for row in rows]
    if wanted is None:
        if not names:
            raise UserError(Text("there are no runs", "没有任何运行"), _RUN_HINT)
        return names[0]
    if wanted in names or (not wanted.startswith(ACCOUNT) and await log.read(wanted)):
        return wanted
    near = [name for name in names if wanted and name.startswith(wanted)]
    if len(near) == 1:
        return near[0]
    if near:
        listed = ", ".join(near[:5])
        raise UserError(
            Text(f"several runs begin with '{wanted}': {listed}", f"多个运行以“{wanted}”开头：{listed}"),
            _RUN_HINT,
        )
    raise UserError(Text(f"there is no run '{wanted}'", f"没有运行“{wanted}”"), _RUN_HINT)


_RUN_HINT = Text("`sopwith runs` lists the runs", "用 sopwith runs 查看所有运行")
