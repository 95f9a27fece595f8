"""One index of procedures, tools and documents, in a SQLite file of its own."""

from __future__ import annotations

import json
import math
import sqlite3
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, TypeVar

from sopwith.find import vector_table
from sopwith.find.embedding import Embedder, installed_embedder
from sopwith.find.entry import SOUGHT, Entry, Kind
from sopwith.find.held_file import HeldFile, held_file, row_of
from sopwith.find.index_file import damaged, failure, identity, is_damaged, is_moved, open_index, remove
from sopwith.find.lexical import FIELDS, WEIGHTS, Collection, lexical_score
from sopwith.find.words import is_dense, query_words, words
from sopwith.ir.diagnostic import Diagnostic

if TYPE_CHECKING:
    from sopwith.find.embedding import Vectors
    from sopwith.find.meanings import Meanings, Nearness

T = TypeVar("T")

CANDIDATES = 100
"""How many entries are scored exactly, at least: the best by the BM25 of SQLite, whose constants cannot be set."""

QUERY_WORDS = 256
"""How many different words of a query count, from its beginning: more would cost time, and hardly change what fits."""

MADE_AT_ONCE, KEPT_AT_ONCE = 64, 4
"""So many texts without a vector are looked up together; so many vectors are made between two looks at the clock."""

COVERED = 0.8
"""Of so many entries of a kind the meaning is known, before it counts: the others would only lose by it."""


@dataclass(frozen=True, slots=True)
class _Fusion:
    """How words and meaning make a score. `knee` is the share of its best score with which the words of an entry count
    about half: one rare word says much, the rest of a long query little. `meaning` is what closeness counts beside
    the words, which count 1."""

    knee: float
    meaning: float


_PLAIN = _Fusion(knee=0.1, meaning=1.0)
_OF_FEW = _Fusion(knee=0.3, meaning=2.0)
"""Of few texts no word is known to be rare, so that words say less."""
_FUSION: dict[Kind, _Fusion] = {"procedure": _OF_FEW, "outside": _OF_FEW, "tool": _PLAIN, "document": _PLAIN}

_BM25 = ", ".join(map(str, WEIGHTS))


@dataclass(frozen=True, slots=True)
class Parts:
    """What a score is made of: `lexical` and `semantic` from 0 to 1 (None: not measured), and the words of the query
    that the entry has."""

    lexical: float
    semantic: float | None
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hit:
    """An entry that was found, with its score: from 0 to 1, comparable between queries and kinds of one index."""

    entry: Entry
    score: float
    parts: Parts


@dataclass(frozen=True, slots=True)
class Synced:
    """How many entries a call has added, changed and dropped."""

    added: int = 0
    changed: int = 0
    dropped: int = 0


class Index:
    """The index in the file `path`. Many processes may share it; each waits up to `patience` seconds for another.

    What is found by meaning has a vector, made by `embed` with the `embedder`: the installed one, unless another or
    None is given. Until then, and without one, it is found by its words.

    `problems` says where the file was of another version or damaged: it was then made anew, and is empty until the
    next `sync`. Raises `IndexFileError` where the file is of something else or cannot be written.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        patience: float = 30.0,
        embedder: Callable[[], Embedder | None] | None = installed_embedder,
    ) -> None:
        self.path = Path(path)
        self.problems: list[Diagnostic] = []
        self._patience = patience
        self._lock = RLock()
        self._embedder = embedder or (lambda: None)
        self._loaded: dict[tuple[Kind, str], tuple[int, Meanings | None]] = {}
        self._connection = self._opened()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def sync(self, kind: Kind, entries: Iterable[Entry]) -> Synced:
        """Make the entries of `kind` exactly these; what has not changed costs a comparison of digests. Of entries
        with one id the last counts."""
        wanted = {entry.id: entry for entry in entries if entry.kind == kind}
        return self._written(lambda: self._store(kind, wanted, whole=True))

    def put(self, entries: Iterable[Entry]) -> Synced:
        """Add or change entries, and leave the others."""
        by_kind: dict[Kind, dict[str, Entry]] = {}
        for entry in entries:
            by_kind.setdefault(entry.kind, {})[entry.id] = entry

        def write() -> Synced:
            done = [self._store(kind, wanted, whole=False) for kind, wanted in by_kind.items()]
            return Synced(sum(one.added for one in done), sum(one.changed for one in done))

        return self._written(write)

    def drop(self, kind: Kind, ids: Iterable[str]) -> Synced:
        """Take entries away; ids that are not there are no mistake."""
        unwanted = tuple(ids)

        return self._written(lambda: Synced(dropped=self._drop(kind, unwanted)))

    def files(self) -> dict[str, HeldFile]:
        """The files whose passages are here, by name."""
        rows = self._run(
            lambda: self._connection.execute("SELECT name, mark, digest, ids, problem FROM file").fetchall()
        )
        return {row[0]: held_file(*row) for row in rows}

    def put_file(self, file: HeldFile, entries: Sequence[Entry]) -> None:
        """Put what was made of a file in the place of what it was before."""
        wanted = {entry.id: entry for entry in entries}

        def write() -> None:
            before = self._file_ids(file.name)
            self._drop("document", [id for id in before if id not in wanted])
            self._store("document", wanted, whole=False)
            self._connection.execute("INSERT OR REPLACE INTO file VALUES (?,?,?,?,?)", row_of(file))

        self._written(write)

    def mark_file(self, name: str, digest: str, mark: str) -> None:
        """Note that the file still is what has this digest."""
        self._written(
            lambda: self._connection.execute(
                "UPDATE file SET mark = ? WHERE name = ? AND digest = ?", (mark, name, digest)
            )
        )

    def drop_files(self, files: Iterable[HeldFile]) -> int:
        """Take files away with their passages, unless another process has read them anew since; how many."""
        unwanted = tuple(files)

        def write() -> int:
            done = 0
            for file in unwanted:
                before = self._file_ids(file.name)
                gone = self._connection.execute(
                    "DELETE FROM file WHERE name = ? AND digest = ? AND mark = ?",
                    (file.name, file.digest, file.mark),
                )
                if gone.rowcount:
                    self._drop("document", before)
                    done += 1
            return done

        return self._written(write) if unwanted else 0

    def entries(self, kind: Kind) -> list[Entry]:
        """All entries of a kind, in the order of their ids."""
        rows = self._run(
            lambda: self._connection.execute(
                "SELECT data FROM entry WHERE kind = ? ORDER BY id", (kind,)
            ).fetchall()
        )
        return [Entry.model_validate_json(data) for (data,) in rows]

    def embed(self, seconds: float | None = None, stopped: Callable[[], bool] = lambda: False) -> int:
        """Make the vectors that are missing, for `seconds` at most (None: all) and until `stopped`; how many entries
        lack one then.

        Others may write, search and embed meanwhile. Without an embedder nothing is made, or missing.
        """
        embedder = self._embedder()
        if embedder is None:
            return 0
        until = math.inf if seconds is None else time.monotonic() + seconds
        while texts := self._run(
            lambda: vector_table.texts_without(self._connection, embedder.name, MADE_AT_ONCE)
        ):
            found = list(texts.items())
            for at in range(0, len(found), KEPT_AT_ONCE):
                if stopped() or time.monotonic() > until:
                    return self._run(lambda: vector_table.missing(self._connection, embedder.name))
                self._keep(embedder, dict(found[at : at + KEPT_AT_ONCE]))
        self._written(lambda: vector_table.tidy(self._connection))
        return 0

    def _keep(self, embedder: Embedder, texts: dict[bytes, str]) -> None:
        vectors = embedder.passages(list(texts.values()))
        self._written(lambda: vector_table.keep(self._connection, embedder.name, texts, vectors))

    def search(self, query: str, kinds: Sequence[Kind] = SOUGHT, limit: int = 10) -> list[Hit]:
        """At most `limit` entries of these kinds, best first; none where nothing fits the query.

        Of a long query its first `QUERY_WORDS` different words count, and the meaning of its beginning.
        """
        if limit < 1 or not query.strip():
            return []
        asked = tuple(islice(query_words(query), QUERY_WORDS))
        meant = _Meant(query)

        def read() -> list[Hit]:
            with self._transaction("DEFERRED"):  # candidates, their sizes and their texts are of one moment
                return [
                    hit for kind in dict.fromkeys(kinds) for hit in self._of_kind(kind, asked, meant, limit)
                ]

        found = self._run(read)
        return sorted(found, key=lambda hit: (-hit.score, hit.entry.kind, hit.entry.id))[:limit]

    def _of_kind(self, kind: Kind, asked: tuple[str, ...], meant: _Meant, limit: int) -> list[Hit]:
        most = max(limit, CANDIDATES)
        near = self._near(kind, meant)
        fields = self._matching(kind, asked, most)
        if near is not None:
            fields |= self._fields(kind, [number for number in near.best(most) if number not in fields])
        among = self._collection(kind, asked)
        scores: dict[int, tuple[float, float, float | None]] = {}
        for number, found in fields.items():
            lexical = lexical_score(asked, found, among)
            semantic = None if near is None else near.of(number)
            scores[number] = _score(lexical, semantic, _FUSION[kind] if near else None), lexical, semantic
        best = sorted(scores, key=lambda number: (-scores[number][0], number))[:limit]
        return [self._hit(number, *scores[number], asked, fields[number]) for number in best]

    def _hit(
        self,
        number: int,
        score: float,
        lexical: float,
        semantic: float | None,
        asked: tuple[str, ...],
        fields: list[list[str]],
    ) -> Hit:
        row = self._connection.execute("SELECT data FROM entry WHERE number = ?", (number,)).fetchone()
        held = {word for field in fields for word in field}
        said = tuple(word for word in asked if word in held)
        return Hit(Entry.model_validate_json(row[0]), score, Parts(lexical, semantic, said))

    def _matching(self, kind: Kind, asked: tuple[str, ...], most: int) -> dict[int, list[list[str]]]:
        """The words by field of the entries that have the words asked for."""
        if not asked:
            return {}
        rows = self._connection.execute(
            f"SELECT rowid, * FROM words_{kind} WHERE words_{kind} MATCH ?"
            f" ORDER BY bm25(words_{kind}, {_BM25}), rowid LIMIT ?",
            (" OR ".join(f'"{word}"' for word in asked), most),
        )
        return {number: [text.split() for text in texts] for number, *texts in rows}

    def _fields(self, kind: Kind, numbers: Sequence[int]) -> dict[int, list[list[str]]]:
        marks = ",".join("?" * len(numbers))
        rows = self._connection.execute(
            f"SELECT rowid, * FROM words_{kind} WHERE rowid IN ({marks})", numbers
        )
        return {number: [text.split() for text in texts] for number, *texts in rows}

    def _near(self, kind: Kind, meant: _Meant) -> Nearness | None:
        """How close the entries of a kind are to what is meant; None where no entry has a vector."""
        embedder = self._embedder()
        if embedder is None:
            return None
        meanings = self._meanings(kind, embedder.name)
        return None if meanings is None else meanings.nearness(meant.vector(embedder), meant.dense)

    def _meanings(self, kind: Kind, model: str) -> Meanings | None:
        generation: int = self._connection.execute("SELECT generation FROM state").fetchone()[0]
        held = self._loaded.get((kind, model))
        if held is None or held[0] != generation:
            meanings = vector_table.load(self._connection, kind, model)
            if meanings is not None and len(meanings.numbers) < COVERED * self._count(kind):
                meanings = None
            held = self._loaded[kind, model] = generation, meanings
        return held[1]

    def _count(self, kind: Kind) -> int:
        return self._connection.execute("SELECT entries FROM size WHERE kind = ?", (kind,)).fetchone()[0]

    def _collection(self, kind: Kind, asked: tuple[str, ...]) -> Collection:
        _, total, *lengths = self._connection.execute("SELECT * FROM size WHERE kind = ?", (kind,)).fetchone()
        marks = ",".join("?" * len(asked))
        held = self._connection.execute(f"SELECT term, doc FROM held_{kind} WHERE term IN ({marks})", asked)
        return Collection(total, tuple(lengths), dict(held.fetchall()))

    def _store(self, kind: Kind, wanted: dict[str, Entry], *, whole: bool) -> Synced:
        held = self._digests(kind, None if whole else tuple(wanted))
        digests = {id: bytes.fromhex(entry.digest()) for id, entry in wanted.items()}
        changed = [id for id in wanted if id in held and held[id][1] != digests[id]]
        added = [id for id in wanted if id not in held]
        dropped = [id for id in held if id not in wanted]
        self._delete(kind, [held[id][0] for id in (*changed, *dropped)])
        for id in (*changed, *added):
            self._insert(wanted[id], digests[id])
        return Synced(len(added), len(changed), len(dropped))

    def _insert(self, entry: Entry, digest: bytes) -> None:
        number = self._connection.execute(
            "INSERT INTO entry (kind, id, digest, data, dense) VALUES (?,?,?,?,?)",
            (entry.kind, entry.id, digest, entry.model_dump_json(), is_dense(" ".join(_fields(entry)))),
        ).lastrowid
        assert number is not None
        vector_table.note(self._connection, number, entry)
        found = [words(text) for text in _fields(entry)]
        columns = ", ".join("?" * len(found))
        self._connection.execute(
            f"INSERT INTO words_{entry.kind} (rowid, {', '.join(FIELDS)}) VALUES (?, {columns})",
            (number, *map(" ".join, found)),
        )
        self._resize(entry.kind, 1, [len(one) for one in found])

    def _file_ids(self, name: str) -> tuple[str, ...]:
        row = self._connection.execute("SELECT ids FROM file WHERE name = ?", (name,)).fetchone()
        return () if row is None else tuple(json.loads(row[0]))

    def _drop(self, kind: Kind, ids: Sequence[str]) -> int:
        held = self._digests(kind, ids)
        self._delete(kind, [number for number, _ in held.values()])
        return len(held)

    def _delete(self, kind: Kind, numbers: Sequence[int]) -> None:
        for number in numbers:
            texts = self._connection.execute(
                f"SELECT * FROM words_{kind} WHERE rowid = ?", (number,)
            ).fetchone()
            self._connection.execute(f"DELETE FROM words_{kind} WHERE rowid = ?", (number,))
            self._connection.execute("DELETE FROM entry WHERE number = ?", (number,))
            vector_table.forget(self._connection, number)
            self._resize(kind, -1, [-len(text.split()) for text in texts])

    def _resize(self, kind: Kind, entries: int, lengths: Sequence[int]) -> None:
        more = ", ".join(f"{field} = {field} + ?" for field in FIELDS)
        self._connection.execute(
            f"UPDATE size SET entries = entries + ?, {more} WHERE kind = ?", (entries, *lengths, kind)
        )

    def _digests(self, kind: Kind, ids: Sequence[str] | None) -> dict[str, tuple[int, bytes]]:
        """Number and digest by id: of all entries of the kind, or of those of `ids` that are there."""
        query = "SELECT id, number, digest FROM entry WHERE kind = ?"
        if ids is None:
            return {id: (number, digest) for id, number, digest in self._connection.execute(query, (kind,))}
        found: dict[str, tuple[int, bytes]] = {}
        for id in ids:
            for _, number, digest in self._connection.execute(f"{query} AND id = ?", (kind, id)):
                found[id] = (number, digest)
        return found

    def _written(self, write: Callable[[], T]) -> T:
        def transaction() -> T:
            with self._transaction():
                before = self._connection.total_changes
                done = write()
                if self._connection.total_changes != before:
                    self._connection.execute("UPDATE state SET generation = generation + 1")
                return done

        return self._run(transaction)

    @contextmanager
    def _transaction(self, mode: str = "IMMEDIATE") -> Generator[None]:
        self._connection.execute(f"BEGIN {mode}")
        try:
            yield
            self._connection.execute("COMMIT")
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def _run(self, operation: Callable[[], T]) -> T:
        """The result of the operation; where the file turns out to be damaged, on one that was made anew.

        Who else holds the file sees at its next operation that it is another one, and takes that.
        """
        with self._lock:
            try:
                if identity(self.path) != self._identity:
                    self._reopen()
                try:
                    return operation()
                except sqlite3.DatabaseError as error:
                    same = identity(self.path) == self._identity
                    if is_damaged(error) and same:
                        remove(self.path, self._identity)
                        self.problems.append(damaged(self.path))
                    elif same or not (is_damaged(error) or is_moved(error)):
                        raise
                    self._reopen()
                    return operation()
            except sqlite3.Error as error:
                raise failure(self.path, error) from error

    def _reopen(self) -> None:
        self._connection.close()
        self._connection = self._opened()

    def _opened(self) -> sqlite3.Connection:
        connection, problem = open_index(self.path, self._patience)
        if problem is not None:
            self.problems.append(problem)
        self._identity = identity(self.path)
        self._loaded.clear()
        return connection


class _Meant:
    """What a query means: its vector, made once and only where something can be compared with it."""

    def __init__(self, query: str) -> None:
        self._query = query
        self.dense = is_dense(query)
        self._vector: Vectors | None = None

    def vector(self, embedder: Embedder) -> Vectors:
        if self._vector is None:
            self._vector = embedder.query(self._query)
        return self._vector


def _score(lexical: float, semantic: float | None, fusion: _Fusion | None) -> float:
    if fusion is None:
        return lexical
    by_words = (1 + fusion.knee) * lexical / (lexical + fusion.knee)
    return (by_words + fusion.meaning * (semantic or 0)) / (1 + fusion.meaning)


def _fields(entry: Entry) -> tuple[str, ...]:
    """The texts of an entry, in the order of `FIELDS`."""
    tags, examples = "\n".join(entry.tags), "\n".join(entry.examples)
    return entry.name, entry.description, entry.body, tags, examples, entry.source
