"""An HTTP server with a ledger in SQLite: what it did is what the ledger holds, whatever it answered."""

from __future__ import annotations

import json
import sqlite3
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

TOKEN = "token-5f2c9a"
DOCUMENTS = Path(__file__).with_name("openapi")


class LedgerServer:
    """Serves at `url` until it is closed. `requests` are (method, target, headers, body) as they came."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, dict[str, str], str]] = []
        self.calls = 0
        self.released = threading.Event()
        self.lock = threading.Lock()
        self.ledger = sqlite3.connect(":memory:", check_same_thread=False)
        self.ledger.execute(
            "CREATE TABLE transfer (id INTEGER PRIMARY KEY, key TEXT UNIQUE, target TEXT, amount REAL)"
        )
        ledger = self

        class Handler(_Handler):
            owner = ledger

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def transfers(self) -> list[tuple[str, float]]:
        """What was transferred: to whom, how much."""
        with self.lock:
            return self.ledger.execute("SELECT target, amount FROM transfer ORDER BY id").fetchall()

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self.ledger.close()


class _Handler(BaseHTTPRequestHandler):
    owner: LedgerServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        self.owner.requests.append((self.command, self.path, dict(self.headers), body))
        url = urlsplit(self.path)
        path = unquote(url.path)
        name = _NAMES.get("/" + path.split("/")[1]) or path.removeprefix("/v1/").partition("/")[0]
        getattr(self, f"serve_{name}")(path, parse_qs(url.query), body)

    do_GET = do_PUT = do_POST = do_DELETE = _serve

    def answer(self, status: int, value: Any = None, kind: str = "application/json", **headers: str) -> None:
        if kind == "application/json":
            value = "" if value is None else json.dumps(value)
        data = value if isinstance(value, bytes) else (value or "").encode()
        self.send_response(status)
        if data:
            self.send_header("Content-Type", kind)
        for header, content in headers.items():
            self.send_header(header, content)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def serve_accounts(self, path: str, query: dict[str, list[str]], body: str) -> None:
        account = path.rpartition("/")[2]
        if self.command != "GET":
            self.answer(204)
        elif account == "A-1":
            self.answer(
                200,
                {"number": "A-1", "owner": f"you sent {query['api_key'][0]}", "limit": None, "parent": None},
            )
        elif account == "A-2":
            self.answer(200, {"number": 2, "owner": "x"})
        elif account == "moved":
            self.answer(302, None, Location="/elsewhere?api_key=sesame-123")
        elif account == "picture":
            self.answer(200, b"\x89PNG\xff\xfe", "image/png")
        else:
            problem = {"type": "about:blank", "title": "No such account", "detail": f"there is no {account}"}
            self.answer(404, json.dumps(problem), "application/problem+json")

    def serve_transfers(self, path: str, query: dict[str, list[str]], body: str) -> None:
        if self.command == "GET":
            self.answer(
                200, [{"id": i, "to": to, "amount": n} for i, (to, n) in enumerate(self.owner.transfers())]
            )
            return
        given, key = json.loads(body), self.headers["Idempotency-Key"]
        with self.owner.lock:
            self.owner.ledger.execute(
                "INSERT OR IGNORE INTO transfer (key, target, amount) VALUES (?, ?, ?)",
                (key, given["to"], given["amount"]),
            )
            self.owner.ledger.commit()
        if given["to"] == "cut":
            self.close_connection = True
            self.connection.shutdown(2)
        elif given["to"] == "slow":
            self.owner.released.wait(20)
            self.answer(201, {"id": 1, **given})
        elif given["to"] == "broken":
            self.answer(500, "oops", "text/plain")
        elif given["to"] == "refused":
            self.answer(422, {"message": "too much", "errors": [{"field": "amount"}]})
        else:
            self.answer(201, {"id": 1, **given})

    def serve_notes(self, path: str, query: dict[str, list[str]], body: str) -> None:
        self.answer(200, parse_qs(body)["text"][0], "text/plain; charset=utf-8")

    def serve_search(self, path: str, query: dict[str, list[str]], body: str) -> None:
        self.answer(200, {"found": []})

    def serve_token(self, path: str, query: dict[str, list[str]], body: str) -> None:
        self.answer(200, {"access_token": TOKEN, "token_type": "bearer", "expires_in": 3600})

    def serve_employee(self, path: str, query: dict[str, list[str]], body: str) -> None:
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            self.answer(401, {"error": "invalid_token"})
        else:
            tree = {"名称": "研发", "下级": [{"名称": "平台", "下级": []}]}
            self.answer(200, {"工号": path.rpartition("/")[2], "部门": tree, "年假": 5.5})

    def serve_leave(self, path: str, query: dict[str, list[str]], body: str) -> None:
        self.answer(202) if json.loads(body).get("原因") is None else self.answer(201, {"单号": 7})

    def serve_echo(self, path: str, query: dict[str, list[str]], body: str) -> None:
        self.answer(200, json.loads(query["value"][0]))

    def serve_count(self, path: str, query: dict[str, list[str]], body: str) -> None:
        self.owner.calls += 1
        self.answer(200, {"n": self.owner.calls})

    def serve_fails(self, path: str, query: dict[str, list[str]], body: str) -> None:
        self.answer(409, {"message": "no such ticket\n工单不存在"})

    def serve_stall(self, path: str, query: dict[str, list[str]], body: str) -> None:
        self.owner.released.wait(20)
        self.answer(204)

    serve_stall_write = serve_stall


_NAMES = {"/员工": "employee", "/请假": "leave", "/token": "token"}
