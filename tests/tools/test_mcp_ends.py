"""No MCP server outlives its user: not one that ignores signals, nor one whose user is killed in a call."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import sys

import pytest
from tests.tools.servers import alive, marked, npm_server, odd, program_of, until

from sopwith.tools import McpSource

AMPLE = 30.0


@pytest.fixture
def mark() -> str:
    return f"SOPWITH_TEST={secrets.token_hex(8)}"


def stubborn(mark: str) -> McpSource:
    """A server that ignores SIGTERM and, while it stalls, the end of its input."""
    plain = odd("odd", "stubborn")
    return McpSource(
        "odd", sys.executable, program_of(plain).args, dict([mark.split("=")]), effects=plain.settings.effects
    )


async def test_a_stubborn_server_ends_with_the_call_that_is_cancelled_and_the_source_closed(
    mark: str,
) -> None:
    source = stubborn(mark)
    await source.specs()
    call = asyncio.create_task(source.call("odd.stall", {}, key="k", seconds=AMPLE))
    await until(lambda: source._connection is not None and source._connection._calls)
    assert len(marked(mark)) == 2
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await source.close()
    assert marked(mark) == set()


PARENT = """
import asyncio, sys
from tests.tools.test_mcp_ends import stubborn

async def main():
    source = stubborn(MARK)
    await source.specs()
    print("up", flush=True)
    await source.call("odd.stall", {}, key="k", seconds=600)

asyncio.run(main())
"""


async def test_a_stubborn_server_ends_with_the_process_that_uses_it(mark: str) -> None:
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT.replace("MARK", repr(mark)), stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout is not None and await parent.stdout.readline() == b"up\n"
    assert len(marked(mark)) == 2
    parent.send_signal(signal.SIGKILL)
    await parent.wait()
    await until(lambda: not marked(mark))


@pytest.mark.slow
async def test_an_official_server_that_is_killed_in_a_call_is_started_again(mark: str) -> None:
    effects = {"trigger-long-running-operation": "read", "echo": "read"}
    source = McpSource("all", npm_server("everything"), ["stdio"], dict([mark.split("=")]), effects=effects)
    other = odd()
    await source.specs()
    assert (await other.call("odd.count", {}, key="k", seconds=AMPLE)).value == {"n": 1}
    long = {"duration": 20, "steps": 2}
    call = asyncio.create_task(
        source.call("all.trigger-long-running-operation", long, key="k", seconds=AMPLE)
    )
    await until(lambda: source._connection is not None and source._connection._calls)
    servers = marked(mark)
    for pid in servers:
        os.kill(pid, signal.SIGKILL)
    result = await asyncio.wait_for(call, 5)
    assert result.error is not None and result.error.code == "server_lost" and not result.unknown
    said = await source.call("all.echo", {"message": "again"}, key="k", seconds=AMPLE)
    assert "again" in str(said.value)
    assert (await other.call("odd.count", {}, key="k", seconds=AMPLE)).value == {"n": 2}
    await source.close()
    await other.close()
    assert not any(alive(pid) for pid in servers) and marked(mark) == set()
