"""The table of limits for operators is that of the code."""

from __future__ import annotations

from pathlib import Path

from gateway.http.limits import BODY_S, IN_FLIGHT
from gateway.paging import PAGE_BYTES
from mnemolog.parts import RECENT
from producers.kafka import TIMEOUT_S, WAITING_EVENTS, WAITING_KBYTES
from schemas.limits import (
    CONTENT_BYTES,
    ID_BYTES,
    NAME_BYTES,
    QUERY_BYTES,
    REQUEST_BYTES,
    REQUEST_EVENTS,
    RESULTS,
)

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"
KIB, MIB = 1024, 1024 * 1024


def test_the_table_of_limits_says_what_holds() -> None:
    text = PAGE.read_text(encoding="utf-8")
    section = text.partition("## Limits and back-pressure")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    said = {row.split("|")[1].strip(): row.split("|")[2] for row in rows}

    def holds(what: str, *numbers: str) -> None:
        (row,) = (limit for name, limit in said.items() if name.startswith(what))
        for number in numbers:
            assert number in row, (what, number, row)

    holds("request body", f"{REQUEST_BYTES // MIB} MiB", f"{BODY_S:g} s")
    holds("events in a request", f"{REQUEST_EVENTS:,}")
    holds(
        "an event's content",
        f"{CONTENT_BYTES // MIB} MiB · {ID_BYTES} B · {NAME_BYTES // KIB} KiB "
        f"· {QUERY_BYTES // KIB} KiB",
    )
    holds("calls at once", f"{IN_FLIGHT} · {IN_FLIGHT // 2}")
    holds("undecided events", f"{RECENT:,}")
    holds("events that wait", f"{WAITING_EVENTS:,}", f"{WAITING_KBYTES // KIB} MiB")
    holds("the brokers' word", f"{TIMEOUT_S:g} s")
    holds("a list's page", f"{RESULTS:,}", f"{PAGE_BYTES // MIB} MiB")
