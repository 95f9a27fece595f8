"""A Python file as a list of tools."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

from sopwith.errors import Text, ToolSourceError
from sopwith.tools.declaration import declaration_of

_files: dict[str, Path] = {}
"""The loaded files by the names of their modules."""

_siblings: set[str] = set()
"""The names of modules that were imported from the folders of loaded files."""


def load_module(path: str | Path) -> list[Callable[..., Any]]:
    """The functions that `@tool` marks in the Python file at `path`, in the order of their definition.

    The file is imported under a name of its own; it may import the files next to it. `ToolSourceError` names
    file and line of what went wrong.
    """
    file = Path(path).resolve()
    if not file.is_file():
        raise ToolSourceError(
            Text(f"there is no tools file {path}", f"没有工具文件 {path}"),
            Text("Give the path of a Python file.", "请给出一个 Python 文件的路径。"),
        )
    module = _import(file)
    return list({id(found): found for found in vars(module).values() if declaration_of(found)}.values())


def file_of(module: str) -> str | None:
    """The file whose functions `load_module` gave under the module name `module`, or None."""
    return str(_files[module]) if module in _files else None


def module_of(name: str, file: str | None) -> ModuleType:
    """The module `name`, imported by its name, or by the `file` that `file_of` tells; once."""
    if name in sys.modules:
        return sys.modules[name]
    return importlib.import_module(name) if file is None else _import(Path(file))


def _import(file: Path) -> ModuleType:
    name = f"_sopwith_{sha256(str(file).encode()).hexdigest()[:8]}_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ToolSourceError(
            Text(f"{file} is not a Python file", f"{file} 不是 Python 文件"),
            Text("Its name must end in .py.", "文件名必须以 .py 结尾。"),
        )
    module = importlib.util.module_from_spec(spec)
    _files[name] = file
    sys.modules[name] = module  # annotations and dataclasses look their module up
    try:
        with _importing_from(file.parent):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise _failed(file, error) from error
    return module


@contextmanager
def _importing_from(folder: Path) -> Generator[None]:
    """Let imports find the files in `folder` first; afterwards last, for imports inside functions."""
    here = {entry.stem for entry in folder.iterdir() if entry.suffix == ".py" or entry.is_dir()}
    for name in here & _siblings:
        if folder not in Path(getattr(sys.modules.get(name), "__file__", None) or "").parents:
            sys.modules.pop(name, None)  # of the same name, from another folder
    before = set(sys.modules)
    text = str(folder)
    sys.path.insert(0, text)
    try:
        yield
    finally:
        sys.path.remove(text)
        if text not in sys.path:
            sys.path.append(text)
        _siblings.update(here & (set(sys.modules) - before))


def _failed(file: Path, error: BaseException) -> ToolSourceError:
    line: int | None = 1
    where = str(file)
    if isinstance(error, SyntaxError) and error.filename:
        where, line = error.filename, error.lineno
    else:
        folder = str(file.parent)
        for frame in traceback.extract_tb(error.__traceback__):
            if frame.filename.startswith(folder):
                where, line = frame.filename, frame.lineno
    what = f"{type(error).__name__}: {error}"
    return ToolSourceError(
        Text(f"{where}:{line} cannot be imported: {what}", f"{where}:{line} 无法导入：{what}"),
        Text("Correct that line, or install what it imports.", "请改正这一行，或安装它导入的包。"),
    )
