"""Group 7, retrieval (SPEC §8, "lexical"): every text is found by its own words, in every script.

A query is text and never grammar; one that cannot be searched says so; one that is too long is
refused by its limit, once, and spoils nothing else.
"""

from __future__ import annotations

import random

import pytest

import gateway.recall
from projections.sights import Sight
from tests.field.conftest import Runtime
from tests.field.saying import fault_of, stated, texts
from tests.gateway.conftest import Http

UNSPACED = {
    "japanese": ("明日は港町で船検査がある", "船検査", ["船長", "検問", "港区", "医査"]),
    "thai": ("พรุ่งนี้มีการตรวจเรือที่ท่าเรือ", "ตรวจเรือ", ["โรงเรียน", "สนามบิน"]),
    "khmer": ("ថ្ងៃស្អែកមានការត្រួតពិនិត្យកប៉ាល់", "ត្រួតពិនិត្យ", ["សាលារៀន", "កម្ពុជា"]),
    "korean": ("내일항구에서선박검사가있다", "선박검사", ["선생님", "검색", "항공"]),
    "chinese": ("明天在港口检查船只", "检查船", ["飞机", "检察", "港湾"]),
}


@pytest.mark.parametrize("script", UNSPACED)
def test_part_of_a_phrase_without_spaces_is_found_and_another_word_is_not(
    runtime: Runtime, script: str
) -> None:
    """Case 65."""
    text, part, others = UNSPACED[script]
    harbour = runtime.scope()
    harbour.observe(text)
    harbour.observe("an English sentence about nothing of the kind")
    assert texts(harbour, part) == [text]
    assert texts(harbour, text) == [text]
    for other in others:
        assert texts(harbour, other) == []
    fact = stated(harbour, "船", script, text)
    assert fact.fact_id in {hit.id for hit in harbour.recall(part).results}


GRAMMAR = ["ship-check", "Bay:7", '"open', "a AND", "(x", "don't", "*", "x NOT y", "bay:7*", "a^2"]


def test_the_text_of_a_query_is_words_and_never_grammar(runtime: Runtime) -> None:
    """Case 67."""
    bay = runtime.scope()
    said = {
        "ship-check": "the ship-check is due",
        "Bay:7": "they wait in Bay:7",
        '"open': "the gate is open",
        "don't": "we don't sail",
        "(x": "put an x here",
    }
    for text in said.values():
        bay.observe(text)
    for query in GRAMMAR:
        answer = bay.recall(query)
        assert answer.status in ("complete", "insufficient_evidence")
        if query in said:
            assert texts(bay, query)[0] == said[query]
    for field in ("content:open", "entity:*", "text:ship", "scope:acme"):
        assert len(texts(bay, field)) <= 1, field
    assert texts(bay, "entity") == texts(bay, "content") == []


def test_the_text_of_a_query_is_words_over_http_too(http: Http) -> None:
    """Case 67."""
    http.publish({"kind": "observation", "content": "the ship-check is due"})
    scope = {"tenant": "acme", "namespace": "support", "subject": "alice"}
    for query in GRAMMAR:
        answer = http.call("POST", "/v1/recall", json={"scope": scope, "query": query})
        assert answer.status_code == 200, query
        assert len(answer.json()["results"]) == (query == "ship-check")


def test_words_that_others_drop_are_searched(runtime: Runtime) -> None:
    """Case 68."""
    ladder = runtime.scope()
    ladder.observe("DO NOT USE ladder 3")
    ladder.observe("ladder 4 is fine")
    assert texts(ladder, "do not use") == ["DO NOT USE ladder 3"]
    assert texts(ladder, "to be or not") == ["DO NOT USE ladder 3"]
    ladder.observe("To be, or not to be: that is the question")
    assert texts(ladder, "to be or not")[0] == "To be, or not to be: that is the question"


def test_an_empty_scope_answers_every_query_by_its_type(runtime: Runtime) -> None:
    """Case 69: not enough evidence; where nothing can be searched, it says that."""
    new = runtime.scope("nobody yet")
    for query, missing in (
        ("111123", []),
        ("👍", []),
        ("nothing here", []),
        ("?!", ["no_searchable_terms"]),
        ("   \t ", ["no_searchable_terms"]),
        ("", ["no_searchable_terms"]),
    ):
        answer = new.recall(query)
        assert (answer.status, answer.results) == ("insufficient_evidence", ()), query
        assert [reason.code for reason in answer.missing] == missing, query
    new.observe("order 111123 came 👍")
    for query in ("111123", "👍"):
        assert texts(new, query) == ["order 111123 came 👍"]


def test_a_query_over_its_limit_is_refused_with_the_limit_and_the_next_is_answered(
    runtime: Runtime,
) -> None:
    """Case 70."""
    alice = runtime.scope()
    alice.observe("the ship is in")
    for query in ("ship " * 20_000, "船" * 100_000, "x" * 16_385):
        fault = fault_of(alice.recall, query)
        assert (fault.code, fault.field) == ("too_long", "query")
        assert "16384" in fault.limit
    longest = ("ship " * 3_276) + "inna"
    assert len(longest) == 16_384
    assert texts(alice, longest) == ["the ship is in"]


def test_one_long_text_takes_nothing_from_the_others_of_its_batch(runtime: Runtime) -> None:
    """Case 70: 30,000 characters of Arabic are indexed; over a mebibyte it alone is refused."""
    alice = runtime.scope()
    arabic = ("كلمة طويلة " * 3_000)[:30_000]
    contents = [f"note {number}" for number in range(50)]
    contents[17], contents[31] = arabic, "ب" * 600_000
    receipts = runtime.memory.publish(
        [{"kind": "observation", "scope": alice._scope, "content": text} for text in contents],
        wait=20,
    )
    states = [receipt.state for receipt in receipts]
    assert states == ["accepted"] * 31 + ["rejected"] + ["accepted"] * 18
    assert receipts[31].reason is not None
    assert (receipts[31].reason.code, receipts[31].reason.field) == ("too_long", "content")
    assert texts(alice, "طويلة") == [arabic]
    assert len(texts(alice, "note", limit=100)) == 48


def test_ids_are_texts_and_no_two_spellings_of_a_number_are_one(runtime: Runtime) -> None:
    """Case 72: as subjects and as ids of facts."""
    names = ["7", "007", "7e0", "7.0", "+7", "9007199254740993", "9007199254740992", "a", "0", "A"]
    for name in names:
        owner = runtime.scope(name)
        assert owner.observe(f"this is {name}", event_id=name).state == "accepted"
        stated(owner, "account", "id", name, fact_id=name)
    for name in names:
        owner = runtime.scope(name)
        assert owner.episodes().items[0].content == f"this is {name}"
        assert [fact.fact_id for fact in owner.facts().items] == [name]
        claim = owner.release([("account", "id", name, [name])])
        assert claim.decision == "release"
    for unknown in ("00", "8", "b"):
        assert runtime.scope(unknown).facts().items == ()


PEOPLE = ["alice", "bruno", "chandra", "dmitri"]
ATTRIBUTES = {
    "home_city": "in which city is {}'s home?",
    "blood_type": "what blood type has {}?",
    "favourite_colour": "tell me the favourite colour of {}",
    "employer": "who is {}'s employer?",
    "shoe_size": "what shoe size does {} wear?",
    "car": "which car does {} drive?",
    "birthday": "when is {}'s birthday?",
    "allergy": "has {} an allergy?",
}


def test_fused_legs_put_the_right_answer_first_at_least_as_often_as_the_best_leg_alone(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case 108."""
    draw = random.Random(108)
    crew = runtime.scope("crew")
    rows = [(name, attribute) for name in PEOPLE for attribute in ATTRIBUTES]
    draw.shuffle(rows)
    facts = {
        (name, attribute): stated(
            crew, name, attribute, f"{attribute[:3]}{draw.randrange(10**6)}"
        ).fact_id
        for name, attribute in rows
    }
    legs: dict[str, list[str]] = {}
    fused = gateway.recall._fused

    def watch(given: dict[str, list[Sight]]) -> list[tuple[Sight, float, tuple[str, ...]]]:
        legs.update({leg: [one.candidate.name for one in ranked] for leg, ranked in given.items()})
        return fused(given)

    monkeypatch.setattr(gateway.recall, "_fused", watch)
    first: dict[str, int] = {}
    for (name, attribute), fact in facts.items():
        answer = crew.recall(ATTRIBUTES[attribute].format(name), types=["fact"])
        ranked = {**legs, "fused": [hit.id for hit in answer.results]}
        for leg, ids in ranked.items():
            first[leg] = first.get(leg, 0) + (ids[:1] == [fact])
    assert first["fused"] >= max(first["exact"], first["lexical"]), first
    assert first["fused"] > 0.9 * len(facts), first
