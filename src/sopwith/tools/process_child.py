"""What runs inside the process of `@tool(process=True)`: it imports functions and calls one after the other.

Messages are JSON behind eight bytes of length, over two pipes of their own, so that nothing which a function prints
or reads gets in between.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from sopwith.errors import SopwithError, ValueRefused
from sopwith.ir.tool import ErrorData
from sopwith.ir.value import Json
from sopwith.tools.declaration import ToolError
from sopwith.tools.module import module_of
from sopwith.tools.returned import plain
from sopwith.tools.signature import KEY, Signature, read_signature

_HEAD = 8


def send(pipe: int, message: Json) -> None:
    """Write one message."""
    data = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode(errors="surrogatepass")
    view = memoryview(len(data).to_bytes(_HEAD, "big") + data)
    while view:
        view = view[os.write(pipe, view) :]


def receive(pipe: int) -> Any:
    """Read one message. Raises `EOFError` when the other side has ended."""
    return json.loads(_read(pipe, int.from_bytes(_read(pipe, _HEAD), "big")).decode(errors="surrogatepass"))


def _read(pipe: int, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = os.read(pipe, min(size - len(data), 1 << 20))
        if not part:
            raise EOFError
        data += part
    return bytes(data)


def serve(requests: int, replies: int) -> None:
    """Answer requests until there are no more."""
    for pipe in (requests, replies):
        os.set_inheritable(pipe, False)
    known: dict[tuple[str | None, str, str], tuple[Callable[..., Any], Signature]] = {}
    send(replies, {"ready": True})
    while True:
        try:
            asked = receive(requests)
        except EOFError:
            return
        try:
            at = (asked["file"], asked["module"], asked["name"])
            if at not in known:
                function = getattr(module_of(at[1], at[0]), at[2])
                known[at] = (function, read_signature(function))
        except (Exception, SystemExit) as error:
            send(
                replies, {"unloaded": error.message.en if isinstance(error, SopwithError) else _words(error)}
            )
            continue
        send(replies, {"begins": True})
        if "arguments" in asked:
            outcome = _outcome(*known[at], asked["arguments"], asked["key"])
            with suppress(OSError, ValueError):  # a closed stream is the function's own doing
                print(end="", flush=True)
            send(replies, outcome)


def _outcome(
    function: Callable[..., Any], signature: Signature, arguments: dict[str, Json], key: str
) -> Json:
    try:
        read = signature.parameters.read(arguments)
        if isinstance(read, ErrorData):
            return {"raised": read.message}
        value = function(**read[1], **({KEY: key} if signature.takes_key else {}))
    except ToolError as error:
        return {"refused": [error.code, error.message, error.zh]}
    except BaseException as error:
        return {"raised": _words(error)}
    try:
        return {"value": plain(value)}
    except ValueRefused as error:
        return {"unstorable": error.message.en}


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
