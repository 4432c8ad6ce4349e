"""Publishing, and what became of it (INTERFACE "HTTP").

A fault in a single event is 422; in an array or in lines it is that event's own receipt.
Publishing has threads of its own: where the log is slow or away, those who read are still answered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Header, Query, Response

from gateway.http import openapi
from gateway.http.answered import answered
from gateway.http.auth import Caller
from gateway.http.metrics import Metrics
from gateway.http.received import Body, EventId, only
from gateway.ports import Application
from gateway.publishing import publish_json
from gateway.wire import ReceiptParams
from schemas.answers import Receipt, Receipts
from schemas.errors import invalid
from schemas.kinds import KIND_OF_WORD
from schemas.principals import Principal

MAX_WAIT = 30.0
PUBLISHING = 32  # requests that are published at once; others wait their turn
Wait = Annotated[
    float,
    Query(ge=0, le=MAX_WAIT, allow_inf_nan=False, description="seconds to wait for decisions"),
]
ContentType = Annotated[str, Header(alias="content-type", include_in_schema=False)]
_AMBIGUOUS = openapi.refusal(
    409,
    "ambiguous_event",
    "events of several kinds have this id: observation, retraction",
    "say which with kind=",
)


def events(application: Application, clock: Callable[[], int], metrics: Metrics) -> APIRouter:
    """The routes; `clock` in µs."""
    router = APIRouter(tags=["events"])
    turns = CapacityLimiter(PUBLISHING)

    def take(caller: Principal, body: bytes, lines: bool, wait: float) -> Response:
        receipts = publish_json(application, caller, body, lines, clock, wait)
        metrics.published(receipts)
        return answered(Receipts(receipts=tuple(receipts)), 202)

    @router.post(
        "/v1/events",
        response_model=Receipts,
        status_code=202,
        dependencies=[only("wait")],
        openapi_extra=openapi.asks_events(),
        responses=openapi.refusals(*openapi.WITH_BODY),
    )
    async def publish(
        caller: Caller, body: Body, wait: Wait = 0.0, content_type: ContentType = openapi.JSON
    ) -> Response:
        """Publish one event, an array of them, or NDJSON; receipts in order."""
        lines = content_type.partition(";")[0].strip().lower() == openapi.NDJSON
        return await to_thread.run_sync(take, caller, body, lines, wait, limiter=turns)

    @router.get(
        "/v1/events/{event_id:path}",
        response_model=Receipt,
        dependencies=[only(*ReceiptParams.model_fields)],
        responses=openapi.refusals(*openapi.READ, 404) | {409: _AMBIGUOUS},
    )
    def receipt(caller: Caller, event: EventId, at: Annotated[ReceiptParams, Query()]) -> Response:
        """What became of an event; 409 naming `kind` where two kinds share the id."""
        if at.kind is not None and at.kind not in KIND_OF_WORD:
            kinds = ", ".join(KIND_OF_WORD)
            raise invalid("unknown_symbol", "kind", "no such kind", f"use one of: {kinds}", kinds)
        kind = None if at.kind is None else KIND_OF_WORD[at.kind]
        return answered(application.receipt(caller, at.scope(), event, kind))

    return router
