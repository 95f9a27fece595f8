"""`sopwith check` of several files and of folders, with fixes, and again at every change."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.cli.command import Command

from sopwith.cli.exit_code import ExitCode
from sopwith.cli.watch import rounds

SMALL = """\
schema: sopwith/procedure/1
id: {id}
name: {name}
start: a
steps:
  a:
    answer: Say hello.  # politely
    next: z
  z:
    end: escalate
"""


def small(id_: str = "one", name: str = "Say hello") -> str:
    return SMALL.format(id=id_, name=name)


def test_a_folder_is_all_procedures_in_it(sopwith: Command) -> None:
    sopwith.write("lib/a.yaml", small("one", "Return an order"))
    sopwith.write("lib/deep/b.yml", small("two", "Ask for leave"))
    sopwith.write("lib/policy.yaml", "rules: []\n")
    sopwith.write("lib/.hidden/c.yaml", "schema: sopwith/procedure/1\n")
    ran = sopwith("check", "lib")
    assert (ran.code, ran.out) == (ExitCode.OK, "")
    assert "files: 2, errors: 0, warnings: 0" in ran.err
    assert "files: 2" in sopwith("check", "lib", "lib/a.yaml").err


def test_a_skill_is_one_procedure_also_inside_a_folder(sopwith: Command) -> None:
    sopwith.write("lib/a.yaml", small("one", "Return an order"))
    assert sopwith("convert", "lib/a.yaml", "--to", "skill", "-o", "lib/greet").code == ExitCode.OK
    assert (sopwith.folder / "lib/greet/references/procedure.yaml").exists()
    assert "files: 1, errors: 0" in sopwith("check", "lib/greet").err
    assert "files: 2, errors: 0" in sopwith("check", "lib").err


FORMS = {
    "a.yaml": small("one", "Return an order"),
    "b.json": '{"schema": "sopwith/procedure/1", "id": "b", "start": "x", "steps": {"x": {"end": "complete"}}}',
    "c.routine": "# Greet (c)\n\nStep 1. Greet and terminate the workflow.\n",
    "d.txt": "步骤 1 (x)：问候，并结束流程。\n",
    "e.mmd": "flowchart TD\n  a[Ask] --> b([Done])\n",
    "f.dot": "digraph f { a -> b; b [shape=oval] }",
    "g.md": "# Leave (g)\n\nStep 1. Ask and terminate the workflow.\n",
    "h/SKILL.md": "---\nname: h\ndescription: x\n---\n\nStep 1. Ask and terminate the workflow.\n",
}
OTHERS = {
    "policy.yaml": "rules: []\n",
    "README.md": "# How to\n\n1. Install it\n2. Run it\n\n```text\nStep 1. Greet.\n```\n",
    "notes.txt": "The first step is to ask.\n",
    "classes.mmd": "classDiagram\n  A <|-- B\n",
    "net.dot": "graph net { a -- b }\n",
    "data.json": "[1]",
    "prose/SKILL.md": "---\nname: prose\ndescription: x\n---\n\nBe kind.\n",
}


def test_procedures_of_all_forms_are_found_by_what_they_say(sopwith: Command) -> None:
    for name, text in (FORMS | OTHERS).items():
        sopwith.write(f"lib/{name}", text)
    sopwith.write("lib/h/references/more.yaml", FORMS["a.yaml"])
    ran = sopwith("check", "lib", "--skipped", "--json")
    assert (ran.code, ran.document["diagnostics"]) == (ExitCode.OK, [])
    assert f"files: {len(FORMS)}, errors: 0" in ran.err
    skipped = {one["file"].removeprefix("lib/") for one in ran.document["skipped"]}
    assert skipped == set(OTHERS)
    said = sopwith("check", "lib", "--skipped").err
    assert "skipped: lib/policy.yaml (it does not say that it is a procedure)" in said
    assert "skipped" not in sopwith("check", "lib").err


def test_a_folder_without_a_procedure_is_a_mistake(sopwith: Command) -> None:
    (sopwith.folder / "lib").mkdir()
    ran = sopwith("check", "lib")
    assert ran.code == ExitCode.USAGE
    assert "there is no procedure in lib" in ran.err


def test_procedures_that_a_search_cannot_tell_apart_are_named(sopwith: Command) -> None:
    sopwith.write("lib/a.yaml", small("one", "Return an order of shoes"))
    sopwith.write("lib/b.yaml", small("two", "Returning an order of shoes"))
    ran = sopwith("check", "lib")
    assert ran.code == ExitCode.OK
    assert "warning[SW810]" in ran.out and "lib/a.yaml" in ran.out
    assert sopwith("check", "lib/b.yaml").out == ""


def test_fixes_are_written_told_and_checked_again(sopwith: Command) -> None:
    file = sopwith.write("p.yaml", small().replace("next: z", "next: zz").replace("  z:", "  zzzz:"))
    file.write_text(small().replace("escalate", "escalatee").replace("start: a", "start: a\ntags: [x]"))
    ran = sopwith("check", "p.yaml", "--fix")
    assert ran.code == ExitCode.OK
    assert "'escalatee' → 'escalate' in steps.z.end" in ran.err
    assert "    end: escalate\n" in file.read_text() and "# politely" in file.read_text()
    again = sopwith("check", "p.yaml", "--fix")
    assert (again.code, again.out, "fixed" in again.err) == (ExitCode.OK, "", False)


@pytest.mark.parametrize("flag", ["--diff", "--dry-run"])
def test_a_dry_run_shows_the_lines_and_writes_nothing(sopwith: Command, flag: str) -> None:
    text = small().replace("escalate", "escalatee")
    file = sopwith.write("p.yaml", text)
    ran = sopwith("check", "p.yaml", "--fix", flag)
    assert ran.code == ExitCode.OK
    assert "-    end: escalatee\n+    end: escalate" in ran.out
    assert file.read_text() == text
    told = sopwith("check", "p.yaml", "--fix", flag, "--json").document
    assert told["ok"] and told["diagnostics"] == []
    assert [one["code"] for one in told["fixed"]] == ["SW112"]
    assert "+    end: escalate\n" in told["diff"]


def test_what_cannot_be_fixed_is_still_an_error(sopwith: Command) -> None:
    text = small().replace("next: z", "next: elsewhere")
    file = sopwith.write("p.yaml", text)
    ran = sopwith("check", "p.yaml", "--fix")
    assert (ran.code, file.read_text()) == (ExitCode.INVALID, text)
    assert "SW201" in ran.out


def test_only_yaml_is_fixed(sopwith: Command) -> None:
    sopwith.write("p.txt", "Step 1. Say hello and terminate the workflow.\n")
    assert "only YAML can be fixed" in sopwith("check", "p.txt", "--fix").err


@pytest.mark.parametrize("flags", [["--watch", "--fix"], ["--watch", "--json"], ["--diff"]])
def test_flags_that_do_not_go_together(sopwith: Command, flags: list[str]) -> None:
    sopwith.write("p.yaml", small())
    assert sopwith("check", "p.yaml", *flags).code == ExitCode.USAGE


# Watching.


def looks(paths: list[Path], *changes: Callable[[], object]) -> Iterator[None]:
    """The rounds over `paths`; between two looks one of the `changes` happens, after the last the user goes away."""
    left = iter(changes)

    def pause() -> None:
        change = next(left, None)
        if change is None:
            raise KeyboardInterrupt
        change()

    return rounds(lambda: paths, pause)


def count(made: Iterator[None]) -> int:
    found = 0
    with pytest.raises(KeyboardInterrupt):
        for _ in made:
            found += 1
    return found


def nothing() -> None: ...


def test_a_change_makes_one_round_when_it_is_over(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text("a")
    half, whole = (lambda: file.write_text("half"), lambda: file.write_text("the whole"))
    assert count(looks([file], nothing, nothing)) == 1
    assert count(looks([file], lambda: file.write_text("bb"), nothing, nothing)) == 2
    assert count(looks([file], half, whole, nothing)) == 2
    assert count(looks([file], half, nothing, whole, nothing)) == 3


def test_a_file_that_is_moved_over_another_or_goes_away_makes_a_round(tmp_path: Path) -> None:
    file, beside = tmp_path / "p.yaml", tmp_path / ".p.yaml.swp"
    file.write_text("one")
    state = file.stat()

    def replace() -> None:
        beside.write_text("two")
        os.utime(beside, ns=(state.st_atime_ns, state.st_mtime_ns))  # as long, and as old
        beside.replace(file)

    assert count(looks([file], replace, nothing)) == 2
    assert count(looks([file], file.unlink, lambda: file.write_text("one"), nothing)) == 2
    assert count(looks([file], file.unlink, nothing)) == 2
    assert count(looks([file], nothing, lambda: file.write_text("back"), nothing)) == 2


def test_a_watch_checks_again_tools_and_all_until_it_is_ended(project: Command) -> None:
    file, tools = project.folder / "procedure.yaml", project.folder / "tools.py"
    with project.start("check", "procedure.yaml", "--watch") as started:
        try:

            def until(words: str) -> str:
                seen = ""
                while words not in seen:
                    line = started.stderr.readline()  # type: ignore[union-attr]
                    assert line, seen
                    seen += line
                return seen

            assert "errors: 0" in until("Ctrl-C ends")
            whole, tool = file.read_text("utf-8"), tools.read_text("utf-8")
            file.write_text(whole.replace("otherwise: told", "otherwise: tald"), "utf-8")
            assert "errors: 2" in until("Ctrl-C ends")
            file.unlink()
            assert "there is no file" in until("Ctrl-C ends")
            file.write_text(whole, "utf-8")
            assert "errors: 0" in until("Ctrl-C ends")
            tools.write_text(tool + "\nraise ValueError('odd')\n", "utf-8")
            assert "odd" in until("Ctrl-C ends")
            started.send_signal(signal.SIGINT)
            out, _ = started.communicate(timeout=30)
        finally:
            started.kill()
    assert started.returncode == ExitCode.OK
    assert "tald" in out and "\x1b" not in out
