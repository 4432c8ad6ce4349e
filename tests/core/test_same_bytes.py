"""Same recorded intake, clock and keys: same ledger. Same ledger: same rows (SPEC §3)."""

from __future__ import annotations

import random

import pytest

from projections.kv_memory import MemoryStore
from schemas.errors import LedgerCorrupt
from tests.core.harness import TOPICS, Core, intake
from tests.model.histories import from_seed, interleaving

SEEDS = range(40_000, 40_200)


def ledger(core: Core) -> list[bytes | None]:
    """The stored bytes of every entry."""
    return [record.value for record in core.log.read(TOPICS.ledger, 0, 0, 10_000)]


def rows(store: MemoryStore) -> dict[bytes, bytes]:
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
        at_once = Core(history)
        at_once.admission.admit([intake(record) for record in history.records])
        assert ledger(one_by_one) == ledger(at_once), f"seed {seed}"


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
