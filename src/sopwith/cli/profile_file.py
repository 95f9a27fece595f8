"""Tables in a settings file: fields are put in, and everything else stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sopwith.cli.output_file import replace
from sopwith.cli.settings import FILE, project_file


def write_profile(model: str, fields: Mapping[str, Any], folder: Path) -> Path:
    """Put `fields` into the profile of `model` in the nearest settings file, or a new one in `folder`; its path."""
    return write_table(("profiles", model), fields, folder)


def settings_file(folder: Path) -> Path:
    """The nearest settings file, or the new one that would be in `folder`."""
    return project_file(folder) or folder / FILE


def write_table(path: tuple[str, str], fields: Mapping[str, Any], folder: Path) -> Path:
    """Put `fields` into the table `path` of the nearest settings file, or a new one in `folder`; its path."""
    import tomlkit

    file = settings_file(folder)
    document: Any = tomlkit.parse(file.read_text(encoding="utf-8")) if file.is_file() else tomlkit.document()
    table: Any = document
    if file.name != FILE:
        table = document["tool"]["sopwith"]
    for depth, name in enumerate(path):
        table = table.setdefault(name, tomlkit.table(is_super_table=depth == 0))
    for name, value in fields.items():
        table[name] = value
    replace(file, tomlkit.dumps(document))
    return file


def as_toml(model: str, fields: Mapping[str, Any]) -> str:
    """The profile as it would stand in a settings file."""
    import tomlkit

    return tomlkit.dumps({"profiles": {model: dict(fields)}}).strip()
