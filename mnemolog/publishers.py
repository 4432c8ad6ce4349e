"""Where `publish` and `import` publish to: the memory that is meant, or a broker directly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from schemas import answers

if TYPE_CHECKING:
    from mnemolog.cli.session import Session


class Publisher(Protocol):
    """Publishes events as JSON objects."""

    def publish(self, events: Sequence[dict[str, Any]], wait: float) -> list[answers.Receipt]:
        """Receipts in order."""


@contextmanager
def publisher(asked: Session, kafka: str | None) -> Iterator[Publisher]:
    """A publisher for one call."""
    if kafka is None:
        with asked.door(create=True) as door:
            yield door
        return
    from mnemolog.cluster import broker_publisher

    with broker_publisher(kafka, asked.master()) as direct:
        yield direct
