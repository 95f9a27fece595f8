"""The vectors of an index: one for each text that entries mean something by, found by its hash and made once."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from sqlite3 import Connection
from typing import TYPE_CHECKING, cast

from sopwith.find.entry import Entry, Kind

if TYPE_CHECKING:
    from sopwith.find.embedding import Vectors
    from sopwith.find.meanings import Meanings

TABLES = (
    "CREATE TABLE meaning (number INTEGER, part TEXT, text BLOB, PRIMARY KEY (number, part, text)) WITHOUT ROWID",
    "CREATE TABLE vector (text BLOB PRIMARY KEY, model TEXT NOT NULL, data BLOB NOT NULL) WITHOUT ROWID",
)

_WITHOUT = (
    "FROM meaning m JOIN entry e USING (number) LEFT JOIN vector v ON v.text = m.text AND v.model = ?"
    " WHERE v.text IS NULL"
)


def note(connection: Connection, number: int, entry: Entry) -> None:
    """Note the texts of an entry; their vectors come with `keep`."""
    rows = [(number, part, _key(text)) for part, texts in entry.meanings().items() for text in texts]
    connection.executemany("INSERT OR IGNORE INTO meaning VALUES (?,?,?)", rows)


def forget(connection: Connection, number: int) -> None:
    """Take away what was noted of an entry."""
    connection.execute("DELETE FROM meaning WHERE number = ?", (number,))


def missing(connection: Connection, model: str) -> int:
    """How many entries have a text without a vector of this model."""
    return connection.execute(f"SELECT COUNT(DISTINCT m.number) {_WITHOUT}", (model,)).fetchone()[0]


def texts_without(connection: Connection, model: str, most: int) -> dict[bytes, str]:
    """Texts without a vector of this model, by key: `most` or a few more, none where all have one."""
    rows = connection.execute(f"SELECT m.text, e.data {_WITHOUT} LIMIT ?", (model, most)).fetchall()
    wanted = {key for key, _ in rows}
    found: dict[bytes, str] = {}
    for data in dict.fromkeys(data for _, data in rows):
        for texts in Entry.model_validate_json(data).meanings().values():
            found |= {_key(text): text for text in texts}
    return {key: text for key, text in found.items() if key in wanted}


def keep(connection: Connection, model: str, keys: Iterable[bytes], vectors: Vectors) -> None:
    """Put vectors (one row a key) into the index, in half precision."""
    import numpy as np

    rows = [(key, model, row.tobytes()) for key, row in zip(keys, vectors.astype(np.float16), strict=True)]
    connection.executemany("INSERT OR REPLACE INTO vector VALUES (?,?,?)", rows)


def tidy(connection: Connection) -> None:
    """Take away the vectors of texts that no entry has any more."""
    connection.execute("DELETE FROM vector WHERE text NOT IN (SELECT text FROM meaning)")


def load(connection: Connection, kind: Kind, model: str) -> Meanings | None:
    """What the entries of a kind mean, as far as they have vectors; None where none has."""
    import numpy as np

    from sopwith.find.meanings import Meanings

    rows: list[tuple[int, str, bytes, int]] = connection.execute(
        "SELECT m.number, m.part, m.text, e.dense FROM entry e JOIN meaning m USING (number)"
        " JOIN vector v ON v.text = m.text AND v.model = ? WHERE e.kind = ? ORDER BY m.number",
        (model, kind),
    ).fetchall()
    if not rows:
        return None
    place = {text: at for at, text in enumerate(dict.fromkeys(row[2] for row in rows))}
    held = connection.execute(
        "SELECT v.text, v.data FROM vector v WHERE v.text IN"
        " (SELECT m.text FROM entry e JOIN meaning m USING (number) WHERE e.kind = ?)",
        (kind,),
    )
    data = dict(cast("Iterable[tuple[bytes, bytes]]", held))
    vectors = np.frombuffer(b"".join(data[text] for text in place), dtype=np.float16)
    parts = {
        part: [(number, place[text]) for number, of, text, _ in rows if of == part]
        for part in ("text", "example", "origin")
    }
    dense = {number for number, *_, written in rows if written}
    return Meanings.of(vectors.reshape(len(place), -1).astype(np.float32), parts, dense)


def _key(text: str) -> bytes:
    return sha256(text.encode()).digest()
