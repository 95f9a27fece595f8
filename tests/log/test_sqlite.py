"""What only a store in a file can get wrong: other processes, full disks, strange files, tampering, kills."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from sopwith.errors import LogConflict, LogDamaged, LogError
from sopwith.ir.event import CallFinished, CallStarted, Event, ModelRequested, Phase, StepEntered
from sopwith.log.sqlite import SqliteLog

START = 1_790_000_000_000_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


@pytest.fixture
async def log(path: Path) -> AsyncIterator[SqliteLog]:
    store = SqliteLog(path)
    yield store
    await store.close()


def event(seq: int, run: str = "r1", step: str = "search", value: object = None) -> Event:
    body = CallFinished(name="hits", value=[seq] if value is None else value)
    return Event("t1", run, seq, START + seq, Phase.EXECUTE, step, seq - 1 or None, body)


def sql(path: Path, statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(statement).fetchall()


# Other writers


async def test_two_writers_of_one_run_cannot_both_win(log: SqliteLog, path: Path) -> None:
    other = SqliteLog(path)
    await log.append("r1", [event(1)])
    await other.append("r1", [event(2, value="theirs")])
    with pytest.raises(LogConflict):
        await log.append("r1", [event(2, value="ours")])
    assert [e.body.value for e in await log.read("r1")] == [[1], "theirs"]
    await other.close()


WRITER = """
import asyncio, sys
from sopwith.ir.event import CallFinished, Event, Phase
from sopwith.log.sqlite import SqliteLog

async def main(path, run):
    log = SqliteLog(path)
    for seq in range(1, 201):
        body = CallFinished(name=run, value=seq)
        await log.append(run, [Event("t", run, seq, seq, Phase.EXECUTE, f"s{seq % 7}", None, body)])
    await log.close()

asyncio.run(main(*sys.argv[1:]))
"""


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "error", "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


async def test_eight_processes_and_a_reader_share_one_file(path: Path) -> None:
    writers = [start(WRITER, path, f"r{n}") for n in range(8)]
    log = SqliteLog(path)
    while any(w.poll() is None for w in writers):
        for row in await log.runs():
            await log.read(row.run)
        await asyncio.sleep(0)
    assert [w.communicate()[1] for w in writers] == [""] * 8
    for n in range(8):
        assert [e.body.value for e in await log.read(f"r{n}")] == list(range(1, 201))
    await log.close()


async def test_an_append_waits_for_a_lock_without_stopping_the_loop(log: SqliteLog, path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        waiting = asyncio.create_task(log.append("r1", [event(1)]))
        await asyncio.sleep(0)
        assert not waiting.done()
        other.execute("ROLLBACK")
        await waiting
    assert len(await log.read("r1")) == 1


async def test_a_lock_that_stays_is_an_error_with_a_remedy(path: Path) -> None:
    log = SqliteLog(path, patience=0.02)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LogError, match="locked") as caught:
            await log.append("r1", [event(1)])
    assert "占用" in caught.value.hint.zh
    assert await log.append("r1", [event(1)])
    await log.close()


async def test_threads_may_share_one_log(log: SqliteLog) -> None:
    async def write(run: str) -> None:
        for seq in range(1, 51):
            await log.append(run, [event(seq, run, step=f"s{seq % 5}")])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda run: asyncio.run(write(run)), ["a", "b", "c", "d"]))
    assert {row.run: row.events for row in await log.runs()} == dict.fromkeys("abcd", 50)


# Disks and kills


async def test_a_full_disk_stores_nothing_and_the_run_goes_on_when_there_is_room(
    log: SqliteLog, path: Path
) -> None:
    await log.append("r1", [event(1)])
    pages = log._connection.execute("PRAGMA page_count").fetchone()[0]
    log._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(LogError, match="disk is full") as caught:
        await log.append("r1", [event(2, step="new_step", value="x" * 100_000)], {})
    assert "磁盘已满" in caught.value.message.zh and caught.value.hint.zh
    assert [e.seq for e in await log.read("r1")] == [1]
    log._connection.execute("PRAGMA max_page_count = 100000")
    await log.append("r1", [event(2, step="new_step")])
    assert [e.step for e in await log.read("r1")] == ["search", "new_step"]


FILE_LIMIT = """
import asyncio, resource, sys
from sopwith.errors import LogError
from sopwith.ir.event import CallFinished, Event, Phase
from sopwith.log.sqlite import SqliteLog

async def main(path):
    log = SqliteLog(path)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
    seq = 0
    try:
        while True:
            body = CallFinished(name="x", value="y" * 1000)
            await log.append("r1", [Event("t", "r1", seq + 1, seq, Phase.EXECUTE, None, None, body)])
            seq += 1
    except LogError as error:
        print(seq, error.render("zh"))
    await log.close()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_a_file_that_may_not_grow_keeps_what_was_appended(path: Path) -> None:
    process = start(FILE_LIMIT, path)
    out, err = process.communicate()
    assert err == "" and "SW010" in out and "建议" in out
    log = SqliteLog(path)
    events = await log.read("r1")
    assert len(events) == int(out.split()[0]) > 0
    await log.append("r1", [event(len(events) + 1)._replace(task="t")])
    await log.close()


KILLED = """
import asyncio, os, signal, sys
from sopwith.ir.event import CallStarted, Event, Phase
from sopwith.log.sqlite import SqliteLog

async def main(path):
    log = SqliteLog(path)
    body = CallStarted(tool="hr.submit_leave", effect="write", key="k")
    await log.append("r1", [Event("t1", "r1", 1, 1, Phase.EXECUTE, "submit", None, body)], durable=True)
    log._connection.execute("BEGIN IMMEDIATE")
    log._insert("r1", [Event("t1", "r1", 2, 2, Phase.EXECUTE, "half", None, body)], [b"{}"])
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main(*sys.argv[1:]))
"""


async def test_after_a_kill_what_was_appended_is_there_and_half_a_batch_is_not(path: Path) -> None:
    process = start(KILLED, path)
    assert process.communicate() == ("", "")
    assert process.returncode == -9
    log = SqliteLog(path)
    (only,) = await log.read("r1")
    assert only.body == CallStarted(tool="hr.submit_leave", effect="write", key="k")
    await log.append("r1", [event(2)])
    await log.close()


async def test_durable_syncs_its_own_transaction_only(log: SqliteLog) -> None:
    seen: list[str] = []
    log._connection.set_trace_callback(seen.append)
    await log.append("r1", [event(1)])
    await log.append("r1", [event(2)], durable=True)
    await log.append("r1", [event(3)], durable=True)
    await log.append("r1", [event(4)])
    log._connection.set_trace_callback(None)
    order = [line for line in seen if line.startswith(("PRAGMA synchronous", "COMMIT"))]
    full, normal = "PRAGMA synchronous = FULL", "PRAGMA synchronous = NORMAL"
    assert order == ["COMMIT", full, "COMMIT", "COMMIT", normal, "COMMIT"]


async def test_a_read_only_store_says_so(log: SqliteLog) -> None:
    log._connection.execute("PRAGMA query_only = 1")
    with pytest.raises(LogError, match="read-only") as caught:
        await log.append("r1", [event(1)])
    assert "写权限" in caught.value.hint.zh


async def test_closing_leaves_one_file(log: SqliteLog, path: Path) -> None:
    await log.append("r1", [event(1)])
    await log.close()
    assert [p.name for p in path.parent.iterdir()] == [path.name]


# Files that are not ours


async def test_a_newer_store_is_refused(log: SqliteLog, path: Path) -> None:
    await log.close()
    sql(path, "PRAGMA user_version = 2")
    with pytest.raises(LogError, match="of version 2") as caught:
        SqliteLog(path)
    assert "upgrade" in caught.value.hint.en and "升级" in caught.value.hint.zh


def test_a_database_of_another_program_is_refused_and_left_alone(path: Path) -> None:
    sql(path, "CREATE TABLE customers (name TEXT)")
    before = path.read_bytes()
    with pytest.raises(LogError, match="another program"):
        SqliteLog(path)
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_refused_and_left_alone(path: Path) -> None:
    path.write_text("steps:\n" * 1000)
    with pytest.raises(LogDamaged, match="not a SQLite database"):
        SqliteLog(path)
    assert path.read_text() == "steps:\n" * 1000


@pytest.mark.parametrize("name", [".", "file/log.db"])
def test_a_path_that_cannot_be_a_file_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LogError) as caught:
        SqliteLog(tmp_path / name)
    assert caught.value.hint.zh


async def test_a_missing_folder_is_made(tmp_path: Path) -> None:
    log = SqliteLog(tmp_path / "runs" / "日志.db")
    await log.append("r1", [event(1)])
    await log.close()
    assert (tmp_path / "runs" / "日志.db").is_file()


def spoil(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:8192] + b"\xff" * (len(data) - 8192))


async def test_a_damaged_file_says_so(log: SqliteLog, path: Path) -> None:
    for seq in range(1, 400):
        await log.append("r1", [event(seq, value="x" * 500)])
    await log.close()
    spoil(path)
    damaged = SqliteLog(path)
    with pytest.raises(LogDamaged, match="damaged") as caught:
        await damaged.read("r1")
    assert "备份" in caught.value.hint.zh
    await damaged.close()


async def test_an_event_of_a_newer_kind_says_so(log: SqliteLog, path: Path) -> None:
    await log.append("r1", [event(1)])
    sql(path, "UPDATE batch SET envelopes = json_set(envelopes, '$[0][4]', 'script.started')")
    with pytest.raises(LogError, match=r"script\.started") as caught:
        await log.read("r1")
    assert "upgrade" in caught.value.hint.en


# Tampering


@pytest.mark.parametrize(
    "change",
    [
        "bodies = CAST(replace(CAST(bodies AS TEXT), '[3]', '[9]') AS BLOB)",
        "bodies = CAST(replace(CAST(bodies AS TEXT), '[3]}', '[3}}') AS BLOB)",
        "envelopes = json_set(envelopes, '$[2][0]', 9)",
        "envelopes = json_set(envelopes, '$[2][1]', 'NOWHERE')",
        "envelopes = json_set(envelopes, '$[2][1]', 'PLAN')",
        "envelopes = json_set(envelopes, '$[2][2]', NULL)",
        "envelopes = json_set(envelopes, '$[2][3]', NULL)",
        "envelopes = json_set(envelopes, '$[2][4]', 'value.stored')",
        "envelopes = json_set(envelopes, '$[2][5]', '0')",
        "envelopes = json_set(envelopes, '$[2]', 7)",
        "hashes = substr(hashes, 1, 64) || zeroblob(32) || substr(hashes, 97)",
    ],
)
async def test_a_changed_event_is_found(log: SqliteLog, path: Path, change: str) -> None:
    await log.append("r1", [event(seq) for seq in range(1, 6)])
    sql(path, f"UPDATE batch SET {change}")
    with pytest.raises(LogDamaged, match="event 3 of run r1"):
        await log.read("r1")
    if "hash" not in change:
        assert [e.seq for e in await log.read("r1", after=3)] == [4, 5]


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM batch WHERE id & 255 = 3",
        "UPDATE batch SET id = id + 8 WHERE id & 255 = 3",
        "UPDATE batch SET envelopes = '[' WHERE id & 255 = 3",
        "UPDATE batch SET envelopes = '{}' WHERE id & 255 = 3",
        "UPDATE batch SET envelopes = json_remove(envelopes, '$[0]') WHERE id & 255 = 3",
        "UPDATE batch SET hashes = zeroblob(0) WHERE id & 255 = 3",
        "UPDATE batch SET hashes = substr(hashes, 1, 32) WHERE id & 255 = 3",
    ],
)
async def test_a_changed_batch_is_found(log: SqliteLog, path: Path, change: str) -> None:
    for seq in (1, 3, 5, 7):
        await log.append("r1", [event(seq), event(seq + 1)])
    sql(path, change)
    with pytest.raises(LogDamaged, match=r"event [345] of run r1"):
        await log.read("r1")
    with pytest.raises(LogDamaged, match=r"event [345] of run r1"):
        await log.read("r1", after=1)


async def test_events_are_read_from_the_middle_of_a_batch(log: SqliteLog) -> None:
    await log.append("r1", [event(seq) for seq in range(1, 6)])
    await log.append("r1", [event(seq) for seq in range(6, 9)])
    for after in range(10):
        assert [e.seq for e in await log.read("r1", after)] == list(range(after + 1, 9))


async def test_who_has_read_what_another_wrote_may_go_on(log: SqliteLog, path: Path) -> None:
    other = SqliteLog(path)
    await log.append("r1", [event(1)])
    await other.append("r1", [event(2), event(3)])
    assert len(await log.read("r1")) == 3
    await log.append("r1", [event(4)])
    assert [e.seq for e in await other.read("r1")] == [1, 2, 3, 4]
    await other.close()


@pytest.mark.parametrize("change", ["UPDATE run SET task = 'mine'", "UPDATE run SET started_at = 5"])
async def test_a_changed_run_is_found(log: SqliteLog, path: Path, change: str) -> None:
    await log.append("r1", [event(1)])
    await log.close()
    sql(path, change)
    again = SqliteLog(path)
    with pytest.raises(LogDamaged, match="event 1 of run r1"):
        await again.read("r1")
    await again.close()


# Size and reading by hand


async def test_the_store_grows_with_new_bytes_only(tmp_path: Path) -> None:
    async def size(steps: int) -> float:
        path = tmp_path / f"{steps}.db"
        log = SqliteLog(path)
        for run in range(10):
            await write(log, f"r{run}", steps)
        await log.close()
        return path.stat().st_size / (10 * steps)

    async def write(log: SqliteLog, run: str, steps: int) -> None:
        for n in range(steps):
            request = ModelRequested(
                purpose="arguments", model="m", prefix="ab" * 32, tail=f"the tail of step {n}"
            )
            await log.append(
                run,
                [
                    Event("t1", run, 2 * n + i, START + n, Phase.EXECUTE, f"step_{n}", None, body)
                    for i, body in enumerate((StepEntered(), request), 1)
                ],
            )

    assert await size(200) / await size(20) <= 1.2


async def test_the_view_shows_events_in_words(log: SqliteLog, path: Path) -> None:
    await log.append("r1", [event(1), event(2, value={"name": "李雷"})])
    rows = sql(path, "SELECT run, seq, at, phase, step, cause, kind, data, hash FROM events ORDER BY seq")
    events = await log.read("r1")
    assert [r[:7] for r in rows] == [
        ("r1", 1, START + 1, "EXECUTE", "search", None, "call.finished"),
        ("r1", 2, START + 2, "EXECUTE", "search", 1, "call.finished"),
    ]
    assert json.loads(str(rows[1][7])) == {"name": "hits", "value": {"name": "李雷"}}
    assert [r[8] for r in rows] == [e.hash for e in events]
    assert sql(path, "SELECT data ->> '$.value.name' FROM events WHERE seq = 2") == [("李雷",)]
