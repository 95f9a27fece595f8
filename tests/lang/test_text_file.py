"""A file that is no text gets one clear error that says what it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from sopwith.errors import UserError
from sopwith.lang.text_file import MOST_BYTES, read_text_file

WORDS = "名称: 请假申请\n说明: 员工请假\n"


def refused(path: Path) -> UserError:
    with pytest.raises(UserError) as caught:
        read_text_file(path, "shown.yaml")
    assert caught.value.message.en != caught.value.message.zh
    assert "shown.yaml" in caught.value.message.en
    assert "shown.yaml" in caught.value.message.zh
    return caught.value


def test_a_text_is_read_with_the_line_ends_that_are_wanted(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_bytes("一\r\n二\r三\n".encode())
    assert read_text_file(file) == "一\n二\n三\n"
    assert read_text_file(file, keep_line_ends=True) == "一\r\n二\r三\n"


def test_a_folder_names_a_file_inside(tmp_path: Path) -> None:
    assert refused(tmp_path).hint.en == "name a file in it"
    (tmp_path / "b.yaml").write_text("")
    (tmp_path / "a.yml").mkdir()
    assert "folder" in refused(tmp_path).message.en
    assert refused(tmp_path).hint.en.endswith("such as shown.yaml/b.yaml")


@pytest.mark.parametrize(
    ("held", "line", "encoding"),
    [
        (b"a: 1\n" + WORDS.encode("gbk"), 2, "GB18030"),
        (WORDS.encode("utf-16"), 1, "UTF-16"),
        ("prix: 5 €\n".encode("latin-1", "replace") + "été\n".encode("latin-1"), 2, ""),
        (b"\x7fELF\xff\0\0\0", 1, ""),
    ],
)
def test_another_encoding_is_named_with_the_line_and_the_way_out(
    held: bytes, line: int, encoding: str, tmp_path: Path
) -> None:
    file = tmp_path / "p.yaml"
    file.write_bytes(held)
    error = refused(file)
    assert f"(line {line})" in error.message.en
    assert f"第 {line} 行" in error.message.zh
    assert ("looks like" in error.message.en) == bool(encoding)
    assert "UTF-8" in error.hint.en
    assert (f"iconv -f {encoding} -t UTF-8 shown.yaml" in error.hint.en) == bool(encoding)
    if encoding:
        assert held.decode(encoding).endswith(WORDS)  # what the hint says does work


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert refused(tmp_path / "none.yaml").message.en == "there is no file shown.yaml"
    assert "cannot be opened" in refused(tmp_path / "file" / "none.yaml").message.en


def test_a_file_beyond_all_measure_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    with file.open("wb") as stream:
        stream.truncate(MOST_BYTES + 1)  # a sparse file: nothing is written
    assert "too much for a text" in refused(file).message.en
