"""What the importers' tests share: reading a source whole, and what holds for whatever comes out.

`imported` reads twice and checks, each time, the promises of `producers.importers`: equal output,
counts that add up, documented fields alone, nothing left to a random or clock default, exact
quotes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from producers.importers import Importer, ImportReport, Item, Skipped
from schemas.limits import CONTENT_BYTES, ID_BYTES
from schemas.times import parse_instant

SCOPE = {"tenant": "acme", "namespace": "support", "subject": "alice"}

Json = dict[str, Any]

COMMON = {"kind", "event_id", "scope", "occurred_at", "actor", "purpose", "idempotency_key"}
FIELDS = {
    "observation": COMMON | {"content", "media_type"},
    "assertion": COMMON
    | {"fact_id", "entity", "attribute", "value", "valid_from", "valid_to"}
    | {"derivation", "justifications", "supersedes"},
}


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
    """An event made by an importer has its kind's fields, all of them, and storable texts."""
    assert set(event) == FIELDS[event["kind"]]
    assert event["scope"] == SCOPE
    assert 1 <= len(event["event_id"].encode()) <= ID_BYTES
    assert event["idempotency_key"] == event["event_id"]
    parse_instant(event["occurred_at"], "occurred_at")
    json.dumps(event, ensure_ascii=False).encode()
    if event["kind"] == "observation":
        assert 1 <= len(event["content"].encode()) <= CONTENT_BYTES
    else:
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
