"""A small MCP server that can be told to misbehave. It needs nothing but the standard library.

`stall` blocks the whole server, `ignore` never answers this one call, `later` is answered after the next `echo`,
`die` is a kill -9 from within, `learn` adds a tool to the list.
The file named by the variable JOURNAL gets a line for each call that arrives.
"""

import json
import os
import pathlib
import signal
import sys

NODE = {
    "type": "object",
    "description": "a node",
    "properties": {
        "name": {"type": "string"},
        "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
    },
    "required": ["name"],
}
NOTHING = {"type": "object", "properties": {}}
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TRANSFER = {
    "type": "object",
    "properties": {"amount": {"type": "integer"}, "lose": {"type": "boolean"}, "key": {"type": "string"}},
    "required": ["amount", "key"],
}
FOUND = {"type": "object", "properties": {"amounts": {"type": "array", "items": {"type": "integer"}}}}


def tool(name, schema=NOTHING, output=None, **more):
    made = {"name": name, "description": f"the tool {name}", "inputSchema": schema, **more}
    return made if output is None else {**made, "outputSchema": output}


TOOLS = [
    tool("echo", {"type": "object", "properties": {"value": {}}, "required": ["value"]}),
    tool("count", output=NUMBER, annotations={"readOnlyHint": True}),
    tool("pid", output=NUMBER),
    tool(
        "tree", {"type": "object", "properties": {"root": {"$ref": "#/$defs/node"}}, "$defs": {"node": NODE}}
    ),
    tool("several"),
    tool("nothing"),
    tool("wrong", output=NUMBER),
    tool("fails"),
    tool("protocol_error"),
    tool("refused"),
    tool("stall"),
    tool("stall_write"),
    tool("ignore"),
    tool("die"),
    tool("die_write"),
    tool("../../etc/x"),
    tool("transfer", TRANSFER),
    tool("find_transfer", {"type": "object", "properties": {"reference": {"type": "string"}}}, FOUND),
    tool("meta"),
    tool("learn", {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}),
    tool("later"),
    {"name": "no_schema", "description": "it has no input schema"},
    tool("bad_schema", {"type": "object", "properties": {"a": {"type": "nonsense"}}}),
    tool("far_schema", {"type": "object", "properties": {"a": {"$ref": "other.json#/a"}}}),
]
TREE = {"type": "object", "properties": {"x": {"$ref": "#/$defs/a"}}}
BAD = [
    tool("good"),
    tool("good"),
    {"name": "silent", "inputSchema": NOTHING},
    tool("huge", {"type": "object", "properties": {"a": {"description": "a" * 2_000_000}}}),
    tool("endless", {**TREE, "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}}}),
    tool("endless_result", output={"type": "object", "$ref": "#"}),
    tool("two words"),
    tool("行"),
    tool("\u001b[2J"),
    tool("l" * 129),
    tool(""),
    {"name": "titled", "title": "It has a title", "inputSchema": NOTHING},
    tool("list", {"type": "array"}),
    tool("last"),
]
PAGE = 100
state = {"count": 0, "transfers": {}, "meta": None, "learned": []}


def text(*parts, **more):
    return {"content": [{"type": "text", "text": part} for part in parts], **more}


def structured(value):
    return text(json.dumps(value), structuredContent=value)


def call(name, arguments):
    match name:
        case "echo":
            value = arguments["value"]
            return text(value if isinstance(value, str) else json.dumps(value))
        case "count":
            state["count"] += 1
            return structured({"n": state["count"]})
        case "pid":
            return structured({"n": os.getpid()})
        case "several":
            image = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
            return {"content": [{"type": "text", "text": "一"}, image]}
        case "nothing":
            return text()
        case "wrong":
            return structured({"n": "three"})
        case "fails":
            return text("no such ticket", "工单不存在", isError=True)
        case "protocol_error":
            raise ValueError("not today")
        case "refused":
            raise KeyError("no such tool")
        case "stall" | "stall_write":
            while True:
                signal.pause()
        case "die" | "die_write":
            print("about to die 再见", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        case "transfer":
            state["transfers"][arguments["key"]] = arguments["amount"]
            return None if arguments.get("lose") else text(f"transferred {arguments['amount']}")
        case "find_transfer":
            found = [amount for key, amount in state["transfers"].items() if key == arguments["reference"]]
            return structured({"amounts": found})
        case "learn":
            state["learned"] = [tool(arguments["name"])]
            if "tells" in sys.argv:
                told = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
                print(json.dumps(told), flush=True)
            return text("learned")
        case "meta":
            return text(json.dumps(state["meta"]))
        case "ignore" | "later":
            return None
        case _:
            return text(name)


def listed(cursor):
    if "bad" in sys.argv:
        return {"tools": BAD}
    if "many" in sys.argv:
        first = int(cursor or 0)
        page = [tool(f"t{number:04}", NUMBER) for number in range(first, first + PAGE)]
        return {"tools": page, **({"nextCursor": str(first + PAGE)} if first + PAGE < 3000 else {})}
    if "round" in sys.argv:
        return {"tools": [tool(f"after_{cursor}")], "nextCursor": "a" if cursor != "a" else "b"}
    if "once" in sys.argv:
        return {"tools": [tool(f"t{number:04}", NUMBER) for number in range(3000)]}
    return {"tools": TOOLS + state["learned"]}


def answer(method, params):
    match method:
        case "initialize":
            version = params["protocolVersion"]
            server = {"name": "odd", "version": "1"}
            tools = {"listChanged": True} if "tells" in sys.argv else {}
            return {"protocolVersion": version, "capabilities": {"tools": tools}, "serverInfo": server}
        case "tools/list":
            return listed(params.get("cursor"))
        case "tools/call":
            if path := os.environ.get("JOURNAL"):
                with pathlib.Path(path).open("a") as journal:
                    journal.write(params["name"] + "\n")
            state["meta"] = params.get("_meta")
            return call(params["name"], params.get("arguments") or {})
        case _:
            raise LookupError(method)


def main():
    if "stubborn" in sys.argv:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            reply["result"] = answer(message["method"], message.get("params") or {})
        except KeyError as error:
            reply["error"] = {"code": -32602, "message": error.args[0]}
        except LookupError as error:
            reply["error"] = {"code": -32601, "message": f"no method {error}"}
        except ValueError as error:
            reply["error"] = {"code": -32000 - 1, "message": str(error)}
        if reply.get("result", True) is not None:
            print(json.dumps(reply), flush=True)
        elif message["params"]["name"] == "later":
            state["later"] = {**reply, "result": text("it came after all")}
        if message["method"] == "tools/call" and message["params"]["name"] == "echo" and "later" in state:
            print(json.dumps(state.pop("later")), flush=True)


main()
