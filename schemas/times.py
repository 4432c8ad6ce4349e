"""Instants: integer microseconds since 1970-01-01T00:00:00Z, UTC, end to end (SPEC §1).

Text comes in as RFC 3339 with an offset and goes out in UTC with microseconds. A time without a
zone, a bare date or year, or an instant outside years 1 to 9999 is refused by name; nothing here
reads the clock or passes through floating point.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

from schemas.errors import Fault, InvalidEvent

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_UTC = EPOCH.replace(tzinfo=None)
MIN_MICROS = -62_135_596_800_000_000  # 0001-01-01T00:00:00Z
MAX_MICROS = 253_402_300_799_999_999  # 9999-12-31T23:59:59.999999Z
MICROS = 1_000_000

_RFC3339 = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:([Zz])|([+-])(\d\d):(\d\d))",
    re.ASCII,
)
_ZONELESS = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?")
_DATE_ONLY = re.compile(r"\d{4}(-?\d\d)?(-?\d\d)?")
_EXAMPLE = "write it as RFC 3339 with an offset, e.g. 2026-05-01T09:00:00Z"


def parse_instant(text: object, field: str) -> int:
    """Microseconds of an RFC 3339 text; raises `InvalidEvent` naming `field`."""
    if not isinstance(text, str):
        raise InvalidEvent(Fault("invalid_time", field, "a time must be a string", _EXAMPLE))
    match = _RFC3339.fullmatch(text)
    if match is None:
        if _ZONELESS.fullmatch(text):
            raise InvalidEvent(Fault("zoneless_time", field, "the time has no zone", _EXAMPLE))
        if _DATE_ONLY.fullmatch(text):
            detail = "a bare year or date is not an instant"
            raise InvalidEvent(Fault("imprecise_time", field, detail, _EXAMPLE))
        raise InvalidEvent(Fault("invalid_time", field, "not an RFC 3339 time", _EXAMPLE))
    year, month, day, hour, minute, second = (int(match[i]) for i in range(1, 7))
    fraction = match[7] or ""
    if len(fraction) > 6 and fraction[6:].strip("0"):
        raise InvalidEvent(
            Fault("invalid_time", field, "finer than a microsecond", "round it to 6 digits", "1 µs")
        )
    micros = int(fraction[:6].ljust(6, "0")) if fraction else 0
    try:
        offset = UTC if match[8] else _offset(match[9], int(match[10]), int(match[11]))
        naive = datetime(year, month, day, hour, minute, second, tzinfo=offset)
        delta = naive - EPOCH
    except (ValueError, OverflowError):
        raise InvalidEvent(Fault("invalid_time", field, "no such date or time", _EXAMPLE)) from None
    instant = (delta.days * 86_400 + delta.seconds) * MICROS + micros
    return check_instant(instant, field)


def _offset(sign: str, hours: int, minutes: int) -> timezone:
    if hours > 23 or minutes > 59:
        raise ValueError("offset out of range")
    delta = timedelta(hours=hours, minutes=minutes)
    return timezone(delta if sign == "+" else -delta)


def in_range(micros: int) -> bool:
    """Whether an instant lies within years 1 to 9999."""
    return MIN_MICROS <= micros <= MAX_MICROS


def check_instant(micros: int, field: str) -> int:
    """`micros` itself, or `InvalidEvent` if it lies outside years 1 to 9999."""
    if in_range(micros):
        return micros
    raise InvalidEvent(
        Fault(
            "time_out_of_range",
            field,
            "outside years 1 to 9999",
            "use an instant within them",
            "0001-01-01T00:00:00Z to 9999-12-31T23:59:59.999999Z",
        )
    )


def format_instant(micros: int) -> str:
    """UTC text with microseconds, e.g. `2026-05-01T09:00:00.000000Z`."""
    moment = _EPOCH_UTC + timedelta(microseconds=micros)
    return f"{moment.isoformat(timespec='microseconds')}Z"
