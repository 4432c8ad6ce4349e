"""Requests made from the OpenAPI document: no 5xx but a told 503, no undocumented status."""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, settings

from tests.gateway.conftest import Http

pytestmark = pytest.mark.slow


def test_no_request_from_the_document_breaks_the_door(http: Http) -> None:
    schema = schemathesis.openapi.from_asgi("/openapi.json", http.client.app)
    headers = {"Authorization": f"Bearer {http.keys['all']}"}
    for found in schema.get_all_operations():
        operation = found.ok()
        documented = {str(status) for status in operation.definition.raw["responses"]}

        @settings(
            max_examples=25,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        )
        @_given(operation)
        def probe(case):  # type: ignore[no-untyped-def]
            if "admin" in case.path:
                return
            response = case.call(headers={**(case.headers or {}), **headers})
            assert response.status_code < 500, (case.path, response.status_code, response.text)
            assert str(response.status_code) in documented, (case.path, response.status_code)

        probe()


def _given(operation):  # type: ignore[no-untyped-def]
    from hypothesis import given

    return given(case=operation.as_strategy())
