"""What is wrong in what was given ends in one clear message with a remedy and the right exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.command import Command, Ran

from sopwith.cli.exit_code import ExitCode
from sopwith.models.catalogue import DEFAULT, KNOWN

RUN = ("run", "procedure.yaml", "--request", "Where is my order A-1001?")


def assert_one_message(ran: Ran, code: ExitCode, *parts: str) -> None:
    """The command failed with `code`, says `parts`, and shows nothing of its inside."""
    assert ran.code == code, ran.err
    assert ran.out == ""
    assert "Traceback" not in ran.err
    assert "error[SW" in ran.err
    for part in parts:
        assert part in ran.err


def edit(project: Command, before: str, after: str, file: str = "procedure.yaml") -> None:
    """Replace a part of a file of the project."""
    path = project.folder / file
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")


def test_broken_yaml(project: Command) -> None:
    edit(project, "start: find", "start: [find")
    assert_one_message(project(*RUN), ExitCode.INVALID, "procedure.yaml:", "help: ")


def test_an_unknown_field_and_what_was_meant(project: Command) -> None:
    edit(project, "start: find", "strat: find")
    assert_one_message(project(*RUN), ExitCode.INVALID, "strat", "start")


def test_a_missing_tool(project: Command) -> None:
    edit(project, "tool: orders.find", "tool: orders.fnid")
    assert_one_message(project(*RUN), ExitCode.INVALID, "orders.fnid", "orders.find")


def test_a_file_that_is_not_there(project: Command) -> None:
    assert_one_message(project("run", "nothing.yaml", "--request", "x"), ExitCode.USAGE, "nothing.yaml")
    assert_one_message(project(*RUN, "--tools", "no.py"), ExitCode.USAGE, "no.py")
    assert_one_message(project(*RUN, "--policy", "no.yaml"), ExitCode.USAGE, "no.yaml")


def test_a_tools_file_that_cannot_be_imported(project: Command) -> None:
    project.write("tools.py", "import nothing_of_this_name\n")
    assert_one_message(project(*RUN), ExitCode.INTERNAL, "tools.py:1", "nothing_of_this_name")


def test_a_policy_that_cannot_be_read(project: Command) -> None:
    edit(project, "verdict: ask", "verdict: maybe", "policy.yaml")
    assert_one_message(project(*RUN), ExitCode.USAGE, "policy.yaml:")


def test_an_mcp_server_that_does_not_start(project: Command) -> None:
    servers = {"broken": {"command": sys.executable, "args": ["-c", "raise SystemExit('no licence')"]}}
    project.write(".mcp.json", json.dumps({"mcpServers": servers}))
    done = project(*RUN)
    assert done.code == ExitCode.OK, "no step calls a tool of it"
    checked = project("check", "procedure.yaml", "--json", "--lang", "zh")
    assert checked.code == ExitCode.OK
    assert [told["code"] for told in checked.document["diagnostics"]] == ["SW439"]
    told = project("check", "procedure.yaml").out
    assert "warning[SW439]" in told and "no licence" in told
    edit(project, "orders.find", "broken.find")
    assert_one_message(project(*RUN), ExitCode.INTERNAL, "broken", "no licence")
    servers = {"broken": {"command": "no-such-program-anywhere"}}
    project.write(".mcp.json", json.dumps({"mcpServers": servers}))
    assert_one_message(project(*RUN), ExitCode.INTERNAL, "broken", "Install the command")
    listed = project("tools", "list")
    assert listed.code == ExitCode.OK and "orders.find" in listed.out and "warning[SW439]" in listed.err
    assert_one_message(project("tools", "show", "broken.x"), ExitCode.INTERNAL, "Install the command")


@pytest.fixture
def with_a_model(project: Command) -> Command:
    """The project with a step that needs a model."""
    edit(
        project, "    end: complete\n    result:", "    answer: one sentence\n    end: complete\n    result:"
    )
    return project


def test_a_model_that_is_not_here(
    with_a_model: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOPWITH_MODEL_DIR", str(tmp_path / "models"))
    assert_one_message(with_a_model(*RUN), ExitCode.USAGE, f"sopwith model pull {DEFAULT}")


def test_a_model_file_with_the_wrong_content(
    with_a_model: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOPWITH_MODEL_DIR", str(tmp_path / "models"))
    file = KNOWN[DEFAULT].file
    with_a_model.write(f"models/{file}", "GGUF" + "x" * 5000)
    assert_one_message(with_a_model(*RUN), ExitCode.USAGE, file, "sopwith model pull")


def test_a_model_that_nobody_knows(with_a_model: Command) -> None:
    assert_one_message(with_a_model(*RUN, "--model", "gpt"), ExitCode.USAGE, "'gpt'", "openai:MODEL")
    assert_one_message(with_a_model(*RUN, "--model", "scripted:no.jsonl"), ExitCode.USAGE, "no.jsonl")
    with_a_model.write("bad.jsonl", "oops\n")
    assert_one_message(with_a_model(*RUN, "--model", "scripted:bad.jsonl"), ExitCode.USAGE, "bad.jsonl:1")


def test_no_model_is_opened_where_none_is_needed(project: Command) -> None:
    assert project(*RUN, "--model", "local:no-such-file.gguf").code == ExitCode.OK


def test_a_model_that_answers_prose_escalates(sopwith: Command) -> None:
    sopwith.write(
        "p.yaml",
        "schema: sopwith/procedure/1\nid: p\nstart: s\noutput: {type: object, properties: {a: {type: string}}}\n"
        "inputs:\n  request: {type: string, from: run.request}\n"
        "steps:\n  s:\n    do: sort it\n    uses: [inputs.request]\n"
        "    returns: {type: object, required: [a], properties: {a: {type: string}}}\n"
        '    end: complete\n    result: {a: "${s.a}"}\n',
    )
    sopwith.write("prose.jsonl", '"Certainly!"\n"I would say it is fine."\n"Well."\n')
    ran = sopwith("run", "p.yaml", "--request", "x", "--model", "scripted:prose.jsonl")
    assert ran.code == ExitCode.ESCALATED
    assert "reply refused" in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.skipif(sys.platform != "linux", reason="a place where not even root may write")
def test_a_data_folder_that_cannot_be_written(project: Command) -> None:
    assert_one_message(project(*RUN, "--data", "/proc/sopwith"), ExitCode.INTERNAL, "/proc/sopwith")


def test_a_tools_file_that_ends_the_program(project: Command) -> None:
    project.write("tools.py", "raise SystemExit(0)\n")
    assert_one_message(project(*RUN), ExitCode.INTERNAL, "tools.py:1", "SystemExit: 0")


def test_a_data_folder_that_is_a_file(project: Command) -> None:
    project.write("taken", "")
    assert_one_message(project(*RUN, "--data", "taken"), ExitCode.USAGE, "taken is a file", "--data")


LIMITED = """
import resource, sys
from sopwith.cli.app import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)),) * 2)
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
main()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of file sizes")
@pytest.mark.parametrize("room", [0, 4096, 40_000])
def test_a_disk_without_room(project: Command, room: int) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", LIMITED, str(room), *RUN],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert_one_message(Ran(ran.returncode, ran.stdout, ran.stderr), ExitCode.INTERNAL, "help: ")


def test_a_log_that_is_another_programs(project: Command) -> None:
    project.write(".sopwith/runs.db", "this is text and has nothing to do with SQLite " * 30)
    assert_one_message(project(*RUN), ExitCode.DAMAGED, "runs.db")
    assert_one_message(project("runs"), ExitCode.DAMAGED, "runs.db")


def test_a_key_that_others_may_read(project: Command) -> None:
    project(*RUN)
    (project.folder / ".sopwith" / "vault.db.key").chmod(0o644)
    assert_one_message(project(*RUN), ExitCode.USAGE, "chmod 600")
    assert project("doctor", "--no-servers").code == ExitCode.INTERNAL


@pytest.mark.parametrize("verb", ["trace", "resume"])
def test_a_run_that_nobody_knows(project: Command, verb: str) -> None:
    assert_one_message(project(verb, "cafe"), ExitCode.USAGE, "no runs in")
    project(*RUN)
    assert_one_message(project(verb, "cafe"), ExitCode.USAGE, "'cafe'", "sopwith runs")


def test_an_option_and_a_verb_that_do_not_exist(project: Command) -> None:
    assert_one_message(
        project("run", "procedure.yaml", "--grib", "free"), ExitCode.USAGE, "sopwith run --help"
    )
    assert_one_message(project("fly"), ExitCode.USAGE, "fly")
    assert_one_message(project("run"), ExitCode.USAGE, "PROCEDURE")
    assert_one_message(project(*RUN, "--grip", "tight"), ExitCode.USAGE, "tight", "sopwith run --help")
    assert_one_message(project("runs", "--lang", "fr"), ExitCode.USAGE, "fr", "en or zh")


def test_an_error_is_the_one_document_of_json(project: Command) -> None:
    edit(project, "tool: orders.find", "tool: orders.fnid")
    ran = project(*RUN, "--json")
    assert ran.code == ExitCode.INVALID
    error = ran.document["error"]
    assert error["diagnostics"][0]["line"] > 1
    assert {"code", "message", "hint"} <= set(error)
    assert project("fly", "--json").document["error"]["code"] == "SW002"


def test_messages_are_in_the_language_that_was_chosen(project: Command) -> None:
    ran = project("run", "nothing.yaml", "--request", "x", "--lang", "zh")
    assert ran.err.startswith("错误[SW002] 没有文件 nothing.yaml")
    assert "建议: " in ran.err


def test_what_nobody_foresaw_is_one_line_too(project: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("inside")

    monkeypatch.setattr("sopwith.cli.runs.load_settings", broken)
    assert_one_message(project("runs"), ExitCode.INTERNAL, "ZeroDivisionError: inside", "SOPWITH_DEBUG=1")
    monkeypatch.setenv("SOPWITH_DEBUG", "1")
    assert "Traceback" in project("runs").err


def test_a_reader_that_has_seen_enough(project: Command) -> None:
    project(*RUN)
    with project.start("trace", "--jsonl") as started:
        assert started.stdout is not None
        started.stdout.close()
        assert started.stderr is not None
        err = started.stderr.read()
        started.wait(timeout=60)
    assert (started.returncode, err) == (ExitCode.OK, "")


OTHERWISE = {
    ("fmt", "empty.txt"): ("SW002", "empty.txt is not YAML"),
    ("fmt", "large.txt"): ("SW002", "large.txt is not YAML"),
    ("check", "folder"): ("SW002", "there is no procedure in folder"),
}
"""What verbs say that take other things: `fmt` only YAML, `check` whole folders."""


@pytest.mark.parametrize("verb", ["show", "check", "run", "fmt"])
@pytest.mark.parametrize(
    ("name", "held", "code", "said"),
    [
        ("empty.yaml", b"", "SW112", "the file is empty"),
        ("empty.txt", b" \n", "SW1", "the file is empty"),
        ("gbk.yaml", "名称: 请假申请\n".encode("gbk"), "SW002", "it looks like GB18030"),
        ("large.yaml", b"a: b\n" * 2_000_000, "SW102", "at most 200000 are read"),
        ("large.txt", b"Step 1. a\n" * 1_000_000, "SW102", "at most 200000 are read"),
        ("large", b"Step 1. a\n" * 1_000_000, "SW102", "at most 200000 are read"),
        ("folder", None, "SW002", "folder is a folder"),
    ],
)
def test_a_file_that_is_no_procedure_has_one_problem(
    sopwith: Command, verb: str, name: str, held: bytes | None, code: str, said: str
) -> None:
    path = sopwith.folder / name
    if held is None:
        path.mkdir()
    else:
        path.write_bytes(held)
    ran = sopwith(verb, name)
    code, said = OTHERWISE.get((verb, name), (code, said))
    assert ran.code in (ExitCode.USAGE, ExitCode.INVALID)
    # One problem; where it has a place in the file, a line that counts it may follow.
    problems = [
        line for line in (ran.out + ran.err).splitlines() if line.startswith("error[") and "SW003" not in line
    ]
    assert len(problems) == 1
    assert problems[0].startswith(f"error[{code}")
    assert name in problems[0]
    assert said in problems[0]
    assert "help: " in ran.out + ran.err
