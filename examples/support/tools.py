"""The tools of the support desk: a knowledge base that is searched, and tickets that are really written.

Everything lives in one SQLite file. `tools(path)` gives the tools over a file of your choice; the tools of
this module use the file that `SUPPORT_DB` names, or one in the folder for temporary files.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from reading import Language, Rule, for_a_person, language, question
from terms import terms
from typing_extensions import TypedDict

from sopwith.tools import ToolError, tool, tools_of

Category = Literal["account", "usage", "fault", "other"]
Topic = Literal["sign-in 账号", "how to 使用", "broken 故障", "money 费用"]
KnownTopic = Literal["sign-in 账号", "how to 使用", "broken 故障", "money 费用", "unknown"]
Status = Literal["open", "answered", "escalated"]


class Opened(TypedDict):
    """A ticket that was taken in: the customer's words in short, and what is known about it.

    `topic` is what the ticket is about, where the rules of the desk say so.
    """

    ticket_id: str
    language: Language
    empty: bool
    question: str
    topic: KnownTopic
    for_a_person: bool
    reason: str


class Alike(TypedDict):
    """What the knowledge base says a question is about, whether or not an article answers it.

    `topic` and `title` are those of the most similar article, and `words` how many words, or pairs of Chinese
    characters, the two share.
    """

    topic: KnownTopic
    title: str
    words: int


class Hit(TypedDict):
    """One article that was found; `score` is the share of the query, 0 to 1, that it has."""

    id: str
    title: str
    score: float


class Hits(TypedDict):
    """What a search found, best first; possibly nothing."""

    items: list[Hit]


class Article(TypedDict):
    """An article of the knowledge base; each of its steps begins with its number, `numbers` are those there are."""

    id: str
    title: str
    steps: list[str]
    numbers: list[int]


class Checked(TypedDict):
    """The verdict on a draft, and the reply that it makes."""

    ok: bool
    problems: list[str]
    reply: str


class Ticket(TypedDict):
    """A ticket after it was written to."""

    ticket_id: str
    status: Status
    category: Category


TOPICS: dict[Category, Topic] = {
    "account": "sign-in 账号",
    "usage": "how to 使用",
    "fault": "broken 故障",
    "other": "money 费用",
}
"""What each category is called where a small model chooses: words that say what it is about."""

RELEVANT = 0.30
"""The least score of a hit. Worked tickets have 0.36 and more, questions about other things mostly none."""

_CATEGORY_WEIGHT = 1.15
_SCHEMA = """
CREATE TABLE articles (id TEXT PRIMARY KEY, lang TEXT, category TEXT, title TEXT, symptoms TEXT, steps TEXT);
CREATE VIRTUAL TABLE found USING fts5(id UNINDEXED, title, symptoms, steps);
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(found, row);
CREATE TABLE tickets (
  id TEXT PRIMARY KEY, user TEXT, channel TEXT, text TEXT, lang TEXT,
  status TEXT DEFAULT 'open', category TEXT DEFAULT 'other', reply TEXT, article TEXT, reason TEXT
);
CREATE TABLE written (key TEXT PRIMARY KEY, result TEXT);
"""
_WEIGHTS = "0, 3, 3, 1"
_OPENING = {
    "zh": "您好，关于《{title}》，请按下面几步操作：",
    "en": "Hello, about this question ({title}), please take these steps:",
}
_CITATION = {
    "zh": "详见知识库文章 {id}《{title}》。",
    "en": "This is from article {id}, {title}.",
}


@dataclass(frozen=True, slots=True)
class _Near:
    """An article that shares words with a query: how it ranks, which share of the query it has, and of how many
    `asked` words how many."""

    id: str
    category: Category
    title: str
    rank: float
    score: float
    words: int
    asked: int


class Desk:
    """The desk over one SQLite file: the knowledge base and the tickets.

    `path` is made when it is first used; None stands for `SUPPORT_DB`, or a file among the temporary ones.
    Every method opens the file and closes it again, so that a desk may be used from any thread or process.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self._path = path

    @property
    def path(self) -> Path:
        """The SQLite file."""
        named = self._path or os.environ.get("SUPPORT_DB")
        return Path(named) if named else Path(tempfile.gettempdir()) / "support-desk.sqlite3"

    @tool(name="kb.search")
    def search(self, query: str, category: Category = "other", limit: int = 3) -> Hits:
        """Search the knowledge base, in the language of the query, for articles that answer a customer.

        Args:
            query: The customer's words.
            category: What the question is about; articles of this category come first when in doubt.
            limit: How many articles at most.
        """
        ranked: list[tuple[float, Hit]] = []
        for row in self._near(query) if limit > 0 else []:
            if row.score >= RELEVANT and row.words >= min(2, row.asked):
                rank = row.rank * (_CATEGORY_WEIGHT if row.category == category else 1)
                ranked.append((-rank, {"id": row.id, "title": row.title, "score": round(row.score, 3)}))
        ranked.sort(key=lambda pair: (pair[0], pair[1]["id"]))
        return {"items": [hit for _, hit in ranked[:limit]]}

    @tool(name="kb.compare")
    def compare(self, question: str) -> Alike:
        """Say what a question is about, going by the articles that are most like it.

        Args:
            question: The customer's words.
        """
        near = self._near(question)
        if not near:
            return {"topic": "unknown", "title": "", "words": 0}
        best = near[0]
        return {"topic": TOPICS[best.category], "title": best.title, "words": best.words}

    @tool(name="kb.article")
    def article(self, id: str) -> Article:
        """Read one article of the knowledge base.

        Args:
            id: Its id, such as KB-101.
        """
        with self._open() as db:
            row = db.execute("SELECT * FROM articles WHERE id = ?", (id,)).fetchone()
        if row is None:
            raise ToolError("unknown_article", f"there is no article {id}")
        steps = _numbered(json.loads(row["steps"]))
        numbers = list(range(1, len(steps) + 1))
        return {"id": row["id"], "title": row["title"], "steps": steps, "numbers": numbers}

    @tool(name="tickets.open", effect="write", idempotent=True)
    def open_ticket(self, text: str, user: str, channel: str = "web", *, idempotency_key: str) -> Opened:
        """Take in a ticket.

        Args:
            text: What the customer wrote.
            user: Who the customer is.
            channel: How it came in.
        """
        asked, lang, rule = question(text), language(text), for_a_person(text)
        with self._once(idempotency_key) as (db, done):
            if done is not None:
                return done
            number: int = db.execute("SELECT count(*) FROM tickets").fetchone()[0] + 1
            opened: Opened = {
                "ticket_id": f"T-{number:05d}",
                "language": lang,
                "empty": not text.strip(),
                "question": asked,
                "topic": _known_topic(text, rule),
                "for_a_person": rule is not None,
                "reason": rule.reason[lang] if rule else "",
            }
            db.execute(
                "INSERT INTO tickets (id, user, channel, text, lang) VALUES (?, ?, ?, ?, ?)",
                (opened["ticket_id"], user, channel, text, lang),
            )
            return _keep(db, idempotency_key, opened)

    @tool(name="tickets.classify", effect="write", idempotent=True)
    def classify(self, ticket_id: str, topic: Topic, *, idempotency_key: str) -> Ticket:
        """Say what a ticket is about.

        Args:
            ticket_id: The ticket.
            topic: What it is about.
        """
        category = next(category for category, name in TOPICS.items() if name == topic)
        return self._write(ticket_id, idempotency_key, ("open", "answered", "escalated"), category=category)

    @tool(name="tickets.reply", effect="write", idempotent=True)
    def reply(self, ticket_id: str, text: str, article: str, *, idempotency_key: str) -> Ticket:
        """Send the customer a reply.

        Args:
            ticket_id: The ticket.
            text: The reply.
            article: The id of the article that it is from.
        """
        if not text.strip():
            raise ToolError("empty_reply", "a reply must say something")
        return self._write(
            ticket_id, idempotency_key, ("open",), status="answered", reply=text, article=article
        )

    @tool(name="tickets.escalate", effect="write", idempotent=True)
    def escalate(self, ticket_id: str, reason: str, *, idempotency_key: str) -> Ticket:
        """Give a ticket to a person of the support team.

        Args:
            ticket_id: The ticket.
            reason: Why, for the person who takes it.
        """
        return self._write(ticket_id, idempotency_key, ("open",), status="escalated", reason=reason)

    @tool(name="desk.check_draft")
    def check_draft(
        self, opening: str, steps: list[int], article: str, hits: list[str], language: Language
    ) -> Checked:
        """Check a draft against what was found, and put the reply together.

        An opening that has nothing to do with the article is replaced by the standard one.

        Args:
            opening: The sentence that the reply begins with.
            steps: The numbers of the article's steps that the customer is to carry out, from 1.
            article: The id of the article that the reply cites.
            hits: The ids of the articles that were found for this ticket.
            language: The language of the ticket.
        """
        with self._open() as db:
            row = db.execute("SELECT * FROM articles WHERE id = ?", (article,)).fetchone()
        known: list[str] = json.loads(row["steps"]) if row else []
        numbers = sorted({n for n in steps if 1 <= n <= len(known)})
        lines = _numbered([known[n - 1] for n in numbers])
        first = opening.strip()
        if row and not set(terms(first)) & set(terms(" ".join((row["title"], row["symptoms"], *known)))):
            first = _OPENING[row["lang"]].format(title=row["title"])
        cite = _CITATION[language].format(id=article, title=row["title"]) if row else ""
        problems = [
            problem
            for problem, found in (
                (f"the article {article} was not among those found", row is None or article not in hits),
                ("there is no step to carry out", not numbers),
                ("there is a step that the article does not have", set(numbers) != set(steps)),
                (
                    f"the reply is not in {language}, as the ticket is",
                    not _written_in(language, opening, row),
                ),
                ("the opening says nothing", not opening.strip()),
            )
            if found
        ]
        return {"ok": not problems, "problems": problems, "reply": "\n".join((first, *lines, cite))}

    def _near(self, query: str) -> list[_Near]:
        """The articles in the language of `query` that share a word with it, best first."""
        asked = list(dict.fromkeys(terms(query)))
        if not asked:
            return []
        with self._open() as db:
            weights = _term_weights(db, asked)
            rows = db.execute(
                f"SELECT a.id, a.category, a.title, -bm25(found, {_WEIGHTS}) AS rank, "
                "f.title || ' ' || f.symptoms || ' ' || f.steps AS has "
                "FROM found f JOIN articles a USING (id) WHERE found MATCH ? AND a.lang = ? ORDER BY rank DESC, id",
                (" OR ".join(f'"{term}"' for term in asked), language(query)),
            ).fetchall()
        near: list[_Near] = []
        for row in rows:
            shared = weights.keys() & set(row["has"].split())
            score = sum(weights[term] for term in shared) / sum(weights.values())
            near.append(
                _Near(row["id"], row["category"], row["title"], row["rank"], score, len(shared), len(asked))
            )
        return near

    def _write(self, ticket_id: str, key: str, allowed: tuple[Status, ...], **columns: str) -> Ticket:
        with self._once(key) as (db, done):
            if done is not None:
                return done
            if (status := _ticket(db, ticket_id)["status"]) not in allowed:
                raise ToolError("ticket_closed", f"the ticket {ticket_id} is {status} already")
            names = ", ".join(f"{name} = ?" for name in columns)
            db.execute(f"UPDATE tickets SET {names} WHERE id = ?", (*columns.values(), ticket_id))
            row = _ticket(db, ticket_id)
            written: Ticket = {"ticket_id": ticket_id, "status": row["status"], "category": row["category"]}
            return _keep(db, key, written)

    @contextmanager
    def _once(self, key: str) -> Generator[tuple[sqlite3.Connection, Any]]:
        """The open file, and the result of the write that was made under this key already, or None."""
        with self._open() as db:
            row = db.execute("SELECT result FROM written WHERE key = ?", (key,)).fetchone()
            yield db, None if row is None else json.loads(row["result"])

    @contextmanager
    def _open(self) -> Generator[sqlite3.Connection]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(self.path, timeout=10, isolation_level=None)
        try:
            db.row_factory = sqlite3.Row
            db.execute("BEGIN IMMEDIATE")
            if not db.execute("PRAGMA user_version").fetchone()[0]:
                _create(db)
            yield db
            db.execute("COMMIT")
        finally:
            db.close()  # what was not committed is undone


def _known_topic(text: str, rule: Rule | None) -> KnownTopic:
    """What a ticket is about by the rules alone: an empty one asks nothing, and some reasons name their topic."""
    category = rule.category if rule is not None else None if text.strip() else "other"
    return "unknown" if category is None else cast("KnownTopic", TOPICS[cast("Category", category)])


def _create(db: sqlite3.Connection) -> None:
    """Create the tables, and load and index the articles."""
    for statement in filter(str.strip, _SCHEMA.split(";")):
        db.execute(statement)
    for path in sorted(Path(__file__).with_name("knowledge").glob("articles.*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            a = json.loads(line)
            told = [json.dumps(a[name], ensure_ascii=False) for name in ("symptoms", "steps")]
            row = (a["id"], a["lang"], a["category"], a["title"], *told)
            db.execute("INSERT INTO articles VALUES (?, ?, ?, ?, ?, ?)", row)
            texts = (a["title"], "\n".join(a["symptoms"]), "\n".join(a["steps"]))
            indexed = (" ".join(terms(text)) for text in texts)
            db.execute("INSERT INTO found VALUES (?, ?, ?, ?)", (a["id"], *indexed))
    db.execute("PRAGMA user_version = 1")


def _numbered(steps: list[str]) -> list[str]:
    return [f"{i}. {step}" for i, step in enumerate(steps, 1)]


def _term_weights(db: sqlite3.Connection, asked: list[str]) -> dict[str, float]:
    """How much each term tells: the logarithm of how rare it is among the articles.

    A term that is in no article counts as little as a common one: mostly it is a detail of the story, or two
    characters of two words.
    """
    total: int = db.execute("SELECT count(*) FROM articles").fetchone()[0]
    marks = ", ".join("?" * len(asked))
    counts = dict(db.execute(f"SELECT term, doc FROM vocabulary WHERE term IN ({marks})", asked).fetchall())
    return {term: math.log(1 + total / (counts.get(term, total / 8) + 0.5)) for term in asked}


def _ticket(db: sqlite3.Connection, ticket_id: str) -> sqlite3.Row:
    row = db.execute("SELECT * FROM tickets WHERE id = ?", (ticket_id,)).fetchone()
    if row is None:
        raise ToolError("unknown_ticket", f"there is no ticket {ticket_id}")
    return row


def _keep(db: sqlite3.Connection, key: str, result: Any) -> Any:
    db.execute("INSERT INTO written VALUES (?, ?)", (key, json.dumps(result, ensure_ascii=False)))
    return result


def _written_in(wanted: Language, opening: str, row: sqlite3.Row | None) -> bool:
    return language(opening) == wanted and (row is None or row["lang"] == wanted)


def tools(path: str | Path | None = None) -> list[Callable[..., Any]]:
    """The tools of the desk over the SQLite file at `path`."""
    return tools_of(Desk(path))


search, compare, article, open_ticket, classify, reply, escalate, check_draft = tools()
