"""Search equals brute force, and only what is visible counts (SPEC §8; field failures 32, 35, 65
to 71)."""

from __future__ import annotations

import math
import random
from collections.abc import Hashable, Sequence, Set

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from projections.lexical import JUDGED, Hit, LexicalResult, NoSearchableTerms, Tail, search
from projections.postings import BLOCK, LENGTHS_KEY, PostingsDamaged, bucket_key, build_block
from projections.terms import Texts
from projections.text import query_terms, search_form, tokens

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
    """A scope in memory, its first blocks built and the rest as tail; some documents hidden."""

    def __init__(
        self, texts: Sequence[str], blocks: int = 0, hidden: Set[int] = NOTHING, sides: int = 1
    ) -> None:
        self.stored: dict[tuple[int, bytes], bytes] = {}
        self.count = blocks
        self.read = self.judged = 0
        self._hidden = hidden
        self._sides = sides
        for block in range(blocks):
            built = build_block(block, texts[block * BLOCK : (block + 1) * BLOCK])
            self.stored |= {(block, key): row for key, row in built.items()}
        tail = [o for o in range(blocks * BLOCK, len(texts)) if o not in hidden]
        self.tail = Tail(np.array(tail, np.int64), Texts([texts[o] for o in tail]))

    def rows(self, keys: Sequence[tuple[int, bytes]]) -> Sequence[bytes | None]:
        self.read += len(keys)
        return [self.stored.get(key) for key in keys]

    def visible(self, ordinals: Sequence[int]) -> Set[int]:
        self.judged += len(ordinals)
        return set(ordinals) - self._hidden

    def candidate(self, ordinal: int) -> Hashable:
        return ordinal // self._sides


def brute_force(
    texts: Sequence[str], query: str, hidden: Set[int], limit: int, blocks: int = 0
) -> list[Hit]:
    """BM25 one document after the other; sums and products in the order of `lexical`."""
    visible = {o: text for o, text in enumerate(texts) if o not in hidden}
    tail = {o for o in visible if o >= blocks * BLOCK}
    words = {o: tokens(text) for o, text in visible.items()}
    lengths = {o: len(search_form(text)) for o, text in visible.items()}
    slope = 1.2 * 0.75 * len(tail) / max(sum(lengths[o] for o in tail), 1)
    scores: dict[int, float] = {}
    for term in query_terms(query).terms:
        having = {o: min(count, 63) for o, found in words.items() if (count := found.count(term))}
        common = len(tail & having.keys())
        weight = math.log(1 + (len(tail) - common + 0.5) / (common + 0.5))
        for o, frequency in having.items():
            damping = lengths[o] * slope + 1.2 * (1 - 0.75)
            gain = weight * (1.2 + 1) * frequency / (frequency + damping)
            scores[o] = scores.get(o, 0.0) + gain
    ranked = sorted(scores.items(), key=lambda item: (item[1], item[0]), reverse=True)
    return [Hit(*item) for item in ranked[:limit]]


def result_of(store: Documents, query: str, limit: int = 10) -> LexicalResult:
    every = np.ones(len(store.tail.ordinals), np.bool_)
    result = search(store.tail, every, store, query, limit)
    assert isinstance(result, LexicalResult)
    return result


def hits_of(store: Documents, query: str, limit: int = 10) -> list[Hit]:
    result = result_of(store, query, limit)
    assert result.complete
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
    assert hits_of(Documents(texts, 0, hidden), query, limit) == expected


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
    store = Documents(texts, blocks, hidden)
    for query in queries:
        expected = brute_force(texts, query, hidden, limit, blocks)
        assert hits_of(store, query, limit) == expected


@settings(max_examples=10, deadline=None)
@given(st.randoms(use_true_random=False), TEXTS.filter(str.strip), st.integers(0, 1))
def test_hidden_documents_change_nothing_at_all(
    seed: random.Random, query: str, blocks: int
) -> None:
    texts = seed.choices(WORDS, k=2 * BLOCK)
    hidden = frozenset(seed.sample(range(2 * BLOCK), k=BLOCK))
    strangers = [f"{query} {query}" if o in hidden else text for o, text in enumerate(texts)]
    nothing = ["" if o in hidden else text for o, text in enumerate(texts)]
    assert hits_of(Documents(strangers, blocks, hidden), query) == hits_of(
        Documents(nothing, blocks, hidden), query
    )


def test_a_filter_never_leaves_fewer_than_there_are() -> None:
    nearer, own = ["ship check"] * BLOCK, ["a ship check at the harbour"] * 8
    hidden = frozenset(range(BLOCK))
    found = hits_of(Documents(nearer + own, 1, hidden), "ship check", 5)
    assert places_of(found) == [BLOCK + 7, BLOCK + 6, BLOCK + 5, BLOCK + 4, BLOCK + 3]
    assert found == brute_force(nearer + own, "ship check", hidden, 5, 1)


def test_own_records_are_found_behind_all_the_hidden_ones_of_a_block() -> None:
    texts = ["ship check", "a ship check at the harbour"] * (BLOCK // 2) + ["harbour"] * BLOCK
    hidden = frozenset(range(0, BLOCK, 2))
    store = Documents(texts, 1, hidden)
    assert hits_of(store, "ship check", 5) == brute_force(texts, "ship check", hidden, 5, 1)
    assert store.judged > BLOCK // 2


def test_what_is_wanted_is_chosen_before_the_cut_and_weighs_nothing() -> None:
    texts = ["ship check", "ship check", "a ship check here", "another one"]
    store = Documents(texts)
    wanted = np.array([False, False, True, True])
    found = search(store.tail, wanted, store, "ship check", 1)
    assert isinstance(found, LexicalResult)
    assert list(found.hits) == hits_of(store, "ship check", 3)[2:]


def test_a_scope_too_large_to_judge_says_so() -> None:
    texts = ["ship"] * (3 * BLOCK) + ["harbour"] * BLOCK
    hidden = frozenset(range(JUDGED // 4, 3 * BLOCK))
    store = Documents(texts, 3, hidden)
    result = result_of(store, "ship", 10)
    assert not result.complete
    assert store.judged == JUDGED
    assert result_of(Documents(texts, 3), "ship", 10).complete


def test_a_candidate_is_found_by_the_best_of_its_documents() -> None:
    texts = ["ship", "ship ship ship", "ship ship", "ship"] + ["harbour"] * (2 * BLOCK - 4)
    for blocks in (0, 1):
        assert places_of(hits_of(Documents(texts, blocks, sides=2), "ship", 5)) == [1, 2]
        assert places_of(hits_of(Documents(texts, blocks, sides=4), "ship", 5)) == [1]


def test_equal_scores_are_ordered_newest_first_across_blocks_and_tail() -> None:
    found = hits_of(Documents(["ship"] * (BLOCK + 2), 1), "ship", 4)
    assert places_of(found) == [BLOCK + 1, BLOCK, BLOCK - 1, BLOCK - 2]
    assert len({hit.score for hit in found}) == 1


@pytest.mark.parametrize("query", ["", "  ", "*", "?!", "\u200b"])
def test_a_query_without_terms_is_an_outcome_of_its_own(query: str) -> None:
    for texts in ([], ["ship * ?!"]):
        store = Documents(texts)
        found = search(store.tail, np.ones(len(texts), np.bool_), store, query, 5)
        assert found == NoSearchableTerms(query)
        assert isinstance(found, NoSearchableTerms)


@pytest.mark.parametrize("query", ["111123", "👍", "do not use"])
def test_an_empty_or_wholly_hidden_scope_gives_an_empty_result(query: str) -> None:
    assert hits_of(Documents([]), query) == []
    assert hits_of(Documents([query, ""], 0, {0}), query) == []
    assert hits_of(Documents([query, ""], 0, {0, 1}), query) == []
    texts = [query] * BLOCK
    assert hits_of(Documents(texts, 1, set(range(BLOCK))), query) == []


def test_a_query_of_stop_words_is_answered() -> None:
    texts = ["DO NOT USE ladder 3", "ladder 3 is fine"]
    assert places_of(hits_of(Documents(texts), "do not use")) == [0]
    assert places_of(hits_of(Documents(texts), "to be or not")) == [0]


def test_a_rarer_term_weighs_more() -> None:
    texts = ["the ship", *["the dock"] * 9]
    assert places_of(hits_of(Documents(texts), "the ship"))[0] == 0


def test_a_record_scores_alike_in_tail_and_block_however_often_it_says_a_word() -> None:
    block = ["again " * 100, "again " * 64, *["once"] * (BLOCK - 2)]
    found = hits_of(Documents(block + block[:2], 1), "again")
    assert sorted(places_of(found)) == [0, 1, BLOCK, BLOCK + 1]
    scores = {hit.ordinal: hit.score for hit in found}
    assert (scores[0], scores[1]) == (scores[BLOCK], scores[BLOCK + 1])


def test_an_overlong_query_is_answered_from_its_first_terms() -> None:
    query = " ".join(map(str, range(30_000)))[:100_000]
    result = result_of(Documents([*map(str, range(BLOCK)), "5"], 1), query, 3)
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
    del store.stored[0, key]
    with pytest.raises(PostingsDamaged, match="missing"):
        hits_of(store, "ship", 5)
