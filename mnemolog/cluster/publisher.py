"""Publishing to the broker directly, as the principal `local`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gateway.publishing import parsed_events
from mnemolog.cluster.installation import Installation
from mnemolog.doors import now_micros
from processors import topics_admin
from producers.kafka import Placed
from schemas import answers
from schemas.events import Event
from schemas.kinds import Kind
from schemas.master import MasterKey
from schemas.principals import LOCAL


class BrokerPublisher:
    """Publishes to the intake topics as `local`, without a gateway."""

    def __init__(self, installation: Installation, partitions: int) -> None:
        self._publisher = installation.publisher(LOCAL, partitions)

    def publish(self, events: Sequence[dict[str, Any]], wait: float) -> list[answers.Receipt]:
        """Receipts in order: `received`, or `rejected` for a fault in the event itself."""
        receipts, good = parsed_events(list(events), LOCAL, now_micros)
        published = self._publisher.publish(good)
        given = iter(zip(published, good, strict=True))
        return [_received(*next(given)) if receipt is None else receipt for receipt in receipts]


def _received(place: Placed, event: tuple[Kind, Event]) -> answers.Receipt:
    kind, said = event
    return answers.Receipt(
        event_id=said.envelope.event_id,
        kind=kind.word,
        token=f"{place.kind}:{place.offset}",
        state="received",
        reason=None,
        entry=None,
    )


@contextmanager
def broker_publisher(bootstrap: str, master: MasterKey) -> Iterator[BrokerPublisher]:
    """A publisher for one call."""
    installation = Installation(bootstrap, Path(), master)
    partitions = topics_admin.partition_count(installation.kafka, installation.topics)
    try:
        yield BrokerPublisher(installation, partitions)
    finally:
        installation.kafka.close()
