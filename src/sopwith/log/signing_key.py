"""The Ed25519 key that signs chain heads: in the environment, or in a file that only its owner may read."""

from __future__ import annotations

import base64
import binascii
import contextlib
import os
import stat
from hashlib import sha256
from pathlib import Path
from typing import Any

from sopwith.errors import PolicyError, Text, UserError
from sopwith.ir.os_reason import os_reason

VARIABLE = "SOPWITH_AUDIT_KEY"
"""The environment variable that holds the private key: its 32 bytes in Base64, or PEM."""

_MAKE = Text("make one with `sopwith audit keygen`", "用 sopwith audit keygen 生成")


class PublicKey:
    """What proves signatures. `id` is 16 hexadecimal digits that name the key."""

    def __init__(self, key: Any) -> None:
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        self._key = key
        raw: bytes = key.public_bytes(Encoding.Raw, PublicFormat.Raw)
        self.id = sha256(raw).hexdigest()[:16]
        self.pem: bytes = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    def proves(self, data: bytes, signature: str) -> bool:
        """Whether `signature` (Base64) is that of the private key over `data`."""
        from cryptography.exceptions import InvalidSignature

        try:
            self._key.verify(base64.b64decode(signature, validate=True), data)
        except (InvalidSignature, binascii.Error, ValueError):
            return False
        return True

    @classmethod
    def read(cls, path: Path) -> PublicKey:
        """The public key in a PEM file. Raises `UserError` where it is none of Ed25519."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import load_pem_public_key

        try:
            key = load_pem_public_key(path.read_bytes())
        except OSError as error:
            why = os_reason(error)
            raise UserError(
                Text(f"the public key {path}: {why.en}", f"公钥 {path}：{why.zh}"), _MAKE
            ) from error
        except ValueError:
            key = None
        if not isinstance(key, Ed25519PublicKey):
            raise UserError(
                Text(f"{path} is not a public key of Ed25519", f"{path} 不是 Ed25519 公钥"),
                Text(
                    "name the `.pub` file that `sopwith audit keygen` made",
                    "请指定 sopwith audit keygen 生成的 .pub 文件",
                ),
            )
        return cls(key)


class SigningKey:
    """What signs. `public` is what proves it."""

    def __init__(self, key: Any) -> None:
        self._key = key
        self.public = PublicKey(key.public_key())

    def sign(self, data: bytes) -> str:
        """The signature over `data`, in Base64."""
        return base64.b64encode(self._key.sign(data)).decode()

    @classmethod
    def find(cls, path: Path) -> SigningKey:
        """The key of the environment, or else of the file `path`.

        Raises `PolicyError` for a key that is missing, of another kind, or in a file that others may read.
        """
        said = os.environ.get(VARIABLE)
        if said is not None:
            return cls(_private(said.encode(), VARIABLE))
        try:
            with path.open("rb") as file:
                mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
                data = file.read(10_000)
        except OSError as error:
            why = os_reason(error)
            raise PolicyError(
                Text(f"the audit key {path}: {why.en}", f"审计密钥 {path}：{why.zh}"),
                Text(f"{_MAKE.en}, or set {VARIABLE}", f"{_MAKE.zh}，或设置 {VARIABLE}"),
            ) from error
        if os.name == "posix" and mode & 0o077:
            raise PolicyError(
                Text(
                    f"the audit key {path} may be read by others (mode {mode:o})",
                    f"审计密钥 {path} 可被他人读取（权限 {mode:o}）",
                ),
                Text(f"run: chmod 600 {path}", f"请运行：chmod 600 {path}"),
            )
        return cls(_private(data, str(path)))


def public_file(path: Path) -> Path:
    """Where the public key beside the private one in `path` is."""
    return path.with_name(f"{path.name}.pub")


def make_key(path: Path) -> SigningKey:
    """A new key: the private one in `path`, for its owner alone, the public one beside it. Overwrites nothing.

    Raises `UserError` where a file is there already or cannot be made.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    made = Ed25519PrivateKey.generate()
    key = SigningKey(made)
    pem = made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(pem)
        with contextlib.suppress(FileNotFoundError):
            public_file(path).unlink()
        public_file(path).write_bytes(key.public.pem)
    except FileExistsError:
        raise UserError(
            Text(f"there is a key in {path} already", f"{path} 中已有密钥"),
            Text(
                "name another file with --out, and keep the old public key",
                "请用 --out 指定其他文件，并保留旧公钥",
            ),
        ) from None
    except OSError as error:
        why = os_reason(error)
        raise UserError(Text(f"{path} cannot be written: {why.en}", f"无法写入 {path}：{why.zh}")) from error
    return key


def _private(data: bytes, where: str) -> Any:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    with contextlib.suppress(ValueError, TypeError, binascii.Error):
        if not data.lstrip().startswith(b"-----"):
            return Ed25519PrivateKey.from_private_bytes(base64.b64decode(data.strip(), validate=True))
        key = load_pem_private_key(data, None)
        if isinstance(key, Ed25519PrivateKey):
            return key
    raise PolicyError(Text(f"{where} holds no private key of Ed25519", f"{where} 中没有 Ed25519 私钥"), _MAKE)
