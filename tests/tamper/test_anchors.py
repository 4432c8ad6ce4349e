"""Anchors that were deleted, rolled back, altered or exchanged; and what an operator may accept."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

from tests.tamper.site import ELSEWHERE, HERE, PARTITIONS, Site
from tests.tamper.test_ledger import told


def both(what: str, entries: int) -> set[tuple[int, int, str]]:
    return {(partition, entries, what) for partition in range(PARTITIONS)}


def test_a_deleted_anchor_is_damage_where_one_was_written(site: Site) -> None:
    site.anchors.unlink()
    damage = site.found()
    assert {one[:3] for one in told(damage)} == both("anchor_missing", 6)
    assert "it was deleted" in damage[0].detail


def test_a_log_cut_together_with_its_anchor_says_how_much_is_missing(site: Site) -> None:
    """The directory itself remembers, also where the stores were removed to cover the tracks."""
    site.put(HERE, list(site.ledger(HERE)[:-2]))
    site.forget_projections()
    site.anchors.unlink()
    details = [one.detail for one in site.found() if one.what == "truncated"]
    assert details == ["2 entries are missing: the data directory saw 6"]


def test_an_anchor_rolled_back_is_damage(site: Site, tmp_path: Path) -> None:
    shutil.copy(site.anchors, tmp_path / "older")
    site.tell(more=2)
    shutil.copy(tmp_path / "older", site.anchors)
    damage = site.found()
    assert {one[:3] for one in told(damage)} == both("anchor_rolled_back", 6)
    assert "an older one was put in its place" in damage[0].detail


def test_a_log_and_its_anchor_rolled_back_together_are_found(site: Site, tmp_path: Path) -> None:
    shutil.copy(site.anchors, tmp_path / "older")
    shutil.copytree(site.data / "log", tmp_path / "log")
    site.tell(more=2)
    shutil.copy(tmp_path / "older", site.anchors)
    shutil.rmtree(site.data / "log")
    shutil.copytree(tmp_path / "log", site.data / "log")
    site.forget_projections()
    found = {(one.partition, one.what, one.sequence) for one in site.found()}
    assert {(HERE, "truncated", 6), (ELSEWHERE, "anchor_rolled_back", 6)} <= found


def test_an_anchor_with_other_numbers_or_of_another_partition_is_damage(site: Site) -> None:
    before = site.anchors.read_bytes()
    for change in (
        "UPDATE anchors SET entries = 3 WHERE partition = 0 AND scope = x''",
        "UPDATE anchors SET hash = zeroblob(32) WHERE partition = 0 AND scope = x''",
        "UPDATE anchors SET mac = NULL WHERE partition = 0",
        "UPDATE anchors SET partition = 1 - partition",
    ):
        raw = sqlite3.connect(site.anchors)
        if "1 -" in change:
            raw.execute("DELETE FROM anchors WHERE scope <> x''")
            raw.execute("UPDATE anchors SET partition = partition + 2")
            change = "UPDATE anchors SET partition = 3 - partition"
        raw.execute(change)
        raw.commit()
        raw.close()
        assert {one.what for one in site.found()} == {"anchor"}
        site.anchors.write_bytes(before)
        assert site.verify().ok


def test_an_anchor_changed_while_the_memory_is_open_is_found(site: Site, tmp_path: Path) -> None:
    shutil.copy(site.anchors, tmp_path / "older")
    site.tell(more=1)
    newer = site.anchors.read_bytes()
    for what, change in (
        ("anchor_missing", site.anchors.unlink),
        ("anchor_rolled_back", lambda: shutil.copy(tmp_path / "older", site.anchors)),
    ):
        with site.open() as memory:
            change()
            damage = memory.verify().damage
            assert {one.what for one in damage} == {what}
            site.check_reads(memory, {HERE, ELSEWHERE})
        site.anchors.write_bytes(newer)
        assert site.verify().ok


def test_reads_go_on_once_the_damage_is_mended_and_verify_says_so(
    site: Site, tmp_path: Path
) -> None:
    shutil.copy(site.anchors, tmp_path / "anchors")
    site.anchors.unlink()
    site.found()
    shutil.copy(tmp_path / "anchors", site.anchors)
    with site.open() as memory:
        site.check_reads(memory, {HERE, ELSEWHERE})
        assert memory.verify().ok
        site.check_reads(memory, set())
    with site.open() as memory:
        site.check_reads(memory, set())


def test_what_only_deep_looks_for_is_not_forgotten_by_a_check_that_does_not(site: Site) -> None:
    key_id, kept = site.change_key(HERE, None)
    assert site.found(deep=True)[0].what == "missing_key"
    with site.open() as memory:
        found = memory.verify()
        assert found.ok
        assert [(one.partition, one.what) for one in found.notices] == [(HERE, "missing_key")]
        assert "until verify --deep finds nothing" in found.notices[0].detail
        site.check_reads(memory, {HERE})
    site.restore_key(key_id, kept)
    with site.open() as memory:
        assert memory.verify(deep=True).ok
        site.check_reads(memory, set())


def test_a_ledger_is_trusted_on_first_use_and_that_is_said(site: Site) -> None:
    """A backup of log, vault and keys, restored where nothing is remembered of it."""
    site.anchors.unlink()
    (site.data / "anchored").unlink()
    with site.open() as memory:
        site.check_reads(memory, set())
        found = memory.verify()
    assert found.ok
    assert {one.what for one in found.notices} == {"no_anchor"}
    assert site.verify().notices == ()
