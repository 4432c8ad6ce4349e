"""Typed values: declared type and JSON type agree, and values come back as given (INTERFACE)."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import InvalidEvent
from schemas.events import Value
from schemas.limits import DECIMAL_CHARACTERS, VALUE_BYTES
from schemas.values import check_value, json_value, parse_cli_value, parse_value
from tests.schemas.samples import fault_of

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.lists(st.integers(), max_size=2)
)
types = st.sampled_from([None, "string", "integer", "decimal", "boolean", "instant"])


@pytest.mark.parametrize(
    ("raw", "type_", "value"),
    [
        ("Berlin", None, Value("string", "Berlin")),
        ("", "string", Value("string", "")),
        ("2\u2075 mm", None, Value("string", "2\u2075 mm")),
        ("007", None, Value("string", "007")),
        (7, "integer", Value("integer", "7")),
        (-(2**63), "integer", Value("integer", "-9223372036854775808")),
        (9007199254740993, "integer", Value("integer", "9007199254740993")),
        ("1.50", "decimal", Value("decimal", "1.50")),
        ("6.02e23", "decimal", Value("decimal", "6.02e23")),
        (True, "boolean", Value("boolean", "true")),
        ("2026-05-01T11:00:00+02:00", "instant", Value("instant", "1777626000000000")),
    ],
)
def test_a_value_of_each_type(raw: object, type_: str | None, value: Value) -> None:
    assert parse_value(raw, type_, "value") == value
    check_value(value, "value")
    back = json_value(value)
    if value.type == "instant":
        assert back == "2026-05-01T09:00:00.000000Z"
    else:
        assert (back, type(back)) == (raw, type(raw))


@pytest.mark.parametrize(
    ("raw", "type_", "code", "remedy"),
    [
        (7, None, "wrong_type", '"type": "integer"'),
        (7, "string", "wrong_type", '"type": "integer"'),
        (7, "decimal", "wrong_type", '"type": "integer"'),
        (True, None, "wrong_type", '"type": "boolean"'),
        (True, "integer", "wrong_type", '"type": "boolean"'),
        (7.0, "integer", "wrong_type", '"type": "decimal"'),
        (1.5, "decimal", "wrong_type", '"type": "decimal"'),
        (math.nan, "decimal", "wrong_type", '"type": "decimal"'),
        ("7", "integer", "wrong_type", "without quotes"),
        ("true", "boolean", "wrong_type", "without quotes"),
        (None, None, "null_value", "leave"),
        (None, "boolean", "null_value", "leave"),
        (["Berlin"], None, "wrong_type", "scalar"),
        ({"a": 1}, "string", "wrong_type", "scalar"),
        (2**63, "integer", "out_of_range", "decimal"),
        ("NaN", "decimal", "wrong_type", "1.50"),
        ("Infinity", "decimal", "wrong_type", "1.50"),
        ("1,5", "decimal", "wrong_type", "1.50"),
        ("\u0661", "decimal", "wrong_type", "1.50"),
        (" 1", "decimal", "wrong_type", "1.50"),
        (".", "decimal", "wrong_type", "1.50"),
        ("1" * (DECIMAL_CHARACTERS + 1), "decimal", "too_long", "200"),
        ("2026-05-01T09:00:00", "instant", "zoneless_time", "RFC 3339"),
        ("2026", "instant", "imprecise_time", "RFC 3339"),
        ("ok\0", None, "nul", "remove"),
        ("ok\ud83d", None, "lone_surrogate", "whole"),
        ("\u00e9" * (VALUE_BYTES // 2 + 1), None, "too_long", str(VALUE_BYTES)),
    ],
)
def test_what_does_not_agree_is_refused_with_a_remedy(
    raw: object, type_: str | None, code: str, remedy: str
) -> None:
    fault = fault_of(lambda: parse_value(raw, type_, "claims[0].value"))
    assert (fault.code, fault.field) == (code, "claims[0].value")
    assert remedy in fault.remedy


@pytest.mark.parametrize("type_", ["float", "Integer", "", "null"])
def test_an_unknown_type_is_named_at_its_own_field(type_: str) -> None:
    fault = fault_of(lambda: parse_value("x", type_, "claims[0].value"))
    assert (fault.code, fault.field) == ("unknown_symbol", "claims[0].type")
    assert "decimal" in fault.limit
    fault = fault_of(lambda: check_value(Value(type_, "x"), "value"))
    assert (fault.code, fault.field) == ("unknown_symbol", "type")


@given(scalars, types)
def test_whatever_is_taken_is_canonical_and_comes_back(raw: object, type_: str | None) -> None:
    try:
        value = parse_value(raw, type_, "value")
    except InvalidEvent:
        return
    check_value(value, "value")
    again = json.loads(json.dumps(json_value(value)))
    assert parse_value(again, value.type, "value") == value


@pytest.mark.parametrize(
    ("text", "type_", "value"),
    [
        ("Berlin", None, Value("string", "Berlin")),
        ("7", None, Value("string", "7")),
        ("7", "integer", Value("integer", "7")),
        ("-007", "integer", Value("integer", "-7")),
        ("+0", "integer", Value("integer", "0")),
        ("1.50", "decimal", Value("decimal", "1.50")),
        ("false", "boolean", Value("boolean", "false")),
        ("1970-01-01T00:00:01Z", "instant", Value("instant", "1000000")),
    ],
)
def test_a_word_of_the_command_line(text: str, type_: str | None, value: Value) -> None:
    assert parse_cli_value(text, type_) == value


@pytest.mark.parametrize(
    ("text", "type_", "code"),
    [
        ("seven", "integer", "wrong_type"),
        ("7e0", "integer", "wrong_type"),
        ("9223372036854775808", "integer", "out_of_range"),
        ("9" * 5000, "integer", "wrong_type"),
        ("yes", "boolean", "wrong_type"),
        ("x", "number", "unknown_symbol"),
    ],
)
def test_a_word_that_is_no_such_value(text: str, type_: str, code: str) -> None:
    assert fault_of(lambda: parse_cli_value(text, type_)).code == code


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (Value("integer", "+7"), "wrong_type"),
        (Value("integer", "007"), "wrong_type"),
        (Value("integer", "-0"), "wrong_type"),
        (Value("integer", "7.0"), "wrong_type"),
        (Value("integer", "9223372036854775808"), "out_of_range"),
        (Value("boolean", "True"), "wrong_type"),
        (Value("instant", "2026-05-01T09:00:00Z"), "invalid_time"),
        (Value("instant", "-62135596800000001"), "time_out_of_range"),
        (Value("decimal", "0x10"), "wrong_type"),
        (Value("string", "a\0"), "nul"),
    ],
)
def test_a_value_off_the_log_must_be_canonical(value: Value, code: str) -> None:
    fault = fault_of(lambda: check_value(value, "value"))
    assert (fault.code, fault.field) == (code, "value")
