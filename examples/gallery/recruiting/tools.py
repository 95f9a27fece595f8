"""The tools of the screening procedure: openings, resumes and invitations in one SQLite file.

The file is `recruiting.db` in the folder that the environment variable EXAMPLE_DATA names, by default `.sopwith`.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal

from typing_extensions import TypedDict

from sopwith.tools import ToolError, tool

Verdict = Literal["fits", "partly", "unfit"]

_SCHEMA = """
CREATE TABLE opening (id TEXT PRIMARY KEY, title TEXT NOT NULL, needs TEXT NOT NULL);
CREATE TABLE resume (
    candidate TEXT PRIMARY KEY, opening TEXT NOT NULL REFERENCES opening, text TEXT NOT NULL,
    reachable INTEGER NOT NULL, verdict TEXT
);
CREATE TABLE invitation (candidate TEXT PRIMARY KEY REFERENCES resume, opening TEXT NOT NULL);
"""

_ROWS = """
INSERT INTO opening VALUES
    ('J-12', '后端工程师', '三年以上 Python；做过数据库优化'), ('J-15', '财务分析师', '会计或金融专业；熟练使用 SQL');
INSERT INTO resume VALUES
    ('C-1', 'J-12', '六年 Python 后端，主导过订单库的分表和索引优化', 1, NULL),
    ('C-2', 'J-12', '四年 Python 后端，做过报表平台', 1, NULL),
    ('C-3', 'J-12', '平面设计师，三年品牌设计经验', 1, NULL),
    ('C-4', 'J-12', '五年 Python，负责 PostgreSQL 慢查询治理', 0, NULL);
PRAGMA user_version = 1;
"""


class Opening(TypedDict):
    """A position that is open."""

    id: str
    title: str


class Resume(TypedDict):
    """A resume, and what its opening asks for."""

    candidate: str
    needs: str
    text: str


class Shortlist(TypedDict):
    """Who passed the screening, and how many are in doubt."""

    fits: list[str]
    partly: int


class Invitation(TypedDict):
    """An invitation that was sent."""

    candidate: str


@tool(name="hire.openings", effect="read")
def openings() -> list[Opening]:
    """The positions that are open."""
    with _database() as database:
        return [
            {"id": row[0], "title": row[1]}
            for row in database.execute("SELECT id, title FROM opening ORDER BY id")
        ]


@tool(name="hire.resumes", effect="read")
def resumes(opening: str) -> list[Resume]:
    """The resumes that came in for an opening.

    Args:
        opening: The id of the opening.
    """
    with _database() as database:
        rows = database.execute(
            "SELECT candidate, needs, text FROM resume JOIN opening ON opening.id = opening"
            " WHERE opening = ? ORDER BY candidate",
            (opening,),
        )
        return [{"candidate": row[0], "needs": row[1], "text": row[2]} for row in rows]


@tool(name="hire.record", effect="write", idempotent=True)
def record(opening: str, verdicts: list[Verdict]) -> Shortlist:
    """Write the verdicts down, one a resume, in the order of the resumes.

    Args:
        opening: The id of the opening.
        verdicts: How well each resume fits.
    """
    with _database() as database:
        rows = database.execute(
            "SELECT candidate FROM resume WHERE opening = ? ORDER BY candidate", (opening,)
        ).fetchall()
        if len(rows) != len(verdicts):
            raise ToolError("changed", "其间又收到了简历，请重新筛选")
        pairs = [(verdict, row[0]) for verdict, row in zip(verdicts, rows, strict=True)]
        database.executemany("UPDATE resume SET verdict = ? WHERE candidate = ?", pairs)
    return {"fits": [who for verdict, who in pairs if verdict == "fits"], "partly": verdicts.count("partly")}


@tool(name="hire.invite", effect="write", idempotent=True)
def invite(opening: str, candidate: str) -> Invitation:
    """Invite a candidate to an interview. Inviting twice sends one invitation.

    Args:
        opening: The id of the opening.
        candidate: The id of the candidate.
    """
    with _database() as database:
        row = database.execute("SELECT reachable FROM resume WHERE candidate = ?", (candidate,)).fetchone()
        if row is None or not row[0]:
            raise ToolError("unreachable", f"联系不上候选人 {candidate}")
        database.execute("INSERT OR IGNORE INTO invitation VALUES (?, ?)", (candidate, opening))
    return {"candidate": candidate}


@contextmanager
def _database() -> Iterator[sqlite3.Connection]:
    """The applications, as one transaction."""
    path = Path(os.environ.get("EXAMPLE_DATA", ".sopwith")) / "recruiting.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, timeout=10, isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        with database:
            if not database.execute("PRAGMA user_version").fetchone()[0]:
                for statement in (_SCHEMA + _ROWS).split(";"):
                    database.execute(statement)
            yield database
