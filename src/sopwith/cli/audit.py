"""`sopwith audit`: whether a store is as it was written, signed heads, and a run as a page for auditors."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from sopwith.cli.audit_page import Audited, page
from sopwith.cli.columns import table
from sopwith.cli.connection import heads_of, pinned
from sopwith.cli.exit_code import ExitCode
from sopwith.cli.options import AsJson, Data, Lang, new_verb
from sopwith.cli.output_file import write_output
from sopwith.cli.settings import Settings, load_settings
from sopwith.cli.store import find_run, open_to_read, scan_of
from sopwith.cli.terminal import Terminal, terminal
from sopwith.errors import LogDamaged, Text, UserError
from sopwith.log.audit import Report
from sopwith.log.audit import verify as verify_store
from sopwith.log.finding import WORDS
from sopwith.log.head import Head, SignedHeads, is_url, read_heads
from sopwith.log.scan import Scan
from sopwith.log.signing_key import PublicKey, make_key, public_file
from sopwith.log.sqlite_file import RESTORE
from sopwith.run.fold import fold_all

verb = new_verb()

_HEADS = (Text("run", "运行"), Text("event", "事件"), Text("what", "发现"), Text("why", "依据"))
_LOOKED = Text("looked at {} runs, {} events, {} blobs", "已检查 {} 个运行、{} 个事件、{} 个数据块")
_SIGNED = Text("against {} signed heads", "并对照 {} 个已签名的链头")
_UNSIGNED = Text(
    "without signed heads: a tail that was cut with care and a full rewrite cannot be told",
    "没有已签名的链头：无法发现精心截断的尾部与整体重写",
)
_WELL = Text("everything is as it was written", "一切与写入时一致")
_BAD = Text("{} findings", "共 {} 项发现")

HeadsPlace = Annotated[
    Path | None, typer.Option("--heads", metavar="FILE", help="The file with signed heads. 签名链头文件")
]
Keys = Annotated[
    list[Path] | None,
    typer.Option("--key", metavar="FILE.pub", help="The public key; may be repeated. 公钥"),
]


@verb.callback()
def audit() -> None:
    """Find what was changed in a store, sign its heads, and export a run for auditors.

    查找存储中被改动的内容，签名链头，导出供审计的运行记录。
    """


@verb.command()
def verify(
    context: typer.Context,
    run: Annotated[
        list[str] | None, typer.Argument(metavar="[RUN...]", help="By default all. 默认全部")
    ] = None,
    heads: HeadsPlace = None,
    key: Keys = None,
    data: Data = None,
    as_json: AsJson = False,
    lang: Lang = "",
) -> int:
    """Check every chain, blob and run, offline, and against signed heads. Exits with 8 on any finding.

    离线检查每条哈希链、数据块与运行，并对照已签名的链头；有发现时退出码为 8。
    """
    shown = terminal(context)
    settings = load_settings(Path.cwd(), {"data": data})
    signed = signed_heads(settings, heads, key or ())
    scan = scan_of(settings.data)
    try:
        report = verify_store(scan, _named(scan, run, signed), signed)
    finally:
        scan.close()
    if as_json:
        shown.document(report.to_json(shown.language))
    else:
        _print(shown, report)
    return ExitCode.OK if report.ok else ExitCode.DAMAGED


@verb.command("heads")
def heads_(
    context: typer.Context,
    data: Data = None,
    as_json: AsJson = False,
    lang: Lang = "",
) -> int:
    """Sign the head of every run now, where it is not signed yet. A run with findings is not signed.

    为尚未签名的每个运行签名链头；有异常的运行不会签名。
    """
    shown = terminal(context)
    settings = load_settings(Path.cwd(), {"data": data})
    kept = heads_of(settings)
    if kept is None:
        raise UserError(
            Text("nothing says where heads are kept", "没有指定链头写到哪里"),
            Text(
                "set `heads` in sopwith.toml, or SOPWITH_HEADS",
                "请在 sopwith.toml 中设置 heads，或设置 SOPWITH_HEADS",
            ),
        )
    known = signed_heads(settings, None, ()) if _is_there(settings) else None
    scan = scan_of(settings.data)
    try:
        made, report = _current(scan, known)
    finally:
        scan.close()
    asyncio.run(kept.add(made))
    if as_json:
        shown.document({"signed": [head.run for head in made], **report.to_json(shown.language)})
        return ExitCode.OK if report.ok else ExitCode.DAMAGED
    shown.out(
        Text(f"{len(made)} heads signed: {settings.heads}", f"已签名 {len(made)} 个链头：{settings.heads}")
    )
    if not report.ok:
        _print(shown, report)
    return ExitCode.OK if report.ok else ExitCode.DAMAGED


@verb.command()
def keygen(
    context: typer.Context,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="The private key; FILE.pub is the public one. 私钥文件"),
    ] = None,
    lang: Lang = "",
) -> int:
    """Make the key that signs heads: the private one for its owner alone, the public one for auditors.

    生成签名密钥：私钥仅属主可读，公钥交给审计员。
    """
    shown = terminal(context)
    place = out or load_settings(Path.cwd(), {}).signing_key
    key = make_key(place)
    shown.out(str(public_file(place)))
    said = Text(
        f"key {key.public.id}; keep {place} to yourself, and give the .pub file to auditors",
        f"密钥 {key.public.id}；请妥善保管 {place}，把 .pub 文件交给审计员",
    )
    shown.say(said)
    return ExitCode.OK


@verb.command()
def export(
    context: typer.Context,
    run: Annotated[str, typer.Argument(metavar="RUN", help="The id of the run, or its beginning. 运行编号")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE.html", help="Where to. 输出文件")],
    force: Annotated[bool, typer.Option("--force", help="Write over what is there. 覆盖")] = False,
    heads: HeadsPlace = None,
    key: Keys = None,
    data: Data = None,
    lang: Lang = "",
) -> int:
    """Write a run as one HTML page for auditors, in the language of the run; it holds all data as JSON as well.

    把一次运行导出为一个可打印的 HTML 页面（含全部 JSON 数据），语言与该运行一致。
    """
    shown = terminal(context)
    settings = load_settings(Path.cwd(), {"data": data})
    audited, damage = asyncio.run(_audited(settings, run, signed_heads(settings, heads, key or ())))
    write_output(
        out, page(audited), force=force, ours=lambda held: held.lstrip().lower().startswith("<!doctype")
    )
    shown.out(str(out))
    if not audited.report.ok:
        _print(shown, audited.report)
    return shown.damaged(damage) if audited.report.ok else ExitCode.DAMAGED


async def _audited(settings: Settings, wanted: str, signed: SignedHeads | None) -> tuple[Audited, list[Text]]:
    log = open_to_read(settings.data)
    try:
        name = await find_run(log, wanted)
        events = list(await log.read(name))
        if not events:
            raise LogDamaged(log.damage[0], RESTORE) if log.damage else no_run(name)
        machine = await pinned(log, events)
    finally:
        await log.close()
    scan = scan_of(settings.data)
    try:
        report = verify_store(scan, [name], signed)
    finally:
        scan.close()
    signature = None if signed is None else signed.signatures.get((name, events[-1].seq))
    return Audited(events, fold_all(events), machine, report, signature), log.damage


def no_run(name: str) -> UserError:
    """The error for a run that is not there."""
    return UserError(
        Text(f"there is no one run '{name}'", f"没有唯一的运行“{name}”"),
        Text("`sopwith runs` lists the runs", "用 sopwith runs 查看所有运行"),
    )


def signed_heads(settings: Settings, file: Path | None, keys: Sequence[Path]) -> SignedHeads | None:
    """The heads of a file, or of the one that the settings name, proved; None where there is none.

    Without `keys`, the public key is the one beside the signing key.
    """
    if file is None and settings.heads is not None and not is_url(settings.heads):
        file = Path(settings.heads)
    if file is None:
        return None
    places = list(keys) or [public_file(settings.signing_key)]
    return read_heads(file, [PublicKey.read(place) for place in places])


def _is_there(settings: Settings) -> bool:
    return settings.heads is not None and not is_url(settings.heads) and Path(settings.heads).is_file()


def _current(scan: Scan, known: SignedHeads | None) -> tuple[list[Head], Report]:
    """The heads of all runs that are not signed yet and in which nothing is found, and what is found in others."""
    report = verify_store(scan, None, known)
    report.findings = [finding for finding in report.findings if finding.what != "unsigned"]
    bad = {finding.run for finding in report.findings}
    have = {(head.run, head.seq) for head in known.heads} if known is not None else set[tuple[str, int]]()
    made: list[Head] = []
    for run in scan.runs():
        events = scan.events(run)
        if events and run.run not in bad and (run.run, events[-1].seq) not in have:
            made.append(Head(run.run, events[-1].seq, events[-1].hash.hex(), time.time_ns() // 1000))
    return made, report


def _named(scan: Scan, wanted: Sequence[str] | None, signed: SignedHeads | None) -> list[str] | None:
    """The ids of the runs that are named by them or their beginnings. Raises `UserError` for one that is unknown."""
    if not wanted:
        return None
    known = {run.run for run in scan.runs()} | {
        head.run for head in (signed.heads if signed is not None else ())
    }
    found: list[str] = []
    for name in wanted:
        near = [name] if name in known else [run for run in known if run.startswith(name)]
        if len(near) != 1:
            raise no_run(name)
        found += near
    return found


def _print(shown: Terminal, report: Report) -> None:
    rows = [
        [f.run or "-", "-" if f.seq is None else str(f.seq), shown.text(WORDS[f.what]), shown.text(f.why)]
        for f in report.findings
    ]
    if rows:
        for line in table([[shown.text(head) for head in _HEADS], *rows]):
            shown.out(line)
    shown.say(shown.text(_LOOKED).format(report.runs, report.events, report.blobs))
    shown.say(_UNSIGNED if report.heads is None else shown.text(_SIGNED).format(report.heads))
    shown.say(_WELL if report.ok else shown.text(_BAD).format(len(report.findings)))
