"""Counting terms in many texts at once is counting tokens in each (SPEC §8)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from projections.terms import Texts
from projections.text import TOKEN_LIMIT, query_terms, search_form, tokens
from tests.projections.test_text import TEXTS


def found(texts: Sequence[str], terms: Sequence[str]) -> list[dict[int, int]]:
    """Counts by place of each term."""
    occurrences = Texts(texts).occurrences(terms)
    return [dict(zip(one.places.tolist(), one.counts.tolist(), strict=True)) for one in occurrences]


def counted(texts: Sequence[str], terms: Sequence[str]) -> list[dict[int, int]]:
    """The same, one token after the other."""
    words = [tokens(text) for text in texts]
    return [
        {place: count for place, one in enumerate(words) if (count := one.count(term))}
        for term in terms
    ]


@settings(deadline=None)
@given(st.lists(TEXTS, max_size=5), TEXTS)
def test_counting_terms_is_counting_tokens(texts: list[str], query: str) -> None:
    terms = query_terms(query).terms
    assert found(texts, terms) == counted(texts, terms)


@settings(deadline=None)
@given(
    st.lists(st.text("ab -é", max_size=40), max_size=6),
    st.lists(st.text("ab", min_size=1, max_size=20), max_size=4, unique=True),
)
def test_words_that_begin_alike_are_told_apart(texts: list[str], terms: list[str]) -> None:
    assert found(texts, terms) == counted(texts, terms)


@pytest.mark.parametrize("size", [1, 7, 8, 9, 15, 16, 17, 24, TOKEN_LIMIT - 1, TOKEN_LIMIT, 300])
def test_a_word_is_compared_to_its_end(size: int) -> None:
    word, other = "x" * size, "x" * (size - 1) + "y"
    texts = [f"{word} {other}", other, f"{word}x", f"a{word}"]
    terms = [word[:TOKEN_LIMIT]]
    assert found(texts, terms) == counted(texts, terms)


def test_neighbouring_repeats_are_each_counted() -> None:
    assert found(["a a a", "b", "a, a"], ["a"]) == [{0: 3, 2: 2}]


def test_no_texts_and_no_terms_have_no_occurrences() -> None:
    assert found([], ["a"]) == [{}]
    assert found(["a", ""], []) == []
    assert found(["", " ?"], ["a"]) == [{}]


@settings(deadline=None)
@given(st.lists(TEXTS, max_size=4), st.lists(TEXTS, max_size=4), TEXTS, st.booleans())
def test_texts_read_further_are_texts_read_at_once(
    first: list[str], further: list[str], query: str, changed: bool
) -> None:
    before = Texts([*first, "changed"] if changed else first)
    texts = Texts([*first, *further], before)
    terms = query_terms(query).terms
    occurrences = texts.occurrences(terms)
    counts = [dict(zip(o.places.tolist(), o.counts.tolist(), strict=True)) for o in occurrences]
    assert counts == counted([*first, *further], terms)
    assert texts.lengths.tolist() == Texts([*first, *further]).lengths.tolist()
    assert found([*first, *further], terms) == counts


@settings(deadline=None)
@given(st.lists(TEXTS, max_size=5))
def test_lengths_are_those_of_the_search_forms(texts: list[str]) -> None:
    assert Texts(texts).lengths.tolist() == [len(search_form(text)) for text in texts]
