"""The key of a vault: from the environment, or from a file that only its owner may read."""

from __future__ import annotations

import base64
import contextlib
import os
import secrets
import stat
from pathlib import Path

from sopwith.errors import PolicyError, Text
from sopwith.ir.os_reason import os_reason

VARIABLE = "SOPWITH_KEY"
"""The environment variable that holds the key, in Base64."""

LENGTH = 32

_MAKE = Text(
    f'make one with: python -c "import base64, os; print(base64.b64encode(os.urandom({LENGTH})).decode())"',
    f'可这样生成：python -c "import base64, os; print(base64.b64encode(os.urandom({LENGTH})).decode())"',
)

_GIVEN = Text("give the key that the vault was made with", "请给出创建该保险库时的密钥")
_OF_VARIABLE = Text(
    f"set {VARIABLE} to the key the vault was made with, or unset it to use its key file",
    f"请将 {VARIABLE} 设为创建该保险库时的密钥；若使用密钥文件，请取消该变量",
)


def find_key(vault: Path, given: bytes | None = None) -> bytes:
    """The key for the vault at `vault`: `given`, or the environment's, or that of its key file.

    The key file is `vault` + `.key`; it is made for a vault that does not exist yet.
    Raises `PolicyError` for a key of another length or form, and for a file that others may read.
    """
    if given is not None:
        return _checked(given, "key", _GIVEN if vault.exists() else _MAKE)
    said = os.environ.get(VARIABLE)
    if said is not None:
        return _decoded(said, VARIABLE, _OF_VARIABLE if vault.exists() else _MAKE)
    return _from_file(vault)


def not_the_key(vault: Path, *, given: bool) -> PolicyError:
    """The error for a key that does not open the vault at `vault`; the remedy depends on where the key is from.

    `given` says that the caller passed it.
    """
    hint = _OF_VARIABLE if VARIABLE in os.environ else _of_file(_file_of(vault))
    if given:
        hint = _GIVEN
    return PolicyError(
        Text(f"the key does not open the vault {vault}", f"该密钥无法打开保险库 {vault}"), hint
    )


def _file_of(vault: Path) -> Path:
    return vault.with_name(f"{vault.name}.key")


def _of_file(path: Path) -> Text:
    return Text(
        f"restore the key file {path} from a backup: no other key opens what the vault holds",
        f"请从备份恢复密钥文件 {path}：其他密钥都无法打开保险库中的内容",
    )


def _from_file(vault: Path) -> bytes:
    path = _file_of(vault)
    if not path.exists():
        # Another process may have made both since; it makes the key first.
        if vault.exists() and not path.exists():
            raise PolicyError(
                Text(f"the key file {path} of the vault is missing", f"保险库的密钥文件 {path} 不存在"),
                Text(
                    f"restore it, or set {VARIABLE} to its key",
                    f"请恢复该文件，或将 {VARIABLE} 设为其中的密钥",
                ),
            )
        try:
            _make(path)
        except OSError as error:
            raise _unusable(path, error) from error
    return _read(path, _of_file(path) if vault.exists() else _anew(path))


def _anew(path: Path) -> Text:
    return Text(
        f"there is no vault yet: remove {path}, and a new key is made",
        f"尚无保险库：删除 {path} 即会生成新密钥",
    )


def _make(path: Path) -> None:
    """Write a new key. Of several processes that do so at once, one wins, and no one sees half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(base64.b64encode(secrets.token_bytes(LENGTH)) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()


def _read(path: Path, hint: Text) -> bytes:
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            text = file.read(1000)
    except OSError as error:
        raise _unusable(path, error) from error
    if os.name == "posix" and mode & 0o077:
        raise PolicyError(
            Text(
                f"the key file {path} may be read by others (mode {mode:o})",
                f"密钥文件 {path} 可被他人读取（权限 {mode:o}）",
            ),
            Text(f"run: chmod 600 {path}", f"请运行：chmod 600 {path}"),
        )
    return _decoded(text.decode("ascii", "replace"), str(path), hint)


def _decoded(text: str, where: str, hint: Text) -> bytes:
    try:
        return _checked(base64.b64decode(text.strip(), validate=True), where, hint)
    except ValueError:
        raise PolicyError(Text(f"{where} is not Base64", f"{where} 不是 Base64 文本"), hint) from None


def _checked(key: bytes, where: str, hint: Text) -> bytes:
    if len(key) != LENGTH:
        raise PolicyError(
            Text(
                f"{where}: the key has {len(key)} bytes instead of {LENGTH}",
                f"{where}：密钥长度为 {len(key)} 字节，应为 {LENGTH} 字节",
            ),
            hint,
        )
    return key


def _unusable(path: Path, error: OSError) -> PolicyError:
    why = os_reason(error)
    return PolicyError(
        Text(f"the key file {path}: {why.en}", f"密钥文件 {path}：{why.zh}"),
        Text(
            f"set {VARIABLE}, or let this user read and write the file",
            f"请设置 {VARIABLE}，或让当前用户可读写该文件",
        ),
    )
