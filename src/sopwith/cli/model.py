"""`sopwith model`: language models that run on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sopwith.cli.columns import table
from sopwith.cli.exit_code import ExitCode
from sopwith.cli.options import AsJson, Lang, new_verb
from sopwith.cli.profile_file import as_toml, write_profile
from sopwith.cli.terminal import Terminal, terminal
from sopwith.errors import Text
from sopwith.models.calibrate import fit, read_labels
from sopwith.models.catalogue import DEFAULT, KNOWN, KnownModel, find, model_folder
from sopwith.models.gguf import checked_hash
from sopwith.models.pull import pull

verb = new_verb()

Name = Annotated[
    str, typer.Argument(metavar="[NAME]", help=f"One of `sopwith model list`; {DEFAULT}. 模型名称")
]

_HERE = Text("here", "已下载")
_DAMAGED = Text("here, hash not checked", "已下载，未校验哈希")
_FETCH = Text("fetching {}", "正在下载 {}")
_CALIBRATED = Text(
    "{} choices, {} of them right; mean squared error of the confidence {} before, {} after (on choices not seen)",
    "共 {} 个选择，正确率 {}；置信度的均方误差：校准前 {}，校准后 {}（在未参与拟合的选择上）",
)
_WRITTEN = Text("written to {}", "已写入 {}")
_HEADS = (Text("name", "名称"), Text("MB", "MB"), Text("", ""), Text("about", "说明"))


@verb.callback()
def model() -> None:
    """Get and list models that run on this machine, and calibrate how sure a model is.

    获取和列出在本机运行的模型，并校准模型的置信度。
    """


@verb.command("pull")
def pull_(context: typer.Context, name: Name = DEFAULT, lang: Lang = "") -> int:
    """Fetch a model into the cache folder; the hash decides. Prints its path.

    下载模型到缓存目录，以哈希为准；输出路径。
    """
    shown = terminal(context)
    with _Bytes(shown, name) as progress:
        path = pull(name, progress=progress)
    shown.out(str(path))
    return ExitCode.OK


@verb.command("list")
def list_(context: typer.Context, as_json: AsJson = False, lang: Lang = "") -> int:
    """List the models that are known by name.

    列出已知名称的模型。
    """
    shown = terminal(context)
    if as_json:
        shown.document([_as_json(known) for known in KNOWN.values()])
        return ExitCode.OK
    heads = [shown.text(head) for head in _HEADS]
    rows = [
        [known.name, str(known.size // 1_000_000), _presence(shown, known), shown.text(known.about)]
        for known in KNOWN.values()
    ]
    for line in table([heads, *rows]):
        shown.out(line)
    return ExitCode.OK


@verb.command("path")
def path(context: typer.Context, name: Name = DEFAULT, lang: Lang = "") -> int:
    """Print where the file of a model is.

    输出模型文件的路径。
    """
    terminal(context).out(str(find(name)))
    return ExitCode.OK


@verb.command("calibrate")
def calibrate(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="ID", help="The model's id, or a pattern of it. 模型 id 或模式")
    ],
    labels: Annotated[
        Path, typer.Option("--labels", metavar="FILE.jsonl", help="Labelled choices. 带标签的选择")
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write nothing. 不写入")] = False,
    as_json: AsJson = False,
    lang: Lang = "",
) -> int:
    """Fit how sure a model is to how often it was right, and write that into its profile.

    用带标签的选择校准模型的置信度，并写入其配置。
    """
    shown = terminal(context)
    found = fit(read_labels(labels))
    fields = {"calibration": found.calibration.model_dump()}
    file = None if dry_run else write_profile(name, fields, Path.cwd())
    if as_json:
        told = {"right": found.right, "brier_before": found.before, "brier_after": found.after}
        shown.document({"model": name, **fields, **told, "file": None if file is None else str(file)})
        return ExitCode.OK
    shown.say(
        shown.text(_CALIBRATED).format(
            found.calibration.labels, f"{found.right:.2f}", f"{found.before:.3f}", f"{found.after:.3f}"
        )
    )
    shown.out(as_toml(name, fields))
    if file is not None:
        shown.say(shown.text(_WRITTEN).format(file))
    return ExitCode.OK


def file_of(known: KnownModel) -> Path:
    """Where the file of a model is, or would be."""
    return model_folder() / known.file


def _presence(shown: Terminal, known: KnownModel) -> str:
    file = file_of(known)
    if not file.is_file():
        return ""
    return shown.text(_HERE if checked_hash(file) == known.sha256 else _DAMAGED)


def _as_json(known: KnownModel) -> dict[str, object]:
    file = file_of(known)
    return {
        "name": known.name,
        "bytes": known.size,
        "sha256": known.sha256,
        "licence": known.licence,
        "path": str(file) if file.is_file() else None,
        "checked": checked_hash(file) == known.sha256 if file.is_file() else False,
    }


class _Bytes:
    """The progress of a download: a bar on a terminal, else a line for every tenth."""

    def __init__(self, shown: Terminal, name: str) -> None:
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

        self._shown = shown
        self._title = shown.text(_FETCH).format(name)
        self._tenth = -1
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        self._bar = Progress(*columns, console=shown.console()) if shown.live else None
        self._task = self._bar.add_task(self._title, total=None) if self._bar is not None else None

    def __enter__(self) -> _Bytes:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: int, total: int) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, total=total or None)
        elif total and done * 10 // total > self._tenth:
            self._tenth = done * 10 // total
            self._shown.say(f"{self._title}  {done // 1_000_000} / {total // 1_000_000} MB")
