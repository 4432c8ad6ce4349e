"""A worker on a real broker that is sent bad records, each followed by a good one.

Rule: a bad record is answered in its place by one entry, told on the rejections topic with its
topic, partition, offset and reason, and counted; the record after it is admitted (SPEC §2).
"""

from __future__ import annotations

import json
from itertools import count
from typing import Any, NamedTuple

from prometheus_client import REGISTRY

from schemas.codec import Codec
from schemas.entry import NO_FOLLOW_UP, Entry, parse_entry
from schemas.events import Event
from schemas.kinds import Decision, Kind, Reason
from schemas.principals import LOCAL, built_in_signer
from schemas.scope import Scope, partition_of
from tests.cluster.conftest import PARTITIONS, Cluster, parsed, until

ALICE = partition_of(Scope("acme", "support", "alice"), PARTITIONS)


class Told(NamedTuple):
    """What became of a bad record: its entry, and what the rejections topic says."""

    entry: Entry
    rejection: dict[str, Any]

    @property
    def reason(self) -> Reason:
        """The entry's reason."""
        return Reason(self.entry.header.reason)


class Intake:
    """A cluster with a running worker, and what it made of each record."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._numbers = count()
        cluster.worker(keep_intake=True)  # a test may read what it sent

    def dead_letter(self, raw: bytes | None, kind: Kind = Kind.OBSERVATION) -> Told:
        """Send an unsigned record that is no event; what became of it and of the next one."""
        return self.refused(raw, kind, [], Decision.DEAD_LETTERED)

    def rejected(self, raw: bytes, kind: Kind = Kind.OBSERVATION) -> Told:
        """The same of a signed record that can be read and must be refused."""
        return self.refused(raw, kind, self.signature(raw, kind), Decision.REJECTED)

    def refused(
        self, raw: bytes | None, kind: Kind, headers: list[tuple[str, bytes]], decision: Decision
    ) -> Told:
        """Send a bad record and a good one; both are answered in order, and counted."""
        counted = self.counter(kind, "rejected"), self.counter(Kind.OBSERVATION, "accepted")
        topic = self.cluster.topics.intake[kind]
        offset = self.send(raw, kind, headers)
        good = self.good()
        entry = self.entry(kind, offset)
        assert entry.header.decision == decision
        assert self.entry(Kind.OBSERVATION, good).header.decision == Decision.ACCEPTED
        told = self.rejection(topic, offset)
        assert (told["topic"], told["partition"], told["offset"]) == (topic, ALICE, offset)
        assert told["code"]
        assert told["remedy"]
        until(
            lambda: (self.counter(kind, "rejected"), self.counter(Kind.OBSERVATION, "accepted")),
            lambda now: now == (counted[0] + 1, counted[1] + 1),
        )
        return Told(entry, told)

    def admitted(self, raw: bytes, kind: Kind = Kind.OBSERVATION) -> Entry:
        """Send a signed record that must be accepted; its entry."""
        entry = self.entry(kind, self.send(raw, kind, self.signature(raw, kind)))
        assert entry.header.decision == Decision.ACCEPTED, Reason(entry.header.reason)
        return entry

    def good(self) -> int:
        """Publish the next valid observation; its offset."""
        kind, event = self.event()
        raw = Codec().encode(kind, event)
        return self.send(raw, kind, self.signature(raw, kind))

    def event(self, **changes: object) -> tuple[Kind, Event]:
        """A valid observation with an id of its own."""
        number = next(self._numbers)
        given = {"kind": "observation", "event_id": f"good-{number}", "content": "hello"}
        return parsed(given | changes, LOCAL)

    def send(self, raw: bytes | None, kind: Kind, headers: list[tuple[str, bytes]]) -> int:
        """Produce one record to Alice's partition; its offset."""
        topic = self.cluster.topics.intake[kind]
        record = (None, raw, tuple(headers))
        (sent,) = self.cluster.installation.kafka.send(topic, ALICE, [record])
        return sent.offset

    def signature(self, raw: bytes, kind: Kind) -> list[tuple[str, bytes]]:
        """The headers with which `local` signs a frame."""
        return built_in_signer(self.cluster.master, LOCAL).sign(kind, raw)

    def entry(self, kind: Kind, offset: int) -> Entry:
        """The entry that answers an intake record."""
        found = until(lambda: self.entries().get((kind, offset)), lambda entry: entry is not None)
        assert found is not None
        return found

    def entries(self) -> dict[tuple[Kind, int], Entry]:
        """The first entry of each intake record, by its place."""
        records = self.cluster.records(self.cluster.topics.ledger, ALICE)
        entries = (parse_entry(record.value) for record in records)
        return {
            (Kind(entry.header.topic), entry.header.offset): entry
            for entry in entries
            if entry.header.follows == NO_FOLLOW_UP
        }

    def rejection(self, topic: str, offset: int) -> dict[str, Any]:
        """What the rejections topic says of an intake record."""

        def told() -> list[dict[str, Any]]:
            records = self.cluster.records(self.cluster.topics.rejections, ALICE)
            said = (json.loads(record.value or b"") for record in records)
            return [one for one in said if (one["topic"], one["offset"]) == (topic, offset)]

        (found,) = until(told, lambda found: len(found) > 0)
        return found

    def counter(self, kind: Kind, state: str) -> float:
        """The worker's metric."""
        labels = {"kind": kind.word, "state": state}
        return REGISTRY.get_sample_value("mnemolog_admitted_total", labels) or 0.0
