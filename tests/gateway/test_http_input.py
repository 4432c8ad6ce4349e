"""What is sent is taken as it stands or refused by name: ids, text, times, parameters."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest

from gateway.http.examples import ASSERTION, CLAIM, OBSERVATION, RECALL, RELEASE, SCOPE
from gateway.requests import Filters
from schemas.kinds import Kind
from schemas.scope import Scope
from tests.gateway.recorder import NOW, Door, problem

ALICE = Scope("acme", "support", "alice", "main")
OPAQUE = ["7", "007", "7e0", "9007199254740993", "a", "-1", "null", "a/b", "a b", "ß", "港😀"]
NOT_TEXT = [7, 7.5, 9007199254740993, True, None, ["7"], {"id": "7"}]


# Ids are opaque text, never numbers (case 72)


@pytest.mark.parametrize("text", OPAQUE)
def test_an_id_arrives_as_it_was_sent(door: Door, text: str) -> None:
    scope = {"tenant": text, "namespace": text, "subject": text, "branch": text}
    named = Scope(text, text, text, text)
    door.call("GET", "/v1/facts", params={**scope, "entity": text})
    door.call("GET", f"/v1/events/{quote(text, safe='')}", params=scope)
    door.call("POST", "/v1/recall", json={"scope": scope, "query": text})
    door.call("POST", "/v1/release", json={**RELEASE, "claims": [{**CLAIM, "facts": [text]}]})
    door.call("POST", "/v1/events", json={**OBSERVATION, "event_id": text, "scope": scope})
    facts, receipt, recall, release, publish = door.port.asked
    assert facts[1:] == (named, Filters(entity=text))
    assert receipt[1:] == (named, text, None)
    assert (recall[1], recall[2].query) == (named, text)
    assert release[2].claims[0].facts == (text,)
    ((_, event),) = publish[2]
    assert (event.envelope.event_id, event.envelope.scope) == (text, named)


@pytest.mark.parametrize("number", NOT_TEXT)
def test_what_is_not_text_is_no_id(door: Door, number: object) -> None:
    refused: list[tuple[str, dict[str, Any]]] = [
        ("/v1/recall", {**RECALL, "scope": {**SCOPE, "subject": number}}),
        ("/v1/recall", {**RECALL, "query": number}),
        ("/v1/release", {**RELEASE, "claims": [{**CLAIM, "facts": [number]}]}),
        ("/v1/release", {**RELEASE, "claims": [{**CLAIM, "entity": number}]}),
        ("/v1/events", {**OBSERVATION, "event_id": number}),
        ("/v1/events", {**ASSERTION, "fact_id": number}),
    ]
    for path, body in refused:
        assert problem(door.call("POST", path, json=body), 422).field
    assert door.port.asked == []


# NUL, half an emoji, bytes that are not UTF-8 (case 84)


@pytest.mark.parametrize(("text", "code"), [("ok\0", "nul"), ("x\ud83d", "lone_surrogate")])
def test_text_that_cannot_be_kept_is_refused_with_its_place(
    door: Door, text: str, code: str
) -> None:
    at = "character 2" if code == "nul" else "character 1"
    places: list[tuple[str, dict[str, Any], str]] = [
        ("/v1/events", {**OBSERVATION, "content": text}, "content"),
        ("/v1/events", {**OBSERVATION, "event_id": text}, "event_id"),
        ("/v1/events", {**ASSERTION, "value": text}, "value"),
        ("/v1/recall", {**RECALL, "query": text}, "query"),
        ("/v1/recall", {**RECALL, "scope": {**SCOPE, "tenant": text}}, "scope.tenant"),
        ("/v1/release", {**RELEASE, "claims": [{**CLAIM, "value": text}]}, "claims[0].value"),
        ("/v1/release", {**RELEASE, "claims": [{**CLAIM, "facts": [text]}]}, "claims[0].facts"),
    ]
    for path, body, field in places:
        said = problem(door.call("POST", path, content=json.dumps(body)), 422)
        assert (said.code, said.field) == (code, field)
        assert at in said.detail
    assert door.port.asked == []


def test_a_nul_in_a_path_or_query_is_refused_with_its_place(door: Door) -> None:
    for path, field in (
        ("/v1/events/e%00", "event_id"),
        ("/v1/facts?tenant=a%00&namespace=b&subject=c", "tenant"),
        ("/v1/facts?tenant=a&namespace=b&subject=c&entity=d%00", "entity"),
    ):
        said = problem(door.call("GET", path, params=None if "?" in path else SCOPE), 422)
        assert (said.code, said.field) == ("nul", field)
        assert "character 1" in said.detail
    assert door.port.asked == []


def test_bytes_that_are_not_utf_8_are_refused_and_never_replaced(door: Door) -> None:
    for path, code, field in (
        ("/v1/events/%ED%A0%BD?tenant=a&namespace=b&subject=c", "not_utf8", "event_id"),
        ("/v1/facts?tenant=%FF&namespace=b&subject=c", "not_utf8", "tenant"),
        ("/v1/facts?tenant=%ED%A0%BD&namespace=b&subject=c", "not_utf8", "tenant"),
    ):
        said = problem(door.call("GET", path), 422)
        assert (said.code, said.field) == (code, field)
    latin = json.dumps(RECALL, ensure_ascii=False).replace("alice", "\xe9").encode("latin-1")
    assert problem(door.call("POST", "/v1/recall", content=latin), 422).code == "not_utf8"
    assert door.port.asked == []


def test_whole_emoji_and_the_replacement_character_itself_are_text(door: Door) -> None:
    for text in ("whole 😀", "\ufffd"):
        assert door.call("GET", "/v1/facts", params={**SCOPE, "entity": text}).status_code == 200
        assert door.port.asked[-1][2].entity == text
        door.call("POST", "/v1/events", json={**OBSERVATION, "content": text})
        assert door.port.asked[-1][2][0][1].content == text


# Unknown and repeated


@pytest.mark.parametrize(
    ("method", "path", "known"),
    [
        ("GET", "/v1/facts", SCOPE),
        ("GET", "/v1/audit/entries", SCOPE),
        ("GET", "/v1/head", SCOPE),
        ("GET", "/v1/events/e1", SCOPE),
        ("POST", "/v1/events", {"wait": "1"}),
        ("POST", "/v1/recall", {}),
        ("POST", "/v1/release", {}),
        ("POST", "/v1/release/verify", {}),
        ("POST", "/v1/admin/verify", {"deep": "true"}),
        ("POST", "/v1/admin/replay", {}),
    ],
)
def test_a_parameter_is_known_and_said_once(
    door: Door, method: str, path: str, known: dict[str, str]
) -> None:
    said = problem(door.call(method, path, params={**known, "audit": "1"}, json={}), 422)
    assert (said.code, said.field) == ("unknown_field", "audit")
    for name in known:
        twice = [*known.items(), (name, "other")]
        said = problem(door.call(method, path, params=twice, json={}), 422)
        assert (said.code, said.field) == ("repeated_field", name)
    assert door.port.asked == []


def test_a_field_is_known_and_said_once(door: Door) -> None:
    for path, body in (("/v1/recall", RECALL), ("/v1/release", RELEASE)):
        said = problem(door.call("POST", path, json={**body, "tenant": "acme"}), 422)
        assert (said.code, said.field) == ("unknown_field", "tenant")
        twice = json.dumps(body).replace('"query":', '"query": "x", "query":')
        assert problem(door.call("POST", path, content=twice), 422).code == "repeated_field"
    assert door.port.asked == []


# Times, tokens, waits


def test_times_arrive_as_microseconds(door: Door) -> None:
    time = {"valid_at": "2026-05-01T11:00:00+02:00", "recorded_at": "2026-05-01T09:00:00.000001Z"}
    at = 1_777_626_000_000_000
    door.call("GET", "/v1/facts", params={**SCOPE, **time, "limit": "3", "cursor": "c"})
    assert door.port.asked[-1] == (
        "facts",
        ALICE,
        Filters(valid_at=at, recorded_at=at + 1, limit=3, cursor="c"),
    )
    door.call("GET", "/v1/history", params={**SCOPE, "valid_at": "any", "after": "t"})
    assert door.port.asked[-1][2] == Filters(valid_at="any", after="t")
    for path, body in (("/v1/recall", RECALL), ("/v1/release", RELEASE)):
        door.call("POST", path, json={**body, **time, "after": "t"})
        request = door.port.asked[-1][2]
        assert (request.valid_at, request.recorded_at, request.after) == (at, at + 1, "t")


@pytest.mark.parametrize("time", ["2026-05-01T09:00:00", "2026-05-01", "now", "", "any "])
def test_a_time_without_an_offset_is_refused(door: Door, time: str) -> None:
    for name in ("valid_at", "recorded_at"):
        params = {**SCOPE, name: time}
        assert problem(door.call("GET", "/v1/facts", params=params), 422).field == name
        assert problem(door.call("POST", "/v1/recall", json={**RECALL, name: time}), 422).field
    assert door.port.asked == []


def test_a_wait_is_between_0_and_30_seconds(door: Door) -> None:
    for wait in ("-1", "30.5", "nan", "inf", "soon", ""):
        path = f"/v1/events?wait={wait}"
        assert problem(door.call("POST", path, json=OBSERVATION), 422).field == "wait"
    assert door.port.asked == []
    assert door.call("POST", "/v1/events?wait=2.5", json=OBSERVATION).status_code == 202
    assert door.port.asked[0][3] == 2.5


# Events


def test_the_adapter_is_the_caller_and_never_a_field(door: Door) -> None:
    for field in ("adapter", "authority", "source"):
        said = problem(door.call("POST", "/v1/events", json={**OBSERVATION, field: "ops"}), 422)
        assert (said.code, said.field) == ("unknown_field", field)
    plain = {k: v for k, v in OBSERVATION.items() if k not in ("actor", "occurred_at", "event_id")}
    (receipt,) = door.call("POST", "/v1/events", json=plain).json()["receipts"]
    ((kind, event),) = door.port.asked[0][2]
    assert kind is Kind.OBSERVATION
    assert (event.envelope.adapter, event.envelope.actor.id) == ("crm", "crm")
    assert event.envelope.occurred_at == NOW
    assert receipt["event_id"] == event.envelope.event_id


def test_a_bad_event_in_an_array_spoils_only_itself(door: Door) -> None:
    sent = [{"kind": "joke"}, OBSERVATION, 7, {**ASSERTION, "value": None}, ASSERTION]
    answer = door.call("POST", "/v1/events", json=sent)
    assert answer.status_code == 202
    receipts = answer.json()["receipts"]
    rejected = [receipt["state"] == "rejected" for receipt in receipts]
    assert rejected == [True, False, True, True, False]
    assert receipts[3]["event_id"] == "e2"
    assert receipts[3]["reason"]["field"] == "value"
    assert [event.envelope.event_id for _, event in door.port.asked[0][2]] == ["e1", "e2"]
    assert door.call("POST", "/v1/events", json=[]).json() == {"receipts": []}


@pytest.mark.parametrize("media", ["application/x-ndjson", "Application/X-NDJSON; charset=utf-8"])
def test_lines_are_events_in_order(door: Door, media: str) -> None:
    lines = [json.dumps(OBSERVATION), "", "{oops", json.dumps(ASSERTION) + "\r"]
    answer = door.call(
        "POST", "/v1/events", content="\n".join(lines), headers={"content-type": media}
    )
    states = [receipt["state"] for receipt in answer.json()["receipts"]]
    assert states == ["accepted", "rejected", "accepted"]
