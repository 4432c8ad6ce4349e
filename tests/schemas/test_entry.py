"""The ledger entry's layout is pinned, and every byte of it is under the hash (SPEC §3, I1)."""

from __future__ import annotations

import hashlib

import pytest
from msgspec.structs import replace

from schemas.entry import (
    GENESIS,
    NO_FOLLOW_UP,
    Header,
    MalformedEntry,
    header_bytes,
    make_entry,
    parse_entry,
)
from schemas.scope import Scope
from schemas.sealing import Hasher, RecordKey, SeededKeys, quote_digest, quote_key, seal, unseal

HEADER = Header(
    kind=2, decision=1, reason=0, flags=11, tier=2, target_type=0, sequence=7,
    recorded_at=1_796_000_000_000_001, previous=GENESIS, follows=NO_FOLLOW_UP, policy=b"policy..",
    schema=1, normaliser=270, topic=2, partition=3, offset=9, append_ms=1_796_000_000_000,
    key_id=b"K" * 16, scope=b"S" * 16, subject=b"J" * 16, record=b"R" * 16, idempotency=b"I" * 16,
    content=b"C" * 16, target=b"T" * 16, supersedes=b"U" * 16, entity_attribute=b"E" * 16,
    adapter=b"A" * 16, sources=(b"1" * 16, b"2" * 16),
)  # fmt: skip
GOLDEN = (
    "010201000b020000"
    "0000000000000007"
    "00066173d6044001" + "00" * 32 + "ffffffffffffffff"
    "706f6c6963792e2e0001010e0200030000000000000009000001a229f12800"
    + "4b" * 16 + "53" * 16 + "4a" * 16 + "52" * 16 + "49" * 16 + "43" * 16 + "54" * 16
    + "55" * 16 + "45" * 16 + "41" * 16 + "0002" + "31" * 16 + "32" * 16
)  # fmt: skip


def test_the_header_layout_is_pinned() -> None:
    assert header_bytes(HEADER).hex() == GOLDEN


def test_an_entry_is_header_length_body_hash() -> None:
    head = header_bytes(HEADER)
    entry = make_entry(HEADER, head, b"sealed")
    covered = head + (6).to_bytes(4, "big") + b"sealed"
    assert entry.hash == hashlib.sha256(covered).digest()
    assert entry.stored == covered + entry.hash
    assert parse_entry(entry.stored) == entry


def test_every_flipped_bit_and_every_cut_is_found() -> None:
    stored = make_entry(HEADER, header_bytes(HEADER), b"sealed").stored
    for at in range(len(stored)):
        for bit in (1, 128):
            bent = bytearray(stored)
            bent[at] ^= bit
            with pytest.raises(MalformedEntry):
                parse_entry(bytes(bent))
        with pytest.raises(MalformedEntry):
            parse_entry(stored[:at])
    with pytest.raises(MalformedEntry):
        parse_entry(stored + b"\0")
    with pytest.raises(MalformedEntry):
        parse_entry(None)


def test_an_unknown_kind_decision_or_reason_is_refused_even_with_a_fitting_hash() -> None:
    for changes in ({"kind": 99}, {"decision": 99}, {"reason": 250}):
        header = replace(HEADER, **changes)
        with pytest.raises(MalformedEntry):
            parse_entry(make_entry(header, header_bytes(header), b"").stored)


def test_no_id_or_name_stands_in_clear() -> None:
    hasher = Hasher(b"k" * 32)
    scope = hasher.scope(Scope("acme", "support", "alice"))
    hashes = {
        scope, hasher.subject(Scope("acme", "support", "alice")), hasher.adapter("acme"),
        hasher.observation(scope, "x"), hasher.fact(scope, "x"), hasher.record(scope, 2, "x"),
        hasher.event(scope, 2, "x"), hasher.event(scope, 1, "x"), hasher.content(scope + b"x"),
        hasher.entity_attribute(scope, "x", ""), hasher.entity_attribute(scope, "", "x"),
    }  # fmt: skip
    assert len(hashes) == 11
    assert all(len(one) == 16 for one in hashes)
    assert Hasher(b"K" * 32).adapter("acme") not in hashes


def test_a_sealed_body_opens_under_its_key_and_header_alone() -> None:
    key = SeededKeys(b"s").draw()
    sealed = seal(key, b"body", b"header")
    assert unseal(key.key, sealed, b"header") == b"body"
    assert unseal(key.key, sealed, b"Header") is None
    assert unseal(bytes(32), sealed, b"header") is None
    assert unseal(key.key, sealed[:-1], b"header") is None
    assert isinstance(key, RecordKey)


def test_a_quote_digest_dies_with_its_sources_key() -> None:
    one, other = quote_key(b"1" * 32), quote_key(b"2" * 32)
    assert quote_digest(one, b"Berlin") == quote_digest(one, b"Berlin")
    assert quote_digest(one, b"Berlin") != quote_digest(other, b"Berlin")
    assert quote_digest(one, b"Berlin") != quote_digest(one, b"berlin")
