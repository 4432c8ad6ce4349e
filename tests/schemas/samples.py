"""Small valid events to bend, as JSON and typed, and how a refusal is asserted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from schemas.boundary import parse_event
from schemas.errors import Fault, InvalidEvent
from schemas.events import Event
from schemas.kinds import Kind
from schemas.times import parse_instant

NOW = parse_instant("2026-06-01T12:00:00Z", "now")
SCOPE = {"tenant": "acme", "namespace": "support", "subject": "alice"}
PREMISE = {"observation": "e1", "quote": "moved to Berlin", "start": 2, "end": 17}


def observation(**changes: object) -> dict[str, Any]:
    """A minimal observation."""
    base = {"kind": "observation", "event_id": "e1", "scope": SCOPE, "content": "Moved to Berlin."}
    return base | {"occurred_at": "2026-05-01T09:00:00Z"} | changes


def assertion(**changes: object) -> dict[str, Any]:
    """An assertion with one premise."""
    return {
        "kind": "assertion",
        "event_id": "e2",
        "scope": SCOPE,
        "occurred_at": "2026-05-01T09:00:00Z",
        "fact_id": "f1",
        "entity": "alice",
        "attribute": "city",
        "value": "Berlin",
        "justifications": [{"premises": [PREMISE]}],
    } | changes


def without(raw: dict[str, Any], *names: str) -> dict[str, Any]:
    """A copy without some fields."""
    return {name: value for name, value in raw.items() if name not in names}


def premises(*given: dict[str, object]) -> dict[str, Any]:
    """An assertion whose only justification has these premises."""
    return assertion(justifications=[{"premises": list(given)}])


def parse(raw: object, *, adapter: str = "crm", now: int = NOW) -> tuple[Kind, Event]:
    """Parse with ids `new-1`, `new-2`, ..."""
    count = iter(range(1, 100))
    return parse_event(raw, adapter=adapter, now=now, new_id=lambda: f"new-{next(count)}")


def fault_of(act: Callable[[], object]) -> Fault:
    """The fault with which `act` refuses; every refusal says what to do."""
    with pytest.raises(InvalidEvent) as caught:
        act()
    fault = caught.value.fault
    assert fault.detail
    assert fault.remedy
    return fault


def refused(raw: object) -> tuple[str, str]:
    """(code, field) with which the boundary refuses an event."""
    fault = fault_of(lambda: parse(raw))
    return fault.code, fault.field
