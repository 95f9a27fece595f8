"""Options that several verbs share, and what a verb is made with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

ProcedureFile = Annotated[
    Path, typer.Argument(metavar="PROCEDURE", help="The file of the procedure. 流程文件")
]
Tools = Annotated[
    list[Path] | None, typer.Option("--tools", metavar="FILE.py", help="Python files with tools. 工具文件")
]
Mcp = Annotated[
    Path | None, typer.Option("--mcp", metavar="FILE.json", help="MCP servers (mcpServers). MCP 服务器配置")
]
PolicyFile = Annotated[Path | None, typer.Option("--policy", metavar="FILE", help="The policy. 策略文件")]
ModelSpec = Annotated[
    str | None,
    typer.Option("--model", metavar="SPEC", help="local, local:FILE.gguf, openai:NAME, scripted:FILE. 模型"),
]
Data = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="The data folder (.sopwith). 数据目录")
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on stdout. 输出一个 JSON 文档")]
AsLines = Annotated[bool, typer.Option("--jsonl", help="One event a line on stdout. 每行一个事件")]
HeldGrip = Annotated[
    Literal["strict", "free"] | None,
    typer.Option("--grip", help="How firmly the procedure holds the model. 约束程度"),
]
Lang = Annotated[str, typer.Option("--lang", metavar="en|zh", help="Language of messages. 消息语言")]
By = Annotated[str, typer.Option("--by", metavar="NAME", help="Who answers. 回答者")]


def new_verb() -> typer.Typer:
    """A Typer for one verb: plain help, no completion of its own."""
    return typer.Typer(rich_markup_mode=None, add_completion=False)
