"""`Anchors`: heads kept outside, believed only with their MAC."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from projections.anchors import FileAnchors, MemoryAnchors
from projections.ports import Anchor, Anchors
from schemas.errors import LedgerCorrupt, Unavailable

ONE, TWO = Anchor(3, b"a" * 32), Anchor(5, b"b" * 32)


@pytest.fixture(params=["memory", "file"])
def anchors(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Anchors]:
    made = (
        MemoryAnchors()
        if request.param == "memory"
        else FileAnchors(tmp_path / "state" / "x.anchors", b"k" * 32, "store")
    )
    yield made
    made.close()


def test_the_last_head_written_is_read(anchors: Anchors) -> None:
    assert anchors.read(0) is None
    anchors.write(0, {b"": ONE, b"scope": ONE})
    anchors.write(0, {b"": TWO})
    anchors.write(1, {b"": ONE})
    assert anchors.read(0) == TWO
    assert anchors.read(0, b"scope") == ONE
    assert anchors.all(0) == {b"": TWO, b"scope": ONE}
    assert anchors.all(2) == {}


def test_an_altered_anchor_is_damage_and_a_broken_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.anchors"
    anchors = FileAnchors(path, b"k" * 32, "store")
    anchors.write(0, {b"": TWO})
    anchors.close()
    raw = sqlite3.connect(path)
    for change in ("entries = 2", "mac = NULL"):
        raw.execute(f"UPDATE anchors SET {change}")
        raw.commit()
        anchors = FileAnchors(path, b"k" * 32, "store")
        with pytest.raises(LedgerCorrupt, match="altered"):
            anchors.read(0)
        anchors.close()
    raw.close()
    path.write_bytes(b"no database at all, but long enough to be looked at" * 40)
    with pytest.raises(Unavailable, match="anchors"):
        FileAnchors(path, b"k" * 32, "store")


def test_anchors_of_another_store_are_not_mixed_in(tmp_path: Path) -> None:
    path = tmp_path / "x.anchors"
    mine, other = (FileAnchors(path, b"k" * 32, name) for name in ("mine", "other"))
    mine.write(0, {b"": ONE})
    assert other.read(0) is None
    mine.close()
    other.close()
