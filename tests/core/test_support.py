"""Facts that rest on facts: least fixed points, however tangled, in few judgements (§5)."""

from __future__ import annotations

import pytest

import projections.support as support
from schemas.limits import PREMISES
from tests.core.telling import SCOPE, core_told
from tests.model.rules import Record
from tests.model.saying import MAIN, claim, fact, forget, observe, quote, retract, told


def dag(size: int, width: int = PREMISES - 1) -> list[Record]:
    """Facts that rest on a quote and on each of the `width` facts before them."""
    return [
        claim(
            f"f{n}",
            [quote("o"), *(fact(f"f{m}") for m in range(max(0, n - width), n))],
            attribute="tags",
        )
        for n in range(size)
    ]


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """One item for each judgement of a fact."""
    calls: list[bytes] = []
    verdict = support._verdict

    def counted(case: support._Case, *others: object) -> support.Verdict:
        calls.append(case.row.content)
        return verdict(case, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(support, "_verdict", counted)
    return calls


def test_a_deep_and_dense_graph_is_judged_once_a_fact(judged: list[bytes]) -> None:
    size = 150
    core = core_told(observe("o"), *dag(size))
    judged.clear()
    assert len(core.public_facts(SCOPE, 5)) == size
    assert len(judged) == size


@pytest.mark.parametrize("backwards", [False, True])
def test_what_was_parked_is_settled_together(judged: list[bytes], backwards: bool) -> None:
    size = 150
    facts = dag(size)[::-1] if backwards else dag(size)
    core = core_told(*facts, observe("o"))
    assert len(core.public_facts(SCOPE, 5)) == size
    assert core.follower.checkpoint().count == 2 * size + 1
    assert len(judged) <= size * PREMISES


def test_a_long_chain_falls_with_its_root(judged: list[bytes]) -> None:
    size = 300
    core = core_told(observe("o"), observe("p"), *dag(size, 1), forget({"observation": "o"}))
    judged.clear()
    assert core.public_facts(SCOPE, 5) == frozenset()
    assert core.status(SCOPE, f"f{size - 1}") == "deleted"
    assert len(judged) <= 3 * size


def test_a_cycle_does_not_hold_itself_up_after_a_deletion() -> None:
    steps = (
        observe("o"),
        claim("b", [quote("o")], [fact("a")]),
        claim("a", [fact("b")]),
        observe("o2"),
        claim("c", [quote("o2"), fact("a")]),
        forget({"observation": "o"}),
    )
    core, model = core_told(*steps), told(*steps)
    assert [core.status(SCOPE, name) for name in "abc"] == ["parked"] * 3
    assert [model.status(MAIN, name) for name in "abc"] == ["parked"] * 3


def test_a_fact_may_lift_itself_only_once_it_stands() -> None:
    """f stands by g alone (a candidate); standing, it completes its own other justification."""
    core = core_told(
        claim("f", [quote("o"), fact("f")], [fact("g")], by="root"),
        claim("g", [quote("o")]),
        observe("o"),
    )
    assert core.status(SCOPE, "f") == "accepted"
    alone = core_told(claim("f", [quote("o"), fact("f")]), observe("o"))
    assert alone.status(SCOPE, "f") == "parked"


def test_one_in_force_falls_back_to_parked_while_another_justification_waits() -> None:
    core = core_told(
        observe("o"),
        claim("f", [quote("o")], [quote("o2")]),
        forget({"observation": "o"}),
    )
    assert core.status(SCOPE, "f") == "parked"
    core = core_told(
        observe("o"),
        claim("f", [quote("o")], [quote("o2")]),
        forget({"observation": "o"}),
        observe("o2"),
    )
    assert core.public_facts(SCOPE, 5) == {"f"}


def test_a_refused_assertion_is_deleted_with_a_fact_it_rests_on() -> None:
    """Both orders: its quote is ambiguous, and the fact it rests on is deleted."""
    twice = observe("o2", "Berlin, Berlin")
    refused = claim("a", [quote("o2"), fact("b")])
    before = (observe("o"), claim("b", [quote("o")]), twice)
    last = core_told(*before, refused, forget({"fact": "b"}))
    first = core_told(*before, forget({"fact": "b"}), refused)
    assert last.status(SCOPE, "a") == first.status(SCOPE, "a") == "deleted"


def test_a_retracted_premise_still_holds_its_dependants() -> None:
    core = core_told(
        observe("o"),
        claim("b", [quote("o")]),
        claim("a", [quote("o"), fact("b")]),
        retract("b"),
    )
    assert core.public_facts(SCOPE, 5) == {"a"}
