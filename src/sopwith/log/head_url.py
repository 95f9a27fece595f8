"""Signed chain heads at a URL: whoever listens there keeps them, out of reach of whoever has the store."""

from __future__ import annotations

import asyncio
import urllib.request
from collections.abc import Sequence

from sopwith.log.head import Head, line_of, not_kept
from sopwith.log.signing_key import SigningKey

SECONDS = 5.0
"""So long the URL may take to accept a head."""


class HeadsUrl:
    """Heads that are sent by POST, one JSON object each, as they would stand in a heads file.

    They do not name the line before, since nobody here knows it: the listener must keep what it gets. Written one a
    line, they are a heads file for an audit.
    """

    def __init__(self, url: str, key: SigningKey) -> None:
        self.url = url
        self._key = key

    async def add(self, heads: Sequence[Head]) -> None:
        """As `Heads.add`."""
        try:
            for head in heads:
                await asyncio.to_thread(self._post, line_of(head, "", self._key))
        except (OSError, ValueError) as error:
            raise not_kept(self.url, error) from error

    def _post(self, line: bytes) -> None:
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.url, line, headers, method="POST")
        with urllib.request.urlopen(request, timeout=SECONDS) as reply:
            reply.read(1)
