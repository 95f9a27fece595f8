"""Everything that a run needs, opened: the store, the tools, the policy, the model, and the engine over them."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from sopwith.cli.procedure_files import files_of
from sopwith.cli.project import LOCAL, Project
from sopwith.cli.script import model_of
from sopwith.cli.settings import Settings
from sopwith.cli.store import VAULT, open_log, whole_vault
from sopwith.cli.toolbox import sources_of, tools_named
from sopwith.errors import ProcedureError, Text, UserError
from sopwith.guard.alert import AlertSink, Webhook, log_alert
from sopwith.guard.budget import Budgets
from sopwith.guard.permit import Policy
from sopwith.guard.policy_file import PolicyFile, open_policy
from sopwith.guard.price import Prices
from sopwith.guard.redact_rules import RedactRules
from sopwith.guard.screen import Screen
from sopwith.guard.vault import SqliteVault
from sopwith.ir.diagnostic import Diagnostic, Severity
from sopwith.ir.event import Event
from sopwith.ir.procedure import Grip, Procedure
from sopwith.ir.tool import ToolSpec
from sopwith.lang.check import check
from sopwith.lang.compile import compile_procedure
from sopwith.lang.document import Document
from sopwith.lang.machine import Machine
from sopwith.log.head import Heads, HeadsFile, is_url
from sopwith.log.head_url import HeadsUrl
from sopwith.log.port import Log
from sopwith.log.signing_key import SigningKey
from sopwith.log.sqlite import SqliteLog
from sopwith.models.port import Model
from sopwith.run.engine import Engine
from sopwith.run.roles import asks_for_inputs, roles_of
from sopwith.run.stored_run import pinned_book
from sopwith.tools.catalogue import Catalogue


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
    have called it, or those that are served beside it; `model` is None where none is needed."""

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
    catalogue = Catalogue(sources_of(project))
    try:
        files = files_of(project)
        called = list(files.callees(document).values())
        specs = await catalogue.specs(needed=tools_named([document, *called]))
        for each in (document, *called):
            refuse_broken(each, specs, files.library(each))
        _allowed(project, specs)
        machine = compile_procedure(document.procedure, specs, grip)
        others = [compile_procedure(each.procedure, specs) for each in called]
        return await _connect(project, guards, [document, *called], machine, others, catalogue, given)
    except BaseException:
        await catalogue.close()
        raise


@dataclass(frozen=True, slots=True)
class Together:
    """An engine for many procedures, the errors of those that do not pass their checks, and what is wrong with tools:
    both are left out."""

    connection: Connection
    refused: Sequence[ProcedureError]
    problems: Sequence[Diagnostic]


async def open_all(project: Project, guards: Guards, documents: Sequence[Document]) -> Together:
    """What new runs of any of these procedures need.

    Raises `ProcedureError` where no procedure passes its checks, `UserError` where two files have one id.
    """
    catalogue = Catalogue(sources_of(project))
    try:
        specs = await catalogue.specs(needed=())
        _allowed(project, specs)
        sound: dict[str, Document] = {}
        refused: list[ProcedureError] = []
        for document in documents:
            files = files_of(beside(project, document))
            family = [document, *files.callees(document).values()]
            try:
                for each in family:
                    refuse_broken(each, specs, files.library(each))
            except ProcedureError as error:
                refused.append(error)
                continue
            for each in family:
                _hold_to_one(sound.setdefault(each.procedure.id, each), each)
        if not sound:
            raise refused[0]
        machines = [compile_procedure(each.procedure, specs) for each in sound.values()]
        first, *others = machines
        given = first.procedure.inputs
        connection = await _connect(project, guards, list(sound.values()), first, others, catalogue, given)
    except BaseException:
        await catalogue.close()
        raise
    return Together(connection, refused, catalogue.diagnostics())


def beside(project: Project, document: Document) -> Project:
    """The project, with the file of this procedure as its own."""
    return replace(project, procedure=Path(document.file).resolve())


def _hold_to_one(first: Document, other: Document) -> None:
    if first.procedure.digest() != other.procedure.digest():
        name = other.procedure.id
        raise UserError(
            Text(
                f"two files are the procedure '{name}': {first.file}, {other.file}",
                f"有两个文件是流程“{name}”：{first.file}、{other.file}",
            ),
            Text("give each an id of its own", "请为每个流程取不同的 id"),
        )


async def open_again(
    project: Project, guards: Guards, machine: Machine, others: Sequence[Machine], given: Collection[str]
) -> Connection:
    """What a run that was started earlier needs to go on: it is pinned to `machine`, and its family to `others`."""
    catalogue = Catalogue(sources_of(project))
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
        vault = whole_vault(data / VAULT)
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
        tools_shown=project.settings.tools_shown,
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
