"""The OpenAPI document: what FastAPI cannot see of it, since bodies are parsed by hand.

Every call tells an example of what goes in and of what comes out, and each status that it may
answer with. /docs shows the document, and a test makes requests from it.
"""

from __future__ import annotations

import json
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter

from gateway.http.examples import ANSWERS, EVENTS, OBSERVATION, PARAMETERS, REQUESTS
from gateway.http.problems import MEDIA_TYPE, body_of
from gateway.wire import RecallBody, ReleaseBody, VerifyBody, VerifyReleaseBody
from schemas.answers import Problem
from schemas.wire import EventJson

JSON = "application/json"
NDJSON = "application/x-ndjson"
REF = "#/components/schemas/{model}"
BODIES = (RecallBody, ReleaseBody, VerifyReleaseBody, VerifyBody, Problem)

READ = (401, 403, 422, 429, 503)
WITH_BODY = (401, 403, 408, 413, 422, 429, 503)

_REFUSALS: dict[int, tuple[str, str, str]] = {
    401: ("unknown_key", "the request carries no API key that is known here", "send one"),
    403: ("not_granted", "this key has no grant for that scope and role", "ask an operator"),
    404: ("unknown_event", "no event of this id has been decided in this scope", "check the id"),
    408: ("request_timeout", "7 bytes of the body came in 60 s, and it went on", "send it at once"),
    409: ("head_changed", "the scope moved while the claims were judged", "ask again"),
    413: ("request_too_large", "the request body has 9000000 bytes", "send it in parts"),
    422: ("missing_field", "a required field is missing", "add it"),
    429: ("too_many_requests", "256 requests are being answered", "ask again in a moment"),
    503: ("view_behind", "view: it has not caught up with the log", "ask again"),
}


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a call that may be refused so."""
    return {status: refusal(status, *_REFUSALS[status]) for status in statuses}


def refusal(status: int, code: str, detail: str, remedy: str) -> dict[str, Any]:
    """The response of one refusal: a problem, with an example."""
    body = body_of(status, code, detail, remedy)
    content = {MEDIA_TYPE: {"schema": {"$ref": REF.format(model="Problem")}, "example": body}}
    return {"description": body["title"], "content": content}


def asks(shape: type[Any], *, required: bool = True) -> dict[str, Any]:
    """The `openapi_extra` of a call whose body is parsed into `shape`."""
    content = {JSON: {"schema": {"$ref": REF.format(model=shape.__name__)}}}
    return {"requestBody": {"required": required, "content": content}}


def asks_events() -> dict[str, Any]:
    """The `openapi_extra` of publishing: an event, an array, or lines."""
    event = {"$ref": REF.format(model="Event")}
    schema = {"anyOf": [event, {"type": "array", "items": event}]}
    line = {"schema": {"type": "string"}, "example": json.dumps(OBSERVATION) + "\n"}
    content = {JSON: {"schema": schema, "examples": EVENTS}, NDJSON: line}
    return {"requestBody": {"required": True, "content": content}}


def describe(app: FastAPI) -> None:
    """Give an app its document, made once."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _document(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(
        title=app.title,
        version=app.version,
        description=app.description,
        license_info=app.license_info,
        routes=app.routes,
    )
    shapes = document["components"]["schemas"]
    for shape in BODIES:
        schema = shape.model_json_schema(ref_template=REF)
        shapes.update(schema.pop("$defs", {}))
        shapes[shape.__name__] = schema
    event = TypeAdapter(EventJson).json_schema(ref_template=REF)
    shapes.update(event.pop("$defs", {}))
    shapes["Event"] = event
    for path in document["paths"].values():
        for call in path.values():
            _exemplify(call)
    return document


def _exemplify(call: dict[str, Any]) -> None:
    """Add a call's examples; FastAPI would leave their nulls out."""
    name = call["operationId"]
    for status, answer in call["responses"].items():
        if status.startswith("2"):
            for content in answer["content"].values():
                content["example"] = ANSWERS[name]
    if name in REQUESTS:
        call["requestBody"]["content"][JSON]["example"] = REQUESTS[name]
    for parameter in call.get("parameters", ()):
        if parameter["name"] in PARAMETERS:
            parameter["example"] = PARAMETERS[parameter["name"]]
