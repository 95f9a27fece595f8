"""A library of procedures: a folder that people share, every version under its hash, and a pin on the one that runs.

library/
  leave_request/
    3f2a91bc04d7.yaml    a version: canonical YAML, named by the beginning of its content hash
    8810c4aa1e93.yaml
    pins.jsonl           which one runs: the last line
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sopwith.errors import Text, UserError
from sopwith.ir.os_reason import os_reason
from sopwith.ir.procedure import Procedure
from sopwith.lang.document import Document
from sopwith.lang.read import read
from sopwith.lang.yaml import format_yaml, write_yaml
from sopwith.library.pin import Pin, read_pins
from sopwith.log.signing_key import PublicKey, SigningKey

PINS = "pins.jsonl"
SHOWN = 12
"""So many digits of a hash name a version."""
_FILE = re.compile(r"[0-9a-f]{12}\.yaml")
_REFERENCE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:@([0-9a-f]{1,64}))?")


@dataclass(frozen=True, slots=True)
class Version:
    """One version in the library: `name` is the beginning of its hash."""

    procedure: str
    name: str
    file: Path


@dataclass(frozen=True, slots=True)
class Reference:
    """What people write: `ID` for the version that runs, `ID@3f2a` for the one whose hash begins so."""

    procedure: str
    version: str | None = None

    @classmethod
    def parse(cls, text: str) -> Reference:
        """Raises `UserError` for what is none."""
        match = _REFERENCE.fullmatch(text)
        if match is None:
            raise UserError(
                Text(f"'{text}' names nothing in a library", f"“{text}”不是流程库中的名称"),
                Text("write ID, or ID@VERSION", "请写 ID 或 ID@版本"),
            )
        return cls(match[1], match[2])


class ProcedureLibrary:
    """The library in `folder`. With `keys` only pins count that one of them proves. Whatever is read is held to its
    hash."""

    def __init__(self, folder: str | Path, keys: Sequence[PublicKey] = ()) -> None:
        self.folder = Path(folder)
        self._keys = tuple(keys)

    def ids(self) -> list[str]:
        """The procedures, by id."""
        if not self.folder.is_dir():
            return []
        return sorted(place.name for place in self.folder.iterdir() if any(self._files(place)))

    def versions(self, procedure: str) -> list[Version]:
        """The versions of a procedure: those that were pinned in the order in which they first were, then the others.

        Raises `UserError` where there is no such procedure.
        """
        there = {file.stem: file for file in self._files(self.folder / procedure)}
        if not there:
            raise self._unknown(procedure)
        pinned = (pin.version[:SHOWN] for pin in self.pins(procedure))
        order = dict.fromkeys([*(name for name in pinned if name in there), *sorted(there)])
        return [Version(procedure, name, there[name]) for name in order]

    def pins(self, procedure: str) -> list[Pin]:
        """All pins of a procedure, oldest first; the last one counts."""
        return read_pins(self.folder / procedure / PINS)

    def pinned(self, procedure: str) -> Pin | None:
        """The pin that counts, or None. Raises `PolicyError` where it is not proved, `UserError` where it is for
        another procedure."""
        pins = self.pins(procedure)
        if not pins:
            return None
        if pins[-1].procedure != procedure:
            raise UserError(
                Text(
                    f"the pin of '{procedure}' is one of '{pins[-1].procedure}'",
                    f"“{procedure}”的固定记录属于“{pins[-1].procedure}”",
                ),
                _pin_hint(procedure),
            )
        pins[-1].hold_to(self._keys)
        return pins[-1]

    def read(self, reference: Reference) -> Document:
        """A version, held to its hash; without one in the reference, that which is pinned.

        Raises `UserError` where there is none or it is another one, `PolicyError` where its pin is not proved.
        """
        pin = self.pinned(reference.procedure)
        if reference.version is None:
            if pin is None:
                raise self._not_pinned(reference.procedure)
            return self._read(self._version(reference.procedure, pin.version), pin.version)
        version = self._version(reference.procedure, reference.version)
        document = self._read(version, version.name)
        if self._keys and (pin is None or document.procedure.digest() != pin.version):
            raise UserError(
                Text(
                    f"only the pinned version of '{reference.procedure}' is signed",
                    f"“{reference.procedure}”只有被固定的版本经过签名",
                ),
                _pin_hint(reference.procedure),
            )
        return document

    def version(self, reference: Reference) -> Version:
        """The version that a reference means. Raises `UserError` and `PolicyError` as `read`."""
        wanted = reference.version
        if wanted is None:
            pin = self.pinned(reference.procedure)
            if pin is None:
                raise self._not_pinned(reference.procedure)
            wanted = pin.version
        return self._version(reference.procedure, wanted)

    def pinned_ids(self) -> list[str]:
        """The procedures of which a version is pinned."""
        return [name for name in self.ids() if (self.folder / name / PINS).is_file()]

    def holds(self, file: Path) -> bool:
        """Whether a file is one of the library."""
        return file.resolve().is_relative_to(self.folder.resolve())

    def add(self, document: Document) -> tuple[Version, bool]:
        """Keep a procedure as a version of its own; whether it is new. The comments of YAML are kept.

        Raises `UserError` where it cannot be written.
        """
        procedure = document.procedure
        hash_ = procedure.digest()
        version = Version(procedure.id, hash_[:SHOWN], self.folder / procedure.id / f"{hash_[:SHOWN]}.yaml")
        if version.file.exists():
            self._read(version, hash_)
            return version, False
        text = write_yaml(procedure)
        if document.form == "yaml" and document.text:
            text = format_yaml(document.text, document.file)
        self._write(version.file, text, "x")
        return version, True

    def pin(
        self, versions: Iterable[Version], by: str, why: str | None = None, key: SigningKey | None = None
    ) -> list[Pin]:
        """Let these versions run from now on, as `by` says.

        Raises `UserError` where one calls a procedure that is neither pinned nor among them: then nothing is changed.
        """
        read = {version.procedure: self._read(version, version.name).procedure for version in versions}
        for procedure in read.values():
            self._hold_to_callees(procedure, read)
        at = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        made = [
            Pin(procedure=name, version=procedure.digest(), at=at, by=by, why=why)
            for name, procedure in read.items()
        ]
        made = made if key is None else [pin.signed(key) for pin in made]
        for pin in made:
            self._write(self.folder / pin.procedure / PINS, pin.line() + "\n", "a")
        return made

    def _hold_to_callees(self, procedure: Procedure, others: Mapping[str, Procedure]) -> None:
        missing = [
            name
            for name in procedure.callees()
            if name != procedure.id and name not in others and not self.pins(name)
        ]
        if missing:
            listed = ", ".join(missing)
            raise UserError(
                Text(
                    f"'{procedure.id}' calls what has no pinned version in the library: {listed}",
                    f"“{procedure.id}”调用了流程库中没有固定版本的流程：{listed}",
                ),
                Text("add and pin it together with these", "请把它们一并加入并固定"),
            )

    def _files(self, place: Path) -> Iterator[Path]:
        if place.is_dir():
            yield from (file for file in sorted(place.iterdir()) if _FILE.fullmatch(file.name))

    def _version(self, procedure: str, wanted: str) -> Version:
        found = [
            each
            for each in self.versions(procedure)
            if each.name.startswith(wanted[:SHOWN]) or wanted.startswith(each.name)
        ]
        if len(found) == 1:
            return found[0]
        listed = ", ".join(each.name for each in found or self.versions(procedure))
        raise UserError(
            Text(
                f"{'several versions' if found else 'no version'} of '{procedure}' begin with {wanted[:SHOWN]}",
                f"{'有多个' if found else '没有'}“{procedure}”的版本以 {wanted[:SHOWN]} 开头",
            ),
            Text(f"versions: {listed}", f"版本：{listed}"),
        )

    def _read(self, version: Version, hash_: str) -> Document:
        document = read(version.file)
        found = document.procedure.digest()
        if document.procedure.id != version.procedure or not found.startswith(hash_):
            raise UserError(
                Text(
                    f"{version.file} was changed: it is {document.procedure.id}@{found[:SHOWN]}",
                    f"{version.file} 被改动：它现在是 {document.procedure.id}@{found[:SHOWN]}",
                ),
                Text(
                    "restore it; a change is a version of its own: sopwith library add FILE",
                    "请恢复该文件；改动应作为新版本加入：sopwith library add 文件",
                ),
            )
        return document

    def _write(self, file: Path, text: str, mode: str) -> None:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open(mode, encoding="utf-8", newline="") as opened:
                opened.write(text)
        except OSError as error:
            why = os_reason(error)
            raise UserError(
                Text(f"{file} cannot be written: {why.en}", f"无法写入 {file}：{why.zh}")
            ) from error

    def _unknown(self, procedure: str) -> UserError:
        listed = ", ".join(self.ids())
        return UserError(
            Text(
                f"there is no procedure '{procedure}' in the library {self.folder}",
                f"流程库 {self.folder} 中没有流程“{procedure}”",
            ),
            Text(f"there are: {listed}", f"已有：{listed}")
            if listed
            else Text("add one: sopwith library add FILE", "请加入：sopwith library add 文件"),
        )

    def _not_pinned(self, procedure: str) -> UserError:
        if not any(self._files(self.folder / procedure)):
            return self._unknown(procedure)
        return UserError(
            Text(f"no version of '{procedure}' is pinned", f"“{procedure}”没有固定任何版本"),
            _pin_hint(procedure),
        )


def _pin_hint(procedure: str) -> Text:
    return Text(
        f"say which one runs: sopwith library pin {procedure}@VERSION",
        f"请指定运行哪个版本：sopwith library pin {procedure}@版本",
    )
