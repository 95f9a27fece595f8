"""The `mcpServers` file: what it gives, and what is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sopwith.errors import ToolSourceError
from sopwith.ir.tool import Effect
from sopwith.tools import mcp_sources
from sopwith.tools.mcp_server import Program


def write(folder: Path, content: Any) -> Path:
    path = folder / ".mcp.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def servers(**entries: Any) -> dict[str, Any]:
    return {"mcpServers": entries}


def test_a_file_gives_its_servers_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCS", "/srv/docs")
    monkeypatch.delenv("LEVEL", raising=False)
    entry = {
        "command": "npx",
        "args": ["-y", "server", "${DOCS}/公开", "$HOME", "${LEVEL:-}"],
        "env": {"LOG": "${LEVEL:-info}"},
        "cwd": "work",
        "effects": {"read_file": "read"},
        "trust": ["annotations"],
        "start_seconds": 5,
        "value_threshold": {"read_file": 4000},
    }
    off = {"command": "x", "disabled": True}
    files, time = mcp_sources(write(tmp_path, servers(files=entry, off=off, time={"command": "t"})))
    assert isinstance(files.server, Program)
    assert (files.name, files.server.command) == ("files", "npx")
    assert files.server.args == ("-y", "server", "/srv/docs/公开", "$HOME", "")
    assert files.server.env == {"LOG": "info"}
    assert files.server.cwd == str(tmp_path / "work")
    assert files.settings.effects == {"read_file": Effect.READ}
    assert files.settings.value_threshold == {"read_file": 4000}
    assert files.settings.trusted and files.server.start_seconds == 5.0
    assert isinstance(time.server, Program)
    assert (time.server.args, time.server.cwd) == ((), None)
    assert (time.name, time.settings.trusted, time.problems) == ("time", False, [])


def test_unknown_keys_are_left_alone_and_told(tmp_path: Path) -> None:
    entry = {"command": "x", "type": "stdio", "autoApprove": ["a"]}
    (source,) = mcp_sources(write(tmp_path, {**servers(a=entry), "other": 1}))
    assert [problem.en for problem in source.problems] == [
        f"{tmp_path}/.mcp.json: a: autoApprove is not used"
    ]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{"mcpServers": {\n  "a": }}', ":2:8 is not JSON: "),
        ("[]", " has no object mcpServers"),
        ({"servers": {}}, " has no object mcpServers"),
        ({"mcpServers": []}, " has no object mcpServers"),
        (servers(a={"args": []}), ": a: command is missing, or url"),
        (servers(a={"command": ""}), ": a: command: "),
        (servers(a="npx"), ": a: "),
        (servers(a={"command": "x", "args": "y"}), ": a: args: "),
        (servers(a={"command": "x", "args": [1]}), ": a: args.0: "),
        (servers(a={"command": "x", "env": {"A": 1}}), ": a: env.A: "),
        (servers(a={"command": "x", "start_seconds": 0}), ": a: start_seconds: "),
        (servers(a={"command": "x", "effects": {"t": "reads"}}), ": a: effects.t: 'reads' is unknown"),
        (servers(a={"command": "x", "trust": ["annotation"]}), ": a: trust.0: must be 'annotations'"),
        (servers(a={"url": "ftp://localhost/mcp"}), ": a: url: it is not http or https"),
        (
            servers(a={"url": "http://localhost/mcp", "args": ["x"]}),
            ": a: args: a server with a url is not run",
        ),
        (servers(a={"url": "http://localhost/mcp", "type": "stdio"}), ": a: the type stdio wants a command"),
        (servers(a={"command": "x", "type": "http"}), ": a: the type http wants a url"),
        (servers(a={"command": "x", "headers": {"A": "b"}}), ": a: headers: there is no url"),
        (servers(a={"url": "http://localhost/mcp", "call_seconds": 0}), ": a: call_seconds: "),
        (servers(a={"command": "x", "type": "sse"}), ": a: the type sse is not supported"),
        (
            servers(a={"command": "x", "args": ["${NO_SUCH_NAME}"]}),
            ": a: the environment has no NO_SUCH_NAME",
        ),
    ],
)
def test_what_cannot_be_used_is_named_with_its_place(tmp_path: Path, content: Any, problem: str) -> None:
    path = write(tmp_path, content)
    with pytest.raises(ToolSourceError) as caught:
        mcp_sources(path)
    assert f"{path}{problem}" in caught.value.message.en
    assert str(path) in caught.value.message.zh
    assert caught.value.hint.en and caught.value.hint.zh


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ToolSourceError, match="no such file"):
        mcp_sources(tmp_path / "missing.json")
    (tmp_path / "latin.json").write_bytes(b'{"a": "\xe9"}')
    with pytest.raises(ToolSourceError, match="not UTF-8"):
        mcp_sources(tmp_path / "latin.json")


@pytest.mark.parametrize(
    ("entry", "said", "hint"),
    [
        ({"command": "x", "args": "y"}, "args：应为列表", "列表"),
        ({"command": ""}, "command：应至少有 1 个字符", "至少 1 个字符"),
        ({"command": "x", "start_seconds": 0}, "start_seconds：应大于 0", "大于 0"),
        ({"command": "x", "env": {"A": 1}}, "env.A：应为文本", "请加引号"),
        (
            {"command": "x", "reconcile": {"t": {"tool": "a", "happened": "true", "vaule": "x"}}},
            "reconcile.t.vaule：未知字段",
            "可用字段：tool, happened, value",
        ),
        ({"args": []}, "缺少 command 或 url", "mcpServers"),
    ],
)
def test_a_wrong_field_is_said_in_chinese_with_its_remedy(
    tmp_path: Path, entry: Any, said: str, hint: str
) -> None:
    path = write(tmp_path, servers(a=entry))
    with pytest.raises(ToolSourceError) as caught:
        mcp_sources(path)
    assert caught.value.message.zh == f"{path}：a：{said}"
    assert hint in caught.value.hint.zh and caught.value.hint.en
