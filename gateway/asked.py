"""One question under one state: scope, instants, horizon, snapshot (SPEC §5, INTERFACE "Snapshot").

τq absent is the whole prefix, with no clock involved. A snapshot token pins the evidence; later
deletions and retractions still apply, since the marks come from the current head (I4).
"""

from __future__ import annotations

import msgspec

from gateway.tokens import SnapshotPoint, Tokens
from projections.rows import HeadRow, SubjectRow
from projections.state import Reader
from projections.support import Horizon, audit_horizon, public_horizon
from schemas import answers
from schemas.errors import StoreDamaged
from schemas.policy import Policy
from schemas.times import format_instant


class ScopeHead(msgspec.Struct, frozen=True):
    """Count and hash of the last entry that changed a scope, and its τ (0: none yet)."""

    count: int
    hash: bytes
    recorded_at: int
    documents: int


def scope_head(reader: Reader, scope16: bytes, subject16: bytes) -> ScopeHead:
    """A scope's head: its own entries and its subject's barriers, whichever came last."""
    head: HeadRow = reader.head(scope16)
    if not head.count and reader.document(scope16, 0) is not None:
        raise StoreDamaged(f"head of scope {scope16.hex()}")
    subject: SubjectRow = reader.subject(subject16)
    count = head.count + len(subject.barriers)
    if subject.sequence > head.sequence:
        recorded_at = subject.barriers[-1].recorded_at
        return ScopeHead(count, subject.hash, recorded_at, head.documents)
    return ScopeHead(count, head.hash, head.recorded_at, head.documents)


class Asked(msgspec.Struct, frozen=True):
    """A question's frame; `valid_at` None stands for every instant."""

    partition: int
    scope: bytes
    subject: bytes
    valid_at: int | None
    recorded_at: int | None
    horizon: Horizon
    policy: Policy
    head: ScopeHead

    @property
    def historical(self) -> bool:
        """Whether evidence of the present is left out."""
        return self.recorded_at is not None

    def snapshot(self, tokens: Tokens) -> answers.Snapshot:
        """What the answer says of the state it was given from."""
        pinned = self.head.recorded_at if self.recorded_at is None else self.recorded_at
        point = SnapshotPoint(self.partition, self.scope, pinned, self.valid_at)
        return answers.Snapshot(
            valid_at="any" if self.valid_at is None else format_instant(self.valid_at),
            recorded_at=None if self.recorded_at is None else format_instant(self.recorded_at),
            scope_sequence=self.head.count,
            scope_hash=self.head.hash.hex(),
            historical=self.historical,
            token=tokens.seal(point),
        )


def ask(
    reader: Reader,
    partition: int,
    scope16: bytes,
    subject16: bytes,
    policy: Policy,
    valid_at: int | None,
    recorded_at: int | None,
    *,
    audit: bool = False,
) -> Asked:
    """Frame a question; a `recorded_at` not before the scope's head is the whole prefix."""
    head = scope_head(reader, scope16, subject16)
    pinned = recorded_at is not None and recorded_at < head.recorded_at
    evidence = recorded_at if pinned else None
    horizon = (audit_horizon if audit else public_horizon)(reader, subject16, evidence)
    return Asked(partition, scope16, subject16, valid_at, evidence, horizon, policy, head)
