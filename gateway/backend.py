"""What the gateway stands on: a view of each partition and a way to publish.

The embedded runtime and the cluster each have one; the application layer above is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from projections.rows import ReceiptRow
from projections.state import Reader
from schemas.answers import Checkpoint, PartitionHead, Verification
from schemas.bodies import Body
from schemas.entry import Entry
from schemas.events import Event
from schemas.kinds import Kind
from schemas.policy import Policy
from schemas.principals import Registry
from schemas.sealing import Hasher


class Published(NamedTuple):
    """Where an event stands in the intake."""

    partition: int
    kind: Kind
    offset: int


class Reach(NamedTuple):
    """What a view must have folded: the ledger up to an offset, intake topics up to offsets."""

    ledger: int
    intake: Mapping[Kind, int]


class Backend(Protocol):
    """One deployment. All waits are bounded; running out raises `ViewBehind`."""

    partitions: int
    hasher: Hasher

    def policy(self) -> Policy:
        """The policy in force."""

    def registry(self) -> Registry:
        """The principals as they are now."""

    def publish(self, events: Sequence[tuple[Kind, Event]]) -> list[Published]:
        """Append to the intake; durable when it returns. Raises `TooMany` or `Unavailable`."""

    def reading(self, partition: int) -> AbstractContextManager[Reader]:
        """A consistent view of a partition; raises `LedgerDamaged` or `Unavailable`."""

    def ends(self, partition: int, *kinds: Kind) -> Reach:
        """The log's own ends: of the ledger, and of the given intake topics."""

    def reach(self, partition: int, goal: Reach, timeout: float) -> None:
        """Wait until the view has folded that much; `ViewBehind` naming the part otherwise."""

    def outcome(self, published: Published) -> ReceiptRow | None:
        """The receipt of a recently decided event, by its place in the intake."""

    def entries(self, partition: int) -> Iterator[tuple[Entry, Body | None]]:
        """The folded part of the ledger in order; a body is None once it was erased."""

    def problems(self) -> list[str]:
        """Why this process is not ready, in plain words; empty if it is."""

    def verify(self, deep: bool, against: Checkpoint | None = None) -> Verification:
        """Check the ledger, also against a checkpoint that is known to be authentic."""

    def heads(self) -> tuple[str, list[PartitionHead]]:
        """The log's identity and every partition's head; `LedgerDamaged` if one is not well."""

    def keep(self, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint where the deployment has a place for it outside the ledger."""

    def replay(self) -> dict[str, int]:
        """Rebuild the projections from the ledger; entries by partition."""
