"""What only `verify --deep` looks at: bodies, keys, witnesses and the rows of the projections."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from projections.kv_rocks import RocksStore
from projections.rocks import PROJECTION_LAYOUT
from tests.tamper.site import HERE, Site, subject_of

OF_PROJECTIONS = {(HERE, "projection"), (HERE, "scope_head")}
Row = tuple[bytes, bytes]
Change = Callable[[bytes, bytes], tuple[bytes, bytes | None]]


def altered(key: bytes, row: bytes) -> tuple[bytes, bytes | None]:
    return key, bytes((row[0] ^ 1,)) + row[1:]


def dropped(key: bytes, row: bytes) -> tuple[bytes, bytes | None]:
    return key, None


def injected(key: bytes, row: bytes) -> tuple[bytes, bytes | None]:
    return key[:-1] + bytes((key[-1] ^ 0x40,)), row


def one_of_each_concern(rows: Iterable[Row]) -> list[Row]:
    """The last row of every concern that stands in a store, its checkpoint left out."""
    return list({key[:1]: (key, row) for key, row in rows if len(key) > 1}.values())


@pytest.mark.parametrize(
    ("change", "state"), [(altered, "altered"), (dropped, "missing"), (injected, "extra")]
)
def test_rows_that_were_changed_in_a_store_are_all_named_and_a_rebuild_mends_them(
    site: Site, change: Change, state: str
) -> None:
    at = site.directory.generation() / f"p{HERE}"
    store = RocksStore(at, create=False, layout=PROJECTION_LAYOUT)
    changed = dict(change(*pair) for pair in one_of_each_concern(store.scan(b"")))
    store.write(changed, sync=True)
    store.close()
    assert {key[:1] for key in changed} >= set(map(bytes, zip(b"EHKRIFDG")))
    with site.open() as memory:
        damage = memory.verify(deep=True).damage
        assert {(one.partition, one.what) for one in damage} <= OF_PROJECTIONS
        said = {one.detail for one in damage}
        for key in changed:
            assert f"row {key[:1].decode()} {key[1:].hex()} is {state}" in said
        site.check_reads(memory, {HERE})
    with site.open() as memory:
        site.check_reads(memory, {HERE})
        memory.replay()
        site.check_reads(memory, set())
        assert memory.verify(deep=True).ok


@pytest.mark.parametrize("change", [altered, dropped])
def test_a_store_whose_checkpoint_was_changed_is_found_and_rebuilt(
    site: Site, change: Change
) -> None:
    at = site.directory.generation() / f"p{HERE}"
    store = RocksStore(at, create=False, layout=PROJECTION_LAYOUT)
    store.write(dict([change(b"M", store.get(b"M") or b"")]), sync=True)
    store.close()
    with site.open() as memory:
        site.check_reads(memory, {HERE})
        damage = memory.verify(deep=True).damage
        assert damage
        assert {(one.partition, one.what) for one in damage} <= OF_PROJECTIONS
        if change is dropped:
            gone = "the store holds rows, and its checkpoint is gone"
            assert gone in {one.detail for one in damage}
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


def test_a_body_that_was_replaced_is_no_damage_whatever_was_decided_before(site: Site) -> None:
    scope = {"tenant": "acme", "namespace": "torn", "subject": subject_of(HERE)}
    refuted, itself = {"observation": "early", "quote": "not said"}, {"fact": "torn"}
    said: list[tuple[dict[str, object], str]] = [
        (assertion("torn", [refuted, itself]), "parked"),
        ({"kind": "observation", "event_id": "early", "content": "something else"}, "accepted"),
        ({"kind": "deletion", "target": {"fact": "torn"}}, "accepted"),
    ]
    with site.open() as memory:
        for event, state in said:
            (receipt,) = memory.publish([{**event, "scope": scope}], wait=30)
            assert receipt.state == state
        entries = memory.scope(**scope).audit_entries().items
        decisions = [one.decision for one in entries if one.kind == "assertion"]
        assert decisions == ["parked", "quarantined", "quarantined"]
        assert memory.verify(deep=True).damage == ()
        memory.replay()
        assert memory.verify(deep=True).damage == ()


def assertion(fact_id: str, premises: list[dict[str, str]]) -> dict[str, object]:
    return {
        "kind": "assertion",
        "fact_id": fact_id,
        "entity": "alice",
        "attribute": "city",
        "value": "Oslo",
        "justifications": [{"premises": premises}],
    }
