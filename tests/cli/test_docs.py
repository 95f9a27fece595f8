"""The page of the command line says everything, in each language: verbs, options, exit codes, settings."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest
import typer

from sopwith.cli.app import VERBS
from sopwith.cli.exit_code import MEANINGS, ExitCode
from sopwith.cli.settings import OTHER_VARIABLES, SETTINGS, variable

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {
    "en": (DOCS / "cli.md").read_text(encoding="utf-8"),
    "zh": (DOCS / "cli.zh.md").read_text(encoding="utf-8"),
}
in_each_language = pytest.mark.parametrize("language", PAGES)


def section(language: str, *names: str) -> str:
    """The part of the page under the heading that is one of `names`."""
    heading = "|".join(re.escape(name) for name in names)
    found = re.search(rf"^## (?:{heading})\n(.*?)(?=^## |\Z)", PAGES[language], re.MULTILINE | re.DOTALL)
    assert found is not None, names
    return found.group(1)


def options(verb: str) -> set[str]:
    """The options of a verb and of its own verbs."""
    group = typer.main.get_command(import_module(f"sopwith.cli.{verb}").verb)
    commands = [group, *getattr(group, "commands", {}).values()]
    named = {o for command in commands for parameter in command.params for o in parameter.opts}
    return {option for option in named if option.startswith("--")} - {"--help"}


@in_each_language
@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_and_each_of_its_options_is_described(verb: str, language: str) -> None:
    text = section(language, verb)
    assert f"| [`{verb}`](#{verb}) |" in PAGES[language]
    assert f"sopwith {verb}" in text
    assert {option for option in options(verb) if not re.search(rf"`{option}\b", text)} == set()


def test_verbs_that_take_a_run_up_have_the_same_options_for_it() -> None:
    own = {"--answer", "--why", "--to", "--set", "--happened", "--again"}
    takes_up = [options(verb) - own for verb in ("resume", "approve", "deny", "takeover")]
    assert all(each == takes_up[0] for each in takes_up)


@in_each_language
def test_every_exit_code_is_described(language: str) -> None:
    text = section(language, "Exit codes", "退出码")
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \| (.*) \|$", text, re.MULTILINE)
    assert rows == [(str(int(code)), code.name, getattr(MEANINGS[code], language)) for code in ExitCode]


@in_each_language
def test_every_setting_is_described_with_its_variable(language: str) -> None:
    text = section(language, "Settings", "设置")
    rows = re.findall(r"^\| `([\w.]+)` \| `(\w+)` \|", text, re.MULTILINE)
    assert rows == [(name, variable(name)) for name in SETTINGS]
    assert {name for name in OTHER_VARIABLES if f"`{name}`" not in text.replace("=1`", "`")} == set()


@in_each_language
def test_the_page_describes_no_option_that_is_not_there(language: str) -> None:
    known = {option for verb in VERBS for option in options(verb)} | {"--help", "--lang", "--version"}
    assert set(re.findall(r"--[a-z][a-z-]+", PAGES[language])) - known == set()
