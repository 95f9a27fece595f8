"""The help of every verb: each option and argument is explained in English and in Chinese."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer.main

from sopwith.cli.app import app

CHINESE = re.compile(r"[\u4e00-\u9fff]")


def commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    yield name, command
    for each in command.list_commands(None) if hasattr(command, "list_commands") else ():
        yield from commands(command.get_command(None, each), f"{name} {each}")


def test_every_option_is_explained_in_both_languages() -> None:
    wrong: list[str] = []
    seen = 0
    for name, command in commands(typer.main.get_command(app), "sopwith"):
        for parameter in command.params:
            seen += 1
            said = getattr(parameter, "help", None) or ""
            if parameter.name != "help" and not (CHINESE.search(said) and re.search("[A-Za-z]{2}", said)):
                wrong.append(f"{name} {parameter.name}: {said}")
    assert wrong == []
    assert seen > 100
