"""The typed client: builds with the interface's defaults, and tells faults before sending."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from producers.builder import EventBuilder, quote
from schemas.errors import InvalidEvent
from schemas.events import Assertion, Observation
from schemas.scope import Scope

BUILDER = EventBuilder("crm", Scope("acme", "support", "alice"), lambda: 1_790_000_000_000_000)


def test_an_assertion_quotes_what_was_just_built() -> None:
    seen = BUILDER.observation("né à Zürich", actor="alice")
    kind, fact = BUILDER.assertion("alice", "born in", "Zürich", [quote(seen, "Zürich", 7)])
    assert isinstance(seen[1], Observation)
    assert isinstance(fact, Assertion)
    assert kind.word == "assertion"
    ((premise,),) = fact.justifications
    assert premise.observation == seen[1].envelope.event_id
    assert (premise.start, premise.end) == (7, 14)
    assert fact.valid_from == 1_790_000_000_000_000
    assert fact.envelope.adapter == "crm"


def test_a_fault_is_told_before_anything_is_sent() -> None:
    builds: tuple[Callable[[], object], ...] = (
        lambda: BUILDER.observation("x", occurred_at="2026-05-01"),
        lambda: BUILDER.assertion("a", "b", None, [quote("e", "q")]),
        lambda: BUILDER.deletion({}),
        lambda: BUILDER.retraction("*"),
    )
    for build in builds:
        with pytest.raises(InvalidEvent) as refused:
            build()
        assert refused.value.fault.remedy
