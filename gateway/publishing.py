"""From JSON to published events: what every door does with events it was handed.

A fault in a single event raises; in an array or in lines it is that event's own `rejected` receipt,
and the others go on.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from gateway.errors import Forbidden, TooLarge
from gateway.ports import Application
from schemas import answers
from schemas.boundary import parse_event
from schemas.errors import Fault, InvalidEvent
from schemas.events import Event
from schemas.ids import uuid7
from schemas.kinds import KIND_OF_WORD, Kind
from schemas.limits import REQUEST_EVENTS
from schemas.principals import Principal
from schemas.reading import read_json


def publish_json(
    application: Application,
    principal: Principal,
    body: bytes,
    lines: bool,
    clock: Callable[[], int],
    wait: float,
) -> list[answers.Receipt]:
    """Parse and publish; a fault in a single event raises, in an array it is its receipt."""
    if lines:
        raws: list[object] = [line for line in body.split(b"\n") if line.strip()]
    else:
        document = read_json(body)
        if not isinstance(document, list):
            return [publish_single(application, principal, document, clock, wait)]
        raws = document
    return publish_many(application, principal, raws, clock, wait)


def publish_single(
    application: Application,
    principal: Principal,
    raw: object,
    clock: Callable[[], int],
    wait: float,
) -> answers.Receipt:
    """Publish one event; a fault in it raises."""
    event = _parsed(raw, principal.name, clock)
    (receipt,) = application.publish(principal, [event], wait)
    return receipt


def publish_many(
    application: Application,
    principal: Principal,
    raws: list[object],
    clock: Callable[[], int],
    wait: float,
) -> list[answers.Receipt]:
    """Publish the good ones in order; a bad one is answered by its own `rejected` receipt.

    More than a request may hold are `TooLarge`, and none of them is published.
    """
    if len(raws) > REQUEST_EVENTS:
        raise TooLarge(
            "too_many_events",
            f"{len(raws)} events in one request",
            "send them in parts",
            limit=str(REQUEST_EVENTS),
        )
    receipts, good = parsed_events(raws, principal.name, clock, application.authorising(principal))
    published = iter(application.publish(principal, good, wait) if good else ())
    return [next(published) if receipt is None else receipt for receipt in receipts]


def parsed_events(
    raws: list[object],
    adapter: str,
    clock: Callable[[], int],
    allow: Callable[[tuple[Kind, Event]], None] = lambda _: None,
) -> tuple[list[answers.Receipt | None], list[tuple[Kind, Event]]]:
    """Rejected receipts in the places of bad events (None elsewhere), and the good events."""
    receipts: list[answers.Receipt | None] = []
    good: list[tuple[Kind, Event]] = []
    for raw in raws:
        try:
            event = _parsed(read_json(raw) if isinstance(raw, bytes) else raw, adapter, clock)
            allow(event)
        except InvalidEvent as error:
            receipts.append(_rejected(raw, error.fault))
        except Forbidden as error:
            fault = Fault(error.code, "scope", error.detail, error.remedy)
            receipts.append(_rejected(raw, fault))
        else:
            good.append(event)
            receipts.append(None)
    return receipts, good


def _parsed(raw: object, adapter: str, clock: Callable[[], int]) -> tuple[Kind, Event]:
    now = clock()
    return parse_event(
        raw, adapter=adapter, now=now, new_id=lambda: uuid7(now // 1000, os.urandom(10))
    )


def _rejected(raw: object, fault: Fault) -> answers.Receipt:
    said = raw if isinstance(raw, dict) else {}
    event_id, kind = said.get("event_id"), said.get("kind")
    return answers.Receipt(
        event_id=event_id if isinstance(event_id, str) and event_id.isprintable() else None,
        kind=kind if kind in KIND_OF_WORD else None,
        token=None,
        state="rejected",
        reason=answers.Reason(
            code=fault.code, field=fault.field, detail=fault.detail, remedy=fault.remedy
        ),
        entry=None,
    )
