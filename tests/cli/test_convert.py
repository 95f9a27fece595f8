"""`sopwith convert` writes a procedure in every form, and every verb reads every form."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.command import Command

from sopwith.cli.exit_code import ExitCode
from sopwith.lang.read import read

LEAVE = Path(__file__).parents[2] / "examples" / "leave" / "procedure.yaml"
SUFFIX = {"yaml": ".yaml", "routine": ".txt", "mermaid": ".mmd", "dot": ".dot"}
CHART = """\
flowchart TD
  ask[Ask for the order] --> late{Late?}
  late -->|yes| done([Done])
  late --> person[转人工]
"""
DRAFT = "# Shoes\n\n1. Ask for the order\n2. If it is late, hand over to a person\n3. Refund it ![](x.png)\n"


@pytest.mark.parametrize("form", sorted(SUFFIX))
def test_stdout_is_the_text_and_stderr_says_what_is_left_out(form: str, sopwith: Command) -> None:
    ran = sopwith("convert", str(LEAVE), "--to", form)
    assert ran.code == ExitCode.OK
    again = read(ran.out, f"x{SUFFIX[form]}").procedure
    assert set(again.steps) == set(read(LEAVE).procedure.steps)
    assert ("steps.submit.with" in ran.err) == (form != "yaml")


@pytest.mark.parametrize(
    ("name", "text", "steps"),
    [
        ("p.mmd", CHART, 4),
        ("p.dot", "digraph { ask -> done }", 2),
        ("p.md", DRAFT, 4),
        ("p.txt", "Step 1. Ask and terminate the workflow.\n", 1),
        ("skill/SKILL.md", "---\nname: skill\ndescription: x\n---\n" + DRAFT, 4),
    ],
)
def test_every_form_is_checked_shown_and_run(name: str, text: str, steps: int, sopwith: Command) -> None:
    file = sopwith.folder / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, "utf-8")
    given = name.removesuffix("/SKILL.md")
    assert sopwith("check", given).code == ExitCode.OK
    shown = sopwith("show", given, "--json")
    assert len(shown.document["procedure"]["steps"]) == steps
    (sopwith.folder / "replies.jsonl").write_text('{"text": "A"}\n', "utf-8")
    ran = sopwith("run", given, "--request", "x", "--model", "scripted:replies.jsonl", "--dry-run")
    assert ran.code in (ExitCode.OK, ExitCode.ESCALATED), ran.err


def test_the_notes_of_a_draft_are_told_by_check_and_convert(sopwith: Command) -> None:
    (sopwith.folder / "shoes.md").write_text(DRAFT, "utf-8")
    assert "warning[SW712] shoes.md:5:1 an image is not read: x.png" in sopwith("check", "shoes.md").out
    ran = sopwith("convert", "shoes.md", "--to", "routine")
    assert "warning[SW712] shoes.md:5:1" in ran.err
    assert ran.out.splitlines()[2] == "Step 1. Ask for the order."
    found = sopwith("convert", "shoes.md", "--to", "mermaid", "--json").document
    assert (found["form"], found["notes"][0]["code"]) == ("mermaid", "SW712")


def test_stdin_and_the_language_of_routine_text(sopwith: Command) -> None:
    ran = sopwith("convert", "-", "--to", "routine", "--lang", "zh", stdin=CHART)
    assert "步骤 1 (ask). Ask for the order：" in ran.out


def test_a_skill_is_a_folder_with_a_legal_name(sopwith: Command) -> None:
    missing = sopwith("convert", str(LEAVE), "--to", "skill")
    assert (missing.code, "-o leave-request" in missing.err) == (ExitCode.USAGE, True)
    refused = sopwith("convert", str(LEAVE), "--to", "skill", "-o", "Leave_Request")
    assert (refused.code, "such as leave-request" in refused.err) == (ExitCode.USAGE, True)
    assert sopwith("convert", str(LEAVE), "--to", "skill", "-o", "leave-request").code == ExitCode.OK
    assert read(sopwith.folder / "leave-request").procedure == read(LEAVE).procedure


def test_nothing_is_written_over_unless_that_is_wanted(sopwith: Command) -> None:
    (sopwith.folder / "out.dot").write_text("mine", "utf-8")
    refused = sopwith("convert", str(LEAVE), "--to", "dot", "-o", "out.dot")
    assert (refused.code, (sopwith.folder / "out.dot").read_text("utf-8")) == (ExitCode.USAGE, "mine")
    assert sopwith("convert", str(LEAVE), "--to", "dot", "-o", "out.dot", "--force").code == ExitCode.OK
    assert read(sopwith.folder / "out.dot").procedure.id == "leave_request"


def test_fmt_says_how_another_form_becomes_yaml(sopwith: Command) -> None:
    (sopwith.folder / "p.mmd").write_text(CHART, "utf-8")
    ran = sopwith("fmt", "p.mmd")
    assert (ran.code, (sopwith.folder / "p.mmd").read_text("utf-8")) == (ExitCode.USAGE, CHART)
    assert "sopwith convert p.mmd --to yaml" in ran.err


def test_a_skill_carries_what_it_calls_and_gives_it_back(sopwith: Command) -> None:
    (sopwith.folder / "main.yaml").write_text(
        "schema: sopwith/procedure/1\nid: main\nstart: a\nsteps:\n"
        "  a: {call: {procedure: sub, with: {n: 1}}, end: complete}\n",
        "utf-8",
    )
    (sopwith.folder / "sub.yaml").write_text(
        "schema: sopwith/procedure/1\nid: sub\ninputs: {n: {type: integer}}\nstart: a\nsteps:\n"
        "  a: {do: look, uses: [inputs.n], returns: {type: boolean}, end: complete}\n",
        "utf-8",
    )
    assert sopwith("convert", "main.yaml", "--to", "skill", "-o", "skills/main").code == ExitCode.OK
    checked = sopwith("check", "skills/main")
    assert (checked.code, checked.out) == (ExitCode.OK, "")
    again = sopwith("convert", "skills/main", "--to", "yaml", "-o", "back/main.yaml")
    assert again.code == ExitCode.OK
    for name in ("main", "sub"):
        was, now = (read(sopwith.folder / where / f"{name}.yaml").procedure for where in (".", "back"))
        assert now == was
