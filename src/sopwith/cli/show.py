"""`sopwith show`: a procedure by its numbers, as a drawing or in its other spelling, or as a model would see it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer

from sopwith.cli.columns import cut, table
from sopwith.cli.connection import refuse_broken
from sopwith.cli.exit_code import ExitCode
from sopwith.cli.options import AsJson, HeldGrip, Lang, Mcp, Tools, new_verb
from sopwith.cli.pairs import read_pairs
from sopwith.cli.project import Options, find_project
from sopwith.cli.prompt import INPUTS, as_json, as_text_blocks, prompts
from sopwith.cli.terminal import Terminal, terminal
from sopwith.cli.toolbox import open_tools
from sopwith.errors import LANGUAGES, Text, UserError
from sopwith.ir.procedure import Edge, Grip, Procedure, Step
from sopwith.ir.value import Json
from sopwith.lang.compile import compile_procedure
from sopwith.lang.mermaid import draw
from sopwith.lang.numbering import numbers
from sopwith.lang.read import read
from sopwith.lang.routine_text import write_routine
from sopwith.lang.yaml import write_yaml
from sopwith.run.book import Book, language_of
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


@verb.command()
def show(
    context: typer.Context,
    file: Annotated[
        Path | None, typer.Argument(metavar="PROCEDURE", help="The file of the procedure. 流程文件")
    ] = None,
    prompt: Annotated[
        str | None,
        typer.Option("--prompt", metavar="STEP", help="What a model would see at STEP, or for `inputs`."),
    ] = None,
    request: Annotated[
        str | None, typer.Option("--request", metavar="TEXT", help="With --prompt: the request.")
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option("--given", metavar="NAME=VALUE", help="With --prompt: a value, as JSON or text."),
    ] = None,
    grip: HeldGrip = None,
    all_prompts: Annotated[
        bool, typer.Option("--prompts", help="List the prompt files with their hashes.")
    ] = False,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="As a flowchart.")] = False,
    yaml: Annotated[bool, typer.Option("--yaml", help="As canonical YAML.")] = False,
    routine: Annotated[bool, typer.Option("--routine", help="As Routine text.")] = False,
    tools: Tools = None,
    mcp: Mcp = None,
    as_json_: AsJson = False,
    lang: Lang = "",
) -> int:
    """Show a procedure by its numbers, or exactly what a model would see at a step of it.

    显示流程的步骤与编号，或模型在某一步将看到的全部内容。
    """
    shown = terminal(context)
    if all_prompts:
        return _prompt_files(shown)
    if file is None:
        raise UserError(
            Text("show needs a PROCEDURE, or --prompts", "show 需要一个流程文件，或 --prompts"),
            Text("see `sopwith show --help`", "参见 sopwith show --help"),
        )
    procedure = read(file).procedure
    if prompt is not None:
        values = read_pairs(given or ())
        if request is not None:
            values["request"] = request
        return asyncio.run(
            _prompt(
                shown,
                file,
                Options(tools=tools or None, mcp=mcp),
                prompt,
                values,
                Grip(grip) if grip else None,
            )
        )
    if mermaid:
        shown.out(draw(procedure).rstrip("\n"))
    elif yaml:
        shown.out(write_yaml(procedure).rstrip("\n"))
    elif routine:
        shown.out(write_routine(procedure, language_of(procedure)).rstrip("\n"))
    elif as_json_:
        shown.document(overview(procedure))
    else:
        _print(shown, procedure)
    return ExitCode.OK


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
    project = find_project(file, options)
    async with open_tools(project) as catalogue:
        document, specs = read(file), await catalogue.specs()
        refuse_broken(document, specs)
        machine = compile_procedure(document.procedure, specs, grip)
    book = Book(machine)
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
