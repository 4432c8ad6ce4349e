"""One normaliser: which spellings are one key, which values one value (SPEC §5, I3)."""

from __future__ import annotations

import unicodedata
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.events import Value
from schemas.lookalikes import lookalike
from schemas.normalise import REMOVED, VERSION, normalise_key, value_key

texts = st.text(st.characters(exclude_categories=["Cs"]))
decimals = st.from_regex(
    r"[+-]?([0-9]{1,6}(\.[0-9]{0,6})?|\.[0-9]{1,6})([eE][+-]?[0-9]{1,3})?", fullmatch=True
)


def string(text: str) -> Value:
    return Value("string", text)


def decimal(text: str) -> Value:
    return Value("decimal", text)


def test_the_version_says_the_rules_and_the_unicode_tables() -> None:
    assert divmod(VERSION, 256) == (1, int(unicodedata.unidata_version.split(".")[0]))


@given(texts)
def test_a_normalised_key_normalises_to_itself(text: str) -> None:
    key = normalise_key(text)
    assert normalise_key(key) == key


@given(st.text(st.characters(max_codepoint=127)))
def test_the_ascii_short_cut_gives_what_the_long_way_gives(text: str) -> None:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    assert normalise_key(text) == folded.strip()
    assert value_key(string(text)) == ("string", text.strip().casefold())


@given(texts)
def test_composed_and_decomposed_spellings_are_one_key(text: str) -> None:
    composed = unicodedata.normalize("NFC", text)
    decomposed = unicodedata.normalize("NFD", text)
    assert normalise_key(composed) == normalise_key(decomposed)
    assert value_key(string(composed)) == value_key(string(decomposed))


@pytest.mark.parametrize("spelling", ["cranectl", " CraneCtl ", "CRANECTL\t", "\u200bCraneCtl"])
def test_case_and_outer_blanks_never_split_a_key(spelling: str) -> None:
    assert normalise_key(spelling) == normalise_key("CraneCtl")


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("e\u0301tage-2", "\u00e9tage-2"),
        ("\u1100\u1161", "\uac00"),
        ("C\u200b++", "c++"),
        ("stra\u00dfe", "STRASSE"),
        ("\uff23\uff29\uff34\uff39", "city"),
        ("ci\u00adty", "city"),
        ("e\u200b\u0301", "\u00e9"),
        ("city\U000e0041", "city"),
    ],
)
def test_visibly_equal_keys_match(a: str, b: str) -> None:
    assert normalise_key(a) == normalise_key(b)


def test_nothing_listed_as_removed_is_left_in_a_key() -> None:
    assert normalise_key("a" + "".join(map(chr, sorted(REMOVED))) + "b") == "ab"


@pytest.mark.parametrize(
    ("a", "b"), [("2\u2075 mm", "25 mm"), ("\u2460", "1"), ("x\u200by", "xy"), ("a b", "ab")]
)
def test_compatibility_folding_never_touches_values(a: str, b: str) -> None:
    assert value_key(string(a)) != value_key(string(b))


def test_policy_can_fold_values_too() -> None:
    fold = True
    assert value_key(string("2\u2075 mm"), fold) == value_key(string("25 mm"), fold)


def test_values_fold_case_and_outer_blanks() -> None:
    assert value_key(string(" Berlin")) == value_key(string("BERLIN"))
    assert value_key(string(" Malm\u00f6")) == value_key(string("MALMO\u0308"))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("1.50", "1.5"),
        ("-0", "0"),
        ("0.000", "-0e99"),
        ("1e3", "1000"),
        ("100", "1E+2"),
        (".5", "0.5"),
        ("5.", "+5"),
        ("0012e-1", "1.2"),
        ("10e999999999999", "1e1000000000000"),
    ],
)
def test_decimals_are_equal_as_numbers(a: str, b: str) -> None:
    assert value_key(decimal(a)) == value_key(decimal(b))


@given(decimals, decimals)
def test_decimals_are_equal_exactly_when_their_numbers_are(a: str, b: str) -> None:
    assert (value_key(decimal(a)) == value_key(decimal(b))) == (Decimal(a) == Decimal(b))


def test_a_huge_exponent_costs_nothing() -> None:
    exponent = "9" * 190
    assert value_key(decimal(f"1e{exponent}")) != value_key(decimal(f"1e-{exponent}"))


def test_a_decimal_that_was_never_checked_is_an_error_not_a_guess() -> None:
    with pytest.raises(ValueError, match="not a decimal"):
        value_key(decimal("ten"))


def test_values_of_different_types_are_never_equal() -> None:
    values = [Value(type_, "1") for type_ in ("string", "integer", "decimal", "instant")]
    values += [Value("boolean", "true"), string("true")]
    assert len({value_key(value) for value in values}) == len(values)


def test_look_alikes_are_reported_and_never_merged() -> None:
    cyrillic = "\u0441\u0456ty"
    assert lookalike("city", cyrillic)
    assert lookalike("\u03bfwner", "Owner")
    assert lookalike("crew1", "crewl")
    assert normalise_key("city") != normalise_key(cyrillic)
    assert not lookalike("city", " CITY ")
    assert not lookalike("city", "county")
