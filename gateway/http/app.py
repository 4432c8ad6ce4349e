"""The FastAPI application: authenticate, parse, ask the application layer, answer.

Nothing is decided here. Bodies of events are parsed strictly one by one, so a bad event in an array
spoils only itself.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Query, Request, Response
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse, PlainTextResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from pydantic import TypeAdapter
from starlette.concurrency import run_in_threadpool

from gateway.application import Application
from gateway.errors import Forbidden, Unauthenticated, Unprocessable
from gateway.http import problems
from gateway.http.docs import DOCS_PAGE
from gateway.http.limits import BodyLimit
from gateway.publishing import publish_json
from gateway.wire import (
    ListParams,
    RecallBody,
    ReceiptParams,
    ReleaseBody,
    ScopeParams,
    VerifyReleaseBody,
    parse,
    parse_claims,
)
from schemas import answers
from schemas.kinds import KIND_OF_WORD, Role
from schemas.limits import REQUEST_BYTES
from schemas.principals import Principal, Registry
from schemas.reading import read_json
from schemas.wire import EventJson

MAX_WAIT = 30.0
_bearer = HTTPBearer(auto_error=False, description="an API key (`mnemolog keys add`)")


def caller(
    request: Request,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> Principal:
    """The principal of the API key; 401 otherwise."""
    if credentials is not None:
        registry: Registry = request.app.state.registry()
        principal = registry.by_api_key(credentials.credentials)
        if principal is not None:
            return principal
    raise Unauthenticated(
        "unknown_key",
        "the request carries no API key that is known here",
        "send Authorization: Bearer KEY; make one with: mnemolog keys add NAME",
    )


Caller = Annotated[Principal, Depends(caller)]
Params = Annotated[ListParams, Query()]


class Counters:
    """What /metrics tells."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "mnemolog_http_requests", "HTTP requests", ("route", "status"), registry=self.registry
        )
        self.seconds = Histogram(
            "mnemolog_http_seconds", "Time to answer", ("route",), registry=self.registry
        )
        self.receipts = Counter(
            "mnemolog_receipts", "Receipts given", ("kind", "state"), registry=self.registry
        )


def create_app(
    application: Application, registry: Callable[[], Registry], clock: Callable[[], int]
) -> FastAPI:
    """The HTTP door of one process; `clock` in µs."""
    app = FastAPI(
        title="mnemolog",
        version="1",
        docs_url=None,
        redoc_url=None,
        description="Governed memory for agents: recall is not permission, release is.",
        responses=problems.DOCUMENTED,
    )
    counters = Counters()
    problems.install(app)
    app.add_middleware(BodyLimit, limit=REQUEST_BYTES)

    @app.middleware("http")
    async def measured(
        request: Request, call_next: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        began = time.perf_counter()
        response = await call_next(request)
        route = getattr(request.scope.get("route"), "path", "unknown")
        counters.requests.labels(route, str(response.status_code)).inc()
        counters.seconds.labels(route).observe(time.perf_counter() - began)
        return response

    app.state.registry = registry
    _events(app, application, clock, counters)
    _reads(app, application)
    _operations(app, application, counters)
    _describe(app)
    return app


def _events(
    app: FastAPI, application: Application, clock: Callable[[], int], counters: Counters
) -> None:
    @app.post(
        "/v1/events",
        status_code=202,
        response_model=answers.Receipts,
        openapi_extra={"requestBody": {"required": True, "content": _EVENT_CONTENT}},
    )
    async def publish(request: Request, principal: Caller, wait: float = 0.0) -> Any:
        """Publish one event, an array of them, or NDJSON; receipts in order."""
        if not 0 <= wait <= MAX_WAIT:
            raise Unprocessable(
                "invalid_parameter", "wait is in seconds", "use 0 to 30", field="wait", limit="30"
            )
        if set(request.query_params) - {"wait"}:
            unknown = sorted(set(request.query_params) - {"wait"})[0]
            raise Unprocessable(
                "unknown_field", f"there is no parameter {unknown}", "leave it out", field=unknown
            )
        body = await request.body()
        lines = request.headers.get("content-type", "").startswith("application/x-ndjson")
        receipts = await run_in_threadpool(
            publish_json, application, principal, body, lines, clock, wait
        )
        for receipt in receipts:
            counters.receipts.labels(receipt.kind or "unknown", receipt.state).inc()
        return answers.Receipts(receipts=tuple(receipts))

    @app.get("/v1/events/{event_id:path}", response_model=answers.Receipt)
    def receipt(event_id: str, principal: Caller, at: Annotated[ReceiptParams, Query()]) -> Any:
        """What became of an event."""
        kind = None
        if at.kind is not None:
            kind = KIND_OF_WORD.get(at.kind)
            if kind is None:
                raise Unprocessable(
                    "unknown_symbol",
                    f"{at.kind} is no kind of event",
                    "use one of: " + ", ".join(KIND_OF_WORD),
                    field="kind",
                )
        return application.receipt(principal, at.scope(), event_id, kind)


def _reads(app: FastAPI, application: Application) -> None:
    @app.post("/v1/recall", response_model=answers.Recall, openapi_extra=_body(RecallBody))
    async def recall(request: Request, principal: Caller) -> Any:
        """What bears on this?"""
        body = parse(RecallBody, read_json(await request.body()))
        return await run_in_threadpool(
            application.recall, principal, body.scope.scope(), body.request()
        )

    @app.post("/v1/release", response_model=answers.Release, openapi_extra=_body(ReleaseBody))
    async def release(request: Request, principal: Caller) -> Any:
        """May I say this now?"""
        body = parse(ReleaseBody, read_json(await request.body()))
        return await run_in_threadpool(
            application.release, principal, body.scope.scope(), body.request()
        )

    @app.post(
        "/v1/release/verify",
        response_model=answers.ReleaseCheck,
        openapi_extra=_body(VerifyReleaseBody),
    )
    async def verify_release(request: Request, principal: Caller) -> Any:
        """Does this release record still stand?"""
        body = parse(VerifyReleaseBody, read_json(await request.body()))
        return await run_in_threadpool(
            application.verify_release,
            principal,
            body.record,
            body.query,
            parse_claims(body.claims),
        )

    @app.get("/v1/facts", response_model=answers.Page[answers.Fact])
    def facts(principal: Caller, at: Params) -> Any:
        """Public facts."""
        return application.facts(principal, at.scope(), at.filters())

    @app.get("/v1/history", response_model=answers.Page[answers.Fact])
    def history(principal: Caller, at: Params) -> Any:
        """Every period of a key, superseded ones marked."""
        return application.history(principal, at.scope(), at.filters())

    @app.get("/v1/conflicts", response_model=answers.Page[answers.Conflict])
    def conflicts(principal: Caller, at: Params) -> Any:
        """Conflict sets."""
        return application.conflicts(principal, at.scope(), at.filters())

    @app.get("/v1/episodes", response_model=answers.Page[answers.Episode])
    def episodes(principal: Caller, at: Params) -> Any:
        """Testimony."""
        return application.episodes(principal, at.scope(), at.filters())

    @app.get("/v1/audit/entries", response_model=answers.Page[answers.AuditEntry])
    def audit_entries(principal: Caller, at: Params) -> Any:
        """The scope's ledger entries; role auditor."""
        return application.audit_entries(principal, at.scope(), at.filters())

    @app.get("/v1/audit/facts", response_model=answers.Page[answers.AuditFact])
    def audit_facts(principal: Caller, at: Params) -> Any:
        """Assertions of every status; role auditor."""
        return application.audit_facts(principal, at.scope(), at.filters())

    @app.get("/v1/head", response_model=answers.Head)
    def head(principal: Caller, at: Annotated[ScopeParams, Query()]) -> Any:
        """Where the scope's memory stands."""
        return application.head(principal, at.scope())


def _operations(app: FastAPI, application: Application, counters: Counters) -> None:
    @app.post("/v1/admin/verify", response_model=answers.Verification)
    def verify(principal: Caller, deep: bool = False) -> Any:
        """Check the ledger; role operator."""
        return application.verify(principal, deep)

    @app.post("/v1/admin/replay", response_model=dict[str, int])
    def replay(principal: Caller) -> Any:
        """Rebuild the projections; role operator."""
        return application.replay(principal)

    @app.get("/healthz", response_class=PlainTextResponse)
    def healthz() -> str:
        """Whether the process lives."""
        return "ok\n"

    @app.get("/readyz", response_class=PlainTextResponse)
    def readyz() -> Response:
        """Whether it may be asked; 503 says why not."""
        found = application.ready()
        if found:
            return problems.problem(503, "unavailable", "; ".join(found), "see the process's log")
        return PlainTextResponse("ready\n")

    @app.get("/metrics", response_class=PlainTextResponse)
    def metrics(principal: Caller) -> Response:
        """Prometheus metrics; role operator."""
        if Role.OPERATOR not in principal.roles:
            raise Forbidden("not_granted", "metrics are for operators", "use an operator's key")
        return PlainTextResponse(generate_latest(counters.registry))

    @app.get("/docs", include_in_schema=False)
    def docs() -> HTMLResponse:
        return HTMLResponse(DOCS_PAGE)


def _body(shape: type[Any]) -> dict[str, Any]:
    schema = {"$ref": f"#/components/schemas/{shape.__name__}"}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


_EXAMPLE = {
    "kind": "observation",
    "scope": {"tenant": "acme", "namespace": "support", "subject": "alice"},
    "content": "I moved to Berlin in May.",
    "actor": {"id": "alice", "role": "user"},
}
_EVENT = {"$ref": "#/components/schemas/Event"}
_EVENT_CONTENT = {
    "application/json": {
        "schema": {"anyOf": [_EVENT, {"type": "array", "items": _EVENT}]},
        "example": _EXAMPLE,
    },
    "application/x-ndjson": {"schema": {"type": "string"}},
}


def _describe(app: FastAPI) -> None:
    """The OpenAPI document, with the shapes that are parsed by hand."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = get_openapi(
                title=app.title,
                version=app.version,
                description=app.description,
                routes=app.routes,
            )
            shapes = document.setdefault("components", {}).setdefault("schemas", {})
            template = "#/components/schemas/{model}"
            for shape in (RecallBody, ReleaseBody, VerifyReleaseBody, answers.Problem):
                schema = shape.model_json_schema(ref_template=template)
                shapes.update(schema.pop("$defs", {}))
                shapes[shape.__name__] = schema
            event = TypeAdapter(EventJson).json_schema(ref_template=template)
            shapes.update(event.pop("$defs", {}))
            shapes["Event"] = event
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
