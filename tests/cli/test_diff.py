"""`sopwith diff`: files and runs, in words and as data."""

from __future__ import annotations

import pytest
from tests.cli.command import Command
from tests.cli.test_run import FIND

from sopwith.cli.exit_code import ExitCode


@pytest.fixture
def changed(project: Command) -> Command:
    """A project with a second version of its procedure, that reminds somebody else."""
    text = (project.folder / "procedure.yaml").read_text(encoding="utf-8")
    asked = 'order_id: "${order.order_id}"\n    as: reminder'
    assert asked in text
    project.write("new.yaml", text.replace(asked, asked.replace("order.order_id", "inputs.request")))
    return project


def test_what_a_write_gets_is_said_under_writes(changed: Command) -> None:
    ran = changed("diff", "procedure.yaml", "new.yaml")
    assert ran.code == ExitCode.OK
    lines = ran.out.splitlines()
    assert [line[0] for line in lines[:2]] == ["-", "+"]
    at = lines.index("What it writes")
    assert lines[at + 1].endswith("(writes)")
    assert "argument order_id" in lines[at + 2]
    assert "写操作" in changed("diff", "procedure.yaml", "new.yaml", "--lang", "zh").out


def test_the_same_procedure_has_no_differences(project: Command) -> None:
    ran = project("diff", "procedure.yaml", "procedure.yaml")
    assert (ran.code, ran.out.splitlines()[-1]) == (ExitCode.OK, "no differences")
    assert project("diff", "procedure.yaml", "procedure.yaml", "--json").document["same"] is True


def test_a_file_is_compared_with_what_a_run_is_pinned_to(changed: Command) -> None:
    run = changed(*FIND, "--json").document["run"]
    same = changed("diff", f"run:{run}", "procedure.yaml", "--json").document
    assert same["changes"] == []
    assert same["before"]["hash"] == same["after"]["hash"]
    found = changed("diff", f"run:{run[:6]}", "new.yaml", "--json").document["changes"]
    assert [(change["topic"], change["part"], change["name"]) for change in found] == [
        ("write", "argument", "order_id")
    ]
    assert set(found[0]["said"]) == {"en", "zh"}


def test_what_cannot_be_read_is_refused(project: Command) -> None:
    assert project("diff", "procedure.yaml", "nothing.yaml").code == ExitCode.USAGE
    project.write("broken.yaml", "schema: sopwith/procedure/1\nid: [\n")
    assert project("diff", "procedure.yaml", "broken.yaml").code == ExitCode.INVALID
    assert project("diff", "run:none", "procedure.yaml").code == ExitCode.USAGE
