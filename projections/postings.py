"""Posting blocks: the index of 1,024 neighbouring records of a scope, as rows of bytes; no I/O.

Rules
- A block is built once, from the texts of its records in order of admission, and is a function of
  its number and them alone: the same texts give the same bytes (SPEC §3).
- Every row of a block is always there. A row that is missing, or changed, or that belongs to
  another place, is damage (`PostingsDamaged`), never an empty list (SPEC §5, "reads check what
  they serve").
- A query reads the lengths and one row for each bucket that its terms fall into.

Byte layout (little-endian, unsigned)
    key      "l"                      lengths of the block's records
             "t" bucket:u8            postings of the terms with CRC-32(term) mod 64 = bucket
    row      body  check:u32          check = CRC-32 over block:u32, key, body
    lengths  1,024 x u32              characters of each record's search form
    bucket   terms:u32  names:u32     how many terms there are, how many bytes of names
             terms x end:u32          where each term's postings end, counted in postings
             NUL (term NUL)*          names, UTF-8, in byte order (no term holds a NUL)
             postings x u16           by term, then record
    posting  record * 64 + frequency  record in the block 0..1023, frequency 1..63 (63: or more)

The CRC finds accidents and misplaced rows; it proves nothing about authorship. To erase a record,
the block is built again with an empty text in its place: its words go, its ordinal stays.
"""

from __future__ import annotations

import struct
import zlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain, count, pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from projections.text import search_form, tokens_of
from schemas.errors import MnemologError

BLOCK: Final = 1024
"""Records of a block; those of block b have the ordinals b * 1024 to b * 1024 + 1023."""

FREQUENCY_LIMIT: Final = 63
"""How often a term counts in one record."""

LENGTHS_KEY: Final = b"l"

_BUCKETS: Final = 64
_U32: Final = struct.Struct("<I")
_BUCKET_HEAD: Final = struct.Struct("<II")


class PostingsDamaged(MnemologError):
    """A stored row of a lexical index is missing, changed or out of place.

    `key` is the row's key in the block. Remedy: rebuild the projections from the ledger.
    """

    def __init__(self, block: int, key: bytes, detail: str) -> None:
        super().__init__(f"lexical index, block {block}, row {key!r}: {detail} (run `replay`)")
        self.block = block
        self.key = key
        self.detail = detail


def bucket_key(term: str) -> bytes:
    """The key, in every block, of the row that holds a term's postings."""
    return _bucket_key(_bucket(term.encode()))


def _bucket(term: bytes) -> int:
    return zlib.crc32(term) % _BUCKETS


def _bucket_key(bucket: int) -> bytes:
    return b"t%c" % bucket


def build_block(block: int, texts: Sequence[str]) -> dict[bytes, bytes]:
    """Every row of a block by key. Raises `ValueError` unless there are `BLOCK` texts."""
    if len(texts) != BLOCK:
        raise ValueError(f"texts: a block takes {BLOCK}, not {len(texts)}; keep the rest as tail")
    forms = [search_form(text) for text in texts]
    words = [tokens_of(form) for form in forms]
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    term_of = np.array(list(map(numbers.__getitem__, chain.from_iterable(words))), np.int64)
    record_of = np.repeat(np.arange(BLOCK), [len(found) for found in words])
    pairs, frequencies = np.unique(term_of * BLOCK + record_of, return_counts=True)
    packed = pairs % BLOCK * 64 + np.minimum(frequencies, FREQUENCY_LIMIT)
    postings = packed.astype("<u2").tobytes()
    bounds = np.searchsorted(pairs, np.arange(len(numbers) + 1) * BLOCK) * 2

    buckets: list[list[tuple[bytes, bytes]]] = [[] for _ in range(_BUCKETS)]
    for term, (start, end) in zip(map(str.encode, numbers), pairwise(bounds.tolist()), strict=True):
        buckets[_bucket(term)].append((term, postings[start:end]))
    bodies = {_bucket_key(at): _bucket_body(sorted(terms)) for at, terms in enumerate(buckets)}
    bodies[LENGTHS_KEY] = np.array([len(form) for form in forms], "<u4").tobytes()
    return {key: body + _check(block, key, body) for key, body in bodies.items()}


def _bucket_body(terms: Sequence[tuple[bytes, bytes]]) -> bytes:
    names = b"".join([b"\0", *(name + b"\0" for name, _ in terms)])
    ends = np.cumsum([len(postings) // 2 for _, postings in terms], dtype="<u4")
    head = _BUCKET_HEAD.pack(len(terms), len(names))
    return b"".join([head, ends.tobytes(), names, *(postings for _, postings in terms)])


def _check(block: int, key: bytes, body: bytes | memoryview) -> bytes:
    return _U32.pack(zlib.crc32(body, zlib.crc32(_U32.pack(block) + key)))


def checked(block: int, key: bytes, row: bytes | None) -> bytes:
    """A row as it was read. Raises `PostingsDamaged` if it is not what was stored there."""
    if row is None:
        raise PostingsDamaged(block, key, "is missing")
    if row[-4:] != _check(block, key, memoryview(row)[:-4]):
        raise PostingsDamaged(block, key, "does not fit its check sum")
    return row


def read_lengths(rows: Iterable[bytes]) -> NDArray[np.uint32]:
    """The lengths in checked rows of lengths, one after the other."""
    return np.frombuffer(b"".join(row[:-4] for row in rows), "<u4")


def read_postings(row: bytes, term: bytes) -> bytes:
    """A term's packed postings in its bucket's checked row, two bytes each; empty if none."""
    terms, names_length = _BUCKET_HEAD.unpack_from(row)
    names = 8 + 4 * terms
    postings = names + names_length
    at = row.find(b"\0%b\0" % term, names, postings)
    if at < 0:
        return b""
    index = row.count(b"\0", names, at)
    start = _U32.unpack_from(row, 4 + 4 * index)[0] if index else 0
    end = _U32.unpack_from(row, 8 + 4 * index)[0]
    return row[postings + 2 * start : postings + 2 * end]


def unpack(postings: bytes) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Records (places in their block) and frequencies of packed postings."""
    packed = np.frombuffer(postings, "<u2")
    return (packed >> 6).astype(np.int64), (packed & 63).astype(np.float64)
