"""Where an MCP server is: a command that is run, or an address that is reached. Nothing here imports the SDK."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from sopwith.errors import Text


@dataclass(frozen=True, slots=True)
class Program:
    """A server that is run as a child process. `env` is added to the few variables that servers inherit."""

    name: str
    command: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    cwd: str | None = None
    start_seconds: float = 30.0
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def title(self) -> str:
        """How messages name where it is."""
        return self.command

    def program(self) -> str:
        """What `command` names. Raises `FileNotFoundError` or `PermissionError`, as running it would."""
        if os.sep in self.command:
            found = Path(self.cwd or ".", self.command)
            problem = None if os.access(found, os.X_OK) else errno.EACCES if found.exists() else errno.ENOENT
        else:
            known = shutil.which(self.command, path=self.env.get("PATH"))
            problem = None if known else errno.ENOENT
        if problem:
            raise OSError(problem, os.strerror(problem), self.command)
        return self.command

    def masked(self, text: str) -> str:
        """A text of the server, or about it, without its secrets."""
        return _masked(text, self.secrets)

    def not_started(self, cause: BaseException, status: int | None) -> tuple[Text, Text]:
        """What `cause` means, and the remedy."""
        if isinstance(cause, FileNotFoundError | NotADirectoryError | PermissionError):
            return (
                Text(f"cannot be run: {cause}", f"无法运行：{cause}"),
                Text("Install the command, or correct its path.", "请安装该命令，或改正它的路径。"),
            )
        if isinstance(cause, TimeoutError):
            return _silent(self.start_seconds), Text(
                "Run the command by hand to see what it waits for.", "请手动运行该命令，看看它在等什么。"
            )
        return (
            Text(f"ended during its start: {cause}", f"在启动时退出：{cause}"),
            Text("Run the command by hand to see its message.", "请手动运行该命令，查看它的报错。"),
        )


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server that is reached over streamable HTTP. `headers` go with every request, and into no message."""

    name: str
    url: str = field(repr=False)
    headers: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    start_seconds: float = 30.0
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def title(self) -> str:
        """How messages name where it is: without what an address may hold of secrets."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def masked(self, text: str) -> str:
        """A text of the server, or about it, without its secrets."""
        return _masked(text, self.secrets)

    def not_started(self, cause: BaseException, status: int | None) -> tuple[Text, Text]:
        """What `cause` means, and the remedy; `status` is that of the last answer where it was an error."""
        if isinstance(cause, TimeoutError):
            return _silent(self.start_seconds), Text(
                "See whether the server is up, or raise start_seconds.",
                "请确认服务器在运行，或调大 start_seconds。",
            )
        if status in (401, 403):
            return (
                Text(f"refuses access (HTTP {status})", f"拒绝访问（HTTP {status}）"),
                Text(
                    'Give the entry what it wants, e.g. "headers": {"Authorization": "Bearer ${TOKEN}"}.',
                    '请在该条目中提供凭据，例如 "headers": {"Authorization": "Bearer ${TOKEN}"}。',
                ),
            )
        if status is not None:
            return (
                Text(f"answers with HTTP {status}", f"返回 HTTP {status}"),
                Text(
                    "See whether url is the address of the MCP endpoint, often …/mcp.",
                    "请确认 url 是 MCP 端点的地址，通常以 /mcp 结尾。",
                ),
            )
        what = f"{type(cause).__name__}: {cause}" if str(cause) else type(cause).__name__
        return (
            Text(f"cannot be reached: {what}", f"无法连接：{what}"),
            Text("Start the server, or correct url.", "请启动该服务器，或改正 url。"),
        )


Server = Program | Endpoint


def _masked(text: str, secrets: Iterable[str]) -> str:
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "…")
    return text


def _silent(seconds: float) -> Text:
    return Text(f"did not answer within {seconds:g} s", f"在 {seconds:g} 秒内没有应答")
