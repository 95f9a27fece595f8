"""Where alerts go: a logger, a webhook, or anything that can be called with one. None of them can hold a run up."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from urllib.parse import urlsplit

from sopwith.errors import PolicyError, Text

_LOGGER = logging.getLogger("sopwith.alerts")


@dataclass(frozen=True, slots=True)
class Alert:
    """Something a person should look at. `at` is microseconds since 1970 UTC; `message` is redacted."""

    run: str
    task: str
    procedure_id: str
    step: str | None
    at: int
    code: str
    message: str


AlertSink = Callable[[Alert], None]
"""Takes an alert and returns at once. What it raises is logged, and changes nothing in the run."""


def log_alert(alert: Alert) -> None:
    """Write an alert to the logger `sopwith.alerts`, as a warning."""
    _LOGGER.warning("%s: %s (run %s, step %s)", alert.code, alert.message, alert.run, alert.step or "-")


class Webhook:
    """Sends each alert as one JSON object by HTTP POST, from a thread of its own, in order.

    `key` signs the bytes of the body: header `X-Sopwith-Signature: sha256=…` (HMAC). An alert that cannot be delivered
    in `tries` is logged; so is one that comes while `WAITING` others wait. Raises `PolicyError` for what is no URL.
    """

    WAITING = 1000
    LAST_SECONDS = 5.0
    """How long `close` waits for what has not been sent."""

    def __init__(self, url: str, key: str | None = None, *, tries: int = 3, seconds: float = 10.0) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise PolicyError(
                Text(f"alerts: {url!r} is no URL", f"alerts：{url!r} 不是网址"),
                Text("write https://HOST/PATH", "请写 https://主机/路径"),
            )
        self.url = url
        self._key = key.encode() if key else None
        self._tries = tries
        self._seconds = seconds
        self._queue: queue.Queue[Alert | None] = queue.Queue(self.WAITING)
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def __call__(self, alert: Alert) -> None:
        """Put an alert into the queue."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._send_all, name="sopwith alerts", daemon=True)
            self._thread.start()
        try:
            self._queue.put_nowait(alert)
        except queue.Full:
            _LOGGER.error("an alert was not sent, too many wait: %s (run %s)", alert.code, alert.run)

    def close(self) -> None:
        """Send what waits, for `LAST_SECONDS` at most. May be called twice."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        self._closing.set()
        try:
            self._queue.put(None, timeout=self.LAST_SECONDS)
        except queue.Full:
            _LOGGER.error("alerts were not sent: %s does not answer", self.url)
            return
        thread.join(self.LAST_SECONDS)

    def _send_all(self) -> None:
        while (alert := self._queue.get()) is not None:
            for left in reversed(range(self._tries)):
                try:
                    self._send(alert)
                    break
                except OSError as error:
                    if left and not self._closing.wait(0.5 * (self._tries - left)):
                        continue
                    _LOGGER.error("the alert %s of run %s was not sent: %s", alert.code, alert.run, error)
                    break

    def _send(self, alert: Alert) -> None:
        import urllib.request  # many modules, and few engines have a webhook

        data = json.dumps({**asdict(alert), "sent_at": time.time_ns() // 1000}, ensure_ascii=False).encode()
        headers = {"Content-Type": "application/json; charset=utf-8"}
        if self._key is not None:
            headers["X-Sopwith-Signature"] = "sha256=" + hmac.new(self._key, data, hashlib.sha256).hexdigest()
        request = urllib.request.Request(self.url, data, headers, method="POST")
        with urllib.request.urlopen(request, timeout=self._seconds):
            pass
