"""The generator: what it promises of order, and that every situation of the rules occurs often."""

from __future__ import annotations

import itertools
import random
from collections import Counter

from tests.model.histories import (
    ADAPTERS,
    KINDS,
    from_seed,
    interleavings,
    minimise,
    swaps,
    topic,
)
from tests.model.reference import ANY, REASONS, Model
from tests.model.rules import Record


def in_topic_order(records: list[Record]) -> bool:
    return all(
        [r["offset"] for r in records if topic(r) == kind]
        == sorted(r["offset"] for r in records if topic(r) == kind)
        for kind in KINDS
    )


def test_the_same_seed_gives_the_same_history_and_a_size_is_a_prefix() -> None:
    for seed in range(50):
        assert from_seed(seed, 20) == from_seed(seed, 20)
        assert from_seed(seed, 20).records[:8] == from_seed(seed, 8).records


def test_append_times_never_decrease_and_ties_cross_topics() -> None:
    ties = 0
    for seed in range(100):
        records = from_seed(seed, 20).records
        times = [record["append_ms"] for record in records]
        assert times == sorted(times)
        assert in_topic_order(list(records))
        ties += sum(
            a["append_ms"] == b["append_ms"] and topic(a) != topic(b)
            for a, b in itertools.pairwise(records)
        )
    assert ties > 300


def test_interleavings_and_swaps_keep_each_topics_order() -> None:
    for seed in range(100):
        records = from_seed(seed, 12).records
        others = interleavings(records, random.Random(seed), 5)
        others += [swapped for _, swapped in swaps(records)]
        assert len(others) > 5
        for other in others:
            assert sorted(map(repr, other)) == sorted(map(repr, records))
            assert in_topic_order(other)


def test_minimise_keeps_only_what_a_failure_needs() -> None:
    records = from_seed(1, 20).records
    wanted = [records[3], records[11]]
    assert minimise(records, lambda rest: all(r in rest for r in wanted)) == wanted


def test_every_situation_occurs_often() -> None:
    seen: Counter[str] = Counter()
    for seed in range(400):
        history = from_seed(seed, 18)
        model = Model(history.adapters, history.policy)
        for record in history.records:
            model.consume(record)
        for n, record in enumerate(history.records, 1):
            state, code = model.receipt(n)
            seen[f"{record['kind']} {state} {code}".strip()] += 1
            if record["kind"] == "assertion":
                seen[f"then {model.receipt(n, n)[0]}, now {state}"] += 1
        world = model.world()
        for scope in history.scopes:
            for name in model.world().assertions:
                seen[f"status {model.status(*name)}"] += 1
                by = {g for t in model.instants(scope) for g in model.superseded_by(*name, t)}
                seen["superseded by a deleted fact"] += "deleted" in by
                seen["superseded by a fact"] += bool(by - {"deleted"})
                seen["superseded by itself"] += (name, name) in world.admitted
                seen["retracted"] += world.retracted(name)
                seen["asserted again"] += len(world.grounds[name]) > 1
            seen["edges on a cycle"] += len(world.admitted) > len(model.valid_edges(scope))
            seen["public"] += bool(model.public_facts(scope, ANY))
            seen["conflict"] += bool(model.conflicts(scope, ANY))
            seen["past conflict"] += bool(model.conflicts(scope, ANY, 12))
            seen["bounded conflict"] += any(c[3][1] for c in model.conflicts(scope, ANY))
            seen["testimony withheld"] += len(model.episodes(scope)) < len(world.observations)
            for t in model.instants(scope):
                for name, record in world.assertions.items():
                    asked = {**record["event"], "facts": [name[1]]}
                    seen[f"release {model.release(scope, t, [asked])[1][0]}"] += 1
    rare = {word: n for word, n in seen.items() if n < 3}
    expected = [
        *(f"release {reason}" for reason in (*REASONS, None) if reason != "mismatch"),
        *(f"status {word}" for word in ("accepted", "candidate", "parked", "quarantined")),
        *(f"status {word}" for word in ("rejected", "deleted", "covered", "blocked")),
        *(f"then parked, now {word}" for word in ("accepted", "candidate", "quarantined")),
        "superseded by a deleted fact", "superseded by a fact", "superseded by itself",
        "edges on a cycle", "retracted", "asserted again", "public", "conflict", "past conflict",
        "bounded conflict", "testimony withheld", "assertion quarantined timed_out",
        "assertion quarantined premise_failed", "assertion quarantined quote_not_found",
        "assertion rejected ambiguous_quote", "assertion rejected id_taken",
        "assertion rejected idempotency_conflict", "assertion duplicate",
        "assertion covered sources_deleted", "assertion covered target_deleted",
        "assertion covered barrier", "assertion candidate uncheckable_quote",
        "observation rejected id_taken", "retraction parked awaiting_target",
        "retraction covered barrier", "retraction rejected not_authorised",
        "deletion parked awaiting_target", "deletion rejected not_authorised",
        "deletion rejected role_required", "assertion rejected scope_deleted",
        "control rejected role_required", "assertion rejected scope_not_granted",
    ]  # fmt: skip
    assert not [word for word in expected if seen[word] < 5], rare
    assert {record["adapter"] for s in range(20) for record in from_seed(s).records} == set(
        ADAPTERS
    )
