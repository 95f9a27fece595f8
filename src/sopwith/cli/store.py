"""The data folder of a project: its event log and its vault, opened, and a run found in it."""

from __future__ import annotations

from pathlib import Path

from sopwith.cli.project import WHERE
from sopwith.errors import LogDamaged, Text, UserError
from sopwith.guard.vault import SqliteVault
from sopwith.log.port import ACCOUNT, Log
from sopwith.log.salvage import CarefulLog
from sopwith.log.scan import Scan
from sopwith.log.sqlite import SqliteLog

RUNS = "runs.db"
VAULT = "vault.db"

_RUN_HINT = Text("`sopwith runs` lists the runs", "用 sopwith runs 查看所有运行")


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
    return whole_vault(file)


def whole_vault(file: Path) -> SqliteVault:
    """The vault in `file`. Raises `LogDamaged` where damage is found in it."""
    vault = SqliteVault(file)
    try:
        vault.refuse_damaged()
    except BaseException:
        vault.close()
        raise
    return vault


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
