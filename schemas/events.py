"""Typed events, one frozen struct a kind (SPEC §2); times in µs, spans in bytes of UTF-8.

These are what the codec yields and what `decide` reads. Shapes are as in INTERFACE "Events";
`filled` names the fields that a receiver filled in, which therefore are not the caller's content.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from schemas.kinds import Kind
from schemas.scope import Scope


class Actor(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Who did or said it in the world; role is one of `kinds.ACTOR_ROLES`."""

    id: str
    role: str


class ContentRef(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Content that the host keeps: where, its SHA-256 in hex, its size in bytes."""

    uri: str
    sha256: str
    bytes: int


class Value(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A typed value; `text` is canonical: decimal digits, `true`/`false`, or µs of an instant."""

    type: str
    text: str


class Premise(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A quote of an observation (span optional) or a fact id; exactly one source is set."""

    observation: str | None = None
    quote: str | None = None
    start: int | None = None
    end: int | None = None
    fact: str | None = None


class Derivation(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """How an assertion came about; kind is one of `kinds.DERIVATIONS`."""

    kind: str
    method: str
    version: str


class Envelope(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What every event carries."""

    event_id: str
    scope: Scope
    adapter: str
    actor: Actor
    purpose: str
    occurred_at: int
    idempotency_key: str
    filled: tuple[str, ...]


class Observation(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Something a source said or showed: an event, not a fact."""

    envelope: Envelope
    content: str | None
    content_ref: ContentRef | None
    media_type: str
    sensitivity: str
    salience: float


class Assertion(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A proposed fact with its justifications (each a tuple of premises that must all hold)."""

    envelope: Envelope
    fact_id: str
    entity: str
    attribute: str
    value: Value
    valid_from: int
    valid_to: int | None
    confidence: float
    derivation: Derivation
    justifications: tuple[tuple[Premise, ...], ...]
    supersedes: str | None
    expires_at: int | None


class Retraction(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """ "This was never right"; targets a fact."""

    envelope: Envelope
    fact_id: str
    reason: str


class Deletion(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Forget an observation, a fact, a subject or a scope; target is one of `kinds.TARGETS`."""

    envelope: Envelope
    target: str
    target_id: str | None
    reason: str


class WorkingSet(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A bounded set of records that a task works with, closed by clock at `expires_at`."""

    envelope: Envelope
    workingset_id: str
    task: str
    members: tuple[str, ...]
    expires_at: int | None


class Control(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What only system adapters say; `control` is one of `kinds.CONTROLS`.

    `target_kind` is `fact` or `workingset`, `target_id` its id.
    """

    envelope: Envelope
    control: str
    target_kind: str
    target_id: str
    reason: str


class Note(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An event of a kind whose rules are not in force yet: kept whole as canonical JSON."""

    envelope: Envelope
    record_id: str
    payload: str


Event = Observation | Assertion | Retraction | Deletion | WorkingSet | Control | Note

TYPE_OF_KIND: dict[Kind, type[Event]] = {
    Kind.OBSERVATION: Observation,
    Kind.ASSERTION: Assertion,
    Kind.RETRACTION: Retraction,
    Kind.DELETION: Deletion,
    Kind.ASSOCIATION: Note,
    Kind.PROCEDURE: Note,
    Kind.OUTCOME: Note,
    Kind.COMMITMENT: Note,
    Kind.APPRAISAL: Note,
    Kind.CHALLENGE: Note,
    Kind.GRANT: Note,
    Kind.WORKINGSET: WorkingSet,
    Kind.CONTROL: Control,
}


def is_barrier(event: Event) -> bool:
    """Whether an event deletes a subject or a scope: what was appended until then is covered."""
    return isinstance(event, Deletion) and event.target in ("subject", "scope")


def runs_between_barriers(
    events: Sequence[tuple[Kind, Event]],
) -> Iterator[list[tuple[Kind, Event]]]:
    """The events in order, each barrier alone: a log appends within a run in any order."""
    run: list[tuple[Kind, Event]] = []
    for kind, event in events:
        if is_barrier(event):
            if run:
                yield run
            yield [(kind, event)]
            run = []
        else:
            run.append((kind, event))
    if run:
        yield run
