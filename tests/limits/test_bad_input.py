"""Bad input at the door of a running server: refused by field, limit and remedy, or taken whole.

One server for all of them, over a real socket: each refusal also shows that the one before did no
harm. Nothing that was refused is in memory at the end.
"""

from __future__ import annotations

import gzip
import json
import os
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import pytest

from gateway import errors
from gateway.http.examples import ASSERTION, OBSERVATION
from gateway.http.server import Server, bind, url_of
from mnemolog import Memory
from mnemolog.doors import EmbeddedDoor
from schemas.answers import Problem
from schemas.errors import InvalidEvent
from schemas.limits import CONTENT_BYTES, REQUEST_BYTES, REQUEST_EVENTS
from schemas.master import MasterKey
from schemas.principals import local_api_key

Json = dict[str, Any]
SCOPE = {"tenant": "acme", "namespace": "support", "subject": "bad input"}
MIB = 1024 * 1024


class Site:
    """A server over a data directory, and a connection to it."""

    def __init__(self, door: EmbeddedDoor, url: str, key: str) -> None:
        self.door = door
        self.url = url
        self.key = key
        self._connection = HTTPConnection(urlsplit(url).netloc, timeout=60)

    def call(self, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, Json]:
        """Status and JSON of a call with the key."""
        said = {name.replace("_", "-"): value for name, value in headers.items()}
        said["authorization"] = f"Bearer {self.key}"
        self._connection.request(method, path, body, said)
        response = self._connection.getresponse()
        return response.status, json.loads(response.read())

    def publish(self, body: object, **headers: str) -> tuple[int, Json]:
        """Publish plain data, or bytes as they are, and wait for the decisions."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.call("POST", "/v1/events?wait=5", data, **headers)

    def refused(self, body: object, status: int = 422, **headers: str) -> Problem:
        """The problem of what was published; there is always a remedy."""
        found, said = self.publish(body, **headers)
        assert found == status, said
        problem = Problem.model_validate(said)
        assert problem.status == status
        assert problem.remedy
        return problem


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One for all tests; memory holds nothing that was refused when they are done."""
    path = tmp_path_factory.mktemp("bad-input")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("XDG_STATE_HOME", str(path / "state"))
        door = EmbeddedDoor.open(path / "data")
        listener = bind("127.0.0.1", 0)
        listener.listen()
        server = Server(door.app())
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield Site(door, url_of(listener), local_api_key(MasterKey.load(path / "data", os.environ)))
        server.should_exit = True
        thread.join(30)
        assert door.page("episodes", SCOPE).items == ()
        assert door.page("audit/entries", SCOPE).items == ()
        door.close()


def bad(event: Json, **changes: object) -> Json:
    """An example's event with some fields changed, in the scope that must stay empty."""
    return {**event, "scope": SCOPE, **changes}


# Size and number


def test_an_event_of_two_mebibytes_is_told_its_size_and_the_limit(site: Site) -> None:
    large = bad(OBSERVATION, content="x" * (2 * MIB))
    said = site.refused(large)
    assert (said.code, said.field, said.limit) == ("too_long", "content", f"{CONTENT_BYTES} bytes")
    assert str(2 * MIB) in said.detail
    for door in (site.door, Memory.connect(site.url, site.key).door):
        with pytest.raises(InvalidEvent) as refused:
            door.publish_one(large, 5.0)
        fault = refused.value.fault
        assert (fault.code, fault.field, fault.limit) == (said.code, said.field, said.limit)
        assert str(2 * MIB) in fault.detail


@pytest.mark.parametrize("field", ["event_id", "fact_id", "purpose", "supersedes"])
def test_a_small_field_of_two_mebibytes_is_told_its_own_limit(site: Site, field: str) -> None:
    said = site.refused(bad(ASSERTION, **{field: "x" * (2 * MIB)}))
    assert (said.field, said.limit) == (field, "256 bytes")


@pytest.mark.parametrize("media", ["application/json", "application/x-ndjson"])
def test_a_hundred_thousand_events_in_one_request_are_413_and_none_is_taken(
    site: Site, media: str
) -> None:
    count = 100_000
    one = b'{"kind":"retraction","fact_id":"f"}'
    lines = media.endswith("ndjson")
    body = b"\n".join([one] * count) if lines else b"[" + b",".join([one] * count) + b"]"
    assert len(body) < REQUEST_BYTES
    said = site.refused(body, 413, content_type=media)
    assert (said.code, said.limit) == ("too_many_events", str(REQUEST_EVENTS))
    assert str(count) in said.detail


def test_python_says_the_same_of_a_hundred_thousand_events(site: Site) -> None:
    event = {"kind": "retraction", "fact_id": "f"}
    for door in (site.door, Memory.connect(site.url, site.key).door):
        with pytest.raises(errors.TooLarge) as refused:
            door.publish([event] * 100_000, 0.0)
        told = refused.value
        assert (told.code, told.limit) == ("too_many_events", str(REQUEST_EVENTS))
        assert told.remedy


def test_a_request_beyond_its_bytes_is_413_however_it_is_sent(site: Site) -> None:
    body = b'[{"kind":"' + b"x" * REQUEST_BYTES + b'"}]'
    assert site.refused(body, 413).limit == f"{REQUEST_BYTES} bytes"


# JSON that is deep, wide, doubled, marked, compressed, or none


@pytest.mark.parametrize("depth", [2_000, 1_000_000])
def test_deep_nesting_is_refused_and_spoils_only_its_own_line(site: Site, depth: int) -> None:
    deep = b'{"kind":"grant","payload":' + b"[" * depth + b"]" * depth + b"}"
    assert site.refused(deep).code == "too_deep"
    lines = b"\n".join([deep, b'{"kind":"joke"}', deep])
    status, said = site.publish(lines, content_type="application/x-ndjson")
    codes = [receipt["reason"]["code"] for receipt in said["receipts"]]
    assert (status, codes) == (202, ["too_deep", "unknown_symbol", "too_deep"])


def test_a_payload_nested_deeper_than_its_limit_names_it(site: Site) -> None:
    payload: Json = {}
    for _ in range(40):
        payload = {"in": payload}
    grant = {"kind": "grant", "event_id": "g", "record_id": "g", "scope": SCOPE}
    said = site.refused({**grant, "payload": payload})
    assert (said.field.split(".")[0] if said.field else "", said.limit) == ("payload", "32 levels")


def test_an_object_of_a_hundred_thousand_fields_is_refused_by_one_of_them(site: Site) -> None:
    said = site.refused(bad(OBSERVATION, **{f"field {n}": n for n in range(100_000)}))
    assert (said.code, said.field) == ("unknown_field", "field 0")


@pytest.mark.parametrize(
    "body",
    [
        b'{"kind": "observation", "kind": "retraction"}',
        b'{"kind": "observation", "scope": {"tenant": "a", "tenant": "b"}}',
        b'[{"kind": "observation"}, {"kind": "observation", "content": "a", "content": "b"}]',
    ],
)
def test_a_key_said_twice_is_refused_at_every_depth(site: Site, body: bytes) -> None:
    assert site.refused(body).code == "repeated_field"


def test_a_byte_order_mark_is_named(site: Site) -> None:
    said = site.refused(b"\xef\xbb\xbf" + json.dumps(bad(OBSERVATION)).encode())
    assert said.code == "invalid_json"
    assert "byte order mark" in said.detail


@pytest.mark.parametrize("coding", ["utf-16", "utf-32", "latin-1", "cp037"])
def test_another_encoding_than_utf_8_is_refused_whatever_the_type_says(
    site: Site, coding: str
) -> None:
    body = json.dumps(bad(OBSERVATION, content="é"), ensure_ascii=False).encode(coding)
    said = site.refused(body, content_type=f"application/json; charset={coding}")
    assert said.code in ("not_utf8", "invalid_json")


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "gzip, identity", "zstd"])
def test_a_compressed_body_is_refused_and_never_unpacked(site: Site, coding: str) -> None:
    bomb = gzip.compress(b"[" + b" " * (64 * MIB) + b"]")
    said = site.refused(bomb, content_encoding=coding)
    assert (said.code, said.field) == ("encoded_body", "content-encoding")


@pytest.mark.parametrize(
    "media",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "é"],
)
def test_what_is_no_json_is_refused_under_every_content_type(site: Site, media: str) -> None:
    for body in (b"kind=observation&content=x", b"--x\r\n\r\nkind\r\n--x--", b"", b"\0\0"):
        assert site.refused(body, content_type=media.encode().decode("latin-1")).code == (
            "invalid_json"
        )


@pytest.mark.parametrize("body", ["7", '"text"', "null", "true", "[7]", "[[]]", "[null]"])
def test_json_that_is_no_event_is_refused_where_it_stands(site: Site, body: str) -> None:
    status, said = site.publish(body.encode())
    if body.startswith("["):
        (receipt,) = said["receipts"]
        assert (status, receipt["state"]) == (202, "rejected")
        assert receipt["reason"]["code"] == "wrong_type"
    else:
        assert (status, said["code"]) == (422, "wrong_type")


# Times


@pytest.mark.parametrize("field", ["occurred_at", "valid_from", "valid_to", "expires_at"])
@pytest.mark.parametrize(
    ("time", "code"),
    [
        ("2026-05-01T09:00:00", "zoneless_time"),
        ("2026-05-01 09:00", "zoneless_time"),
        ("2026", "imprecise_time"),
        ("2026-05", "imprecise_time"),
        ("2026-05-01", "imprecise_time"),
        ("20260501", "imprecise_time"),
        ("0000-05-01T09:00:00Z", "invalid_time"),
        ("10000-05-01T09:00:00Z", "invalid_time"),
        ("9999-12-31T23:59:59-01:00", "time_out_of_range"),
        ("0001-01-01T00:00:00+01:00", "time_out_of_range"),
        ("2026-02-30T09:00:00Z", "invalid_time"),
        ("2026-05-01T24:00:00Z", "invalid_time"),
        ("2026-05-01T09:00:60Z", "invalid_time"),
        ("2026-05-01T09:00:00+24:00", "invalid_time"),
        ("2026-05-01T09:00:00.1234567Z", "invalid_time"),
        ("2026-05-01T09:00:00 Europe/Berlin", "invalid_time"),
        ("\u0662\u0660\u0662\u0666-05-01T09:00:00Z", "invalid_time"),
        ("now", "invalid_time"),
        ("", "invalid_time"),
        ("2026-05-01T09:00:00Z\n", "invalid_time"),
        (1_777_626_000, "wrong_type"),
        (1_777_626_000.5, "wrong_type"),
        (2**63, "wrong_type"),
        (True, "wrong_type"),
        ([], "wrong_type"),
    ],
)
def test_every_wrong_kind_of_time_is_refused_by_its_field(
    site: Site, field: str, time: object, code: str
) -> None:
    said = site.refused(bad(ASSERTION, **{field: time}))
    assert (said.code, said.field) == (code, field)


@pytest.mark.parametrize("field", ["valid_to", "expires_at"])
@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("2026-05-01T00:00:00Z", "empty_interval"),
        ("2026-05-01T02:00:00+02:00", "empty_interval"),
        ("2026-04-30T23:59:59.999999Z", "reversed_interval"),
    ],
)
def test_an_end_that_is_not_after_its_start_is_refused(
    site: Site, field: str, end: str, code: str
) -> None:
    said = site.refused(bad(ASSERTION, **{"valid_from": "2026-05-01T00:00:00Z", field: end}))
    assert (said.code, said.field, said.limit) == (code, field, f"valid_from < {field}")


# Numbers


def premised(**span: object) -> Json:
    """An assertion whose premise has that span."""
    premise = {"observation": "e1", "quote": "moved", "start": 2, "end": 7, **span}
    return bad(ASSERTION, justifications=[{"premises": [premise]}])


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 2**64, 10**40])
def test_an_integer_past_64_bits_is_refused_by_its_field(site: Site, number: int) -> None:
    reference = {"uri": "file:a", "sha256": "0" * 64, "bytes": number}
    without = {k: v for k, v in OBSERVATION.items() if k != "content"}
    for event, field in (
        (bad(ASSERTION, value=number, type="integer"), "value"),
        (premised(start=number), "justifications[0].premises[0].start"),
        (premised(end=number), "justifications[0].premises[0].end"),
        (bad(without, content_ref=reference), "content_ref.bytes"),
    ):
        said = site.refused(event)
        assert (said.field, said.code) in ((field, "out_of_range"), (field, "wrong_type"))


def test_integers_at_the_ends_of_64_bits_are_kept_as_they_are(site: Site) -> None:
    scope = {**SCOPE, "subject": "whole numbers"}
    for number in (2**63 - 1, -(2**63)):
        name = f"f{number}"
        said = {"value": number, "type": "integer", "scope": scope, "entity": name}
        status, answer = site.publish({**ASSERTION, "event_id": name, "fact_id": name, **said})
        assert (status, answer["receipts"][0]["state"]) == (202, "parked")  # its source is away
        page = site.call("GET", "/v1/audit/facts?" + urlencode({**scope, "entity": name}))[1]
        assert [item["value"] for item in page["items"]] == [number]


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 5_000])
def test_a_number_that_json_or_64_bits_do_not_have_is_refused(site: Site, number: str) -> None:
    event = json.dumps(bad(OBSERVATION, salience="HERE")).replace('"HERE"', number)
    assert site.refused(event.encode()).code in ("invalid_json", "out_of_range")


# Ids


HOSTILE = [
    "a:b",
    "a/b",
    "/",
    "..",
    "%2F",
    "a b",
    "a\tb",
    "'; DROP TABLE memory; --",
    "\u200bhidden",
    "аlice",  # noqa: RUF001 - a Cyrillic a
    "alice",
    "ALICE",
    "e\u0301",
    "\u00e9",
    "x" * 63 + "1234567",
    "x" * 63 + "7654321",
    "\U0001f600",
    "null",
    "0",
    "00",
]


def test_ids_that_look_alike_to_somebody_are_different_and_come_back_as_they_were(
    site: Site,
) -> None:
    events = [
        {"kind": "observation", "event_id": text, "content": f"it is {n}", "scope": scoped(text)}
        for n, text in enumerate(HOSTILE)
    ]
    status, said = site.publish(events)
    assert status == 202
    assert {receipt["state"] for receipt in said["receipts"]} == {"accepted"}
    for n, text in enumerate(HOSTILE):
        query = urlencode(scoped(text))
        (episode,) = site.call("GET", f"/v1/episodes?{query}")[1]["items"]
        assert (episode["event_id"], episode["content"]) == (text, f"it is {n}")
        path = f"/v1/events/{quote(text, safe='')}?{query}"
        assert site.call("GET", path)[1]["event_id"] == text


def scoped(text: str) -> Json:
    """A scope of which every component is that text."""
    return dict.fromkeys(("tenant", "namespace", "subject", "branch"), text)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "empty"),
        ("*", "wildcard"),
        ("a\0b", "nul"),
        ("\ud83d", "lone_surrogate"),
        ("x" * 257, "too_long"),
        ("é" * 129, "too_long"),
    ],
)
def test_an_id_that_cannot_be_one_is_refused_by_its_field(site: Site, text: str, code: str) -> None:
    for event, field in (
        (bad(OBSERVATION, event_id=text), "event_id"),
        (bad(OBSERVATION, idempotency_key=text), "idempotency_key"),
        (bad(OBSERVATION, actor={"id": text, "role": "user"}), "actor.id"),
        (bad(ASSERTION, fact_id=text), "fact_id"),
        *(({**OBSERVATION, "scope": {**SCOPE, part: text}}, f"scope.{part}") for part in SCOPE),
    ):
        said = site.refused(event)
        assert (said.code, said.field) == (code, field)


@pytest.mark.parametrize("raw", [b"\xff", b"\xc0\xaf", b"\xed\xa0\xbd", b"\x80abc"])
def test_bytes_that_are_no_text_are_refused_in_a_body_a_query_and_a_path(
    site: Site, raw: bytes
) -> None:
    body = json.dumps(bad(OBSERVATION)).encode().replace(b"alice", raw)
    assert site.refused(body.replace(b'"e1"', b'"' + raw + b'"')).code == "not_utf8"
    percent = quote(raw, safe="")
    query = urlencode({k: v for k, v in SCOPE.items() if k != "tenant"})
    for path in (f"/v1/facts?{query}&tenant={percent}", f"/v1/events/{percent}?{urlencode(SCOPE)}"):
        status, said = site.call("GET", path)
        assert (status, said["code"]) == (422, "not_utf8")
        assert said["field"] in ("tenant", "event_id")
