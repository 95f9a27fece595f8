"""`init`, `check`, `fmt`, `show`, `schema`, `doctor`, `model`, and the help of all verbs."""

from __future__ import annotations

import json
import shlex
import sqlite3
import subprocess
import sys
import tomllib
from contextlib import closing
from pathlib import Path

import jsonschema_rs
import pytest
from tests.cli.command import Command, lay_out
from tests.cli.test_run import TRIAGE

from sopwith.cli.app import VERBS
from sopwith.cli.doctor import EXTRAS
from sopwith.cli.exit_code import ExitCode
from sopwith.guard.vault import Secret, SqliteVault
from sopwith.lang.read import read
from sopwith.lang.yaml import format_yaml
from sopwith.models.catalogue import DEFAULT, KNOWN

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_init_says_to_type_next_works(
    sopwith: Command, monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    made = sopwith("init", "shop", "--lang", language)
    assert made.code == ExitCode.OK
    commands = [shlex.split(line) for line in made.out.splitlines()]
    assert commands[0] == ["cd", "shop"]
    monkeypatch.chdir(sopwith.folder / "shop")
    for name, *arguments in commands[1:]:
        assert name == "sopwith"
        ran = sopwith(*arguments)
        assert ran.code == ExitCode.OK, ran.err
    assert len((sopwith.folder / "shop" / "reminders.jsonl").read_text().splitlines()) == 1


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_new_project_is_canonical_and_free_of_warnings(sopwith: Command, language: str) -> None:
    lay_out(sopwith.folder, language)
    text = (sopwith.folder / "procedure.yaml").read_text(encoding="utf-8")
    assert format_yaml(text) == text
    assert sopwith("check", "procedure.yaml", "--json").document == {"ok": True, "diagnostics": []}


def test_both_languages_make_the_same_project() -> None:
    from sopwith.cli.init import template

    english, chinese = template("en"), template("zh")
    assert english.keys() == chinese.keys()
    steps = [read(texts["procedure.yaml"]).procedure for texts in (english, chinese)]
    assert [*steps[0].steps] == [*steps[1].steps]
    assert english["sopwith.toml"].splitlines()[1:] == chinese["sopwith.toml"].splitlines()[1:]


def test_init_overwrites_nothing(sopwith: Command) -> None:
    sopwith.write("tools.py", "# mine\n")
    ran = sopwith("init")
    assert ran.code == ExitCode.USAGE
    assert "tools.py" in ran.err
    assert [path.name for path in sopwith.folder.iterdir()] == ["tools.py"]


def test_check_prints_each_problem_with_its_place(project: Command) -> None:
    file = project.folder / "procedure.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("otherwise: told", "otherwise: tald"))
    ran = project("check", "procedure.yaml")
    assert ran.code == ExitCode.INVALID
    assert "procedure.yaml:" in ran.out
    assert "tald" in ran.out
    found = project("check", "procedure.yaml", "--json").document
    assert not found["ok"]
    assert found["diagnostics"][0]["file"] == "procedure.yaml"
    assert "错误[" in project("check", "procedure.yaml", "--lang", "zh").out


def test_check_says_when_it_knows_no_tools(sopwith: Command) -> None:
    lay_out(sopwith.folder)
    (sopwith.folder / "tools.py").unlink()
    ran = sopwith("check", "procedure.yaml")
    assert ran.code == ExitCode.OK
    assert "no tools are connected" in ran.err


@pytest.mark.parametrize("example", ["leave", "support"])
def test_the_examples_pass(sopwith: Command, example: str) -> None:
    ran = sopwith("check", str(EXAMPLES / example / "procedure.yaml"))
    assert ran.code == ExitCode.OK, ran.out


LOOSE = TRIAGE.replace("name: Triage", 'name: "Triage"   # what it is called')


def test_fmt_writes_keeps_comments_and_leaves_what_is_canonical(sopwith: Command) -> None:
    path = sopwith.write("p.yaml", LOOSE)
    path.chmod(0o640)
    assert sopwith("fmt", "p.yaml", "--check").code == ExitCode.INVALID
    assert path.read_text(encoding="utf-8") == LOOSE
    assert sopwith("fmt", "p.yaml").code == ExitCode.OK
    text = path.read_text(encoding="utf-8")
    assert "name: Triage" in text
    assert "# what it is called" in text
    assert path.stat().st_mode & 0o777 == 0o640
    again = sopwith("fmt", "p.yaml", "--check")
    assert (again.code, again.err) == (ExitCode.OK, "")
    assert sopwith("fmt", "-", stdin=LOOSE).out == text


def test_fmt_shows_what_it_would_change(sopwith: Command) -> None:
    path = sopwith.write("p.yaml", LOOSE)
    ran = sopwith("fmt", "p.yaml", "--diff")
    assert ran.code == ExitCode.OK
    assert '-name: "Triage"' in ran.out
    assert path.read_text(encoding="utf-8") == LOOSE


def test_show_numbers_every_step(project: Command) -> None:
    lines = [line.split() for line in project("show", "procedure.yaml").out.splitlines()]
    assert ["1", "find", "Find", "the", "order", "tool", "orders.find"] in [line[:7] for line in lines]
    document = project("show", "procedure.yaml", "--json").document
    assert document["numbers"]["reminded"] == "1-1 2"


def test_show_draws_and_spells(project: Command) -> None:
    assert project("show", "procedure.yaml", "--mermaid").out.startswith("flowchart TD")
    assert project("show", "procedure.yaml", "--yaml").out.startswith("schema: ")
    assert "Step 1" in project("show", "procedure.yaml", "--routine").out


@pytest.fixture
def triage(sopwith: Command) -> Command:
    """A procedure with a choice, a judgement and an answer."""
    sopwith.write("p.yaml", TRIAGE)
    sopwith.write("script.jsonl", '"B"\n"B"\n"We are looking into it."\n')
    return sopwith


def test_the_prompt_that_is_shown_is_the_one_that_is_sent(triage: Command) -> None:
    triage("run", "p.yaml", "--request", "broken", "--model", "scripted:script.jsonl")
    sent = triage("trace", "--prompts", "--json").document
    shown = [
        prompt
        for step in ("sort", "reply")
        for prompt in triage(
            "show", "p.yaml", "--prompt", step, "--request", "broken", "--given", "topic=fault", "--json"
        ).document
    ]
    assert [s["purpose"] for s in shown] == ["returns", "judge", "answer"]
    assert [s["user"] for s in shown] == [s["user"] for s in sent]
    assert [s["system"] + s["tools"] for s in shown] == [s["system"] for s in sent]
    assert [s["turns"] for s in shown] == [s["turns"] for s in sent]
    assert [s["legal"] for s in shown] == [s["legal"] for s in sent]


def test_what_only_a_run_knows_stands_as_its_name(triage: Command) -> None:
    ran = triage("show", "p.yaml", "--prompt", "sort")
    assert "request: ‹request›" in ran.out
    assert "A. account" in ran.out
    missing = triage("show", "p.yaml", "--prompt", "srot")
    assert missing.code == ExitCode.USAGE
    assert "did you mean 'sort'?" in missing.err
    assert "calls no model" in triage("show", "p.yaml", "--prompt", "money").err


@pytest.mark.parametrize("example", ["leave", "support"])
def test_every_prompt_of_the_examples_can_be_shown(sopwith: Command, example: str) -> None:
    file = EXAMPLES / example / "procedure.yaml"
    for step in read(file).procedure.steps:
        ran = sopwith("show", str(file), "--prompt", step)
        assert ran.code == ExitCode.OK, ran.err
    free = sopwith("show", str(file), "--prompt", "work", "--grip", "free")
    assert free.out.startswith("=== free: action, ")


def test_prompt_files_are_listed_with_their_hashes(sopwith: Command) -> None:
    files = sopwith("show", "--prompts", "--json").document
    assert {(f["name"], f["language"]) for f in files} >= {("strict", "en"), ("strict", "zh")}
    assert all(len(f["hash"]) == 64 for f in files)


@pytest.mark.parametrize("what", ["procedure", "events"])
def test_schema_prints_a_schema(sopwith: Command, what: str) -> None:
    document = sopwith("schema", what).document
    jsonschema_rs.meta.validate(document)
    assert document["title"]


def test_doctor_names_each_thing_and_its_remedy(
    project: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOPWITH_MODEL_DIR", str(tmp_path / "models"))
    ran = project("doctor", "--json")
    found = {each["name"]: each for each in ran.document}
    assert ran.code == ExitCode.OK
    assert found["python"]["state"] == "ok"
    assert (found["model"]["state"], found["model"]["hint"]) == ("warn", f"sopwith model pull {DEFAULT}")
    assert {
        "sqlite",
        "extra local",
        "extra openai",
        "extra mcp",
        "models",
        "disk",
        "data",
        "key",
    } <= found.keys()
    assert {"extra draw", "extra word"} <= found.keys()
    assert "vault" not in found
    project.write("models/" + KNOWN[DEFAULT].file, "GGUF")
    assert project("doctor").code == ExitCode.INTERNAL


def test_doctor_names_every_extra() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    assert set(EXTRAS) == set(project["project"]["optional-dependencies"]) - {"bench", "dev"}


def test_doctor_looks_into_the_vault(project: Command) -> None:
    vault = SqliteVault(project.folder / ".sopwith" / "vault.db")
    vault.keep("r1", [Secret("phone", '"13800138000"')])
    vault.close()
    told = {each["name"]: each for each in project("doctor", "--json", "--no-servers").document}
    assert (told["vault"]["state"], told["vault"]["message"]) == ("ok", "1 entries, all of them open")
    with closing(sqlite3.connect(vault.path)) as connection, connection:
        connection.execute("UPDATE entry SET sealed = zeroblob(40)")
    ran = project("doctor", "--json", "--no-servers")
    told = {each["name"]: each for each in ran.document}
    assert ran.code == ExitCode.INTERNAL
    assert told["vault"]["state"] == "fail" and "r1 was changed" in told["vault"]["message"]


def test_doctor_starts_the_mcp_servers(project: Command) -> None:
    servers = {
        "time": {"command": sys.executable, "args": ["-m", "mcp_server_time"]},
        "dead": {"command": sys.executable, "args": ["-c", ""]},
    }
    project.write(".mcp.json", json.dumps({"mcpServers": servers}))
    ran = project("doctor", "--json")
    found = {each["name"]: each for each in ran.document}
    assert ran.code == ExitCode.INTERNAL
    assert (found["mcp time"]["state"], found["mcp dead"]["state"]) == ("ok", "fail")
    assert found["mcp dead"]["message"]


def test_models_are_listed_and_found(
    sopwith: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOPWITH_MODEL_DIR", str(tmp_path))
    assert DEFAULT in sopwith("model", "list").out
    listed = {model["name"]: model for model in sopwith("model", "list", "--json").document}
    assert listed[DEFAULT]["path"] is None
    assert sopwith("model", "path").code == ExitCode.USAGE
    assert sopwith("model", "pull", "gpt").code == ExitCode.USAGE


def test_a_pull_shows_its_progress_and_prints_the_path(
    sopwith: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sopwith.cli import model
    from sopwith.models.gguf import Progress

    def pull(name: str, progress: Progress) -> Path:
        for done in range(0, 101, 5):
            progress(done * 1_000_000, 100_000_000)
        return tmp_path / name

    monkeypatch.setattr(model, "pull", pull)
    ran = sopwith("model", "pull", "tiny")
    assert ran.out == f"{tmp_path / 'tiny'}\n"
    assert len(ran.err.splitlines()) == 11
    assert "50 / 100 MB" in ran.err


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_in_both_languages(sopwith: Command, verb: str) -> None:
    ran = sopwith(verb, "--help")
    assert ran.code == ExitCode.OK
    assert ran.out.startswith(f"Usage: sopwith {verb}")
    assert any("\u4e00" <= character <= "\u9fff" for character in ran.out)


def test_the_help_lists_every_verb_without_importing_any() -> None:
    program = (
        "import sys\nfrom sopwith.cli.app import main\ntry:\n    main()\nexcept SystemExit: pass\n"
        "print(*sorted(m for m in sys.modules if m.startswith('sopwith.run')))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, "--help"], capture_output=True, text=True, check=True, timeout=60
    )
    assert all(f"  {verb} " in ran.stdout for verb in VERBS)
    assert "sopwith.run" not in ran.stdout


def test_the_version(sopwith: Command) -> None:
    import sopwith as package

    assert sopwith("--version").out == f"sopwith {package.__version__}\n"


def test_no_prompt_is_shown_of_a_procedure_that_does_not_pass_its_checks(triage: Command) -> None:
    triage.write("broken.yaml", TRIAGE.replace("required: [topic]", "required: [{a: 1}]"))
    ran = triage("show", "broken.yaml", "--prompt", "sort")
    assert ran.code == ExitCode.INVALID
    assert "SW331" in ran.err and "Error" not in ran.err
