"""What people name at the command line: the file of a procedure, or `library:ID` for one of the library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sopwith.cli.project import Options, Project, find_project, folder_project
from sopwith.cli.settings import Settings
from sopwith.lang.document import Document
from sopwith.lang.read import read
from sopwith.library.library import ProcedureLibrary, Reference
from sopwith.log.signing_key import PublicKey

LIBRARY = "library:"
"""What stands before the id of a procedure of the library where a file could stand as well."""


def library_of(settings: Settings) -> ProcedureLibrary:
    """The library of the settings, which need not be there. Raises `UserError` for a key that cannot be read."""
    return ProcedureLibrary(settings.library, [PublicKey.read(key) for key in settings.library_keys])


def in_library(name: Path | str) -> Reference | None:
    """What `library:ID` or `library:ID@VERSION` refers to; None for the name of a file. Raises `UserError`."""
    text = str(name)
    return Reference.parse(text.removeprefix(LIBRARY)) if text.startswith(LIBRARY) else None


def open_named(
    name: Path | str, options: Options | None = None, allow: Sequence[str] = ()
) -> tuple[Project, Document]:
    """A procedure and its project: that of its file, or for one of the library that of the current folder.

    Raises `UserError` for a missing file or version, `ProcedureError` for what cannot be read.
    """
    options = Options() if options is None else options
    reference = in_library(name)
    if reference is None:
        project = find_project(Path(name), options, allow)
        return project, read(project.procedure, str(name))
    project = folder_project(Path.cwd(), options)
    document = library_of(project.settings).read(reference)
    return replace(project, procedure=Path(document.file).resolve(), allow=tuple(allow)), document
