"""One partition on disk, put together as the embedded runtime does it, with stores to choose."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.floor import Batch, Tape
from benchmarks.run import Run, now_micros
from benchmarks.workload import events, intake
from mnemolog.folding import rows_key
from processors.admission import Admission, Rules
from projections.checked import CheckedStore
from projections.follower import Follower
from projections.kv_rocks import RocksStore
from projections.log_rocks import RocksLog
from projections.ports import KeyValueStore, Log, LogRecord, Vault
from projections.vault import WrappedVault
from schemas.codec import Codec
from schemas.master import MasterKey
from schemas.policy import Policy
from schemas.principals import LOCAL, Registry, built_in, built_in_signer
from schemas.sealing import Hasher, RandomKeys
from schemas.topics import TopicNames

BATCH = 1000
TOPICS = TopicNames()
MASTER = MasterKey(b"bench".ljust(32, b"."))
HASHER = Hasher(MASTER.derive("keyed-hashes"))
REGISTRY = Registry(built_in(MASTER))
RULES = Rules(Policy(), REGISTRY)
SIGNER = built_in_signer(MASTER, LOCAL)

Wrap = Callable[[KeyValueStore], Any]


def workload(run: Run, topics: TopicNames = TOPICS) -> list[LogRecord]:
    """The run's mixed events as intake records."""
    return list(intake(events(run.sizes.events, run.seed), SIGNER, topics))


def batches(records: Sequence[LogRecord]) -> Iterator[Sequence[LogRecord]]:
    """The records in batches."""
    for at in range(0, len(records), BATCH):
        yield records[at : at + BATCH]


def follower(log: Log, store: KeyValueStore, vault: Vault) -> Follower:
    """A follower of partition 0."""
    return Follower(0, log, TOPICS.ledger, store, vault, HASHER)


def admission(follower: Follower, topics: TopicNames = TOPICS) -> Admission:
    """The writer of a follower's partition."""
    return Admission(follower, topics, Codec(), RandomKeys(), now_micros, lambda: RULES)


def bound(store: KeyValueStore) -> CheckedStore:
    """A store whose rows are bound to it, as the product's are."""
    return CheckedStore(store, rows_key(MASTER, 0))


def on_disk(where: Path, state: Wrap = lambda s: s, vault: Wrap = lambda s: s) -> Admission:
    """A fresh partition with log, vault and state in RocksDB, as `Embedded` has them."""
    log = RocksLog(where / "log", 1, lambda: now_micros() // 1000)
    keys = WrappedVault(vault(RocksStore(where / "vault")), MASTER.derive("record-keys"))
    return admission(follower(log, bound(state(RocksStore(where / "state"))), keys))


def close(admission: Admission) -> None:
    """Let a partition's stores go."""
    one = admission.follower
    one.store.close()
    one.vault.close()
    one.log.close()


def admit(admission: Admission, records: Sequence[LogRecord]) -> None:
    """Admit everything, a batch at a time."""
    for batch in batches(records):
        admission.admit(batch)


def taped(admission: Admission, records: Sequence[LogRecord], tapes: Sequence[Tape]) -> list[Batch]:
    """Admit everything, a tape's batch for each batch; which entries each left."""
    one, done = admission.follower, []
    for batch in batches(records):
        start = one.log.end(one.ledger, 0)
        for tape in tapes:
            tape.next_batch()
        admission.admit(batch)
        stored = one.log.read(one.ledger, 0, start, 100 * len(batch))
        done.append(Batch(batch, [record.value or b"" for record in stored]))
    return done
