"""Files over HTTP, as a model hub has them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def serve_files(files: dict[str, bytes], requests: list[str] | None = None) -> Iterator[str]:
    """The URL of `files` (by path) while the block runs; `requests` collects the paths that were asked."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if requests is not None:
                requests.append(self.path)
            data = files.get(self.path)
            self.send_response(404 if data is None else 200)
            self.send_header("Content-Length", str(len(data or b"")))
            self.end_headers()
            self.wfile.write(data or b"")

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
