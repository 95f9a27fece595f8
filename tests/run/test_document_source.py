"""`search_documents` in runs: real files, a real index, sources in the answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.find.pdf_file import locked, pdf

from sopwith import Engine, MemoryLog
from sopwith.ir.tool import ErrorData
from sopwith.ir.value import Json
from sopwith.models.scripted import ScriptedModel
from sopwith.run.document_source import LIMIT, SPEC, DocumentSource
from sopwith.tools.catalogue import Catalogue
from sopwith.tools.port import Changing

NAME = SPEC.name
PROCEDURE = """
schema: sopwith/procedure/1
id: ask
inputs:
  question: {type: string, from: run.request}
output:
  type: object
  properties: {answer: {type: string}, path: {type: string}, page: {type: [integer, "null"]}}
start: look
steps:
  look:
    tool: documents.search_documents
    with: {query: "${inputs.question}"}
    as: found
    next: reply
  reply:
    do: Answer from the passages
    uses: [inputs.question, found]
    returns: {type: object, required: [answer], properties: {answer: {type: string}}}
    as: said
    end: complete
    result: {answer: "${said.answer}", path: "${found.passages[0].path}", page: "${found.passages[0].page}"}
"""


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "leave.md").write_text("# Leave\n\nEveryone has 25 days of annual leave.\n")
    (folder / "住宿.pdf").write_bytes(pdf(["第一章 总则"], ["住宿标准为每晚不超过六百元。"]))
    return folder


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return tmp_path / "data" / "index.sqlite"


async def asked(source: DocumentSource, **arguments: Json) -> list[dict[str, Json]]:
    await source.specs()
    given = source.prepare(NAME, arguments)
    assert not isinstance(given, ErrorData), given
    result = await source.call(NAME, given, key="0" * 32, seconds=60)
    assert isinstance(result.value, dict) and result.error is None
    return result.value["passages"]  # pyright: ignore


async def test_answers_say_where_they_stand(docs: Path, index: Path) -> None:
    source = DocumentSource(docs, index)
    first = (await asked(source, query="annual leave"))[0]
    assert 0 < first.pop("score") <= 1  # pyright: ignore
    assert first == {
        "path": "leave.md",
        "heading": "Leave",
        "page": None,
        "first_line": 3,
        "last_line": 3,
        "text": "Everyone has 25 days of annual leave.",
    }
    (found,) = await asked(source, query="住宿标准", limit=1)
    assert (found["path"], found["page"], found["heading"]) == ("住宿.pdf", 2, None)
    assert await asked(source, query="spaceships") == []
    await source.close()
    await source.close()


@pytest.mark.parametrize(
    "arguments",
    [{}, {"query": ""}, {"query": "a", "limit": 0}, {"query": "a", "limit": 99}, {"query": "a", "x": 1}],
)
async def test_other_arguments_are_refused(docs: Path, index: Path, arguments: dict[str, Json]) -> None:
    source = DocumentSource(docs, index)
    refused = source.prepare(NAME, arguments)
    assert isinstance(refused, ErrorData) and refused.code == "invalid_arguments"
    assert (await source.call(NAME, arguments, key="", seconds=1)).error is not None
    assert source.prepare(NAME, {"query": "a"}) == {"query": "a", "limit": LIMIT}
    await source.close()


async def test_what_cannot_be_read_is_a_diagnostic_of_the_catalogue(docs: Path, index: Path) -> None:
    (docs / "locked.pdf").write_bytes(locked(pdf(["Secret"]), "word"))
    catalogue = Catalogue([DocumentSource(docs, index)])
    assert list(await catalogue.specs()) == [NAME]
    assert [(d.code, d.place.file) for d in catalogue.diagnostics()] == [("SW832", "locked.pdf")]
    (docs / "locked.pdf").unlink()
    assert not await catalogue.refresh()
    assert catalogue.diagnostics() == []
    await catalogue.close()


async def test_a_folder_or_index_that_is_not_there_is_told_and_stops_only_the_call(
    tmp_path: Path, docs: Path
) -> None:
    (tmp_path / "file").write_text("no folder")
    for folder, index in ((tmp_path / "none", tmp_path / "a.sqlite"), (docs, tmp_path / "file" / "b.sqlite")):
        source = DocumentSource(folder, index)
        assert isinstance(source, Changing) and await source.specs() == [SPEC]
        assert [d.code for d in source.diagnostics] == ["SW830"]
        result = await source.call(NAME, {"query": "leave", "limit": 5}, key="", seconds=60)
        assert result.error is not None and result.error.code == "documents_unavailable"
        await source.close()


async def test_runs_answer_from_what_is_in_the_folder_when_they_start(docs: Path, index: Path) -> None:
    long = "Our hotel rule has many words, and all of them are shown to the model. " * 15 + "The end is here."
    model = ScriptedModel(['{"answer": "600"}', '{"answer": "700"}'])
    async with Engine(PROCEDURE, [DocumentSource(docs, index)], model=model, log=MemoryLog()) as engine:
        run = await engine.run("住宿标准是多少？")
        assert run.output == {"answer": "600", "path": "住宿.pdf", "page": 2}
        (docs / "住宿.pdf").write_bytes(pdf(["住宿标准改为每晚七百元。"]))
        (docs / "hotel.txt").write_text(long)
        run = await engine.run("住宿标准是多少？ hotel rule")
        assert run.output == {"answer": "700", "path": "住宿.pdf", "page": 1}
    first, second = (request.prompt.tail for request in model.requests)
    assert "不超过六百元" in first and "六百元" not in second
    assert "七百元" in second and "The end is here." in second
