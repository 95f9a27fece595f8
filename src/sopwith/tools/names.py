"""Tool names for providers: `source.tool` as `[A-Za-z0-9_-]{1,64}`, the same on every machine, and back.

A name of letters, digits, `-`, single `_` and dots keeps its words, with `__` for each dot: `hr.get_employee`
becomes `hr__get_employee`. Any other name, one that is too long, and one that could be read in two ways gets
what is readable of it and 80 bits of its hash. An alias depends only on its name, and no two names share one.
"""

from __future__ import annotations

import re
from base64 import b32encode
from functools import lru_cache
from hashlib import sha256

LONGEST = 64
_PLAIN = re.compile(r"[A-Za-z0-9_.-]+")
_AMBIGUOUS = re.compile(r"__|_\.|\._")
_HASHED = re.compile(r"-[a-z2-7]{16}$")
_READABLE = LONGEST - 17


@lru_cache(maxsize=16_384)
def alias(name: str) -> str:
    """The name of the tool `name` on the wire."""
    dotless = name.replace(".", "__")
    plain = _PLAIN.fullmatch(name) and not _AMBIGUOUS.search(name) and not _HASHED.search(name)
    if plain and len(dotless) <= LONGEST:
        return dotless
    readable = re.sub(r"[^A-Za-z0-9_-]+", "_", dotless)[:_READABLE].strip("_")
    # errors: a name with a lone surrogate still has an alias of its own
    mark = b32encode(sha256(name.encode(errors="surrogatepass")).digest()[:10]).decode().lower()
    return f"{readable or 'tool'}-{mark}"
