"""What no event may break, whoever put it on the log: each limit refused at its edge (SPEC §4)."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from msgspec.structs import replace

from schemas import validate
from schemas.canonical import canonical
from schemas.errors import InvalidEvent
from schemas.events import (
    Actor,
    Assertion,
    ContentRef,
    Control,
    Deletion,
    Derivation,
    Envelope,
    Event,
    Note,
    Observation,
    Premise,
    Retraction,
    Value,
    WorkingSet,
)
from schemas.kinds import Kind
from schemas.limits import CONTENT_BYTES, ID_BYTES, MEMBERS, PREMISES, QUOTES_BYTES
from schemas.scope import Scope
from schemas.text import check_marks
from schemas.times import MAX_MICROS, MIN_MICROS
from tests.schemas.generated import events
from tests.schemas.samples import fault_of

ENVELOPE = Envelope(
    "e1", Scope("acme", "support", "alice"), "crm", Actor("alice", "user"), "support", 5, "k1", ()
)
SEEN = Observation(ENVELOPE, "I moved to Berlin in May.", None, "text/plain", "normal", 0.5)
QUOTE = Premise("e1", "moved to Berlin", 2, 17)
FACT = Assertion(
    ENVELOPE,
    "f1",
    "alice",
    "city",
    Value("string", "Berlin"),
    10,
    20,
    1.0,
    Derivation("direct", "crm", "1"),
    ((QUOTE,),),
    None,
    None,
)
REFERENCE = ContentRef("s3://bucket/1", "0f" * 32, 12)
HALF = "half \ud83d"


def refused(kind: Kind, event: Event) -> tuple[str, str]:
    fault = fault_of(lambda: validate.check(kind, event))
    return fault.code, fault.field


def seen(**changes: Any) -> tuple[str, str]:
    return refused(Kind.OBSERVATION, replace(SEEN, **changes))


def enveloped(**changes: Any) -> tuple[str, str]:
    return seen(envelope=replace(ENVELOPE, **changes))


def asserted(**changes: Any) -> tuple[str, str]:
    return refused(Kind.ASSERTION, replace(FACT, **changes))


def premised(*premises: Premise) -> tuple[str, str]:
    return asserted(justifications=((QUOTE,), premises))


@given(events)
def test_every_generated_event_is_valid(pair: tuple[Kind, Event]) -> None:
    validate.check(*pair)


def test_every_kind_has_its_check() -> None:
    assert set(validate._CHECKS) == set(Kind)


@pytest.mark.parametrize(
    "text", ["7", "007", "7e0", "9007199254740993", "a b", "x:y", "C:\\t", "**"]
)
def test_ids_are_opaque(text: str) -> None:
    changed = replace(ENVELOPE, event_id=text, scope=Scope(text, text, text, text))
    validate.check(Kind.OBSERVATION, replace(SEEN, envelope=changed))


def test_an_id_may_fill_its_limit_in_bytes_and_not_pass_it() -> None:
    for fits in ("x" * ID_BYTES, "\u00e9" * (ID_BYTES // 2)):
        validate.check(Kind.OBSERVATION, replace(SEEN, envelope=replace(ENVELOPE, event_id=fits)))
    for exceeds in ("x" * (ID_BYTES + 1), "\u00e9" * (ID_BYTES // 2 + 1)):
        assert enveloped(event_id=exceeds) == ("too_long", "event_id")


@pytest.mark.parametrize(
    ("text", "code"),
    [("", "empty"), ("*", "wildcard"), ("a\0", "nul"), (HALF, "lone_surrogate")],
)
def test_no_id_is_empty_wild_or_unstorable(text: str, code: str) -> None:
    scope = ENVELOPE.scope
    for component in ("tenant", "namespace", "subject", "branch"):
        assert enveloped(scope=replace(scope, **{component: text})) == (code, f"scope.{component}")
    for field in ("event_id", "idempotency_key", "adapter", "purpose"):
        assert enveloped(**{field: text}) == (code, field)
    assert enveloped(actor=Actor(text, "user")) == (code, "actor.id")
    assert asserted(fact_id=text) == (code, "fact_id")
    assert asserted(supersedes=text) == (code, "supersedes")
    where = "justifications[1].premises[0]"
    assert premised(Premise(fact=text)) == (code, f"{where}.fact")
    assert premised(Premise(observation=text, quote="q")) == (code, f"{where}.observation")
    assert refused(Kind.RETRACTION, Retraction(ENVELOPE, text, "")) == (code, "fact_id")
    for target in ("observation", "fact"):
        deletion = Deletion(ENVELOPE, target, text, "")
        assert refused(Kind.DELETION, deletion) == (code, f"target.{target}")
    working = WorkingSet(ENVELOPE, "w1", "task", ("e1", text), None)
    assert refused(Kind.WORKINGSET, working) == (code, "members[1]")
    assert refused(Kind.GRANT, Note(ENVELOPE, text, "{}")) == (code, "record_id")


@pytest.mark.parametrize(("text", "code"), [("ok\0!", "nul"), (HALF, "lone_surrogate")])
def test_text_that_cannot_be_stored_is_refused_with_its_position(text: str, code: str) -> None:
    fault = fault_of(lambda: validate.check(Kind.OBSERVATION, replace(SEEN, content=text)))
    assert (fault.code, fault.field) == (code, "content")
    assert f"at character {2 if code == 'nul' else 5}" in fault.detail
    assert asserted(value=Value("string", text)) == (code, "value")
    assert asserted(entity=text) == (code, "entity")
    assert premised(Premise("e1", text)) == (code, "justifications[1].premises[0].quote")
    assert refused(Kind.RETRACTION, Retraction(ENVELOPE, "f1", text)) == (code, "reason")


def test_whole_emoji_are_untouched() -> None:
    validate.check(Kind.OBSERVATION, replace(SEEN, content="ok \U0001f600\u200d\U0001f525"))


@pytest.mark.parametrize("micros", [MIN_MICROS - 1, MAX_MICROS + 1, 2**62])
def test_instants_off_the_log_lie_in_years_1_to_9999(micros: int) -> None:
    code = "time_out_of_range"
    assert enveloped(occurred_at=micros) == (code, "occurred_at")
    assert asserted(valid_from=micros) == (code, "valid_from")
    assert asserted(valid_to=micros) == (code, "valid_to")
    assert asserted(expires_at=micros) == (code, "expires_at")
    working = WorkingSet(ENVELOPE, "w1", "task", (), micros)
    assert refused(Kind.WORKINGSET, working) == (code, "expires_at")


@pytest.mark.parametrize(("end", "code"), [(10, "empty_interval"), (9, "reversed_interval")])
@pytest.mark.parametrize("field", ["valid_to", "expires_at"])
def test_no_interval_is_empty_or_reversed_and_both_bounds_are_named(
    field: str, end: int, code: str
) -> None:
    event = replace(FACT, **{field: end})
    fault = fault_of(lambda: validate.check(Kind.ASSERTION, event))
    assert (fault.code, fault.field) == (code, field)
    for bound in ("valid_from", "00.000010Z", field, f"{end}Z"):
        assert bound in fault.detail


def test_a_filled_in_start_is_named_as_such() -> None:
    envelope = replace(ENVELOPE, filled=("occurred_at", "valid_from"))
    event = replace(FACT, envelope=envelope, valid_to=3)
    assert "(filled in)" in fault_of(lambda: validate.check(Kind.ASSERTION, event)).detail


@pytest.mark.parametrize("number", [-0.1, 1.000001, math.nan, math.inf, -math.inf])
def test_confidence_and_salience_lie_in_0_to_1(number: float) -> None:
    assert seen(salience=number) == ("out_of_range", "salience")
    assert asserted(confidence=number) == ("out_of_range", "confidence")


def test_symbols_outside_their_vocabulary_are_never_defaulted() -> None:
    code = "unknown_symbol"
    assert enveloped(actor=Actor("alice", "admin")) == (code, "actor.role")
    assert seen(sensitivity="top") == (code, "sensitivity")
    assert asserted(derivation=Derivation("guess", "m", "1")) == (code, "derivation.kind")
    assert asserted(value=Value("float", "1")) == (code, "type")
    assert refused(Kind.DELETION, Deletion(ENVELOPE, "tenant", None, "")) == (code, "target")
    control = Control(ENVELOPE, "grant_all", "fact", "f1", "")
    assert refused(Kind.CONTROL, control) == (code, "control")
    control = Control(ENVELOPE, "timeout", "tenant", "acme", "")
    assert refused(Kind.CONTROL, control) == (code, "target")


@pytest.mark.parametrize("name", ["content", "value", "scope", "event"])
def test_a_producer_cannot_hide_content_by_calling_it_filled(name: str) -> None:
    assert enveloped(filled=("event_id", name)) == ("unknown_symbol", "filled")


def test_content_is_given_exactly_once() -> None:
    assert seen(content=None) == ("missing_field", "content")
    assert seen(content_ref=REFERENCE) == ("conflicting_fields", "content_ref")
    validate.check(Kind.OBSERVATION, replace(SEEN, content=None, content_ref=REFERENCE))


@pytest.mark.parametrize("character", ["x", "\u00e9", "\U0001f600"])
def test_content_may_fill_one_mebibyte_and_not_pass_it(character: str) -> None:
    full = character * (CONTENT_BYTES // len(character.encode()))
    validate.check(Kind.OBSERVATION, replace(SEEN, content=full))
    event = replace(SEEN, content=full + character)
    fault = fault_of(lambda: validate.check(Kind.OBSERVATION, event))
    assert (fault.code, fault.field) == ("too_long", "content")
    assert str(CONTENT_BYTES) in fault.limit
    assert str(CONTENT_BYTES + len(character.encode())) in fault.detail


def test_a_content_reference_is_checkable() -> None:
    def reference(**changes: Any) -> tuple[str, str]:
        return seen(content=None, content_ref=replace(REFERENCE, **changes))

    assert reference(sha256="0f" * 31) == ("invalid_hash", "content_ref.sha256")
    assert reference(sha256="0F" * 32) == ("invalid_hash", "content_ref.sha256")
    assert reference(bytes=-1) == ("out_of_range", "content_ref.bytes")
    assert reference(uri="") == ("empty", "content_ref.uri")


@pytest.mark.parametrize("blank", [" ", "\t\n", "\u200b", "\u3000\ufeff"])
def test_a_key_with_nothing_visible_is_refused(blank: str) -> None:
    assert asserted(entity=blank) == ("blank", "entity")
    assert asserted(attribute=blank) == ("blank", "attribute")


@pytest.mark.parametrize("text", ["x`) DETACH DELETE n //", "a\tb", "a\nb", "'; drop"])
def test_whatever_looks_like_a_query_is_data(text: str) -> None:
    validate.check(Kind.ASSERTION, replace(FACT, entity=text, attribute=text))


@pytest.mark.parametrize(
    ("premise", "code", "field"),
    [
        (Premise(), "missing_field", "observation"),
        (Premise(quote="q"), "missing_field", "observation"),
        (Premise(observation="e1"), "missing_field", "quote"),
        (Premise(observation="e1", quote=""), "empty", "quote"),
        (Premise(observation="e1", quote="q", fact="f0"), "conflicting_fields", "fact"),
        (Premise(quote="q", fact="f0"), "conflicting_fields", "quote"),
        (Premise(start=0, end=1, fact="f0"), "conflicting_fields", "start"),
        (Premise("e1", "q", 0, None), "missing_field", "end"),
        (Premise("e1", "q", None, 1), "missing_field", "start"),
        (Premise("e1", "q", -1, 0), "out_of_range", "start"),
        (Premise("e1", "q", 1, 1), "span_mismatch", "end"),
        (Premise("e1", "q", 2, 1), "span_mismatch", "end"),
        (Premise("e1", "\u00e9", 0, 1), "span_mismatch", "end"),
    ],
)
def test_a_premise_names_one_source_and_its_own_bytes(
    premise: Premise, code: str, field: str
) -> None:
    assert premised(QUOTE, premise) == (code, f"justifications[1].premises[1].{field}")


def test_spans_count_bytes() -> None:
    for premise in (Premise("e1", "\u00e9", 0, 2), Premise("e1", "\U0001f600", 7, 11)):
        validate.check(Kind.ASSERTION, replace(FACT, justifications=((premise,),)))


def test_an_assertion_has_1_to_64_premises_in_all() -> None:
    assert asserted(justifications=()) == ("empty", "justifications")
    assert premised() == ("empty", "justifications[1].premises")
    half = (QUOTE,) * (PREMISES // 2)
    validate.check(Kind.ASSERTION, replace(FACT, justifications=(half, half)))
    many = asserted(justifications=(half, half, (QUOTE,)))
    assert many == ("too_many", "justifications[2].premises")


def test_quotes_are_bounded_together() -> None:
    half = "x" * (QUOTES_BYTES // 2)
    fits = ((Premise("e1", half),), (Premise("e2", half),))
    validate.check(Kind.ASSERTION, replace(FACT, justifications=fits))
    assert asserted(justifications=(*fits, (QUOTE,))) == ("too_long", "justifications")


def test_a_working_set_is_bounded() -> None:
    full = WorkingSet(ENVELOPE, "w1", "task", ("e1",) * MEMBERS, None)
    validate.check(Kind.WORKINGSET, full)
    over = replace(full, members=(*full.members, "e2"))
    assert refused(Kind.WORKINGSET, over) == ("too_many", "members")


def test_a_deletion_names_a_record_by_id_and_a_subject_by_its_scope() -> None:
    for target in ("observation", "fact"):
        missing = refused(Kind.DELETION, Deletion(ENVELOPE, target, None, ""))
        assert missing == ("missing_field", f"target.{target}")
    for target in ("subject", "scope"):
        named = refused(Kind.DELETION, Deletion(ENVELOPE, target, "alice", ""))
        assert named == ("conflicting_fields", f"target.{target}")
        validate.check(Kind.DELETION, Deletion(ENVELOPE, target, None, ""))


@pytest.mark.parametrize(
    ("payload", "code", "field"),
    [
        ("[]", "wrong_type", "payload"),
        ("{", "invalid_json", "payload"),
        ("", "empty", "payload"),
        ('{"b":1,"a":2}', "not_canonical", "payload"),
        ('{"a": 1}', "not_canonical", "payload"),
        ('{"a":1,"a":1}', "not_canonical", "payload"),
        ('{"a":"\\u00e9"}', "not_canonical", "payload"),
        ('{"a":"\\u0000"}', "nul", "payload.a"),
        ('{"a":[0,"\\ud83d"]}', "lone_surrogate", "payload.a[1]"),
        ('{"a":NaN}', "out_of_range", "payload.a"),
        ('{"a":1e999}', "out_of_range", "payload.a"),
        ('{"a":9223372036854775808}', "out_of_range", "payload.a"),
        ('{"a":' + "9" * 5000 + "}", "invalid_json", "payload"),
    ],
)
def test_a_payload_off_the_log_is_canonical_json(payload: str, code: str, field: str) -> None:
    assert refused(Kind.OUTCOME, Note(ENVELOPE, "r1", payload)) == (code, field)


@pytest.mark.parametrize("depth", [33, 500, 100_000])
def test_however_deep_a_payload_nests_the_verdict_is_the_same(depth: int) -> None:
    payload = '{"a":' + "[" * depth + "]" * depth + "}"
    assert refused(Kind.OUTCOME, Note(ENVELOPE, "r1", payload)) == ("too_deep", "payload")


def test_a_payload_as_it_should_be() -> None:
    payload = canonical({"b": [1, 2.5, None, True, "\u00e9\n"], "a": {}})
    assert payload == '{"a":{},"b":[1,2.5,null,true,"\u00e9\\n"]}'
    validate.check(Kind.OUTCOME, Note(ENVELOPE, "r1", payload))


def test_endless_combining_marks_are_refused_in_what_is_normalised() -> None:
    check_marks("e" + "\u0301" * 30 + "Zu\u0308rich", "value")
    with pytest.raises(InvalidEvent) as refused:
        check_marks("e" + "\u0301\u0316" * 16, "value")
    assert (refused.value.fault.code, refused.value.fault.limit) == ("too_many_marks", "30")
