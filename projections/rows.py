"""The rows of a partition's store: frozen structs, msgpack at rest, one type per key prefix.

Rows only ever gain marks: nothing that a later as-of question needs is overwritten, so one row
answers for every instant on both axes. τ is recorded time in µs, `append` an intake append time in
ms. Hashes are the header's keyed hashes.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from schemas.bodies import Witnesses
from schemas.errors import Fault
from schemas.events import Assertion, Observation, WorkingSet


class Checkpoint(msgspec.Struct, array_like=True, gc=False):
    """How far the fold has come: head, next log offset, next intake offset per Kind number.

    The one row that is changed in place: an overlay has its own.
    """

    identity: str
    count: int
    hash: bytes
    recorded_at: int
    next_offset: int
    positions: list[int]
    ignored: int


class EntryRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Where an entry stands in the log, and its hash."""

    offset: int
    hash: bytes


class Barrier(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A subject or scope deletion: what was appended up to `cutoff_ms` is covered."""

    recorded_at: int
    cutoff_ms: int
    blocks: bool


class SubjectRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A subject's barriers, and the part of its branches' heads that they make up."""

    barriers: tuple[Barrier, ...]
    sequence: int
    hash: bytes


class HeadRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A scope's own head: entries that changed it, the last one's sequence and hash; documents."""

    count: int
    sequence: int
    hash: bytes
    recorded_at: int
    documents: int


class Used(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An idempotency key's first use: content hash and the receipt's event hash."""

    content: bytes
    event: bytes


class ReceiptRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What became of an event: its last entry, decision, fault, and its place in the intake."""

    event_id: str
    kind: int
    decision: int
    reason: int
    fault: Fault | None
    sequence: int
    hash: bytes
    recorded_at: int
    scope_sequence: int | None
    topic: int
    partition: int
    offset: int


class Mark(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A retraction or deletion in force on a record."""

    recorded_at: int
    append: int


class ObservationRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An owned observation id. `event` is None where the content was never kept.

    `hiders` are facts that may hide the episode (quarantined or retracted ones that cite it);
    `quote_key` digests quotes of it.
    """

    sequence: int
    recorded_at: int
    append: int
    adapter: bytes
    tier: int
    hash: bytes
    key_id: bytes
    quote_key: bytes
    event: Observation | None
    risks: tuple[str, ...]
    deletions: tuple[Mark, ...]
    hiders: tuple[bytes, ...]
    ordinal: int


class FactRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An owned fact id, whatever became of it.

    `recorded_at` is the τ of its first entry, `decision`/`reason` are those of its last one;
    `decided_at` is the τ at which it was first more than parked (0: not yet); `sources` are the
    hashes of what it cites, one a premise in order, also after `witnesses` are gone.
    """

    sequence: int
    recorded_at: int
    decided_at: int
    append: int
    partition: int
    offset: int
    decision: int
    reason: int
    flags: int
    tier: int
    adapter: bytes
    subject: bytes
    key_id: bytes
    event: Assertion | None
    witnesses: Witnesses
    risks: tuple[str, ...]
    sources: tuple[bytes, ...]
    supersedes: bytes
    entity_attribute: bytes
    idempotency: bytes
    content: bytes
    retractions: tuple[Mark, ...]
    deletions: tuple[Mark, ...]
    timed_out: int
    expired: int
    ordinal: int
    hash: bytes


class Waiting(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A retraction or deletion whose target has not come; `event` is its receipt's hash."""

    deletion: bool
    adapter: bytes
    tier: int
    by_operator: bool
    append: int
    recorded_at: int
    event: bytes


class Links(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What hangs on one record, come or not: what waits for it, and the facts that cite it.

    In order of admission. `facts` are the latest; those before fill `chunks` rows of `FactList`.
    """

    waiting: tuple[Waiting, ...]
    facts: tuple[bytes, ...]
    chunks: int


class FactList(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A full stretch of the facts (hashes) that cite one record."""

    facts: tuple[bytes, ...]


class Document(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A record that is searched: an observation (`fact` False) or a fact; its row has the text."""

    fact: bool
    record: bytes


class Present(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An index entry without content of its own (`since` is a τ in µs)."""

    since: int


class GroupSize(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """How many facts one (entity, attribute) has."""

    facts: int


class WorkingSetRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A working set, open until its expiry is recorded (`expired` τ, 0: open)."""

    recorded_at: int
    event: WorkingSet
    expired: int


Row = (
    Checkpoint
    | EntryRow
    | SubjectRow
    | HeadRow
    | Used
    | ReceiptRow
    | ObservationRow
    | FactRow
    | Links
    | FactList
    | Document
    | Present
    | GroupSize
    | WorkingSetRow
)

ROW_OF_PREFIX: dict[int, type[Row]] = {
    ord("M"): Checkpoint,
    ord("E"): EntryRow,
    ord("B"): Present,
    ord("S"): SubjectRow,
    ord("H"): HeadRow,
    ord("K"): Used,
    ord("R"): ReceiptRow,
    ord("I"): ObservationRow,
    ord("F"): FactRow,
    ord("D"): Document,
    ord("W"): Links,
    ord("C"): FactList,
    ord("G"): Present,
    ord("Y"): GroupSize,
    ord("P"): Present,
    ord("X"): Present,
    ord("N"): WorkingSetRow,
    ord("Z"): Present,
}
_decoders = {prefix: msgspec.msgpack.Decoder(cls) for prefix, cls in ROW_OF_PREFIX.items()}


encode_row: Callable[[Row], bytes] = msgspec.msgpack.Encoder().encode


def decode_row(key: bytes, data: bytes) -> Row:
    """The row stored under a key."""
    row: Row = _decoders[key[0]].decode(data)
    return row
