"""Every error as problem+json (RFC 9457): stable code, field, limit, remedy; nothing internal."""

from __future__ import annotations

from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from gateway.errors import Refused, TooMany
from schemas.answers import Problem
from schemas.errors import InvalidEvent, LedgerCorrupt, Unavailable

MEDIA_TYPE = "application/problem+json"
log = structlog.get_logger()

_TITLES = {
    400: "Bad request", 401: "Unknown key", 403: "Not granted", 404: "Not found",
    405: "Method not allowed", 409: "Conflict", 413: "Too large", 415: "Unsupported media type",
    422: "Cannot be taken", 429: "Too many requests", 500: "Internal error", 503: "Unavailable",
}  # fmt: skip
DOCUMENTED: dict[int | str, dict[str, Any]] = {
    status: {
        "description": _TITLES[status],
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    for status in (401, 403, 404, 405, 409, 413, 422, 429, 503)
}


def problem(
    status: int,
    code: str,
    detail: str,
    remedy: str | None = None,
    *,
    field: str | None = None,
    limit: str | None = None,
    headers: dict[str, str] | None = None,
) -> JSONResponse:
    """A problem response."""
    body = Problem(
        type=f"urn:mnemolog:problem:{code}",
        title=_TITLES.get(status, "Error"),
        status=status,
        detail=_printable(detail),
        code=code,
        field=_printable(field) if field else None,
        limit=limit or None,
        remedy=remedy or None,
    )
    return JSONResponse(
        body.model_dump(mode="json"), status_code=status, media_type=MEDIA_TYPE, headers=headers
    )


def _printable(text: str) -> str:
    """Text that JSON can carry: lone surrogates are shown, not sent."""
    return text.encode("utf-8", "backslashreplace").decode()


def install(app: FastAPI) -> None:
    """Answer every error of an app as a problem."""

    @app.exception_handler(InvalidEvent)
    def _invalid(_: Request, error: InvalidEvent) -> JSONResponse:
        fault = error.fault
        return problem(
            422, fault.code, fault.detail, fault.remedy, field=fault.field, limit=fault.limit
        )

    @app.exception_handler(Refused)
    def _refused(_: Request, error: Refused) -> JSONResponse:
        headers = {}
        if isinstance(error, TooMany):
            headers["Retry-After"] = str(error.retry_after)
        if error.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        return problem(
            error.status,
            error.code,
            error.detail,
            error.remedy,
            field=error.field,
            limit=error.limit,
            headers=headers,
        )

    @app.exception_handler(Unavailable)
    def _unavailable(_: Request, error: Unavailable) -> JSONResponse:
        detail = f"{error.part}: {error.detail}"
        return problem(503, error.code, detail, error.remedy, headers={"Retry-After": "1"})

    @app.exception_handler(LedgerCorrupt)
    def _corrupt(_: Request, error: LedgerCorrupt) -> JSONResponse:
        return problem(503, "ledger_damaged", str(error), "type: mnemolog verify --deep")

    @app.exception_handler(RequestValidationError)
    def _validation(_: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"][1:]) or None
        code = "unknown_field" if first["type"] == "extra_forbidden" else "invalid_parameter"
        if first["type"] == "missing":
            code = "missing_field"
        remedy = "see /docs for what this call takes"
        return problem(422, code, str(first["msg"]), remedy, field=field)

    @app.exception_handler(HTTPException)
    def _http(_: Request, error: HTTPException) -> JSONResponse:
        code = _TITLES.get(error.status_code, "error").lower().replace(" ", "_")
        headers = dict(error.headers or {})
        return problem(
            error.status_code,
            code,
            str(error.detail),
            "see /docs for the calls there are",
            headers=headers,
        )

    @app.exception_handler(Exception)
    def _unexpected(request: Request, error: Exception) -> JSONResponse:
        log.error("unexpected", path=request.url.path, error=type(error).__name__, exc_info=error)
        return problem(
            500, "internal_error", "an error that should not happen; it was logged", "report it"
        )
