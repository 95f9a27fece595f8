"""Files of documents become passages: by heading, by page, by paragraphs; bounded, in whole sentences."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.find.pdf_file import PICTURE, locked, pdf

from sopwith.find.document_file import MARKDOWN, read_document
from sopwith.find.passage import SIZE, Passage, cut, entries_of, joined

HANDBOOK = """---
owner: HR
---
Before any heading.

# Leave

## Annual *leave*

Everyone has 25 days.

```sh
# no heading
```

## Sick leave
Call by nine.
Bring a note.

Travel
======
请假须提前三
天申请。
"""


def test_markdown_is_cut_by_its_headings() -> None:
    found = [
        (p.heading, p.first_line, p.last_line, p.text)
        for p in read_document("h.md", HANDBOOK.encode()).passages
    ]
    assert found == [
        ("", 4, 4, "Before any heading."),
        ("Leave > Annual leave", 10, 14, "Everyone has 25 days.\n\n```sh\n# no heading\n```"),
        ("Leave > Sick leave", 17, 18, "Call by nine.\nBring a note."),
        ("Travel", 22, 23, "请假须提前三天申请。"),
    ]


def test_every_word_of_a_text_is_in_a_passage_with_its_lines() -> None:
    text = "\r\n\r\n".join(f"Rule {n}. " + "Money is paid back within a month. " * 9 for n in range(12))
    passages = read_document("rules.txt", text.encode("utf-8-sig")).passages
    assert len(passages) == 4 and all(len(each.text) <= SIZE for each in passages)
    lines = text.replace("\r\n", "\n").split("\n")
    for each in passages:
        assert each.text == "\n".join(lines[each.first_line - 1 : each.last_line]).strip()
    assert re.sub(r"\s", "", "".join(p.text for p in passages)) == re.sub(r"\s", "", text)


@pytest.mark.parametrize(
    ("sentence", "ends"),
    [
        ("The lease ends on the 3rd of May, unless e.g. both sides agree. ", "."),
        ("租约于五月三日终止，除非双方另有约定（见第四条）。", "。"),
        ("他说：“请在三天之内提交全部报销材料，逾期不再受理。”", "”"),
    ],
)
def test_a_long_paragraph_is_cut_between_sentences(sentence: str, ends: str) -> None:
    passages = read_document("p.txt", (sentence * 100).encode()).passages
    assert len(passages) > 2
    assert all(each.text.endswith(ends) and each.text.startswith(sentence[:6]) for each in passages)


@given(st.text(alphabet="ab .。,，\n\t中\U00020001-1“”", max_size=4000), st.integers(1, 9))
def test_passages_are_bounded_and_lose_nothing(text: str, times: int) -> None:
    text *= times
    spans = list(cut(text))
    assert all(first < last for first, last in spans)
    assert [span for pair in spans for span in pair] == sorted(span for pair in spans for span in pair)
    kept = "".join(text[first:last] for first, last in spans)
    assert re.sub(r"\s", "", kept) == re.sub(r"\s", "", text)
    for first, last in spans:
        wide = sum(character in "中\U00020001“”。，" for character in text[first:last])
        assert last - first <= SIZE and last - first + wide <= SIZE + wide // 2 + 2


def test_a_pdf_is_read_by_page_in_both_languages() -> None:
    held = pdf(
        ["Travel policy", "Taxis are reim-", "bursed with a receipt."],
        ["第二章 住宿标准", "每晚不超过六百", "元。"],
    )
    reading = read_document("travel/policy.pdf", held)
    assert reading.problem is None
    assert [(p.page, p.first_line, p.text.splitlines()[-1]) for p in reading.passages] == [
        (1, 1, "Taxis are reimbursed with a receipt."),
        (2, 1, "第二章 住宿标准每晚不超过六百元。"),
    ]


def test_an_entry_gives_its_passage_again() -> None:
    passages = [
        *read_document("a#b/h.md", HANDBOOK.encode()).passages,
        *read_document("p.pdf", pdf(["One page"], ["Another"])).passages,
        *read_document("long.txt", b"word " * 900).passages,
    ]
    entries = entries_of(passages)
    assert [Passage.of(entry) for entry in entries] == passages
    assert len({entry.id for entry in entries}) == len(entries)
    assert {"a#b/h.md#L17-18", "p.pdf#p2L1-1", "long.txt#L1-1", "long.txt#L1-1.2"} <= {e.id for e in entries}


@pytest.mark.parametrize(
    ("path", "held", "code", "said"),
    [
        ("scan.pdf", pdf(PICTURE, PICTURE), "SW831", "ocrmypdf"),
        ("half.pdf", pdf(["Text"], PICTURE), "SW831", "pages without text: 2"),
        ("locked.pdf", locked(pdf(["Secret"]), "word"), "SW832", "without a password"),
        ("broken.pdf", pdf(["Text"])[:200], "SW830", "damaged"),
        ("no.pdf", b"not a PDF at all", "SW830", "damaged"),
        ("empty.pdf", b"", "SW830", "damaged"),
        ("gb.txt", "员工请假须提前申请".encode("gb18030"), "SW833", "iconv -f GB18030 -t UTF-8 gb.txt"),
        ("u16.md", "# Leave".encode("utf-16"), "SW833", "UTF-16"),
        ("bin.txt", b"a\0b", "SW830", "zero bytes"),
    ],
)
def test_what_cannot_be_read_is_named_with_a_remedy(path: str, held: bytes, code: str, said: str) -> None:
    reading = read_document(path, held)
    assert reading.problem is not None and reading.problem.code == code
    assert path in reading.problem.message.en and path in reading.problem.message.zh
    assert said in reading.problem.render("en") and reading.problem.hint.zh
    assert [p.text for p in reading.passages] == (["Text"] if path == "half.pdf" else [])


def test_a_file_that_only_its_owner_limits_opens_without_a_password() -> None:
    assert [p.text for p in read_document("open.pdf", locked(pdf(["Read me"]), "")).passages] == ["Read me"]


def test_markdown_of_any_kind_is_read() -> None:
    for text in ("", "#", "# \n\n## \n", "> # quoted\n\n- # item", "[" * 5000, "---\nno end"):
        for suffix in MARKDOWN:
            assert read_document(f"a.{suffix}", text.encode()).problem is None


def test_lines_are_joined_only_inside_words_without_spaces() -> None:
    assert (
        joined("请假须提前三\n天申请\n\n第二段\nEnglish\nlines\n中")
        == "请假须提前三天申请\n\n第二段\nEnglish\nlines\n中"
    )
