"""Group 1, time: zones, instants, ends, lateness (SPEC §1, §5), said and asked by every door.

Instants are integer microseconds of UTC from the door to the ledger and back. A time that needs a
guess (no zone, no day, a repeated hour) is refused by its field; nothing here depends on the host.
"""

from __future__ import annotations

from itertools import permutations

import pytest

from mnemolog.memory import ScopedMemory
from tests.field.conftest import Runtime
from tests.field.saying import contested, facts_found, fault_of, stated, texts, values

YEAR_1 = "0001-01-01T00:00:00Z"
YEAR_9999 = "9999-12-31T23:59:59.999999Z"


def test_a_time_without_zone_is_refused_by_its_field_and_the_next_event_is_admitted(
    runtime: Runtime,
) -> None:
    """Case 1."""
    pump = runtime.scope("pump-7")
    fault = fault_of(stated, pump, "pump-7", "state", "on", valid_from="2025-03-01T09:00:00")
    assert (fault.code, fault.field) == ("zoneless_time", "valid_from")
    stated(pump, "pump-7", "state", "off", valid_from="2025-03-02T09:00:00+02:00")
    (fact,) = pump.facts(valid_at="2025-03-02T07:00:00Z").items
    assert (fact.value, fact.valid_from) == ("off", "2025-03-02T07:00:00.000000Z")
    assert values(pump, valid_at="2025-03-02T06:59:59.999999Z") == []


def test_in_one_batch_too_a_time_without_zone_spoils_only_its_own_event(runtime: Runtime) -> None:
    """Case 1."""
    scope = runtime.scope("pump-7")._scope
    receipts = runtime.memory.publish(
        [
            {"kind": "observation", "scope": scope, "content": "on", "occurred_at": time}
            for time in ("2025-03-01T09:00:00", "2025-03-02T09:00:00+02:00")
        ]
    )
    assert [receipt.state for receipt in receipts] == ["rejected", "accepted"]
    assert receipts[0].reason is not None
    assert receipts[0].reason.field == "occurred_at"


def test_times_compare_as_instants_whatever_their_zone_was(runtime: Runtime) -> None:
    """Case 3."""
    crane = runtime.scope()
    stated(crane, "crane", "berth", "B1", valid_from="2019-05-02T00:30:00+09:00")
    for asked, expected in (
        ("2019-05-01T16:00:00Z", ["B1"]),
        ("2019-05-01T15:30:00Z", ["B1"]),
        ("2019-05-02T00:29:59.999999+09:00", []),
        ("2019-05-01T08:30:00-07:00", ["B1"]),
    ):
        assert values(crane, valid_at=asked) == expected
        assert facts_found(crane, "berth", valid_at=asked) == expected
    assert [f.valid_from for f in crane.history("crane", "berth").items] == [
        "2019-05-01T15:30:00.000000Z"
    ]


def test_updates_of_one_batch_all_stay_in_history_in_the_order_of_the_ledger(
    runtime: Runtime,
) -> None:
    """Case 5: without an order of their own both stand, a conflict; also after a rebuild."""
    crate = runtime.scope("crate-1")
    seen = crate.observe("draft, then final")
    runtime.memory.publish(
        [
            {
                "kind": "assertion",
                "scope": crate._scope,
                "fact_id": value,
                "entity": "crate-1",
                "attribute": "stage",
                "value": value,
                "justifications": [{"premises": [{"observation": seen.event_id, "quote": value}]}],
            }
            for value in ("draft", "final")
        ],
        wait=20,
    )

    def told() -> object:
        crate = runtime.scope("crate-1")
        history = crate.history("crate-1", "stage").items
        return [fact.value for fact in history], contested(crate), values(crate)

    before = told()
    assert before == (["draft", "final"], [["draft", "final"]], [])
    recorded = [fact.recorded_at for fact in crate.history("crate-1", "stage").items]
    assert recorded[0] < recorded[1]
    runtime.rebuild()
    assert told() == before


def test_a_correction_of_the_same_batch_leaves_the_corrected_in_history(runtime: Runtime) -> None:
    """Case 5: an order carried in the events is kept."""
    crate = runtime.scope("crate-1")
    draft = stated(crate, "crate-1", "stage", "draft")
    stated(crate, "crate-1", "stage", "final", supersedes=draft.fact_id)
    assert values(crate) == ["final"]
    assert [(f.value, f.status) for f in crate.history("crate-1", "stage").items] == [
        ("draft", "superseded"),
        ("final", "active"),
    ]


CASE_6 = {
    "x": ("10:00", None),
    "y": ("10:05", None),
    "z": ("09:00", "10:00"),
    "w": ("09:30", "10:05"),
}


def _on_the_day(time: str | None) -> str | None:
    return None if time is None else f"2025-03-01T{time}:00Z"


def test_back_dated_facts_cover_exactly_what_was_asserted_at_every_instant(
    runtime: Runtime,
) -> None:
    """Case 6: every recorded prefix, every instant at which anything changes, every order."""
    order = [list(CASE_6), *[list(p) for p in list(permutations(CASE_6))[5:24:6]]]
    for number, names in enumerate(order):
        gate = runtime.scope(f"gate-{number}")
        recorded = []
        for name in names:
            start, end = CASE_6[name]
            times = {"valid_from": _on_the_day(start), "valid_to": _on_the_day(end)}
            entry = stated(gate, "gate", "level", name, **times).entry
            assert entry is not None
            recorded.append(entry.recorded_at)
        for count, as_of in enumerate(recorded, start=1):
            for at in ("08:59", "09:00", "09:29", "09:30", "09:59", "10:00", "10:04", "10:05"):
                expected = sorted(n for n in names[:count] if _holds(CASE_6[n], at))
                asked = {"valid_at": _on_the_day(at), "recorded_at": as_of}
                public, conflicts = values(gate, **asked), contested(gate, **asked)
                assert (public, conflicts) == (
                    ([], [expected]) if len(expected) > 1 else (expected, [])
                ), (names, as_of, at)
        for conflict in gate.conflicts(valid_at="any").items:
            overlap = conflict.overlap
            assert overlap.to is None or overlap.from_ < overlap.to
        for fact in gate.history("gate", "level").items:
            assert fact.valid_to is None or fact.valid_from < fact.valid_to


def _holds(interval: tuple[str, str | None], at: str) -> bool:
    return interval[0] <= at and (interval[1] is None or at < interval[1])


def test_instants_out_of_range_are_refused_and_what_is_acknowledged_can_be_read(
    runtime: Runtime,
) -> None:
    """Case 7; what comes as Avro: tests/intake/test_bad_bytes.py."""
    scope = runtime.scope()
    for text in (
        "-0043-03-15",
        "-0043-03-15T00:00:00Z",
        "0000-01-01",
        "0000-01-01T00:00:00Z",
        "10000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59.999999-00:01",
    ):
        for field in ("valid_from", "valid_to", "expires_at", "occurred_at"):
            fault = fault_of(
                scope.assert_fact, "a", "b", "c", source="o", quote="c", **{field: text}
            )
            assert fault.field == field
    stated(scope, "earth", "shape", "round", valid_from=YEAR_1, valid_to=YEAR_9999)
    ends = ("0001-01-01T00:00:00.000000Z", "9999-12-31T23:59:59.999999Z")
    for valid_at in (YEAR_1, "2025-01-01T00:00:00Z", "9999-12-31T23:59:59.999998Z", "any"):
        (fact,) = scope.facts(valid_at=valid_at).items
        assert (fact.valid_from, fact.valid_to) == ends
    assert values(scope, valid_at=YEAR_9999) == []


def test_an_end_that_is_not_after_its_start_is_refused_naming_both_bounds(
    runtime: Runtime,
) -> None:
    """Case 8."""
    scope = runtime.scope()
    for times, code in (
        ({"valid_from": "2031-01-01T00:00:00Z", "valid_to": "2030-01-01T00:00:00Z"}, "reversed"),
        ({"valid_from": "2031-01-01T00:00:00Z", "valid_to": "2031-01-01T01:00:00+01:00"}, "empty"),
        ({"valid_to": "2011-01-01T00:00:00Z"}, "reversed"),
    ):
        fault = fault_of(scope.assert_fact, "a", "b", "c", source="o", quote="c", **times)
        assert (fault.code, fault.field) == (f"{code}_interval", "valid_to")
        assert "valid_from 20" in fault.detail
        assert f"valid_to {times['valid_to'][:4]}" in fault.detail
        assert "later than" not in fault.detail
    assert scope.history("a", "b").items == ()


@pytest.mark.parametrize("local", ["2024-10-27T02:30:00", "2024-03-31T02:30:00"])
def test_a_local_hour_that_comes_twice_or_never_needs_its_offset(
    runtime: Runtime, local: str
) -> None:
    """Case 10: Berlin's clocks went back over the first and forward over the second."""
    scope = runtime.scope()
    for text, code in (
        (local, "zoneless_time"),
        (local[:-3], "zoneless_time"),
        (f"{local}[Europe/Berlin]", "invalid_time"),
        (f"{local} Europe/Berlin", "invalid_time"),
    ):
        fault = fault_of(scope.observe, "x", occurred_at=text)
        assert (fault.code, fault.field) == (code, "occurred_at")
    for offset, utc in (("+02:00", "00:30"), ("+01:00", "01:30")):
        scope.observe(offset, occurred_at=local + offset)
        assert scope.episodes().items[-1].occurred_at == f"{local[:10]}T{utc}:00.000000Z"


@pytest.mark.parametrize("instant", ["2243-01-01T00:00:00.064000Z", "1969-12-31T23:59:59.999999Z"])
def test_microseconds_pass_every_hop_unchanged(runtime: Runtime, instant: str) -> None:
    """Case 11: JSON, Avro, ledger, store, every list, release and a rebuild."""
    scope = runtime.scope()
    scope.observe("seen then", occurred_at=instant, event_id="o")
    typed = scope.assert_fact(
        "gate",
        "opens",
        instant,
        type="instant",
        source="o",
        quote="then",
        valid_from=instant,
        expires_at=YEAR_9999,
    )

    def told() -> object:
        scope = runtime.scope()
        (fact,) = scope.facts(valid_at=instant).items
        (audited,) = scope.audit_facts().items
        (episode,) = scope.episodes().items
        assert fact.valid_from == fact.value == episode.occurred_at == instant
        assert fact.evidence[0].occurred_at == instant
        assert facts_found(scope, "gate opens", valid_at=instant) == [audited.value] == [instant]
        claim = [("gate", "opens", (instant, "instant"), [typed.fact_id])]
        assert scope.release(claim, valid_at=instant).decision == "release"
        return fact, scope.head().scope_hash

    before = told()
    runtime.rebuild()
    assert told() == before
    assert runtime.memory.verify(deep=True).ok


def test_a_bare_year_is_refused_and_a_number_stays_a_number(runtime: Runtime) -> None:
    """Case 12."""
    scope = runtime.scope()
    for text in ("1998", "1998-05", "1998-05-17", "20240101", "202401"):
        fault = fault_of(scope.assert_fact, "a", "b", "c", source="o", quote="c", valid_from=text)
        assert (fault.code, fault.field) == ("imprecise_time", "valid_from")
    scope.observe("The page size is 4096 bytes.")
    scope.observe("It happened in the year 4097.")
    assert texts(scope, "4096") == ["The page size is 4096 bytes."]
    stated(scope, "page", "size", 4096, type="integer")
    stated(scope, "page", "label", "4096")
    assert sorted(values(scope), key=str) == [4096, "4096"]


LATE, NOW = "2024-05-01T00:00:00Z", "2026-02-01T00:00:00Z"


def _berths(crane: ScopedMemory) -> list[list[str]]:
    asked = ("2024-04-30T00:00:00Z", LATE, "2026-01-31T23:59:59Z", NOW, "2026-11-01T00:00:00Z")
    return [values(crane, valid_at=at) for at in asked]


def test_the_order_of_arrival_does_not_decide_which_fact_holds(runtime: Runtime) -> None:
    """Case 14: the newer one comes first and says whose successor it is."""
    news = {"B4": {"valid_from": NOW, "supersedes": "B1"}, "B1": {"valid_from": LATE}}
    arrivals = {"crane-2": ("B4", "B1"), "crane-3": ("B1", "B4")}
    for subject, order in arrivals.items():
        crane = runtime.scope(subject)
        firsts = [
            stated(crane, "crane", "berth", berth, fact_id=berth, **news[berth]).entry
            for berth in order
        ]
        assert _berths(crane) == [[], ["B1"], ["B1"], ["B4"], ["B4"]]
        assert firsts[0] is not None
        then = {"recorded_at": firsts[0].recorded_at, "valid_at": "2025-01-01T00:00:00Z"}
        assert values(crane, **then) == ([] if order[0] == "B4" else ["B1"])


def test_an_older_fact_that_comes_late_never_retires_a_newer_one(runtime: Runtime) -> None:
    """Case 14: with an end it takes its own time; without one both stand, as a conflict."""
    crane = runtime.scope("crane-2")
    stated(crane, "crane", "berth", "B4", valid_from=NOW)
    late = stated(crane, "crane", "berth", "B1", valid_from=LATE, valid_to=NOW)
    assert _berths(crane) == [[], ["B1"], ["B1"], ["B4"], ["B4"]]
    crane.retract(late.fact_id)
    stated(crane, "crane", "berth", "B1", valid_from=LATE)
    assert _berths(crane) == [[], ["B1"], ["B1"], [], []]
    assert contested(crane, valid_at=NOW) == [["B1", "B4"]]
