"""Another process that makes the stable parts of prompts, with another order of sets: what a restarted machine does.

One JSON object a line in, `{procedure, tools, grip, language}`; one line of digests out.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from sopwith.ir.procedure import Grip, Procedure
from sopwith.ir.tool import ToolSpec
from sopwith.ir.value import digest
from sopwith.lang.compile import compile_procedure
from sopwith.models.profile import PLAIN, Shape
from sopwith.run.book import Book

SHAPES = (PLAIN, Shape(io_words=False, flat=True), Shape(choice="word"))


def stable_parts(book: Book) -> dict[str, str]:
    """The digests of all texts that stand at the beginning of prompts."""
    texts = {str(shape): book.prefix_for(shape) for shape in SHAPES}
    texts |= {"open": book.open_prefix, "block": book.block.text}
    texts |= {"names": " ".join(action.name for action in book.block.actions)}
    return {name: digest(text.encode()) for name, text in texts.items()}


def pinned_book(asked: dict[str, Any]) -> Book:
    """The book of a procedure and tools as they come back from the blobs of a log."""
    specs = [ToolSpec.model_validate(item) for item in asked["tools"]]
    grip = None if asked["grip"] is None else Grip(asked["grip"])
    procedure = Procedure.from_data(asked["procedure"])
    return Book(compile_procedure(procedure, {spec.name: spec for spec in specs}, grip), asked["language"])


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(stable_parts(pinned_book(json.loads(line)))), flush=True)
