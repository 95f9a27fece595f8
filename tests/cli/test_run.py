"""`sopwith run`, `resume`, `runs`, `trace`: outcomes, exit codes, streams."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.cli.command import PROGRAM, Command

from sopwith.cli.exit_code import ExitCode

FIND = ("run", "procedure.yaml", "--request", "Where is my order A-1001?")
REMIND = ("run", "procedure.yaml", "--request", "Order A-1002 has not come")

TRIAGE = """
schema: sopwith/procedure/1
id: triage
name: Triage
inputs:
  request: {type: string, from: run.request}
output:
  type: object
  required: [topic]
  properties:
    topic: {type: string}
start: sort
steps:
  sort:
    name: 分类
    do: say what it is about
    uses: [inputs.request]
    returns: {enum: [account, fault]}
    as: topic
    next:
      - to: money
        judge: it is also about money
      - otherwise: reply
  reply:
    name: Reply
    answer: one friendly sentence
    uses: [topic]
    end: complete
    result:
      topic: "${topic}"
  money:
    name: Money
    end: escalate
"""


@pytest.fixture
def triage(sopwith: Command) -> Command:
    """A procedure that asks a model for a value, a choice, and an answer."""
    sopwith.write("procedure.yaml", TRIAGE)
    sopwith.write("script.jsonl", '{"reply": "B", "confidence": 0.93}\n"B"\n"We are looking into it."\n')
    sopwith.write("none.jsonl", "")
    return sopwith


ASK = ("run", "procedure.yaml", "--request", "it is broken")


def test_a_completed_run_prints_its_output_and_nothing_else_on_stdout(project: Command) -> None:
    ran = project(*FIND)
    assert ran.code == ExitCode.OK
    assert json.loads(ran.out) == {
        "order_id": "A-1001",
        "message": "Order A-1001 is shipped and expected on 2026-12-03.",
    }
    assert "orders.find ✓" in ran.err
    assert "sopwith trace " in ran.err


def test_a_line_a_step_says_number_name_choice_and_confidence(triage: Command) -> None:
    ran = triage(*ASK, "--model", "scripted:script.jsonl")
    assert ran.code == ExitCode.OK
    assert ran.out.splitlines() == ["We are looking into it.", '{"topic": "fault"}']
    first, second = ran.err.splitlines()[:2]
    assert first.split()[:2] == ["1", "分类"]
    assert "A–B → fault (0.93); A–B → reply" in first
    assert "answer, 23 characters" in second


def test_a_role_has_its_own_model_on_the_command_line(triage: Command) -> None:
    triage.write("judge.jsonl", '"B"\n"B"\n')
    triage.write("answer.jsonl", '"Soon."\n')
    ran = triage(
        *ASK, "--model", "scripted:none.jsonl", "--model", "judge=scripted:judge.jsonl",
        "--model", "answer=scripted:answer.jsonl", "--jsonl",
    )  # fmt: skip
    assert ran.code == ExitCode.OK
    events = [json.loads(line) for line in ran.out.splitlines()]
    assert events[0]["data"]["models"] == {"answer": "scripted:answer.jsonl", "judge": "scripted:judge.jsonl"}
    asked = [event["data"]["model"] for event in events if event["kind"] == "model.requested"]
    assert asked == ["scripted:judge.jsonl", "scripted:judge.jsonl", "scripted:answer.jsonl"]


def test_a_model_of_a_step_that_nobody_connected_is_told(triage: Command) -> None:
    text = (triage.folder / "procedure.yaml").read_text(encoding="utf-8")
    triage.write("procedure.yaml", text + "model: big\n")
    ran = triage(*ASK, "--model", "scripted:script.jsonl")
    assert ran.code == ExitCode.USAGE and "no model is connected as 'big'" in ran.err
    assert (
        triage(*ASK, "--model", "scripted:none.jsonl", "--model", "big=scripted:script.jsonl").code
        == ExitCode.OK
    )


def test_lines_are_aligned_also_with_chinese_names(triage: Command) -> None:
    from rich.cells import cell_len

    lines = triage(*ASK, "--model", "scripted:script.jsonl").err.splitlines()[:2]
    assert len({cell_len(line) for line in lines}) == 1


def test_json_is_one_document_with_the_true_values(triage: Command) -> None:
    ran = triage(
        "run", "procedure.yaml", "--request", "call 13812345678", "--model", "scripted:script.jsonl", "--json"
    )
    assert ran.code == ExitCode.OK
    assert ran.document["outcome"]["output"] == {"topic": "fault"}
    assert [step["step"] for step in ran.document["path"]] == ["sort", "reply"]
    assert ran.document["usage"]["model_calls"] == 3


def test_jsonl_streams_every_event(triage: Command) -> None:
    ran = triage(*ASK, "--model", "scripted:script.jsonl", "--jsonl")
    events = [json.loads(line) for line in ran.out.splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert (events[0]["kind"], events[-1]["kind"]) == ("run.started", "run.finished")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (FIND, ExitCode.OK),
        (("run", "procedure.yaml", "--request", "hello"), ExitCode.ESCALATED),
        ((*REMIND, "--answer", "n"), ExitCode.DENIED),
        ((*FIND, "--budget-tool-calls", "0"), ExitCode.EXHAUSTED),
        (REMIND, ExitCode.SUSPENDED),
        ((*REMIND, "--answer", "y"), ExitCode.OK),
    ],
    ids=["completed", "escalated", "denied", "exhausted", "suspended", "answered"],
)
def test_the_exit_code_is_the_outcome(project: Command, arguments: tuple[str, ...], code: ExitCode) -> None:
    assert project(*arguments).code == code


def test_a_question_that_nobody_answers_suspends_and_says_how_to_go_on(project: Command) -> None:
    ran = project(*REMIND)
    run = project("runs", "--json").document[0]["run"]
    assert f"sopwith approve {run} --by NAME" in ran.err
    assert f"sopwith deny {run} --by NAME --why" in ran.err
    assert "orders.remind" in ran.err
    assert not (project.folder / "reminders.jsonl").exists()
    resumed = project("resume", run[:6], "--answer", "yes", "--by", "li.lei")
    assert resumed.code == ExitCode.OK
    assert "approved by li.lei" in resumed.err
    assert len((project.folder / "reminders.jsonl").read_text(encoding="utf-8").splitlines()) == 1
    again = project("resume", run, "--answer", "yes")
    assert again.code == ExitCode.USAGE
    assert "has ended" in again.err


def test_a_suspended_run_stays_so_until_somebody_answers(project: Command) -> None:
    project(*REMIND)
    run = project("runs", "--json").document[0]["run"]
    assert project("resume", run).code == ExitCode.SUSPENDED
    wrong = project("resume", run, "--answer", "perhaps")
    assert wrong.code == ExitCode.USAGE
    assert f"answer (y or n): sopwith resume {run} --answer …" in wrong.err
    assert project("runs", "--json").document[0]["status"] == "suspended"


def test_resume_finds_the_files_of_the_run_from_another_folder(
    project: Command, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    project(*REMIND)
    run = project("runs", "--json").document[0]["run"]
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert (
        project("resume", run, "--answer", "y", "--data", str(project.folder / ".sopwith")).code
        == ExitCode.OK
    )


def test_a_resumed_run_keeps_to_the_procedure_that_it_was_started_with(project: Command) -> None:
    project(*REMIND)
    file = project.folder / "procedure.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("was reminded.", "knows."), encoding="utf-8")
    run = project("runs", "--json").document[0]["run"]
    ran = project("resume", run, "--answer", "y")
    assert json.loads(ran.out)["message"].endswith("was reminded.")
    assert ran.err.split()[0] == "1-1"


def test_answers_are_typed_at_the_terminal(project: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sopwith.cli.terminal.Terminal.asks", True)
    typed = iter(["perhaps", "y"])
    monkeypatch.setattr("builtins.input", lambda: next(typed))
    ran = project(*REMIND)
    assert ran.code == ExitCode.OK
    assert "[y or n] > " in ran.err
    assert 'May orders.remind be called with {"order_id": "A-1002"}' in ran.err


def test_end_of_input_at_the_question_leaves_the_run_suspended(
    project: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed() -> str:
        raise EOFError

    monkeypatch.setattr("sopwith.cli.terminal.Terminal.asks", True)
    monkeypatch.setattr("builtins.input", closed)
    assert project(*REMIND).code == ExitCode.SUSPENDED


def test_a_write_that_is_allowed_on_the_command_line_needs_no_policy(project: Command) -> None:
    (project.folder / "policy.yaml").unlink()
    assert project(*REMIND).code == ExitCode.DENIED
    assert project(*REMIND, "--allow", "orders.remind").code == ExitCode.OK
    unknown = project(*REMIND, "--allow", "orders.delete")
    assert unknown.code == ExitCode.USAGE
    assert "orders.find" in unknown.err


def test_trace_tells_the_path_the_calls_and_the_state(project: Command) -> None:
    project(*REMIND, "--answer", "y", "--by", "han.meimei")
    ran = project("trace")
    assert ran.code == ExitCode.OK
    for part in (
        "status: completed",
        'call: orders.remind {"order_id": "A-1002"} (bound)',
        "judged: ask, ask_before_reminding",
        "answered: han.meimei: true",
        "check: ✓ reminder.ok",
        '"owner": "find"',
        '"kind": "completed"',
    ):
        assert part in ran.out, ran.out
    document = project("trace", "--json").document
    assert document["context"]["output"]["order_id"] == "A-1002"
    assert [step["step"] for step in document["path"]] == ["find", "remind", "reminded"]


def test_trace_prints_what_the_model_was_sent_and_hides_what_is_private(triage: Command) -> None:
    triage("run", "procedure.yaml", "--request", "call 13812345678", "--model", "scripted:script.jsonl")
    prompts = triage("trace", "--prompts")
    assert "request: call <phone:1>" in prompts.out
    assert "--- reply\nB" in prompts.out
    whole = triage("trace", "--jsonl").out + triage("trace").out + prompts.out
    assert "13812345678" not in whole
    assert len(triage("trace", "--prompts", "--json").document) == 3


def test_trace_events_fit_the_published_schema(triage: Command) -> None:
    import jsonschema_rs

    triage(*ASK, "--model", "scripted:script.jsonl")
    schema = jsonschema_rs.validator_for(triage("schema", "events").document)
    for line in triage("trace", "--jsonl").out.splitlines():
        assert [error.message for error in schema.iter_errors(json.loads(line))] == []


def test_a_free_run_has_a_line_for_each_call(project: Command) -> None:
    call = {"name": "orders__find", "arguments": {"text": "A-1001"}}
    result = {"order_id": "A-1001", "message": "It is shipped."}
    end = {"name": "finish", "arguments": {"outcome": "complete", "result": result}}
    project.write("free.jsonl", "\n".join(json.dumps(line) for line in (call, call, end)))
    ran = project(*FIND, "--grip", "free", "--model", "scripted:free.jsonl")
    assert ran.code == ExitCode.OK, ran.err
    assert json.loads(ran.out) == result
    assert ran.err.count("orders.find ✓") == 2
    assert "A-1001 · It is shipped." in ran.err
    assert len(project("trace", "--json").document["path"]) == 3


def test_the_request_may_come_from_a_file_or_stdin(project: Command) -> None:
    project.write("request.txt", "A-1001?")
    assert project("run", "procedure.yaml", "--request-file", "request.txt").code == ExitCode.OK
    assert project("run", "procedure.yaml", "--request-file", "-", stdin="A-1001?").code == ExitCode.OK
    assert project("run", "procedure.yaml").code == ExitCode.USAGE
    assert project("run", "procedure.yaml", "--request", "x", "--request-file", "-").code == ExitCode.USAGE


INPUTS = """
schema: sopwith/procedure/1
id: sum
inputs:
  many: {type: integer}
  name: {type: string}
output:
  type: object
  required: [text]
  properties: {text: {type: string}}
start: end
steps:
  end:
    end: complete
    result: {text: "${inputs.name} ${string(inputs.many)}"}
"""


def test_inputs_are_read_by_their_schema(sopwith: Command) -> None:
    sopwith.write("p.yaml", INPUTS)
    ran = sopwith("run", "p.yaml", "--inputs", "many=3", "--inputs", "name=7", "--json")
    assert ran.document["outcome"]["output"] == {"text": "7 3"}
    sopwith.write("inputs.json", '{"many": 4, "name": "x"}')
    assert sopwith("run", "p.yaml", "--inputs-file", "inputs.json").code == ExitCode.OK
    assert sopwith("run", "p.yaml", "--inputs", "many=three", "--inputs", "name=7").code == ExitCode.USAGE
    assert sopwith("run", "p.yaml", "--inputs", "many").code == ExitCode.USAGE
    unknown = sopwith("run", "p.yaml", "--inputs", "many=3", "--inputs", "name=7", "--inputs", "colour=red")
    assert unknown.code == ExitCode.USAGE


def test_messages_are_chinese_where_they_are_to_be(project: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "已完成" in project(*FIND, "--lang", "zh").err
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert "已完成" in project(*FIND).err
    monkeypatch.setenv("SOPWITH_LANG", "en")
    assert "completed" in project(*FIND).err


def test_no_escape_codes_off_a_terminal(project: Command) -> None:
    ran = project.process(*REMIND, "--answer", "y")
    assert ran.code == ExitCode.OK
    assert "\x1b" not in ran.out + ran.err


SLOW = """
import os
import time
from dataclasses import dataclass
from sopwith.tools import tool

@dataclass
class Order:
    order_id: str
    status: str
    expected: str

@dataclass
class Reminder:
    ok: bool

@tool(name="orders.find")
def find(text: str) -> Order:
    '''Find, and where a test waits for it, never end.'''
    if "READY" in os.environ:
        os.write(int(os.environ["READY"]), b"ready")
        while True:
            time.sleep(0.01)
    return Order("A-1001", "shipped", "2026-12-03")

@tool(name="orders.remind", effect="write")
def remind(order_id: str) -> Reminder:
    '''Remind.'''
    return Reminder(True)
"""

posix = pytest.mark.skipif(os.name != "posix", reason="signals and inherited descriptors")


@pytest.fixture
def slow(project: Command) -> Command:
    """A project whose tool says that it has begun, and does not end."""
    project.write("tools.py", SLOW)
    return project


@contextmanager
def in_the_tool(slow: Command, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """The command, once its tool has begun. If it ends before that, the test fails and does not wait."""
    reading, writing = os.pipe()
    try:
        with slow.start(*arguments, ready=writing) as started:
            os.close(writing)
            if os.read(reading, 5) != b"ready":
                pytest.fail(started.communicate(timeout=60)[1])
            yield started
    finally:
        os.close(reading)


@posix
@pytest.mark.parametrize("extra", [(), ("--json",)], ids=["plain", "json"])
def test_ctrl_c_leaves_a_run_that_can_be_resumed(slow: Command, extra: tuple[str, ...]) -> None:
    with in_the_tool(slow, *FIND, *extra) as started:
        started.send_signal(signal.SIGINT)
        out, err = started.communicate(timeout=60)
    assert started.returncode == ExitCode.INTERRUPTED, err
    assert "Traceback" not in err
    run = slow("runs", "--json").document[0]["run"]
    assert f"sopwith resume {run}" in err
    assert not extra or json.loads(out) == {"run": run, "status": "interrupted"}
    ran = slow("resume", run)
    assert ran.code == ExitCode.OK, ran.err
    assert json.loads(ran.out)["order_id"] == "A-1001"


@posix
def test_a_process_that_is_killed_leaves_a_folder_that_works(slow: Command) -> None:
    with in_the_tool(slow, *FIND) as started:
        started.kill()
        started.communicate(timeout=60)
    assert slow(*FIND).code == ExitCode.OK
    assert slow("runs", "--json").document[0]["status"] == "completed"


def test_runs_lists_the_latest_first(project: Command) -> None:
    project(*FIND)
    project(*REMIND)
    listed = project("runs").out.splitlines()
    assert [line.split()[2] for line in listed[1:]] == ["suspended", "completed"]
    assert len(project("runs", "--limit", "1", "--json").document) == 1


def test_the_data_folder_keeps_out_of_repositories_and_away_from_others(project: Command) -> None:
    project("run", "procedure.yaml", "--request", "call 13812345678 about A-1001")
    data = project.folder / ".sopwith"
    assert (data / ".gitignore").read_text() == "*\n"
    assert (data / "vault.db.key").stat().st_mode & 0o777 == 0o600
    assert b"13812345678" not in b"".join(p.read_bytes() for p in data.iterdir() if p.is_file())


def test_another_data_folder_is_named_in_what_to_type_next(project: Command) -> None:
    ran = project(*FIND, "--data", "elsewhere")
    assert "--data elsewhere" in ran.err
    assert project("runs", "--data", "elsewhere").code == ExitCode.OK


@posix
@pytest.mark.parametrize("extra", [("--jsonl",), ("--json",), ()], ids=["lines", "json", "plain"])
@pytest.mark.parametrize("closed", ["stdout", "stderr"])
def test_a_run_goes_on_when_nobody_reads_what_it_prints(
    project: Command, extra: tuple[str, ...], closed: str
) -> None:
    with project.start(*REMIND, "--answer", "y", *extra) as started:
        getattr(started, closed).close()  # as `| head` does, before the first line
        other = (started.stderr if closed == "stdout" else started.stdout).read()
    assert started.returncode == ExitCode.OK
    assert "Error" not in other and "Traceback" not in other
    assert project("runs", "--json").document[0]["status"] == "completed"


@posix
def test_the_exit_code_is_that_of_the_run_also_when_nobody_reads(project: Command) -> None:
    with project.start(*REMIND, "--jsonl") as started:
        assert started.stdout is not None and started.stderr is not None
        started.stdout.close()
        assert "subscriber" not in started.stderr.read()
    assert started.returncode == ExitCode.SUSPENDED


@posix
@pytest.mark.parametrize(
    "arguments", [("runs",), ("trace", "--jsonl"), ("--help",), ("--version",), ("schema", "procedure")]
)
def test_reading_only_the_head_of_what_a_verb_prints_is_no_failure(
    project: Command, arguments: tuple[str, ...]
) -> None:
    project(*FIND)
    with project.start(*arguments) as started:
        assert started.stdout is not None and started.stderr is not None
        started.stdout.close()
        assert started.stderr.read() == ""
    assert started.returncode == ExitCode.OK


@posix
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_a_stream_that_is_closed_from_the_start_goes_nowhere(project: Command, closed: str) -> None:
    line = shlex.join([*PROGRAM, *FIND])
    ran = subprocess.run(["sh", "-c", f"{line} {closed}"], cwd=project.folder, capture_output=True, text=True)
    assert ran.returncode == ExitCode.OK, ran.stderr
    assert "Traceback" not in ran.stderr
    assert project("runs", "--json").document[0]["status"] == "completed"
