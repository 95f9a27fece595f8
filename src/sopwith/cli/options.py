"""Options that several verbs share, and what a verb is made with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from sopwith.cli.terminal import terminal

ProcedureFile = Annotated[
    Path, typer.Argument(metavar="PROCEDURE", help="The file of the procedure. 流程文件")
]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="The id of the run, or its beginning. 运行编号")]
Tools = Annotated[
    list[str] | None,
    typer.Option(
        "--tools", metavar="FILE|URL", help="Python files, OpenAPI documents, recorded:RUN. 工具文件"
    ),
]
Mcp = Annotated[
    Path | None, typer.Option("--mcp", metavar="FILE.json", help="MCP servers (mcpServers). MCP 服务器配置")
]
PolicyArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The file of the policy. 策略文件")]
PolicyFile = Annotated[Path | None, typer.Option("--policy", metavar="FILE", help="The policy. 策略文件")]
PriceFile = Annotated[
    Path | None, typer.Option("--prices", metavar="FILE", help="Prices of models. 价格文件")
]
ModelSpec = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="SPEC",
        help="local, local:FILE.gguf, openai:NAME, anthropic:NAME, scripted:FILE.jsonl. 模型",
    ),
]
RequestText = Annotated[str | None, typer.Option("--request", metavar="TEXT", help="What is asked for. 请求")]
RequestFile = Annotated[
    str | None,
    typer.Option("--request-file", metavar="FILE|-", help="The request from a file, or stdin. 请求文件"),
]
Inputs = Annotated[
    list[str] | None, typer.Option("--inputs", metavar="NAME=VALUE", help="An input that is passed. 输入")
]
InputsFile = Annotated[
    Path | None,
    typer.Option("--inputs-file", metavar="FILE.json", help="Inputs as one JSON object. 输入文件"),
]
PrincipalId = Annotated[str | None, typer.Option("--principal", metavar="ID", help="Who it is for. 主体")]
Roles = Annotated[list[str] | None, typer.Option("--role", metavar="ROLE", help="A role of theirs. 角色")]
Allowed = Annotated[
    list[str] | None,
    typer.Option("--allow", metavar="TOOL", help="Allow its writes, unless a rule says otherwise. 允许写"),
]
TokenLimit = Annotated[
    int | None, typer.Option("--budget-tokens", min=0, metavar="N", help="Tokens, at most. token 上限")
]
MoneyLimit = Annotated[
    float | None, typer.Option("--budget-money", min=0, metavar="USD", help="US dollars, at most. 费用上限")
]
ModelLimit = Annotated[
    int | None,
    typer.Option("--budget-model-calls", min=0, metavar="N", help="Model calls, at most. 模型调用上限"),
]
ToolLimit = Annotated[
    int | None,
    typer.Option("--budget-tool-calls", min=0, metavar="N", help="Tool calls, at most. 工具调用上限"),
]
TimeLimit = Annotated[
    float | None,
    typer.Option("--budget-seconds", min=0, metavar="S", help="Seconds, at most. 时间上限（秒）"),
]
Answers = Annotated[
    list[str] | None, typer.Option("--answer", metavar="JSON|TEXT", help="The answer to what it asks. 回答")
]
Data = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="The data folder (.sopwith). 数据目录")
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on stdout. 输出一个 JSON 文档")]
AsLines = Annotated[bool, typer.Option("--jsonl", help="One event a line on stdout. 每行一个事件")]
HeldGrip = Annotated[
    Literal["strict", "bounded", "guide", "free"] | None,
    typer.Option("--grip", help="How firmly the procedure holds the model. 约束程度"),
]
Reveal = Annotated[
    bool, typer.Option("--reveal", help="Print true values in the place of placeholders. 输出真实值")
]
Lang = Annotated[str, typer.Option("--lang", metavar="en|zh", help="Language of messages. 消息语言")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Call only tools that read; make up other results. 试运行")
]


def _plain(context: typer.Context, wanted: bool) -> bool:
    if wanted:
        terminal(context).view = "plain"
    return wanted


def _quiet(context: typer.Context, wanted: bool) -> bool:
    if wanted:
        terminal(context).view = "quiet"
    return wanted


Plain = Annotated[
    bool, typer.Option("--plain", callback=_plain, help="A line a step, nothing drawn again. 逐行输出")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", callback=_quiet, help="No line a step. 不输出过程")]
By = Annotated[str | None, typer.Option("--by", metavar="NAME", help="Who answers. 回答者")]


def new_verb() -> typer.Typer:
    """A Typer for one verb: plain help, no completion of its own."""
    return typer.Typer(rich_markup_mode=None, add_completion=False)
