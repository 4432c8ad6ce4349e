"""Search equals brute force, and only what is visible counts (SPEC §8; field failures 32, 35, 65
to 71)."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence, Set

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from projections.lexical import Hit, LexicalResult, NoSearchableTerms, search
from projections.postings import BLOCK, LENGTHS_KEY, PostingsDamaged, bucket_key, build_block
from projections.text import query_terms, search_form, tokens

SCOPE = b"scope"
NOTHING: frozenset[int] = frozenset()
WORDS = [
    "the",
    "a",
    "ship",
    "ship-check",
    "bay:7",
    "Berlin",
    "船検査",
    "港",
    "검사",
    "été",
    "👍",
    "x",
]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)


class Documents:
    """A scope in memory, its first blocks built and the rest as tail."""

    def __init__(self, texts: Sequence[str], blocks: int = 0) -> None:
        self.rows: dict[tuple[int, bytes], bytes] = {}
        self._tail = list(enumerate(texts))[blocks * BLOCK :]
        self._blocks = blocks
        self.read = 0
        for block in range(blocks):
            built = build_block(block, texts[block * BLOCK : (block + 1) * BLOCK])
            self.rows |= {(block, key): row for key, row in built.items()}

    def tail(self, scope: bytes) -> Iterable[tuple[int, str]]:
        return self._tail if scope == SCOPE else []

    def block_count(self, scope: bytes) -> int:
        return self._blocks if scope == SCOPE else 0

    def block_rows(self, scope: bytes, keys: Sequence[tuple[int, bytes]]) -> Sequence[bytes | None]:
        self.read += len(keys)
        return [self.rows.get(key) for key in keys]


def brute_force(texts: Sequence[str], query: str, hidden: Set[int], limit: int) -> list[Hit]:
    """BM25 one document after the other; sums and products in the order of `lexical`."""
    visible = {o: text for o, text in enumerate(texts) if o not in hidden}
    words = {o: tokens(text) for o, text in visible.items()}
    lengths = {o: len(search_form(text)) for o, text in visible.items()}
    slope = 1.2 * 0.75 * len(visible) / max(sum(lengths.values()), 1)
    scores: dict[int, float] = {}
    for term in query_terms(query).terms:
        having = {o: min(count, 63) for o, found in words.items() if (count := found.count(term))}
        weight = math.log(1 + (len(visible) - len(having) + 0.5) / (len(having) + 0.5))
        for o, frequency in having.items():
            damping = lengths[o] * slope + 1.2 * (1 - 0.75)
            gain = weight * (1.2 + 1) * frequency / (frequency + damping)
            scores[o] = scores.get(o, 0.0) + gain
    ranked = sorted(scores.items(), key=lambda item: (item[1], item[0]), reverse=True)
    return [Hit(*item) for item in ranked[:limit]]


def hits_of(store: Documents, query: str, hidden: Set[int] = NOTHING, limit: int = 10) -> list[Hit]:
    result = search(store, SCOPE, query, hidden, limit)
    assert isinstance(result, LexicalResult)
    return list(result.hits)


def places_of(hits: Sequence[Hit]) -> list[int]:
    return [hit.ordinal for hit in hits]


def test_scores_are_those_of_the_textbook() -> None:
    texts = ["ship at bay", "a ship is a ship", "bay"]
    (hit,) = hits_of(Documents(texts), "is")
    weight = math.log(1 + (3 - 1 + 0.5) / (1 + 0.5))
    mean_length = (11 + 16 + 3) / 3
    expected = weight * 1 * (1.2 + 1) / (1 + 1.2 * (1 - 0.75 + 0.75 * 16 / mean_length))
    assert hit.ordinal == 1
    assert hit.score == pytest.approx(expected, rel=1e-12)


@given(
    st.lists(TEXTS, max_size=20),
    TEXTS.filter(str.strip),
    st.sets(st.integers(-1, 20)),
    st.integers(0, 8),
)
def test_search_of_a_tail_equals_brute_force(
    texts: list[str], query: str, hidden: set[int], limit: int
) -> None:
    expected = brute_force(texts, query, hidden, limit)
    assert hits_of(Documents(texts), query, hidden, limit) == expected


@settings(max_examples=25, deadline=None)
@given(
    few=st.lists(TEXTS, min_size=1, max_size=30),
    blocks=st.integers(1, 2),
    tail=st.integers(0, 40),
    queries=st.lists(TEXTS.filter(str.strip), min_size=1, max_size=3),
    hidden=st.sets(st.integers(0, 2 * BLOCK + 40), max_size=40),
    limit=st.sampled_from([0, 1, 3, 10, 70, 3000]),
    seed=st.randoms(use_true_random=False),
)
def test_search_of_blocks_and_tail_equals_brute_force(
    few: list[str],
    blocks: int,
    tail: int,
    queries: list[str],
    hidden: set[int],
    limit: int,
    seed: random.Random,
) -> None:
    texts = seed.choices(few, k=blocks * BLOCK + tail)
    store = Documents(texts, blocks)
    for query in queries:
        assert hits_of(store, query, hidden, limit) == brute_force(texts, query, hidden, limit)


@settings(max_examples=10, deadline=None)
@given(st.randoms(use_true_random=False), TEXTS.filter(str.strip))
def test_hidden_documents_change_nothing_at_all(seed: random.Random, query: str) -> None:
    visible = seed.choices(WORDS, k=600)
    texts = list(visible)
    places = list(range(600))
    for _ in range(BLOCK):  # strangers among them, rich in the query's words
        at = seed.randrange(len(texts) + 1)
        texts.insert(at, f"{query} {query}")
        places.insert(at, -1)
    hidden = {ordinal for ordinal, place in enumerate(places) if place < 0}
    found = hits_of(Documents(texts, 1), query, hidden)
    assert [Hit(places[hit.ordinal], hit.score) for hit in found] == hits_of(
        Documents(visible), query
    )


def test_a_filter_never_leaves_fewer_than_there_are() -> None:
    nearer, own = ["ship check"] * BLOCK, ["a ship check at the harbour"] * 8
    found = hits_of(Documents(nearer + own, 1), "ship check", frozenset(range(BLOCK)), 5)
    assert places_of(found) == [BLOCK + 7, BLOCK + 6, BLOCK + 5, BLOCK + 4, BLOCK + 3]
    assert found == brute_force(nearer + own, "ship check", set(range(BLOCK)), 5)


def test_scopes_are_apart() -> None:
    result = search(Documents(["ship"] * BLOCK, 1), b"other", "ship", NOTHING, 5)
    assert result == LexicalResult((), ("ship",), False)


def test_equal_scores_are_ordered_newest_first_across_blocks_and_tail() -> None:
    found = hits_of(Documents(["ship"] * (BLOCK + 2), 1), "ship", NOTHING, 4)
    assert places_of(found) == [BLOCK + 1, BLOCK, BLOCK - 1, BLOCK - 2]
    assert len({hit.score for hit in found}) == 1


@pytest.mark.parametrize("query", ["", "  ", "*", "?!", "\u200b"])
def test_a_query_without_terms_is_an_outcome_of_its_own(query: str) -> None:
    for texts in ([], ["ship * ?!"]):
        found = search(Documents(texts), SCOPE, query, NOTHING, 5)
        assert found == NoSearchableTerms(query)
        assert isinstance(found, NoSearchableTerms)


@pytest.mark.parametrize("query", ["111123", "👍", "do not use"])
def test_an_empty_or_wholly_hidden_scope_gives_an_empty_result(query: str) -> None:
    assert hits_of(Documents([]), query) == []
    assert hits_of(Documents([query, ""]), query, {0}) == []
    assert hits_of(Documents([query, ""]), query, {0, 1}) == []
    texts = [query] * BLOCK
    assert hits_of(Documents(texts, 1), query, set(range(BLOCK))) == []


def test_a_query_of_stop_words_is_answered() -> None:
    texts = ["DO NOT USE ladder 3", "ladder 3 is fine"]
    assert places_of(hits_of(Documents(texts), "do not use")) == [0]
    assert places_of(hits_of(Documents(texts), "to be or not")) == [0]


def test_a_rarer_term_weighs_more() -> None:
    texts = ["the ship", *["the dock"] * 9]
    assert places_of(hits_of(Documents(texts), "the ship"))[0] == 0


def test_a_record_scores_alike_in_tail_and_block_however_often_it_says_a_word() -> None:
    texts = ["again " * 100, "again " * 64, *["once"] * (BLOCK - 2)]
    found = hits_of(Documents(texts), "again")
    assert found == hits_of(Documents(texts, 1), "again") == brute_force(texts, "again", NOTHING, 9)


def test_an_overlong_query_is_answered_from_its_first_terms() -> None:
    texts = [*map(str, range(BLOCK)), "5"]
    query = " ".join(map(str, range(30_000)))[:100_000]
    result = search(Documents(texts, 1), SCOPE, query, NOTHING, 3)
    assert isinstance(result, LexicalResult)
    assert result.truncated
    assert len(result.terms) == 256
    assert len(result.hits) == 3


def test_a_query_reads_the_rows_of_its_terms_alone() -> None:
    store = Documents(["ship at bay"] * 2 * BLOCK, 2)
    hits_of(store, "ship")
    assert store.read == 2 * 2  # of each block the lengths and one bucket


@pytest.mark.parametrize("key", [LENGTHS_KEY, bucket_key("ship")])
def test_a_missing_row_stops_the_search(key: bytes) -> None:
    store = Documents(["ship"] * BLOCK, 1)
    del store.rows[0, key]
    with pytest.raises(PostingsDamaged, match="missing"):
        search(store, SCOPE, "ship", NOTHING, 5)
