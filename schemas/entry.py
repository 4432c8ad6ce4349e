"""The ledger entry: clear header, sealed body, hash (SPEC §3, I1). All layouts stand here.

Each entry commits to its predecessor: hash = SHA-256 over the stored bytes of header and sealed
body, and the header holds the predecessor's hash. The header is all that a fold needs once bodies
are gone; it has keyed hashes, never an id, name or value (`sealing.Hasher`). Layout, big-endian:

    0    B   format version (1)          64   8s  policy version
    1    B   kind                        72   H   schema version
    2    B   decision                    74   H   normaliser version
    3    B   reason                      76   B   intake topic (a Kind; 0: none)
    4    B   flags (below)               77   H   intake partition
    5    B   tier of the adapter         79   Q   intake offset
    6    B   target type (below)         87   q   intake append time, ms
    7    B   reserved, 0                 95   16s key id (zeros: no body)
    8    Q   sequence                    111  16s scope        127 16s subject
    16   q   recorded time τ, µs         143  16s record id    159 16s idempotency
    24   32s hash of the predecessor     175  16s content      191 16s target id
    56   Q   sequence of the entry that  207  16s supersedes   223 16s (entity, attribute)
             this one follows up, or 2^64-1   239  16s adapter
    255  H   number of sources, then 16 bytes for each
    …    I   length of the sealed body, then nonce (12), ciphertext and tag (16)
    …    32s hash

Flags: 1 the cap is `accepted`; 2 some justification has a quote; 4 the author has role operator;
8 the entry moves its scope's head. Target types: 0 none, 1 observation, 2 fact, 3 subject, 4 scope.
Beyond SPEC §3's list the header keeps tier, adapter, flags and sources: by these authority,
supersession and "all of whose sources are deleted" are judged after erasure (docs/adr/0003).
"""

from __future__ import annotations

import hashlib
import struct

import msgspec

from schemas.errors import MnemologError
from schemas.kinds import Decision, Kind, Reason

FORMAT_VERSION = 1
SCHEMA_VERSION = 1
GENESIS = bytes(32)
NONE16 = bytes(16)
NO_FOLLOW_UP = 2**64 - 1
NONCE_BYTES = 12

CAP_ACCEPTED = 1
QUOTED = 2
BY_OPERATOR = 4
MOVES_HEAD = 8

TARGET_NONE, TARGET_OBSERVATION, TARGET_FACT, TARGET_SUBJECT, TARGET_SCOPE = range(5)
TARGET_TYPE = {
    "observation": TARGET_OBSERVATION,
    "fact": TARGET_FACT,
    "subject": TARGET_SUBJECT,
    "scope": TARGET_SCOPE,
}

_FIXED = struct.Struct(">8BQq32sQ8sHHBHQq" + "16s" * 10 + "H")
_LENGTH = struct.Struct(">I")
HASH_BYTES = 32


class MalformedEntry(MnemologError):
    """Bytes that are not a ledger entry of a known format."""


class Header(msgspec.Struct, frozen=True, gc=False):
    """The clear part of an entry; hashes are keyed, 16 bytes, `NONE16` where there is none."""

    kind: int
    decision: int
    reason: int
    flags: int
    tier: int
    target_type: int
    sequence: int
    recorded_at: int
    previous: bytes
    follows: int
    policy: bytes
    schema: int
    normaliser: int
    topic: int
    partition: int
    offset: int
    append_ms: int
    key_id: bytes
    scope: bytes
    subject: bytes
    record: bytes
    idempotency: bytes
    content: bytes
    target: bytes
    supersedes: bytes
    entity_attribute: bytes
    adapter: bytes
    sources: tuple[bytes, ...]


class Entry(msgspec.Struct, frozen=True, gc=False):
    """An entry as stored: header, its canonical bytes, sealed body (nonce first), hash."""

    header: Header
    header_bytes: bytes
    sealed: bytes
    hash: bytes

    @property
    def stored(self) -> bytes:
        """The bytes of the ledger record."""
        return b"".join((self.header_bytes, _LENGTH.pack(len(self.sealed)), self.sealed, self.hash))


def header_bytes(header: Header) -> bytes:
    """Canonical bytes of a header; also the associated data of the sealed body."""
    h = header
    fixed = _FIXED.pack(
        FORMAT_VERSION,
        h.kind,
        h.decision,
        h.reason,
        h.flags,
        h.tier,
        h.target_type,
        0,
        h.sequence,
        h.recorded_at,
        h.previous,
        h.follows,
        h.policy,
        h.schema,
        h.normaliser,
        h.topic,
        h.partition,
        h.offset,
        h.append_ms,
        h.key_id,
        h.scope,
        h.subject,
        h.record,
        h.idempotency,
        h.content,
        h.target,
        h.supersedes,
        h.entity_attribute,
        h.adapter,
        len(h.sources),
    )
    return fixed + b"".join(h.sources) if h.sources else fixed


def entry_hash(head: bytes, sealed: bytes) -> bytes:
    """SHA-256 over header bytes, body length and sealed body."""
    digest = hashlib.sha256(head)
    digest.update(_LENGTH.pack(len(sealed)))
    digest.update(sealed)
    return digest.digest()


def make_entry(header: Header, head: bytes, sealed: bytes) -> Entry:
    """Assemble an entry from its header, the header's bytes and the sealed body."""
    return Entry(header, head, sealed, entry_hash(head, sealed))


def parse_entry(data: bytes | None) -> Entry:
    """The entry in a ledger record, its hash checked; raises `MalformedEntry` naming the fault."""
    if data is None or len(data) < _FIXED.size + _LENGTH.size + HASH_BYTES:
        raise MalformedEntry("shorter than the smallest entry")
    fields = _FIXED.unpack_from(data)
    if fields[0] != FORMAT_VERSION:
        raise MalformedEntry(f"format version {fields[0]} is not {FORMAT_VERSION}")
    at = _FIXED.size
    count = fields[-1]
    end = at + 16 * count
    if len(data) < end + _LENGTH.size + HASH_BYTES:
        raise MalformedEntry("cut within its sources")
    sources = tuple(data[at + 16 * i : at + 16 * (i + 1)] for i in range(count))
    (size,) = _LENGTH.unpack_from(data, end)
    body = end + _LENGTH.size
    if len(data) != body + size + HASH_BYTES:
        raise MalformedEntry("its length does not fit its body")
    head, sealed, stated = data[:end], data[body : body + size], data[body + size :]
    if entry_hash(head, sealed) != stated:
        raise MalformedEntry("its hash does not fit its bytes")
    header = Header(*fields[1:7], *fields[8:-1], sources)  # type: ignore[call-arg]
    _check_vocabulary(header)
    return Entry(header, head, sealed, stated)


def _check_vocabulary(header: Header) -> None:
    for number, known, name in (
        (header.kind, _KINDS, "kind"),
        (header.decision, _DECISIONS, "decision"),
        (header.reason, _REASONS, "reason"),
    ):
        if number not in known:
            raise MalformedEntry(f"{number} is no known {name}")


_KINDS, _DECISIONS, _REASONS = frozenset(Kind), frozenset(Decision), frozenset(Reason)
