"""Short words for hand-written histories: say steps, then see every order of their topics.

`observe`, `claim`, `retract`, `forget` and `time_out` each make one record. `told(*steps)` consumes
them as they stand; `each_order(*steps)` gives the model after every interleaving that keeps each
topic's own order. Append times are 10 ms apart in the order of saying unless a step sets `at`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from tests.model.histories import ADAPTERS, topic
from tests.model.reference import Model, Policy
from tests.model.rules import Record, Scope

MAIN: Scope = ("acme", "support", "s1", "main")
TRY: Scope = ("acme", "support", "s1", "try")
OTHER: Scope = ("acme", "support", "s2", "main")
BERLIN = "I moved to Berlin in May."

_count = itertools.count()


def step(kind: str, by: str, event: Record, **options: Any) -> Record:
    """A record; options: `scope`, `at` (append ms), `event_id`, `key`, `filled`, other fields."""
    names = ("tenant", "namespace", "subject", "branch")
    scope = dict(zip(names, options.pop("scope", MAIN), strict=True))
    at, filled = options.pop("at", None), options.pop("filled", ())
    event_id = options.pop("event_id", f"e{next(_count)}")
    envelope = {
        "kind": kind, "event_id": event_id, "scope": scope, "occurred_at": 0,
        "actor": {"id": by, "role": "system"}, "purpose": "unspecified",
        "idempotency_key": options.pop("key", event_id),
    }  # fmt: skip
    body = {**envelope, **event, **options}
    return {"kind": kind, "append_ms": at, "adapter": by, "event": body, "filled": filled}


def observe(name: str, content: str | None = BERLIN, by: str = "crm", **options: Any) -> Record:
    """An observation; without content, one that refers to it."""
    event = {"content": content, "media_type": "text/plain"}
    return step("observation", by, event, event_id=name, **options)


def quote(source: str, text: str = "Berlin", start: int | None = None) -> Record:
    """A premise on an observation; with `start`, its span in bytes."""
    end = None if start is None else start + len(text.encode())
    return {"observation": source, "quote": text, "start": start, "end": end}


def fact(name: str) -> Record:
    """A premise on a fact."""
    return {"fact": name}


def claim(name: str, *justifications: list[Record], by: str = "crm", **options: Any) -> Record:
    """An assertion that alice's city is Berlin, from time 0 on, unless options say otherwise."""
    event = {
        "fact_id": name, "entity": "alice", "attribute": "city", "value": "Berlin",
        "type": "string", "valid_from": 0, "valid_to": None, "expires_at": None, "confidence": 1,
        "derivation": {"kind": options.pop("derivation", "direct")}, "supersedes": None,
        "justifications": [{"premises": premises} for premises in justifications],
    }  # fmt: skip
    return step("assertion", by, event, **options)


def retract(name: str, by: str = "crm", **options: Any) -> Record:
    """A retraction of a fact."""
    return step("retraction", by, {"fact_id": name, "reason": ""}, **options)


def forget(target: Record, by: str = "crm", **options: Any) -> Record:
    """A deletion of {"observation": id}, {"fact": id}, {"subject": True} or {"scope": True}."""
    return step("deletion", by, {"target": target, "reason": ""}, **options)


def time_out(name: str, by: str = "root", **options: Any) -> Record:
    """A control that times out a parked fact."""
    return step("control", by, {"control": "timeout", "target": {"fact": name}}, **options)


def placed(steps: tuple[Record, ...]) -> list[Record]:
    """The steps with append times and with offsets in their topics."""
    seen: dict[str, int] = {}
    records = []
    for n, record in enumerate(steps):
        offset = seen[topic(record)] = seen.get(topic(record), -1) + 1
        at = 10 * n if record["append_ms"] is None else record["append_ms"]
        records.append({**record, "offset": offset, "append_ms": at})
    return records


def consumed(records: list[Record], skew_ms: int = 0) -> Model:
    """The model after the records."""
    model = Model(ADAPTERS, Policy(skew_ms))
    for record in records:
        model.consume(record)
    return model


def told(*steps: Record, skew_ms: int = 0) -> Model:
    """The model after the steps in the order in which they stand."""
    return consumed(placed(steps), skew_ms)


def each_order(*steps: Record, skew_ms: int = 0) -> Iterator[Model]:
    """The model after each interleaving of the steps' topics."""
    for order in merges(placed(steps)):
        yield consumed(order, skew_ms)


def merges(records: list[Record]) -> Iterator[list[Record]]:
    """Every interleaving of the records that keeps each topic's own order."""
    if not records:
        yield []
    for name in {topic(record) for record in records}:
        first = next(record for record in records if topic(record) == name)
        for rest in merges([record for record in records if record is not first]):
            yield [first, *rest]
