"""The page of the command line says everything: verbs, options, exit codes, settings."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest
import typer

from sopwith.cli.app import VERBS
from sopwith.cli.exit_code import MEANINGS, ExitCode
from sopwith.cli.settings import OTHER_VARIABLES, SETTINGS, variable

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")


def section(name: str) -> str:
    """The part of the page under a heading."""
    found = re.search(rf"^## {re.escape(name)}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None, name
    return found.group(1)


def options(verb: str) -> set[str]:
    """The options of a verb and of its own verbs."""
    group = typer.main.get_command(import_module(f"sopwith.cli.{verb}").verb)
    commands = [group, *getattr(group, "commands", {}).values()]
    named = {o for command in commands for parameter in command.params for o in parameter.opts}
    return {option for option in named if option.startswith("--")} - {"--help"}


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_and_each_of_its_options_is_described(verb: str) -> None:
    text = section(verb)
    assert f"sopwith {verb}" in text
    assert {option for option in options(verb) if not re.search(rf"`{option}\b", text)} == set()


def test_verbs_that_take_a_run_up_have_the_same_options_for_it() -> None:
    own = {"--answer", "--why", "--to", "--set", "--happened", "--again"}
    takes_up = [options(verb) - own for verb in ("resume", "approve", "deny", "takeover")]
    assert all(each == takes_up[0] for each in takes_up)


def test_every_exit_code_is_described() -> None:
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \| (.*) \|$", section("Exit codes"), re.MULTILINE)
    assert rows == [(str(int(code)), code.name, MEANINGS[code].en) for code in ExitCode]
    assert all(meaning.zh for meaning in MEANINGS.values())


def test_every_setting_is_described_with_its_variable() -> None:
    rows = re.findall(r"^\| `([\w.]+)` \| `(\w+)` \|", section("Settings"), re.MULTILINE)
    assert rows == [(name, variable(name)) for name in SETTINGS]
    assert {
        name for name in OTHER_VARIABLES if f"`{name}`" not in section("Settings").replace("=1`", "`")
    } == set()


def test_the_page_describes_no_option_that_is_not_there() -> None:
    known = {option for verb in VERBS for option in options(verb)} | {"--help", "--lang", "--version"}
    assert set(re.findall(r"--[a-z][a-z-]+", PAGE)) - known == set()
