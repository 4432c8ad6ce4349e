"""What every runtime must do, asked through the Python door (SPEC §1 to §6, INTERFACE)."""

from __future__ import annotations

import time
from typing import Any

import pytest

from gateway.errors import Forbidden, Unprocessable
from mnemolog.memory import ScopedMemory
from schemas.errors import InvalidEvent, ViewBehind
from schemas.kinds import Role, Tier
from tests.runtime.conftest import Runtime

MAY = "2026-05-01T00:00:00Z"
JUNE = "2026-06-01T00:00:00Z"
JULY = "2026-07-01T00:00:00Z"


def moved(alice: ScopedMemory, city: str, **fields: Any) -> str:
    """Alice says that she moved; the fact's id."""
    seen = alice.observe(f"I moved to {city}.", actor="alice")
    fact = alice.assert_fact(
        "alice", "city", city, source=seen, quote=city, **({"valid_from": MAY} | fields)
    )
    assert fact.state == "accepted"
    return fact.fact_id


def reason(alice: ScopedMemory, city: str, *facts: str, **options: Any) -> str | None:
    """Why a claim is refused, or None."""
    answer = alice.release([("alice", "city", city, facts)], **options)
    assert answer.decision == ("release" if answer.claims[0].ok else "abstain")
    return answer.claims[0].reason


def ids(alice: ScopedMemory, **filters: Any) -> list[str]:
    return [fact.fact_id for fact in alice.facts(**filters).items]


def test_a_quoted_fact_is_recalled_and_released(runtime: Runtime) -> None:
    alice = runtime.scope()
    fact = moved(alice, "Berlin")
    answer = alice.recall("where does alice live? Berlin?")
    assert answer.status == "complete"
    assert {result.type for result in answer.results} == {"fact", "episode"}
    found = next(result for result in answer.results if result.type == "fact")
    assert found.releasable
    assert found.fact.evidence[0].quote == "Berlin"
    assert reason(alice, "berlin ", fact) is None
    record = alice.release([("alice", "city", "Berlin", [fact])], query="where?").record
    assert alice.verify_release(record, [("alice", "city", "Berlin", [fact])], query="where?").valid
    assert (
        alice.verify_release(record, [("alice", "city", "Paris", [fact])], query="where?").reason
        == "changed"
    )
    forged = {**record, "decision": "abstain"}
    assert alice.verify_release(forged, [], query="where?").reason == "bad_mac"
    alice.observe("something else")
    assert (
        alice.verify_release(record, [("alice", "city", "Berlin", [fact])], query="where?").reason
        == "stale_head"
    )


def test_no_claims_abstain(runtime: Runtime) -> None:
    assert runtime.scope().release([]).decision == "abstain"


def test_each_refusal_has_its_reason(runtime: Runtime) -> None:
    alice = runtime.scope()
    fact = moved(alice, "Berlin", valid_to=JULY)
    assert reason(alice, "Berlin", "nobody's", valid_at=JUNE) == "unsupported"
    assert reason(alice, "Berlin", valid_at=JUNE) == "unsupported"
    assert reason(alice, "Paris", fact, valid_at=JUNE) == "mismatch"
    assert reason(alice, "Berlin", fact, valid_at=JULY) == "outside_valid_time"
    assert reason(alice, "Berlin", fact, valid_at=MAY) is None
    rival = moved(alice, "Munich")
    assert reason(alice, "Berlin", fact, valid_at=JUNE) == "conflicting"
    newer = moved(alice, "Munich", supersedes=fact)
    assert reason(alice, "Berlin", fact, valid_at=JUNE) == "superseded"
    assert reason(alice, "Munich", newer, valid_at=JUNE) is None
    alice.retract(newer)
    assert reason(alice, "Munich", newer, valid_at=JUNE) == "retracted"
    alice.forget(fact=newer)
    assert reason(alice, "Munich", newer, valid_at=JUNE) == "deleted"
    alice.forget(fact=rival)
    assert reason(alice, "Berlin", fact, valid_at=JUNE) is None


def test_contradictions_stand_apart_and_neither_is_public(runtime: Runtime) -> None:
    alice = runtime.scope()
    one, other = moved(alice, "Paris"), moved(alice, "Rome", valid_to=JULY)
    (conflict,) = alice.conflicts(valid_at=JUNE).items
    assert {side.fact_id for side in conflict.sides} == {one, other}
    assert conflict.overlap.to == "2026-07-01T00:00:00.000000Z"
    assert ids(alice, valid_at=JUNE) == []
    assert ids(alice, valid_at=JULY) == [one]
    (found,) = [r for r in alice.recall("alice city", valid_at=JUNE).results if r.type != "episode"]
    assert found.type == "conflict"
    assert not found.releasable


def test_multi_valued_attributes_do_not_compete(runtime: Runtime) -> None:
    alice = runtime.scope()
    seen = alice.observe("I like chess and tea.")
    for interest in ("chess", "tea"):
        alice.assert_fact("alice", "interest", interest, source=seen, quote=interest)
    assert len(alice.facts().items) == 2
    assert alice.conflicts().items == ()


def test_both_time_axes_answer_all_four_corners(runtime: Runtime) -> None:
    alice = runtime.scope()
    first = moved(alice, "Berlin")
    before = alice.facts(valid_at=JUNE).snapshot
    second = moved(alice, "Munich", valid_from=JULY, supersedes=first)
    assert ids(alice, valid_at=JUNE) == [first]
    assert ids(alice, valid_at="2026-08-01T00:00:00Z") == [second]
    pinned = alice.facts(valid_at="2026-08-01T00:00:00Z", snapshot=before.token)
    assert [fact.fact_id for fact in pinned.items] == [first]
    assert pinned.snapshot.historical
    assert not alice.facts(valid_at=JUNE).snapshot.historical
    assert alice.facts(valid_at=JUNE).snapshot.recorded_at is None
    alice.retract(first)
    assert alice.facts(valid_at=JUNE, snapshot=before.token).items == ()
    (period,) = alice.history("alice", "city").items
    assert period.fact_id == second


def test_history_marks_what_was_corrected(runtime: Runtime) -> None:
    alice = runtime.scope()
    first = moved(alice, "Berlin")
    moved(alice, "Munich", supersedes=first)
    old, new = alice.history("ALICE ", "City").items
    assert (old.status, old.superseded_by) == ("superseded", new.fact_id)
    assert (new.status, new.supersedes) == ("active", first)
    alice.forget(fact=new.fact_id)
    (old,) = alice.history("alice", "city").items
    assert old.superseded_by == "deleted"
    assert ids(alice) == []


def test_premises_may_come_later(runtime: Runtime) -> None:
    alice = runtime.scope()
    fact = alice.assert_fact("alice", "city", "Berlin", source="later", quote="Berlin")
    assert fact.state == "parked"
    assert reason(alice, "Berlin", fact.fact_id) == "unsupported"
    alice.observe("Now in Berlin.", event_id="later")
    assert reason(alice, "Berlin", fact.fact_id) is None
    assert alice.receipt(fact.event_id or "", "assertion").state == "accepted"


def test_a_retraction_before_its_fact_makes_it_born_retracted(runtime: Runtime) -> None:
    alice = runtime.scope()
    waiting = alice.retract("f9")
    assert waiting.state == "parked"
    seen = alice.observe("In Berlin.")
    alice.assert_fact("alice", "city", "Berlin", source=seen, quote="Berlin", fact_id="f9")
    assert reason(alice, "Berlin", "f9") == "retracted"
    assert alice.receipt(waiting.event_id or "").state == "accepted"
    assert alice.episodes().items == ()


def test_a_deletion_before_its_observation_is_not_outrun(runtime: Runtime) -> None:
    alice = runtime.scope()
    assert alice.forget(observation="o9").state == "parked"
    assert alice.observe("secret words", event_id="o9").state == "covered"
    assert alice.episodes().items == ()
    assert alice.recall("secret words").status == "insufficient_evidence"


def test_forgetting_a_source_takes_what_rests_on_it_alone(runtime: Runtime) -> None:
    alice = runtime.scope()
    one = alice.observe("Berlin it is.")
    other = alice.observe("Yes, Berlin.")
    premises = [
        {"premises": [{"observation": seen.event_id, "quote": "Berlin"}]} for seen in (one, other)
    ]
    fact = alice.assert_fact("alice", "city", "Berlin", justifications=premises)
    alice.forget(observation=one.event_id)
    assert reason(alice, "Berlin", fact.fact_id) is None
    (left,) = alice.facts().items
    assert [evidence.observation for evidence in left.evidence] == [other.event_id]
    alice.forget(observation=other.event_id)
    assert reason(alice, "Berlin", fact.fact_id) == "deleted"


def test_a_cycle_of_facts_never_holds_itself_up(runtime: Runtime) -> None:
    alice = runtime.scope()
    seen = alice.observe("Berlin")
    quote = {"observation": seen.event_id, "quote": "Berlin"}
    later = {"observation": "later", "quote": "Bonn"}
    for name, justifications in (
        ("b", [[quote], [{"fact": "a"}]]),
        ("a", [[{"fact": "b"}]]),
        ("c", [[later, {"fact": "a"}]]),
    ):
        alice.assert_fact(
            name,
            "city",
            "Bonn",
            fact_id=name,
            justifications=[{"premises": premises} for premises in justifications],
        )
    alice.observe("Bonn", event_id="later")
    assert sorted(ids(alice)) == ["b", "c"]
    alice.forget(observation=seen.event_id)
    assert ids(alice) == []


def test_a_subject_barrier_covers_what_was_before_and_nothing_after(runtime: Runtime) -> None:
    alice, branch = runtime.scope(), runtime.scope(branch="draft")
    old, other = moved(alice, "Berlin"), moved(branch, "Berlin")
    before = alice.facts().snapshot
    assert alice.forget(subject=True, reason="asked to").state == "accepted"
    new = moved(alice, "Munich")
    assert ids(alice) == [new]
    assert ids(branch) == []
    assert reason(branch, "Berlin", other) == "deleted"
    assert ids(alice, snapshot=before.token) == []
    assert reason(alice, "Berlin", old) == "deleted"
    assert [episode.content for episode in alice.episodes().items] == ["I moved to Munich."]
    assert moved(runtime.scope("bob"), "Rome")


def test_a_barrier_in_the_middle_of_a_batch_covers_just_what_stands_before_it(
    runtime: Runtime,
) -> None:
    alice = runtime.scope()
    barrier = {"kind": "deletion", "scope": alice._scope, "target": {"subject": True}}
    said = [
        {"kind": "observation", "scope": alice._scope, "event_id": f"e{n}", "content": f"no {n}"}
        for n in range(6)
    ]
    receipts = runtime.memory.publish([*said[:3], barrier, *said[3:]], wait=20)
    assert receipts[-1].state == "accepted"
    visible = {episode.event_id for episode in alice.episodes().items}
    assert visible == {"e3", "e4", "e5"}


def test_a_deleted_scope_blocks_later_writes(runtime: Runtime) -> None:
    alice = runtime.scope()
    moved(alice, "Berlin")
    alice.forget(scope=True)
    refused = alice.observe("back again")
    assert refused.state == "rejected"
    assert refused.reason is not None
    assert refused.reason.code == "scope_deleted"
    assert alice.facts().items == ()
    assert alice.recall("Berlin").status == "insufficient_evidence"


def test_repeats_change_nothing(runtime: Runtime) -> None:
    alice = runtime.scope()
    first = alice.observe("hello", event_id="e1")
    again = alice.observe("hello", event_id="e1")
    assert (again.state, again.entry, again.token) == ("duplicate", first.entry, first.token)
    retried = alice.observe("hello", event_id="e2", idempotency_key="e1")
    assert (retried.state, retried.entry) == ("duplicate", first.entry)
    other = alice.observe("goodbye", event_id="e1")
    assert other.state == "rejected"
    assert other.reason is not None
    assert other.reason.code == "idempotency_conflict"
    taken = alice.observe("goodbye", event_id="e1", idempotency_key="new")
    assert taken.reason is not None
    assert taken.reason.code == "id_taken"
    assert len(alice.episodes().items) == 1


def test_bad_quotes_are_told_apart(runtime: Runtime) -> None:
    alice = runtime.scope()
    seen = alice.observe("Berlin, Berlin!", event_id="o1")
    twice = alice.assert_fact("alice", "city", "Berlin", source=seen, quote="Berlin")
    assert (twice.state, twice.reason and twice.reason.code) == ("rejected", "ambiguous_quote")
    assert len(alice.episodes().items) == 1
    spanned = alice.assert_fact(
        "alice", "city", "Berlin", source=seen, quote="Berlin", start=8, end=14
    )
    assert spanned.state == "accepted"
    absent = alice.assert_fact("alice", "zip", "Paris", source=seen, quote="Paris")
    assert (absent.state, absent.reason and absent.reason.code) == (
        "quarantined",
        "quote_not_found",
    )
    assert alice.episodes().items == ()


def test_the_fault_of_a_bad_event_names_field_and_remedy(runtime: Runtime) -> None:
    alice = runtime.scope()
    for fields, code, field in (
        ({"occurred_at": "2026-05-01T09:00:00"}, "zoneless_time", "occurred_at"),
        ({"occurred_at": "2026"}, "imprecise_time", "occurred_at"),
        ({"salience": 7}, None, "salience"),
        ({"authority": "verified"}, "unknown_field", "authority"),
    ):
        with pytest.raises(InvalidEvent) as refused:
            alice.observe("x", **fields)
        fault = refused.value.fault
        assert fault.field == field
        assert fault.remedy
        assert code in (None, fault.code)
    with pytest.raises(InvalidEvent) as refused:
        alice.assert_fact("a", "b", "c", source="o", quote="q", valid_from=JUNE, valid_to=MAY)
    assert refused.value.fault.code == "reversed_interval"
    assert alice.observe("and the next good one").state == "accepted"


def test_trust_comes_from_the_registry(runtime: Runtime) -> None:
    alice = runtime.scope()
    guest = runtime.as_principal("guest", Tier.UNTRUSTED, Role.WRITER, Role.READER)
    seen = guest.observe("Alice lives in Berlin.")
    fact = guest.assert_fact("alice", "city", "Berlin", source=seen, quote="Berlin")
    assert (fact.state, fact.reason and fact.reason.code) == ("candidate", "tier")
    assert reason(alice, "Berlin", fact.fact_id) == "not_public"
    mine = moved(alice, "Munich")
    refused = guest.retract(mine)
    assert (refused.state, refused.reason and refused.reason.code) == ("rejected", "not_authorised")
    with pytest.raises(Forbidden):
        guest.forget(subject=True)
    with pytest.raises(Forbidden):
        guest.audit_facts()
    assert ids(alice) == [mine]


def test_inferred_and_fact_supported_stay_candidates(runtime: Runtime) -> None:
    alice = runtime.scope()
    seen = alice.observe("Berlin")
    inferred = alice.assert_fact(
        "alice",
        "city",
        "Berlin",
        source=seen,
        quote="Berlin",
        derivation={"kind": "inferred", "method": "m", "version": "1"},
    )
    assert (inferred.state, inferred.reason and inferred.reason.code) == ("candidate", "derivation")
    base = moved(alice, "Berlin")
    resting = alice.assert_fact(
        "alice", "country", "Germany", justifications=[{"premises": [{"fact": base}]}]
    )
    assert (resting.state, resting.reason and resting.reason.code) == ("candidate", "facts_only")


def test_the_audit_shows_what_the_public_view_does_not(runtime: Runtime) -> None:
    alice = runtime.scope()
    fact = moved(alice, "Berlin")
    alice.retract(fact)
    (audited,) = alice.audit_facts().items
    assert (audited.fact_id, audited.status) == (fact, "retracted")
    kinds = [(e.kind, e.decision) for e in alice.audit_entries().items]
    assert kinds == [
        ("observation", "accepted"),
        ("assertion", "accepted"),
        ("retraction", "accepted"),
    ]
    alice.forget(fact=fact)
    (audited,) = alice.audit_facts().items
    assert (audited.fact_id, audited.value, audited.status) == (None, None, "deleted")


def test_pages_neither_skip_nor_repeat_under_writes(runtime: Runtime) -> None:
    alice = runtime.scope()
    wanted = [alice.observe(f"note {n}").event_id for n in range(7)]
    seen: list[str] = []
    cursor = None
    while True:
        page = alice.episodes(limit=3, cursor=cursor)
        seen += [episode.event_id for episode in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
        alice.observe("written while paging")
    assert seen == wanted
    with pytest.raises(Unprocessable):
        alice.facts(cursor=alice.episodes(limit=1).next_cursor)


def test_tokens_are_opaque_and_checked(runtime: Runtime) -> None:
    alice = runtime.scope()
    receipt = alice.observe("hello")
    with pytest.raises(Unprocessable):
        alice.recall("hello", snapshot=receipt.token)
    with pytest.raises(Unprocessable):
        alice.recall("hello", snapshot="A" + (receipt.token or ""))
    everywhen = alice.facts(valid_at="any").snapshot.token
    assert alice.recall("hello", snapshot=everywhen).status == "complete"
    assert alice.release([], snapshot=everywhen).decision == "abstain"
    snapshot = alice.recall("hello").snapshot.token
    with pytest.raises(Unprocessable):
        runtime.scope("bob").recall("hello", snapshot=snapshot)


def test_release_is_refused_while_a_retraction_waits_to_be_admitted(runtime: Runtime) -> None:
    alice = runtime.scope()
    fact = moved(alice, "Berlin")
    assert reason(alice, "Berlin", fact) is None
    runtime.stop_admission()
    runtime.door.application._wait = 0.5
    event = {"kind": "retraction", "scope": alice._scope, "fact_id": fact}
    (receipt,) = runtime.memory.publish([event], wait=0)
    assert receipt.state == "received"
    with pytest.raises(ViewBehind):
        alice.release([("alice", "city", "Berlin", [fact])])


def test_scopes_never_mix(runtime: Runtime) -> None:
    for one, other in (
        (("t1", "x:y", "s"), ("t1:x", "y", "s")),
        (("t", "n", "a"), ("t", "n", "a/")),
    ):
        here, there = runtime.memory.scope(*one), runtime.memory.scope(*other)
        here.observe("the canary sings", event_id="c")
        assert there.recall("canary").status == "insufficient_evidence"
        assert there.episodes().items == ()
        assert there.observe("another", event_id="c").state == "accepted"


@pytest.mark.policy("parked_timeout_seconds = 1\n")
def test_the_agents_time_out_parked_assertions_by_a_control_event(runtime: Runtime) -> None:
    alice = runtime.scope()
    fact = alice.assert_fact("alice", "city", "Berlin", source="later", quote="Berlin")
    deadline = time.monotonic() + 30
    while (receipt := alice.receipt(fact.event_id or "", "assertion")).state == "parked":
        assert time.monotonic() < deadline
        runtime.sweep()
    assert (receipt.state, receipt.reason and receipt.reason.code) == ("quarantined", "timed_out")
    alice.observe("In Berlin.", event_id="later")
    assert reason(alice, "Berlin", fact.fact_id) is None


def test_an_expired_fact_is_no_longer_public_and_says_so(runtime: Runtime) -> None:
    alice = runtime.scope()
    fact = moved(alice, "Berlin", expires_at=JUNE)
    assert ids(alice, valid_at=MAY) == [fact]
    assert ids(alice, valid_at=JUNE) == []
    assert reason(alice, "Berlin", fact) == "outside_valid_time"
    before = alice.head()
    deadline = time.monotonic() + 30
    while alice.head().scope_sequence == before.scope_sequence:
        assert time.monotonic() < deadline
        runtime.sweep()
    (period,) = alice.history("alice", "city").items
    assert period.status == "expired"
    assert ids(alice, valid_at=MAY) == [fact]


def test_a_working_set_expires_by_a_control_event(runtime: Runtime) -> None:
    alice = runtime.scope()
    event = {
        "kind": "workingset",
        "scope": alice._scope,
        "workingset_id": "w1",
        "task": "tidy up",
        "members": [],
        "expires_at": MAY,
    }
    (receipt,) = runtime.memory.publish([event])
    assert receipt.state == "accepted"
    deadline = time.monotonic() + 30
    while not any(entry.kind == "control" for entry in alice.audit_entries().items):
        assert time.monotonic() < deadline
        runtime.sweep()
    controls = [entry for entry in alice.audit_entries().items if entry.kind == "control"]
    assert controls[0].decision == "accepted"
    assert {entry.decision for entry in controls[1:]} <= {"duplicate"}


def test_kinds_without_rules_yet_are_kept_and_change_nothing(runtime: Runtime) -> None:
    alice = runtime.scope()
    fact = moved(alice, "Berlin")
    before = alice.head().scope_sequence
    for kind in ("association", "procedure", "outcome", "commitment", "appraisal", "challenge"):
        event = {"kind": kind, "scope": alice._scope, "record_id": "r1", "payload": {"to": fact}}
        (receipt,) = runtime.memory.publish([event])
        assert (receipt.state, receipt.reason and receipt.reason.code) == (
            "evidence_only",
            "not_in_force",
        )
    assert alice.head().scope_sequence == before
    (refused,) = runtime.memory.publish(
        [{"kind": "control", "scope": alice._scope, "control": "timeout", "target": {"fact": fact}}]
    )
    assert refused.state == "rejected"


def test_ids_may_hold_anything_but_nul(runtime: Runtime) -> None:
    alice = runtime.scope("C:\\tmp\\f")
    for event_id in ("a/b", "a:b", "x|y", "..", "%2F", "\u00ff", "a" * 256, "港/検査"):
        assert alice.observe("hello", event_id=event_id).state == "accepted"
        assert alice.receipt(event_id).event_id == event_id


def test_verify_deep_finds_nothing_wrong(runtime: Runtime) -> None:
    alice = runtime.scope()
    fact = moved(alice, "Berlin")
    alice.retract(fact)
    alice.assert_fact("alice", "city", "Rome", source="never", quote="Rome")
    found = runtime.memory.verify(deep=True)
    assert found.ok, found.damage
    assert sum(partition.entries for partition in found.partitions) == 4
