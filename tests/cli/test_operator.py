"""A run that others drive, take over, or leave alone, at the command line: each process is a real one."""

from __future__ import annotations

import json
import os
import select
import signal
from subprocess import Popen

from tests.cli.command import Command

from sopwith.cli.exit_code import ExitCode

PAY = """\
schema: sopwith/procedure/1
id: pay
name: 付款
output: {type: object, required: [receipt], properties: {receipt: {type: string}}}
start: pay
steps:
  pay: {name: 付款, tool: bank.pay, with: {amount: 5}, as: paid, timeout: 60s, next: tell}
  tell: {name: 告知, end: complete, result: {receipt: "${paid.receipt}"}}
"""

TOOLS = '''\
import os
import time
from pathlib import Path

from sopwith import tool


@tool(name="bank.pay", effect="irreversible")
async def pay(amount: int) -> dict[str, str]:
    """Pay."""
    with Path("paid").open("a", encoding="utf-8") as ledger:
        ledger.write("one\\n")
    ready = os.environ.get("READY")
    if ready is not None:
        import asyncio

        os.write(int(ready), b"!")
        await asyncio.sleep(60)
    if os.environ.get("LOST"):
        raise ConnectionError("the line is dead")
    return {"receipt": "R-1"}
'''

SAY = """\
schema: sopwith/procedure/1
id: say
inputs: {request: {type: string, from: run.request}}
start: look
steps:
  look: {tool: box.look, as: seen, next: out}
  out: {end: escalate}
"""
SAYS = '''\
from sopwith import tool


@tool(name="box.look")
def look() -> str:
    """Look."""
    return "\\x1b]0;pwn\\x07 \\x9b2J"
'''


def desk(project: Command) -> Command:
    project.write("pay.yaml", PAY)
    project.write("tools.py", TOOLS)
    project.write("policy.yaml", "allow_writes: [bank.pay]\n")
    return project


def paid(project: Command) -> int:
    return len((project.folder / "paid").read_text(encoding="utf-8").splitlines())


def started(project: Command) -> tuple[Popen[str], str]:
    """A process that is in the middle of the payment, and the id of its run."""
    reading, writing = os.pipe()
    try:
        process = project.start("run", "pay.yaml", "--request", "go", ready=writing)
        assert select.select([reading], [], [], 30)[0], "the payment was not reached"
    finally:
        os.close(reading)
        os.close(writing)
    return process, project("runs", "--json").document[0]["run"]


def test_a_run_is_cancelled_in_the_process_that_drives_it(project: Command) -> None:
    process, run = started(desk(project))
    busy = project("resume", run)
    assert busy.code == ExitCode.USAGE
    assert "is being driven by process" in busy.err
    assert "sopwith cancel" in busy.err
    cancelled = project("cancel", run, "--by", "alice", "--why", "a mistake", "--json")
    assert cancelled.document == {"run": run, "status": "cancelled", "open": ["bank.pay"]}
    _, err = process.communicate(timeout=30)
    assert process.returncode == ExitCode.INTERRUPTED, err
    assert "由 alice 取消: a mistake" in err
    assert "alice: a mistake" in project("trace", run).out
    assert project("cancel", run).code == ExitCode.USAGE
    assert project("takeover", run, "--by", "alice", "--happened", "yes").code == ExitCode.INTERRUPTED
    assert project("trace", run, "--jsonl").out.count('"call.reconciled"') == 1
    assert project("takeover", run, "--by", "alice", "--happened", "no").code == ExitCode.USAGE
    assert paid(project) == 1


def test_a_killed_run_is_free_and_a_person_takes_it_over(project: Command) -> None:
    process, run = started(desk(project))
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30)
    (alert,) = project("watchdog", "--json").document
    assert (alert["code"], alert["run"]) == ("run.orphaned", run)
    assert project("watchdog", "--json").document == []
    started_only = project("trace", run).out
    assert "bank.pay ? started, no answer, outcome unknown" in " ".join(started_only.split())
    assert "result: bank.pay: started, no answer, outcome unknown" in started_only
    resumed = project("resume", run)
    assert resumed.code == ExitCode.ESCALATED
    assert "outcome unknown" in resumed.err or "结果未知" in resumed.err
    assert "■" not in resumed.err
    project("audit", "export", run, "-o", "run.html")
    path = (
        (project.folder / "run.html")
        .read_text(encoding="utf-8")
        .partition("</table>")[2]
        .partition("</table>")[0]
    )
    assert "call.started" in path and ("no answer" in path or "没有应答" in path)
    assert paid(project) == 1
    refused = project("resume", run)
    assert refused.code == ExitCode.USAGE
    assert f"sopwith takeover {run} --to" in refused.err
    taken = project("takeover", run, "--by", "alice", "--plain")
    assert taken.code == ExitCode.SUSPENDED and "bank.pay ?" not in taken.err
    unsaid = project("takeover", run, "--by", "alice", "--to", "tell")
    assert unsaid.code == ExitCode.USAGE
    assert "--happened yes" in unsaid.err
    receipt = json.dumps({"receipt": "R-7"})
    done = project(
        "takeover",
        run,
        "--by",
        "alice",
        "--happened",
        "yes",
        "--set",
        f"paid={receipt}",
        "--to",
        "tell",
        "--json",
    )
    assert done.code == ExitCode.OK, done.err
    assert done.document["outcome"]["output"] == {"receipt": "R-7"}
    assert paid(project) == 1
    trace = project("trace", run, "--lang", "zh").out
    assert "alice" in trace
    assert "接管" in trace
    assert project("audit", "verify", run).code == ExitCode.OK


def test_what_has_not_happened_is_done_once_more(project: Command) -> None:
    lost = desk(project).process("run", "pay.yaml", "--request", "go", LOST="1")
    assert lost.code == ExitCode.ESCALATED
    run = project("runs", "--json").document[0]["run"]
    done = project("takeover", run, "--by", "alice", "--happened", "no", "--to", "pay", "--json")
    assert done.code == ExitCode.OK, done.err
    assert paid(project) == 2


def test_the_watchdog_refuses_a_bad_duration(project: Command) -> None:
    refused = project("watchdog", "--every", "often")
    assert refused.code == ExitCode.USAGE
    assert "--every often" in refused.err


def test_nothing_that_a_tool_says_commands_the_terminal(project: Command) -> None:
    project.write("say.yaml", SAY)
    project.write("tools.py", SAYS)
    project("run", "say.yaml", "--request", "\x1b[2Jclear\u202e")
    run = project("runs", "--json").document[0]["run"]
    for shown in (project("trace", run), project("trace", run, "--json"), project("runs")):
        assert not set(shown.out + shown.err) & {"\x1b", "\x9b", "\u202e", "\x07"}
    assert "\\u001b" in project("trace", run).out
