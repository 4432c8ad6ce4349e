"""Typed values: JSON type and declared type agree, or the value is refused (INTERFACE "Events").

No value is null and none is a float. In JSON a string, integer and boolean are themselves; a
decimal is a string of plain or scientific notation that comes back as given; an instant is RFC
3339 text that comes back in UTC with microseconds. Inside, a `Value` holds the canonical text:
decimal digits of an integer, `true`/`false`, microseconds of an instant.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from schemas.errors import InvalidEvent, invalid
from schemas.events import Value
from schemas.kinds import VALUE_TYPES
from schemas.limits import DECIMAL_CHARACTERS, INT64_MAX, INT64_MIN, VALUE_BYTES
from schemas.text import check_marks, check_text
from schemas.times import check_instant, format_instant, parse_instant

DECIMAL = re.compile(
    r"(?P<sign>[+-]?)(?:(?=\.?[0-9])(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?)"
    r"(?:[eE](?P<exp>[+-]?[0-9]+))?"
)
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")
_CLI_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_INT64 = f"{INT64_MIN} to {INT64_MAX}"


def parse_value(raw: object, type_: str | None, field: str) -> Value:
    """The value of a decoded JSON `raw` declared as `type_` (None: string).

    `field` names the value (`value`, `claims[0].value`); the type's field is its neighbour.
    Raises `InvalidEvent`: `null_value`, `wrong_type`, `unknown_symbol`, `out_of_range`, ...
    """
    declared = _declared(type_, field)
    if raw is None:
        raise invalid(
            "null_value",
            field,
            "a value is never null",
            "leave the claim out, or end it with valid_to",
        )
    if isinstance(raw, bool):
        if declared != "boolean":
            raise _mismatch(field, "a boolean", declared, '"type": "boolean"')
        return Value("boolean", "true" if raw else "false")
    if isinstance(raw, int):
        if declared != "integer":
            raise _mismatch(field, "an integer", declared, '"type": "integer"')
        return Value("integer", str(_int64(raw, field)))
    if isinstance(raw, float):
        remedy = 'send it as a string with "type": "decimal"'
        raise _mismatch(field, "a number with a fraction or exponent", declared, remedy)
    if not isinstance(raw, str):
        raise _mismatch(
            field, "neither text, number nor boolean", declared, "send one scalar value"
        )
    return _STRING_FORMS[declared](raw, field)


def parse_cli_value(text: str, type_: str | None) -> Value:
    """The value of a command-line word declared by `--type` (None: string)."""
    declared = _declared(type_, "value")
    if declared == "integer":
        if _CLI_INTEGER.fullmatch(text) is None:
            raise invalid(
                "wrong_type", "value", "not a whole number", "write digits, e.g. 42", _INT64
            )
        return Value("integer", str(_int64(int(text), "value")))
    if declared == "boolean":
        if text not in ("true", "false"):
            raise invalid("wrong_type", "value", "not a boolean", "write true or false")
        return Value("boolean", text)
    return _STRING_FORMS[declared](text, "value")


def json_value(value: Value) -> str | int | bool:
    """The value as JSON says it; the inverse of `parse_value` but for the zone of an instant."""
    if value.type == "integer":
        return int(value.text)
    if value.type == "boolean":
        return value.text == "true"
    if value.type == "instant":
        return format_instant(int(value.text))
    return value.text


def check_value(value: Value, field: str) -> None:
    """That a decoded `Value` is canonical; raises `InvalidEvent`."""
    check = _CHECKS.get(value.type)
    if check is None:
        raise _unknown_type(field)
    check(value.text, field)


def _declared(type_: str | None, field: str) -> str:
    if type_ is None:
        return "string"
    if type_ not in VALUE_TYPES:
        raise _unknown_type(field)
    return type_


def _unknown_type(field: str) -> InvalidEvent:
    allowed = ", ".join(VALUE_TYPES)
    return invalid(
        "unknown_symbol",
        field.removesuffix("value") + "type",
        "not a type of value",
        f"use one of: {allowed}",
        allowed,
    )


def _mismatch(field: str, found: str, declared: str, remedy: str) -> InvalidEvent:
    return invalid("wrong_type", field, f"found {found} where the type is {declared}", remedy)


def _int64(number: int, field: str) -> int:
    if INT64_MIN <= number <= INT64_MAX:
        return number
    raise invalid(
        "out_of_range",
        field,
        "an integer has 64 bits",
        'send it as a string with "type": "decimal"',
        _INT64,
    )


def _string(text: str, field: str) -> Value:
    _check_string(text, field)
    return Value("string", text)


def _decimal(text: str, field: str) -> Value:
    _check_decimal(text, field)
    return Value("decimal", text)


def _instant(text: str, field: str) -> Value:
    return Value("instant", str(parse_instant(text, field)))


def _no_integer(text: str, field: str) -> Value:
    raise _mismatch(field, "text", "integer", "send a bare number without quotes")


def _no_boolean(text: str, field: str) -> Value:
    raise _mismatch(field, "text", "boolean", "send true or false without quotes")


_STRING_FORMS: dict[str, Callable[[str, str], Value]] = {
    "string": _string,
    "integer": _no_integer,
    "decimal": _decimal,
    "boolean": _no_boolean,
    "instant": _instant,
}


def _check_string(text: str, field: str) -> None:
    check_text(text, field, VALUE_BYTES, empty=True)
    check_marks(text, field)


def _check_decimal(text: str, field: str) -> None:
    if len(text) > DECIMAL_CHARACTERS:
        raise invalid(
            "too_long",
            field,
            f"a decimal of {len(text)} characters",
            f"send at most {DECIMAL_CHARACTERS}",
            f"{DECIMAL_CHARACTERS} characters",
        )
    if DECIMAL.fullmatch(text) is None:
        raise invalid(
            "wrong_type", field, "not a decimal number", "write it as 1.50, -3 or 6.02e23"
        )


def _check_integer(text: str, field: str) -> None:
    if _INTEGER.fullmatch(text) is None:
        raise invalid(
            "wrong_type",
            field,
            "not the canonical digits of a 64-bit integer",
            "write it without sign +, leading zeros or blanks",
            _INT64,
        )
    _int64(int(text), field)


def _check_boolean(text: str, field: str) -> None:
    if text not in ("true", "false"):
        raise invalid("wrong_type", field, "not a boolean", "write true or false")


def _check_instant(text: str, field: str) -> None:
    if _INTEGER.fullmatch(text) is None:
        raise invalid(
            "invalid_time",
            field,
            "not microseconds since 1970 in digits",
            "write the instant as an integer of microseconds, UTC",
        )
    check_instant(int(text), field)


_CHECKS: dict[str, Callable[[str, str], None]] = {
    "string": _check_string,
    "integer": _check_integer,
    "decimal": _check_decimal,
    "boolean": _check_boolean,
    "instant": _check_instant,
}
