"""Which version of a procedure runs: the last line of a file that is only appended to, signed where there is a key."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sopwith.errors import PolicyError, Text, UserError
from sopwith.log.signing_key import PublicKey, SigningKey

_AGAIN = Text("pin it again: sopwith library pin ID@VERSION", "请重新固定：sopwith library pin ID@版本")


class Pin(BaseModel):
    """One line of `pins.jsonl`: the `version` (64 hexadecimal digits) of `procedure` that runs from now on, who says so
    since when (ISO 8601, UTC) and why. `signature` is that of the key `key` over the line without it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    procedure: str
    version: str = Field(pattern="^[0-9a-f]{64}$")
    at: str
    by: str
    why: str | None = None
    key: str | None = None
    signature: str | None = None

    def signed(self, key: SigningKey) -> Pin:
        """The same with the signature of `key`."""
        bare = self.model_copy(update={"key": key.public.id, "signature": None})
        return bare.model_copy(update={"signature": key.sign(bare._said())})

    def hold_to(self, keys: Sequence[PublicKey]) -> None:
        """Raise `PolicyError` where none of the keys proves this pin. Without keys every pin counts."""
        if not keys:
            return
        by_id = {key.id: key for key in keys}
        key = by_id.get(self.key or "")
        if self.signature is None or key is None:
            problem = Text(
                f"the version of '{self.procedure}' that runs is not signed by any of the keys in `library_keys`",
                f"“{self.procedure}”所固定的版本没有由 library_keys 中的密钥签名",
            )
            raise PolicyError(problem, _AGAIN)
        if not key.proves(self._said(), self.signature):
            raise PolicyError(
                Text(
                    f"the pin of '{self.procedure}' was changed: its signature does not hold",
                    f"“{self.procedure}”的固定记录被改动：签名不符",
                ),
                _AGAIN,
            )

    def line(self) -> str:
        """The line of the file, without its end."""
        return json.dumps(self.model_dump(exclude_none=True), ensure_ascii=False, separators=(",", ":"))

    def _said(self) -> bytes:
        told = self.model_dump(exclude_none=True, exclude={"signature"})
        return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()


def read_pins(file: Path) -> list[Pin]:
    """The pins of a file, oldest first; none where it is not there. Raises `UserError` for a line that is no pin."""
    if not file.is_file():
        return []
    found: list[Pin] = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        try:
            found.append(Pin.model_validate_json(line))
        except ValidationError as error:
            raise UserError(
                Text(f"{file}:{number} is not a pin", f"{file}:{number} 不是固定记录"),
                Text("restore the file from its history", "请从历史记录中恢复该文件"),
            ) from error
    return found
