"""A text file that somebody named: its text, or one clear error that says what it is instead."""

from __future__ import annotations

import shlex
from pathlib import Path

from sopwith.errors import NO_HINT, Text, UserError
from sopwith.ir.encoding import likely_encoding
from sopwith.ir.os_reason import os_reason

MOST_BYTES = 64 * 1024 * 1024
"""A larger file is not read at all."""
_CHECK = Text("check the path; `sopwith init` makes a project", "请检查路径；sopwith init 可新建项目")


def read_text_file(path: Path, shown: str = "", *, keep_line_ends: bool = False, hint: Text = NO_HINT) -> str:
    """The text of a UTF-8 file, with `\\n` at the ends of lines. `shown` is what messages call it, else the path;
    `hint` is what to do where it is not there or is a folder, else what suits a procedure.

    Raises `UserError` for a folder, a file that is not there or cannot be opened, one that is too large, and one
    that is not UTF-8.
    """
    name = shown or str(path)
    held = read_bytes(path, name, hint)
    try:
        text = held.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _not_utf8(name, held, error.start) from None
    return text if keep_line_ends else text.replace("\r\n", "\n").replace("\r", "\n")


def read_bytes(path: Path, name: str, hint: Text = NO_HINT) -> bytes:
    """The bytes of a file that messages call `name`; `hint` as in `read_text_file`.

    Raises `UserError` for a folder, a file that is not there or cannot be opened, and one that is too large.
    """
    if path.is_dir():
        raise not_a_file(path, name, hint)
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise _too_large(name, size)
        return path.read_bytes()
    except FileNotFoundError:
        raise no_such_file(name, hint) from None
    except OSError as error:
        why = os_reason(error)
        raise UserError(
            Text(f"{name} cannot be opened: {why.en}", f"无法打开 {name}：{why.zh}"),
            Text("check the path", "请检查路径"),
        ) from None


def no_such_file(name: str, hint: Text = NO_HINT) -> UserError:
    """The error for a file that is not there."""
    return UserError(
        Text(f"there is no file {name}", f"没有文件 {name}"),
        hint if hint != NO_HINT else _CHECK,
    )


def not_a_file(path: Path, name: str, hint: Text = NO_HINT) -> UserError:
    """The error for a folder where a file is wanted; it names a file inside, where there is one."""
    inside = next((str(Path(name, one.name)) for one in _procedures(path)), "")
    example = Text(f", such as {inside}", f"，例如 {inside}") if inside else Text("", "")
    return UserError(
        Text(f"{name} is a folder, not a file", f"{name} 是文件夹，不是文件"),
        hint if hint != NO_HINT else Text(f"name a file in it{example.en}", f"请写出其中的文件{example.zh}"),
    )


def _procedures(path: Path) -> list[Path]:
    try:
        return sorted(one for one in path.glob("*.y*ml") if one.is_file())
    except OSError:
        return []


def _too_large(name: str, size: int) -> UserError:
    millions = size // 1_000_000
    return UserError(
        Text(f"{name} has {millions} MB: too much for a text", f"{name} 有 {millions} MB，作为文本过大"),
        Text("check that it is the right file", "请确认是否选对了文件"),
    )


def _not_utf8(name: str, held: bytes, start: int) -> UserError:
    line = held.count(b"\n", 0, start) + 1
    guess = likely_encoding(held)
    likely = Text(f"; it looks like {guess}", f"，看起来是 {guess}") if guess else Text("", "")
    how = f": iconv -f {guess} -t UTF-8 {shlex.quote(name)}" if guess else ""
    return UserError(
        Text(
            f"{name} is not UTF-8 text (line {line}){likely.en}",
            f"{name} 不是 UTF-8 文本（第 {line} 行）{likely.zh}",
        ),
        Text(f"save it as UTF-8{how}", f"请另存为 UTF-8{how.replace(': ', '：', 1)}"),
    )
