"""A run over a list in a process of its own, which is killed while letters are at work: `post_office FOLDER TOOL`.

Letters are lines of a file: `to key`. Those to `HELD` never come back: to the first one after it was written, to the
second one before. The process says on its output what is held, and what of the log is on the disk.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.run.office import ALLOW, notify

from sopwith import Engine, tool
from sopwith.ir.event import Event
from sopwith.log.sqlite import SqliteLog
from sopwith.tools.reconcile import Done, NotDone

PEOPLE = ["ann", "bo", "cy", "di", "ed", "flo"]
HELD = ("cy", "di")


class SayingLog(SqliteLog):
    """A log that says which calls of items have come back, as soon as that is on the disk."""

    async def append(
        self,
        run: str,
        events: Sequence[Event],
        blobs: Mapping[str, bytes] | None = None,
        *,
        durable: bool = False,
    ) -> str:
        """As `Log.append`."""
        head = await super().append(run, events, blobs, durable=durable)
        for event in events:
            if event.body.kind == "call.finished":
                print("back", event.step, flush=True)
        return head


class Letters:
    """The letters that were written, in a file."""

    def __init__(self, path: Path, *, holds: bool) -> None:
        self._path = path
        self._holds = holds

    def written(self) -> list[list[str]]:
        """Each letter as `[to, key]`."""
        return (
            [line.split() for line in self._path.read_text("utf-8").splitlines()]
            if self._path.exists()
            else []
        )

    async def write(self, to: str, key: str, *, once: bool) -> dict[str, str]:
        """Write one letter; with `once` none whose key is there."""
        if to == HELD[1]:
            await self._hold(to)
        if not once or [to, key] not in self.written():
            with self._path.open("a", encoding="utf-8") as file:
                file.write(f"{to} {key}\n")
                file.flush()
                os.fsync(file.fileno())
        if to == HELD[0]:
            await self._hold(to)
        return {"id": f"M-{to}"}

    async def _hold(self, to: str) -> None:
        if self._holds:
            print("held", to, flush=True)
            await asyncio.Event().wait()

    def tools(self) -> list[Any]:
        """`post` is idempotent, `book` can be asked about, `send` neither."""

        async def asked(to: str, *, idempotency_key: str) -> Done | NotDone:
            return Done({"id": f"M-{to}"}) if [to, idempotency_key] in self.written() else NotDone()

        @tool(name="mail.post", effect="write", idempotent=True)
        async def post(to: str, *, idempotency_key: str) -> dict[str, str]:
            """Send a letter, once for each key."""
            return await self.write(to, idempotency_key, once=True)

        @tool(name="mail.book", effect="write", reconcile=asked)
        async def book(to: str, *, idempotency_key: str) -> dict[str, str]:
            """Send a letter."""
            return await self.write(to, idempotency_key, once=False)

        @tool(name="mail.send", effect="irreversible")
        async def send(to: str, *, idempotency_key: str) -> dict[str, str]:
            """Send a letter."""
            return await self.write(to, idempotency_key, once=False)

        return [post, book, send]


def office(folder: Path, name: str, log: SqliteLog, *, holds: bool) -> tuple[Engine, Letters]:
    """An engine over the log and the letters in `folder`, for the tool `name`."""
    letters = Letters(folder / "letters", holds=holds)
    return Engine(notify(", at_once: 3", tool=name), letters.tools(), log=log, policy=ALLOW), letters


async def main(folder: Path, name: str) -> None:
    """Drive the run `r1`, until the process is killed."""
    engine, _ = office(folder, name, SayingLog(folder / "runs.db"), holds=True)
    await engine.run("go", inputs={"people": PEOPLE}, run_id="r1")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
