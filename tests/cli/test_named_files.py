"""A file that somebody names and that cannot be read is named, with the reason and a remedy, in both languages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.cli.command import Command, Ran

from sopwith.cli.exit_code import ExitCode

ASKS = """\
schema: sopwith/procedure/1
id: asks
inputs: {request: {type: string, from: run.request}}
start: sort
steps:
  sort: {do: Sort it, uses: [inputs.request], returns: {enum: [a, b]}, next: out}
  out: {end: complete}
"""
RUN = ("run", "asks.yaml")
COMMANDS = {
    "procedure": ("run", "FILE", "--request", "x"),
    "request": (*RUN, "--request-file", "FILE"),
    "inputs": (*RUN, "--request", "x", "--inputs-file", "FILE"),
    "tools": (*RUN, "--request", "x", "--tools", "FILE"),
    "policy": (*RUN, "--request", "x", "--policy", "FILE"),
    "mcp": (*RUN, "--request", "x", "--mcp", "FILE"),
    "prices": (*RUN, "--request", "x", "--prices", "FILE"),
    "script": (*RUN, "--request", "x", "--model", "scripted:FILE"),
    "model": (*RUN, "--request", "x", "--model", "local:FILE"),
    "labels": ("model", "calibrate", "m", "--labels", "FILE"),
    "check": ("check", "FILE"),
    "convert": ("convert", "FILE", "--to", "routine"),
    "show": ("show", "FILE"),
    "diff": ("diff", "FILE", "asks.yaml"),
    "try": ("policy", "test", "FILE"),
}
KINDS = ("missing", "folder", "bytes")
SETTINGS = {name: f'{name} = "FILE"' for name in ("mcp", "policy", "prices")} | {
    "tools": 'tools = ["FILE"]',
    "model": 'model = "scripted:FILE"',
}


def lay(sopwith: Command, kind: str) -> str:
    """A file of that `kind`: missing, a folder, or not UTF-8. Returns its name."""
    sopwith.write("asks.yaml", ASKS)
    name = f"{kind}.yaml"
    if kind == "folder":
        (sopwith.folder / name).mkdir()
    elif kind == "bytes":
        (sopwith.folder / name).write_bytes(b"\xff\xfe\x00a\xd8")
    return name


def is_told(ran: Ran, name: str) -> None:
    """One message that names the file, without a word of Python's."""
    assert ran.code in (ExitCode.USAGE, ExitCode.INVALID, ExitCode.INTERNAL), ran.err
    assert name in ran.err
    assert not re.search(
        r"Errno|codec|Traceback|No such file|Is a directory|出现内部错误|something broke", ran.err
    )


@pytest.mark.parametrize(
    ("what", "kind"),
    [(what, kind) for what in COMMANDS for kind in KINDS if (what, kind) != ("check", "folder")],
)
def test_a_file_on_the_command_line(sopwith: Command, what: str, kind: str) -> None:
    name = lay(sopwith, kind)
    arguments = [part.replace("FILE", name) for part in COMMANDS[what]]
    for language in ("en", "zh"):
        is_told(sopwith(*arguments, "--lang", language), name)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("what", SETTINGS)
def test_a_file_in_the_settings(sopwith: Command, what: str, kind: str) -> None:
    name = lay(sopwith, kind)
    sopwith.write("sopwith.toml", SETTINGS[what].replace("FILE", name))
    for language in ("en", "zh"):
        is_told(sopwith(*RUN, "--request", "x", "--lang", language), name)


def test_a_script_says_what_it_should_be(sopwith: Command) -> None:
    lay(sopwith, "missing")
    told = sopwith(*RUN, "--request", "x", "--model", "scripted:none.jsonl", "--lang", "zh")
    assert "没有文件" in told.err and "脚本每行一条回复" in told.err
    bad = Path(sopwith.write("bad.jsonl", '"A"\nB\n'))
    told = sopwith(*RUN, "--request", "x", "--model", f"scripted:{bad}")
    assert "bad.jsonl:2 is not JSON" in told.err and "a script has a reply on each line" in told.err
