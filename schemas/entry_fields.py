"""Single fields of a stored entry by their place, for checks that read millions of them (I1).

The layout is that of `schemas.entry`; what is read here is what a check needs and no more, in a
third of the time that a whole `Header` takes. Neither function checks a hash: `chain_fields` is for
who does, `body_fields` for entries that were checked.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from schemas.entry import HASH_BYTES

_CHAIN = struct.Struct(">4B4xQq32s21xH176xH")
_BODY = struct.Struct(">xBB5xQ40xQ31x16s32x16s96xH")
FIXED_BYTES = _CHAIN.size
LENGTH_BYTES = 4
SMALLEST = FIXED_BYTES + LENGTH_BYTES + HASH_BYTES

chain_fields = _CHAIN.unpack_from
"""(format version, kind, decision, reason, sequence, recorded time, hash of the predecessor, intake
partition, number of sources) of at least `SMALLEST` bytes."""


class BodyFields(NamedTuple):
    """What opening and judging a body takes; `sources` are 16 bytes each, `head` is associated."""

    kind: int
    decision: int
    sequence: int
    follows: int
    key_id: bytes
    record: bytes
    sources: tuple[bytes, ...]
    head: bytes
    sealed: bytes
    hash: bytes


def body_fields(data: bytes) -> BodyFields:
    """The fields of a whole entry."""
    kind, decision, sequence, follows, key_id, record, count = _BODY.unpack_from(data)
    end = FIXED_BYTES + 16 * count
    sources = tuple(data[at : at + 16] for at in range(FIXED_BYTES, end, 16))
    return BodyFields(
        kind,
        decision,
        sequence,
        follows,
        key_id,
        record,
        sources,
        data[:end],
        data[end + LENGTH_BYTES : -HASH_BYTES],
        data[-HASH_BYTES:],
    )
