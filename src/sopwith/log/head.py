"""Signed chain heads, kept outside the store: a chain alone shows neither a cut tail nor a full rewrite.

A heads file has one JSON object a line, and is only appended to. The signature covers the line without it, and
each line holds the digest of the line before, so that no line can be taken out or changed unseen. A line of the
kind `collected` says that a run was removed on purpose (`sopwith gc`).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, cast

from sopwith.errors import LogError, Text, UserError
from sopwith.ir.os_reason import os_reason
from sopwith.ir.value import Json
from sopwith.log.finding import Finding
from sopwith.log.signing_key import PublicKey, SigningKey

try:
    import fcntl
except ImportError:  # not a POSIX system: appends of one line are not shared between processes there
    fcntl = None

FIRST = "0" * 64
"""What stands for the digest of the line before the first."""

_TAIL = 65_536


class Head(NamedTuple):
    """The last hash of a run at some moment: `seq` and `hash` of its event, `at` in µs since 1970 UTC."""

    run: str
    seq: int
    hash: str
    at: int
    what: Literal["head", "collected"] = "head"


class Heads(Protocol):
    """Where heads are kept: a file, or whoever listens at a URL."""

    async def add(self, heads: Sequence[Head]) -> None:
        """Sign and keep heads. Raises `LogError` where that fails."""
        ...


class HeadsFile:
    """Heads in a file. It belongs to one store; many processes may append to it."""

    def __init__(self, path: str | Path, key: SigningKey) -> None:
        self.path = Path(path)
        self._key = key

    async def add(self, heads: Sequence[Head]) -> None:
        """As `Heads.add`; the lines are on the disk when it returns."""
        try:
            await asyncio.to_thread(self._append, heads)
        except OSError as error:
            raise not_kept(str(self.path), error) from error

    def _append(self, heads: Sequence[Head]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as file, _locked(file):
            previous, whole = _last_digest(file)
            lines = b"" if whole else b"\n"
            for head in heads:
                line = line_of(head, previous, self._key)
                previous = sha256(line).hexdigest()
                lines += line + b"\n"
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())


@dataclass(frozen=True, slots=True)
class SignedHeads:
    """The heads of a file whose signatures hold, in the order of its lines, and what is wrong with the others."""

    heads: tuple[Head, ...]
    findings: tuple[Finding, ...]
    signatures: Mapping[tuple[str, int], str]
    """The signature of the head of each run and seq."""


def is_url(place: str | Path) -> bool:
    """Whether heads go to a URL and not to a file."""
    return str(place).startswith(("http://", "https://"))


def read_heads(path: Path, keys: Sequence[PublicKey]) -> SignedHeads:
    """The heads in a file, proved with the public keys. Raises `UserError` where the file cannot be read."""
    try:
        data = path.read_bytes()
    except OSError as error:
        why = os_reason(error)
        raise UserError(
            Text(f"the heads file {path}: {why.en}", f"签名文件 {path}：{why.zh}"),
            Text("name the file that heads are written to", "请指定写入链头的文件"),
        ) from error
    by_id = {key.id: key for key in keys}
    heads: list[Head] = []
    findings: list[Finding] = []
    signatures: dict[tuple[str, int], str] = {}
    expected = FIRST
    for number, line in enumerate(data.removesuffix(b"\n").split(b"\n") if data else [], 1):
        told, fault = _read(line, by_id)
        if told is not None and told["previous"] not in ("", expected):
            fault = _NOT_AFTER if number > 1 else _NOT_FIRST
        if fault is not None:
            findings.append(_fault(path, number, fault))
        if told is not None:
            head = Head(told["run"], told["seq"], told["hash"], told["at"], told["what"])
            heads.append(head)
            signatures[head.run, head.seq] = told["signature"]
        expected = sha256(line).hexdigest()
    return SignedHeads(tuple(heads), tuple(findings), signatures)


def not_kept(place: str, error: Exception) -> LogError:
    """The error for heads that cannot be written to `place`."""
    why = os_reason(error) if isinstance(error, OSError) else Text(str(error), str(error))
    return LogError(
        Text(f"the chain head cannot be written to {place}: {why.en}", f"无法将链头写入 {place}：{why.zh}"),
        Text(
            "the run itself is stored; sign it later with `sopwith audit heads`",
            "运行本身已保存；稍后可用 sopwith audit heads 补签",
        ),
    )


def line_of(head: Head, previous: str, key: SigningKey) -> bytes:
    """A signed line, without its end. `previous` is the digest of the line before, empty where nobody knows it."""
    told: dict[str, Json] = {
        "what": head.what, "run": head.run, "seq": head.seq, "hash": head.hash, "at": head.at,
        "previous": previous, "key": key.public.id,
    }  # fmt: skip
    return _compact({**told, "signature": key.sign(_compact(told))})


def _compact(told: Mapping[str, Any]) -> bytes:
    return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()


def _read(line: bytes, keys: Mapping[str, PublicKey]) -> tuple[dict[str, Any] | None, Text | None]:
    """What a line says, where its signature holds; else what is wrong with it."""
    try:
        told: Any = json.loads(line)
    except ValueError:
        told = None
    if not isinstance(told, dict):
        return None, Text("is not a head", "不是链头记录")
    said = cast("dict[str, Any]", told)
    key = keys.get(str(said.get("key")))
    if key is None:
        return None, Text(
            f"is signed with another key ({said.get('key')})", f"由其他密钥签名（{said.get('key')}）"
        )
    signed = {name: value for name, value in said.items() if name != "signature"}
    if not key.proves(_compact(signed), str(said.get("signature"))):
        return None, Text("was changed: its signature does not hold", "被改动：签名不符")
    return said, None


def _fault(path: Path, number: int, fault: Text) -> Finding:
    why = Text(f"{path}: line {number} {fault.en}", f"{path}：第 {number} 行{fault.zh}")
    return Finding("heads changed", "", None, why)


_NOT_AFTER = Text(
    "does not follow the line before: one was removed, added, moved or changed",
    "与上一行不相接：有行被删除、添加、移动或改动",
)
_NOT_FIRST = Text(
    "is not the first that was written: the beginning was cut off", "不是最初写入的第一行：开头被截断"
)


def _last_digest(file: Any) -> tuple[str, bool]:
    """The digest of the last line, and whether that line is complete."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _TAIL))
    tail: bytes = file.read()
    if not tail:
        return FIRST, True
    line = tail.removesuffix(b"\n").rpartition(b"\n")[2]
    return sha256(line).hexdigest(), tail.endswith(b"\n")


@contextlib.contextmanager
def _locked(file: Any) -> Generator[None]:
    if fcntl is None:
        yield
        return
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)
