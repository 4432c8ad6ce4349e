"""The cluster's anchors: MACed heads in the compacted `anchors` topic (port `Anchors`; SPEC §3).

A record's key is the scope hash (empty for the partition's own head), its value the count (8 bytes
big-endian), the hash (32) and a MAC over (log identity, partition, scope, count, hash). Where a
beaten worker wrote late, the head with the most entries counts.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping

from projections.kafka_io import Kafka
from projections.kafka_log import KafkaLog
from projections.ports import Anchor
from schemas.errors import LedgerCorrupt

_OWN = b"\0partition"


class KafkaAnchors:
    """Anchors of one cluster; `key` is 32 bytes derived from the master secret."""

    exclusive = False

    def __init__(self, kafka: Kafka, log: KafkaLog, topic: str, key: bytes) -> None:
        self._kafka = kafka
        self._log = log
        self._topic = topic
        self._key = key

    def read(self, partition: int, scope: bytes = b"") -> Anchor | None:
        """The last anchor written, or None."""
        return self.all(partition).get(scope)

    def all(self, partition: int) -> dict[bytes, Anchor]:
        """Every anchor of a partition by scope, read from the topic."""
        found: dict[bytes, Anchor] = {}
        at = self._log.start(self._topic, partition)
        while records := self._log.read(self._topic, partition, at, 1000):
            for record in records:
                scope, value = b"" if record.key == _OWN else record.key, record.value
                if value is None:
                    found.pop(scope, None)
                    continue
                anchor = Anchor(int.from_bytes(value[:8], "big"), value[8:40])
                if not hmac.compare_digest(value[40:], self._mac(partition, scope, anchor)):
                    raise LedgerCorrupt(
                        partition,
                        anchor.entries,
                        "anchor",
                        f"record {record.offset} of {self._topic} is not authentic",
                    )
                if scope not in found or found[scope].entries <= anchor.entries:
                    found[scope] = anchor
            at = records[-1].offset + 1
        return found

    def write(self, partition: int, heads: Mapping[bytes, Anchor]) -> None:
        """Publish the given heads."""
        records = [
            (
                scope or _OWN,
                anchor.entries.to_bytes(8, "big")
                + anchor.hash
                + self._mac(partition, scope, anchor),
                (),
            )
            for scope, anchor in heads.items()
        ]
        self._kafka.send(self._topic, partition, records)

    def forget(self, partition: int) -> None:
        """Publish that the heads are gone."""
        gone = [(scope or _OWN, None, ()) for scope in self.all(partition)]
        self._kafka.send(self._topic, partition, gone)

    def close(self) -> None:
        """Nothing to let go."""

    def _mac(self, partition: int, scope: bytes, anchor: Anchor) -> bytes:
        parts = (
            self._log.identity().encode(),
            partition.to_bytes(4, "big"),
            scope,
            anchor.entries.to_bytes(8, "big"),
            anchor.hash,
        )
        data = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
        return hmac.digest(self._key, b"anchor" + data, "sha256")
