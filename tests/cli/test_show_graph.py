"""`sopwith show --text` and `--svg`: a procedure, and the path of a run over it."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from tests.cli.command import Command
from tests.cli.test_run import FIND

from sopwith.cli.exit_code import ExitCode

SVG = "{http://www.w3.org/2000/svg}"


def test_the_graph_is_drawn_as_text_with_its_writes(project: Command) -> None:
    shown = project("show", "procedure.yaml", "--text")
    assert shown.code == ExitCode.OK
    assert "orders.remind · writes" in shown.out
    assert "■ writes" in shown.out.splitlines()[-1]
    assert "写操作" in project("show", "procedure.yaml", "--text", "--lang", "zh").out


def test_svg_goes_to_stdout_or_into_a_file(project: Command) -> None:
    shown = project("show", "procedure.yaml", "--svg")
    assert ElementTree.fromstring(shown.out).tag == f"{SVG}svg"
    written = project("show", "procedure.yaml", "--svg", "-o", "graph.svg")
    assert (written.code, written.out) == (ExitCode.OK, "")
    assert "graph.svg" in written.err
    assert (project.folder / "graph.svg").read_text(encoding="utf-8") == shown.out
    nowhere = project("show", "procedure.yaml", "--svg", "-o", "no/where.svg")
    assert nowhere.code == ExitCode.USAGE
    assert "no/where.svg" in nowhere.err


def test_a_run_is_shown_as_its_path_over_the_procedure_that_it_is_pinned_to(project: Command) -> None:
    run = project(*FIND, "--json").document
    (project.folder / "procedure.yaml").unlink()
    text = project("show", "--run", run["run"], "--text").out
    for visit, visited in enumerate(run["path"], 1):
        assert any(f" {visited['number']} · " in line and f"✓ {visit}" in line for line in text.splitlines())
    root = ElementTree.fromstring(project("show", "--run", run["run"][:6], "--svg").out)
    steps = [g for g in root.iter(f"{SVG}g") if "step" in g.get("class", "").split()]
    assert {g.get("data-step") for g in steps if not g.get("opacity")} == {v["step"] for v in run["path"]}
    assert project("show", "--run", run["run"], "--json").document["id"] == run["procedure"]


def test_a_run_and_a_procedure_are_not_shown_at_once(project: Command) -> None:
    both = project("show", "procedure.yaml", "--run", "x", "--svg")
    assert both.code == ExitCode.USAGE
    assert "--run" in both.err
    assert project("show", "--svg").code == ExitCode.USAGE


def test_a_procedure_is_drawn_also_where_its_tools_cannot_be_opened(project: Command) -> None:
    project.write("tools.py", "raise RuntimeError('no database')\n")
    shown = project("show", "procedure.yaml", "--text")
    assert shown.code == ExitCode.OK
    assert "no database" in shown.err
    assert "orders.find" in shown.out
