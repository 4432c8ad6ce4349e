"""What a view of the past may not bring back, and what it may not take from the future (§7, §10).

By hand, what generated histories meet too rarely.
"""

from __future__ import annotations

from tests.core.telling import SCOPE, core_told
from tests.model.saying import claim, fact, forget, observe, quote, retract


def test_a_correction_deleted_through_its_sources_suppresses_in_past_views_too() -> None:
    """At step 3 its other quote had not been judged; judged, it fails, and the deletion counts."""
    core = core_told(
        observe("o"),
        claim("wrong", [quote("o")]),
        claim("right", [quote("o1")], [quote("o2", "not there")], supersedes="wrong", value="Bonn"),
        observe("o1"),
        observe("o2"),
        forget({"observation": "o1"}),
    )
    assert core.status(SCOPE, "right") == "deleted"
    assert core.public_facts(SCOPE, 5) == frozenset()
    assert core.public_facts(SCOPE, 5, 4) == frozenset()
    assert core.public_facts(SCOPE, 5, 2) == {"wrong"}


def test_grounds_that_came_later_do_not_make_a_fact_public_before() -> None:
    core = core_told(
        observe("o"),
        claim("b", [quote("o")]),
        claim("a", [fact("b")], [quote("o2")]),
        observe("o2"),
    )
    assert core.public_facts(SCOPE, 5) == {"a", "b"}
    assert core.public_facts(SCOPE, 5, 3) == {"b"}


def test_the_audit_of_the_past_knows_no_fact_that_was_to_come() -> None:
    """A retraction and a deletion wait for a fact whose arrival hides the episode."""
    core = core_told(
        retract("f"),
        forget({"fact": "f"}),
        observe("o"),
        claim("f", [quote("o")]),
    )
    assert core.episodes(SCOPE) == frozenset()
    assert core.episodes(SCOPE, 3, audit=True) == {"o"}


def test_the_audit_of_the_past_does_not_see_what_was_covered_later() -> None:
    core = core_told(
        claim("f", [fact("g"), quote("o", "not there")], by="root"),
        claim("g", [quote("o9")]),
        observe("o", by="root"),
        forget({"subject": True}, by="root"),
    )
    assert core.episodes(SCOPE, 3, audit=True) == frozenset()


def test_in_a_deleted_scope_deletions_and_controls_are_refused_too() -> None:
    core = core_told(
        observe("o"),
        forget({"scope": True}, by="root"),
        forget({"observation": "o"}),
        forget({"subject": True}, by="root"),
        observe("late"),
    )
    assert core.receipts[2:] == [("rejected", "scope_deleted")] * 3


def test_the_fact_that_supersedes_is_told_alike_in_both_orders() -> None:
    one = claim("f1", [quote("o")], supersedes="f0")
    other = claim("f2", [quote("o")], supersedes="f0")
    base = (observe("o"), claim("f0", [quote("o")]))
    assert (
        core_told(*base, one, other).superseded_by(SCOPE, 5)
        == core_told(*base, other, one).superseded_by(SCOPE, 5)
        == {"f0": "f2"}
    )
