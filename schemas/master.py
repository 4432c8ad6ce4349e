"""The master secret, from which every other secret of an installation is derived (SPEC §3, §10).

Rules of this module:
- 32 random bytes, from `MNEMOLOG_MASTER_KEY` (hexadecimal or base64), else from the file named by
  `MNEMOLOG_MASTER_KEY_FILE` (the same, or 32 raw bytes), else from `master.key` in the data
  directory, which is made on first use, mode 0600: whole or not at all, and by one process only.
- Secrets are derived by HKDF-SHA-256 (RFC 5869), a label each, so that none tells another.
- Neither the secret nor a malformed one is ever shown.
"""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Mapping
from pathlib import Path

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from schemas.errors import Unavailable
from schemas.files import write_new

MASTER_BYTES = 32
KEY_VARIABLE = "MNEMOLOG_MASTER_KEY"
FILE_VARIABLE = "MNEMOLOG_MASTER_KEY_FILE"
FILE_NAME = "master.key"

_SALT = b"mnemolog-master-v1"
_PART = "master key"


class MasterKey:
    """32 bytes that are never shown; `derive` is all that can be done with them."""

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        if len(secret) != MASTER_BYTES:
            raise Unavailable(
                _PART, f"{len(secret)} bytes instead of {MASTER_BYTES}", "make one with: openssl "
                "rand -hex 32"
            )  # fmt: skip
        self._secret = secret

    @classmethod
    def load(cls, data_dir: Path, env: Mapping[str, str], *, create: bool = True) -> MasterKey:
        """The key of an installation; made in the data directory only if `create`.

        Raises `Unavailable`, naming the source at fault: none is passed over for the next.
        """
        text, path = env.get(KEY_VARIABLE), env.get(FILE_VARIABLE)
        if text and path:
            raise Unavailable(
                _PART, f"both {KEY_VARIABLE} and {FILE_VARIABLE} are set", "unset one of them"
            )
        if text:
            return cls(_decode(text.encode(), KEY_VARIABLE))
        if path:
            return cls(_decode(_read(Path(path)), path))
        own = data_dir / FILE_NAME
        if create and not own.exists():
            write_new(own, secrets.token_hex(MASTER_BYTES).encode() + b"\n")
        content = _read(own)
        if own.stat().st_mode & 0o077:
            raise Unavailable(_PART, f"{own} is open to other users", f"type: chmod 600 {own}")
        return cls(_decode(content, str(own)))

    def derive(self, label: str, length: int = 32) -> bytes:
        """`length` bytes for one use, named by `label`."""
        info = label.encode()
        return HKDF(algorithm=SHA256(), length=length, salt=_SALT, info=info).derive(self._secret)

    def __repr__(self) -> str:
        return "MasterKey(…)"


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Unavailable(
            _PART,
            f"cannot read {path}: {error.strerror}",
            f"restore it from a backup, or set {KEY_VARIABLE} or {FILE_VARIABLE}",
        ) from error


def _decode(content: bytes, source: str) -> bytes:
    """32 bytes out of raw ones, hexadecimal or base64 (also URL-safe) text."""
    if len(content) == MASTER_BYTES and not content.isascii():
        return content
    text = content.strip()
    try:
        if len(text) == 2 * MASTER_BYTES:
            return bytes.fromhex(text.decode("ascii"))
        plain = text.translate(bytes.maketrans(b"-_", b"+/")).rstrip(b"=")
        secret = base64.b64decode(plain + b"=" * (-len(plain) % 4), validate=True)
    except (ValueError, binascii.Error):
        secret = b""
    if len(secret) == MASTER_BYTES:
        return secret
    raise Unavailable(
        _PART,
        f"{source} does not hold {MASTER_BYTES} bytes in hexadecimal or base64",
        "make one with: openssl rand -hex 32",
    )
