"""A procedure together with the places of its parts in the text that it was read from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sopwith.ir.diagnostic import Diagnostic, Place
from sopwith.ir.procedure import Procedure

Form = Literal["yaml", "routine", "chart", "draft"]
"""How a procedure is written down; a skill is Routine text, a draft or YAML."""

Path = tuple[str | int, ...]
"""The way to a part, by the keys of the YAML form: `("steps", "submit", "next", 0, "when")`."""


@dataclass(frozen=True, slots=True)
class Document:
    """What a reader returns.

    `places` knows, for each path, where a scalar value begins or, for a list or mapping, where its key
    stands. `notes` are warnings: what was read with a doubt, and what could not be read and is left out; errors among
    them, and `lost` parts of which nothing is known, has only what `read_partly` returns.
    """

    procedure: Procedure
    places: Mapping[Path, Place]
    file: str
    text: str
    notes: tuple[Diagnostic, ...] = ()
    form: Form = "yaml"
    lost: frozenset[Path] = frozenset()

    def place(self, *path: str | int) -> Place:
        """The place of a part, or of its nearest parent that has one."""
        return nearest(self.places, path, self.file)

    def place_of_model(self, step: str) -> Place:
        """The place of the `model` of a step, or with "" of the procedure."""
        return self.place("steps", step, "model") if step else self.place("model")

    def place_of_step(self, step: str) -> Place:
        """The place of a step."""
        return self.place("steps", step)


def nearest(places: Mapping[Path, Place], path: Path, file: str) -> Place:
    """The place of `path` or of its nearest parent; the head of the file where none is known."""
    for length in range(len(path), 0, -1):
        place = places.get(path[:length])
        if place is not None:
            return place
    return places.get((), Place(file=file))
