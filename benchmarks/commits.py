"""How many transactions are in a write-ahead log of SQLite: counted in the file, whoever wrote it.

The format: https://www.sqlite.org/fileformat2.html#walformat. A frame with a size of the database is the last of a
transaction; a frame with other salts is left over from before a checkpoint.
"""

from __future__ import annotations

import struct
from pathlib import Path

_HEADER, _FRAME = 32, 24


def commits(path: Path) -> int:
    """The transactions in the write-ahead log of the SQLite file at `path`, since its last checkpoint."""
    log = path.with_name(f"{path.name}-wal")
    data = log.read_bytes() if log.exists() else b""
    if len(data) < _HEADER:
        return 0
    (page,) = struct.unpack_from(">I", data, 8)
    salts, found = data[16:24], 0
    for at in range(_HEADER, len(data) - _FRAME - page + 1, _FRAME + page):
        if data[at + 8 : at + 16] != salts:
            break
        found += data[at + 4 : at + 8] != bytes(4)
    return found
