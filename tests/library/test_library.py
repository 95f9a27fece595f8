"""A library of procedures: versions by hash, pins, signatures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.serve.office import BADGE, LEAVE

from sopwith import Engine
from sopwith.errors import PolicyError, UserError
from sopwith.lang.read import read
from sopwith.library.library import ProcedureLibrary, Reference
from sopwith.log.signing_key import PublicKey, SigningKey, make_key, public_file

OTHER = LEAVE.replace("Ask for leave", "Ask for days off")
CALLER = """
schema: sopwith/procedure/1
id: caller
start: call
steps:
  call:
    call: {procedure: badge, with: {to: cy}}
    next: done
  done:
    end: complete
"""


@pytest.fixture
def library(tmp_path: Path) -> ProcedureLibrary:
    return ProcedureLibrary(tmp_path / "library")


def add(library: ProcedureLibrary, text: str, *, pin: bool = True) -> str:
    """Add a procedure; its reference."""
    version, _ = library.add(read(text))
    if pin:
        library.pin([version], "ann")
    return f"{version.procedure}@{version.name}"


def got(library: ProcedureLibrary, reference: str) -> str:
    return library.read(Reference.parse(reference)).procedure.name


def test_each_version_is_kept_and_the_pinned_one_runs(library: ProcedureLibrary) -> None:
    first = add(library, LEAVE)
    second = add(library, OTHER, pin=False)
    assert first != second
    assert library.ids() == ["leave"]
    assert (got(library, "leave"), got(library, first), got(library, second)) == (
        "Ask for leave",
        "Ask for leave",
        "Ask for days off",
    )
    add(library, OTHER)
    assert got(library, "leave") == "Ask for days off"
    add(library, LEAVE)
    assert got(library, "leave") == "Ask for leave"
    assert [pin.version[:12] for pin in library.pins("leave")] == [
        name.partition("@")[2] for name in (first, second, first)
    ]


def test_a_version_is_added_once_and_keeps_its_comments(library: ProcedureLibrary) -> None:
    commented = "# reviewed by hr\n" + LEAVE.lstrip()
    version, new = library.add(read(commented))
    assert new
    assert "# reviewed by hr" in version.file.read_text(encoding="utf-8")
    assert library.add(read(LEAVE)) == (version, False)
    assert version.name == read(LEAVE).procedure.digest()[:12]


def test_a_file_that_was_changed_is_refused(library: ProcedureLibrary) -> None:
    add(library, LEAVE)
    file = library.versions("leave")[0].file
    file.write_text(file.read_text(encoding="utf-8").replace("maximum: 30", "maximum: 300"), encoding="utf-8")
    with pytest.raises(UserError, match="was changed"):
        got(library, "leave")
    with pytest.raises(UserError, match="was changed"):
        add(library, LEAVE)


@pytest.mark.parametrize("wanted", ["leave@ffff", "leave@0123456789ab", "nobody", "leave"])
def test_what_is_not_there_is_named(library: ProcedureLibrary, wanted: str) -> None:
    add(library, LEAVE, pin=False)
    with pytest.raises(UserError, match=wanted.partition("@")[2] or wanted):
        got(library, wanted)


@pytest.mark.parametrize("text", ["../leave", "leave@XYZ", "leave@", "leave yaml", ""])
def test_a_reference_names_nothing_outside_of_the_library(text: str) -> None:
    with pytest.raises(UserError):
        Reference.parse(text)


def test_a_procedure_is_pinned_together_with_what_it_calls(library: ProcedureLibrary) -> None:
    caller, _ = library.add(read(CALLER))
    with pytest.raises(UserError, match="calls what has no pinned version in the library: badge"):
        library.pin([caller], "ann")
    assert library.pins("caller") == []
    badge, _ = library.add(read(BADGE))
    library.pin([caller, badge], "ann")
    assert library.pinned_ids() == ["badge", "caller"]


def test_with_keys_only_a_pin_that_one_of_them_proves_counts(tmp_path: Path) -> None:
    key, other = (make_key(tmp_path / name) for name in ("key", "other"))
    public = PublicKey.read(public_file(tmp_path / "key"))
    plain, held = ProcedureLibrary(tmp_path / "library"), ProcedureLibrary(tmp_path / "library", [public])
    first, second = plain.add(read(LEAVE))[0], plain.add(read(OTHER))[0]

    def pin(version: object, signer: SigningKey | None) -> None:
        plain.pin([version], "ann", key=signer)  # type: ignore[list-item]

    for signer in (None, other):
        pin(first, signer)
        assert got(plain, "leave") == "Ask for leave"
        with pytest.raises(PolicyError, match="not signed by any"):
            got(held, "leave")
    pin(first, key)
    assert got(held, "leave") == got(held, f"leave@{first.name}") == "Ask for leave"
    with pytest.raises(UserError, match="only the pinned version of 'leave' is signed"):
        got(held, f"leave@{second.name}")

    pins = tmp_path / "library" / "leave" / "pins.jsonl"
    lines = pins.read_text(encoding="utf-8").splitlines()
    forged = json.loads(lines[-1]) | {"version": read(OTHER).procedure.digest()}
    pins.write_text("\n".join([*lines[:-1], json.dumps(forged)]) + "\n", encoding="utf-8")
    with pytest.raises(PolicyError, match="its signature does not hold"):
        got(held, "leave")


def test_a_pin_does_not_count_for_another_procedure(library: ProcedureLibrary, tmp_path: Path) -> None:
    add(library, LEAVE)
    library.add(read(BADGE))
    (library.folder / "badge" / "pins.jsonl").write_bytes(
        (library.folder / "leave" / "pins.jsonl").read_bytes()
    )
    with pytest.raises(UserError, match="the pin of 'badge' is one of 'leave'"):
        got(library, "badge")


def test_a_damaged_line_is_named(library: ProcedureLibrary) -> None:
    add(library, LEAVE)
    with (library.folder / "leave" / "pins.jsonl").open("a", encoding="utf-8") as file:
        file.write("<<<<<<< HEAD\n")
    with pytest.raises(UserError, match=r"pins\.jsonl:2 is not a pin"):
        got(library, "leave")


async def test_an_engine_takes_what_is_pinned(library: ProcedureLibrary) -> None:
    add(library, "schema: sopwith/procedure/1\nid: short\nstart: done\nsteps: {done: {end: complete}}\n")
    async with Engine(library.read(Reference("short"))) as engine:
        run = await engine.run("")
    assert run.status == "completed"
