"""`name=value` on a command line."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence

from sopwith.cli.json_text import read_json
from sopwith.errors import Text, UserError
from sopwith.ir.value import Json


def split_pairs(pairs: Sequence[str], example: str = "--inputs order_id=A-1001") -> dict[str, str]:
    """The names with their texts. Raises `UserError`, with an `example`, for what has no `=`."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, mark, text = pair.partition("=")
        if not mark or not name:
            raise UserError(
                Text(f"'{pair}' is not NAME=VALUE", f"“{pair}”不是“名称=值”的形式"),
                Text(f"for example: {example}", f"例如：{example}"),
            )
        found[name.strip()] = text
    return found


def read_pairs(pairs: Sequence[str], example: str = "--set days=2") -> dict[str, Json]:
    """The names with their values: JSON where it is JSON, else text.

    Raises `UserError`, with an `example`, for what has no `=`, and for JSON that cannot be kept.
    """
    return {name: _value(name, text) for name, text in split_pairs(pairs, example).items()}


def read_known(said: Sequence[str]) -> bool | dict[str, bool] | None:
    """Whether writes have acted: `yes` or `no`, or `step=yes` for each. Raises `UserError` for anything else."""
    if not said:
        return None
    if len(said) == 1 and said[0] in _KNOWN:
        return _KNOWN[said[0]]
    found: dict[str, bool] = {}
    for one in said:
        name, _, word = one.partition("=")
        if not name or word not in _KNOWN:
            like = shlex.quote(f"{name or 'notify[3]'}=no")
            raise UserError(
                Text(f"'{one}' says neither yes nor no", f"“{one}”既不是 yes 也不是 no"),
                Text(
                    f"for example: --happened yes, or --happened {like} for one of several",
                    f"例如：--happened yes；多个时逐一写 --happened {like}",
                ),
            )
        found[name] = _KNOWN[word]
    return found


_KNOWN = {"yes": True, "no": False}


def _value(name: str, text: str) -> Json:
    try:
        json.loads(text)
    except RecursionError:
        pass  # it is JSON, and refused as such
    except ValueError:
        return text
    return read_json(text, name)
