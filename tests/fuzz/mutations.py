"""Ways to damage bytes and JSON, all drawn from one seeded source."""

from __future__ import annotations

import json
from random import Random
from typing import Any

LONGEST = 400_000  # bytes that a mutated input may grow to, now and then
NUMBERS = (0, 1, 2, 7, 31, 63, 64, 127, 128, 2**14, 2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1)
WORDS = ("null", "string", "long", "record", "enum", "array", "map", "fixed", "bytes", "", "type")
TEXTS = (b"\xff", b"\xed\xa0\x80", b"\x00", "é".encode(), "\u202e".encode(), b"\xf4\x90\x80\x80")


def varint(rng: Random) -> bytes:
    """An Avro long: ordinary, extreme, written too long, or without an end."""
    number = rng.choice(NUMBERS) + rng.randint(-1, 1)
    bits = (
        (number << 1 ^ -(number < 0)) & (2**70 - 1) if rng.random() < 0.8 else rng.getrandbits(70)
    )
    found = bytearray()
    while bits > 127 or rng.random() < 0.1:
        found.append(bits & 127 | 128)
        bits >>= 7
        if len(found) > 12:
            break
    return bytes([*found, bits & 127])


def damaged(rng: Random, data: bytes, other: bytes) -> bytes:
    """The bytes after up to six changes; `other` is spliced from."""
    raw = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        _CHANGES[rng.randrange(len(_CHANGES))](rng, raw, other)
    return bytes(raw)


def _flip(rng: Random, raw: bytearray, other: bytes) -> None:
    if raw:
        raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)


def _put(rng: Random, raw: bytearray, other: bytes) -> None:
    at = rng.randint(0, len(raw))
    raw[at : at + rng.choice((0, 1, 1, 2))] = varint(rng)


def _text(rng: Random, raw: bytearray, other: bytes) -> None:
    at = rng.randint(0, len(raw))
    text = rng.choice(TEXTS)
    raw[at : at + rng.choice((0, len(text)))] = text


def _cut(rng: Random, raw: bytearray, other: bytes) -> None:
    at = rng.randint(0, len(raw))
    del raw[at : at + rng.choice((1, 2, 8, len(raw)))]


def _splice(rng: Random, raw: bytearray, other: bytes) -> None:
    start = rng.randint(0, len(other))
    piece = other[start : start + rng.randint(0, 64)]
    at = rng.randint(0, len(raw))
    raw[at : at + rng.choice((0, len(piece)))] = piece


def _repeat(rng: Random, raw: bytearray, other: bytes) -> None:
    at = rng.randint(0, len(raw))
    piece = bytes(raw[at : at + rng.randint(1, 16)]) or b"\x00"
    times = rng.choice((1, 2, 100)) if rng.random() < 0.97 else LONGEST // len(piece)
    raw[at:at] = piece * times


_CHANGES = (_flip, _put, _text, _cut, _splice, _repeat)


def damaged_json(rng: Random, text: str) -> str:
    """A JSON text after up to four changes of its structure, or a few of its letters."""
    if rng.random() < 0.1:
        return damaged(rng, text.encode(), b'{"type": [null, -1e999]}').decode(errors="replace")
    value: Any = json.loads(text)
    for _ in range(rng.choice((1, 1, 2, 4))):
        value = _changed(rng, value)
    return json.dumps(value)


def _changed(rng: Random, value: Any) -> Any:
    """One change, somewhere inside."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        name = rng.choice(list(value))
        return {**value, name: _changed(rng, value[name])}
    if isinstance(value, list) and value:
        at = rng.randrange(len(value))
        return rng.choice((
            lambda: [*value[:at], _changed(rng, value[at]), *value[at + 1 :]],
            lambda: [*value[:at], *value[at + 1 :]],
            lambda: [*value, value[at]],
            lambda: rng.sample(value, len(value)),
            lambda: [value],
        ))()  # fmt: skip
    return rng.choice((
        None, True, rng.choice(NUMBERS), -1.5, rng.choice(WORDS), [], {}, [value],
        {"type": value}, {"type": "array", "items": value}, ["null", value],
    ))  # fmt: skip
