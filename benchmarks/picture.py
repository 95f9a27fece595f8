"""The picture of the README: what the command line prints for one real ticket on the real local model, drawn as SVG.

`python -m benchmarks.picture` runs the demo's ticket, and writes `docs/images/run.svg`.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "run.svg"
REQUEST = (
    "The sign-in page keeps saying that my password is wrong and I cannot remember it. How do I get back in?"
)
WIDTH = 112


def printed(folder: Path) -> str:
    """What `sopwith run` prints for the ticket: its lines on stderr and its answer on stdout, in their order."""
    command = [
        sys.executable, "-c", "from sopwith.cli.app import main; main()", "run", "examples/support/procedure.yaml",
        "--request", REQUEST, "--model", "local", "--data", str(folder), "--lang", "en",
    ]  # fmt: skip
    done = subprocess.run(
        command,
        cwd=ROOT,
        text=True,
        encoding="utf-8",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode not in (0, 4):
        raise SystemExit(done.stdout)
    return done.stdout.replace(f" --data {folder}", "")


def draw(text: str) -> str:
    """The text as an SVG of a terminal."""
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    shown = Text(
        f'$ sopwith run examples/support/procedure.yaml --model local --request "{REQUEST}"\n\n', style="bold"
    )
    console.print(shown)
    for line in text.rstrip("\n").split("\n"):
        console.print(Text(line, style="green" if "✓" in line else ""), soft_wrap=False)
    # No fonts from elsewhere: the picture asks nothing of the network.
    return re.sub(
        r"@font-face \{.*?\}\s*", "", console.export_svg(title="sopwith", theme=MONOKAI), flags=re.DOTALL
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        PICTURE.parent.mkdir(parents=True, exist_ok=True)
        PICTURE.write_text(draw(printed(Path(name))), encoding="utf-8")
