"""`sopwith library`: procedures that are shared, their versions, and the one of each that runs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from sopwith.cli.columns import cut, table
from sopwith.cli.exit_code import ExitCode
from sopwith.cli.named_procedure import library_of
from sopwith.cli.options import AsJson, By, Lang, Mcp, Tools, new_verb
from sopwith.cli.output_file import write_output
from sopwith.cli.procedure_files import files_of
from sopwith.cli.project import Options, find_project
from sopwith.cli.session import acting, reason
from sopwith.cli.settings import Settings, load_settings
from sopwith.cli.terminal import Terminal, terminal
from sopwith.cli.toolbox import open_tools
from sopwith.errors import PolicyError, ProcedureError, Text, UserError
from sopwith.ir.diagnostic import Diagnostic, Severity
from sopwith.lang.check import check
from sopwith.lang.check.library import library_problems
from sopwith.lang.document import Document
from sopwith.lang.read import read
from sopwith.library.library import SHOWN, ProcedureLibrary, Reference, Version
from sopwith.log.signing_key import VARIABLE, SigningKey

verb = new_verb()

_WIDTH = 60
_HEADS = (
    Text("procedure", "流程"),
    Text("runs", "运行版本"),
    Text("versions", "版本数"),
    Text("tags", "标签"),
    Text("what it is for", "用途"),
)
_EMPTY = Text("there is nothing in the library {}", "流程库 {} 是空的")
_THERE = Text("{} is there already", "{} 已存在")
_PINNED = Text("{} runs from now on", "从现在起运行 {}")
_SIGNED = Text("{} runs from now on, signed with key {}", "从现在起运行 {}，由密钥 {} 签名")
_NOT_PINNED = Text(
    "no version of it runs yet: sopwith library pin {}", "尚未固定运行版本：sopwith library pin {}"
)

Folder = Annotated[
    Path | None, typer.Option("--library", metavar="DIR", help="The folder of the library. 流程库目录")
]
Name = Annotated[
    str, typer.Argument(metavar="ID[@VERSION]", help="A procedure; else what runs of it. 流程与版本")
]
Why = Annotated[str | None, typer.Option("--why", metavar="TEXT", help="The reason. 原因")]


@verb.callback()
def library_() -> None:
    """Share procedures: every version under its hash, and a pin on the one that runs.

    共享流程：每个版本以哈希为名，并固定运行其中一个。
    """


@verb.command("list")
def list_(
    context: typer.Context,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", metavar="TAG", help="Only those with the tag. 只列出该标签")
    ] = None,
    library: Folder = None,
    as_json: AsJson = False,
    lang: Lang = "",
) -> int:
    """List the procedures: which version runs, how many there are, what they are for.

    列出流程：运行哪个版本、共有几个版本、有何用途。
    """
    shown = terminal(context)
    _, found = _open(library)
    listed: list[dict[str, Any]] = []
    broken = False
    for name in found.ids():
        try:
            told = _told(found, name)
        except (UserError, PolicyError) as error:
            shown.say(error.render(shown.language))
            broken = True
            continue
        if all(each in told["tags"] for each in tag or ()):
            listed.append(told)
    if as_json:
        shown.document({"library": str(found.folder), "procedures": listed})
    elif listed:
        rows = [
            [
                each["id"],
                (each["runs"] or "-")[:SHOWN],
                str(len(each["versions"])),
                ", ".join(each["tags"]),
                cut(each["description"] or each["name"], _WIDTH),
            ]
            for each in listed
        ]
        for line in table([[shown.text(head) for head in _HEADS], *rows]):
            shown.out(line)
    else:
        shown.say(shown.text(_EMPTY).format(found.folder))
    return ExitCode.INVALID if broken else ExitCode.OK


@verb.command("show")
def show(
    context: typer.Context, name: Name, library: Folder = None, as_json: AsJson = False, lang: Lang = ""
) -> int:
    """Show one procedure: what it is for, its versions with their files, and who let which one run.

    查看一个流程：用途、各版本及其文件，以及谁在何时固定了哪个版本。
    """
    shown = terminal(context)
    _, found = _open(library)
    reference = Reference.parse(name)
    told = _told(found, reference.procedure, reference.version)
    if as_json:
        shown.document(told)
        return ExitCode.OK
    shown.out("  ".join(filter(None, (told["id"], told["name"]))))
    for line in filter(None, (told["description"], ", ".join(told["tags"]))):
        shown.out(line)
    for example in told["examples"]:
        shown.out(f"- {example}")
    shown.out("")
    for each in told["versions"]:
        shown.out(
            f"{'*' if each['version'] == (told['runs'] or '')[:SHOWN] else ' '} {each['version']}  {each['file']}"
        )
    for pin in told["pins"]:
        why = f": {pin['why']}" if pin.get("why") else ""
        shown.out(f"{pin['at']}  {pin['version'][:SHOWN]}  {pin['by']}{why}")
    return ExitCode.OK


@verb.command("add")
def add(
    context: typer.Context,
    files: Annotated[
        list[Path], typer.Argument(metavar="FILES…", help="Procedures in any form, also skills. 流程文件")
    ],
    pin_: Annotated[bool, typer.Option("--pin", help="Let these versions run. 同时固定为运行版本")] = False,
    by: By = None,
    why: Why = None,
    tools: Tools = None,
    mcp: Mcp = None,
    library: Folder = None,
    as_json: AsJson = False,
    lang: Lang = "",
) -> int:
    """Keep procedures as versions of the library. Each has to pass its checks, with the tools beside it.

    把流程作为版本加入流程库；每个都须通过检查（使用其旁边的工具）。
    """
    shown = terminal(context)
    settings, found = _open(library)
    documents = [read(file) for file in files]
    options = Options(tools=tools or None, mcp=mcp, library=library)
    for diagnostic in asyncio.run(_checked(documents, files, options, found)):
        shown.say(diagnostic.render(shown.language))
    added = [found.add(document) for document in documents]
    for version, new in added:
        if not new:
            shown.say(shown.text(_THERE).format(_named(version)))
    versions = [version for version, _ in added]
    if pin_:
        _pin(shown, settings, found, versions, by, why)
    else:
        for version in versions:
            if not found.pins(version.procedure):
                shown.say(shown.text(_NOT_PINNED).format(_named(version)))
    if as_json:
        told = [{"id": v.procedure, "version": v.name, "file": str(v.file), "new": new} for v, new in added]
        shown.document({"added": told, "pinned": pin_})
    else:
        for version in versions:
            shown.out(_named(version))
    return ExitCode.OK


@verb.command("pin")
def pin(
    context: typer.Context,
    names: Annotated[
        list[str], typer.Argument(metavar="ID@VERSION…", help="The versions that run. 固定运行的版本")
    ],
    by: By = None,
    why: Why = None,
    library: Folder = None,
    lang: Lang = "",
) -> int:
    """Let these versions run from now on, also earlier ones. Runs that have begun keep theirs.

    从现在起运行这些版本（也可以是较早的版本）；已开始的运行不受影响。
    """
    shown = terminal(context)
    settings, found = _open(library)
    references = [Reference.parse(name) for name in names]
    for name, reference in zip(names, references, strict=True):
        if reference.version is None:
            listed = ", ".join(map(_named, found.versions(reference.procedure)))
            raise UserError(
                Text(f"which version of '{name}' is to run?", f"要运行“{name}”的哪个版本？"),
                Text(f"one of: {listed}", f"可选：{listed}"),
            )
    _pin(shown, settings, found, [found.version(each) for each in references], by, why)
    return ExitCode.OK


@verb.command("get")
def get(
    context: typer.Context,
    name: Name,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE.yaml", help="Where to write it. 输出文件")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over what is there. 覆盖")] = False,
    library: Folder = None,
    lang: Lang = "",
) -> int:
    """Get a version as YAML; `sopwith convert library:ID` writes the other forms.

    取出一个版本的 YAML；其他形式用 sopwith convert library:ID。
    """
    shown = terminal(context)
    _, found = _open(library)
    document = found.read(Reference.parse(name))
    if out is None:
        shown.out(document.text.rstrip("\n"))
    else:
        write_output(out, document.text, force=force)
    return ExitCode.OK


def _open(folder: Path | None) -> tuple[Settings, ProcedureLibrary]:
    settings = load_settings(Path.cwd(), {"library": folder})
    return settings, library_of(settings)


def _named(version: Version) -> str:
    return f"{version.procedure}@{version.name}"


def _told(library: ProcedureLibrary, name: str, version: str | None = None) -> dict[str, Any]:
    """What is known of a procedure; its words are those of `version`, else of what runs, else of the last one."""
    versions = library.versions(name)
    runs = library.pinned(name)
    wanted = version or (versions[-1].name if runs is None else None)
    procedure = library.read(Reference(name, wanted)).procedure
    return {
        "id": name,
        "name": procedure.name,
        "description": procedure.description,
        "tags": list(procedure.tags),
        "examples": list(procedure.examples),
        "calls": list(procedure.callees()),
        "runs": None if runs is None else runs.version,
        "versions": [{"version": each.name, "file": str(each.file)} for each in versions],
        "pins": [pin.model_dump(exclude_none=True) for pin in library.pins(name)],
    }


async def _checked(
    documents: Sequence[Document], files: Sequence[Path], options: Options, library: ProcedureLibrary
) -> list[Diagnostic]:
    """The warnings about procedures that are to be added. Raises `ProcedureError` with what is wrong with them."""
    found: list[Diagnostic] = []
    own = {document.procedure.id: document.procedure for document in documents}
    for document, file in zip(documents, files, strict=True):
        project = find_project(file, options)
        specs = None
        if project.connects:
            async with open_tools(project) as catalogue:
                specs = await catalogue.specs(needed=document.procedure.permitted_tools())
        called = {**files_of(project).library(document), **own}
        found += [*document.notes, *check(document, specs, called)]
    others = [library.read(Reference(name)) for name in library.pinned_ids() if name not in own]
    found += library_problems([*others, *documents])
    errors = [each for each in found if each.severity is Severity.ERROR]
    if errors:
        raise ProcedureError(
            Text("nothing was added", "没有加入任何流程"),
            Text("correct what is wrong, and add it again", "请改正后重新加入"),
            errors,
        )
    return found


def _pin(
    shown: Terminal,
    settings: Settings,
    library: ProcedureLibrary,
    versions: Sequence[Version],
    by: str | None,
    why: str | None,
) -> None:
    key = _key(settings)
    library.pin(versions, acting(by), reason(why), key)
    for version in versions:
        said = _PINNED if key is None else _SIGNED
        shown.say(shown.text(said).format(_named(version), "" if key is None else key.public.id))


def _key(settings: Settings) -> SigningKey | None:
    """The key that signs pins: needed where pins have to be signed, used wherever there is one."""
    if settings.library_keys or VARIABLE in os.environ or settings.signing_key.is_file():
        return SigningKey.find(settings.signing_key)
    return None
