"""A skill is read leniently, written by the rules, and loses nothing on the way."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from tests.lang.strategies import procedures

from sopwith.errors import ProcedureError, UserError
from sopwith.ir.diagnostic import Severity
from sopwith.ir.procedure import Call, Procedure
from sopwith.lang.problem import Problems
from sopwith.lang.read import read
from sopwith.lang.skill import REFERENCE, skill_name, write_skill
from sopwith.lang.tree import read_tree
from sopwith.lang.yaml import read_yaml, write_yaml

TEXT = """\
schema: sopwith/procedure/1
id: leave_request
name: 请假
description: For leave, not for sick notes
tags: [hr, leave]
tools: [hr.get, hr.submit]
start: get
steps:
  get: {tool: hr.get, with: {user_id: u1}, next: submit}
  submit: {tool: hr.submit, verify: "true", end: complete}
"""
PROCEDURE = read_yaml(TEXT).procedure


def put(files: dict[str, str], folder: Path) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8", newline="")
    return folder


def codes(folder: Path) -> list[str]:
    return [note.code for note in read(folder).notes]


def test_a_skill_has_a_legal_head_and_loses_nothing(tmp_path: Path) -> None:
    files = write_skill(PROCEDURE)
    assert set(files) == {"SKILL.md", REFERENCE}
    head = read_tree(files["SKILL.md"].split("---\n")[1], Problems("x")).value
    assert isinstance(head, dict)
    assert (head["name"], head["description"]) == ("leave-request", "For leave, not for sick notes")
    assert head["allowed-tools"] == "hr.get hr.submit"
    document = read(put(files, tmp_path / "leave-request"))
    assert document.procedure == PROCEDURE
    assert document.notes == ()
    assert document.place("steps", "get").file.endswith("procedure.yaml")


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(procedures())
def test_any_procedure_that_can_be_written_is_read_again(tmp_path: Path, procedure: Procedure) -> None:
    try:
        files = write_skill(procedure)
    except ProcedureError as error:
        assert "cannot be written as Routine text" in error.message.en
        return
    folder = tmp_path / skill_name(procedure.id)
    (folder / REFERENCE).unlink(missing_ok=True)
    assert read(put(files, folder)).procedure == procedure


def test_edited_words_win_over_the_yaml(tmp_path: Path) -> None:
    files = write_skill(PROCEDURE)
    folder = put(files, tmp_path / "leave-request")
    edited = files["SKILL.md"].replace("terminate the workflow", "hand over to a person")
    (folder / "SKILL.md").write_text(edited, "utf-8")
    document = read(folder)
    assert document.procedure.steps["submit"].end == "escalate"
    (note,) = document.notes
    assert (note.code, "steps.get.with" in note.message.en) == ("SW721", True)


def test_an_edited_or_missing_yaml_is_not_used(tmp_path: Path) -> None:
    folder = put(write_skill(PROCEDURE), tmp_path / "leave-request")
    (folder / REFERENCE).write_text(TEXT.replace("u1", "u2"), "utf-8")
    assert (codes(folder), read(folder).procedure.steps["get"].with_) == (["SW721"], {})
    (folder / REFERENCE).write_text("no: yaml: at: all", "utf-8")
    assert codes(folder) == ["SW722"]
    (folder / REFERENCE).unlink()
    assert codes(folder) == ["SW722"]
    assert list(read(folder).procedure.steps) == ["get", "submit"]


@pytest.mark.parametrize(
    ("tools", "severity", "lost"),
    [
        ("hr.get hr.submit", None, ""),
        ("hr.submit  hr.get", None, ""),
        ("hr.get hr.submit hr.cancel", Severity.WARNING, "(+hr.cancel)"),
        ("hr.get", Severity.ERROR, "(-hr.submit)"),
        ("hr.get hr.cancel", Severity.ERROR, "(-hr.submit, +hr.cancel)"),
        ("", Severity.ERROR, "(-hr.get, -hr.submit)"),
    ],
)
def test_tools_that_were_edited_only_in_the_head_are_named(
    tools: str, severity: Severity | None, lost: str, tmp_path: Path
) -> None:
    files = write_skill(PROCEDURE)
    line = "allowed-tools: hr.get hr.submit\n"
    assert line in files["SKILL.md"]
    files["SKILL.md"] = files["SKILL.md"].replace(
        line, line.replace("hr.get hr.submit", tools) if tools else ""
    )
    document = read(put(files, tmp_path / "leave-request"))
    assert document.procedure == PROCEDURE
    assert [note.severity for note in document.notes] == ([] if severity is None else [severity])
    assert all(
        note.code == "SW721"
        and note.place.line == (4 if tools else 1)
        and "allowed-tools" in note.message.en
        and lost in note.message.en
        and lost.strip("()") in note.message.zh
        for note in document.notes
    )


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    folder = put(write_skill(PROCEDURE), tmp_path / "leave-request")
    outside = tmp_path / "outside.yaml"
    (folder / REFERENCE).rename(outside)
    (folder / REFERENCE).symlink_to(outside)
    (note,) = read(folder).notes
    assert (note.code, "leads out of the skill's folder" in note.message.en) == ("SW722", True)


@pytest.mark.parametrize("name", ["Leave", "leave_request", "-leave", "a--b", "", "请假", "a" * 65])
def test_an_illegal_name_is_refused_with_a_legal_one(name: str) -> None:
    with pytest.raises(UserError, match="cannot be the name of a skill") as raised:
        write_skill(PROCEDURE, "en", name)
    legal = raised.value.hint.en.removeprefix("such as ")
    assert write_skill(PROCEDURE, "en", legal)["SKILL.md"].startswith(f"---\nname: {legal}\n")


@pytest.mark.parametrize(
    ("head", "found"),
    [
        ("", ["SW720"]),
        ("---\nname: Other Name\n---\n", ["SW720", "SW720"]),
        ("---\nname: s\ndescription: [x]\nmodel: y\n---\n", ["SW720", "SW720"]),
        ("---\nname: s\ndescription: x\n  bad: : yaml\n---\n", ["SW720"]),
        ("---\nname: s\ndescription: when shoes come back\nallowed-tools: Bash(git:*) Read\n---\n", []),
    ],
)
def test_a_skill_of_others_is_read_with_notes(head: str, found: list[str], tmp_path: Path) -> None:
    folder = put({"SKILL.md": head + "\n# Shoes\n\n1. Ask\n2. Refund\n"}, tmp_path / "s")
    document = read(folder)
    assert len(document.procedure.steps) == 2
    assert [note.code for note in document.notes] == found
    if not found:
        assert document.procedure.tools == ("Bash(git:*)", "Read")
        assert document.procedure.description == "when shoes come back"
        assert document.procedure.id == "s"


def test_scripts_are_named(tmp_path: Path) -> None:
    head = "---\nname: s\ndescription: x\n---\n"
    folder = put({"SKILL.md": head + "1. Ask\n", "scripts/a.sh": "x"}, tmp_path / "s")
    assert codes(folder) == ["SW720"]
    assert read(folder / "SKILL.md").place("steps", "step_1").line == 5


def test_words_that_would_drop_a_control_are_an_error(tmp_path: Path) -> None:
    procedure = Procedure.from_data(
        {
            "id": "open_box",
            "name": "Open",
            "start": "a",
            "steps": {
                "a": {"id": "a", "do": "open it", "tool": "c.open", "approval": "chemist", "end": "complete"}
            },
        }
    )
    folder = tmp_path / "open-box"
    for name, text in write_skill(procedure).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text.replace("open it", "open it now"), encoding="utf-8")
    (folder / "references" / "procedure.yaml").write_text(write_yaml(procedure), encoding="utf-8")
    (note,) = (note for note in read(folder).notes if note.code == "SW721")
    assert note.severity is Severity.ERROR
    assert "steps.a.approval" in note.message.en and "references/procedure.yaml" in note.hint.en
    (folder / "references" / "procedure.yaml").unlink()
    assert [note.severity for note in read(folder).notes] == [Severity.WARNING]


FULL = read_yaml(
    """\
schema: sopwith/procedure/1
id: refunds
name: Refunds
description: Refunds an order
start: find
steps:
  find: {tool: shop.find, as: found, next: tell}
  tell: {each: {in: "${found.orders}", as: order}, do: tell the buyer, tool: shop.tell, next: pause}
  pause: {wait: {for: 2d}, next: book}
  book: {call: {procedure: book_it, with: {order: "${found.id}"}}, next: pay}
  pay: {tool: shop.pay, approval: boss, end: complete}
"""
).procedure
BOOK = read_yaml(
    "schema: sopwith/procedure/1\nid: book_it\ninputs:\n  order: {type: string}\nstart: a\n"
    "steps:\n  a: {tool: books.add, end: complete}\n"
).procedure


def test_the_words_of_a_skill_say_waits_calls_lists_and_approvals(tmp_path: Path) -> None:
    files = write_skill(FULL, "en", called={"book_it": BOOK})
    text = files["SKILL.md"]
    for words in (
        "for each order of `found.orders`, tell the buyer",
        "wait 2 days",
        "run the procedure `book_it` (references/called/book_it.yaml) with order = `found.id`",
        "with the approval of boss, using the shop.pay tool",
    ):
        assert words in text
    zh = write_skill(FULL, "zh", called={"book_it": BOOK})["SKILL.md"]
    for words in (
        "对 `found.orders` 中的每个 order，",
        "等待 2 天",
        "运行流程 `book_it`",
        "经 boss 批准后，使用 shop.pay",
    ):
        assert words in zh
    assert read_yaml(files["references/called/book_it.yaml"]).procedure == BOOK
    assert read(put(files, tmp_path / "refunds")).procedure == FULL


def test_tools_that_only_steps_name_are_allowed_and_stay_those_of_the_steps(tmp_path: Path) -> None:
    procedure = read_yaml(
        "schema: sopwith/procedure/1\nid: p\ndescription: x\nstart: a\nsteps:\n"
        "  a: {do: look, tool: t.a, next: b}\n  b: {do: write, tool: t.b, end: complete}\n"
    ).procedure
    files = write_skill(procedure)
    assert "allowed-tools: t.a t.b\n" in files["SKILL.md"]
    assert set(files) == {"SKILL.md"}
    folder = put(files, tmp_path / "p")
    assert read(folder).procedure == procedure
    wider = files["SKILL.md"].replace("t.a t.b\n", "t.a t.b t.c\n")
    (folder / "SKILL.md").write_text(wider, "utf-8")
    assert read(folder).procedure.tools == ("t.a", "t.b", "t.c")


def test_words_that_would_be_read_otherwise_are_left_out() -> None:
    odd = FULL.steps["book"].model_copy(
        update={"call": Call.model_validate({"procedure": "x", "with": {"a": "b. Input: c"}})}
    )
    text = write_skill(FULL.model_copy(update={"steps": {**FULL.steps, "book": odd}}))["SKILL.md"]
    assert "Step 4 (book)." in text and "Input: c" not in text
