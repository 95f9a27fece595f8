"""Signed heads: what they show that a chain alone does not, and that nobody can change them unseen."""

from __future__ import annotations

import base64
import json
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from tests.log.stores import replace, sql, stored, write
from tests.log.test_audit import rewrite

from sopwith.errors import LogError, PolicyError, UserError
from sopwith.log.audit import Report, verify
from sopwith.log.head import Head, HeadsFile, read_heads
from sopwith.log.head_url import HeadsUrl
from sopwith.log.scan import Scan
from sopwith.log.signing_key import VARIABLE, PublicKey, SigningKey, make_key, public_file


@pytest.fixture
def key(tmp_path: Path) -> SigningKey:
    return make_key(tmp_path / "keys" / "audit.key")


@pytest.fixture
async def path(tmp_path: Path, key: SigningKey) -> Path:
    """A store of three runs, whose heads are signed."""
    path = tmp_path / "runs.db"
    await write(path, "r1", "r2", "r3")
    for number in (1, 2, 3):
        run, events = stored(path, number)
        await HeadsFile(tmp_path / "heads", key).add([Head(run.run, 10, events[-1].hash.hex(), 5)])
    return path


def audit(path: Path, key: SigningKey) -> Report:
    scan = Scan(path)
    try:
        return verify(scan, None, read_heads(path.with_name("heads"), [key.public]))
    finally:
        scan.close()


def found(path: Path, key: SigningKey) -> list[tuple[str, int | None, str]]:
    return [(f.run, f.seq, f.what) for f in audit(path, key).findings]


def lines(path: Path) -> list[bytes]:
    return path.with_name("heads").read_bytes().splitlines(keepends=True)


def put(path: Path, *kept: bytes) -> None:
    path.with_name("heads").write_bytes(b"".join(kept))


async def test_nothing_is_found_where_heads_and_store_agree(path: Path, key: SigningKey) -> None:
    report = audit(path, key)
    assert (report.findings, report.heads) == ([], 3)


async def test_a_line_says_what_it_is(path: Path, key: SigningKey) -> None:
    first, second = (json.loads(line) for line in lines(path)[:2])
    assert {name: first[name] for name in ("what", "run", "seq", "at", "key")} == {
        "what": "head", "run": "r1", "seq": 10, "at": 5, "key": key.public.id,
    }  # fmt: skip
    assert first["hash"] == stored(path, 1)[1][-1].hash.hex()
    assert (first["previous"], second["previous"] != first["previous"]) == ("0" * 64, True)


@pytest.mark.parametrize("count", [1, 4, 9])
async def test_a_cut_tail_is_found(path: Path, key: SigningKey, count: int) -> None:
    replace(path, 2, stored(path, 2)[1][:-count])
    sql(path, "UPDATE run SET status = 'running' WHERE run = 'r2'")
    assert found(path, key) == [("r2", 11 - count, "cut tail")]


async def test_a_full_rewrite_is_found(path: Path, key: SigningKey) -> None:
    rewrite(path)
    assert found(path, key) == [("r2", 10, "rewritten")]


async def test_a_removed_run_is_found(path: Path, key: SigningKey) -> None:
    sql(path, "DELETE FROM batch WHERE id >> 24 = 2", "DELETE FROM run WHERE number = 2")
    assert found(path, key) == [("r2", 10, "run removed")]


async def test_a_run_that_was_collected_is_not_missed(path: Path, key: SigningKey) -> None:
    sql(path, "DELETE FROM batch WHERE id >> 24 = 2", "DELETE FROM run WHERE number = 2")
    head = Head("r2", 10, "00" * 32, 6, "collected")
    await HeadsFile(path.with_name("heads"), key).add([head])
    report = audit(path, key)
    assert (report.findings, report.collected) == ([], 1)


async def test_a_change_is_named_once_and_not_as_a_rewrite(path: Path, key: SigningKey) -> None:
    replace(path, 2, [e for e in stored(path, 2)[1] if e.seq != 5])
    assert found(path, key) == [("r2", 5, "removed")]


async def test_a_cut_heads_file_shows_in_the_runs_that_lost_theirs(path: Path, key: SigningKey) -> None:
    put(path, *lines(path)[:2])
    assert found(path, key) == [("r3", 10, "unsigned")]


@pytest.mark.parametrize("at", [0, 1])
async def test_a_line_that_was_taken_out_is_found(path: Path, key: SigningKey, at: int) -> None:
    kept = lines(path)
    del kept[at]
    put(path, *kept)
    assert [what for _, _, what in found(path, key)] == ["heads changed", "unsigned"]
    assert f"line {at + 1} " in audit(path, key).findings[0].why.en


async def test_swapped_lines_are_found(path: Path, key: SigningKey) -> None:
    first, second, third = lines(path)
    put(path, second, first, third)
    assert {what for _, _, what in found(path, key)} == {"heads changed"}


@pytest.mark.parametrize("change", [(b'"seq":10', b'"seq":9'), (b'"run":"r2"', b'"run":"r1"'), (b"{", b"[")])
async def test_a_changed_line_is_found(path: Path, key: SigningKey, change: tuple[bytes, bytes]) -> None:
    first, second, third = lines(path)
    put(path, first, second.replace(*change), third)
    assert found(path, key)[:2] == [("", None, "heads changed"), ("", None, "heads changed")]
    assert "line 2 " in audit(path, key).findings[0].why.en


async def test_a_head_signed_with_another_key_proves_nothing(
    path: Path, key: SigningKey, tmp_path: Path
) -> None:
    other = make_key(tmp_path / "keys" / "other.key")
    rewrite(path)
    await HeadsFile(path.with_name("heads"), other).add(
        [Head("r2", 10, stored(path, 2)[1][-1].hash.hex(), 7)]
    )
    assert found(path, key) == [("", None, "heads changed"), ("r2", 10, "rewritten")]
    both = read_heads(path.with_name("heads"), [key.public, other.public])
    assert (len(both.heads), both.findings) == (4, ())


async def test_a_torn_line_is_found_and_the_next_one_stands_apart(path: Path, key: SigningKey) -> None:
    put(path, *lines(path)[:2], lines(path)[2][:50])
    head = Head("r3", 10, stored(path, 3)[1][-1].hash.hex(), 8)
    await HeadsFile(path.with_name("heads"), key).add([head])
    assert found(path, key) == [("", None, "heads changed")]


APPENDER = """
import asyncio, sys
from pathlib import Path
from sopwith.log.head import Head, HeadsFile
from sopwith.log.signing_key import SigningKey

async def main(file, key, run):
    heads = HeadsFile(file, SigningKey.find(Path(key)))
    for seq in range(1, 41):
        await heads.add([Head(run, seq, "00" * 32, seq)])

asyncio.run(main(*sys.argv[1:]))
"""


def test_many_processes_append_to_one_file(tmp_path: Path, key: SigningKey) -> None:
    file, private = tmp_path / "heads", tmp_path / "keys" / "audit.key"
    command = [sys.executable, "-W", "error", "-c", APPENDER, str(file), str(private)]
    writers = [subprocess.Popen([*command, f"r{n}"], stderr=subprocess.PIPE) for n in range(4)]
    assert [writer.communicate()[1] for writer in writers] == [b""] * 4
    signed = read_heads(file, [key.public])
    assert (len(signed.heads), signed.findings) == (160, ())


# Keys


def test_the_private_key_is_for_its_owner_alone(tmp_path: Path) -> None:
    key = make_key(tmp_path / "k")
    assert stat.S_IMODE((tmp_path / "k").stat().st_mode) == 0o600
    again = SigningKey.find(tmp_path / "k")
    assert PublicKey.read(public_file(tmp_path / "k")).proves(b"x", again.sign(b"x"))
    assert not key.public.proves(b"y", again.sign(b"x")) and not key.public.proves(b"x", "no Base64")


def test_a_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    make_key(tmp_path / "k")
    (tmp_path / "k").chmod(0o644)
    with pytest.raises(PolicyError, match="mode 644") as caught:
        SigningKey.find(tmp_path / "k")
    assert "chmod 600" in caught.value.hint.zh


def test_a_key_is_never_overwritten(tmp_path: Path) -> None:
    make_key(tmp_path / "k")
    before = (tmp_path / "k").read_bytes()
    with pytest.raises(UserError, match="already"):
        make_key(tmp_path / "k")
    assert (tmp_path / "k").read_bytes() == before


@pytest.mark.parametrize("form", ["pem", "base64"])
def test_the_environment_may_hold_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    key = make_key(tmp_path / "k")
    raw = base64.b64encode(bytes(range(32))).decode()
    monkeypatch.setenv(VARIABLE, raw if form == "base64" else (tmp_path / "k").read_text())
    found = SigningKey.find(tmp_path / "nowhere")
    assert (found.public.id == key.public.id) == (form == "pem")


@pytest.mark.parametrize(
    "text", ["", "abc", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"]
)
def test_what_is_no_key_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(PolicyError, match="no private key"):
        SigningKey.find(tmp_path / "k")
    (tmp_path / "k.pub").write_text(text)
    with pytest.raises(UserError, match="not a public key"):
        PublicKey.read(tmp_path / "k.pub")


def test_missing_files_say_what_to_do(tmp_path: Path, key: SigningKey) -> None:
    with pytest.raises(PolicyError) as private:
        SigningKey.find(tmp_path / "k")
    with pytest.raises(UserError) as public:
        PublicKey.read(tmp_path / "k.pub")
    with pytest.raises(UserError, match="heads file"):
        read_heads(tmp_path / "no heads", [key.public])
    assert all("keygen" in error.value.hint.en for error in (private, public))


# A URL


@pytest.fixture
def listener() -> Iterator[tuple[str, list[bytes]]]:
    """A server that keeps what it is sent, and its URL."""
    kept: list[bytes] = []

    class Listener(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            kept.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(500 if "full" in self.path else 204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Listener) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", kept
        server.shutdown()
        thread.join()


async def test_heads_that_were_posted_are_a_heads_file(
    path: Path, key: SigningKey, listener: tuple[str, list[bytes]]
) -> None:
    url, kept = listener
    heads = [Head(f"r{n}", 10, stored(path, n)[1][-1].hash.hex(), 5) for n in (1, 2, 3)]
    await HeadsUrl(url, key).add(heads)
    put(path, *(line + b"\n" for line in kept))
    assert audit(path, key).ok
    rewrite(path)
    assert found(path, key) == [("r2", 10, "rewritten")]


async def test_a_listener_that_refuses_is_an_error_with_a_remedy(
    key: SigningKey, listener: tuple[str, list[bytes]]
) -> None:
    url, _ = listener
    for place in (f"{url}/full", "http://127.0.0.1:1/", "http://"):
        with pytest.raises(LogError, match="cannot be written") as caught:
            await HeadsUrl(place, key).add([Head("r1", 1, "00" * 32, 1)])
        assert "audit heads" in caught.value.hint.zh


async def test_a_file_that_cannot_be_written_is_an_error_with_a_remedy(
    key: SigningKey, tmp_path: Path
) -> None:
    with pytest.raises(LogError, match="cannot be written"):
        await HeadsFile(tmp_path, key).add([Head("r1", 1, "00" * 32, 1)])
