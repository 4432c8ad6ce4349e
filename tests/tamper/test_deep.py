"""What only `verify --deep` looks at: bodies, keys, witnesses and the rows of the projections."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from projections.kv_rocks import RocksStore
from projections.rocks import PROJECTION_LAYOUT
from tests.tamper.site import HERE, Site

Changes = dict[bytes, bytes | None]
Rows = list[tuple[bytes, bytes]]


def altered(rows: Rows) -> Changes:
    key, row = rows[0]
    return {key: row[:-1] + bytes((row[-1] ^ 1,))}


def dropped(rows: Rows) -> Changes:
    return {rows[-1][0]: None}


def injected(rows: Rows) -> Changes:
    key, row = rows[0]
    return {key[:-1] + bytes((key[-1] ^ 1,)): row}


@pytest.mark.parametrize("concern", [b"I", b"F", b"R", b"E", b"H", b"G", b"D", b"K"])
@pytest.mark.parametrize("change", [altered, dropped, injected])
def test_a_row_that_was_changed_in_a_store_is_found_and_a_rebuild_mends_it(
    site: Site, concern: bytes, change: Callable[[Rows], Changes]
) -> None:
    at = site.directory.generation() / f"p{HERE}"
    store = RocksStore(at, create=False, layout=PROJECTION_LAYOUT)
    rows = list(store.scan(concern))
    store.write(change(rows), sync=True)
    store.close()
    with site.open() as memory:
        damage = memory.verify(deep=True).damage
        assert damage
        assert {one.partition for one in damage} == {HERE}
        site.check_reads(memory, {HERE})
    with site.open() as memory:
        site.check_reads(memory, {HERE})
        memory.replay()
        site.check_reads(memory, set())
        assert memory.verify(deep=True).ok


def test_a_record_key_that_is_gone_or_damaged_is_found(site: Site) -> None:
    key_id, kept = site.change_key(HERE, None)
    assert [(one.what, one.sequence) for one in site.found(deep=True)] == [("missing_key", 5)]
    site.restore_key(key_id, kept[:-1] + bytes((kept[-1] ^ 1,)))
    assert [(one.what, one.sequence) for one in site.found(deep=True)] == [("key", 5)]
    site.restore_key(key_id, kept)
    assert site.verify(deep=True).ok


def test_keys_that_changed_places_open_nothing(site: Site) -> None:
    """A wrapped key is bound to its id."""
    _, last = site.change_key(HERE, None)
    site.tell(more=1)
    key_id, kept = site.change_key(HERE, last)
    assert ("key", 6) in [(one.what, one.sequence) for one in site.found(deep=True)]
    site.restore_key(key_id, kept)
