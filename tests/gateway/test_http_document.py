"""The OpenAPI document and its page: every call with its key, statuses and true examples."""

from __future__ import annotations

import re
from typing import Any

import pytest

from gateway.http import examples
from gateway.http.examples import ANSWERS, EVENTS, RECALL, RELEASE, REQUESTS, SCOPE
from gateway.wire import RecallBody, ReleaseBody, VerifyReleaseBody, parse
from schemas import answers
from schemas.boundary import parse_event
from tests.gateway.conftest import Http
from tests.gateway.recorder import Door

CALLS = {
    ("post", "/v1/events"): {202, 401, 403, 408, 413, 422, 429, 503},
    ("get", "/v1/events/{event_id}"): {200, 401, 403, 404, 409, 422, 429, 503},
    ("post", "/v1/recall"): {200, 401, 403, 408, 413, 422, 429, 503},
    ("post", "/v1/release"): {200, 401, 403, 408, 409, 413, 422, 429, 503},
    ("post", "/v1/release/verify"): {200, 401, 403, 408, 413, 422, 429, 503},
    ("get", "/v1/facts"): {200, 401, 403, 422, 429, 503},
    ("get", "/v1/history"): {200, 401, 403, 422, 429, 503},
    ("get", "/v1/conflicts"): {200, 401, 403, 422, 429, 503},
    ("get", "/v1/episodes"): {200, 401, 403, 422, 429, 503},
    ("get", "/v1/audit/entries"): {200, 401, 403, 422, 429, 503},
    ("get", "/v1/audit/facts"): {200, 401, 403, 422, 429, 503},
    ("get", "/v1/head"): {200, 401, 403, 422, 429, 503},
    ("post", "/v1/admin/verify"): {200, 401, 403, 408, 413, 422, 429, 503},
    ("post", "/v1/admin/checkpoint"): {200, 401, 403, 422, 429, 503},
    ("post", "/v1/admin/replay"): {200, 401, 403, 422, 429, 503},
    ("get", "/healthz"): {200},
    ("get", "/readyz"): {200, 503},
    ("get", "/metrics"): {200, 401, 403, 503},
}
MODELS: dict[str, type[answers.Answer]] = {
    "publish": answers.Receipts,
    "receipt": answers.Receipt,
    "recall": answers.Recall,
    "release": answers.Release,
    "verify_release": answers.ReleaseCheck,
    "facts": answers.Page[answers.Fact],
    "history": answers.Page[answers.Fact],
    "conflicts": answers.Page[answers.Conflict],
    "episodes": answers.Page[answers.Episode],
    "audit_entries": answers.Page[answers.AuditEntry],
    "audit_facts": answers.Page[answers.AuditFact],
    "head": answers.Head,
    "verify": answers.Verification,
    "checkpoint": answers.Checkpoint,
}


def calls(door: Door) -> dict[tuple[str, str], dict[str, Any]]:
    """The document's calls."""
    paths = door.client.get("/openapi.json").json()["paths"]
    return {(method, path): call for path, told in paths.items() for method, call in told.items()}


def test_every_call_is_told_with_every_status_it_answers(door: Door) -> None:
    told = calls(door)
    assert {call: {int(status) for status in told[call]["responses"]} for call in told} == CALLS
    for call in told.values():
        for status, answer in call["responses"].items():
            if int(status) >= 400:
                (media,) = answer["content"]
                assert media == "application/problem+json"
                said = answers.Problem.model_validate(answer["content"][media]["example"])
                assert said.status == int(status)


def test_every_call_but_the_open_ones_takes_a_key(door: Door) -> None:
    schemes = door.client.get("/openapi.json").json()["components"]["securitySchemes"]
    ((name, scheme),) = schemes.items()
    assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")
    for (_, path), call in calls(door).items():
        assert call.get("security") == (None if path in ("/healthz", "/readyz") else [{name: []}])


def test_every_call_has_examples_of_what_goes_in_and_out(door: Door) -> None:
    for call in calls(door).values():
        for status, answer in call["responses"].items():
            for content in answer["content"].values():
                assert content["example"] is not None, (call["operationId"], status)
        for content in call.get("requestBody", {"content": {}})["content"].values():
            assert content.get("example") or content.get("examples")
        for parameter in call.get("parameters", ()):
            if parameter["required"] and parameter["in"] == "query":
                assert parameter["example"] == SCOPE[parameter["name"]]


@pytest.mark.parametrize("name", MODELS)
def test_an_answers_example_is_its_model_to_the_last_field(name: str) -> None:
    shape = MODELS[name].model_validate(ANSWERS[name])
    assert shape.model_dump(mode="json", exclude_unset=True) == ANSWERS[name]


def test_the_examples_of_bodies_are_taken(door: Door) -> None:
    parse(RecallBody, REQUESTS["recall"]).request()
    parse(ReleaseBody, REQUESTS["release"]).request()
    parse(VerifyReleaseBody, REQUESTS["verify_release"])
    for example in EVENTS.values():
        value = example["value"]
        for event in value if isinstance(value, list) else [value]:
            parse_event(event, adapter="crm", now=0, new_id=lambda: "id")
    for call in calls(door).values():
        for parameter in call.get("parameters", ()):
            assert parameter.get("example", "") == examples.PARAMETERS.get(parameter["name"], "")


def test_the_examples_tell_one_true_story(http: Http) -> None:
    told = http.call("POST", "/v1/events?wait=5", json=EVENTS["several, in order"]["value"])
    assert [receipt["state"] for receipt in told.json()["receipts"]] == ["accepted", "accepted"]
    recalled = http.call("POST", "/v1/recall", json=RECALL).json()
    released = http.call("POST", "/v1/release", json=RELEASE).json()
    checked = {**REQUESTS["verify_release"], "record": released["record"]}
    assert http.call("POST", "/v1/release/verify", json=checked).json() == examples.CHECK_ANSWER
    assert shape_of(recalled) == shape_of(examples.RECALL_ANSWER)
    assert shape_of(released) == shape_of(examples.RELEASE_ANSWER)
    for name in ("facts", "history", "episodes", "audit_facts", "audit_entries"):
        page = http.call("GET", f"/v1/{name.replace('_', '/')}", params=SCOPE).json()
        example: Any = ANSWERS[name]
        assert shape_of(page["items"][0]) == shape_of(example["items"][0])


def shape_of(value: Any) -> Any:
    """The names of a document, without its values."""
    if isinstance(value, dict):
        return {name: shape_of(each) for name, each in value.items()}
    return [shape_of(each) for each in value] if isinstance(value, list) else None


def test_the_page_loads_nothing_from_elsewhere(door: Door) -> None:
    answer = door.client.get("/docs")
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert not re.findall(r"""(?:src|href)=["'](?!openapi\.json)|@import|url\(|//\w""", answer.text)
    assert 'fetch("openapi.json")' in answer.text
