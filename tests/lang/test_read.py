"""A procedure is read in whichever form it is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from sopwith.errors import ProcedureError, UserError
from sopwith.lang.read import read

YAML = "schema: sopwith/procedure/1\nid: p\nstart: a\nsteps: {a: {end: complete}}\n"
ROUTINE = "步骤 1. 转人工：转人工。\n"


@pytest.mark.parametrize(
    ("text", "name"), [(YAML, "p.yaml"), (YAML, "p.yml"), (ROUTINE, "p.txt"), (ROUTINE, "p.md")]
)
def test_the_suffix_tells_the_form(text: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    for given in (path, str(path)):
        document = read(given)
        assert document.procedure.id == "p"
        assert document.file == str(path)
    assert read(path, file="shown.yaml").file == "shown.yaml"


def test_without_a_suffix_the_content_tells_the_form() -> None:
    assert read(YAML).procedure.steps["a"].end == "complete"
    assert read(ROUTINE).procedure.steps["step_1"].end == "escalate"
    assert read("Step 1. see notes.md").procedure.steps["step_1"].do == "see notes.md"
    assert read(
        '{"schema": "sopwith/procedure/1", "id": "p", "start": "a", "steps": {"a": {"end": "complete"}}}'
    )
    with pytest.raises(ProcedureError, match="schema: sopwith/procedure/1"):
        read("neither of them")


def test_json_is_yaml(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(
        '{"schema": "sopwith/procedure/1", "id": "p", "start": "a", "steps": {"a": {"end": "complete"}}}'
    )
    assert read(path).procedure.id == "p"


def test_a_file_that_cannot_be_opened_is_a_user_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"there is no file .*missing\.yaml"):
        read(tmp_path / "missing.yaml")
    with pytest.raises(UserError, match="is a folder, not a file"):
        read(tmp_path)
    (tmp_path / "gbk.yaml").write_bytes("名称: 请假".encode("gbk"))
    with pytest.raises(UserError, match="not UTF-8"):
        read(str(tmp_path / "gbk.yaml"))
