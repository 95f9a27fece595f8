"""Where settings come from, in which order, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.command import Command

from sopwith.cli.exit_code import ExitCode
from sopwith.cli.project import models_given
from sopwith.cli.settings import SETTINGS, load_settings, variable
from sopwith.errors import UserError


@pytest.fixture
def folder(sopwith: Command) -> Path:
    """An empty folder, entered."""
    return sopwith.folder


def user_file(folder: Path, text: str) -> None:
    """Settings of the user."""
    place = folder / "no-settings-of-a-user" / "sopwith" / "config.toml"
    place.parent.mkdir(parents=True)
    place.write_text(text, encoding="utf-8")


def test_without_any_there_are_defaults(folder: Path) -> None:
    found = load_settings(folder)
    assert (found.model, found.data, found.principal, found.tools) == (
        None,
        Path(".sopwith"),
        "anonymous",
        None,
    )
    assert found.found == {}


def test_the_nearer_source_decides(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user_file(folder, 'model = "local:user"\nprincipal = "user"\nroles = ["user"]\n[budget]\ntokens = 1\n')
    (folder / "sopwith.toml").write_text(
        'model = "local:project"\nprincipal = "project"\n[budget]\ntokens = 2\n'
    )
    monkeypatch.setenv("SOPWITH_MODEL", "local:environment")
    monkeypatch.setenv("SOPWITH_BUDGET_SECONDS", "1.5")
    found = load_settings(folder, {"budget.model_calls": 3, "model": None})
    assert (found.model, found.principal, found.roles) == ("local:environment", "project", ("user",))
    assert (found.budget.tokens, found.budget.model_calls, found.budget.seconds) == (2, 3, 1.5)
    assert load_settings(folder, {"model": "local:given"}).model == "local:given"
    assert found.found["budget.tokens"] == str(folder / "sopwith.toml")
    assert found.found["model"] == "environment"


def test_models_of_roles_add_up_over_the_sources(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "sopwith.toml").write_text('[models]\njudge = "local:a"\nanswer = "local:b"\nbig = "local:c"\n')
    monkeypatch.setenv("SOPWITH_MODELS", "answer=openai:d@http://h/v1")
    given = models_given(["big=local:e", "local:f", "scripted:a=b.jsonl"])
    assert given == {"model": "scripted:a=b.jsonl", "models": {"big": "local:e"}}
    found = load_settings(folder, given)
    assert found.models == {"judge": "local:a", "answer": "openai:d@http://h/v1", "big": "local:e"}
    (folder / "sopwith.toml").write_text("[models]\njudge = 1\n")
    with pytest.raises(UserError, match="models must be names, each with a text"):
        load_settings(folder)


def test_a_pyproject_is_a_project_file_where_it_has_the_table(folder: Path) -> None:
    inner = folder / "inner"
    inner.mkdir()
    (inner / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    (folder / "pyproject.toml").write_text("[tool.sopwith]\nprincipal = 'table'\n")
    assert load_settings(inner).principal == "table"


def test_paths_in_a_file_are_relative_to_it(folder: Path) -> None:
    (folder / "sopwith.toml").write_text('tools = ["a.py", "sub/b.py"]\npolicy = "p.yaml"\ndata = "d"\n')
    found = load_settings(folder / "deep" / "inside")
    assert found.tools == (folder / "a.py", folder / "sub/b.py")
    assert (found.policy, found.data) == (folder / "p.yaml", folder / "d")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('modle = "local"', "unknown setting 'modle'"),
        ("[budget]\ntoken = 1", "unknown setting 'budget.token'"),
        ("model = 3", "model must be text, not 3"),
        ('tools = "a.py"', "tools must be a list of paths"),
        ("[budget]\ntokens = -1", "budget.tokens must be a whole number, 0 or more, not -1"),
        ("[budget]\ntokens = true", "budget.tokens must be"),
        ("[budget]\nseconds = inf", "budget.seconds must be"),
        ("[budget]\nmoney = nan", "budget.money must be a number, 0 or more, not nan"),
        ('[budget]\nmoney = "5"', "budget.money must be a number, 0 or more, not '5'"),
        ("model = ", "is not TOML"),
    ],
)
def test_what_a_file_may_not_hold(folder: Path, text: str, said: str) -> None:
    (folder / "sopwith.toml").write_text(text)
    with pytest.raises(UserError, match=said.replace(".", r"\.")) as caught:
        load_settings(folder)
    assert "sopwith.toml" in caught.value.message.en
    assert caught.value.message.zh


def test_the_near_miss_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "sopwith.toml").write_text('modle = "local"')
    with pytest.raises(UserError) as caught:
        load_settings(folder)
    assert caught.value.hint.en == "did you mean 'model'?"
    (folder / "sopwith.toml").unlink()
    monkeypatch.setenv("SOPWITH_POLICE", "p.yaml")
    with pytest.raises(UserError) as caught:
        load_settings(folder)
    assert caught.value.hint.en == "did you mean 'SOPWITH_POLICY'?"


def test_numbers_of_the_environment_are_numbers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOPWITH_BUDGET_TOKENS", "many")
    with pytest.raises(UserError, match="SOPWITH_BUDGET_TOKENS must be a whole number"):
        load_settings(folder)
    monkeypatch.setenv("SOPWITH_BUDGET_TOKENS", "")
    assert load_settings(folder).budget.tokens is None


def test_each_setting_has_a_variable_of_its_own() -> None:
    assert len({variable(name) for name in SETTINGS}) == len(SETTINGS)


def test_a_wrong_setting_is_a_usage_error_of_every_verb(sopwith: Command) -> None:
    sopwith.write("sopwith.toml", 'modle = "x"')
    for verb in ("runs", "trace", "doctor"):
        assert sopwith(verb).code == ExitCode.USAGE
