"""For operators and their machines: health, readiness, metrics, verify, replay, the docs.

Health and readiness are open and hold no contents; the rest takes the role operator.
"""

from __future__ import annotations

from importlib.resources import files

from fastapi import APIRouter, Response
from fastapi.responses import HTMLResponse, PlainTextResponse

from gateway.errors import Forbidden
from gateway.http import openapi
from gateway.http.auth import Caller
from gateway.http.metrics import Metrics
from gateway.http.problems import problem
from gateway.http.received import Body, only
from gateway.ports import Application
from gateway.wire import VerifyBody, parse
from schemas.answers import Checkpoint, Verification
from schemas.kinds import Role
from schemas.reading import read_json

DOCS_PAGE = files("gateway.http").joinpath("docs.html").read_text(encoding="utf-8")
DOCS_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'"
)


def administration(application: Application) -> APIRouter:
    """What an operator asks of a running process."""
    router = APIRouter(tags=["operations"])

    @router.post(
        "/v1/admin/verify",
        dependencies=[only("deep")],
        openapi_extra=openapi.asks(VerifyBody, required=False),
        responses=openapi.refusals(*openapi.WITH_BODY),
    )
    def verify(caller: Caller, body: Body, deep: bool = False) -> Verification:
        """Check the ledger; `deep` also bodies, witnesses and projections. Role operator.

        With a body, also whether the ledger still holds what a checkpoint saw of it.
        """
        asked = parse(VerifyBody, read_json(body)) if body else VerifyBody()
        return application.verify(caller, deep, asked.against)

    @router.post(
        "/v1/admin/checkpoint",
        dependencies=[only()],
        responses=openapi.refusals(*openapi.READ),
    )
    def checkpoint(caller: Caller) -> Checkpoint:
        """Sign where every partition stands, to be kept elsewhere. Role operator."""
        return application.checkpoint(caller)

    @router.post(
        "/v1/admin/replay",
        dependencies=[only()],
        responses=openapi.refusals(*openapi.READ),
    )
    def replay(caller: Caller) -> dict[str, int]:
        """Rebuild the projections while reads go on; entries by partition. Role operator."""
        return application.replay(caller)

    return router


def health(application: Application, metrics: Metrics) -> APIRouter:
    """What machines ask."""
    router = APIRouter(tags=["operations"])

    @router.get("/healthz", response_class=PlainTextResponse)
    async def healthz() -> str:
        """Whether the process lives; answered without a thread, so waiting calls do not matter."""
        return "ok\n"

    @router.get("/readyz", response_class=PlainTextResponse, responses=openapi.refusals(503))
    def readyz() -> Response:
        """Whether it may be asked; 503 says why not."""
        found = application.ready()
        if found:
            return problem(503, "unavailable", "; ".join(found), "see the process's log")
        return PlainTextResponse("ready\n")

    @router.get(
        "/metrics",
        name="metrics",
        response_class=PlainTextResponse,
        responses=openapi.refusals(401, 403, 503),
    )
    def tell_metrics(caller: Caller) -> Response:
        """Metrics for Prometheus; role operator."""
        if Role.OPERATOR not in caller.roles:
            raise Forbidden("not_granted", "metrics are for operators", "use an operator's key")
        return PlainTextResponse(metrics.exposition())

    @router.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(DOCS_PAGE, headers={"Content-Security-Policy": DOCS_POLICY})

    return router
