"""The control tokens of a model, such as `<|im_end|>`, and how text that holds one stays text.

llama.cpp reads the whole prompt with its control tokens, those of the chat template and those that somebody
has typed into a request alike: `<|im_end|>` in a ticket would end the user's turn, and what stands behind it
would speak in another's name. So a blank that nobody sees is put into each of them.
"""

from __future__ import annotations

import mmap
import re
import struct
from collections.abc import Iterable
from pathlib import Path

_GAP = "\N{ZERO WIDTH SPACE}"
_TOKENS = b"tokenizer.ggml.tokens"
_TYPES = b"tokenizer.ggml.token_type"
_UNKNOWN, _CONTROL, _USER_DEFINED = 2, 3, 4
_LIKE_CONTROL = re.compile(r"<[|｜].*[|｜]>|<(?:start|end)_of_turn>")  # listed as others in some files
_STRING, _ARRAY = 8, 9
_WIDTH = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}


class ControlTokens:
    """Makes plain text of the control tokens in a text, and takes that back in what the model wrote."""

    def __init__(self, tokens: Iterable[str]) -> None:
        longest_first = sorted({token for token in tokens if len(token) > 1}, key=lambda t: (-len(t), t))
        self._armed = _any_of(longest_first)
        self._disarmed = _any_of([_disarmed(token) for token in longest_first])

    def disarm(self, text: str) -> str:
        """`text` without any control token; every reader sees the same."""
        return self._armed.sub(lambda match: _disarmed(match[0]), text)

    def restore(self, text: str) -> str:
        """`text` with the tokens that `disarm` has changed as they were."""
        return self._disarmed.sub(lambda match: match[0].replace(_GAP, "", 1), text)


def read_control_tokens(path: Path) -> ControlTokens:
    """Those of the GGUF file at `path`. Raises `ValueError` when it is no complete one."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            tokens, types = _Header(data).vocabulary()
        except (struct.error, KeyError) as error:
            raise ValueError(f"{path} has no vocabulary that can be read") from error
    return ControlTokens(
        token
        for token, kind in zip(tokens, types, strict=True)
        if kind in (_UNKNOWN, _CONTROL) or (kind == _USER_DEFINED and _LIKE_CONTROL.fullmatch(token))
    )


class _Header:
    """The keys and values at the beginning of a GGUF file, versions 2 and 3."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._at = 8

    def vocabulary(self) -> tuple[list[str], tuple[int, ...]]:
        """The tokens, and the type of each."""
        tokens: list[str] | None = None
        types: tuple[int, ...] | None = None
        _, pairs = self._read("<QQ")
        for _ in range(pairs):
            key = self._bytes()
            (kind,) = self._read("<I")
            if key == _TOKENS:
                tokens = [self._bytes().decode(errors="replace") for _ in range(self._array()[1])]
            elif key == _TYPES:
                types = self._read(f"<{self._array()[1]}i")
            else:
                self._skip(kind)
            if tokens is not None and types is not None:
                return tokens, types
        raise KeyError(_TOKENS)

    def _read(self, form: str) -> tuple[int, ...]:
        values = struct.unpack_from(form, self._data, self._at)
        self._at += struct.calcsize(form)
        return values

    def _bytes(self) -> bytes:
        (length,) = self._read("<Q")
        (text,) = struct.unpack_from(f"{length}s", self._data, self._at)
        self._at += length
        return text

    def _array(self) -> tuple[int, int]:
        kind, count = self._read("<IQ")
        return kind, count

    def _skip(self, kind: int) -> None:
        if kind == _STRING:
            self._bytes()
        elif kind != _ARRAY:
            self._at += _WIDTH[kind]
        else:
            kind, count = self._array()
            if kind in _WIDTH:
                self._at += _WIDTH[kind] * count
            else:
                for _ in range(count):
                    self._skip(kind)


def _disarmed(token: str) -> str:
    return token[0] + _GAP + token[1:]


def _any_of(texts: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, texts)) or r"(?!)")
