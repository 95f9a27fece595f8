"""An MCP server that stalls in a call, and ignores both SIGTERM and the end of its input. Nothing but the standard
library."""

from __future__ import annotations

import json
import signal
import sys
import time
from typing import Any

SAYS = {"stall": "Comes back after half a minute.", "next": "Comes back at once."}
TOOLS = [
    {"name": name, "description": said, "inputSchema": {"type": "object", "properties": {}}}
    for name, said in SAYS.items()
]


def answer(method: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """The result of a request."""
    match method:
        case "initialize":
            info = {"name": "stuck", "version": "1"}
            version = parameters["protocolVersion"]
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call":
            if parameters["name"] == "stall":
                time.sleep(30)
            return {"content": [{"type": "text", "text": "next"}]}
        case _:
            raise LookupError(method)


def main() -> None:
    """Answer line by line."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            reply["result"] = answer(message["method"], message.get("params") or {})
        except LookupError as error:
            reply["error"] = {"code": -32601, "message": f"no method {error}"}
        print(json.dumps(reply), flush=True)
    time.sleep(30)


main()
