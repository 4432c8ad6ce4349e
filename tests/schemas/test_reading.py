"""JSON text is read strictly, and whatever the bytes, the only error is a refusal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import InvalidEvent
from schemas.reading import read_json
from tests.schemas.samples import fault_of


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"\xff{}", "not_utf8"),
        (b"{", "invalid_json"),
        (b"", "invalid_json"),
        (b'{"a":NaN}', "invalid_json"),
        (b'{"a":-Infinity}', "invalid_json"),
        (b'{"a":' + b"9" * 5_000 + b"}", "invalid_json"),
        (b"[" * 100_000, "too_deep"),
        (b'{"scope":{"tenant":"a","tenant":"b"}}', "repeated_field"),
        (b"{} {}", "invalid_json"),
    ],
)
def test_json_text_is_read_strictly(data: bytes, code: str) -> None:
    assert fault_of(lambda: read_json(data)).code == code


def test_json_text_keeps_numbers_and_half_emoji_for_the_fields_own_refusal() -> None:
    assert read_json(b'{"a":9007199254740993,"b":"\\ud83d"}') == {
        "a": 9007199254740993,
        "b": "\ud83d",
    }


@given(st.binary(max_size=30) | st.text('[]{}":,ntruefalse0123456789.eE-+\\u ').map(str.encode))
def test_no_bytes_raise_anything_but_a_refusal(data: bytes) -> None:
    try:
        read_json(data)
    except InvalidEvent as refusal:
        str(refusal).encode()
