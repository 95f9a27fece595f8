"""`sopwith library`, and what other verbs do with `library:ID`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.command import Command, make
from tests.serve.office import BADGE, LEAVE, lay_out

CALLER = """
schema: sopwith/procedure/1
id: welcome
name: Welcome somebody
description: Gives who has begun here what they need
tags: [desk]
start: call
steps:
  call:
    call: {procedure: badge, with: {to: cy}}
    as: given
    next: done
  done:
    end: complete
"""


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command in the folder of an office, where badges need nobody's leave."""
    command = make(tmp_path, monkeypatch)
    lay_out(tmp_path)
    command.write("policy.yaml", "rules: [{id: all, verdict: allow, tool: 'hr.*'}]")
    command.write("welcome.yaml", CALLER)
    return command


def added(office: Command, *files: str) -> list[str]:
    """Add and pin procedures; their references."""
    ran = office("library", "add", *files, "--pin", "--by", "ann", "--why", "reviewed")
    assert ran.code == 0, ran.err
    return ran.out.split()


def test_procedures_are_added_listed_and_shown(office: Command) -> None:
    leave, badge = added(office, "leave.yaml", "badge.yaml")
    listed = office("library", "list")
    assert [line.split()[:3] for line in listed.out.splitlines()[1:]] == [
        ["badge", badge.partition("@")[2], "1"],
        ["leave", leave.partition("@")[2], "1"],
    ]
    assert [
        each["id"] for each in office("library", "list", "--tag", "hr", "--json").document["procedures"]
    ] == ["leave"]
    shown = office("library", "show", "leave", "--json").document
    assert shown["examples"] == ["I need two days off"]
    assert shown["tags"] == ["hr"]
    assert (shown["pins"][0]["by"], shown["pins"][0]["why"]) == ("ann", "reviewed")
    assert "* " + leave.partition("@")[2] in office("library", "show", "leave").out
    assert "reviewed" in office("library", "show", "leave").out


def test_what_does_not_pass_its_checks_is_not_added(office: Command) -> None:
    office.write("bad.yaml", LEAVE.replace("hr.file", "hr.nowhere"))
    ran = office("library", "add", "bad.yaml")
    assert ran.code == 3
    assert "hr.nowhere" in ran.err
    assert office("library", "list", "--json").document["procedures"] == []


def test_the_pinned_version_runs_with_the_tools_of_this_folder(office: Command) -> None:
    (badge,) = added(office, "badge.yaml")
    office.write("badge.yaml", BADGE.replace("badge.number}", "badge.number}-new"))
    ran = office("run", "library:badge", "--inputs", "to=cy", "--json")
    assert ran.document["outcome"]["output"] == {"number": "B-1"}
    (newer,) = added(office, "badge.yaml")
    ran = office("run", "library:badge", "--inputs", "to=cy", "--json")
    assert ran.document["outcome"]["output"] == {"number": "B-1-new"}
    ran = office("run", f"library:{badge}", "--inputs", "to=cy", "--json")
    assert ran.document["outcome"]["output"] == {"number": "B-1"}
    assert office("library", "pin", badge, "--by", "ann").code == 0
    ran = office("run", "library:badge", "--inputs", "to=cy", "--json")
    assert ran.document["outcome"]["output"] == {"number": "B-1"}
    assert badge != newer


def test_a_call_names_a_procedure_of_the_library(office: Command) -> None:
    refused = office("check", "welcome.yaml", "--json")
    assert refused.code == 0  # badge.yaml lies beside it
    added(office, "badge.yaml")
    (office.folder / "badge.yaml").unlink()
    ran = office("run", "welcome.yaml", "--json")
    assert (ran.code, ran.document["status"]) == (0, "completed")
    assert (office.folder / "acts.txt").read_text(encoding="utf-8") == "badge cy\n"


def test_a_file_that_differs_from_the_library_is_not_called_by_chance(office: Command) -> None:
    added(office, "badge.yaml")
    office.write("badge.yaml", BADGE.replace("Give a badge", "Give two"))
    ran = office("run", "welcome.yaml")
    assert ran.code == 2
    assert "'badge' is one procedure in" in ran.err
    assert "sopwith library add" in ran.err


def test_what_a_procedure_of_the_library_calls_is_the_librarys(office: Command) -> None:
    added(office, "badge.yaml", "welcome.yaml")
    office.write("badge.yaml", BADGE.replace("badge.number}", "badge.number}-new"))
    ran = office("run", "library:welcome", "--json")
    assert ran.document["status"] == "completed"


def test_what_calls_something_that_is_not_there_is_not_pinned(office: Command) -> None:
    ran = office("library", "add", "welcome.yaml", "--pin")
    assert ran.code == 2
    assert "no pinned version in the library: badge" in ran.err
    assert office("library", "show", "welcome", "--json").document["runs"] is None


def test_a_skill_goes_in_and_comes_out(office: Command) -> None:
    added(office, "badge.yaml", "welcome.yaml")
    out = office("convert", "library:welcome", "--to", "skill", "-o", "welcome-somebody")
    assert out.code == 0, out.err
    folder = office.folder / "welcome-somebody"
    assert (folder / "references" / "called" / "badge.yaml").is_file()
    (again,) = added(office, "welcome-somebody")
    before = office("library", "show", "welcome", "--json").document
    assert before["runs"].startswith(again.partition("@")[2])
    assert len(before["versions"]) == 1


def test_a_version_is_fetched_shown_and_compared(office: Command) -> None:
    (leave,) = added(office, "leave.yaml")
    assert office("library", "get", leave, "-o", "mine.yaml").code == 0
    assert (
        office("diff", "library:leave", "mine.yaml").out.splitlines()[-1]
        == office("diff", "mine.yaml", "leave.yaml").out.splitlines()[-1]
    )
    assert "id: leave" in office("library", "get", "leave").out
    assert "Ask for leave" in office("show", "library:leave").out
    assert office("library", "get", "leave", "-o", "mine.yaml").code == 2
    assert office("library", "pin", "leave").code == 2


def test_with_keys_in_the_settings_only_signed_pins_run(office: Command) -> None:
    key = office.folder / "key"
    assert office("audit", "keygen", "--out", str(key)).code == 0
    added(office, "leave.yaml")
    office.write("sopwith.toml", f'principal = "ann"\nlibrary_keys = ["key.pub"]\nsigning_key = "{key}"\n')
    refused = office("run", "library:leave", "--inputs", "days=1")
    assert (refused.code, "not signed by any of the keys" in refused.err) == (2, True)
    added(office, "leave.yaml")
    assert office("run", "library:leave", "--inputs", "days=1", "--answer", "yes").code == 0
    listed = office("library", "list", "--json").document["procedures"][0]
    assert listed["pins"][1]["signature"]


def test_a_damaged_procedure_does_not_hide_the_others(office: Command) -> None:
    added(office, "leave.yaml", "badge.yaml")
    (file,) = (office.folder / "library" / "leave").glob("*.yaml")
    file.write_text(file.read_text(encoding="utf-8") + "# x\n", encoding="utf-8")
    assert len(office("library", "list", "--json").document["procedures"]) == 2  # a comment is no change
    file.write_text(file.read_text(encoding="utf-8").replace("maximum: 30", "maximum: 31"), encoding="utf-8")
    ran = office("library", "list", "--json")
    assert ran.code == 3
    assert "was changed" in ran.err
    assert [each["id"] for each in json.loads(ran.out)["procedures"]] == ["badge"]


def test_the_library_lies_where_the_settings_say(office: Command) -> None:
    office.write("sopwith.toml", 'library = "shared/procedures"\n')
    added(office, "leave.yaml")
    assert (office.folder / "shared" / "procedures" / "leave" / "pins.jsonl").is_file()
    assert office("library", "list", "--library", "elsewhere", "--json").document["procedures"] == []
