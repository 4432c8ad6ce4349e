"""I5: a claim is released iff it names facts and every one of them is public and equals it."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.claims import Claim, claims_digest, judge_claim
from schemas.events import Value
from schemas.normalise import normalise_key, value_key
from schemas.policy import Policy
from schemas.scope import Scope
from tests.clauses.histories import cores, scopes
from tests.core.harness import Core
from tests.core.telling import SCOPE, core_told
from tests.model.histories import History, from_seed, interleaving, tangled
from tests.model.reference import ANY
from tests.model.saying import claim, fact, forget, observe, quote

POLICY = Policy()


def test_a_claim_is_released_iff_all_its_facts_are_public_and_equal_it() -> None:
    granted = refused = 0
    for seed, core in cores(range(70_000, 70_120)):
        for scope in scopes(core):
            horizon, scope16 = core.horizon(scope), core.hasher.scope(scope)
            reader, hasher = core.follower.reader, core.hasher
            instants = sorted({t for group in core.groups(scope) for t in group.instants()})
            members = {
                m.event.fact_id: m
                for group in core.groups(scope)
                for m in group.members.values()
                if m.row.event is not None
            }
            for t in instants:
                open_ = core.public_facts(scope, t)
                for name, member in members.items():
                    event = member.event
                    claim = Claim(event.entity, event.attribute, event.value, (name,))
                    reason = judge_claim(reader, scope16, claim, t, horizon, core.policy, hasher)
                    assert (reason is None) == (name in open_), f"seed {seed}: {name} {reason}"
                    granted += reason is None
                    refused += reason is not None
                    for other, rival in members.items():
                        both = Claim(event.entity, event.attribute, event.value, (name, other))
                        equal = (
                            normalise_key(rival.event.entity) == normalise_key(event.entity)
                            and normalise_key(rival.event.attribute)
                            == normalise_key(event.attribute)
                            and value_key(rival.event.value) == value_key(event.value)
                        )
                        allowed = {name, other} <= open_ and equal
                        told = judge_claim(reader, scope16, both, t, horizon, core.policy, hasher)
                        assert (told is None) == allowed, f"seed {seed}"
    assert granted > 100
    assert refused > 100


def seen(core: Core, scope: Scope) -> object:
    """Everything that a release can depend on."""
    groups = core.groups(scope)
    instants = sorted({t for group in groups for t in group.instants()})
    return core.conflicts(scope, ANY), {t: core.public_facts(scope, t) for t in instants}


def head(core: Core, scope: Scope) -> object:
    """What a release binds: the scope's own head and its subject's."""
    reader, hasher = core.follower.reader, core.hasher
    own, subject = reader.head(hasher.scope(scope)), reader.subject(hasher.subject(scope))
    return own.count, own.hash, subject.hash


@pytest.mark.parametrize("make", [from_seed, tangled])
def test_the_scope_head_moves_whenever_a_public_answer_changes(
    make: Callable[[int, int], History],
) -> None:
    changed = 0
    for seed in range(75_000, 75_060):
        history = make(seed, 18)
        core = Core(history)
        before = {scope: (seen(core, scope), head(core, scope)) for scope in scopes(core)}
        for record in interleaving(history.records, random.Random(seed)):
            core.consume([record])
            for scope, (seen_before, head_before) in before.items():
                now, moved = seen(core, scope), head(core, scope)
                if now != seen_before:
                    changed += 1
                    assert moved != head_before, f"seed {seed}: {record['kind']}"
                before[scope] = now, moved
    assert changed > 40


def test_a_correction_that_falls_when_a_refused_fact_comes_moves_the_head() -> None:
    """`right` waits for `late`; when that is refused, nothing is left of it but its effect."""
    steps = (
        observe("o"),
        observe("o1"),
        observe("o2", "Berlin, Berlin"),
        claim("wrong", [quote("o")]),
        claim("right", [quote("o1")], [fact("late")], supersedes="wrong"),
        forget({"observation": "o1"}),
    )
    before = core_told(*steps)
    after = core_told(*steps, claim("late", [quote("o2")]))
    assert before.public_facts(SCOPE, 5) == {"wrong"}
    assert after.public_facts(SCOPE, 5) == frozenset()
    assert head(before, SCOPE) != head(after, SCOPE)


def test_without_facts_nothing_is_supported() -> None:
    _, core = next(cores())
    scope = scopes(core)[0]
    claim = Claim("alice", "city", Value("string", "Berlin"), ())
    assert (
        judge_claim(
            core.follower.reader,
            core.hasher.scope(scope),
            claim,
            0,
            core.horizon(scope),
            core.policy,
            core.hasher,
        )
        == "unsupported"
    )


CLAIMS = st.builds(
    Claim,
    st.sampled_from(("alice", "bob", "a", "al")),
    st.sampled_from(("city", "icecity", "c")),
    st.builds(Value, st.just("string"), st.sampled_from(("Berlin", "berlin ", "Rome", ""))),
    st.lists(st.sampled_from(("f1", "f2", "f")), max_size=3).map(tuple),
)


def meaning(claims: list[Claim]) -> list[tuple[str, str, object, tuple[str, ...]]]:
    """The sorted multiset that a record binds."""
    return sorted(
        (
            normalise_key(claim.entity),
            normalise_key(claim.attribute),
            value_key(claim.value),
            tuple(sorted(set(claim.facts))),
        )
        for claim in claims
    )


@given(st.lists(CLAIMS, max_size=4), st.lists(CLAIMS, max_size=4))
def test_the_digest_is_of_the_sorted_multiset_and_of_nothing_else(
    one: list[Claim], other: list[Claim]
) -> None:
    same = meaning(one) == meaning(other)
    assert (claims_digest(one, POLICY) == claims_digest(other, POLICY)) == same
    assert claims_digest(one, POLICY) == claims_digest(one[::-1], POLICY)
    if one:
        assert claims_digest([*one, one[0]], POLICY) != claims_digest(one, POLICY)


def test_no_text_can_imitate_another_claims_bytes() -> None:
    here = [Claim("ab", "c", Value("string", "d"), ("f",))]
    there = [Claim("a", "bc", Value("string", "d"), ("f",))]
    assert claims_digest(here, POLICY) != claims_digest(there, POLICY)
    number = [Claim("a", "b", Value("integer", "1"), ("f",))]
    text = [Claim("a", "b", Value("string", "1"), ("f",))]
    assert claims_digest(number, POLICY) != claims_digest(text, POLICY)
