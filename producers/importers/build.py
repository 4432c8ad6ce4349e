"""The events that importers make, with nothing left to a default that reads the clock.

Ids: `PREFIX-` and SHA-256 in hex, never cut, over the JSON array of the parts that identify the
record in its source; an array, so that no two lists of parts read alike (SPEC §1, keys are never
joined by a delimiter). Event id, fact id and idempotency key of one event are the same text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from producers.importers.report import Event, ScopeJson
from schemas.errors import Fault, InvalidEvent
from schemas.limits import CONTENT_BYTES
from schemas.text import check_id, check_text
from schemas.times import format_instant

PURPOSE = "import"
METHOD_VERSION = "1"


def derived_id(prefix: str, *parts: str) -> str:
    """The id of the record that `parts` identify; equal parts, equal id."""
    digest = hashlib.sha256(json.dumps(parts).encode("ascii")).hexdigest()
    return f"{prefix}-{digest}"


def observation(
    scope: ScopeJson, event_id: str, occurred_at: int, actor: tuple[str, str], content: str
) -> Event:
    """An observation event; `occurred_at` in µs, `actor` = (id, role).

    Raises `InvalidEvent` for content or an actor id that no ledger takes: NUL, half characters,
    empty, or past the limit.
    """
    check_id(actor[0], "actor.id")
    check_text(content, "content", CONTENT_BYTES)
    return {
        "kind": "observation",
        "event_id": event_id,
        "scope": dict(scope),
        "occurred_at": format_instant(occurred_at),
        "actor": {"id": actor[0], "role": actor[1]},
        "purpose": PURPOSE,
        "idempotency_key": event_id,
        "content": content,
        "media_type": "text/plain",
    }


def assertion(
    source: Event,
    fact_id: str,
    method: str,
    key: tuple[str, str],
    value: str,
    spans: Sequence[tuple[int, int]],
    supersedes: str | None,
) -> Event:
    """A direct assertion by `source`'s actor at `source`'s time, bound to quotes of its content.

    `key` = (entity, attribute); `spans` are (start, end) byte offsets into the UTF-8 content;
    all of them must hold together.
    """
    raw = str(source["content"]).encode()
    premises = [
        {
            "observation": source["event_id"],
            "quote": raw[start:end].decode(),
            "start": start,
            "end": end,
        }
        for start, end in spans
    ]
    return {
        "kind": "assertion",
        "event_id": fact_id,
        "scope": source["scope"],
        "occurred_at": source["occurred_at"],
        "actor": source["actor"],
        "purpose": PURPOSE,
        "idempotency_key": fact_id,
        "fact_id": fact_id,
        "entity": key[0],
        "attribute": key[1],
        "value": value,
        "valid_from": source["occurred_at"],
        "valid_to": None,
        "derivation": {"kind": "direct", "method": method, "version": METHOD_VERSION},
        "justifications": [{"premises": premises}],
        "supersedes": supersedes,
    }


def text_fault(value: object, field: str = "") -> Fault | None:
    """The first NUL or half character in any text or key of a JSON value, with its dotted path."""
    if isinstance(value, str):
        try:
            check_text(value, field, len(value) * 4, empty=True)
        except InvalidEvent as error:
            return error.fault
    elif isinstance(value, dict):
        for name, member in value.items():
            path = f"{field}.{name}" if field else name
            fault = text_fault(name, field) or text_fault(member, path)
            if fault is not None:
                return fault
    elif isinstance(value, list):
        for index, member in enumerate(value):
            fault = text_fault(member, f"{field}[{index}]")
            if fault is not None:
                return fault
    return None
