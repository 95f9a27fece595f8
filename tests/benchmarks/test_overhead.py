"""The overhead benchmark works: every side does the same work, and every measure is there."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

pytest.importorskip("langgraph", reason="needs the bench extra")
pytest.importorskip("pydantic_graph", reason="needs the bench extra")

from benchmarks.commits import commits
from benchmarks.goals import GOALS
from benchmarks.measure import rate
from benchmarks.ours import SIDES
from benchmarks.overhead import COMMITS, PAIRS, QUICK, measured, memory
from benchmarks.peers import PEERS
from benchmarks.workload import Prompter, Script, Shape, branched, linear

from sopwith.run import journal


@pytest.mark.parametrize("shape", [linear(5), branched()], ids=lambda shape: shape.name)
@pytest.mark.parametrize("side", sorted(SIDES))
async def test_a_side_asks_the_model_once_a_step(side: str, shape: Shape, tmp_path: Path) -> None:
    script = Script(shape.length)
    async with SIDES[side](shape, script, Prompter(2_000), tmp_path / "runs.db") as runner:
        await runner.run("request 1")
        await runner.run("request 2")
    assert script.calls == 2 * shape.length


@pytest.mark.parametrize("shape", [linear(5), branched()], ids=lambda shape: shape.name)
@pytest.mark.parametrize("side", sorted(SIDES))
async def test_a_run_commits_as_often_as_is_said(side: str, shape: Shape, tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    async with SIDES[side](shape, Script(shape.length), Prompter(2_000), path) as runner:
        await runner.run("request 0")
        before = commits(path)
        await runner.run("request 1")
        assert commits(path) - before == COMMITS[side]


def test_every_side_is_compared() -> None:
    assert {pair.peer for pair in PAIRS} == set(PEERS)
    assert {pair.ours for pair in PAIRS} == set(SIDES) - set(PEERS)


async def test_a_side_leaves_the_engine_as_it_was(tmp_path: Path) -> None:
    usual = journal.BATCH
    async with SIDES["sopwith"](linear(2), Script(2), Prompter(0), tmp_path / "runs.db") as runner:
        await runner.run("request 0")
    assert usual == journal.BATCH > 1


@pytest.mark.slow
def test_every_quoted_measure_is_there(tmp_path: Path) -> None:
    found = {m.name for m in asyncio.run(measured(QUICK, tmp_path))} | {m.name for m in memory(QUICK)}
    wanted = {name for name in GOALS if name.startswith(("cpu", "bytes"))}
    wanted |= {f"cpu_{pair.name}" for pair in PAIRS}
    wanted |= {"guards_cpu_ratio", "synced_write_ms"}
    assert found >= wanted | {f"kb_per_run_at_{QUICK.together}_concurrent"}


def test_a_rate_has_the_wilson_interval() -> None:
    pytest.importorskip("scipy", reason="needs the bench extra")
    # (p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n), worked by hand for 81 of 100.
    measure = rate("share", 81, 100)
    assert (measure.low, measure.high) == pytest.approx((0.722, 0.875), abs=0.0005)
