"""Ids made here: UUIDv7 (RFC 9562 §5.7), from a clock and randomness that are passed in."""

from __future__ import annotations

import uuid

RANDOM_BYTES = 10


def uuid7(now_ms: int, random_bytes: bytes) -> str:
    """The UUIDv7 of a time (ms since 1970, 48 bits) and 10 random bytes, of which 74 bits count."""
    if len(random_bytes) != RANDOM_BYTES:
        raise ValueError(f"uuid7 takes {RANDOM_BYTES} random bytes, not {len(random_bytes)}")
    if not 0 <= now_ms < 1 << 48:
        raise ValueError("uuid7 takes a time of 48 bits of milliseconds since 1970")
    random_a = int.from_bytes(random_bytes[:2], "big") & 0xFFF
    random_b = int.from_bytes(random_bytes[2:], "big") & (1 << 62) - 1
    number = now_ms << 80 | 0x7 << 76 | random_a << 64 | 0b10 << 62 | random_b
    return str(uuid.UUID(int=number))
