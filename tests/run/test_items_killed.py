"""A process is killed by `kill -9` while several items of a list are at work; another one goes on."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tests.run.post_office import HELD, PEOPLE, Letters, office

from sopwith.ir.event import CallStarted
from sopwith.log.sqlite import SqliteLog
from sopwith.run.run import Run

BACK = {f"back notify[{i}]" for i, name in enumerate(PEOPLE) if name not in HELD}


def killed(folder: Path, name: str) -> None:
    """A run of which four letters have come back, and two are at work, when its process is killed."""
    command = [sys.executable, "-m", "tests.run.post_office", str(folder), name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        said: set[str] = set()
        while not {*BACK, *(f"held {to}" for to in HELD)} <= said:
            line = child.stdout.readline()
            assert line, f"it has ended; it said {said}"
            said.add(line.strip())
        child.kill()


async def resumed(folder: Path, name: str) -> tuple[Run, Letters]:
    """The run as another process goes on with it."""
    engine, letters = office(folder, name, SqliteLog(folder / "runs.db"), holds=False)
    async with engine:
        return await engine.resume("r1"), letters


@pytest.mark.parametrize("name", ["mail.post", "mail.book"])
async def test_what_is_done_stays_done_and_each_doubt_is_cleared(name: str, tmp_path: Path) -> None:
    killed(tmp_path, name)
    run, letters = await resumed(tmp_path, name)
    assert run.output == {"n": [{"id": f"M-{to}"} for to in PEOPLE]}
    assert Counter(to for to, _ in letters.written()) == dict.fromkeys(PEOPLE, 1)
    again = Counter(event.step for event in run.events if isinstance(event.body, CallStarted))
    assert {step for step, count in again.items() if count > 1} <= {"notify[2]", "notify[3]"}


async def test_a_doubt_that_nobody_can_clear_is_named_item_by_item(tmp_path: Path) -> None:
    killed(tmp_path, "mail.send")
    run, letters = await resumed(tmp_path, "mail.send")
    assert run.status == "escalated" and run.outcome is not None and run.outcome.packet is not None
    assert run.outcome.packet.open == ("mail.send notify[2]", "mail.send notify[3]")
    assert sorted(to for to, _ in letters.written()) == sorted(set(PEOPLE) - {HELD[1]})
    engine, _ = office(tmp_path, "mail.send", SqliteLog(tmp_path / "runs.db"), holds=False)
    async with engine:
        run = await engine.take_over(
            "r1",
            by="alice",
            happened={"notify[2]": True, "notify[3]": False},
            values={"notify[2]": {"id": "seen"}},
            to="notify",
        )
    assert run.output == {"n": [{"id": "seen" if to == "cy" else f"M-{to}"} for to in PEOPLE]}
    assert Counter(to for to, _ in letters.written()) == dict.fromkeys(PEOPLE, 1)
