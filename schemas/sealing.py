"""Sealing and keyed hashes (SPEC §3): AES-256-GCM under a key per record, BLAKE2b for hashes.

A record's key is drawn at random for one write and never reused; its id is random too and says
nothing of batch or order, so two writers that race cannot overwrite each other's keys. The header
is associated data: a body cannot be moved under another header. Keyed hashes are 128 bits of
BLAKE2b (RFC 7693) under a key derived from the master secret, one domain ("person") each, over
length-prefixed parts.
"""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from typing import Protocol

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from schemas.entry import NONCE_BYTES
from schemas.scope import Scope, pack, pack_scope, pack_subject


class RecordKey(msgspec.Struct, frozen=True, gc=False):
    """What sealing one body takes: key id (16 bytes), key (32), nonce (12)."""

    key_id: bytes
    key: bytes
    nonce: bytes


class KeySource(Protocol):
    """Where record keys come from: randomness in production, a recorded or seeded one in tests."""

    def draw(self) -> RecordKey:
        """A fresh key; never the same twice."""


class RandomKeys:
    """Keys from the operating system, drawn in blocks."""

    _SIZE = 60
    _BLOCK = 256

    def __init__(self) -> None:
        self._pool = b""
        self._at = 0

    def draw(self) -> RecordKey:
        """A fresh random key."""
        if self._at == len(self._pool):
            self._pool = os.urandom(self._SIZE * self._BLOCK)
            self._at = 0
        raw = self._pool[self._at : self._at + self._SIZE]
        self._at += self._SIZE
        return RecordKey(raw[:16], raw[16:48], raw[48:])


class SeededKeys:
    """Keys from a seed: for tests that compare ledgers byte for byte. Never for production."""

    def __init__(self, seed: bytes) -> None:
        self._seed = seed
        self.drawn = 0

    def draw(self) -> RecordKey:
        """The next key of the sequence."""
        self.drawn += 1
        raw = hashlib.shake_256(self._seed + self.drawn.to_bytes(8, "big")).digest(60)
        return RecordKey(raw[:16], raw[16:48], raw[48:])


def seal(key: RecordKey, body: bytes, associated: bytes) -> bytes:
    """Nonce, ciphertext and tag."""
    return key.nonce + AESGCM(key.key).encrypt(key.nonce, body, associated)


def unseal(key: bytes, sealed: bytes, associated: bytes) -> bytes | None:
    """The body, or None if key, bytes or header do not fit each other."""
    try:
        return AESGCM(key).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], associated)
    except (InvalidTag, ValueError):  # too short to hold a nonce, a tag
        return None


_DOMAINS = (
    b"scope",
    b"subject",
    b"adapter",
    b"observation",
    b"fact",
    b"record",
    b"event",
    b"idempotency",
    b"content",
    b"attribute",
)


class Hasher:
    """Keyed hashes of ids and names, 16 bytes; `key` is derived from the master secret."""

    def __init__(self, key: bytes) -> None:
        self._keyed = {
            domain: hashlib.blake2b(digest_size=16, key=key, person=domain) for domain in _DOMAINS
        }
        self.scope = lru_cache(maxsize=8192)(self._scope)
        self.subject = lru_cache(maxsize=8192)(self._subject)
        self.adapter = lru_cache(maxsize=1024)(self._adapter)

    def _hash(self, domain: bytes, data: bytes) -> bytes:
        state = self._keyed[domain].copy()
        state.update(data)
        return state.digest()

    def _scope(self, scope: Scope) -> bytes:
        return self._hash(b"scope", pack_scope(scope))

    def _subject(self, scope: Scope) -> bytes:
        return self._hash(b"subject", pack_subject(scope))

    def _adapter(self, name: str) -> bytes:
        return self._hash(b"adapter", name.encode())

    def observation(self, scope: bytes, event_id: str) -> bytes:
        """An observation id within a scope (given by its hash)."""
        return self._hash(b"observation", scope + event_id.encode())

    def fact(self, scope: bytes, fact_id: str) -> bytes:
        """A fact id within a scope."""
        return self._hash(b"fact", scope + fact_id.encode())

    def record(self, scope: bytes, kind: int, record_id: str) -> bytes:
        """A record id of any other kind within a scope."""
        return self._hash(b"record", scope + bytes((kind,)) + record_id.encode())

    def event(self, scope: bytes, kind: int, event_id: str) -> bytes:
        """An event id within a scope and kind, for receipts."""
        return self._hash(b"event", scope + bytes((kind,)) + event_id.encode())

    def idempotency(self, scope: bytes, adapter: bytes, kind: int, key: str) -> bytes:
        """(adapter, scope, kind, idempotency key)."""
        return self._hash(b"idempotency", scope + adapter + bytes((kind,)) + key.encode())

    def content(self, data: bytes) -> bytes:
        """The caller's content, for telling a repeat from a conflict."""
        return self._hash(b"content", data)

    def entity_attribute(self, scope: bytes, entity: str, attribute: str) -> bytes:
        """A normalised (entity, attribute) within a scope."""
        return self._hash(b"attribute", scope + pack(entity, attribute))


def quote_key(record_key: bytes) -> bytes:
    """The key of quotes of a record: derived from its record key, so it dies with it."""
    return hashlib.blake2b(b"", digest_size=32, key=record_key, person=b"quote-key").digest()


def quote_digest(key: bytes, quote: bytes) -> bytes:
    """A quote's digest under its source's quote key."""
    return hashlib.blake2b(quote, digest_size=16, key=key, person=b"quote").digest()
