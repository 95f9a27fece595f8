"""The vault in a file: what lies on the disk, and what happens with keys and damage."""

from __future__ import annotations

import base64
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from sopwith.errors import LogDamaged, LogError, PolicyError, ValueErased
from sopwith.guard.key import VARIABLE
from sopwith.guard.vault import Secret, SqliteVault

PHONE = Secret("phone", '"13800138000"')
MAIL = Secret("email", '"li@example.com"')
KEY = bytes(range(32))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "vault.db"


@pytest.fixture(autouse=True)
def no_key_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def kept(path: Path, key: bytes | None = KEY) -> None:
    vault = SqliteVault(path, key)
    assert vault.keep("r1", [PHONE]) == ["<phone:1>"]
    vault.close()


def found(path: Path, key: bytes | None = KEY) -> str | None:
    vault = SqliteVault(path, key)
    try:
        return vault.look_up("r1", "<phone:1>")
    finally:
        vault.close()


def sql(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def test_a_later_process_finds_what_was_kept(path: Path) -> None:
    kept(path)
    assert found(path) == PHONE.value
    kept(path)


def test_nothing_readable_lies_on_the_disk(path: Path) -> None:
    vault = SqliteVault(path, KEY)
    vault.keep("r1", [PHONE, Secret("password", '"correct horse"')])
    for file in path.parent.iterdir():
        assert b"13800138000" not in file.read_bytes() and b"horse" not in file.read_bytes()
    vault.close()


def test_a_key_file_is_made_for_its_owner_alone(path: Path) -> None:
    kept(path, None)
    file = path.with_name("vault.db.key")
    assert file.stat().st_mode & 0o777 == 0o600
    assert len(base64.b64decode(file.read_text())) == 32
    assert found(path, None) == PHONE.value
    assert {p.name for p in path.parent.iterdir()} == {"vault.db", "vault.db.key"}


def test_a_key_file_that_others_may_read_is_refused(path: Path) -> None:
    kept(path, None)
    path.with_name("vault.db.key").chmod(0o644)
    with pytest.raises(PolicyError, match="644") as caught:
        SqliteVault(path)
    assert "chmod 600" in caught.value.hint.en and "chmod 600" in caught.value.hint.zh


def test_a_lost_key_file_is_not_replaced(path: Path) -> None:
    kept(path, None)
    path.with_name("vault.db.key").unlink()
    with pytest.raises(PolicyError, match="missing"):
        SqliteVault(path)
    assert not path.with_name("vault.db.key").exists()


def test_the_environment_may_hold_the_key(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(path, KEY)
    monkeypatch.setenv(VARIABLE, base64.b64encode(KEY).decode())
    assert found(path, None) == PHONE.value
    assert [p.name for p in path.parent.iterdir()] == ["vault.db"]


@pytest.mark.parametrize("said", ["", "c2hvcnQ=", "not base64!", base64.b64encode(bytes(33)).decode()])
def test_a_key_of_another_form_or_length_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setenv(VARIABLE, said)
    with pytest.raises(PolicyError, match=VARIABLE) as caught:
        SqliteVault(path)
    assert "urandom(32)" in caught.value.hint.en
    assert not path.exists()


def test_a_wrong_key_is_refused_at_once(path: Path) -> None:
    kept(path)
    with pytest.raises(PolicyError, match="does not open") as caught:
        SqliteVault(path, bytes(32))
    assert VARIABLE not in caught.value.hint.en


def test_a_damaged_mark_is_not_taken_for_a_wrong_key(path: Path) -> None:
    kept(path)
    sql(path, "UPDATE key_check SET mark = zeroblob(32)")
    with pytest.raises(LogDamaged, match="the mark of its key is damaged"):
        SqliteVault(path, KEY)
    with pytest.raises(PolicyError, match="does not open"):
        SqliteVault(path, bytes(32))


def test_a_vault_is_looked_through(path: Path) -> None:
    vault = SqliteVault(path, KEY)
    vault.keep("r1", [PHONE, MAIL])
    vault.erase(lambda run, secret: secret == MAIL)
    assert vault.look_through() == 1
    sql(path, "UPDATE entry SET sealed = zeroblob(40) WHERE kind = 'phone'")
    with pytest.raises(LogDamaged, match="changed"):
        vault.look_through()
    vault.close()


def test_what_to_do_about_a_wrong_key_depends_on_where_it_is_from(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(path, None)
    file = path.with_name("vault.db.key")
    for broken in ("", "not base64!", "c2hvcnQ=", base64.b64encode(bytes(32)).decode()):
        file.write_text(broken)
        with pytest.raises(PolicyError) as caught:
            SqliteVault(path)
        assert f"restore the key file {file} from a backup" in caught.value.hint.en
        assert VARIABLE not in caught.value.hint.en + caught.value.hint.zh
        monkeypatch.setenv(VARIABLE, broken)
        with pytest.raises(PolicyError) as caught:
            SqliteVault(path)
        assert f"set {VARIABLE} to the key the vault was made with" in caught.value.hint.en
        monkeypatch.delenv(VARIABLE)


def test_a_broken_key_file_without_a_vault_may_be_made_anew(path: Path) -> None:
    file = path.with_name("vault.db.key")
    file.touch(0o600)
    with pytest.raises(PolicyError, match="0 bytes") as caught:
        SqliteVault(path)
    assert f"remove {file}" in caught.value.hint.en
    file.unlink()
    kept(path, None)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE entry SET sealed = zeroblob(length(sealed))",
        "UPDATE entry SET sealed = X'00'",
        "UPDATE entry SET number = 1 WHERE number = 2",
        "UPDATE entry SET run = 'r1' WHERE run = 'r2'",
    ],
)
def test_a_changed_or_moved_entry_is_not_given_out(path: Path, change: str) -> None:
    vault = SqliteVault(path, KEY)
    vault.keep("r1", [PHONE, Secret("phone", '"13900139000"')])
    vault.keep("r2", [Secret("phone", '"13700137000"')])
    if "WHERE" in change:
        sql(path, "DELETE FROM entry WHERE run = 'r1' AND number = 1")
    sql(path, change)
    with pytest.raises(LogDamaged, match="changed"):
        vault.look_up("r1", "<phone:1>")
    vault.close()


def test_what_is_erased_is_gone_and_its_placeholder_stands_for_nothing_else(path: Path) -> None:
    vault = SqliteVault(path, KEY)
    other = Secret("phone", '"13900139000"')
    vault.keep("r1", [PHONE, other, MAIL])
    vault.keep("r2", [PHONE])
    assert vault.erase(lambda run, secret: run == "r1" and secret == PHONE) == {"r1": 1}
    with pytest.raises(ValueErased, match=r"<phone:1> of run r1 was erased"):
        vault.look_up("r1", "<phone:1>")
    assert vault.look_up("r1", "<phone:2>") == other.value
    assert vault.look_up("r2", "<phone:1>") == PHONE.value
    assert vault.keep("r1", [PHONE]) == ["<phone:3>"]
    assert vault.counts() == [("r1", "email", 1, 0), ("r1", "phone", 3, 1), ("r2", "phone", 1, 0)]
    assert vault.erase(lambda run, secret: True) == {"r1": 3, "r2": 1}
    assert vault.erase(lambda run, secret: True) == {}
    vault.close()


def test_no_byte_of_what_is_erased_stays_in_the_files(path: Path) -> None:
    vault = SqliteVault(path, KEY)
    for number in range(300):
        vault.keep("r1", [Secret("phone", f'"{13800138000 + number}"')])
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT mark, sealed FROM entry").fetchall()

    def stored() -> bytes:
        return b"".join(file.read_bytes() for file in path.parent.iterdir())

    assert all(mark in stored() and sealed in stored() for mark, sealed in rows)
    assert vault.erase(lambda run, secret: True) == {"r1": 300}
    assert not any(mark in stored() or sealed in stored() for mark, sealed in rows)
    vault.close()
    assert not any(mark in stored() or sealed in stored() for mark, sealed in rows)


def test_somebody_who_still_reads_the_old_bytes_is_named(path: Path) -> None:
    vault = SqliteVault(path, KEY)
    vault.keep("r1", [PHONE])
    vault._connection.execute("PRAGMA busy_timeout = 1")
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM entry").fetchall()
        with pytest.raises(LogError, match="another process") as caught:
            vault.erase(lambda run, secret: True)
        assert "erase again" in caught.value.hint.en
        reader.execute("COMMIT")
    assert vault.erase(lambda run, secret: True) == {}
    vault.close()


def test_a_full_disk_keeps_nothing(path: Path) -> None:
    vault = SqliteVault(path, KEY)
    pages = vault._connection.execute("PRAGMA page_count").fetchone()[0]
    vault._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(LogError, match="full") as caught:
        vault.keep("r1", [PHONE, Secret("key", '"' + "x" * 100_000 + '"')])
    assert caught.value.hint.zh
    assert vault.look_up("r1", "<phone:1>") is None
    vault.close()


def test_a_closed_vault_says_so(path: Path) -> None:
    vault = SqliteVault(path, KEY)
    vault.close()
    for use in (lambda: vault.keep("r1", [PHONE]), lambda: vault.look_up("r1", "<phone:1>")):
        with pytest.raises(LogError, match="closed"):
            use()


def test_a_file_that_is_no_vault_is_left_alone(path: Path) -> None:
    sql(path, "CREATE TABLE customers (name TEXT)")
    before = path.read_bytes()
    with pytest.raises(LogError, match="not a vault"):
        SqliteVault(path, KEY)
    path.with_name("text").write_text("no database at all" * 100)
    with pytest.raises(LogError):
        SqliteVault(path.with_name("text"), KEY)
    assert path.read_bytes() == before


def test_processes_that_start_at_once_share_one_key(path: Path) -> None:
    code = (
        "import sys; from sopwith.guard.vault import SqliteVault, Secret; v = SqliteVault(sys.argv[1]);"
        "print(v.keep('r1', [Secret('phone', '1')]), v.keyed_hash(b'x')); v.close()"
    )
    command = [sys.executable, "-W", "error", "-c", code, str(path)]
    started = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)
    ]
    said = {p.communicate() for p in started}
    assert len(said) == 1
    assert said.pop()[0].startswith("['<phone:1>']")
