"""What must not be admitted is refused, told where and why; the next good event is taken."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from msgspec.structs import replace

from processors.admission import Rules
from projections.ports import LogRecord
from schemas.bodies import RefusedBody
from schemas.boundary import parse_event
from schemas.entry import parse_entry
from schemas.events import Event
from schemas.ids import uuid7
from schemas.kinds import KIND_OF_WORD, Decision, Kind, Reason, Role, Tier
from schemas.principals import Grant, Principal, Registry
from schemas.signing import Ed25519Key, Ed25519Signer, HmacKey, HmacSigner, Signer
from tests.core.harness import CODEC, START, TOPICS, Core, secret
from tests.model.histories import from_seed

SCOPE = {"tenant": "acme", "namespace": "support", "subject": "s1", "branch": "main"}
GOOD = {"kind": "observation", "event_id": "good", "content": "hello"}
ED = Ed25519Signer("edna", b"e" * 32)


def principal(name: str, **changes: Any) -> Principal:
    """A writer in tenant acme with an HMAC secret."""
    made = Principal(
        name,
        Tier.SERVICE,
        frozenset({Role.WRITER}),
        (Grant("acme", "*", "*"),),
        False,
        False,
        None,
        HmacKey(secret(name)),
        False,
    )
    return replace(made, **changes)


class Bench:
    """A core that takes single events as given adapters."""

    def __init__(self) -> None:
        self.core = Core(from_seed(1, 1))
        self.core.registry = Registry(
            [
                principal("crm"),
                principal("reader", roles=frozenset({Role.READER})),
                principal("gone", revoked=True),
                principal("edna", key=Ed25519Key(ED.public)),
                principal("clock", system=True),
            ]
        )
        rules = Rules(self.core.policy, self.core.registry)
        self.core.admission._rules = lambda: rules
        self.offsets = {kind: itertools.count() for kind in Kind}

    def raw(
        self, kind: Kind, value: bytes | None, headers: Any = (), partition: int = 0
    ) -> tuple[Decision, Reason]:
        """Admit one record; what its entry says."""
        offset = next(self.offsets[kind])
        record = LogRecord(TOPICS.intake[kind], partition, offset, offset, value, tuple(headers))
        self.core.admission.admit([record])
        entry = parse_entry(self.core.log.read(TOPICS.ledger, 0, 0, 1000)[-1].value)
        assert (entry.header.topic, entry.header.offset) == (kind, offset)
        return Decision(entry.header.decision), Reason(entry.header.reason)

    def say(
        self, event: dict[str, Any], adapter: str = "crm", signer: Signer | None = None
    ) -> tuple[Decision, Reason]:
        """Admit a JSON event as an adapter."""
        kind = KIND_OF_WORD[event["kind"]]
        _, parsed = parse_event(
            {"scope": SCOPE, **event},
            adapter=adapter,
            now=START,
            new_id=lambda: uuid7(1, b"0123456789"),
        )
        return self.send(kind, parsed, signer or HmacSigner(adapter, secret(adapter)))

    def send(self, kind: Kind, event: Event, signer: Signer) -> tuple[Decision, Reason]:
        """Admit a typed event, which need not be valid."""
        payload = CODEC.encode(kind, event)
        return self.raw(kind, payload, signer.sign(kind, payload))

    def rejections(self) -> list[dict[str, Any]]:
        """What the rejections topic tells."""
        records = self.core.log.read(TOPICS.rejections, 0, 0, 1000)
        return [json.loads(record.value or b"") for record in records]


@pytest.fixture
def bench() -> Bench:
    return Bench()


def observation(bench: Bench, **changes: Any) -> Event:
    """A typed observation of `crm` with some envelope fields changed."""
    _, parsed = parse_event({"scope": SCOPE, **GOOD}, adapter="crm", now=START, new_id=lambda: "x")
    return replace(parsed, envelope=replace(parsed.envelope, **changes))


def test_undecodable_records_are_dead_lettered(bench: Bench) -> None:
    for value, reason in (
        (None, Reason.NULL_VALUE),
        (b"", Reason.UNDECODABLE),
        (b"\x30 bytes", Reason.UNDECODABLE),
        (b"\xc3\x01" + b"?" * 8, Reason.UNKNOWN_SCHEMA),
        (b"\x00\x00\x00\x00\x07", Reason.UNKNOWN_SCHEMA),
        (b"\xc3\x01" + b"x" * (2 << 20), Reason.OVERSIZE),
    ):
        assert bench.raw(Kind.OBSERVATION, value) == (Decision.DEAD_LETTERED, reason)
    cut = CODEC.encode(Kind.OBSERVATION, observation(bench))[:-3]
    assert bench.raw(Kind.OBSERVATION, cut) == (Decision.DEAD_LETTERED, Reason.UNDECODABLE)
    assert bench.say(GOOD) == (Decision.ACCEPTED, Reason.NONE)
    told = bench.rejections()
    assert [one["offset"] for one in told] == list(range(7))
    assert {one["topic"] for one in told} == {TOPICS.intake[Kind.OBSERVATION]}
    assert all(one["code"] and one["remedy"] for one in told)


def test_a_refusal_whose_telling_a_crash_cut_off_is_told_by_who_goes_on(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.raw(Kind.OBSERVATION, None)
    append = bench.core.log.append

    def dies(topic: str, partition: int, records: Any) -> list[int]:
        if topic == TOPICS.rejections:
            raise RuntimeError("killed")
        return append(topic, partition, records)

    monkeypatch.setattr(bench.core.log, "append", dies)
    with pytest.raises(RuntimeError):
        bench.raw(Kind.OBSERVATION, b"?")
    monkeypatch.undo()
    successor = Core(bench.core.history, log=bench.core.log, store=bench.core.store)
    successor.follower.vault = bench.core.vault
    successor.admission.resume()
    assert [one["offset"] for one in bench.rejections()] == [0, 1]


def test_who_is_not_authentic_or_not_granted_is_refused_and_owns_nothing(bench: Bench) -> None:
    payload = CODEC.encode(Kind.OBSERVATION, observation(bench))
    refusals = [
        (bench.raw(Kind.OBSERVATION, payload), Reason.UNAUTHENTICATED),
        (bench.say(GOOD, signer=HmacSigner("crm", b"?" * 32)), Reason.UNAUTHENTICATED),
        (bench.say(GOOD, "gone"), Reason.UNAUTHENTICATED),
        (bench.say(GOOD, "edna", HmacSigner("crm", secret("crm"))), Reason.SPEAKER_NOT_ALLOWED),
        (bench.say({**GOOD, "scope": {**SCOPE, "tenant": "other"}}), Reason.SCOPE_NOT_GRANTED),
        (bench.say(GOOD, "reader"), Reason.SCOPE_NOT_GRANTED),
        (
            bench.say({"kind": "deletion", "target": {"subject": True}}),
            Reason.ROLE_REQUIRED,
        ),
        (
            bench.say({"kind": "control", "control": "timeout", "target": {"fact": "f"}}),
            Reason.ROLE_REQUIRED,
        ),
    ]
    assert [said for said, _ in refusals] == [(Decision.REJECTED, reason) for _, reason in refusals]
    assert bench.say(GOOD) == (Decision.ACCEPTED, Reason.NONE)


def test_a_record_in_the_wrong_partition_is_refused(bench: Bench) -> None:
    bench.core.log.partitions = 2
    bench.core.follower.log.partitions = 2
    decisions = {
        bench.say({**GOOD, "event_id": f"e{n}", "scope": {**SCOPE, "subject": f"s{n}"}})
        for n in range(8)
    }
    assert decisions == {
        (Decision.ACCEPTED, Reason.NONE),
        (Decision.REJECTED, Reason.WRONG_PARTITION),
    }


def test_a_malformed_envelope_names_its_field_and_frees_its_key(bench: Bench) -> None:
    signer = HmacSigner("crm", secret("crm"))
    for changes, field in (
        ({"event_id": "*"}, "event_id"),
        ({"event_id": "nul\0"}, "event_id"),
        ({"idempotency_key": "k" * 300}, "idempotency_key"),
        ({"occurred_at": 2**62}, "occurred_at"),
        ({"occurred_at": -62_135_596_800_000_001}, "occurred_at"),
        ({"filled": ("content",)}, "filled"),
    ):
        event = observation(bench, **changes)
        said = bench.send(Kind.OBSERVATION, event, signer)
        assert said == (Decision.REJECTED, Reason.INVALID)
        assert bench.rejections()[-1]["field"] == field
        assert bench.rejections()[-1]["remedy"]
    assert bench.say(GOOD) == (Decision.ACCEPTED, Reason.NONE)


def test_ed25519_is_as_good_as_hmac(bench: Bench) -> None:
    assert bench.say(GOOD, "edna", ED) == (Decision.ACCEPTED, Reason.NONE)
    forged = Ed25519Signer("edna", b"f" * 32)
    assert bench.say({**GOOD, "event_id": "e2"}, "edna", forged) == (
        Decision.REJECTED,
        Reason.UNAUTHENTICATED,
    )


def test_quotes_that_are_not_there_or_twice(bench: Bench) -> None:
    bench.say({**GOOD, "event_id": "o", "content": "here and here"})
    assertion = {"kind": "assertion", "entity": "e", "attribute": "a", "value": "v"}
    for quote, said in (
        ("nowhere", (Decision.QUARANTINED, Reason.QUOTE_NOT_FOUND)),
        ("here", (Decision.REJECTED, Reason.AMBIGUOUS_QUOTE)),
        ("and", (Decision.ACCEPTED, Reason.NONE)),
    ):
        premises = [{"premises": [{"observation": "o", "quote": quote}]}]
        event = {**assertion, "fact_id": quote, "event_id": quote, "justifications": premises}
        assert bench.say(event) == said


def test_a_refused_entry_keeps_no_content(bench: Bench) -> None:
    bench.say({**GOOD, "scope": {**SCOPE, "tenant": "other"}, "content": "very private"})
    entry = parse_entry(bench.core.log.read(TOPICS.ledger, 0, 0, 10)[-1].value)
    (key,) = bench.core.vault.get_many([entry.header.key_id])
    assert key is not None
    from projections.follower import open_body

    body = open_body(0, entry, key)
    assert isinstance(body, RefusedBody)
    assert "very private" not in repr(body)
