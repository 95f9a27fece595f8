"""`sopwith find`: which procedure, tool or passage fits a request, and why."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, cast

import typer

from sopwith.cli.columns import cut, table
from sopwith.cli.exit_code import ExitCode
from sopwith.cli.known_procedures import Known, embed, known_procedures, open_procedure_index, selected
from sopwith.cli.options import AsJson, Data, Lang, Mcp, Tools, new_verb
from sopwith.cli.profile_file import settings_file, write_table
from sopwith.cli.project import Options, Project, folder_project
from sopwith.cli.settings import Settings
from sopwith.cli.terminal import Terminal, terminal
from sopwith.cli.toolbox import index_file, open_tools
from sopwith.errors import Text, UserError
from sopwith.find.calibration import MOST_FALSE, Calibration, Labelled, calibrate
from sopwith.find.folder import refresh
from sopwith.find.index import Hit, Index
from sopwith.find.operation import OPERATIONS
from sopwith.find.passage import Passage
from sopwith.find.selection import Candidate, Selection, rank
from sopwith.find.words import words
from sopwith.guard.policy_file import open_data
from sopwith.ir.tool import ToolSpec
from sopwith.ir.value import Json
from sopwith.run.entries import tool_index

verb = new_verb()


class What(StrEnum):
    """What is looked for."""

    PROCEDURE = "procedure"
    TOOL = "tool"
    DOCUMENT = "document"


_WIDTH = 60
_OUTSIDE_SHOWN = 0.25
_HEADS = {
    What.PROCEDURE: Text("procedure", "流程"),
    What.TOOL: Text("tool", "工具"),
    What.DOCUMENT: Text("document", "文档"),
}
_COLUMNS = (Text("score", "得分"), Text("words", "词语"), Text("meaning", "语义"))
_WHY = Text("why", "依据")
_PICKED = Text("picked: {} ({:.2f}; the next one {:.2f})", "已选定：{}（{:.2f}；其次 {:.2f}）")
_UNSURE = Text("unsure between: {}", "无法确定，候选：{}")
_NONE = Text("no procedure is for this request", "没有流程适用于该请求")
_NOTHING = Text("nothing fits", "没有相符的内容")
_UNSAID = Text("does not say: {}", "未提及：{}")
_LIKE = Text(
    "the request is like one that no procedure is for: “{}” ({:.2f})",
    "该请求类似于不属于任何流程的请求：“{}”（{:.2f}）",
)
_CALIBRATED = Text(
    "{} requests: {} of {} right, {} wrong, {} of {} without a procedure falsely picked",
    "{} 条请求：{}/{} 选对，{} 选错；{}/{} 条无对应流程的请求被误选",
)
_WRITTEN = Text("written to {}", "已写入 {}")
_FEW = Text("with fewer than 100 requests these limits are rough", "请求少于 100 条时，这些界限只是粗略估计")
_QUERY_OR_FILE = (
    Text("find takes a request, or --calibrate FILE", "find 需要一个请求，或 --calibrate FILE"),
    Text('for example: sopwith find "three days off"', "例如：sopwith find “请三天假”"),
)
_ONE_LABEL = Text(
    "each request has 'query' and 'procedure' (its id, or null where none is right)",
    "每条请求含 query 与 procedure（流程 id；无对应流程时为 null）",
)


@verb.command()
def find(
    context: typer.Context,
    query: Annotated[str, typer.Argument(metavar="REQUEST", help="What is looked for. 要查找的内容")] = "",
    folder: Annotated[
        Path, typer.Option("--in", metavar="FOLDER", help="Where the procedures are. 流程所在文件夹")
    ] = Path(),
    kind: Annotated[
        list[What] | None, typer.Option("--kind", help="procedure, tool, document; several. 查找的种类")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=100, help="How many at most. 最多几条")] = 5,
    labelled: Annotated[
        Path | None,
        typer.Option("--calibrate", metavar="FILE", help="Set the limits from labelled requests. 由标注校准"),
    ] = None,
    most_false: Annotated[
        float, typer.Option("--most-false", min=0, max=1, help="Share of false picks. 误选比例上限")
    ] = MOST_FALSE,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write nothing. 不写入")] = False,
    tools: Tools = None,
    mcp: Mcp = None,
    data: Data = None,
    as_json: AsJson = False,
    lang: Lang = "",
) -> int:
    """Find the procedure for a request; with --kind tools, or passages of documents; and say why.

    查找与请求相符的流程，或用 --kind 查找工具与文档段落，并说明得分的由来。
    """
    shown = terminal(context)
    project = folder_project(folder, Options(None, data, tools or None, mcp))
    if labelled is not None:
        return _calibrate(shown, project, folder, labelled, most_false, dry_run=dry_run)
    if not query.strip():
        raise UserError(*_QUERY_OR_FILE)
    document: dict[str, Json] = {}
    for each in dict.fromkeys(kind or [What.PROCEDURE]):
        if each is What.PROCEDURE:
            document |= _procedures(shown, project.settings, folder, query, limit)
        else:
            found = (
                _tools(project, query, limit)
                if each is What.TOOL
                else _passages(shown, project, query, limit)
            )
            document[f"{each}s"] = [_as_json(hit) for hit in found]
            if not as_json:
                _show(shown, each, found, query)
    if as_json:
        shown.document(document)
    return ExitCode.OK


def _procedures(shown: Terminal, settings: Settings, folder: Path, query: str, limit: int) -> dict[str, Json]:
    known = known_procedures(folder, settings, shown.say)
    with open_procedure_index(folder, settings, known, shown.say) as index:
        found = selected(index, settings, query)
    candidates = found.ranking.candidates[:limit]
    if not shown.json:
        spoken = _spoken(query)
        rows = [_row(each.score, each.hit, _reason(shown, each, spoken)) for each in candidates]
        _table(shown, What.PROCEDURE, rows)
        outside = found.ranking.outside
        if outside is not None and outside.score >= _OUTSIDE_SHOWN:
            shown.say(shown.text(_LIKE).format(outside.entry.id, outside.score))
        shown.say(_verdict(shown, found, known))
    return {
        "verdict": found.verdict,
        "picked": known[candidates[0].id].name if found.verdict == "picked" else None,
        "alike": [known[each.id].name for each in found.alike] if found.verdict == "unsure" else [],
        "by": found.ranking.by,
        "limits": asdict(found.limits),
        "procedures": [
            {**_as_json(each.hit), "score": round(each.score, 4), "file": known[each.id].name,
             "unsaid": list(each.unsaid)}
            for each in candidates
        ],
    }  # fmt: skip


def _verdict(shown: Terminal, found: Selection, known: Mapping[str, Known]) -> str:
    if found.verdict == "unsure":
        return shown.text(_UNSURE).format(", ".join(known[each.id].name for each in found.alike))
    first, second = (*found.ranking.candidates, None, None)[:2]
    if found.verdict == "none" or first is None:
        return shown.text(_NONE)
    next_score = 0.0 if second is None else second.score
    return shown.text(_PICKED).format(known[first.id].name, first.score, next_score)


def _tools(project: Project, query: str, limit: int) -> list[Hit]:
    async def specs() -> list[ToolSpec]:
        async with open_tools(project) as catalogue:
            return list((await catalogue.specs()).values())

    with tool_index(asyncio.run(specs())) as index:
        return index.search(query, ["tool"], limit)


def _passages(shown: Terminal, project: Project, query: str, limit: int) -> list[Hit]:
    folder = project.settings.documents
    if folder is None:
        raise UserError(
            Text("no folder of documents is named", "未指定文档文件夹"),
            Text('name it in the settings: documents = "FOLDER"', '请在设置中指定：documents = "文件夹"'),
        )
    with Index(index_file(project.settings)) as index:
        for problem in refresh(index, folder).problems:
            shown.say(problem.render(shown.language))
        embed(index, shown.say)
        return index.search(query, ["document"], limit)


def _show(shown: Terminal, kind: What, found: Sequence[Hit], query: str) -> None:
    spoken = _spoken(query)
    rows = [_row(hit.score, hit, _words(hit, spoken), _name(kind, hit)) for hit in found]
    _table(shown, kind, rows)


def _table(shown: Terminal, kind: What, rows: list[list[str]]) -> None:
    if not rows:
        shown.say(_NOTHING)
        return
    heads = [*map(shown.text, _COLUMNS), shown.text(_HEADS[kind]), shown.text(_WHY)]
    for line in table([heads, *rows]):
        shown.out(line)


def _row(score: float, hit: Hit, why: str, name: str = "") -> list[str]:
    near = hit.parts.semantic
    meaning = "-" if near is None else f"{near:.2f}"
    return [f"{score:.2f}", f"{hit.parts.lexical:.2f}", meaning, name or hit.entry.id, cut(why, _WIDTH)]


def _name(kind: What, hit: Hit) -> str:
    return Passage.of(hit.entry).place if kind is What.DOCUMENT else hit.entry.id


def _reason(shown: Terminal, candidate: Candidate, spoken: Mapping[str, str]) -> str:
    said = _words(candidate.hit, spoken)
    if not candidate.unsaid:
        return said
    names = ", ".join(shown.text(OPERATIONS[each].name) for each in candidate.unsaid)
    return "; ".join(filter(None, [shown.text(_UNSAID).format(names), said]))


def _words(hit: Hit, spoken: Mapping[str, str]) -> str:
    return ", ".join(spoken.get(word, word) for word in hit.parts.words)


def _spoken(query: str) -> dict[str, str]:
    """The words of the query as they were written, by what the index knows them as."""
    return {word: written for written in query.split() if written.isascii() for word in words(written)}


def _as_json(hit: Hit) -> dict[str, Json]:
    return {
        "id": hit.entry.id,
        "name": hit.entry.name,
        "score": round(hit.score, 4),
        "lexical": round(hit.parts.lexical, 4),
        "semantic": None if hit.parts.semantic is None else round(hit.parts.semantic, 4),
        "words": list(hit.parts.words),
    }


def _calibrate(
    shown: Terminal, project: Project, folder: Path, file: Path, most_false: float, *, dry_run: bool
) -> ExitCode:
    settings = project.settings
    known = known_procedures(folder, settings, shown.say)
    wanted = _labels(file, known)
    with open_procedure_index(folder, settings, known, shown.say) as index:
        requests = [Labelled(rank(index, query), right) for query, right in wanted]
    found = calibrate(requests, most_false)
    by = requests[0].ranking.by
    limits = {name: round(value, 4) for name, value in asdict(found.limits).items()}
    if not dry_run:
        write_table(("find", by), limits, folder)
    if shown.json:
        shown.document({"by": by, **asdict(found)})
        return ExitCode.OK
    shown.out(f"find.{by} = {{threshold = {limits['threshold']}, margin = {limits['margin']}}}")
    shown.say(_told(shown, found, len(requests)))
    if len(requests) < 100:
        shown.say(_FEW)
    if not dry_run:
        shown.say(shown.text(_WRITTEN).format(settings_file(folder)))
    return ExitCode.OK


def _told(shown: Terminal, found: Calibration, count: int) -> str:
    return shown.text(_CALIBRATED).format(
        count, found.right, found.matching, found.wrong, found.false, found.others
    )


def _labels(file: Path, known: Mapping[str, Known]) -> list[tuple[str, str | None]]:
    """The labelled requests of a file. Raises `UserError` that names the one that is wrong."""
    rows = open_data(file).data
    if not isinstance(rows, list) or not rows:
        raise UserError(Text(f"{file}: a list of requests is wanted", f"{file}：应为请求列表"), _ONE_LABEL)
    found: list[tuple[str, str | None]] = []
    for number, item in enumerate(cast("list[Json]", rows), 1):
        row = cast("dict[str, Json]", item) if isinstance(item, dict) else {}
        query, right = row.get("query"), row.get("procedure")
        if not isinstance(query, str) or "procedure" not in row:
            raise UserError(Text(f"{file}: request {number}", f"{file}：第 {number} 条请求有误"), _ONE_LABEL)
        if right is not None and right not in known:
            names = ", ".join(sorted(known))
            raise UserError(
                Text(
                    f"{file}: request {number}: there is no procedure '{right}'",
                    f"{file}：第 {number} 条请求：没有流程“{right}”",
                ),
                Text(f"known: {names}", f"现有：{names}"),
            )
        found.append((query, cast("str | None", right)))
    return found
