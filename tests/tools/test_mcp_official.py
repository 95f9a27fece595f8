"""The official MCP servers as published: `everything`, `filesystem`, `memory` and `sequential-thinking` (Node), `time`,
`git` and `sqlite` (Python)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.tools.servers import NPM, npm_server, python_server, sqlite_server

from sopwith.ir.tool import Effect
from sopwith.tools import Catalogue, mcp_sources
from sopwith.tools.arguments import problems

AMPLE = 60.0

pytestmark = pytest.mark.slow  # they are installed from the registries


@pytest.fixture(scope="session")
def commands() -> dict[str, str]:
    """The commands of the seven servers; the first time they are installed."""
    node = {name: npm_server(name) for name in NPM}
    python = {"time": python_server("time"), "git": python_server("git"), "sqlite": sqlite_server()}
    return {**node, **python}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    for command in (
        ["init", "--quiet", "--initial-branch=main", str(folder)],
        ["-C", str(folder), "config", "user.email", "a@example.com"],
        ["-C", str(folder), "config", "user.name", "A"],
        ["-C", str(folder), "commit", "--quiet", "--allow-empty", "--message", "第一次提交"],
    ):
        subprocess.run(["git", *command], check=True)
    return folder


@pytest.fixture
async def catalogue(commands: dict[str, str], repository: Path, tmp_path: Path) -> AsyncIterator[Catalogue]:
    (tmp_path / "说明.txt").write_text("第一行\n第二行\n", encoding="utf-8")
    servers = {
        "everything": {"command": commands["everything"], "args": ["stdio"]},
        "files": {"command": commands["filesystem"], "args": [str(tmp_path)], "trust": ["annotations"]},
        "time": {"command": commands["time"], "effects": {"get_current_time": "read"}},
        "git": {"command": commands["git"], "args": ["--repository", str(repository)]},
        "memory": {
            "command": commands["memory"],
            "env": {"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")},
        },
        "thinking": {"command": commands["sequential-thinking"]},
        "sqlite": {"command": commands["sqlite"], "args": ["--db-path", str(tmp_path / "shop.db")]},
    }
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    made = Catalogue(mcp_sources(path))
    yield made
    await made.close()


async def test_the_official_servers_work_side_by_side(
    catalogue: Catalogue, repository: Path, tmp_path: Path
) -> None:
    specs = await catalogue.specs()
    assert catalogue.problems() == []
    assert list(specs) == sorted(specs)
    assert {name.partition(".")[0] for name in specs} == {
        "everything", "files", "time", "git", "memory", "thinking", "sqlite",
    }  # fmt: skip
    assert specs["files.read_text_file"].effect is Effect.READ
    assert specs["files.write_file"].effect is Effect.WRITE
    assert specs["time.get_current_time"].effect is Effect.READ
    assert specs["git.git_commit"].effect is Effect.WRITE

    async def value(name: str, **arguments: object) -> object:
        assert problems(specs[name], arguments) == ()
        result = await catalogue.call(name, arguments, key="k", seconds=AMPLE)
        assert result.error is None, result.error
        return result.value

    assert await value("everything.echo", message="你好") == "Echo: 你好"
    weather = await value("everything.get-structured-content", location="Chicago")
    assert isinstance(weather, dict) and set(weather) == {"temperature", "conditions", "humidity"}
    picture = await value("everything.get-tiny-image")
    assert isinstance(picture, list) and {part["type"] for part in picture} == {"text", "image"}

    read = await value("files.read_text_file", path=str(tmp_path / "说明.txt"))
    assert read == {"content": "第一行\n第二行\n"}
    await value("files.write_file", path=str(tmp_path / "新.txt"), content="写入")
    assert (tmp_path / "新.txt").read_text(encoding="utf-8") == "写入"
    outside = await catalogue.call("files.read_text_file", {"path": "/etc/hostname"}, key="k", seconds=AMPLE)
    assert outside.error is not None and outside.error.code == "tool_error"

    times = await value(
        "time.convert_time", source_timezone="Asia/Shanghai", time="10:00", target_timezone="UTC"
    )
    assert isinstance(times, dict) and times["time_difference"] == "-8.0h"
    nowhere = await catalogue.call("time.get_current_time", {"timezone": "No/Where"}, key="k", seconds=AMPLE)
    assert nowhere.error is not None and "Invalid timezone" in nowhere.error.message

    assert "第一次提交" in json.dumps(
        await value("git.git_log", repo_path=str(repository)), ensure_ascii=False
    )

    entities = [{"name": "王芳", "entityType": "person", "observations": ["likes tea"]}]
    await value("memory.create_entities", entities=entities)
    found = await value("memory.search_nodes", query="tea")
    assert isinstance(found, dict) and found["entities"][0]["name"] == "王芳"

    thought = {"thought": "First.", "thoughtNumber": 1, "totalThoughts": 2, "nextThoughtNeeded": True}
    thinking = await value("thinking.sequentialthinking", **thought)
    assert isinstance(thinking, dict) and thinking["thoughtHistoryLength"] == 1

    await value("sqlite.create_table", query="CREATE TABLE stock (item TEXT, count INTEGER)")
    await value("sqlite.write_query", query="INSERT INTO stock VALUES ('茶', 3)")
    rows = await value("sqlite.read_query", query="SELECT item, count FROM stock")
    assert rows == "[{'item': '茶', 'count': 3}]"


async def test_a_long_operation_is_bounded_and_the_server_goes_on(
    commands: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "mcp.json"
    entry = {"command": commands["everything"], "args": ["stdio"]}
    path.write_text(json.dumps({"mcpServers": {"everything": entry}}), encoding="utf-8")
    (source,) = mcp_sources(path)
    await source.specs()
    name = "everything.trigger-long-running-operation"
    assert (await source.call(name, {"duration": 60, "steps": 2}, key="k", seconds=0.3)).unknown
    assert (await source.call("everything.echo", {"message": "a"}, key="k", seconds=AMPLE)).value == "Echo: a"
    await source.close()
