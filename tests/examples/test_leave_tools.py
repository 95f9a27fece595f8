"""The HR tools of the leave example: what is filed is on file, once, and what cannot be filed says why."""

from __future__ import annotations

import ast
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sopwith.errors import Text
from sopwith.tools import FunctionSource, ToolError, load_module

LEAVE = Path(__file__).parents[2] / "examples" / "leave"
LEAVE_OF_TWO_DAYS: dict[str, Any] = {
    "user_id": "u1001",
    "kind": "annual",
    "start_date": "2026-11-30",
    "days": 2.0,
    "reason": "回老家",
}


TOOLS = load_module(LEAVE / "tools.py")
hr = SimpleNamespace(**{function.__name__: function for function in TOOLS})


@pytest.fixture(autouse=True)
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "hr" / "leave.db"
    monkeypatch.setenv("LEAVE_DB", str(path))
    return path


def rows(database: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(query).fetchall()


def code_of(error: pytest.ExceptionInfo[ToolError]) -> str:
    return error.value.code


def test_an_employee_has_a_name_a_type_and_a_mentor() -> None:
    assert hr.get_employee("u1004") == {
        "user_id": "u1004",
        "name": "陈晨",
        "type": "intern",
        "mentor": "u1001",
    }
    assert hr.get_employee("u2001") == {
        "user_id": "u2001",
        "name": "Alice Carter",
        "type": "regular",
        "mentor": "",
    }


@pytest.mark.parametrize(
    ("user_id", "kind", "days"),
    [("u1001", "annual", 10), ("u1002", "annual", 0), ("u1002", "personal", 0.5), ("u2003", "sick", 8.5)],
)
def test_a_balance_may_be_none_or_half_a_day(user_id: str, kind: str, days: float) -> None:
    assert hr.leave_balance(user_id, kind) == {"days": days}


def test_a_filed_request_is_on_file_and_off_the_balance(database: Path) -> None:
    filed = hr.submit_leave(**LEAVE_OF_TWO_DAYS, idempotency_key="k1")

    assert filed == {"request_id": "LR-00001", "status": "ok"}
    assert rows(database, "SELECT user_id, kind, start_date, days, reason FROM request") == [
        ("u1001", "annual", "2026-11-30", 2.0, "回老家")
    ]
    assert hr.leave_balance("u1001", "annual") == {"days": 8.0}


def test_the_same_key_files_once(database: Path) -> None:
    first = hr.submit_leave(**LEAVE_OF_TWO_DAYS, idempotency_key="k1")
    again = hr.submit_leave(**{**LEAVE_OF_TWO_DAYS, "reason": "别的说法"}, idempotency_key="k1")

    assert again == first
    assert rows(database, "SELECT count(*) FROM request") == [(1,)]
    assert hr.leave_balance("u1001", "annual") == {"days": 8.0}


def test_another_key_files_another_request(database: Path) -> None:
    first = hr.submit_leave(**LEAVE_OF_TWO_DAYS, idempotency_key="k1")
    second = hr.submit_leave(**LEAVE_OF_TWO_DAYS, idempotency_key="k2")

    assert first["request_id"] != second["request_id"]
    assert rows(database, "SELECT count(*) FROM request") == [(2,)]


def test_a_key_cannot_file_something_else() -> None:
    hr.submit_leave(**LEAVE_OF_TWO_DAYS, idempotency_key="k1")
    with pytest.raises(ToolError) as error:
        hr.submit_leave(**{**LEAVE_OF_TWO_DAYS, "days": 3.0}, idempotency_key="k1")
    assert code_of(error) == "key_conflict"


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"user_id": "u9999"}, "unknown_employee"),
        ({"user_id": "u1006"}, "no_balance"),
        ({"user_id": "u1002"}, "insufficient_balance"),
        ({"days": 10.5}, "insufficient_balance"),
        ({"days": 0.0}, "invalid_days"),
        ({"days": -1.0}, "invalid_days"),
        ({"days": 0.3}, "invalid_days"),
        ({"days": float("nan")}, "invalid_days"),
        ({"days": float("inf")}, "invalid_days"),
        ({"start_date": "下周一"}, "invalid_date"),
        ({"start_date": "2026-02-30"}, "invalid_date"),
        ({"reason": "  "}, "no_reason"),
    ],
)
def test_what_cannot_be_filed_is_a_typed_error_and_leaves_nothing(
    database: Path, wrong: dict[str, Any], code: str
) -> None:
    with pytest.raises(ToolError) as error:
        hr.submit_leave(**{**LEAVE_OF_TWO_DAYS, **wrong}, idempotency_key="k1")

    assert code_of(error) == code
    hr.get_employee("u1001")
    assert rows(database, "SELECT count(*) FROM request") == [(0,)]
    assert hr.leave_balance("u1001", "annual") == {"days": 10.0}


def test_reads_of_somebody_unknown_are_typed_errors() -> None:
    with pytest.raises(ToolError) as error:
        hr.get_employee("nobody")
    assert code_of(error) == "unknown_employee"
    with pytest.raises(ToolError) as error:
        hr.leave_balance("u1004", "annual")
    assert code_of(error) == "no_balance"


def test_a_mentor_is_told_once(database: Path) -> None:
    first = hr.notify_mentor("u1004", idempotency_key="k1")
    again = hr.notify_mentor("u1004", idempotency_key="k1")

    assert first == again == {"notice_id": "NT-00001", "mentor": "u1001"}
    assert rows(database, "SELECT user_id, mentor FROM notice") == [("u1004", "u1001")]


def test_an_intern_without_a_mentor_is_a_typed_error() -> None:
    with pytest.raises(ToolError) as error:
        hr.notify_mentor("u2005", idempotency_key="k1")
    assert code_of(error) == "no_mentor"


def test_the_file_stands_under_the_current_folder_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LEAVE_DB")
    monkeypatch.chdir(tmp_path)
    hr.get_employee("u1001")
    assert (tmp_path / ".sopwith" / "leave.db").is_file()


async def test_the_engine_fills_the_key_and_a_model_never_sees_it() -> None:
    source = FunctionSource(TOOLS)
    specs = {spec.name: spec for spec in await source.specs()}

    assert sorted(specs) == [
        "hr.get_employee",
        "hr.leave_balance",
        "hr.notify_mentor",
        "hr.submit_leave",
        "time.resolve_period",
    ]
    assert {name for name, spec in specs.items() if spec.effect == "write" and spec.idempotent} == {
        "hr.notify_mentor",
        "hr.submit_leave",
    }
    assert sorted(specs["hr.submit_leave"].input_schema["properties"]) == sorted(LEAVE_OF_TWO_DAYS)
    filed = await source.call("hr.submit_leave", LEAVE_OF_TWO_DAYS, key="k1", seconds=20)
    assert filed.value == {"request_id": "LR-00001", "status": "ok"}
    refused = await source.call(
        "time.resolve_period",
        {"start": "下周", "length": "一天", "today": "2026-11-25"},
        key="k2",
        seconds=20,
    )
    assert refused.error is not None and refused.error.code == "ambiguous"
    await source.close()


def test_a_refusal_says_the_same_in_chinese() -> None:
    with pytest.raises(ToolError) as error:
        hr.submit_leave(**LEAVE_OF_TWO_DAYS | {"days": 99.0}, idempotency_key="k")
    assert error.value.said == Text("10 days of annual leave are left, not 99", "年假只剩 10 天，不足 99 天")


@pytest.mark.parametrize("module", ["tools.py", "period.py"])
def test_every_error_of_the_example_is_said_in_both_languages(module: str) -> None:
    tree = ast.parse((LEAVE / module).read_text("utf-8"))
    calls = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "ToolError"
    ]
    assert calls and all([key.arg for key in call.keywords] == ["zh"] for call in calls)
