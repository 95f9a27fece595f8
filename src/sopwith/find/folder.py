"""A folder of documents, brought into an index: what is new or has changed is read, and what has gone leaves."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from sopwith.errors import Text
from sopwith.find.document_file import SPLIT, most_bytes, problem, read_document, reader_of, suffix
from sopwith.find.held_file import HeldFile
from sopwith.find.index import Index
from sopwith.find.passage import entries_of
from sopwith.ir.diagnostic import Diagnostic
from sopwith.ir.os_reason import os_reason

MOST_FILES = 50_000
"""Files after these are not read."""

_SETTLED = 2.0
"""Seconds after which another change of a file shows in its times, on every file system."""

_OPEN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@dataclass(slots=True)
class Refreshed:
    """What a refresh has done: files that were read, those that were as before, and those that have left. `complete` is
    False where it was stopped before its end."""

    read: int = 0
    unchanged: int = 0
    dropped: int = 0
    problems: list[Diagnostic] = field(default_factory=list[Diagnostic])
    complete: bool = True


def refresh(index: Index, folder: Path, stopped: Callable[[], bool] = lambda: False) -> Refreshed:
    """Make the documents of `index` those of `folder`. Each file is written as soon as it is read, so that what was
    stopped goes on where it was, and several processes may do it at once.

    Links and hidden files are passed over. Raises `OSError` where the folder itself cannot be read; then nothing
    leaves.
    """
    root = folder.resolve(strict=True)
    done = Refreshed()
    held = index.files()
    seen: set[str] = set()
    for path in _files(root, done.problems):
        if stopped():
            done.complete = False
            return done
        name = _name(path, root)
        if len(seen) >= MOST_FILES:
            said = Text(f"more than {MOST_FILES} files", f"文件超过 {MOST_FILES} 个")
            done.problems.append(problem(name, "SW834", said, SPLIT))
            break
        file = _refreshed(index, path, name, held.get(name), done, stopped)
        if file is None:
            continue
        seen.add(name)
        if file.problem is not None:
            done.problems.append(file.problem)
    gone = [file for name, file in held.items() if name not in seen]
    if not stopped():
        done.dropped = index.drop_files(gone)
    done.complete = not stopped()
    return done


def _refreshed(
    index: Index, path: Path, name: str, held: HeldFile | None, done: Refreshed, stopped: Callable[[], bool]
) -> HeldFile | None:
    """The file as the index has it now; None where it has nothing of it."""
    try:
        found = path.stat(follow_symlinks=False)
        mark = _mark(name, found)
        if held is not None and held.mark == mark:
            done.unchanged += 1
            return held
        if found.st_size > most_bytes(name):
            return _too_large(index, name, mark, found.st_size)
        content = _read(path, most_bytes(name))
    except FileNotFoundError:
        return None
    except OSError as error:
        done.problems.append(problem(name, "SW830", os_reason(error), _PERMIT))
        return None
    if time.time() - max(found.st_mtime, found.st_ctime) < _SETTLED:
        mark = ""  # a change at once after this would look the same
    digest = sha256(reader_of(name).encode() + b"\0" + content).hexdigest()
    if held is not None and held.digest == digest:
        done.unchanged += 1
        if held.mark != mark:
            index.mark_file(name, digest, mark)
        return replace(held, mark=mark)
    reading = read_document(name, content, stopped)
    if stopped():
        return held
    entries = entries_of(reading.passages)
    file = HeldFile(name, mark, digest, tuple(entry.id for entry in entries), reading.problem)
    index.put_file(file, entries)
    done.read += 1
    return file


def _too_large(index: Index, name: str, mark: str, size: int) -> HeldFile:
    said = Text(f"{size // 1_000_000} MB are too much", f"{size // 1_000_000} MB，文件过大")
    file = HeldFile(name, mark, "", (), problem(name, "SW834", said, SPLIT))
    index.put_file(file, ())
    return file


def _read(path: Path, most: int) -> bytes:
    """The bytes of a file that is no link, and is not longer than it was said to be."""
    handle = os.open(path, _OPEN)
    with os.fdopen(handle, "rb") as file:
        return file.read(most)


def _mark(name: str, found: os.stat_result) -> str:
    return f"{found.st_ino} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {reader_of(name)}"


def _name(path: Path, root: Path) -> str:
    """The path within the folder, as valid Unicode."""
    return os.fsencode(path.relative_to(root).as_posix()).decode("utf-8", "replace")


def _files(root: Path, problems: list[Diagnostic]) -> Iterator[Path]:
    """The documents in the folder and those below, in the order of their names. No link is followed."""
    folders = [root]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(folder) as listed:
                items = sorted(listed, key=lambda item: item.name)
        except OSError as error:
            if folder == root:
                raise
            problems.append(problem(_name(folder, root), "SW830", os_reason(error), _PERMIT))
            continue
        inside: list[Path] = []
        for item in items:
            if item.name.startswith("."):
                continue
            path = Path(item.path)
            if item.is_symlink():
                if _leads_out(path, root):
                    problems.append(problem(_name(path, root), "SW835", _OUT, _COPY))
            elif item.is_dir():
                inside.append(path)
            elif suffix(item.name) and stat.S_ISREG(item.stat(follow_symlinks=False).st_mode):
                yield path
        folders += reversed(inside)


def _leads_out(path: Path, root: Path) -> bool:
    try:
        return not path.resolve().is_relative_to(root)
    except (OSError, RuntimeError):
        return True


_PERMIT = Text("permit it to be read, or move it out of the folder", "请授予读取权限，或将其移出文件夹")
_OUT = Text("a link that leads out of the folder is not followed", "不跟随指向文件夹之外的链接")
_COPY = Text("put a copy in its place", "请改放一份副本")
