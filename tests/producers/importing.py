"""What the importers' tests share: reading a source whole, and what holds for whatever comes out.

`imported` reads twice and checks, each time, the promises of `producers.importers`: equal output,
counts that add up, events that the boundary takes, nothing left to clock or chance, exact quotes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from producers.importers import Importer, ImportReport, Item, Skipped
from schemas.boundary import parse_event

SCOPE = {"tenant": "acme", "namespace": "support", "subject": "alice"}

Json = dict[str, Any]


def imported(importer: Importer, path: Path) -> tuple[list[Json], list[Skipped]]:
    """The events and skipped items of a source, all promises checked."""
    events, skipped, items = passed_on(importer, path)
    sources = {e["event_id"]: e["content"] for e in events if e["kind"] == "observation"}
    facts: set[str] = set()
    for event in events:
        check_built(event)
        if event["kind"] == "assertion":
            check_quotes(event, sources)
            assert event["supersedes"] is None or event["supersedes"] in facts
            assert event["fact_id"] not in facts
            facts.add(event["fact_id"])
    assert len(sources) == sum(1 for e in events if e["kind"] == "observation")
    assert items == list(importer.read(path, SCOPE))
    return events, skipped


def passed_on(importer: Importer, path: Path) -> tuple[list[Json], list[Skipped], list[Item]]:
    """The same for events that are the author's own; counts and progress checked."""
    positions: list[int] = []
    items = list(importer.read(path, SCOPE, progress=positions.append))
    report = ImportReport()
    events: list[Json] = list(report.sift(items))
    assert report.read == len(items) == report.events.total() + len(report.skipped)
    assert positions == sorted(positions)
    assert (positions[-1] if positions else 0) == importer.measure(path)
    json.dumps(report.as_json(), ensure_ascii=False).encode()
    return events, report.skipped, items


def check_built(event: Json) -> None:
    """An event made by an importer is a good one, and leaves nothing to clock or chance."""

    def no_id() -> str:
        raise AssertionError("an id was left to chance")

    _, typed = parse_event(event, adapter="importer", now=0, new_id=no_id)
    assert typed.envelope.filled == ()
    assert event["scope"] == SCOPE
    assert event["idempotency_key"] == event["event_id"]
    if event["kind"] == "assertion":
        assert event["valid_from"] == event["occurred_at"]
        assert event["derivation"]["kind"] == "direct"


def check_quotes(event: Json, sources: dict[str, str]) -> None:
    """Every quote stands, not empty, in its source's bytes at its span (I2)."""
    for justification in event["justifications"]:
        assert justification["premises"]
        for premise in justification["premises"]:
            raw = sources[premise["observation"]].encode()
            assert premise["quote"]
            assert raw[premise["start"] : premise["end"]] == premise["quote"].encode()


def facts(events: list[Json]) -> list[tuple[str, str, str]]:
    """(entity, attribute, value) of each assertion, in order."""
    return [(e["entity"], e["attribute"], e["value"]) for e in events if e["kind"] == "assertion"]


def contents(events: list[Json]) -> list[str]:
    """The content of each observation, in order."""
    return [e["content"] for e in events if e["kind"] == "observation"]
