"""Requests made from the OpenAPI document: no 5xx, no undocumented status, shape or media type."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance

from tests.gateway.conftest import Http

pytestmark = pytest.mark.slow
CHECKS = [response_schema_conformance, content_type_conformance]
GENTLE = settings(
    max_examples=25,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)


def test_no_request_from_the_document_breaks_the_door(http: Http) -> None:
    schema = schemathesis.openapi.from_asgi("/openapi.json", http.client.app)
    headers = {"Authorization": f"Bearer {http.keys['all']}"}
    for found in schema.get_all_operations():
        operation: Any = found.ok()  # type: ignore[union-attr]
        if "admin" not in operation.path:
            probe(operation, headers)


def probe(operation: Any, headers: dict[str, str]) -> None:
    """Call one operation with generated requests."""
    documented = {str(status) for status in operation.definition.raw["responses"]}

    @GENTLE
    @given(case=operation.as_strategy())
    def call(case: Any) -> None:
        response = case.call(headers={**(case.headers or {}), **headers})
        assert response.status_code < 500, (case.path, response.status_code, response.text)
        assert str(response.status_code) in documented, (case.path, response.status_code)
        case.validate_response(response, checks=CHECKS)

    call()
