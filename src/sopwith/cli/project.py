"""What belongs to a run: the files beside its procedure, and where they were when it was started."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sopwith.cli.script import absolute
from sopwith.cli.settings import Settings, load_settings
from sopwith.errors import Text, UserError
from sopwith.ir.usage import Budget
from sopwith.lang.form import procedure_file
from sopwith.lang.text_file import no_such_file, not_a_file

TOOLS = "tools.py"
MCP = ".mcp.json"
POLICY = "policy.yaml"
PRICES = "prices.yaml"
WHERE = "where"
LOCAL = "local"
_NAMED = re.compile(r"([A-Za-z_]\w*)=(.+)")


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says about a project; None where it says nothing."""

    model: Sequence[str] | None = None
    """The default model, and `ROLE=MODEL` or `NAME=MODEL` for others."""
    data: Path | None = None
    tools: Sequence[Path | str] | None = None
    mcp: Path | None = None
    policy: Path | None = None
    prices: Path | None = None
    principal: str | None = None
    roles: Sequence[str] | None = None
    budget: Budget = field(default_factory=Budget)
    library: Path | None = None

    def given(self) -> dict[str, Any]:
        """The same, by the names of the settings."""
        named = {
            name: getattr(self, name)
            for name in ("data", "tools", "mcp", "policy", "prices", "principal", "roles", "library")
        }
        return (
            named
            | models_given(self.model or ())
            | {f"budget.{name}": value for name, value in self.budget.model_dump().items()}
        )


@dataclass(frozen=True, slots=True)
class Project:
    """The files of a run (absolute), its model, and its settings."""

    procedure: Path
    tools: tuple[Path | str, ...]
    """Paths; as texts, URLs and `recorded:RUN`."""
    mcp: Path | None
    policy: Path | None
    prices: Path | None
    settings: Settings
    allow: tuple[str, ...] = ()

    @property
    def connects(self) -> bool:
        """Whether any tools are named."""
        return bool(self.tools or self.mcp or self.settings.openapi or self.settings.documents)

    @property
    def model(self) -> str | None:
        """The default model that was named, if one was."""
        return self.settings.model

    @property
    def models(self) -> Mapping[str, str]:
        """The models of roles and names."""
        return self.settings.models


def models_given(specs: Sequence[str]) -> dict[str, Any]:
    """`--model SPEC` and `--model NAME=SPEC` as the settings `model` and `models`. The last of several counts."""
    named = [match for spec in specs if (match := _NAMED.fullmatch(spec))]
    plain = [spec for spec in specs if not _NAMED.fullmatch(spec)]
    return {
        "model": plain[-1] if plain else None,
        "models": {match[1]: match[2] for match in named} or None,
    }


def find_project(file: Path, options: Options, allow: Sequence[str] = ()) -> Project:
    """The project of a file, which is a procedure or lies beside one: what was given, else what is found there.

    Raises `UserError` for a missing file.
    """
    file = procedure_file(file)
    _hold_to_a_file(file)
    return _project_of(file.resolve(), options, allow)


def folder_project(folder: Path, options: Options) -> Project:
    """The project in `folder`, without any of its procedures."""
    return _project_of(folder.resolve() / "tools", options, ())


def _project_of(file: Path, options: Options, allow: Sequence[str]) -> Project:
    folder = file.parent
    settings = load_settings(folder, options.given())
    tools = settings.tools if settings.tools is not None else _there(folder / TOOLS)
    project = Project(
        procedure=file,
        tools=absolute_sources(tools),
        mcp=_file(settings.mcp, folder / MCP),
        policy=_file(settings.policy, folder / POLICY),
        prices=_file(settings.prices, folder / PRICES),
        settings=settings,
        allow=tuple(allow),
    )
    for path in (*project.tools, project.mcp, project.policy, project.prices):
        if isinstance(path, Path):
            _hold_to_a_file(path)
    if settings.documents is not None:
        _hold_to_a_folder(settings.documents, settings.found.get("documents", ""))
    return project


def absolute_sources(tools: Sequence[Path | str]) -> tuple[Path | str, ...]:
    """Sources of tools with absolute paths."""
    return tuple(each.absolute() if isinstance(each, Path) else each for each in tools)


def _hold_to_a_file(path: Path) -> None:
    if path.is_dir():
        raise not_a_file(path, str(path))
    if not path.is_file():
        raise no_such_file(str(path))


def _hold_to_a_folder(path: Path, place: str) -> None:
    if not path.is_dir():
        raise UserError(
            Text(f"{place}: documents: there is no folder {path}", f"{place}：documents：没有文件夹 {path}"),
            Text("make it, or name another one", "请创建该文件夹，或指定其他文件夹"),
        )


def _there(path: Path) -> tuple[Path, ...]:
    return (path,) if path.is_file() else ()


def _file(named: Path | None, beside: Path) -> Path | None:
    if named is not None:
        return named.absolute()
    return beside if beside.is_file() else None


def remember(project: Project, data: Path, run: str) -> None:
    """Note where the files of a run are, so that `resume` finds them. A convenience: the run does not depend on it."""
    noted: dict[str, Any] = {
        "procedure": str(project.procedure),
        "tools": [str(path) for path in project.tools],
        "openapi": {
            name: {**table, "document": str(absolute_sources([table["document"]])[0])}
            for name, table in project.settings.openapi.items()
        },
        "documents": str(project.settings.documents.absolute()) if project.settings.documents else None,
        "mcp": str(project.mcp) if project.mcp else None,
        "policy": str(project.policy) if project.policy else None,
        "prices": str(project.prices) if project.prices else None,
        "model": absolute(project.model),
        "models": {name: absolute(spec) for name, spec in project.models.items()},
        "allow": list(project.allow),
    }
    place = data / WHERE / f"{run}.json"
    with suppress(OSError):  # a disk that takes nothing will say so when the run itself is written
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(noted, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def remembered(data: Path, run: str) -> dict[str, Any]:
    """What `remember` noted, or nothing."""
    place = data / WHERE / f"{run}.json"
    try:
        return json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
