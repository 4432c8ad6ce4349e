"""I3: no two public facts of a single-valued key are unequal; only valid corrections act."""

from __future__ import annotations

from schemas.normalise import normalise_key, value_key
from tests.clauses.histories import cores, public, scopes
from tests.core.telling import SCOPE, core_told
from tests.model.saying import claim, fact, observe, quote


def test_public_facts_of_a_single_valued_key_never_disagree() -> None:
    for seed, core in cores():
        for scope in scopes(core):
            values: dict[tuple[int, str, str], set[object]] = {}
            for t, _, member in public(core, scope):
                event = member.event
                attribute = normalise_key(event.attribute)
                if core.policy.single_valued(attribute):
                    key = (t, normalise_key(event.entity), attribute)
                    values.setdefault(key, set()).add(value_key(event.value))
            assert all(len(found) == 1 for found in values.values()), f"seed {seed}"


def test_a_conflict_holds_all_unsuperseded_facts_on_its_widest_interval() -> None:
    met = 0
    for seed, core in cores():
        for scope in scopes(core):
            for group in core.groups(scope):
                for conflict in group.conflicts():
                    met += 1
                    sides = {side.record for side in conflict.sides}
                    for t in group.instants():
                        same = {m.record for m in group.at(t).conflict} == sides
                        inside = conflict.start <= t and (conflict.end is None or t < conflict.end)
                        assert same or not inside, f"seed {seed}"
    assert met > 3


def test_a_superseder_acts_only_where_it_holds_unless_it_was_deleted() -> None:
    met = 0
    for seed, core in cores():
        for scope in scopes(core):
            for group in core.groups(scope):
                for t in group.instants():
                    for by in group.at(t).superseded.values():
                        met += 1
                        deleted = by.status.word == "deleted" and not by.retracted
                        assert by.holds(t) or deleted, f"seed {seed}"
    assert met > 3


def test_a_candidates_edge_closes_no_cycle() -> None:
    core = core_told(
        observe("o"),
        claim("z", [quote("o")]),
        claim("a", [fact("z")], [quote("never")], supersedes="b"),
        claim("b", [quote("o")], supersedes="c"),
        claim("c", [quote("o")], supersedes="a"),
    )
    assert core.status(SCOPE, "a") == "candidate"
    assert core.superseded_by(SCOPE, 5) == {"c": "b"}
