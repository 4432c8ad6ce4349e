"""UUIDv7 of RFC 9562, from time and randomness that are passed in."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.ids import uuid7


def test_uuid7_is_pinned_by_the_example_of_rfc_9562() -> None:
    random = bytes.fromhex("0cc3") + bytes.fromhex("18c4dc0c0c07398f")
    assert uuid7(0x017F22E279B0, random) == "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"


@given(st.integers(0, 2**48 - 1), st.binary(min_size=10, max_size=10))
def test_uuid7_is_version_7_and_sorts_by_time(now_ms: int, random: bytes) -> None:
    made = uuid.UUID(uuid7(now_ms, random))
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert made.int >> 80 == now_ms


def test_uuid7_takes_ten_bytes_and_48_bits() -> None:
    with pytest.raises(ValueError, match="10 random bytes"):
        uuid7(0, b"123")
    with pytest.raises(ValueError, match="48 bits"):
        uuid7(2**48, bytes(10))
