"""A ledger that was tampered with at rest: what, where and how much is said, and reads stop."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from schemas.answers import Finding
from schemas.entry import parse_entry
from tests.tamper.site import ELSEWHERE, HERE, Site, chained, successor

Values = list[bytes]


def bent(values: Values) -> list[bytes | None]:
    """A bit of entry 2 is another."""
    value = bytearray(values[2])
    value[100] ^= 4
    return [*values[:2], bytes(value), *values[3:]]


def holed(values: Values) -> list[bytes | None]:
    return [*values[:2], None, *values[3:]]


def closed_up(values: Values) -> list[bytes | None]:
    return [*values[:2], *values[4:]]


def exchanged(values: Values) -> list[bytes | None]:
    return [*values[:2], values[3], values[2], *values[4:]]


def doubled(values: Values) -> list[bytes | None]:
    return [*values[:3], values[1], *values[3:]]


def cut_by_two(values: Values) -> list[bytes | None]:
    return list(values[:-2])


def cut_to_nothing(values: Values) -> list[bytes | None]:
    return []


def with_a_stranger(values: Values) -> list[bytes | None]:
    """An entry of the same shape that continues nothing stands among the others."""
    one, other = parse_entry(values[0]), parse_entry(values[3])
    stranger = chained([successor(one, other)])[0]
    stranger = successor(parse_entry(stranger), other)
    return [*values[:3], stranger, *values[3:]]


def with_a_false_successor(values: Values) -> list[bytes | None]:
    """An entry with hashes that fit takes another's place, and the rest is pushed aside."""
    return [*values[:3], successor(parse_entry(values[2]), parse_entry(values[4])), *values[3:]]


def with_a_false_head(values: Values) -> list[bytes | None]:
    return [*values, successor(parse_entry(values[-1]), parse_entry(values[3]))]


def rechained(values: Values) -> list[bytes | None]:
    return list(chained(values))


TAMPERED: dict[str, tuple[Callable[[Values], list[bytes | None]], str, int, str]] = {
    "a bent bit": (bent, "malformed", 2, "its hash does not fit its bytes"),
    "a hole": (holed, "missing", 2, "1 entry is missing"),
    "entries cut out": (closed_up, "missing", 2, "2 entries are missing"),
    "an exchange": (exchanged, "reordered", 2, "it stands at log offset 3, after entry 3"),
    "a double": (doubled, "duplicated", 1, "it was put in at log offset 3"),
    "a cut": (cut_by_two, "truncated", 4, "2 entries are missing: the anchor saw 6"),
    "a cut to nothing": (cut_to_nothing, "truncated", 0, "6 entries are missing"),
    "a stranger": (with_a_stranger, "foreign", 3, "its predecessor was never seen"),
    "a false successor": (with_a_false_successor, "injected", 3, "another entry stands in"),
    "a false head": (with_a_false_head, "body", 6, "does not fit its key and header"),
    "a log chained anew": (rechained, "rewritten", 5, "not the one that the anchor saw"),
}


@pytest.mark.parametrize("deep", [False, True], ids=["verify", "deep"])
@pytest.mark.parametrize("tampered", TAMPERED)
def test_what_was_tampered_with_is_found_and_named_and_its_reads_stop(
    site: Site, tampered: str, deep: bool
) -> None:
    change, what, sequence, words = TAMPERED[tampered]
    site.put(HERE, change(site.ledger(HERE)))
    damage = site.found(deep)
    first = damage[0]
    assert {finding.partition for finding in damage} == {HERE}
    assert (first.what, first.sequence) == (what, sequence), first
    assert words in first.detail


@pytest.mark.parametrize("tampered", sorted(set(TAMPERED) - {"a double"}))
def test_it_is_found_too_where_the_stores_were_folded_anew(site: Site, tampered: str) -> None:
    """The anchor alone tells; a double that was never folded is a resent entry."""
    change, what, sequence, _ = TAMPERED[tampered]
    site.put(HERE, change(site.ledger(HERE)))
    site.forget_projections()
    first = site.found(deep=True)[0]
    assert (first.what, first.sequence) == (what, sequence), first


def test_a_resent_batch_and_a_beaten_writers_entries_are_no_damage(site: Site) -> None:
    values = site.ledger(HERE)
    rival = successor(parse_entry(values[1]), parse_entry(values[4]))
    site.put(HERE, [*values, *values[-2:], rival, values[-1]])
    for deep in (False, True):
        found = site.verify(deep)
        assert found.ok, found.damage
        assert [(notice.what, notice.detail) for notice in found.notices] == [
            ("ignored", "1 entries of beaten writers, 3 that came twice")
        ]
    with site.open() as memory:
        site.check_reads(memory, set())
    site.put(HERE, values)
    assert told(site.found()) == [
        (HERE, None, "ignored", "0 records stand beside the chain where 4 did when it was folded")
    ]


def test_entries_that_were_taken_away_beside_the_chain_are_missed(site: Site) -> None:
    values = site.ledger(HERE)
    site.put(HERE, [*values, values[-1]])
    site.tell(more=1)
    values = site.ledger(HERE)
    assert site.verify().ok
    site.put(HERE, [*values[:6], None, *values[7:]])
    assert site.found()[0].what == "ignored"


def test_an_older_backup_is_found_and_how_much_it_lacks(site: Site, tmp_path: Path) -> None:
    shutil.copytree(site.data, tmp_path / "backup")
    site.tell(more=3)
    shutil.rmtree(site.data)
    shutil.copytree(tmp_path / "backup", site.data)
    damage = site.found()
    assert set(told(damage)) == {
        (partition, 6, "truncated", "3 entries are missing: the anchor saw 9")
        for partition in (HERE, ELSEWHERE)
    }


def test_an_older_backup_of_the_log_alone_is_found(site: Site, tmp_path: Path) -> None:
    shutil.copytree(site.data / "log", tmp_path / "log")
    site.tell(more=2)
    shutil.rmtree(site.data / "log")
    shutil.copytree(tmp_path / "log", site.data / "log")
    detail = "2 entries are missing: the anchor saw 8"
    assert told(site.found())[0] == (HERE, 6, "truncated", detail)


def exchange_logs(site: Site) -> None:
    here, elsewhere = site.ledger(HERE), site.ledger(ELSEWHERE)
    site.put(HERE, elsewhere)
    site.put(ELSEWHERE, here)


def exchange_stores(site: Site) -> None:
    generation = site.directory.generation()
    one, other = (generation / f"p{partition}" for partition in (HERE, ELSEWHERE))
    one.rename(generation / "x")
    other.rename(one)
    (generation / "x").rename(other)


def in_both(what: str) -> set[tuple[int, str]]:
    return {(HERE, what), (ELSEWHERE, what)}


def test_two_partitions_logs_that_changed_places_are_found_in_both(site: Site) -> None:
    exchange_logs(site)
    damage = site.found()
    assert in_both("partition") <= {(one.partition, one.what) for one in damage}
    assert f"it belongs to partition {ELSEWHERE}" in damage[0].detail


def test_two_partitions_logs_and_stores_that_changed_places_are_found(site: Site) -> None:
    exchange_logs(site)
    exchange_stores(site)
    assert in_both("partition") <= {(one.partition, one.what) for one in site.found()}


def test_two_partitions_stores_that_changed_places_are_found_and_can_be_rebuilt(
    site: Site,
) -> None:
    exchange_stores(site)
    damage = site.found()
    assert {(one.partition, one.what) for one in damage} == in_both("projection")
    with site.open() as memory:
        memory.replay()
        assert memory.verify(deep=True).ok
        site.check_reads(memory, set())


def test_another_installations_log_under_the_same_name_is_found(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Site(tmp_path, "other")
    shutil.copy(site.data / "master.key", other.data)
    other.tell()
    shutil.rmtree(site.data / "log")
    shutil.copytree(other.data / "log", site.data / "log")
    damage = site.found()
    assert {(one.partition, one.what) for one in damage if one.what == "another_log"} == {
        (HERE, "another_log"),
        (ELSEWHERE, "another_log"),
    }
    assert any(one.what == "rewritten" for one in damage)


def told(damage: list[Finding]) -> list[tuple[int, int | None, str, str]]:
    """Findings as tuples."""
    return [(one.partition, one.sequence, one.what, one.detail) for one in damage]
