"""The benchmark's events are those that its page describes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from benchmarks import report
from benchmarks.partition import SIGNER, TOPICS
from benchmarks.results import at_least, at_most, of_floor
from benchmarks.workload import events, intake, scope_of
from schemas.events import Observation
from schemas.kinds import Kind


def test_the_same_seed_gives_the_same_bytes() -> None:
    assert list(intake(events(300, 5), SIGNER, TOPICS)) == list(
        intake(events(300, 5), SIGNER, TOPICS)
    )


def test_kinds_are_mixed_as_the_page_says() -> None:
    kinds = Counter(kind for kind, _ in events(20_000, 1, 100))
    shares = {kind: round(kinds[kind] / 200) for kind in kinds}
    assert shares == {
        Kind.OBSERVATION: 60,
        Kind.ASSERTION: 30,
        Kind.RETRACTION: 6,
        Kind.DELETION: 4,
    }


def test_observations_have_200_to_400_bytes() -> None:
    sizes = [len(e.content or "") for _, e in events(3000, 2) if isinstance(e, Observation)]
    assert min(sizes) >= 200
    assert max(sizes) <= 400


def test_a_scope_has_the_same_events_whichever_scopes_are_kept() -> None:
    kept = list(events(2000, 4, 10, kept=2))
    first_two = {scope_of("s0"), scope_of("s1")}
    assert kept == [one for one in events(2000, 4, 10) if one[1].envelope.scope in first_two]
    assert len(kept) > 200


def test_a_goal_is_met_at_its_bound_and_says_neither_where_it_is_not_judged() -> None:
    assert at_least("rate", 10.0, "events/s", 10).met is True
    assert at_least("rate", 9.9, "events/s", 10).met is False
    assert at_most("p50", 5.0, "ms", 5).met is True
    assert at_most("p50", 5.1, "ms", 5).met is False
    small = at_most("p50 of a small store", 1.0, "ms", 5, judged=False)
    assert small.met is None
    assert small.goal == "≤ 5 ms"


def test_a_ratio_is_floor_over_product_with_both_times_beside() -> None:
    floor, product = of_floor("work", seconds=0.4, floor=0.1, count=1000, bound=0.5)
    assert (floor.value, floor.unit) == (100.0, "µs/event")
    assert (product.value, product.floor_ratio, product.met) == (400.0, 0.25, False)


def test_the_page_gets_the_rows_between_its_marks_and_keeps_the_rest(tmp_path: Path) -> None:
    rows = [*of_floor("work", seconds=0.4, floor=0.1, count=1000, bound=0.5)]
    report.write(rows, tmp_path / "results.json")
    before = "# Page\n<!-- measured -->\nold\n<!-- end -->\nthe rest\n"
    after = report.page(before, report.read(tmp_path / "results.json"))
    assert after.startswith("# Page\n<!-- measured -->\n\n| work |")
    assert "| work | 400.00 | µs/event | 0.25 | ≥ 0.5 of its floor | no |\n" in after
    assert "old" not in after
    assert after.endswith("<!-- end -->\nthe rest\n")
