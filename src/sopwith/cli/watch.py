"""Doing something again whenever files change, by looking at them now and then."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

PAUSE_S = 0.4

_Look = dict[Path, tuple[int, int, int] | None]


def rounds(paths: Callable[[], Iterable[Path]], pause: Callable[[], None] | None = None) -> Iterator[None]:
    """One round at once, and one after each change of the files that `paths` names at that time.

    A change is over when two looks in a row see the same: an editor that writes a new file and moves it over the old
    one makes one round, a file that is gone makes one as well. `pause` waits between two looks.
    """
    wait = pause or _sleep
    seen = _look(paths())
    yield
    while True:
        wait()
        now = _look(paths())
        if now == seen:
            continue
        while (later := _again(wait, paths)) != now:
            now = later
        if now != seen:
            seen = now
            yield


def _again(wait: Callable[[], None], paths: Callable[[], Iterable[Path]]) -> _Look:
    wait()
    return _look(paths())


def _look(paths: Iterable[Path]) -> _Look:
    """When each file was changed, its size and its number; None where there is none."""
    return {path: _state(path) for path in paths}


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _sleep() -> None:
    time.sleep(PAUSE_S)
