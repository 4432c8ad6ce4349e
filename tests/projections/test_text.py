"""Words of texts and of queries (SPEC §8; field failures 20, 22, 36, 37, 65, 67 to 70, 72)."""

# ruff: noqa: RUF001  (letters of many scripts are the subject here)

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.text import (
    TERM_LIMIT,
    TOKEN_LIMIT,
    query_terms,
    search_form,
    tokens,
)

TEXTS = st.one_of(
    st.text(max_size=40),
    st.text("aAbß1-_.'+# ,\u0301\u0345\u200b港船検は검사ตรวจเรืក្ខ👩\ufe0f’①ｆ，", max_size=40),
    st.lists(st.sampled_from(["the", "The", "ship-check", "a", "a", "c++", "é"]), max_size=9).map(
        " ".join
    ),
)


def found_by(query: str, text: str) -> bool:
    terms = query_terms(query).terms
    assert terms
    return not set(terms).isdisjoint(tokens(text))


def found_wholly_by(query: str, text: str) -> bool:
    terms = query_terms(query).terms
    assert terms
    return set(terms) <= set(tokens(text))


@given(TEXTS)
def test_a_text_is_found_by_every_term_of_itself(text: str) -> None:
    assert set(query_terms(text).terms) <= set(tokens(text))


@given(TEXTS)
def test_every_token_is_a_substring_of_the_search_form(text: str) -> None:
    form = search_form(text)
    assert all(token in form for token in tokens(text))


@given(TEXTS)
def test_composed_and_decomposed_spellings_have_the_same_tokens(text: str) -> None:
    assert tokens(unicodedata.normalize("NFD", text)) == tokens(unicodedata.normalize("NFC", text))


@given(st.text(st.characters(max_codepoint=127), max_size=60))
def test_ascii_is_cut_alike_with_and_without_other_characters_beside_it(text: str) -> None:
    assert sorted(tokens(text + " ж")) == sorted([*tokens(text), "ж"])


@given(st.text(max_size=60))
def test_tokens_are_never_empty_and_hold_no_blank(text: str) -> None:
    assert all(token and token.split() == [token] and "\0" not in token for token in tokens(text))


@pytest.mark.parametrize(
    ("identifier", "parts"),
    [
        ("foo_bar", ["foo", "bar"]),
        ("C:\\tmp\\f", ["c", "tmp", "f"]),
        ("ship-check", ["ship", "check"]),
        ("Bay:7", ["bay", "7"]),
        ("x|y", ["x", "y"]),
        ("don't", ["don", "t"]),
        ("3.14", ["3", "14"]),
        ("alice@example.org", ["alice", "example", "org"]),
        ("550e8400-e29b-41d4-a716-446655440000", ["550e8400", "e29b", "41d4", "a716"]),
        ("c++", ["c"]),
        ("Größe-7", ["grösse", "7"]),
    ],
)
def test_an_identifier_is_a_token_as_a_whole_and_in_parts(
    identifier: str, parts: list[str]
) -> None:
    found = tokens(f"see ({identifier}), please")
    assert identifier.casefold() in found
    assert set(parts) <= set(found)
    assert found_wholly_by(identifier, f'"{identifier}".')


@pytest.mark.parametrize("text", ["港A-17区", "明日は港A-17区で検査", "검사A-17호", "ท่าA-17"])
def test_an_identifier_survives_the_touch_of_another_script(text: str) -> None:
    assert {"a-17", "a", "17"} <= set(tokens(text))
    assert found_wholly_by("港A-17区", "港A-17区")


@pytest.mark.parametrize(
    ("text", "query", "other"),
    [
        ("明日は港町で船検査がある", "船検査", "検察が船を調査した"),
        ("พรุ่งนี้มีการตรวจเรือที่ท่าเรือ", "ตรวจเรือ", "กัปตันไปที่เมือง"),
        ("ស្អែកមានការត្រួតពិនិត្យនាវា", "ពិនិត្យ", "កប៉ាល់ធំណាស់"),
        ("내일 항구에서 선박검사가 있다", "검사", "사람이 배를 검은색으로"),
        ("我们明天在港口检查船只", "检查", "查理体检"),
        ("きょうはコンピュータを買った", "コンピュータ", "コピー機"),
    ],
)
def test_part_of_a_phrase_in_a_script_without_spaces_is_found(
    text: str, query: str, other: str
) -> None:
    assert found_wholly_by(query, text)
    assert not found_by(query, other)


def test_a_lone_han_character_between_kana_is_a_word() -> None:
    assert found_by("犬は？", "犬が好き")
    assert "船" not in query_terms("船検査").terms


@pytest.mark.parametrize(
    ("stored", "query"),
    [
        ("e\u0301tage-2", "étage-2"),
        ("\u1112\u1161\u11ab\u1100\u1173\u11af", "한글"),
        ("C\u200b++", "C++"),
        ("soft\u00adware", "software"),
        ("STRASSE", "straße"),
        ("Ｆｕｌｌ，ｗｉｄｔｈ", "full width"),
        ("don’t", "don't"),
        ("A\u2011\u0031\u0037", "a-17"),
        ("ΟΔΟΣ", "οδος"),
        ("ﷺ", "صلى الله عليه وسلم"),
    ],
)
def test_spellings_of_one_word_meet_both_ways(stored: str, query: str) -> None:
    assert found_wholly_by(query, stored)
    assert found_wholly_by(stored, query)


def test_words_with_combining_marks_stay_whole() -> None:
    assert tokens("हिन्दी में, مُحَمَّد") == ["हिन्दी", "में", "مُحَمَّد"]


def test_numbers_stay_as_they_are_written() -> None:
    for number in ("7", "007", "7e0", "9007199254740993", "4096"):
        assert query_terms(number).terms == (number,)


@pytest.mark.parametrize(
    "query",
    ["ship-check", "Bay:7", '"open', "a AND", "(x", "don't", "x`) DETACH DELETE n //", "a\tb\nc"],
)
def test_every_character_of_a_query_is_literal(query: str) -> None:
    assert found_wholly_by(query, f"before {query} after")


@pytest.mark.parametrize("query", ["", "   ", "*", "\t\n", "?!…", "\u200b", "-- ::", "\ud83d"])
def test_a_query_without_word_or_symbol_has_no_terms(query: str) -> None:
    assert query_terms(query) == ((), False)


def test_stop_words_are_words() -> None:
    assert query_terms("to be or not to be").terms == ("to", "be", "or", "not")


@pytest.mark.parametrize("emoji", ["👍", "👩‍💻", "☃️", "🇩🇪", "\U0001fae9"])
def test_emoji_are_found(emoji: str) -> None:
    assert found_wholly_by(emoji, f"well done{emoji}!")


def test_a_query_has_a_bounded_number_of_terms_and_says_so() -> None:
    for query in (" ".join(map(str, range(50_000)))[:100_000], "ตรวจเรือที่ท่า" * 7_000):
        terms, _ = query_terms(query)
        assert len(terms) <= TERM_LIMIT
    assert query_terms(" ".join(map(str, range(TERM_LIMIT)))).truncated is False
    assert query_terms(" ".join(map(str, range(TERM_LIMIT + 1)))).truncated is True


def test_a_long_word_is_cut_on_both_sides() -> None:
    word = "ab" * 50_000
    assert tokens(word) == list(query_terms(word).terms) == [word[:TOKEN_LIMIT]]


def test_a_flood_of_combining_marks_takes_linear_time() -> None:
    flood = "a" + "\u0315\u0300" * 500_000  # sorting these would take minutes
    assert len(tokens(flood)[0]) <= 31
