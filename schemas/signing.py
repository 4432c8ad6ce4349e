"""Signed envelopes: who publishes is proved by the record, not said by it (SPEC §2, §4).

The signature covers, each part with its length as 4 bytes big-endian before it:
    domain tag "mnemolog-event-v1" · kind's word · schema id · payload
where the schema id is the fingerprint in the payload's single-object header (8 bytes) or the
Confluent header (5 bytes), and the payload is the whole frame. It travels in two record headers:
    mnemolog-signer     the principal's name, UTF-8
    mnemolog-signature  algorithm (1 byte: 1 HMAC-SHA-256, 2 Ed25519) · signature (32 or 64 bytes)

Anything else than exactly one of each header, a known name, its key's own algorithm and a
signature that verifies is *not authentic*: None, without saying why. Comparing takes constant time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from hmac import compare_digest
from typing import Protocol

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from schemas.kinds import Kind

SIGNER_HEADER = "mnemolog-signer"
SIGNATURE_HEADER = "mnemolog-signature"
HMAC_SHA256 = 1
ED25519 = 2

DOMAIN = b"mnemolog-event-v1"

Headers = list[tuple[str, bytes]]


class Signer(Protocol):
    """Signs as one principal."""

    @property
    def name(self) -> str:
        """The principal."""
        ...

    def sign(self, kind: Kind, payload: bytes) -> Headers:
        """The record headers of a frame; `ValueError` if it is no frame of the codec's."""
        ...


class VerificationKey(Protocol):
    """Checks what one principal signed."""

    @property
    def algorithm(self) -> int:
        """`HMAC_SHA256` or `ED25519`."""
        ...

    def verify(self, kind: Kind, schema_id: bytes, payload: bytes, signature: bytes) -> bool:
        """Whether the signature (without the algorithm's byte) is of these bytes."""
        ...


class HmacKey:
    """HMAC-SHA-256 (RFC 2104) with the key's and the kind's blocks hashed once: 1 µs an event."""

    algorithm = HMAC_SHA256

    def __init__(self, secret: bytes) -> None:
        if len(secret) != 32:
            raise ValueError("an HMAC secret is 32 bytes")
        block = secret.ljust(64, b"\0")
        inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in block))
        self._outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in block))
        self._inner = {kind: inner.copy() for kind in Kind}
        for kind, state in self._inner.items():
            state.update(_PREFIX[kind])

    def mac(self, kind: Kind, schema_id: bytes, payload: bytes) -> bytes:
        """32 bytes over the parts that the module lists."""
        inner = self._inner[kind].copy()
        inner.update(_suffix(schema_id, payload))
        outer = self._outer.copy()
        outer.update(inner.digest())
        return outer.digest()

    def verify(self, kind: Kind, schema_id: bytes, payload: bytes, signature: bytes) -> bool:
        """See `VerificationKey`."""
        return compare_digest(self.mac(kind, schema_id, payload), signature)


class Ed25519Key:
    """Ed25519 (RFC 8032) by its public key, 32 bytes."""

    algorithm = ED25519

    def __init__(self, public: bytes) -> None:
        self._public = Ed25519PublicKey.from_public_bytes(public)

    def verify(self, kind: Kind, schema_id: bytes, payload: bytes, signature: bytes) -> bool:
        """See `VerificationKey`."""
        try:
            self._public.verify(signature, _PREFIX[kind] + _suffix(schema_id, payload))
        except InvalidSignature:
            return False
        return True


class HmacSigner:
    """Signs with a secret that it shares with the registry."""

    def __init__(self, name: str, secret: bytes) -> None:
        self.name = name
        self._signer = (SIGNER_HEADER, name.encode())
        self._key = HmacKey(secret)

    def sign(self, kind: Kind, payload: bytes) -> Headers:
        """See `Signer`."""
        mac = self._key.mac(kind, _schema_id_to_sign(payload), payload)
        return [self._signer, (SIGNATURE_HEADER, b"\x01" + mac)]


class Ed25519Signer:
    """Signs with a private key of its own, 32 bytes."""

    def __init__(self, name: str, private: bytes) -> None:
        self.name = name
        self._signer = (SIGNER_HEADER, name.encode())
        self._private = Ed25519PrivateKey.from_private_bytes(private)

    @property
    def public(self) -> bytes:
        """The public key, 32 bytes: what the registry needs."""
        return self._private.public_key().public_bytes_raw()

    def sign(self, kind: Kind, payload: bytes) -> Headers:
        """See `Signer`."""
        message = _PREFIX[kind] + _suffix(_schema_id_to_sign(payload), payload)
        return [self._signer, (SIGNATURE_HEADER, b"\x02" + self._private.sign(message))]


def verify(
    kind: Kind,
    payload: bytes,
    headers: Sequence[tuple[str, bytes | None]] | None,
    lookup: Callable[[str], VerificationKey | None],
) -> str | None:
    """The principal that signed a record, or None if it is not authentic.

    `lookup` gives the key of a principal that may sign now, else None.
    """
    named: bytes | None = None
    signature: bytes | None = None
    for header, value in headers or ():
        if header == SIGNER_HEADER:
            if named is not None:
                return None
            named = value or b""
        elif header == SIGNATURE_HEADER:
            if signature is not None:
                return None
            signature = value or b""
    schema_id = _schema_id(payload)
    if schema_id is None or not named or not signature:
        return None
    try:
        signer = named.decode()
    except UnicodeDecodeError:
        return None
    key = lookup(signer)
    if key is None or key.algorithm != signature[0]:
        return None
    return signer if key.verify(kind, schema_id, payload, signature[1:]) else None


def _schema_id(payload: bytes) -> bytes | None:
    """What the frame says wrote it; None if it is no frame."""
    if payload[:2] == b"\xc3\x01" and len(payload) >= 10:
        return payload[2:10]
    if payload[:1] == b"\0" and len(payload) >= 5:
        return payload[:5]
    return None


def _schema_id_to_sign(payload: bytes) -> bytes:
    schema_id = _schema_id(payload)
    if schema_id is None:
        raise ValueError("the payload is no frame of the codec's; sign what `Codec.encode` gave")
    return schema_id


def _sized(part: bytes) -> bytes:
    return len(part).to_bytes(4, "big") + part


def _suffix(schema_id: bytes, payload: bytes) -> bytes:
    size = len(payload).to_bytes(4, "big")
    return len(schema_id).to_bytes(4, "big") + schema_id + size + payload


_PREFIX = {kind: _sized(DOMAIN) + _sized(kind.word.encode()) for kind in Kind}
