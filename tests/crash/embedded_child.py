"""The embedded runtime in a process that dies where it is told, and goes on where the log stands.

Wired by its composition root; only the ports it makes are fitted with a fuse. Clock and keys are
seeded: an event's append time is its number in seconds, recorded time counts entries, and the n-th
entry has the n-th key, so a run that dies and goes on leaves the same bytes as one that does not.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from mnemolog import embedded, folding
from mnemolog.data_directory import DataDirectory
from mnemolog.embedded import Embedded
from projections.ports import LogRecord
from schemas.entry import Entry, parse_entry
from schemas.kinds import Decision, Kind
from schemas.master import MasterKey
from schemas.principals import Registry
from schemas.sealing import SeededKeys
from schemas.topics import TopicNames
from tests.core.harness import START
from tests.crash.feed import Feed, callers, unanswered
from tests.crash.fuse import Fuse, fused

TOPICS = TopicNames()
EACH = 7  # events between two turns of admission
POINTS = tuple(
    f"{what}.{when}"
    for what in ("publish", "keys", "append", "reject", "commit", "erase", "anchor")
    for when in ("before", "after")
)
READS = ("intake.after", "read-back.after")
OPENINGS = ("open-log.after", "open-vault.after", "open-store.after", "open-anchors.after")
DROPS = ("truncate.before", "truncate.after")
REBUILDS = ("rebuild.before", "rebuild.after", "swap.before", "swap.after")


class Plan(NamedTuple):
    """A run: what is published, where it dies, whether it ends with two rebuilds.

    The last `again` events that the log has are published once more.
    """

    feed: tuple[int, int, int]
    point: str
    n: int
    rebuild: bool
    keep_intake: bool
    again: int


class Clock:
    """Stands at an event while that is published; otherwise before everything."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        if self.now:
            self.now += 1000
        return self.now


class Told(Embedded):
    """The runtime with the model's adapters as principals."""

    def registry(self) -> Registry:
        return callers(self.master)

    def __init__(self, directory: DataDirectory, master: MasterKey, **options: Any) -> None:
        self.master = master
        super().__init__(directory, master, **options)


def fit(fuse: Fuse, directory: DataDirectory, opened: Callable[[Any], None]) -> None:
    """Fit what the composition root makes, in this process, with points; `opened` has the log."""

    def topic(intake: str | None, ledger: str, rejections: str | None) -> Any:
        names = {TOPICS.ledger: ledger, TOPICS.rejections: rejections}
        return lambda asked, *_: names.get(asked, intake)

    def of_log(log: Any, _: Path | None) -> None:
        opened(log)
        fuse.guard(log, "append_all", "publish")
        fuse.guard(log, "append", topic(None, "append", "reject"))
        fuse.guard(log, "read", topic("intake", "read-back", None))
        fuse.guard(log, "truncate", "truncate")

    def of_vault(vault: Any, _: Path | None) -> None:
        fuse.guard(vault, "put", "keys")
        fuse.guard(vault, "erase", "erase")

    def of_store(store: Any, path: Path | None) -> None:
        assert path is not None
        used = path.parent == directory.generation()
        fuse.guard(store, "write", "commit" if used else "rebuild")

    def of_anchors(anchors: Any, _: Path | None) -> None:
        fuse.guard(anchors, "write", "anchor")

    roots: tuple[tuple[Any, str, str, Any], ...] = (
        (embedded, "RocksLog", "log", of_log),
        (embedded, "RocksVault", "vault", of_vault),
        (folding, "RocksStore", "store", of_store),
        (embedded, "FileAnchors", "anchors", of_anchors),
    )
    for root, name, part, fitted in roots:
        fuse.guard(root, name, f"open-{part}")
        setattr(root, name, fused(getattr(root, name), fitted))
    directory.generation()
    fuse.guard(directory, "use_generation", "swap")


def main(data: Path, state_home: Path, plan: Plan) -> None:
    """Publish what the log does not have yet, admit, rebuild; `report.json` beside the data."""
    env = {"XDG_STATE_HOME": str(state_home)}
    directory, master = DataDirectory(data, env), MasterKey.load(data, env)
    fuse, keys, clock, feed = Fuse(plan.point, plan.n), SeededKeys(b"crash"), Clock(), plan.feed

    def opened(log: Any) -> None:
        keys.drawn = log.end(TOPICS.ledger, 0)

    fit(fuse, directory, opened)
    runtime = Told(
        directory,
        master,
        clock=clock,
        key_source=keys,
        keep_intake=plan.keep_intake,
        start=False,
    )
    told = Feed(*feed)
    _admit(runtime)
    there = _published(runtime)
    for number, said in [*enumerate(told.said)][max(there - plan.again, 0) :]:
        clock.now = START + max(number, there) * 1_000_000 + (number < there) * 500_000
        runtime.publish([(said.kind, said.event)])
        clock.now = 0
        if number % EACH == EACH - 1:
            _admit(runtime)
            runtime._anchor()
    _admit(runtime)
    runtime._anchor()
    before = {"rows before": _rows(runtime), "keys before": _keys(runtime)}
    for _ in range(2 * plan.rebuild):
        runtime.replay()
    report = _report(runtime, told) | before | {"passed": dict(fuse.passed)}
    (data.parent / "report.json").write_text(json.dumps(report))
    runtime.close()


def _admit(runtime: Embedded) -> None:
    while runtime.admit_once():
        pass


def _published(runtime: Embedded) -> int:
    return sum(runtime.log.end(topic, 0) for topic in TOPICS.intake.values())


def _report(runtime: Embedded, told: Feed) -> dict[str, Any]:
    """What stands there in the end, in forms that can be compared."""
    (follower,) = [part.follower for part in runtime._parts]
    found = runtime.verify(deep=True)
    places = [
        (kind, offset)
        for kind, topic in TOPICS.intake.items()
        for offset in range(runtime.log.end(topic, 0))
    ]
    entries = [parse_entry(record.value) for record in _all(runtime, TOPICS.ledger)]
    intake = [record for topic in TOPICS.intake.values() for record in _all(runtime, topic)]
    return {
        "verification": [found.ok, [finding.detail for finding in found.damage]],
        "answers": told.differences(intake, TOPICS, [follower]) if intake else [],
        "unanswered": unanswered(entries, places),
        "untold": _untold(runtime, entries),
        "ledger": _digest([entry.stored for entry in entries]),
        "rows": _rows(runtime),
        "keys": _keys(runtime),
        "intake": len(intake),
        "generations": len([path for path in _state(runtime).iterdir() if path.is_dir()]),
    }


def _all(runtime: Embedded, topic: str) -> list[LogRecord]:
    return runtime.log.read(topic, 0, runtime.log.start(topic, 0), 100_000)


def _untold(runtime: Embedded, entries: list[Entry]) -> list[str]:
    """Refused records of which the rejections topic says nothing."""
    told = [json.loads(record.value or b"") for record in _all(runtime, TOPICS.rejections)]
    places = {(one["topic"], one["offset"]) for one in told}
    refused = {
        (TOPICS.intake[Kind(entry.header.topic)], entry.header.offset)
        for entry in entries
        if entry.header.decision in (Decision.REJECTED, Decision.DEAD_LETTERED)
    }
    return sorted(f"{topic} {offset}" for topic, offset in refused - places)


def _rows(runtime: Embedded) -> str:
    (part,) = runtime._parts
    return _digest([data for row in part.follower.store.scan(b"") for data in row])


def _keys(runtime: Embedded) -> str:
    vault: Any = runtime.vault
    return _digest(sorted(key for key, _ in vault._store.scan(b"")))


def _state(runtime: Embedded) -> Path:
    return runtime._directory.path / "state"


def _digest(parts: list[bytes | None] | list[bytes]) -> str:
    return hashlib.sha256(
        b"".join(hashlib.sha256(part or b"").digest() for part in parts)
    ).hexdigest()
