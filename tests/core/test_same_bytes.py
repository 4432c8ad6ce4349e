"""Same recorded intake, clock and keys: same ledger. Same ledger: same rows (SPEC §3)."""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace

from projections.kv_memory import MemoryStore
from projections.ports import KeyValueStore
from schemas.bodies import RefusedBody, encode_body
from schemas.entry import header_bytes, make_entry, parse_entry
from schemas.errors import LedgerCorrupt
from schemas.kinds import Kind
from schemas.sealing import SeededKeys, seal
from tests.core.harness import TOPICS, Core, intake
from tests.core.telling import core_told
from tests.model.histories import from_seed, interleaving
from tests.model.saying import claim, observe, quote

SEEDS = range(40_000, 40_200)


def ledger(core: Core) -> list[bytes | None]:
    """The stored bytes of every entry."""
    return [record.value for record in core.log.read(TOPICS.ledger, 0, 0, 10_000)]


def rows(store: KeyValueStore) -> dict[bytes, bytes]:
    """All rows but the keys still to be destroyed."""
    return {key: row for key, row in store.scan(b"") if key[:1] != b"Z"}


def test_the_same_intake_gives_the_same_ledger_bytes() -> None:
    for seed in SEEDS:
        history = from_seed(seed, 12)
        records = interleaving(history.records, random.Random(seed))
        assert ledger(Core(history).consume(records)) == ledger(Core(history).consume(records))


def test_batches_do_not_show_in_the_ledger() -> None:
    for seed in SEEDS:
        history = from_seed(seed, 12)
        one_by_one = Core(history).consume(history.records)
        records = [intake(record) for record in history.records]
        at_once, in_parts = Core(history), Core(history)
        at_once.admission.admit(records)
        cut = random.Random(seed).randrange(len(records) + 1)
        assert in_parts.admission.admit(records[:cut]) == cut
        assert in_parts.admission.admit(records[cut:]) == len(records) - cut
        assert ledger(one_by_one) == ledger(at_once) == ledger(in_parts), f"seed {seed}"


def test_a_rebuild_has_the_same_rows() -> None:
    for seed in SEEDS:
        history = from_seed(seed, 16)
        core = Core(history).consume(interleaving(history.records, random.Random(seed)))
        rebuilt = MemoryStore()
        core.follow(rebuilt).catch_up()
        assert rows(rebuilt) == rows(core.store), f"seed {seed}"


def test_a_rebuild_stops_at_a_key_that_no_entry_explains() -> None:
    history = from_seed(40_001, 16)
    core = Core(history).consume(history.records)
    kept = [key for key, _ in core.vault._store.scan(b"") if len(key) == 16]
    core.vault.erase(kept[:1])
    with pytest.raises(LedgerCorrupt, match="missing_key"):
        core.follow(MemoryStore()).catch_up()


@pytest.mark.parametrize("beaten", [True, False])
def test_only_the_chains_own_follow_up_of_the_same_record_explains_a_missing_key(
    beaten: bool,
) -> None:
    core = core_told(observe("o"), claim("f", [quote("o")]), observe("o2"))
    entries = [parse_entry(record.value) for record in core.log.read(TOPICS.ledger, 0, 0, 100)]
    first, last = entries[0], entries[-1]
    header = replace(
        first.header if beaten else last.header,
        sequence=len(entries) - beaten,
        previous=(entries[-2] if beaten else last).hash,
        recorded_at=last.header.recorded_at + 1,
        follows=0,
    )
    key = SeededKeys(b"forged").draw()
    core.vault.put([(key.key_id, key.key)])
    header = replace(header, key_id=key.key_id)
    head = header_bytes(header)
    body = encode_body(RefusedBody("o", Kind.OBSERVATION, None))
    forged = make_entry(header, head, seal(key, body, head))
    core.log.append(TOPICS.ledger, 0, [(forged.stored, ())])
    core.vault.erase([first.header.key_id])
    with pytest.raises(LedgerCorrupt, match="missing_key"):
        core.follow(MemoryStore()).catch_up()
