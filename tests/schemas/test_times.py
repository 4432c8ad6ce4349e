"""Instants are integer microseconds from text to text, whatever the host (SPEC §1)."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.times import (
    MAX_MICROS,
    MIN_MICROS,
    check_instant,
    format_instant,
    in_range,
    parse_instant,
)
from tests.schemas.samples import fault_of

instants = st.integers(MIN_MICROS, MAX_MICROS)


def code(text: object) -> str:
    fault = fault_of(lambda: parse_instant(text, "valid_from"))
    assert fault.field == "valid_from"
    return fault.code


@given(instants)
def test_every_storable_instant_survives_text(micros: int) -> None:
    assert parse_instant(format_instant(micros), "t") == micros


@given(instants, instants)
def test_text_sorts_as_instants_do(a: int, b: int) -> None:
    assert (format_instant(a) < format_instant(b)) == (a < b)


@pytest.mark.parametrize(
    ("text", "out"),
    [
        ("2243-01-01T00:00:00.064Z", "2243-01-01T00:00:00.064000Z"),
        ("1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999Z"),
        ("2026-05-01t09:00:00z", "2026-05-01T09:00:00.000000Z"),
        ("2026-05-01T09:00:00.100000000+02:00", "2026-05-01T07:00:00.100000Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000Z"),
    ],
)
def test_no_hop_goes_through_floating_point(text: str, out: str) -> None:
    assert format_instant(parse_instant(text, "t")) == out


def test_one_microsecond_before_1970_is_minus_one() -> None:
    assert parse_instant("1969-12-31T23:59:59.999999Z", "t") == -1


def test_instants_compare_as_instants_not_as_text() -> None:
    stored, bound = "2019-05-02T00:30:00+09:00", "2019-05-01T16:00:00Z"
    assert stored > bound
    assert parse_instant(stored, "t") < parse_instant(bound, "t")


@pytest.mark.parametrize("text", ["2025-03-01T09:00:00", "2024-10-27T02:30", "2024-03-31T02:30"])
def test_a_time_without_zone_is_refused_also_in_repeated_and_skipped_hours(text: str) -> None:
    assert code(text) == "zoneless_time"


@pytest.mark.parametrize("text", ["1998", "1998-05", "199805", "20240101", "2024-01-01"])
def test_a_bare_year_month_or_date_is_never_completed_from_today(text: str) -> None:
    assert code(text) == "imprecise_time"


@pytest.mark.parametrize(
    "text",
    [
        "-0043-03-15",
        "-0043-03-15T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "10000-01-01T00:00:00Z",
        "2026-02-30T00:00:00Z",
        "2026-05-01T24:00:00Z",
        "2026-05-01T09:00:60Z",
        "2026-05-01T09:00:00+24:00",
        "2026-05-01T09:00:00 Europe/Berlin",
        "2026-05-01T09:00:00.0000001Z",
        "2026-05-01T09:00:00Z\n",
        "２０２６-05-01T09:00:00Z",  # noqa: RUF001
        "",
        1_777_000_000,
        None,
    ],
)
def test_what_is_no_instant_is_refused(text: object) -> None:
    assert code(text) == "invalid_time"


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01"])
def test_an_offset_cannot_lead_out_of_range(text: str) -> None:
    assert code(text) == "time_out_of_range"


@pytest.mark.parametrize("micros", [2**62, MIN_MICROS - 1, MAX_MICROS + 1, -(2**63)])
def test_integers_outside_years_1_to_9999_are_refused_with_the_limit(micros: int) -> None:
    fault = fault_of(lambda: check_instant(micros, "occurred_at"))
    assert (fault.code, fault.field) == ("time_out_of_range", "occurred_at")
    assert "9999" in fault.limit
    assert not in_range(micros)


@pytest.fixture(params=["Asia/Tokyo", "UTC", "America/Los_Angeles"])
def host_zone(request: pytest.FixtureRequest) -> Iterator[str]:
    before = os.environ.get("TZ")
    os.environ["TZ"] = request.param
    time.tzset()
    yield request.param
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


def test_the_hosts_zone_changes_nothing(host_zone: str) -> None:
    micros = parse_instant("2025-06-10T23:30:00Z", "t")
    assert micros == 1_749_598_200_000_000
    assert format_instant(micros) == "2025-06-10T23:30:00.000000Z"
