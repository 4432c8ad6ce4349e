"""Groups 3 and 4, deletion and isolation, as far as they touch what is here (SPEC §1, §5, §7, §10).

A deletion takes exactly what it names, from every way of asking, at once and for good; a scope sees
itself alone, whatever its names look like; what may not be seen takes no place in a result.
"""

from __future__ import annotations

import pytest

from gateway.errors import Conflict, NotFound
from mnemolog.memory import ScopedMemory
from tests.field.conftest import Runtime
from tests.field.saying import SCOPE, Json, facts_found, stated, texts, values
from tests.field.test_running_systems import ROUTES, ask
from tests.gateway.conftest import Http


def test_a_deletion_takes_the_one_record_that_it_names(runtime: Runtime) -> None:
    """Case 23: three records here, two there, the same ids."""
    here, there = runtime.scope("x"), runtime.scope("y")
    for scope, count in ((here, 3), (there, 2)):
        for number in range(count):
            scope.observe(f"ship number {number}", event_id=f"o{number}")
            stated(scope, f"ship {number}", "state", "in", fact_id=f"f{number}")
    before = there.head().scope_hash, there.episodes().items, there.facts().items
    assert here.forget(observation="o1").state == "accepted"
    assert len(here.episodes().items) == 5
    assert len(texts(here, "ship number", limit=20)) == 5
    assert here.forget(fact="f2").state == "accepted"
    assert sorted(fact.fact_id for fact in here.facts().items) == ["f0", "f1"]
    assert (there.head().scope_hash, there.episodes().items, there.facts().items) == before
    assert runtime.memory.verify(deep=True).ok


def _answers(scope: ScopedMemory) -> list[int]:
    """How much each way of asking gives of the ship."""
    return [
        len(scope.episodes().items),
        len(scope.facts(valid_at="any").items),
        len(scope.history("ship", "state").items),
        len(scope.conflicts(valid_at="any").items),
        len(scope.recall("ship state in the harbour").results),
    ]


def test_what_was_deleted_is_in_no_list_search_or_history(runtime: Runtime) -> None:
    """Case 24; an orphan planted by hand: tests/tamper/test_deep.py."""
    scope = runtime.scope()
    seen = scope.observe("the ship is in the harbour", event_id="o1")
    scope.assert_fact("ship", "state", "in", source=seen, quote="in", start=12, end=14)
    assert _answers(scope) == [1, 1, 1, 0, 2]
    scope.forget(observation="o1")
    assert _answers(scope) == [0, 0, 0, 0, 0]
    with pytest.raises((Conflict, NotFound)):
        scope.receipt("no such event")
    runtime.rebuild()
    assert _answers(runtime.scope()) == [0, 0, 0, 0, 0]
    assert runtime.memory.verify(deep=True).ok


def test_of_two_identical_items_the_one_that_was_not_deleted_stays(runtime: Runtime) -> None:
    """Case 26: the same bytes from two sources, and in two scopes."""
    scope, other = runtime.scope("a"), runtime.scope("b")
    for place in (scope, other):
        for name in ("o1", "o2"):
            place.observe("the ship is in", event_id=name)
        premises = [{"premises": [{"observation": name, "quote": "in"}]} for name in ("o1", "o2")]
        place.assert_fact("ship", "state", "in", justifications=premises, fact_id="f1")
    scope.forget(observation="o1")
    assert [episode.event_id for episode in scope.episodes().items] == ["o2"]
    assert texts(scope, "ship") == ["the ship is in"]
    (fact,) = scope.facts().items
    assert [evidence.observation for evidence in fact.evidence] == ["o2"]
    assert scope.release([("ship", "state", "in", ["f1"])]).decision == "release"
    assert len(texts(other, "ship")) == 2
    scope.forget(observation="o2")
    assert (values(scope), texts(scope, "ship")) == ([], [])
    assert values(other) == ["in"]


@pytest.mark.parametrize("way", ["observation", "fact", "retraction", "subject", "expiry"])
def test_a_warm_answer_is_not_served_again_once_its_source_is_gone(
    runtime: Runtime, way: str
) -> None:
    """Case 27: at once, and by another process."""
    scope = runtime.scope()
    times = {"valid_from": "2020-01-01T00:00:00Z"}
    if way == "expiry":
        times["expires_at"] = "2020-06-01T00:00:00Z"
    at = {"valid_at": "2020-05-31T23:59:59.999999Z"}
    stated(scope, "ship", "state", "in", fact_id="f1", **times)
    source = scope.episodes().items[0].event_id
    for _ in range(3):
        assert facts_found(scope, "ship", **at) == ["in"]
        assert scope.release([("ship", "state", "in", ["f1"])], **at).decision == "release"
    if way == "observation":
        scope.forget(observation=source)
    elif way == "fact":
        scope.forget(fact="f1")
    elif way == "retraction":
        scope.retract("f1")
    elif way == "subject":
        scope.forget(subject=True)
    else:
        at = {"valid_at": "2020-06-01T00:00:00Z"}
    for _ in range(2):
        scope = runtime.scope()
        assert facts_found(scope, "ship", **at) == []
        assert values(scope, **at) == []
        assert scope.release([("ship", "state", "in", ["f1"])], **at).decision == "abstain"
        runtime.rebuild()


def test_another_tenants_record_is_in_no_route_and_no_part_of_an_answer(http: Http) -> None:
    """Case 30: the same answer as for a scope that is not there, but for its own name."""
    http.publish({"kind": "observation", "event_id": "o1", "content": "the canary zebracorn"})
    for method, path in ROUTES:
        refused = ask(http, method, path, who="other")
        assert refused.status_code == 403
        missing = http.call(
            method, path, "other", **_elsewhere(path, {**SCOPE, "subject": "nobody"})
        )
        assert (missing.status_code, missing.json()) == (403, refused.json())
        own = http.call(method, path, "other", **_elsewhere(path, {**SCOPE, "tenant": "other"}))
        assert own.status_code == 200
        assert "canary" not in own.text


def _elsewhere(path: str, scope: Json) -> Json:
    if path == "/v1/recall":
        return {"json": {"scope": scope, "query": "canary zebracorn"}}
    if path == "/v1/release":
        return {"json": {"scope": scope, "query": "", "claims": []}}
    key = {"entity": "e", "attribute": "a"} if path == "/v1/history" else {}
    return {"params": {**scope, **key}}


def test_what_does_not_hold_takes_no_place_among_the_first_results(runtime: Runtime) -> None:
    """Case 32: five hundred nearer ones that ended, eight that hold; five are asked for."""
    scope = runtime.scope()
    ended = {"valid_from": "2020-01-01T00:00:00Z", "valid_to": "2021-01-01T00:00:00Z"}
    runtime.memory.publish(
        [
            {"kind": "observation", "scope": scope._scope, "event_id": "o", "content": "in"},
            *(
                {
                    "kind": "assertion",
                    "scope": scope._scope,
                    "fact_id": f"f{number:03}",
                    "entity": "ship" if number < 500 else "an old ship of the northern line",
                    "attribute": f"state {number:03}",
                    "value": "in",
                    "justifications": [{"premises": [{"observation": "o", "quote": "in"}]}],
                    **(ended if number < 500 else {"valid_from": "2020-01-01T00:00:00Z"}),
                }
                for number in range(508)
            ),
        ],
        wait=30,
    )
    now, then = "2022-01-01T00:00:00Z", "2020-06-01T00:00:00Z"
    few = [hit.id for hit in scope.recall("ship", limit=5, valid_at=now, types=["fact"]).results]
    all_ = [hit.id for hit in scope.recall("ship", limit=500, valid_at=now, types=["fact"]).results]
    assert sorted(all_) == [f"f{number}" for number in range(500, 508)]
    assert few == all_[:5]
    nearest = [hit.id for hit in scope.recall("ship", limit=5, valid_at=then).results]
    assert all(name < "f500" for name in nearest)
    assert len(scope.facts(valid_at=now).items) == 8


def test_names_that_begin_alike_or_hold_delimiters_are_never_mixed(runtime: Runtime) -> None:
    """Case 34: as subjects, and as whole scopes; deleting one leaves the other."""
    names = ["user", "user2", "user:", "user/", "user\xff", "use", "user:main", "user\n"]
    for name in names:
        runtime.scope(name).observe(f"this is {name!r}", event_id="o")
        runtime.scope(name, branch="main:x").observe("on a branch", event_id="o")
    runtime.scope("user").forget(scope=True)
    assert runtime.scope("user").episodes().items == ()
    assert runtime.scope("user", branch="main:x").episodes().items == ()
    for name in names[1:]:
        scope = runtime.scope(name)
        assert [episode.content for episode in scope.episodes().items] == [f"this is {name!r}"]
        assert texts(scope, "this") == [f"this is {name!r}"]
    assert runtime.scope("user2", branch="main:x").episodes().items[0].content == "on a branch"


def test_the_same_bytes_in_two_scopes_are_two_records_that_know_nothing_of_each_other(
    runtime: Runtime,
) -> None:
    """Case 35."""
    one, other = runtime.scope("one"), runtime.scope("other")
    said = {"event_id": "o1", "occurred_at": "2025-01-01T00:00:00Z"}
    first, second = one.observe("the same bytes", **said), other.observe("the same bytes", **said)
    assert (first.state, second.state) == ("accepted", "accepted")
    assert first.entry is not None
    assert second.entry is not None
    assert first.entry.hash != second.entry.hash
    assert first.entry.scope_sequence == second.entry.scope_sequence == 1
    other.forget(observation="o1")
    assert texts(one, "same bytes") == ["the same bytes"]
    assert texts(other, "same bytes") == []


ODD_IDS = ["a-b", "01890a5d-ac96-774b-bcce-b302099a8057", "main", "x|y", "C:\\tmp\\f", "a AND b"]


def test_whatever_is_taken_as_a_name_can_be_asked_for_and_found(runtime: Runtime) -> None:
    """Case 36: as scope, subject, event, entity; nothing is dropped."""
    for name in ODD_IDS:
        scope = runtime.scope(name, branch=name)
        assert scope.observe(f"about {name} today", event_id=name).state == "accepted"
        stated(scope, name, "kind", "thing", fact_id=name)
        assert f"about {name} today" in texts(scope, name)
        assert [fact.fact_id for fact in scope.facts(entity=name).items] == [name]
        assert name in {hit.id for hit in scope.recall(name).results if hit.type == "fact"}
        assert scope.receipt(name, "observation").state == "accepted"


def test_a_name_that_looks_like_a_query_is_data(runtime: Runtime) -> None:
    """Case 37."""
    scope = runtime.scope()
    stated(scope, "ship", "state", "in")
    odd = ["x`) DETACH DELETE n //", "a\tb", "a\nb", "'; DROP TABLE facts; --", "${jndi:x}", "%s"]
    for name in odd:
        stated(scope, "ship", name, "odd", fact_id=name)
        (fact,) = scope.facts(attribute=name).items
        assert (fact.fact_id, fact.attribute) == (name, name)
        assert [period.fact_id for period in scope.history("ship", name).items] == [name]
    assert [fact.value for fact in scope.facts(attribute="state").items] == ["in"]
    assert len(scope.facts().items) == 1 + len(odd)
