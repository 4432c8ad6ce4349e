"""Fields read by their place are those of the whole entry, whatever it holds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from schemas.entry import FORMAT_VERSION, Header, header_bytes, make_entry
from schemas.entry_fields import SMALLEST, body_fields, chain_fields
from schemas.kinds import Decision, Kind, Reason

BYTES16 = st.binary(min_size=16, max_size=16)
U64 = st.integers(0, 2**64 - 1)
I64 = st.integers(-(2**63), 2**63 - 1)
U16 = st.integers(0, 2**16 - 1)
BYTE = st.integers(0, 255)
HEADERS = st.builds(
    Header,
    kind=st.sampled_from([int(kind) for kind in Kind]),
    decision=st.sampled_from([int(decision) for decision in Decision]),
    reason=st.sampled_from([int(reason) for reason in Reason]),
    flags=BYTE,
    tier=BYTE,
    target_type=BYTE,
    sequence=U64,
    recorded_at=I64,
    previous=st.binary(min_size=32, max_size=32),
    follows=U64,
    policy=st.binary(min_size=8, max_size=8),
    schema=U16,
    normaliser=U16,
    topic=BYTE,
    partition=U16,
    offset=U64,
    append_ms=I64,
    key_id=BYTES16,
    scope=BYTES16,
    subject=BYTES16,
    record=BYTES16,
    idempotency=BYTES16,
    content=BYTES16,
    target=BYTES16,
    supersedes=BYTES16,
    entity_attribute=BYTES16,
    adapter=BYTES16,
    sources=st.lists(BYTES16, max_size=5).map(tuple),
)


@given(HEADERS, st.binary(max_size=80))
def test_fields_by_their_place_are_the_headers(header: Header, sealed: bytes) -> None:
    entry = make_entry(header, header_bytes(header), sealed)
    assert len(entry.stored) >= SMALLEST
    assert chain_fields(entry.stored) == (
        FORMAT_VERSION,
        header.kind,
        header.decision,
        header.reason,
        header.sequence,
        header.recorded_at,
        header.previous,
        header.partition,
        len(header.sources),
    )
    assert tuple(body_fields(entry.stored)) == (
        header.kind,
        header.decision,
        header.sequence,
        header.follows,
        header.key_id,
        header.record,
        header.sources,
        entry.header_bytes,
        sealed,
        entry.hash,
    )
