"""What every vault promises; each test runs against all of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sopwith.guard.vault import MemoryVault, Secret, SqliteVault, Vault

PHONE = Secret("phone", '"13800138000"')
MAIL = Secret("email", '"li@example.com"')


@pytest.fixture(params=["memory", "sqlite"])
def vault(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Vault]:
    made = (
        MemoryVault(bytes(32)) if request.param == "memory" else SqliteVault(tmp_path / "vault.db", bytes(32))
    )
    yield made
    made.close()


def test_placeholders_are_numbered_per_run_and_kind(vault: Vault) -> None:
    other = Secret("phone", '"13900139000"')
    assert vault.keep("r1", [PHONE, MAIL, other]) == ["<phone:1>", "<email:1>", "<phone:2>"]
    assert vault.keep("r2", [other]) == ["<phone:1>"]


def test_the_same_secret_has_the_same_placeholder(vault: Vault) -> None:
    assert vault.keep("r1", [PHONE, PHONE]) == ["<phone:1>", "<phone:1>"]
    assert vault.keep("r1", [PHONE]) == ["<phone:1>"]


def test_a_number_and_its_text_are_two_secrets(vault: Vault) -> None:
    assert vault.keep("r1", [PHONE, Secret("phone", "13800138000")]) == ["<phone:1>", "<phone:2>"]
    assert vault.look_up("r1", "<phone:2>") == "13800138000"


def test_what_was_kept_is_found_in_its_run_only(vault: Vault) -> None:
    vault.keep("r1", [PHONE])
    assert vault.look_up("r1", "<phone:1>") == PHONE.value
    assert vault.look_up("r2", "<phone:1>") is None
    assert vault.look_up("r1", "<phone:2>") is None
    assert vault.look_up("r1", "<email:1>") is None


def test_nothing_to_keep_is_nothing(vault: Vault) -> None:
    assert list(vault.keep("r1", [])) == []


def test_a_keyed_hash_depends_on_the_data_and_the_key(vault: Vault) -> None:
    assert len(vault.keyed_hash(b"a")) == 32
    assert vault.keyed_hash(b"a") == vault.keyed_hash(b"a") != vault.keyed_hash(b"b")
    assert MemoryVault().keyed_hash(b"a") != vault.keyed_hash(b"a")


def test_it_may_be_closed_twice(vault: Vault) -> None:
    vault.close()
    vault.close()
