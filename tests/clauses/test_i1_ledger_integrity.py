"""I1: sequence, predecessor, hash, body, key and anchor agree, or public reads stop."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from mnemolog.anchoring import Anchoring
from processors.verify import verify_partitions
from projections.anchors import MemoryAnchors
from projections.kv_memory import MemoryStore
from projections.ports import Anchor, LogRecord
from schemas.entry import NONCE_BYTES, Entry, header_bytes, make_entry, parse_entry
from schemas.errors import LedgerCorrupt
from schemas.sealing import RecordKey, seal, unseal
from tests.core.harness import TOPICS, Core
from tests.model.histories import from_seed

HISTORY = from_seed(60_000, 12)


def ledger(core: Core) -> list[LogRecord]:
    return core.log._records[TOPICS.ledger, 0]


def stored(core: Core) -> list[Entry]:
    return [parse_entry(record.value) for record in ledger(core)]


def put(core: Core, values: list[bytes]) -> None:
    """Replace the ledger's records."""
    core.log._records[TOPICS.ledger, 0] = [
        LogRecord(TOPICS.ledger, 0, offset, 0, value, ()) for offset, value in enumerate(values)
    ]


def refold(core: Core, anchors: MemoryAnchors | None = None) -> None:
    follower = core.follow(MemoryStore())
    follower.catch_up()
    if anchors is not None:
        Anchoring(anchors, MemoryAnchors()).check(follower)


def anchored(core: Core) -> MemoryAnchors:
    anchors = MemoryAnchors()
    checkpoint = core.follower.checkpoint()
    anchors.write(0, {b"": Anchor(checkpoint.count, checkpoint.hash)})
    return anchors


def test_every_flipped_byte_is_found() -> None:
    core = Core(HISTORY).consume(HISTORY.records)
    values = [record.value or b"" for record in ledger(core)]
    for index in range(0, len(values), 3):
        for at in range(0, len(values[index]), 29):
            bent = bytearray(values[index])
            bent[at] ^= 0x40
            put(core, [*values[:index], bytes(bent), *values[index + 1 :]])
            with pytest.raises(LedgerCorrupt):
                refold(core)


@pytest.mark.parametrize("damage", ["drop", "swap", "inject", "foreign"])
def test_dropped_swapped_injected_and_foreign_entries_are_found(damage: str) -> None:
    core = Core(HISTORY).consume(HISTORY.records)
    other = Core(HISTORY, seed=b"other", vault=core.vault).consume(HISTORY.records)
    values = [record.value or b"" for record in ledger(core)]
    stranger = ledger(other)[5].value or b""
    put(
        core,
        {
            "drop": [*values[:4], *values[5:]],
            "swap": [*values[:4], values[5], values[4], *values[6:]],
            "inject": [*values[:4], stranger, *values[4:]],
            "foreign": [*values[:-1], ledger(other)[-1].value or b""],
        }[damage],
    )
    with pytest.raises(LedgerCorrupt):
        refold(core)


def test_a_cut_or_emptied_ledger_is_found_by_its_anchor_and_says_how_much_is_missing() -> None:
    for left in (0, 3):
        core = Core(HISTORY).consume(HISTORY.records)
        anchors = anchored(core)
        values = [record.value or b"" for record in ledger(core)]
        put(core, values[:left])
        with pytest.raises(LedgerCorrupt, match=f"{len(values) - left} entries are missing"):
            refold(core, anchors)


def test_a_wholly_rewritten_chain_is_found_by_its_anchor() -> None:
    core = Core(HISTORY).consume(HISTORY.records)
    anchors = anchored(core)
    values, previous = [], bytes(32)
    for entry in stored(core):
        header = replace(entry.header, previous=previous, recorded_at=entry.header.recorded_at + 1)
        again = make_entry(header, header_bytes(header), entry.sealed)
        previous = again.hash
        values.append(again.stored)
    put(core, values)
    with pytest.raises(LedgerCorrupt):
        refold(core, anchors)


def test_a_chain_whose_recorded_time_stands_still_is_found() -> None:
    """As a writer with the keys and a broken clock would leave it."""
    core = Core(HISTORY).consume(HISTORY.records)
    values: list[bytes] = []
    previous = bytes(32)
    for entry in stored(core):
        (key,) = core.vault.get_many([entry.header.key_id])
        if key is None:
            continue
        body = unseal(key, entry.sealed, entry.header_bytes)
        assert body is not None
        changed = replace(
            entry.header, previous=previous, recorded_at=7, sequence=len(values), follows=2**64 - 1
        )
        head = header_bytes(changed)
        nonce = entry.sealed[:NONCE_BYTES]
        sealed = seal(RecordKey(entry.header.key_id, key, nonce), body, head)
        again = make_entry(changed, head, sealed)
        previous = again.hash
        values.append(again.stored)
    put(core, values)
    with pytest.raises(LedgerCorrupt, match="time"):
        refold(core)


def test_a_body_cannot_be_moved_under_another_header() -> None:
    core = Core(HISTORY).consume(HISTORY.records)
    entries = stored(core)
    last = entries[-1]
    forged = make_entry(last.header, last.header_bytes, entries[0].sealed)
    put(core, [*(entry.stored for entry in entries[:-1]), forged.stored])
    with pytest.raises(LedgerCorrupt, match="body"):
        refold(core)


def test_verify_finds_altered_injected_and_missing_rows() -> None:
    anchors = MemoryAnchors()
    for change in ("alter", "drop", "inject"):
        core = Core(HISTORY).consume(HISTORY.records)
        assert verify_partitions([core.follower], anchors, deep=True).ok
        key, row = next(iter(core.store.scan(b"I")))
        changes: dict[str, dict[bytes, bytes | None]] = {
            "alter": {key: row[:-1] + bytes((row[-1] ^ 1,))},
            "drop": {key: None},
            "inject": {key[:-1] + b"\0": row},
        }
        core.store.write(changes[change])
        found = verify_partitions([core.follower], anchors, deep=True)
        assert not found.ok
        assert found.damage[0].what == "projection"


def test_recorded_time_strictly_increases() -> None:
    core = Core(HISTORY).consume(HISTORY.records)
    times = [entry.header.recorded_at for entry in stored(core)]
    assert times == sorted(set(times))
