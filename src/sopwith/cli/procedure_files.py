"""The procedures that a procedure may call: in the files beside it, where the setting `procedures` says, and what is
pinned in the library."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from sopwith.cli.named_procedure import library_of
from sopwith.cli.project import Project
from sopwith.errors import ProcedureError, Text, UserError
from sopwith.ir.procedure import Procedure
from sopwith.lang.document import Document
from sopwith.lang.form import CALLED, SKILL
from sopwith.lang.read import read
from sopwith.library.library import ProcedureLibrary, Reference

_ID = re.compile(r"""(?m)^id:[ \t]*["']?([A-Za-z_][A-Za-z0-9_]*)["']?[ \t]*(?:#.*)?$""")
_SUFFIXES = (".yaml", ".yml")
_LONGEST = 4096
"""The id stands near the beginning of a file: so many characters of each are looked at."""


class ProcedureFiles:
    """The files of procedures in `places`: files, and folders. A file is read when its procedure is called.

    What no file is may be in the `library`, in its pinned version.
    """

    def __init__(self, places: Iterable[Path], library: ProcedureLibrary | None = None) -> None:
        self._places = tuple(places)
        self._library = library
        self._documents: dict[str, Document] = {}

    @cached_property
    def files(self) -> Mapping[str, list[Path]]:
        """The files of each procedure, by its id."""
        found: dict[str, dict[Path, None]] = defaultdict(dict)
        for file in self._all():
            match = _ID.search(_beginning(file))
            if match is not None:
                found[match[1]][file.resolve()] = None
        return {name: list(files) for name, files in found.items()}

    def _all(self) -> Iterator[Path]:
        for place in self._places:
            if place.is_dir():
                files = (file for file in place.iterdir() if file.suffix in _SUFFIXES and file.is_file())
                yield from sorted(files)
            elif place.is_file():
                yield place

    def callees(self, document: Document) -> dict[str, Document]:
        """The procedures that a procedure calls, and those that these call, by id, as far as there are files of them.

        Raises `ProcedureError` for a file that cannot be read, `UserError` where two files have the id.
        """
        found: dict[str, Document] = {}
        left = list(document.procedure.callees())
        while left:
            name = left.pop()
            if name not in found and name != document.procedure.id and name in self._names:
                found[name] = self._read(name)
                left += found[name].procedure.callees()
        return found

    def library(self, document: Document) -> dict[str, Procedure]:
        """What a procedure calls, by id; where something is missing also the others, one of which may be meant."""
        called = {name: each.procedure for name, each in self.callees(document).items()}
        if all(name in called or name == document.procedure.id for name in document.procedure.callees()):
            return called
        for name in self._names:
            if name not in called and name != document.procedure.id:
                with suppress(ProcedureError, UserError):  # nobody has asked for it
                    called[name] = self._read(name).procedure
        return called

    @cached_property
    def _pinned(self) -> frozenset[str]:
        return frozenset() if self._library is None else frozenset(self._library.pinned_ids())

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*self.files, *sorted(self._pinned)]))

    def _read(self, name: str) -> Document:
        """The procedure `name`. Raises `UserError` where a file of that id is another one than that of the library."""
        kept = None
        if self._library is not None and name in self._pinned:
            kept = self._library.read(Reference(name))
        if kept is not None and name not in self.files:
            return kept
        document = self._of_file(name)
        if kept is not None and kept.procedure.digest() != document.procedure.digest():
            raise UserError(
                Text(
                    f"'{name}' is one procedure in {document.file} and another one in the library ({kept.file})",
                    f"“{name}”在 {document.file} 中与在流程库中（{kept.file}）不是同一流程",
                ),
                Text(
                    f"sopwith library add {document.file} --pin, or remove the file",
                    f"请执行 sopwith library add {document.file} --pin，或删除该文件",
                ),
            )
        return document

    def _of_file(self, name: str) -> Document:
        first, *rest = files = self.files[name]
        if rest:
            listed = ", ".join(map(str, files))
            raise UserError(
                Text(
                    f"several files are the procedure '{name}': {listed}",
                    f"有多个文件是流程“{name}”：{listed}",
                ),
                Text("give each an id of its own", "请为每个流程取不同的 id"),
            )
        if name not in self._documents:
            self._documents[name] = read(first)
        return self._documents[name]


def files_of(project: Project) -> ProcedureFiles:
    """The files of a project: those beside its procedure, those that a skill carries, those of the setting, and the
    library. What a procedure of the library calls is in there."""
    beside = project.procedure.parent
    library = library_of(project.settings)
    if library.holds(project.procedure):
        return ProcedureFiles((), library)
    carried = (beside / CALLED,) if project.procedure.name == SKILL else ()
    return ProcedureFiles((beside, *carried, *project.settings.procedures), library)


def _beginning(file: Path) -> str:
    try:
        with file.open(encoding="utf-8", errors="replace") as opened:
            return opened.read(_LONGEST)
    except OSError:
        return ""
