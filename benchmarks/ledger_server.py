"""The ledger as an MCP server over stdio.

    python -S -c "from benchmarks.ledger_server import main; main()" LEDGER ACTOR PIPE INSTANT HOLD OWNER

One server has the ledger at a time: a new one waits until the one before has worked off what it was asked and has
ended, which it does when its client is gone, and not at a SIGTERM. So what it says about a call is final, also when its
client was killed and it was not.
"""

from __future__ import annotations

import fcntl
import json
import signal
import sys
from pathlib import Path
from typing import Any

from benchmarks.ledger import Gate, Ledger

KEY = "sopwith/idempotency-key"
_TEXT = {"type": "string"}
_ENTRY = {"type": "object", "properties": {"entry": {"type": "integer"}}, "required": ["entry"]}
_FOUND = {"type": "object", "properties": {"entry": {"type": ["integer", "null"]}}, "required": ["entry"]}


def _tool(name: str, *arguments: str, output: dict[str, Any] = _ENTRY) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": dict.fromkeys(arguments, _TEXT),
        "required": list(arguments),
        "additionalProperties": False,
    }
    return {
        "name": name,
        "description": f"{name} in the ledger",
        "inputSchema": schema,
        "outputSchema": output,
    }


TOOLS = [
    _tool("balance", "account"),
    _tool("post", "account", "step"),
    _tool("book", "account", "step", "key"),
    _tool("send", "account", "step"),
    _tool("find", "reference", output=_FOUND),
]


def call(ledger: Ledger, name: str, given: dict[str, str], key: str) -> int | None:
    """Perform one tool. `post` has its key from the `_meta` of the call and honours it, `book` as an argument."""
    match name:
        case "balance":
            return ledger.balance(given["account"])
        case "find":
            return ledger.find(given["reference"])
        case "book":
            return ledger.add(given["account"], given["step"], given["key"], once=False)
        case _:
            return ledger.add(given["account"], given["step"], key, once=name == "post")


def answer(ledger: Ledger, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The result of one request."""
    match method:
        case "initialize":
            server = {"name": "ledger", "version": "1"}
            version = params["protocolVersion"]
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call":
            key = (params.get("_meta") or {}).get(KEY, "")
            value = {"entry": call(ledger, params["name"], params["arguments"], key)}
            return {"content": [{"type": "text", "text": json.dumps(value)}], "structuredContent": value}
        case _:
            raise LookupError(method)


def main() -> None:
    """Answer until the client is gone."""
    path, actor, pipe, instant, hold, owner = sys.argv[1:]
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    with Path(f"{path}.lock").open("w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ledger = Ledger(path, actor, Gate(pipe, instant, hold == "hold", int(owner)))
        for line in sys.stdin:
            message = json.loads(line)
            if "id" not in message:
                continue
            reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
            try:
                reply["result"] = answer(ledger, message["method"], message.get("params") or {})
            except LookupError as error:
                reply["error"] = {"code": -32601, "message": f"no method {error}"}
            print(json.dumps(reply), flush=True)
