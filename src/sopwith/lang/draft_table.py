"""Tables of a draft: one step a row, or one case a row. The header says which column is what."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from sopwith.errors import Text
from sopwith.ir.diagnostic import Place
from sopwith.lang.draft import Row, Table
from sopwith.lang.draft_sentence import Action, Case, Sentence, number_of, read_action, read_sentence
from sopwith.lang.problem import Problems
from sopwith.lang.routine_line import Line

_COLUMNS = {
    "number": r"(?:step\s*)?(?:no\.?|number|#)|step|steps|序号|编号|步骤(?:号|编号)?|步|№",
    "name": r"name|title|step name|stage|名称|步骤名称|环节|节点|阶段|标题",
    "do": r"do|action|actions|activity|task|what|what to do|description|details?|instructions?|then|response"
    r"|操作|动作|处理|处理方式|处理办法|措施|做法|内容|操作内容|说明|描述|任务|工作内容|则|结果",
    "tool": r"tools?|system|api|function|工具|系统|接口",
    "needs": r"inputs?|needs|输入|所需信息",
    "gives": r"outputs?|gives|result|输出|产出",
    "when": r"if|when|condition|case|situation|scenario|criteria|条件|情况|情形|场景|如果|若|判断条件",
    "next": r"next|next step|go to|goes to|下一步|去向|转到|后续",
}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
_NAMES_TOO = ("step", "steps", "步骤", "步")
"""The head of a column that holds numbers, or beside a column of numbers the names of the steps."""
_OTHERWISE = re.compile(
    r"otherwise|else|default|any other|all other.*|否则|其他|其它|其余|其他情况|其余情况|默认", re.IGNORECASE
)
_NUMBER = re.compile(
    r"(?:step|步骤|第)?\s*(?P<n>[0-9０-９]{1,6}(?:[.．][0-9]{1,6})*)\s*步?[.、]?", re.IGNORECASE
)
_END = re.compile(r"end|stop|done|none|-|–|—|结束|完成|无", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CaseRow:
    """A row that is a case."""

    case: Case
    place: Place


@dataclass(frozen=True, slots=True)
class StepRow:
    """A row that is a step, or the cases that its words say; those of a row with a name are decided by a step of that
    name, `before`. `after` is where a row goes on that says so beside its cases."""

    number: str
    sentence: Sentence
    place: Place
    before: Action | None = None
    after: Action | None = None


def cases_of(table: Table, problems: Problems) -> list[CaseRow]:
    """The cases of a table whose columns are a condition and what is then done; none where it is no such table."""
    columns = _columns(table)
    if "when" not in columns or "number" in columns or not {"do", "name", "next", "tool"} & columns.keys():
        return []
    _note_others(table, columns, problems)
    found: list[CaseRow] = []
    for row in table.rows[1:]:
        said = _cell(row, columns, "when")
        if not any(row.cells) or not said:
            _note_row(row, problems)
            continue
        condition = None if _OTHERWISE.fullmatch(said) else said
        found.append(CaseRow(Case(condition, _action(row, columns)), row.place))
    return sorted(found, key=lambda one: one.case.condition is None)


def steps_of(table: Table, problems: Problems) -> Iterator[StepRow]:
    """The steps of a table; a table of something else is noted (SW713)."""
    columns = _columns(table)
    if not {"do", "name"} & columns.keys():
        head = " | ".join(table.rows[0].cells) if table.rows else ""
        problems.warn(
            "SW713",
            table.rows[0].place if table.rows else Place(file=problems.file),
            Text(
                f"a table of {max(len(table.rows) - 1, 0)} rows is not read: {head}",
                f"未读取一张 {max(len(table.rows) - 1, 0)} 行的表格：{head}",
            ),
            Text(
                "name its columns: Step, Action, Tool, Input, Output, Next; or Condition, Action",
                "请为各列命名：步骤、操作、工具、输入、输出、下一步；或 条件、操作",
            ),
        )
        return
    _note_others(table, columns, problems)
    for i, row in enumerate(table.rows[1:], 1):
        said = _NUMBER.fullmatch(_cell(row, columns, "number"))
        number = number_of(said["n"]) if said else str(i)
        condition, cases = _cell(row, columns, "when"), read_sentence(_cell(row, columns, "do"))
        if cases.cases and not condition:
            yield _with_cases(row, columns, number, cases)
            continue
        action = _action(row, columns)
        if action.empty and action.goto is None and action.end is None:
            _note_row(row, problems)
            continue
        sentence = Sentence(None, (Case(condition, action),)) if condition else Sentence(action)
        yield StepRow(number, sentence, row.place)


def _with_cases(row: Row, columns: dict[str, int], number: str, cases: Sentence) -> StepRow:
    """A row whose words are cases; its other columns are about the first case in which something is done."""
    at = next((i for i, one in enumerate(cases.cases) if not one.action.empty), 0)
    does = replace(cases.cases[at], action=_beside(row, columns, cases.cases[at].action))
    cases = replace(cases, cases=(*cases.cases[:at], does, *cases.cases[at + 1 :]))
    named = _cell(row, columns, "name")
    before = Action(Line("1", name=named)) if named else None
    return StepRow(number, cases, row.place, before, _following(row, columns))


def says_steps(table: Table) -> bool:
    """Whether the header of a table says that its rows are steps or cases."""
    columns = _columns(table).keys()
    return bool({"do", "name"} & columns) or ("when" in columns and bool({"next", "tool"} & columns))


def _columns(table: Table) -> dict[str, int]:
    """The position of each column whose header is known, the first of each kind."""
    found: dict[str, int] = {}
    for i, cell in enumerate(table.rows[0].cells if table.rows else ()):
        head = " ".join(cell.split()).strip("*: ：")
        kind = next((k for k, words in _COLUMNS.items() if re.fullmatch(words, head, re.IGNORECASE)), None)
        if kind == "number" and kind in found and head.lower() in _NAMES_TOO:
            kind = "name"  # 序号 | 步骤
        if kind is not None and kind not in found:
            found[kind] = i
    if "number" in found and not {"do", "name"} & found.keys():
        # A column "Step" that holds words is the name.
        position = found["number"]
        if any(not _NUMBER.fullmatch(row.cells[position].strip()) for row in table.rows[1:]):
            found["name"] = found.pop("number")
    return found


def _cell(row: Row, columns: dict[str, int], kind: str) -> str:
    return " ".join(row.cells[columns[kind]].split()) if kind in columns else ""


def _action(row: Row, columns: dict[str, int]) -> Action:
    """What a row says is done."""
    name, do = _cell(row, columns, "name"), _cell(row, columns, "do")
    action = read_action(do)
    line = replace(
        action.line,
        name=(name or None) if do else action.line.name,
        do=action.line.do if do else (name or None),
    )
    action = _beside(row, columns, replace(action, line=line))
    after = _following(row, columns)
    return action if after is None else replace(action, goto=after.goto, end=after.end)


def _beside(row: Row, columns: dict[str, int], action: Action) -> Action:
    """`action` with what stands in the columns beside its words: a tool, and what goes in and out."""
    line = action.line
    tool = _cell(row, columns, "tool").strip("` ")
    if tool and not _END.fullmatch(tool):
        line = replace(line, tool=tool)
    needs, gives = _cell(row, columns, "needs"), _cell(row, columns, "gives")
    names = [part for part in re.split(r"\s*[,，、;；]\s*", needs) if part]
    if names and all(_NAME.fullmatch(one) for one in names):
        line = replace(line, inputs=tuple(names))
    elif needs:
        line = replace(line, needs=needs)
    if gives:
        line = (
            replace(line, output=gives)
            if _NAME.fullmatch(gives) and "." not in gives
            else replace(line, gives=gives)
        )
    return replace(action, line=line)


def _following(row: Row, columns: dict[str, int]) -> Action | None:
    """Where a row says that it goes on, in a column of its own."""
    following = _cell(row, columns, "next")
    number = _NUMBER.fullmatch(following)
    if number is not None:
        return Action(Line("1"), goto=number_of(number["n"]))
    if following and _END.fullmatch(following):
        return Action(Line("1"), end="complete")
    after = read_action(following) if following else None
    return after if after is not None and (after.goto or after.end) else None


def _note_others(table: Table, columns: dict[str, int], problems: Problems) -> None:
    """Columns that a step has no place for."""
    for i, cell in enumerate(table.rows[0].cells):
        if i not in columns.values() and any(row.cells[i].strip() for row in table.rows[1:]):
            head = " ".join(cell.split()) or str(i + 1)
            problems.warn(
                "SW713",
                table.rows[0].place,
                Text(f"the column '{head}' is not read", f"未读取列“{head}”"),
                Text(
                    "a step has no place for it; put it into the words of the action",
                    "步骤没有对应的位置；请写进操作的文字里",
                ),
            )


def _note_row(row: Row, problems: Problems) -> None:
    said = " | ".join(cell for cell in row.cells if cell.strip())
    if said:
        problems.warn(
            "SW713",
            row.place,
            Text(f"a row is not read: {said[:80]}", f"未读取一行：{said[:80]}"),
            Text("say what is done, and when", "请写明条件和操作"),
        )
