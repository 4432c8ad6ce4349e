"""May this be said, and does what was said still stand? (INTERFACE "HTTP")"""

from __future__ import annotations

from fastapi import APIRouter, Response

from gateway.http import openapi
from gateway.http.answered import answered
from gateway.http.auth import Caller
from gateway.http.received import Body, only
from gateway.ports import Application
from gateway.wire import ReleaseBody, VerifyReleaseBody, parse, parse_claims
from schemas.answers import Release, ReleaseCheck
from schemas.reading import read_json


def releasing(application: Application) -> APIRouter:
    """The routes."""
    router = APIRouter(tags=["release"], dependencies=[only()])

    @router.post(
        "/v1/release",
        response_model=Release,
        openapi_extra=openapi.asks(ReleaseBody),
        responses=openapi.refusals(*openapi.WITH_BODY, 409),
    )
    def release(caller: Caller, body: Body) -> Response:
        """May I say this now? 409 `head_changed` if the scope moved, 503 if the view is behind."""
        asked = parse(ReleaseBody, read_json(body))
        return answered(application.release(caller, asked.scope.scope(), asked.request()))

    @router.post(
        "/v1/release/verify",
        response_model=ReleaseCheck,
        openapi_extra=openapi.asks(VerifyReleaseBody),
        responses=openapi.refusals(*openapi.WITH_BODY),
    )
    def verify_release(caller: Caller, body: Body) -> Response:
        """Whether a release record is authentic, unchanged, and of the scope as it is now."""
        asked = parse(VerifyReleaseBody, read_json(body))
        claims = parse_claims(asked.claims)
        return answered(application.verify_release(caller, asked.record, asked.query, claims))

    return router
