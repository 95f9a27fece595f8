"""`sopwith show`: a procedure by its numbers, as a drawing or in its other spelling, or as a model would see it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer

from sopwith.cli.columns import cut, table
from sopwith.cli.connection import refuse_broken
from sopwith.cli.draw import draw
from sopwith.cli.exit_code import ExitCode
from sopwith.cli.named_procedure import open_named
from sopwith.cli.options import AsJson, Data, HeldGrip, Lang, Mcp, ModelSpec, Tools, new_verb
from sopwith.cli.pairs import read_pairs
from sopwith.cli.prefix import show_prefix
from sopwith.cli.project import Options
from sopwith.cli.prompt import INPUTS, as_json, as_text_blocks, prompts, shapes_of
from sopwith.cli.terminal import Terminal, terminal
from sopwith.cli.toolbox import open_tools, tools_named
from sopwith.cli.version import RUN, open_version
from sopwith.errors import LANGUAGES, Text, UserError
from sopwith.ir.procedure import Edge, Grip, Procedure, Step
from sopwith.ir.value import Json
from sopwith.lang import mermaid as flowchart
from sopwith.lang.compile import compile_procedure
from sopwith.lang.numbering import numbers
from sopwith.lang.routine_text import write_routine
from sopwith.lang.yaml import write_yaml
from sopwith.run.book import Book, language_of
from sopwith.run.given import held_grip
from sopwith.run.prompt_file import NAMES, prompt_file

verb = new_verb()

WORDS_CELLS = 48
_HEADS = (
    Text("number", "编号"),
    Text("step", "步骤"),
    Text("name", "名称"),
    Text("kind", "类型"),
    Text("tool", "工具"),
    Text("next", "下一步"),
)
_NO_MODEL = Text("the step '{}' calls no model", "步骤“{}”不调用模型")
_NO_INPUTS = Text("no input is extracted by a model", "没有需要模型提取的输入")

OutputFile = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="With --svg or --text: into FILE. 写入文件"),
]
OfRun = Annotated[
    str | None, typer.Option("--run", metavar="RUN", help="The procedure of RUN, and its path. 运行的路径")
]

AsGraph = Annotated[bool, typer.Option("--text", help="Its graph, drawn in the terminal. 文字流程图")]
PromptOf = Annotated[
    str | None,
    typer.Option("--prompt", metavar="STEP", help="What a model sees at STEP, or for `inputs`. 提示词"),
]
Prefix = Annotated[
    str | None,
    typer.Option("--prefix", metavar="RUN", help="How much of each prompt was sent before. 已发送部分"),
]

Force = Annotated[bool, typer.Option("--force", help="With --output: write over what is there. 覆盖")]


@verb.command()
def show(
    context: typer.Context,
    file: Annotated[
        Path | None, typer.Argument(metavar="PROCEDURE", help="The file of the procedure. 流程文件")
    ] = None,
    prompt: PromptOf = None,
    request: Annotated[
        str | None, typer.Option("--request", metavar="TEXT", help="With --prompt: the request. 请求")
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option("--given", metavar="NAME=VALUE", help="With --prompt: a value, as JSON or text. 取值"),
    ] = None,
    grip: HeldGrip = None,
    all_prompts: Annotated[
        bool, typer.Option("--prompts", help="The prompt files and their hashes. 提示词文件")
    ] = False,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="As a flowchart. 流程图")] = False,
    yaml: Annotated[bool, typer.Option("--yaml", help="As canonical YAML. 规范 YAML")] = False,
    routine: Annotated[bool, typer.Option("--routine", help="As Routine text. Routine 文本")] = False,
    text: AsGraph = False,
    svg: Annotated[bool, typer.Option("--svg", help="Its graph as SVG. SVG 流程图")] = False,
    output: OutputFile = None,
    force: Force = False,
    run: OfRun = None,
    prefix: Prefix = None,
    model: ModelSpec = None,
    tools: Tools = None,
    mcp: Mcp = None,
    data: Data = None,
    as_json_: AsJson = False,
    lang: Lang = "",
) -> int:
    """Show a procedure by its numbers, or exactly what a model would see at a step of it.

    显示流程的步骤与编号，或模型在某一步将看到的全部内容。
    """
    shown = terminal(context)
    if all_prompts:
        return _prompt_files(shown)
    if prefix is not None:
        return asyncio.run(show_prefix(shown, data, prefix))
    options = Options(model, data=data, tools=tools or None, mcp=mcp)
    if run is not None or text or svg:
        name = _version(file, run)
        version = asyncio.run(open_version(shown, name, options))
        if text or svg or not as_json_:
            draw(shown, version, svg=svg, output=output, force=force)
        else:
            shown.document(overview(version.procedure))
        return ExitCode.OK
    if file is None:
        raise _nothing_to_show()
    procedure = open_named(file, options)[1].procedure
    if prompt is not None:
        values = read_pairs(given or ())
        if request is not None:
            values["request"] = request
        return asyncio.run(_prompt(shown, file, options, prompt, values, held_grip(grip)))
    spellings = {"mermaid": mermaid, "yaml": yaml, "routine": routine}
    spelling = next((name for name, wanted in spellings.items() if wanted), None)
    if spelling is not None:
        shown.out(_SPELLINGS[spelling](procedure).rstrip("\n"))
    elif as_json_:
        shown.document(overview(procedure))
    else:
        _print(shown, procedure)
    return ExitCode.OK


_SPELLINGS: Mapping[str, Callable[[Procedure], str]] = {
    "mermaid": lambda procedure: flowchart.draw(procedure, language=language_of(procedure)),
    "yaml": write_yaml,
    "routine": lambda procedure: write_routine(procedure, language_of(procedure)),
}


def _nothing_to_show() -> UserError:
    return UserError(
        Text("show needs a PROCEDURE, --run or --prompts", "show 需要一个流程文件，或 --run、--prompts"),
        Text("see `sopwith show --help`", "参见 sopwith show --help"),
    )


def _version(file: Path | None, run: str | None) -> str:
    """What is drawn: a run's own procedure where one is named."""
    if run is not None and file is not None:
        raise UserError(
            Text("give a PROCEDURE or --run, not both", "流程文件与 --run 只能给一个"),
            Text("a run is shown with the procedure that it is pinned to", "运行会连同其固定的流程一起显示"),
        )
    if file is None and run is None:
        raise _nothing_to_show()
    return f"{RUN}{run}" if run is not None else str(file)


def overview(procedure: Procedure) -> dict[str, Any]:
    """A procedure as the object that `--json` prints."""
    number = numbers(procedure)
    return {
        "id": procedure.id,
        "hash": procedure.digest(),
        "numbers": number,
        "tools": list(procedure.permitted_tools()),
        "procedure": procedure.to_data(),
    }


def _print(shown: Terminal, procedure: Procedure) -> None:
    title = " ".join(part for part in (procedure.id, procedure.name) if part)
    shown.out(f"{title}  ({procedure.grip}, {procedure.digest()[:12]})")
    if procedure.description:
        shown.out(procedure.description)
    shown.out("")
    number = numbers(procedure)
    rows = [[shown.text(head) for head in _HEADS]]
    # In the order of the graph, in which the numbers grow.
    for name in number:
        rows += _rows(procedure.steps[name], number)
    for line in table(rows):
        shown.out(line)


def _rows(step: Step, number: dict[str, str]) -> Iterator[list[str]]:
    ways = [_way(edge, number, "") for edge in step.next] + [
        _way(edge, number, "! ") for edge in step.on_error
    ]
    if step.end is not None:
        ways.append(f"■ {step.end}")
    first, *rest = ways or [""]
    yield [number[step.id], step.id, step.name or "", step.kind, step.tool or "", first]
    for way in rest:
        yield ["", "", "", "", "", way]


def _way(edge: Edge, number: dict[str, str], mark: str) -> str:
    condition = edge.when or edge.judge or ("otherwise" if edge.otherwise else "")
    said = f": {cut(condition, WORDS_CELLS)}" if condition else ""
    return f"{mark}→ {number.get(edge.to, '?')} {edge.to}{said}"


def _prompt_files(shown: Terminal) -> int:
    files = [prompt_file(name, language) for name in NAMES for language in LANGUAGES]
    if shown.json:
        shown.document(
            [{"name": f.name, "language": f.language, "hash": f.hash, "text": f.text} for f in files]
        )
    else:
        for line in table([[f.name, f.language, f.hash] for f in files]):
            shown.out(line)
    return ExitCode.OK


async def _prompt(
    shown: Terminal, file: Path, options: Options, step: str, given: dict[str, Json], grip: Grip | None
) -> int:
    project, document = open_named(file, options)
    async with open_tools(project) as catalogue:
        specs = await catalogue.specs(needed=tools_named([document]))
        refuse_broken(document, specs)
        machine = compile_procedure(document.procedure, specs, grip)
    book = Book(machine, tools_shown=project.settings.tools_shown)
    book.shape = shapes_of(project.settings)
    if step != INPUTS and step not in machine.nodes:
        raise _unknown_step(step, machine.nodes)
    found = prompts(book, step, given)
    if shown.json:
        shown.document([as_json(purpose, request) for purpose, request in found])
    for purpose, request in found if not shown.json else ():
        shown.out(as_text_blocks(purpose, request))
    if not found:
        shown.say(shown.text(_NO_INPUTS) if step == INPUTS else shown.text(_NO_MODEL).format(step))
    return ExitCode.OK


def _unknown_step(step: str, steps: Iterable[str]) -> UserError:
    near = get_close_matches(step, list(steps), 1)
    listed = ", ".join((*steps, INPUTS))
    return UserError(
        Text(f"there is no step '{step}'", f"没有步骤“{step}”"),
        Text(f"did you mean '{near[0]}'?", f"是否想写“{near[0]}”？")
        if near
        else Text(f"steps: {listed}", f"步骤：{listed}"),
    )
