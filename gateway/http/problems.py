"""Every error as problem+json (RFC 9457): stable code, field, limit, remedy; nothing internal.

One place turns errors into answers, so that none goes out in another shape: refusals, input faults,
missing parts, FastAPI's own, and what nobody foresaw.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from gateway.errors import Refused, TooMany
from schemas.answers import Problem
from schemas.errors import InvalidEvent, LedgerCorrupt, Unavailable
from schemas.faults import path

MEDIA_TYPE = "application/problem+json"
SEE_DOCS = "see /docs for the calls there are and what each takes"

_TITLES = {
    400: "Bad request", 401: "Unknown key", 403: "Not granted", 404: "Not found",
    405: "Method not allowed", 408: "Too slow", 409: "Conflict", 413: "Too large",
    422: "Cannot be taken", 429: "Too many requests", 500: "Internal error", 503: "Unavailable",
}  # fmt: skip


def body_of(
    status: int,
    code: str,
    detail: str,
    remedy: str | None,
    *,
    field: str | None = None,
    limit: str | None = None,
) -> dict[str, Any]:
    """The document of a problem; what does not apply is left out."""
    said = Problem(
        type=f"urn:mnemolog:problem:{code}",
        title=_TITLES.get(status, "Error"),
        status=status,
        detail=_printable(detail),
        code=code,
        field=_printable(field) if field else None,
        limit=limit or None,
        remedy=_printable(remedy) if remedy else None,
    )
    return said.model_dump(mode="json")


def problem(
    status: int,
    code: str,
    detail: str,
    remedy: str | None,
    *,
    field: str | None = None,
    limit: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """A problem as a response."""
    body = body_of(status, code, detail, remedy, field=field, limit=limit)
    return JSONResponse(body, status_code=status, media_type=MEDIA_TYPE, headers=headers)


def internal() -> JSONResponse:
    """The answer to what nobody foresaw; the log says what it was."""
    return problem(500, "internal_error", "this should not happen; it was logged", "report it")


def _printable(text: str) -> str:
    """Text that JSON can carry: lone surrogates are shown, not sent."""
    return text.encode("utf-8", "backslashreplace").decode()


def install(app: FastAPI) -> None:
    """Answer every error of an app as a problem."""
    app.add_exception_handler(InvalidEvent, _invalid)
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(Unavailable, _unavailable)
    app.add_exception_handler(LedgerCorrupt, _corrupt)
    app.add_exception_handler(RequestValidationError, _parameter)
    app.add_exception_handler(HTTPException, _framework)


async def _invalid(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, InvalidEvent)
    fault = error.fault
    return problem(
        422, fault.code, fault.detail, fault.remedy, field=fault.field, limit=fault.limit
    )


async def _refused(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, Refused)
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


async def _unavailable(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, Unavailable)
    detail = f"{error.part}: {error.detail}"
    return problem(503, error.code, detail, error.remedy, headers={"Retry-After": "1"})


async def _corrupt(_: Request, error: Exception) -> JSONResponse:
    return problem(503, "ledger_damaged", str(error), "type: mnemolog verify --deep")


async def _parameter(_: Request, error: Exception) -> JSONResponse:
    """A query parameter that FastAPI could not take, in this product's words."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    code, context = first["type"], first.get("ctx", {})
    field = path(tuple(first["loc"][1:]))
    if code == "missing":
        return problem(422, "missing_field", f"{field} is required", f"add {field}=", field=field)
    bound = context.get("ge", context.get("le"))
    if bound is not None:
        return problem(
            422,
            "out_of_range",
            str(first["msg"]).replace("Input", field, 1),
            "send a number within the limit",
            field=field,
            limit=str(bound),
        )
    detail = str(first["msg"]).replace("Input", field, 1)
    return problem(422, "invalid_parameter", detail, SEE_DOCS, field=field)


async def _framework(request: Request, error: Exception) -> JSONResponse:
    """What routing itself refuses: a path or a method that is not there."""
    assert isinstance(error, HTTPException)
    status = error.status_code
    detail = {
        404: "there is no such path",
        405: f"this path does not take {request.method}",
    }.get(status, str(error.detail))
    code = _TITLES.get(status, "error").lower().replace(" ", "_")
    return problem(status, code, detail, SEE_DOCS, headers=error.headers)
