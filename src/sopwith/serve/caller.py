"""Who may call a server: anybody on this machine, or whoever sends its token."""

from __future__ import annotations

TOKEN = "SOPWITH_SERVE_TOKEN"
"""The environment variable with the token that callers must send."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Hosts that only this machine can reach."""
