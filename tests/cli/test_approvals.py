"""`approve`, `deny`, `approvals` and dry runs, at the command line."""

from __future__ import annotations

import json
import time

import pytest
from tests.cli.command import Command
from tests.cli.screen import at_a_terminal

from sopwith.cli.exit_code import ExitCode

REMIND = ("run", "procedure.yaml", "--request", "Where is A-1002?", "--principal", "bob")
POLICY = """\
rules:
  - id: ask_before_reminding
    tool: orders.remind
    verdict: ask
    approval: {roles: [manager], count: 2, four_eyes: true, expires: 2h}
people:
  bob: [manager]
  han: [manager]
  mei: [manager, cfo]
  eve: clerk
"""


@pytest.fixture
def waiting(project: Command) -> tuple[Command, str]:
    """A project with a run that waits for two managers, and the run's id."""
    project.write("policy.yaml", POLICY)
    ran = project(*REMIND)
    assert ran.code == ExitCode.SUSPENDED
    assert "who may: manager, not bob, 2 different people" in ran.err
    return project, project("runs", "--json").document[0]["run"]


def reminders(project: Command) -> int:
    file = project.folder / "reminders.jsonl"
    return len(file.read_text(encoding="utf-8").splitlines()) if file.exists() else 0


def test_two_people_approve_and_the_run_goes_on(waiting: tuple[Command, str]) -> None:
    project, run = waiting
    assert f"sopwith approve {run} --by NAME" in project("resume", run).err
    first = project("approve", run[:6], "--by", "han")
    assert (first.code, reminders(project)) == (ExitCode.SUSPENDED, 0)
    assert "2 different people, approved so far by han" in first.err
    assert project("runs", "--json").document[0]["status"] == "suspended"
    second = project("approve", run, "--by", "mei")
    assert (second.code, reminders(project)) == (ExitCode.OK, 1)
    assert json.loads(second.out)["order_id"] == "A-1002"
    trace = project("trace").out
    assert "approved by han; approved by mei; orders.remind ✓" in " ".join(trace.split())
    assert "nothing waits" in project("approvals").err


@pytest.mark.parametrize(
    ("by", "says"),
    [
        ("bob", "'bob' has asked for this or changed it, and may not approve it"),
        ("eve", "'eve' has none of the roles: manager"),
        ("zoe", "the policy does not know 'zoe'"),
    ],
)
@pytest.mark.parametrize("verb", [("approve",), ("resume", "--answer", "true")], ids=["approve", "resume"])
def test_whoever_may_not_is_told_so_and_changes_nothing(
    waiting: tuple[Command, str], verb: tuple[str, ...], by: str, says: str
) -> None:
    project, run = waiting
    before = project("trace", "--jsonl").out
    ran = project(verb[0], run, *verb[1:], "--by", by)
    assert ran.code == ExitCode.USAGE
    assert says in ran.err
    assert project("trace", "--jsonl").out == before


def test_whoever_names_nobody_is_told_who_may(
    waiting: tuple[Command, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project, run = waiting
    monkeypatch.setattr("getpass.getuser", lambda: "root")
    ran = project("approve", run)
    assert ran.code == ExitCode.USAGE
    assert "--by NAME; who may: bob, han, mei" in ran.err and "eve" not in ran.err
    assert "可回答者：bob、han、mei" in project("approve", run, "--lang", "zh").err


@pytest.mark.parametrize(
    "verb",
    [("approve",), ("deny", "--why", "no"), ("takeover",), ("cancel",), ("resume", "--answer", "true")],
    ids=lambda verb: verb[0],
)
def test_an_empty_name_is_nobody(waiting: tuple[Command, str], verb: tuple[str, ...]) -> None:
    project, run = waiting
    before = project("trace", "--jsonl").out
    ran = project(verb[0], run, *verb[1:], "--by", " ")
    assert ran.code == ExitCode.USAGE and "--by is empty" in ran.err
    assert project("trace", "--jsonl").out == before


def test_a_refusal_without_a_reason_is_none(waiting: tuple[Command, str]) -> None:
    project, run = waiting
    ran = project("deny", run, "--by", "han", "--why", "")
    assert ran.code == ExitCode.USAGE and "--why is empty" in ran.err
    assert project("runs", "--json").document[0]["status"] == "suspended"


def test_an_expired_approval_says_so_until_somebody_votes_again(
    waiting: tuple[Command, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project, run = waiting
    assert "until" in project("approvals").out and "expired" not in project("approvals").out
    began = time.time_ns
    monkeypatch.setattr("time.time_ns", lambda: began() + 3 * 3600 * 10**9)
    assert "expired" in project("approvals").out
    project("approve", run, "--by", "han")
    assert "the approval had expired: it is asked for again" in project("approve", run, "--by", "mei").err
    counted = project("approve", run, "--by", "mei")
    assert counted.code == ExitCode.SUSPENDED
    assert "approved so far by mei" in counted.err and "had expired: it is asked" not in counted.err


@pytest.mark.parametrize(("by", "asked"), [("eve", False), ("bob", False), ("nobody", False), ("han", True)])
def test_at_a_terminal_only_who_may_approve_is_asked(project: Command, by: str, asked: bool) -> None:
    project.write("policy.yaml", POLICY.replace("count: 2, ", ""))
    with at_a_terminal(project, *REMIND, "--by", by, "--plain") as screen:
        if asked:
            screen.read_until(r"\[y or n\] > ")
            screen.press(b"y\n")
        code = screen.read_all()
    said = " ".join(screen.lines)
    assert (code, reminders(project)) == ((ExitCode.OK, 1) if asked else (ExitCode.SUSPENDED, 0))
    assert ("[y or n]" in said, "approve: sopwith approve" in said) == (asked, not asked)


def test_a_second_vote_of_the_same_person_is_refused(waiting: tuple[Command, str]) -> None:
    project, run = waiting
    project("approve", run, "--by", "han")
    again = project("approve", run, "--by", "han", "--lang", "zh")
    assert again.code == ExitCode.USAGE
    assert "“han”已经批准过" in again.err


def test_a_refusal_says_who_and_why(waiting: tuple[Command, str]) -> None:
    project, run = waiting
    assert project("deny", run, "--by", "han").code == ExitCode.USAGE
    ran = project("deny", run, "--by", "han", "--why", "wrong order", "--json")
    assert (ran.code, reminders(project)) == (ExitCode.DENIED, 0)
    packet = ran.document["outcome"]["packet"]
    assert packet["reason"].endswith("the call of orders.remind was not approved by han: wrong order")
    assert packet["error"]["code"] == "denied"
    assert "answered: han: false · wrong order" in project("trace").out


def test_what_waits_is_listed_with_all_that_an_approver_wants_to_know(waiting: tuple[Command, str]) -> None:
    project, run = waiting
    project("approve", run, "--by", "mei")
    (each,) = project("approvals", "--json").document
    assert each["until"] - each["since"] == pytest.approx(7200e6, abs=1e6)
    assert {name: each[name] for name in ("run", "tool", "arguments", "rule", "roles", "count", "given")} == {
        "run": run,
        "tool": "orders.remind",
        "arguments": {"order_id": "A-1002"},
        "rule": "ask_before_reminding",
        "roles": ["manager"],
        "count": 2,
        "given": ["mei"],
    }
    assert each["principal"] == {"id": "bob", "roles": []}
    shown = project("approvals", "--lang", "zh").out
    assert 'orders.remind {"order_id": "A-1002"}' in shown
    assert "可批准者：manager, bob 除外, 需 2 位不同的人, 已批准：mei" in shown


def test_a_run_that_asks_something_else_is_not_approved(project: Command) -> None:
    project.write(
        "ask.yaml",
        'schema: sopwith/procedure/1\nid: x\nstart: a\nsteps:\n  a: {ask: "Which?", next: b}\n  b: {end: escalate}\n',
    )
    ran = project("run", "ask.yaml", "--request", "go")
    assert "sopwith resume" in ran.err
    assert project("approvals").out == ""
    run = project("runs", "--json").document[0]["run"]
    refused = project("approve", run)
    assert refused.code == ExitCode.USAGE
    assert "does not wait for an approval" in refused.err


def test_a_policy_that_has_changed_asks_again_and_says_so(waiting: tuple[Command, str]) -> None:
    project, run = waiting
    project("approve", run, "--by", "han")
    project.write("policy.yaml", POLICY.replace("expires: 2h", "expires: 1h"))
    ran = project("approve", run, "--by", "mei")
    assert (ran.code, reminders(project)) == (ExitCode.SUSPENDED, 0)
    assert "what was approved, or the rule, has changed: it is asked for again" in ran.err
    project("approve", run, "--by", "han")
    assert project("approve", run, "--by", "mei").code == ExitCode.OK


def test_a_dry_run_writes_nothing_and_says_so(project: Command) -> None:
    project.write("policy.yaml", POLICY)
    ran = project(*REMIND, "--dry-run")
    assert (ran.code, reminders(project)) == (ExitCode.OK, 0)
    assert "DRY RUN (nothing was written): completed" in ran.err
    assert "orders.remind (dry), would ask: ask_before_reminding" in ran.err
    assert json.loads(ran.out)["order_id"] == "A-1002"
    trace = project("trace").out
    assert "status: completed  DRY RUN" in trace
    assert "made up, not called (dry run)" in trace
    assert project("trace", "--json").document["dry_run"] is True
    document = project(*REMIND, "--dry-run", "--json").document
    assert (document["status"], document["dry_run"]) == ("completed", True)
    assert "试运行" in project(*REMIND, "--dry-run", "--lang", "zh").err
