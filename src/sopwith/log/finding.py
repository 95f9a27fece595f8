"""What an audit finds: one thing that is not as it was written, and where."""

from __future__ import annotations

from typing import Literal, NamedTuple

from sopwith.errors import Text
from sopwith.ir.value import Json

What = Literal[
    "changed", "removed", "reordered", "inserted", "blob changed", "blob missing", "run changed", "run removed",
    "cut tail", "rewritten", "unsigned", "heads changed", "damaged",
]  # fmt: skip

WORDS: dict[What, Text] = {
    "changed": Text("changed", "被改动"),
    "removed": Text("removed", "被删除"),
    "reordered": Text("reordered", "顺序被调换"),
    "inserted": Text("inserted", "被插入"),
    "blob changed": Text("blob changed", "数据块被改动"),
    "blob missing": Text("blob missing", "数据块缺失"),
    "run changed": Text("run changed", "运行行被改动"),
    "run removed": Text("run removed", "运行被删除"),
    "cut tail": Text("cut tail", "尾部被截断"),
    "rewritten": Text("rewritten", "被整体重写"),
    "unsigned": Text("unsigned", "没有签名"),
    "heads changed": Text("heads changed", "签名文件被改动"),
    "damaged": Text("damaged", "已损坏"),
}
"""Everything that can be found, in words."""


class Finding(NamedTuple):
    """One finding: of which run (empty: of the store or the heads file), at which event (None: no single one).

    `seq` is the number under which an event lies in the store now; for what was removed, the one it had.
    """

    what: What
    run: str
    seq: int | None
    why: Text

    def to_json(self, language: str = "en") -> dict[str, Json]:
        """As the object that `sopwith audit verify --json` prints."""
        return {
            "run": self.run or None,
            "seq": self.seq,
            "what": self.what,
            "why": self.why.in_(language),
        }
