"""Opaque tokens: positions and snapshots, deterministic and sealed (INTERFACE, SPEC §1 "Head").

A token is AES-SIV (RFC 5297) over msgpack under a key of the service, so that partition positions
never show and the same position gives the same token. One that was altered, or is of another kind,
is refused by name.
"""

from __future__ import annotations

import base64

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from gateway.errors import Unprocessable


class Position(msgspec.Struct, frozen=True, array_like=True, tag="p"):
    """The intake position that decides an event."""

    partition: int
    kind: int
    offset: int


class SnapshotPoint(msgspec.Struct, frozen=True, array_like=True, tag="s"):
    """A scope's state: everything recorded up to τ (µs), asked for one valid time (µs or any)."""

    partition: int
    scope: bytes
    recorded_at: int
    valid_at: int | None


class Cursor(msgspec.Struct, frozen=True, array_like=True, tag="c"):
    """Where a page ended: the list and filters it belongs to, its snapshot, the last sort key."""

    filters: bytes
    recorded_at: int
    valid_at: int | None
    last: tuple[int, bytes]


Token = Position | SnapshotPoint | Cursor
_decoder = msgspec.msgpack.Decoder(Token)


class Tokens:
    """Seals and opens tokens; `key` is 64 bytes derived from the master secret."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESSIV(key)

    def seal(self, token: Token) -> str:
        """Text of a token."""
        data = self._cipher.encrypt(msgspec.msgpack.encode(token), None)
        return base64.urlsafe_b64encode(data).decode().rstrip("=")

    def position(self, text: str, field: str) -> Position:
        """The position in a receipt's token."""
        token = self._open(text, field)
        if not isinstance(token, Position):
            raise _unusable(field, "it is not a receipt's token", "pass a receipt's `token`")
        return token

    def snapshot(self, text: str, field: str) -> SnapshotPoint:
        """The state in a snapshot's token."""
        token = self._open(text, field)
        if not isinstance(token, SnapshotPoint):
            raise _unusable(field, "it is not a snapshot's token", "pass a `snapshot.token`")
        return token

    def cursor(self, text: str) -> Cursor:
        """Where the page before ended."""
        token = self._open(text, "cursor")
        if not isinstance(token, Cursor):
            raise _unusable("cursor", "it is not a cursor", "pass the `next_cursor` of a page")
        return token

    def _open(self, text: str, field: str) -> Token:
        try:
            data = base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
            return _decoder.decode(self._cipher.decrypt(data, None))
        except (ValueError, InvalidTag, msgspec.MsgspecError, UnicodeEncodeError):
            raise _unusable(
                field, "it was not issued here or was altered", "pass a token as it was received"
            ) from None


def _unusable(field: str, detail: str, remedy: str) -> Unprocessable:
    return Unprocessable("invalid_token", detail, remedy, field=field)
