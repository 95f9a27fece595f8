"""A model file in GGUF form: is it one, which one is it, and was its hash checked before?

The hash of a file that was checked lies beside it, in `NAME.gguf.sha256` with the size and time of what was
hashed, so that half a gigabyte is not read again at each start.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from sopwith.errors import ModelFileError, Text
from sopwith.ir.os_reason import os_reason

_MAGIC = b"GGUF"
_SMALLEST = 1024
_BLOCK = 1 << 20

Progress = Callable[[int, int], None]
"""Called with the bytes done and the bytes in all (0 where unknown)."""


def check_model_file(path: Path) -> None:
    """Raises `ModelFileError` when there is no GGUF file at `path`. Reads four bytes."""
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        raise ModelFileError(
            Text(f"{path} cannot be read: {os_reason(error).en}", f"无法读取 {path}：{os_reason(error).zh}"),
            Text(
                "check the path, or fetch a model with `sopwith model pull`",
                "请检查路径，或用 `sopwith model pull` 下载模型",
            ),
        ) from error
    if magic != _MAGIC or path.stat().st_size < _SMALLEST:
        raise not_a_model(path)


def not_a_model(path: Path) -> ModelFileError:
    """The error for a file that is no model, or only a part of one."""
    return ModelFileError(
        Text(f"{path} is not a complete GGUF model file", f"{path} 不是完整的 GGUF 模型文件"),
        Text(
            "delete it and fetch it again with `sopwith model pull`; if it is right, free some memory",
            "请删除后用 `sopwith model pull` 重新下载；若文件无误，请释放一些内存",
        ),
    )


def hash_file(path: Path, progress: Progress | None = None) -> str:
    """The SHA-256 of the file's bytes, 64 hexadecimal digits."""
    total, done, result = path.stat().st_size, 0, hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            result.update(block)
            done += len(block)
            if progress is not None:
                progress(done, total)
    return result.hexdigest()


def checked_hash(path: Path) -> str | None:
    """The hash that was checked before, if the file is still the one that was hashed."""
    try:
        note = json.loads(_note(path).read_text(encoding="utf-8"))
        status = path.stat()
        if note["size"] == status.st_size and note["mtime_ns"] == status.st_mtime_ns:
            return str(note["sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return None


def remember_hash(path: Path, sha256: str) -> None:
    """Note beside the file that `sha256` is its hash. A folder that cannot be written costs only the note."""
    status = path.stat()
    note = {"sha256": sha256, "size": status.st_size, "mtime_ns": status.st_mtime_ns}
    try:
        _note(path).write_text(json.dumps(note) + "\n", encoding="utf-8")
    except OSError:
        return


def forget_hash(path: Path) -> None:
    """Delete the note beside the file."""
    _note(path).unlink(missing_ok=True)


def fingerprint(path: Path) -> str:
    """Eight characters that tell model files apart.

    They begin its hash where that was checked; else they are `~` and the beginning of the hash of its size,
    first and last mebibyte.
    """
    known = checked_hash(path)
    if known is not None:
        return known[:8]
    size = path.stat().st_size
    result = hashlib.sha256(str(size).encode())
    with path.open("rb") as file:
        result.update(file.read(_BLOCK))
        file.seek(max(0, size - _BLOCK))
        result.update(file.read(_BLOCK))
    return "~" + result.hexdigest()[:7]


def _note(path: Path) -> Path:
    return path.with_name(path.name + ".sha256")
