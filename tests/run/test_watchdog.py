"""Alerts reach their sinks, and the watchdog raises them where no driver is alive."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from collections.abc import Generator, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from tests.run.hooked_log import HookedLog

from sopwith import Engine, MemoryLog, Policy, tool
from sopwith.errors import LogError, PolicyError, Text
from sopwith.guard.alert import Alert, Webhook
from sopwith.ir.event import Event, LeaseTaken
from sopwith.run.lease import LEASE_SECONDS
from sopwith.run.watchdog import Watchdog

ASKS = """
schema: sopwith/procedure/1
id: asks
start: look
steps:
  look: {tool: box.look, timeout: 1s, next: sure}
  sure: {ask: Are you sure?, returns: {type: boolean}, next: out}
  out: {end: escalate}
"""
SECOND = 1_000_000


def engine(log: Any, **options: Any) -> Engine:
    @tool(name="box.look")
    async def look() -> int:
        return 1

    return Engine(ASKS, tools=[look], log=log, policy=Policy(), **options)


@pytest.fixture
def received() -> Generator[tuple[str, list[tuple[dict[str, str], bytes]]]]:
    """A server that takes what is posted to it."""
    posts: list[tuple[dict[str, str], bytes]] = []

    class Take(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            posts.append((dict(self.headers), body))
            self.send_response(500 if self.path == "/broken" else 204)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Take)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", posts
    server.shutdown()
    thread.join()
    server.server_close()


async def test_the_alert_of_an_escalation_is_posted_and_signed(received: Any) -> None:
    url, posts = received
    async with engine(MemoryLog(), alerts=[Webhook(url, "秘密")]) as running:
        run = await running.run("go", run_id="r1")
        await running.resume(run.id, answer=True)
    ((headers, body),) = posts
    alert = json.loads(body)
    assert (alert["run"], alert["code"], alert["step"]) == ("r1", "outcome.escalated", "out")
    wanted = "sha256=" + hmac.new("秘密".encode(), body, hashlib.sha256).hexdigest()
    assert headers["X-Sopwith-Signature"] == wanted


def test_an_alert_that_nobody_takes_is_tried_again_and_logged(
    received: Any, caplog: pytest.LogCaptureFixture
) -> None:
    url, posts = received
    hook = Webhook(f"{url}/broken", tries=1)
    hook(Alert("r1", "r1", "p", None, 1, "x", "y"))
    hook.close()
    assert len(posts) == 1
    assert "was not sent" in caplog.text


@pytest.mark.parametrize("url", ["", "nothing", "file:///etc/passwd", "https://"])
def test_what_is_no_url_refuses_to_start(url: str) -> None:
    with pytest.raises(PolicyError, match="no URL"):
        Webhook(url)


async def test_a_sink_that_fails_holds_nothing_up(caplog: pytest.LogCaptureFixture) -> None:
    def broken(alert: Alert) -> None:
        raise RuntimeError("13800138000")

    running = engine(MemoryLog(), alerts=[broken])
    run = await running.run("go")
    assert (await running.resume(run.id, answer=True)).status == "escalated"
    assert "RuntimeError" in caplog.text
    assert "13800138000" not in caplog.text


async def left_alone(log: MemoryLog) -> MemoryLog:
    """A run as its driver left it that was killed in the middle of a step, on another machine."""
    whole = MemoryLog()
    await engine(whole).run("go", run_id="r1")
    events = [event for event in await whole.read("r1") if event.seq <= 9]
    started = events[0].body
    blobs = {name: await whole.blob(name) for name in (started.procedure, started.tools, started.policy)}
    moved = [
        event._replace(body=event.body.model_copy(update={"driver": "elsewhere/1/1/x"}))
        if event.body.kind == "lease.taken"
        else event
        for event in events
    ]
    await log.append("r1", moved, blobs)
    return log


async def test_a_run_that_nobody_drives_raises_one_alert() -> None:
    log, told = await left_alone(MemoryLog()), list[Alert]()
    last = (await log.read("r1"))[-1].at
    now = last + SECOND // 10
    dog = Watchdog(log, [told.append], lambda: now)
    assert await dog.look() == []
    now = last + int((LEASE_SECONDS + 1) * SECOND)
    (alert,) = await dog.look()
    assert (alert.code, alert.run, told) == ("run.orphaned", "r1", [alert])
    now += SECOND
    assert await dog.look() == []
    assert (await log.read("r1"))[-1].body.code == "run.orphaned"
    run = await engine(log, clock=lambda: now).resume("r1")
    assert run.status == "suspended"


async def test_a_driver_that_does_not_stop_in_time_is_reported_to_its_inbox() -> None:
    log, told = await left_alone(MemoryLog()), list[Alert]()
    last = (await log.read("r1"))[-1].at
    dog = Watchdog(log, [told.append], lambda: last + 5 * SECOND)
    assert [alert.code for alert in await dog.look()] == ["timeout.step"]
    assert await dog.look() == []
    messages = await log.read("inbox:r1")
    assert [message.body.kind for message in messages] == ["alert.raised"]


async def test_a_person_who_is_waited_for_too_long_is_reported_once() -> None:
    log, told = MemoryLog(), list[Alert]()
    await engine(log).run("go", run_id="r1")
    last = (await log.read("r1"))[-1].at
    dog = Watchdog(log, [told.append], lambda: last + 90 * SECOND, waiting=60)
    assert [alert.code for alert in await dog.look()] == ["run.waiting"]
    assert await dog.look() == []
    assert (await engine(log).resume("r1", answer=True)).status == "escalated"
    assert await dog.look() == []


class Raced(HookedLog):
    """Once it is `raced`, somebody takes the run before anything else is appended."""

    raced = False

    async def before(self, run: str, events: Sequence[Event], *, durable: bool) -> None:
        if self.raced:
            taken = LeaseTaken(driver="elsewhere/2/2/y", seconds=LEASE_SECONDS)
            await self.rival(run, [events[0]._replace(body=taken)])


async def test_a_run_that_is_taken_up_meanwhile_raises_nothing() -> None:
    log, told = Raced(), list[Alert]()
    await left_alone(log)
    log.raced = True
    now = (await log.read("r1"))[-1].at + int((LEASE_SECONDS + 1) * SECOND)
    assert await Watchdog(log, [told.append], lambda: now).look() == []
    assert told == []
    assert (await log.read("r1"))[-1].body.kind == "lease.taken"


class Newer(MemoryLog):
    """A log in which one run cannot be read."""

    async def read(self, run: str, after: int = 0) -> Sequence[Event]:
        if run == "r1":
            raise LogError(Text("event 4 is of an unknown kind", ""))
        return await super().read(run, after)


async def test_a_run_that_cannot_be_read_hides_no_other() -> None:
    log = Newer()
    await engine(log).run("go", run_id="r1")
    await engine(log).run("go", run_id="r2")
    last = (await log.read("r2"))[-1].at
    dog = Watchdog(log, [], lambda: last + 90 * SECOND, waiting=60)
    found = await dog.look()
    assert await dog.look() == []
    assert sorted((alert.code, alert.run) for alert in found) == [
        ("run.unreadable", "r1"),
        ("run.waiting", "r2"),
    ]
