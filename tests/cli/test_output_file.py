"""Files that commands write: none over something else unasked, and whole or not at all."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.command import Command

from sopwith.cli.output_file import replace, write_output
from sopwith.errors import UserError

PROCEDURE = "schema: sopwith/procedure/1\nid: p\nstart: d\nsteps:\n  d: {end: complete}\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "p.yaml"
    path.write_text(PROCEDURE)
    return path


def test_a_drawing_is_not_written_over_a_procedure(file: Path) -> None:
    sopwith = Command(file.parent)
    told = sopwith("show", str(file), "--svg", "-o", str(file))
    assert told.code == 2
    assert "--force" in told.err
    assert file.read_text() == PROCEDURE
    drawing = file.with_suffix(".svg")
    for _ in range(2):  # the second is written over the first
        assert sopwith("show", str(file), "--svg", "-o", str(drawing)).code == 0
    assert drawing.read_text().startswith("<svg")
    assert sopwith("show", str(file), "--svg", "-o", str(file), "--force").code == 0
    assert file.read_text() == drawing.read_text()


def _full_disk() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))


def test_a_full_disk_leaves_the_file_as_it_was(file: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from sopwith.cli.output_file import replace;"
        "replace(Path(sys.argv[1]), 'x' * 100_000)"
    )
    told = subprocess.run(
        [sys.executable, "-c", code, str(file)],
        preexec_fn=_full_disk,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "cannot be written" in told.stderr
    assert file.read_text() == PROCEDURE
    assert list(file.parent.iterdir()) == [file]


def test_mode_and_links_stay(file: Path) -> None:
    file.chmod(0o640)
    link = file.with_name("link.yaml")
    link.symlink_to(file)
    replace(link, "new\n")
    assert (link.is_symlink(), file.read_text(), file.stat().st_mode & 0o777) == (True, "new\n", 0o640)


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be written"):
        write_output(tmp_path / "nowhere" / "x", "x", force=False)
