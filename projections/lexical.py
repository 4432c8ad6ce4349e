"""Lexical search over one scope: BM25 on what the caller may see (SPEC §8); pure.

Rules
- **Visible only.** What a term weighs and how long a text is for its scope is taken from the
  visible documents of the tail; in a scope without blocks, which is one of ordinary size, these are
  all of them. A hidden document changes no weight, no score, no order and no result.
- **Filter, then cut.** Candidates from blocks are judged best first until `limit` visible ones are
  found: the hits are those of brute force over every visible document. If `JUDGED` were judged and
  that was not enough, the answer says that it is not `complete`.
- **Ordered.** By score, the greater first; of equal scores the later admitted first. Same
  documents, same query: same bits, since each sum runs in the order of the query's terms.
- A query without a word or symbol is `NoSearchableTerms`, which is neither an error nor an empty
  result. User text is never grammar (`projections.text`).

A scope's documents have the ordinals 0, 1, 2, ... in order of admission. Blocks hold the first
`count * BLOCK` of them, the tail all others.

BM25 as in Lucene (k1 = 1.2, b = 0.75), with frequencies up to 63 and a document's length in
characters of its search form. Scores are computed over whole columns: 101,000 documents take
milliseconds even where every term is common, so nothing depends on a bound that skips candidates.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence, Set
from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from projections.postings import (
    BLOCK,
    FREQUENCY_LIMIT,
    LENGTHS_KEY,
    bucket_key,
    checked,
    read_lengths,
    read_postings,
    unpack,
)
from projections.terms import Texts
from projections.text import query_terms

K1: Final = 1.2
B: Final = 0.75
JUDGED: Final = 2048
"""How many candidates from blocks are judged for one query at most."""

_STRIDE: Final = 256
_TABLE_ROWS: Final = 64


class Tail(NamedTuple):
    """The visible documents that no block holds: their ordinals, ascending, and their texts."""

    ordinals: NDArray[np.int64]
    texts: Texts


class Scope(Protocol):
    """The rest of a scope, in the state that the tail was read from; `count` blocks from 0 on."""

    count: int

    def rows(self, keys: Sequence[tuple[int, bytes]]) -> Sequence[bytes | None]:
        """The rows under (block, key) in that order; None for one that is not there."""

    def visible(self, ordinals: Sequence[int]) -> Set[int]:
        """Those documents of the blocks that may be hits."""

    def candidate(self, ordinal: int) -> Hashable:
        """What a visible document is a part of; the best of its documents stands for it."""


class Hit(NamedTuple):
    """A document and its BM25 score (> 0)."""

    ordinal: int
    score: float


class LexicalResult(NamedTuple):
    """The best documents, best first.

    `truncated` if the query had terms beyond the limit, `complete` unless candidates were left
    unjudged.
    """

    hits: tuple[Hit, ...]
    terms: tuple[str, ...]
    truncated: bool
    complete: bool


class NoSearchableTerms(NamedTuple):
    """The query holds nothing that could be searched for."""

    query: str


class _Scale(NamedTuple):
    """What visible documents say a term weighs and a character damps."""

    weights: Sequence[float]
    slope: float


Postings = Sequence[tuple[NDArray[np.int64], NDArray[np.float64]]]


def search(
    tail: Tail, wanted: NDArray[np.bool_], rest: Scope, query: str, limit: int
) -> LexicalResult | NoSearchableTerms:
    """The `limit` best candidates for a query, each by its best document.

    `wanted` says which places of the tail may be hits; it changes no weight. Raises
    `PostingsDamaged`.
    """
    terms, truncated = query_terms(query)
    if not terms:
        return NoSearchableTerms(query)
    postings = [
        (one.places, np.minimum(one.counts.astype(np.float64), FREQUENCY_LIMIT))
        for one in tail.texts.occurrences(terms)
    ]
    lengths = tail.texts.lengths
    scale = _Scale(
        [_inverse_frequency(len(lengths), len(places)) for places, _ in postings],
        K1 * B * len(lengths) / max(int(lengths.sum()), 1),
    )
    scores = _scores(lengths, postings, scale)
    scores[: len(lengths)][~wanted] = 0
    hits = _merged(_best(scores, tail.ordinals, len(lengths)), rest, limit)
    complete = True
    if rest.count and limit:
        hits, complete = _with_blocks(rest, terms, scale, hits, limit)
    return LexicalResult(tuple(hits), terms, truncated, complete)


def _inverse_frequency(documents: int, having: int) -> float:
    """What a term weighs that `having` of the documents hold; greater than 0."""
    return math.log(1 + (documents - having + 0.5) / (having + 0.5))


def _with_blocks(
    rest: Scope, terms: Sequence[str], scale: _Scale, hits: list[Hit], limit: int
) -> tuple[list[Hit], bool]:
    """The best of the tail's hits and the blocks' documents, and whether it is certain."""
    lengths, postings = _read(rest, terms)
    scores = _scores(lengths, postings, scale)
    candidates = list(_best(scores, np.arange(len(lengths)), JUDGED + 1))
    for start in range(0, JUDGED, _STRIDE):
        if _settled(hits, candidates[start:], limit):
            return hits, True
        stretch = candidates[start : start + _STRIDE]
        visible = rest.visible([hit.ordinal for hit in stretch])
        found = [*hits, *(hit for hit in stretch if hit.ordinal in visible)]
        hits = _merged(sorted(found, key=_rank), rest, limit)
    return hits, _settled(hits, candidates[JUDGED:], limit)


def _merged(hits: Iterable[Hit], rest: Scope, limit: int) -> list[Hit]:
    """The first of each candidate's hits, of the first `limit` candidates."""
    found: dict[Hashable, Hit] = {}
    for hit in hits:
        if len(found) == limit:
            break
        found.setdefault(rest.candidate(hit.ordinal), hit)
    return list(found.values())


def _settled(hits: list[Hit], candidates: list[Hit], limit: int) -> bool:
    """Whether no candidate can be among the best any more."""
    return not candidates or (len(hits) == limit and _rank(hits[-1]) < _rank(candidates[0]))


def _rank(hit: Hit) -> tuple[float, int]:
    return -hit.score, -hit.ordinal


def _read(rest: Scope, terms: Sequence[str]) -> tuple[NDArray[np.int64], Postings]:
    """Lengths of all blocks' documents, and the postings of each term."""
    numbers = range(rest.count)
    row_keys = [LENGTHS_KEY, *dict.fromkeys(map(bucket_key, terms))]
    wanted = [(block, key) for key in row_keys for block in numbers]
    rows: dict[bytes, list[bytes]] = {key: [] for key in row_keys}
    for (block, key), row in zip(wanted, rest.rows(wanted), strict=True):
        rows[key].append(checked(block, key, row))
    postings = []
    for term in terms:
        name = term.encode()
        packed = [read_postings(row, name) for row in rows[bucket_key(term)]]
        places, frequencies = unpack(b"".join(packed))
        places += np.repeat(np.arange(len(packed)) * BLOCK, [len(part) // 2 for part in packed])
        postings.append((places, frequencies))
    return read_lengths(rows[LENGTHS_KEY]).astype(np.int64), postings


def _scores(lengths: NDArray[np.int64], postings: Postings, scale: _Scale) -> NDArray[np.float64]:
    """BM25 by place; padded with zeros to whole rows of a table."""
    damping = lengths * scale.slope + K1 * (1 - B)
    scores = np.zeros(-(-len(lengths) // _TABLE_ROWS) * _TABLE_ROWS)
    for (places, frequencies), weight in zip(postings, scale.weights, strict=True):
        scores[places] += weight * (K1 + 1) * frequencies / (frequencies + damping[places])
    return scores


def _best(scores: NDArray[np.float64], ordinals: NDArray[np.int64], limit: int) -> Iterator[Hit]:
    """The documents of the `limit` best scores above 0, best first."""
    found = _at_least(scores, limit)
    order = np.lexsort((ordinals[found], scores[found]))[::-1][:limit]
    found = found[order]
    return map(Hit, ordinals[found].tolist(), scores[found].tolist())


def _at_least(scores: NDArray[np.float64], limit: int) -> NDArray[np.int64]:
    """The places that score more than 0 and not less than the `limit`-th best; maybe a few more.

    With the scores laid out as a table, `limit` columns have a best that is not below the
    `limit`-th best of these bests; so the worst of the `limit` best scores is not below it either.
    """
    columns = scores.reshape(_TABLE_ROWS, -1).max(axis=0, initial=0)
    least = np.partition(columns, -limit)[-limit] if len(columns) > limit else 0
    return np.flatnonzero((scores > 0) & (scores >= least))
