"""Files that a command writes: whole or not at all, and none over something else unless that is wanted."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from sopwith.errors import Text, UserError
from sopwith.ir.os_reason import os_reason


def write_output(file: Path, text: str, *, force: bool, ours: Callable[[str], bool] | None = None) -> None:
    """Write `text` to `file` for somebody who named it.

    A file that is there is written over with `force`, or where `ours` says that its text is what such a command writes.
    Raises `UserError` where it is something else, and where it cannot be written: then it stays as it was.
    """
    if not force and file.exists() and not (ours is not None and ours(_beginning(file))):
        raise UserError(
            Text(f"{file} is there already", f"{file} 已存在"),
            Text("choose another name, or write over it: --force", "请换一个名称，或用 --force 覆盖"),
        )
    replace(file, text)


def replace(file: Path, text: str) -> None:
    """Write `text` to `file` at once or not at all; its mode stays, and a link stays a link. Raises `UserError`."""
    target = file.resolve()
    if target.exists() and not target.is_file():  # such as /dev/stdout
        _write_through(file, text)
        return
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        try:
            with beside.open("w", encoding="utf-8", newline="") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
            if target.exists():
                beside.chmod(target.stat().st_mode & 0o7777)
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise _failed(file, error) from error


def _write_through(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise _failed(file, error) from error


def _failed(file: Path, error: OSError) -> UserError:
    why = os_reason(error)
    return UserError(
        Text(f"{file} cannot be written: {why.en}", f"无法写入 {file}：{why.zh}"),
        Text("name another place, or make room there", "请换一个位置，或在该处腾出空间"),
    )


def _beginning(file: Path) -> str:
    """The first characters of a file; "" where it is no text."""
    try:
        with file.open(encoding="utf-8") as stream:
            return stream.read(4096)
    except (OSError, UnicodeDecodeError):
        return ""
