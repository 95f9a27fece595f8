"""What can be found: a procedure, a tool, or a passage of a document, as texts; and what is outside of all of these."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict

from sopwith.ir.value import canonical, digest

Kind = Literal["procedure", "tool", "document", "outside"]
SOUGHT: tuple[Kind, ...] = ("procedure", "tool", "document")
"""What people look for."""
KINDS: tuple[Kind, ...] = (*SOUGHT, "outside")
"""All kinds. What is `outside` is a request that no procedure is for."""

_SURROGATE = re.compile("[\ud800-\udfff]")


def _whole(text: object) -> object:
    """Text that can be stored: lone surrogates, which tools may return, become U+FFFD."""
    return _SURROGATE.sub("\ufffd", text) if isinstance(text, str) else text


Words = Annotated[str, BeforeValidator(_whole)]


class Entry(BaseModel):
    """One thing that can be found, as the texts that it is found by.

    `id` is unique within its `kind`. `name` and `description` say what it is; `body` holds the rest of the words:
    parameters of a tool, steps of a procedure, the text of a passage. `examples` are requests that it is for, `tags`
    are short labels, and `source` says where it comes from (a server, a file) in words, which are searched too.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    kind: Kind
    id: Words
    name: Words = ""
    description: Words = ""
    body: Words = ""
    tags: tuple[Words, ...] = ()
    examples: tuple[Words, ...] = ()
    source: Words = ""

    def meanings(self) -> dict[str, tuple[str, ...]]:
        """The texts whose meaning stands for the entry: `text` is its name, its description, and the whole of it;
        `example` is each example; `origin` is where a tool comes from (paths of documents mean nothing)."""
        said = ": ".join(part for part in (self.name, self.description) if part)
        whole = "\n".join(part for part in (said, " ".join(self.tags), self.body) if part)
        parts: dict[str, tuple[str, ...]] = {
            "text": (self.name, self.description, whole),
            "example": self.examples,
            "origin": (self.source,) if self.kind == "tool" else (),
        }
        return {
            part: tuple(text for text in dict.fromkeys(texts) if text.strip())
            for part, texts in parts.items()
        }

    def digest(self) -> str:
        """The content hash by which an index knows whether it has this entry as it is."""
        return digest(canonical(self.model_dump(mode="json")))
