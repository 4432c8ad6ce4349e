"""Lexical search over one scope: BM25 on what the caller may see (SPEC §8); pure.

Rules
- **Visible only.** `hidden` is taken out before anything is counted: the number of documents, their
  mean length, each term's document frequency, and the candidates. A hidden document changes no
  score, no order and no result, and nothing is filtered after the top k was taken.
- **Exact.** The hits are those of brute force over every visible document, wherever its words
  stand: in the tail, whose texts are searched as they are, or in a block of postings.
- **Ordered.** By score, the greater first; of equal scores the later admitted first. Same
  documents, same query: same bits, since each sum runs in the order of the query's terms.
- A query without a word or symbol is `NoSearchableTerms`, which is neither an error nor an empty
  result. User text is never grammar (`projections.text`).

A scope's documents have the ordinals 0, 1, 2, ... in order of admission. Blocks hold the first
`block_count * BLOCK` of them, the tail all others; an ordinal missing from the tail is no document.
An erased document of a block stays hidden for good.

BM25 as in Lucene (k1 = 1.2, b = 0.75), with frequencies up to 63 and a document's length in
characters of its search form, so that a text without the query's terms is never cut into words.
Scores of blocks are computed over whole columns: 101,000 documents take milliseconds even where
every term is common, so nothing depends on a bound that skips candidates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence, Set
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
from projections.text import count_terms, query_terms, search_form

K1: Final = 1.2
B: Final = 0.75

_TABLE_ROWS: Final = 64


class LexicalStore(Protocol):
    """What search reads of a scope; all of it from one consistent state."""

    def tail(self, scope: bytes) -> Iterable[tuple[int, str]]:
        """Ordinal and text of each document that no block holds, in any order."""

    def block_count(self, scope: bytes) -> int:
        """How many blocks there are, numbered from 0."""

    def block_rows(self, scope: bytes, keys: Sequence[tuple[int, bytes]]) -> Sequence[bytes | None]:
        """The rows under (block, key) in that order; None for one that is not there."""


class Hit(NamedTuple):
    """A document and its BM25 score (> 0)."""

    ordinal: int
    score: float


class LexicalResult(NamedTuple):
    """The best documents, best first; `truncated` if the query had terms beyond the limit."""

    hits: tuple[Hit, ...]
    terms: tuple[str, ...]
    truncated: bool


class NoSearchableTerms(NamedTuple):
    """The query holds nothing that could be searched for."""

    query: str


class _Area(NamedTuple):
    """The documents of the blocks, or of the tail: places 0, 1, 2, ... and what stands there.

    `documents` and `characters` count the visible ones, also those without a term; `postings` has
    for each term the places of visible documents (distinct) and the frequencies there.
    """

    documents: int
    characters: int
    ordinals: NDArray[np.int64]
    lengths: NDArray[np.float64]
    postings: Sequence[tuple[NDArray[np.int64], NDArray[np.float64]]]


def search(
    store: LexicalStore, scope: bytes, query: str, hidden: Set[int], limit: int
) -> LexicalResult | NoSearchableTerms:
    """The `limit` best visible documents for a query.

    `hidden` holds ordinals; what the scope does not have is ignored. Raises `PostingsDamaged`.
    """
    terms, truncated = query_terms(query)
    if not terms:
        return NoSearchableTerms(query)
    areas = (_blocks(store, scope, terms, hidden), _tail(store, scope, terms, hidden))
    documents = sum(area.documents for area in areas)
    characters = sum(area.characters for area in areas)
    having = (sum(len(area.postings[at][0]) for area in areas) for at in range(len(terms)))
    weights = [_inverse_frequency(documents, count) for count in having]
    hits = [hit for area in areas for hit in _best(area, weights, documents, characters, limit)]
    hits.sort(key=lambda hit: (-hit.score, -hit.ordinal))
    return LexicalResult(tuple(hits[:limit]), terms, truncated)


def _inverse_frequency(documents: int, having: int) -> float:
    """What a term weighs that `having` of the documents hold; greater than 0."""
    return math.log(1 + (documents - having + 0.5) / (having + 0.5))


def _blocks(store: LexicalStore, scope: bytes, terms: Sequence[str], hidden: Set[int]) -> _Area:
    blocks = range(store.block_count(scope))
    row_keys = [LENGTHS_KEY, *dict.fromkeys(map(bucket_key, terms))]
    wanted = [(block, key) for key in row_keys for block in blocks]
    rows: dict[bytes, list[bytes]] = {key: [] for key in row_keys}
    for (block, key), row in zip(wanted, store.block_rows(scope, wanted), strict=True):
        rows[key].append(checked(block, key, row))

    lengths = read_lengths(rows[LENGTHS_KEY])
    unseen = np.array([at for at in hidden if 0 <= at < len(lengths)], np.int64)
    visible = np.ones(len(lengths), np.bool_)
    visible[unseen] = False
    postings = []
    for term in terms:
        name = term.encode()
        packed = [read_postings(row, name) for row in rows[bucket_key(term)]]
        places, frequencies = unpack(b"".join(packed))
        places += np.repeat(np.arange(len(packed)) * BLOCK, [len(part) // 2 for part in packed])
        if len(unseen):
            seen = visible[places]
            places, frequencies = places[seen], frequencies[seen]
        postings.append((places, frequencies))
    return _Area(
        documents=len(lengths) - len(unseen),
        characters=int(lengths.sum(dtype=np.int64) - lengths[unseen].sum(dtype=np.int64)),
        ordinals=np.arange(len(lengths)),
        lengths=lengths.astype(np.float64),
        postings=postings,
    )


def _tail(store: LexicalStore, scope: bytes, terms: Sequence[str], hidden: Set[int]) -> _Area:
    documents = [(ordinal, text) for ordinal, text in store.tail(scope) if ordinal not in hidden]
    forms = [search_form(text) for _, text in documents]
    lengths = [len(form) for form in forms]
    postings = []
    for found in count_terms(forms, terms):
        frequencies = np.array(list(found.values()), np.float64)
        postings.append((np.array(list(found), np.int64), np.minimum(frequencies, FREQUENCY_LIMIT)))
    return _Area(
        documents=len(documents),
        characters=sum(lengths),
        ordinals=np.array([ordinal for ordinal, _ in documents], np.int64),
        lengths=np.array(lengths, np.float64),
        postings=postings,
    )


def _best(
    area: _Area, weights: Sequence[float], documents: int, characters: int, limit: int
) -> Iterator[Hit]:
    """The best documents of an area, all that are among the best `limit` of the scope included."""
    damping = area.lengths * (K1 * B * documents / max(characters, 1)) + K1 * (1 - B)
    scores = np.zeros(-(-len(area.ordinals) // _TABLE_ROWS) * _TABLE_ROWS)
    for (places, frequencies), weight in zip(area.postings, weights, strict=True):
        scores[places] += weight * (K1 + 1) * frequencies / (frequencies + damping[places])
    found = _at_least(scores, limit)
    if len(found) > limit:
        found = found[np.lexsort((area.ordinals[found], scores[found]))[len(found) - limit :]]
    return map(Hit, area.ordinals[found].tolist(), scores[found].tolist())


def _at_least(scores: NDArray[np.float64], limit: int) -> NDArray[np.int64]:
    """The places that score more than 0 and not less than the `limit`-th best; maybe a few more.

    With the scores laid out as a table, `limit` columns have a best that is not below the
    `limit`-th best of these bests; so the worst of the `limit` best scores is not below it either.
    """
    columns = scores.reshape(_TABLE_ROWS, -1).max(axis=0, initial=0)
    least = np.partition(columns, -limit)[-limit] if len(columns) > limit else 0
    return np.flatnonzero((scores > 0) & (scores >= least))
