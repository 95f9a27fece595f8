"""The engine signs the head of a run whenever it ends or waits, and no failure of that touches the run."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from tests.run.desk import HAPPY, Shop, desk, sure

from sopwith import ToolError
from sopwith.log.head import HeadsFile, read_heads
from sopwith.log.signing_key import SigningKey, make_key
from sopwith.log.sqlite import SqliteLog

ASKING = ['{"order": "A-404", "wish": "refund"}', sure("A", 0.9), *HAPPY[2:]]


@pytest.fixture
def key(tmp_path: Path) -> SigningKey:
    return make_key(tmp_path / "audit.key")


async def test_the_head_of_a_run_that_ends_is_signed(tmp_path: Path, key: SigningKey) -> None:
    log = SqliteLog(tmp_path / "runs.db")
    async with desk(Shop(), log=log, heads=HeadsFile(tmp_path / "heads", key)) as engine:
        run = await engine.run("Money back for A-7")
        last = (await log.read(run.id))[-1]
    assert run.status == "completed"
    (head,) = read_heads(tmp_path / "heads", [key.public]).heads
    assert (head.run, head.seq, head.hash, head.what) == (run.id, last.seq, last.hash, "head")


async def test_a_run_that_waits_is_signed_then_and_at_its_end(tmp_path: Path, key: SigningKey) -> None:
    log = SqliteLog(tmp_path / "runs.db")
    shop = Shop()
    shop.failures = [ToolError("not_found", "no such order")]
    async with desk(shop, ASKING, log=log, heads=HeadsFile(tmp_path / "heads", key)) as engine:
        waiting = await engine.run("Money back for A-404")
        assert waiting.status == "suspended"
        ended = await engine.resume(waiting.id, answer="A-7")
        cancelled = await engine.run("Money back", run_id="other")
        events = {run: await log.read(run) for run in (waiting.id, "other")}
    signed = read_heads(tmp_path / "heads", [key.public])
    assert ended.status == "completed" and cancelled.outcome is not None
    assert signed.findings == ()
    assert [(head.run, head.seq) for head in signed.heads] == [
        (waiting.id, len(waiting.events)), (waiting.id, len(ended.events)), ("other", len(cancelled.events)),
    ]  # fmt: skip
    assert all(events[head.run][head.seq - 1].hash == head.hash for head in signed.heads)


async def test_a_head_that_cannot_be_kept_is_a_warning_and_the_run_ends_as_it_would(
    tmp_path: Path, key: SigningKey, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "sopwith"):
        async with desk(Shop(), heads=HeadsFile(tmp_path, key)) as engine:
            run = await engine.run("Money back for A-7")
    assert run.status == "completed"
    assert "cannot be written" in caplog.text and "sopwith audit heads" in caplog.text
