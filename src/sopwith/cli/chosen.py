"""Which procedure of a folder a request is run by: the one that is picked, or that somebody chooses."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sopwith.cli.answer import ask_at
from sopwith.cli.known_procedures import Known, known_procedures, open_procedure_index, selected
from sopwith.cli.settings import Settings
from sopwith.cli.terminal import Terminal
from sopwith.errors import NotChosen, Text, UserError
from sopwith.find.selection import Selection

NONE_OF_THESE = Text("none of these", "以上都不是")

_PICKED = Text("procedure: {} ({})", "流程：{}（{}）")
_WHICH = Text("Which procedure is it?", "是哪个流程？")
_SEE = Text(
    "see why: sopwith find, and name the procedure: sopwith run FILE",
    "查看依据：sopwith find；并指定流程：sopwith run 文件",
)


def choose(shown: Terminal, folder: Path, settings: Settings, request: str) -> str:
    """What to run: a file or `library:ID`. Where several could be meant, whoever sits at the terminal is asked.

    Raises `NotChosen` where none is right, or nobody can be asked.
    """
    if not request.strip():
        raise UserError(
            Text(f"{folder} is a folder, and there is no request to choose a procedure by",
                 f"{folder} 是文件夹，但没有可用来选择流程的请求"),
            Text('for example: --request "three days off"; or name the procedure',
                 "例如：--request “请三天假”；或指定流程"),
        )  # fmt: skip
    known = known_procedures(folder, settings, shown.say)
    with open_procedure_index(folder, settings, known, shown.say) as index:
        found = selected(index, settings, request)
    if found.verdict == "picked":
        return _said(shown, found, known)
    if found.verdict == "unsure" and shown.asks:
        return _asked(shown, found, known)
    raise NotChosen(*_why(found, known))


def _said(shown: Terminal, found: Selection, known: Mapping[str, Known]) -> str:
    first = found.ranking.candidates[0]
    shown.say(shown.text(_PICKED).format(known[first.id].name, first.hit.entry.name))
    return known[first.id].name


def _asked(shown: Terminal, found: Selection, known: Mapping[str, Known]) -> str:
    names = [f"{each.hit.entry.name} ({known[each.id].name})" for each in found.alike]
    none = shown.text(NONE_OF_THESE)
    answer = ask_at(shown, shown.text(_WHICH), {"enum": [*names, none]})
    if answer == none:
        raise NotChosen(*_why(found, {}))
    return known[found.alike[names.index(str(answer))].id].name


def _why(found: Selection, known: Mapping[str, Known]) -> tuple[Text, Text]:
    if found.verdict == "none" or not known:
        return Text("no procedure is for this request", "没有流程适用于该请求"), _SEE
    names = ", ".join(known[each.id].name for each in found.alike)
    return Text(f"the request may be for {names}", f"该请求可能对应：{names}"), _SEE
