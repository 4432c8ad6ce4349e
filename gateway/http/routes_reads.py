"""What memory holds: recall, the lists, the audit, the head (INTERFACE "HTTP").

None of it is permission to say anything; release is.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from gateway.http import openapi
from gateway.http.answered import answered
from gateway.http.auth import Caller
from gateway.http.received import Body, only
from gateway.ports import Application
from gateway.wire import ListParams, RecallBody, ScopeParams, parse
from schemas.answers import AuditEntry, AuditFact, Conflict, Episode, Fact, Head, Page, Recall
from schemas.reading import read_json

Params = Annotated[ListParams, Query()]
_LIST: dict[str, Any] = {
    "dependencies": [only(*ListParams.model_fields)],
    "responses": openapi.refusals(*openapi.READ),
}


def reads(application: Application) -> APIRouter:
    """Recall and the head."""
    router = APIRouter(tags=["reads"])

    @router.post(
        "/v1/recall",
        response_model=Recall,
        dependencies=[only()],
        openapi_extra=openapi.asks(RecallBody),
        responses=openapi.refusals(*openapi.WITH_BODY),
    )
    def recall(caller: Caller, body: Body) -> Response:
        """What bears on this? Ranked, at most `limit`; found is not allowed to be said."""
        asked = parse(RecallBody, read_json(body))
        return answered(application.recall(caller, asked.scope.scope(), asked.request()))

    @router.get(
        "/v1/head",
        response_model=Head,
        dependencies=[only(*ScopeParams.model_fields)],
        responses=openapi.refusals(*openapi.READ),
    )
    def head(caller: Caller, at: Annotated[ScopeParams, Query()]) -> Response:
        """Where the scope's memory stands."""
        return answered(application.head(caller, at.scope()))

    return router


def lists(application: Application) -> APIRouter:
    """The lists of readers."""
    router = APIRouter(tags=["reads"], **_LIST)

    @router.get("/v1/facts", response_model=Page[Fact])
    def facts(caller: Caller, at: Params) -> Response:
        """Public facts, now or at an instant."""
        return answered(application.facts(caller, at.scope(), at.filters()))

    @router.get("/v1/history", response_model=Page[Fact])
    def history(caller: Caller, at: Params) -> Response:
        """Every period of a key, superseded ones marked."""
        return answered(application.history(caller, at.scope(), at.filters()))

    @router.get("/v1/conflicts", response_model=Page[Conflict])
    def conflicts(caller: Caller, at: Params) -> Response:
        """Facts that cannot all be so; none of them may be said."""
        return answered(application.conflicts(caller, at.scope(), at.filters()))

    @router.get("/v1/episodes", response_model=Page[Episode])
    def episodes(caller: Caller, at: Params) -> Response:
        """Testimony: what was said, never releasable."""
        return answered(application.episodes(caller, at.scope(), at.filters()))

    return router


def audit(application: Application) -> APIRouter:
    """The lists of auditors."""
    router = APIRouter(tags=["audit"], **_LIST)

    @router.get("/v1/audit/entries", response_model=Page[AuditEntry])
    def audit_entries(caller: Caller, at: Params) -> Response:
        """The scope's ledger entries with their decisions; role auditor."""
        return answered(application.audit_entries(caller, at.scope(), at.filters()))

    @router.get("/v1/audit/facts", response_model=Page[AuditFact])
    def audit_facts(caller: Caller, at: Params) -> Response:
        """Assertions of every status with the cause; role auditor."""
        return answered(application.audit_facts(caller, at.scope(), at.filters()))

    return router
