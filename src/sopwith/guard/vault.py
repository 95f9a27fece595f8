"""Where true values live while models and the log see placeholders: per run, encrypted at rest.

A value is kept before anything that names its placeholder is written. Equal values of one run have one
placeholder, found by a keyed hash, so that nothing readable is stored. What is erased leaves its number behind,
so that its placeholder never stands for another value, and every log as it is.
"""

from __future__ import annotations

import contextlib
import hmac
import secrets
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, Protocol

from sopwith.errors import LogDamaged, LogError, Text, ValueErased
from sopwith.guard.key import find_key, not_the_key
from sopwith.guard.vault_failure import refuse_damaged, vault_damaged, vault_failure


class Secret(NamedTuple):
    """What is kept: its kind (`phone`), and the value as JSON text."""

    kind: str
    value: str


class Vault(Protocol):
    """A store of the values that placeholders stand for. One contract suite holds for all of them."""

    def keep(self, run: str, found: Sequence[Secret]) -> Sequence[str]:
        """The placeholder of each secret in `run`: `<phone:1>`. New ones are stored, on disk where there is
        one.

        Raises `LogError` when nothing can be written; then none is stored.
        """
        ...

    def look_up(self, run: str, placeholder: str) -> str | None:
        """The value, as JSON text, that `placeholder` stands for in `run`; None where there is none.

        Raises `ValueErased` where it was erased.
        """
        ...

    def known(self, run: str) -> Sequence[Secret]:
        """The secrets of `run` that were kept and not erased."""
        ...

    def keyed_hash(self, data: bytes) -> str:
        """A keyed hash of `data`, 32 hexadecimal digits: equal data can be told, guessed data cannot be
        tried.
        """
        ...

    def close(self) -> None:
        """Release the store. May be called twice."""
        ...


class MemoryVault:
    """A `Vault` in memory: for tests, and for runs that end with their process."""

    def __init__(self, key: bytes | None = None) -> None:
        self._key = secrets.token_bytes(32) if key is None else key
        self._placeholders: dict[tuple[str, Secret], str] = {}
        self._values: dict[tuple[str, str], str] = {}
        self._counts: dict[tuple[str, str], int] = {}

    def keep(self, run: str, found: Sequence[Secret]) -> Sequence[str]:
        """As `Vault.keep`."""
        return [self._placeholder(run, secret) for secret in found]

    def look_up(self, run: str, placeholder: str) -> str | None:
        """As `Vault.look_up`."""
        return self._values.get((run, placeholder))

    def known(self, run: str) -> Sequence[Secret]:
        """As `Vault.known`."""
        return [secret for whose, secret in self._placeholders if whose == run]

    def keyed_hash(self, data: bytes) -> str:
        """As `Vault.keyed_hash`."""
        return hmac.digest(self._key, data, "sha256").hex()[:32]

    def close(self) -> None:
        """Nothing is held."""

    def _placeholder(self, run: str, secret: Secret) -> str:
        placeholder = self._placeholders.get((run, secret))
        if placeholder is None:
            number = self._counts[run, secret.kind] = self._counts.get((run, secret.kind), 0) + 1
            placeholder = self._placeholders[run, secret] = f"<{secret.kind}:{number}>"
            self._values[run, placeholder] = secret.value
        return placeholder


APPLICATION = 0x53505655
"""The application id in the header of a vault's file (`SPVU`)."""

VERSION = 1

_TABLES = (
    "CREATE TABLE key_check (mark BLOB NOT NULL)",
    "CREATE TABLE entry (run TEXT, kind TEXT, number INTEGER, mark BLOB NOT NULL, sealed BLOB NOT NULL,"
    " PRIMARY KEY (run, kind, number), UNIQUE (run, mark)) WITHOUT ROWID",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
)
_NONCE = 12
_LONG = 60.0


class SqliteVault:
    """A `Vault` in the file `path`, sealed with AES-256-GCM.

    The key of 32 bytes is `key`, or else the environment's `SOPWITH_KEY` (Base64), or else the file `path` +
    `.key`, which is made on first use for its owner alone. Raises `PolicyError` for a key that does not open
    this vault, has another length, or lies in a file that others may read; `LogError` for a file that cannot
    be opened, `LogDamaged` for one that is damaged.
    """

    def __init__(self, path: str | Path, key: bytes | None = None) -> None:
        self.path = Path(path)
        self._given = key is not None
        key = find_key(self.path, key)
        self._seal_key, self._mark_key, self._hash_key = (
            hmac.digest(key, f"sopwith vault {use}".encode(), "sha256") for use in ("seal", "mark", "hash")
        )
        self._lock = Lock()
        self._cipher: Any = None
        self._connection = self._open()

    def keep(self, run: str, found: Sequence[Secret]) -> Sequence[str]:
        """As `Vault.keep`."""
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                placeholders = [self._placeholder(run, secret) for secret in found]
                self._connection.execute("COMMIT")
            except sqlite3.Error as error:
                raise vault_failure(self.path, error) from error
            finally:
                self._roll_back()
        return placeholders

    def look_up(self, run: str, placeholder: str) -> str | None:
        """As `Vault.look_up`. Raises `LogDamaged` where the entry was changed."""
        kind, _, number = placeholder.strip("<>").partition(":")
        with self._lock:
            try:
                row = self._connection.execute(
                    "SELECT sealed FROM entry WHERE run = ? AND kind = ? AND number = ?",
                    (run, kind, int(number)),
                ).fetchone()
            except sqlite3.Error as error:
                raise vault_failure(self.path, error) from error
        if row is not None and not row[0]:
            raise _erased(run, placeholder)
        return None if row is None else self._unseal(run, placeholder, row[0])

    def known(self, run: str) -> Sequence[Secret]:
        """As `Vault.known`. Raises `LogDamaged` where an entry was changed."""
        with self._lock:
            try:
                rows = self._connection.execute(
                    "SELECT kind, number, sealed FROM entry WHERE run = ? AND length(sealed) > 0", (run,)
                ).fetchall()
            except sqlite3.Error as error:
                raise vault_failure(self.path, error) from error
        return [
            Secret(kind, self._unseal(run, f"<{kind}:{number}>", sealed)) for kind, number, sealed in rows
        ]

    def remove(self, runs: Iterable[str]) -> int:
        """Forget everything about runs whose logs are gone. Returns how many entries there were."""
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                counts = [
                    self._connection.execute("DELETE FROM entry WHERE run = ?", (run,)).rowcount
                    for run in runs
                ]
                self._connection.execute("COMMIT")
            except sqlite3.Error as error:
                raise vault_failure(self.path, error) from error
            finally:
                self._roll_back()
            self._clean()
        return sum(counts)

    def keyed_hash(self, data: bytes) -> str:
        """As `Vault.keyed_hash`."""
        return hmac.digest(self._hash_key, data, "sha256").hex()[:32]

    def erase(self, matches: Callable[[str, Secret], bool]) -> dict[str, int]:
        """Erase every entry for whose run and secret `matches` is true, so that none of its bytes stay in the files.

        Returns how many in each run. Raises `LogError` where another process keeps the files from being cleaned: then
        the entries are erased, and erasing again, when that has ended, cleans the files.
        """
        with self._lock:
            try:
                erased = self._erase(matches)
            except sqlite3.Error as error:
                raise vault_failure(self.path, error) from error
            finally:
                self._roll_back()
            cleaned = self._clean()
        if not cleaned:
            raise LogError(
                Text(
                    f"the vault {self.path}: erased, but another process keeps old bytes in its files",
                    f"保险库 {self.path}：已抹除，但另一个进程使其文件中仍留有旧数据",
                ),
                Text("end that process, then erase again", "请结束该进程后再次抹除"),
            )
        return erased

    def counts(self) -> list[tuple[str, str, int, int]]:
        """Run, kind, how many entries, and how many of them were erased; in order."""
        with self._lock:
            try:
                return self._connection.execute(
                    "SELECT run, kind, count(*), sum(length(sealed) = 0) FROM entry GROUP BY run, kind"
                    " ORDER BY run, kind"
                ).fetchall()
            except sqlite3.Error as error:
                raise vault_failure(self.path, error) from error

    def look_through(self) -> int:
        """Open every entry that was not erased. Returns how many; raises `LogDamaged` for one that was changed."""
        with self._lock:
            refuse_damaged(self._connection, self.path, _LONG)
            try:
                rows = self._connection.execute(
                    "SELECT run, kind, number, sealed FROM entry WHERE length(sealed) > 0"
                ).fetchall()
            except sqlite3.Error as error:
                raise vault_failure(self.path, error) from error
        for run, kind, number, sealed in rows:
            self._unseal(run, f"<{kind}:{number}>", sealed)
        return len(rows)

    def refuse_damaged(self, seconds: float = 0.2) -> None:
        """Look for damage in the file, for so many seconds at most. Raises `LogDamaged` where it is found."""
        with self._lock:
            refuse_damaged(self._connection, self.path, seconds)

    def close(self) -> None:
        """As `Vault.close`."""
        self._connection.close()

    def _placeholder(self, run: str, secret: Secret) -> str:
        known = f"{run}\0{secret.kind}\0{secret.value}".encode()
        mark = hmac.digest(self._mark_key, known, "sha256")[:16]
        row = self._connection.execute(
            "SELECT kind, number FROM entry WHERE run = ? AND mark = ?", (run, mark)
        ).fetchone()
        if row is not None:
            return f"<{row[0]}:{row[1]}>"
        (number,) = self._connection.execute(
            "SELECT coalesce(max(number), 0) + 1 FROM entry WHERE run = ? AND kind = ?", (run, secret.kind)
        ).fetchone()
        placeholder = f"<{secret.kind}:{number}>"
        sealed = self._seal(run, placeholder, secret.value)
        self._connection.execute(
            "INSERT INTO entry VALUES (?,?,?,?,?)", (run, secret.kind, number, mark, sealed)
        )
        return placeholder

    def _erase(self, matches: Callable[[str, Secret], bool]) -> dict[str, int]:
        self._connection.execute("BEGIN IMMEDIATE")
        rows = self._connection.execute(
            "SELECT run, kind, number, sealed FROM entry WHERE length(sealed) > 0 ORDER BY run"
        ).fetchall()
        erased: dict[str, int] = {}
        for run, kind, number, sealed in rows:
            if matches(run, Secret(kind, self._unseal(run, f"<{kind}:{number}>", sealed))):
                self._connection.execute(
                    "UPDATE entry SET mark = ?, sealed = X'' WHERE run = ? AND kind = ? AND number = ?",
                    (secrets.token_bytes(16), run, kind, number),
                )
                erased[run] = erased.get(run, 0) + 1
        self._connection.execute("COMMIT")
        return erased

    def _clean(self) -> bool:
        """Write the file anew and empty the write-ahead log: no old byte stays. False where others hold them."""
        try:
            self._connection.execute("VACUUM")
            return not self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        except sqlite3.Error as error:
            if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                return False
            raise vault_failure(self.path, error) from error

    def _seal(self, run: str, placeholder: str, value: str) -> bytes:
        nonce = secrets.token_bytes(_NONCE)
        bound_to = f"{run}\0{placeholder}".encode()
        return nonce + self._aes().encrypt(nonce, value.encode(), bound_to)

    def _unseal(self, run: str, placeholder: str, sealed: bytes) -> str:
        from cryptography.exceptions import InvalidTag

        try:
            bound_to = f"{run}\0{placeholder}".encode()
            return self._aes().decrypt(sealed[:_NONCE], sealed[_NONCE:], bound_to).decode()
        except (InvalidTag, ValueError):
            what = Text(
                f"the entry {placeholder} of run {run} was changed",
                f"运行 {run} 的条目 {placeholder} 被改动过",
            )
            raise vault_damaged(self.path, what) from None

    def _aes(self) -> Any:
        if self._cipher is None:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM

            self._cipher = AESGCM(self._seal_key)
        return self._cipher

    def _open(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = None
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=30)
            self._prepare(connection)
            return connection
        except BaseException as error:
            if connection is not None:
                connection.close()
            if isinstance(error, sqlite3.Error | OSError):
                raise vault_failure(self.path, error) from error
            raise

    def _prepare(self, connection: sqlite3.Connection) -> None:
        check = hmac.digest(self._mark_key, b"check", "sha256")
        connection.execute("BEGIN IMMEDIATE")
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if not tables and not application:
            for statement in _TABLES:
                connection.execute(statement)
            connection.execute("INSERT INTO key_check VALUES (?)", (check,))
        elif application != APPLICATION or connection.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            raise LogError(
                Text(f"{self.path} is not a vault of this version", f"{self.path} 不是本版本的保险库"),
                Text(
                    "name another file for the vault, or upgrade Sopwith",
                    "请为保险库指定其他文件，或升级 Sopwith",
                ),
            )
        else:
            self._check_key(connection, check)
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA temp_store = MEMORY")

    def _check_key(self, connection: sqlite3.Connection, check: bytes) -> None:
        marks = connection.execute("SELECT mark FROM key_check").fetchall()
        whole = len(marks) == 1 and isinstance(marks[0][0], bytes) and len(marks[0][0]) == len(check)
        if whole and hmac.compare_digest(marks[0][0], check):
            return
        if not whole or self._opens_any(connection):
            raise vault_damaged(self.path, Text("the mark of its key is damaged", "密钥标记已损坏"))
        raise not_the_key(self.path, given=self._given)

    def _opens_any(self, connection: sqlite3.Connection) -> bool:
        """Whether the key opens one of a few entries: then it is the right one."""
        rows = connection.execute(
            "SELECT run, kind, number, sealed FROM entry WHERE length(sealed) > 0 LIMIT 8"
        ).fetchall()
        for run, kind, number, sealed in rows:
            with contextlib.suppress(LogDamaged):
                self._unseal(run, f"<{kind}:{number}>", sealed)
                return True
        return False

    def _roll_back(self) -> None:
        with contextlib.suppress(sqlite3.ProgrammingError):  # closed
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")


def _erased(run: str, placeholder: str) -> ValueErased:
    return ValueErased(
        Text(f"{placeholder} of run {run} was erased", f"运行 {run} 的 {placeholder} 已被抹除"),
        Text(
            "what was erased stays erased; start a new run with the value",
            "已抹除的内容无法恢复；请带上该值重新发起运行",
        ),
    )
