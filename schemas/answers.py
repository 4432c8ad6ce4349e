"""Answers, as every door gives them: frozen models of the JSON (INTERFACE "Answers").

Names and shapes are the interface's; what is added here beside them is optional to read. Times are
RFC 3339 in UTC with microseconds, as text. A model never holds more than its reader may see: what
is withheld was never put in.
"""

from __future__ import annotations

from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr

Instant = Annotated[
    str,
    Field(
        description="RFC 3339, UTC, microseconds",
        pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z$",
        examples=["2026-05-01T09:00:00.000000Z"],
    ),
]
T = TypeVar("T")
JsonValue = StrictBool | StrictInt | StrictStr
ValueType = Literal["string", "integer", "decimal", "boolean", "instant"]
State = Literal[
    "received",
    "accepted",
    "candidate",
    "evidence_only",
    "awaiting_approval",
    "parked",
    "covered",
    "duplicate",
    "quarantined",
    "rejected",
]
Status = Literal["active", "superseded", "disputed", "candidate", "expired"]
AuditStatus = Literal[
    "active",
    "superseded",
    "disputed",
    "candidate",
    "expired",
    "retracted",
    "deleted",
    "covered",
    "parked",
    "quarantined",
    "rejected",
]
ReleaseReason = Literal[
    "unsupported",
    "deleted",
    "retracted",
    "mismatch",
    "outside_valid_time",
    "not_public",
    "superseded",
    "conflicting",
]


def _absent(value: object) -> bool:
    return value is None


class Answer(BaseModel):
    """Base of all answers: frozen, nothing beyond the declared fields, written by alias."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
    )


class Reason(Answer):
    """Why, where, and what to do next; `field` is empty where no single field is at fault."""

    code: str = Field(examples=["quote_not_found"])
    field: str = Field(examples=["justifications[0].premises[0].quote"])
    detail: str
    remedy: str


class EntryRef(Answer):
    """An entry of the ledger; `scope_sequence` is null if it did not change the scope's memory."""

    scope_sequence: int | None = Field(ge=1, examples=[17])
    hash: str = Field(description="SHA-256 of the entry, hex", examples=["9f" * 32])
    recorded_at: Instant


class Receipt(Answer):
    """What became of one event. `event_id` and `kind` are null if the event did not say them."""

    event_id: str | None = Field(examples=["e1"])
    kind: str | None = Field(examples=["observation"])
    token: str | None = Field(description="opaque; null if nothing was published")
    state: State
    reason: Reason | None
    entry: EntryRef | None


class Receipts(Answer):
    """One receipt per published event, in order."""

    receipts: tuple[Receipt, ...]


class Snapshot(Answer):
    """The state that an answer was given from; `token` asks again at exactly that state.

    `valid_at` is an instant, or `any` where every period was asked for.
    """

    valid_at: Instant | Literal["any"]
    recorded_at: Instant | None = Field(description="null if the whole prefix was read")
    scope_sequence: int = Field(ge=0, examples=[17])
    scope_hash: str = Field(examples=["9f" * 32])
    historical: bool
    token: str


class AssertedBy(Answer):
    """Who is answerable for a fact: the authenticated adapter and, as it says, the actor."""

    adapter: str
    tier: Literal["untrusted", "user", "service", "operator"]
    actor: str
    role: Literal["user", "assistant", "tool", "document", "system"]
    derivation: Literal["direct", "derived", "inferred"]


class Evidence(Answer):
    """Words of an observation that a fact rests on; the span is in bytes of its UTF-8 content.

    `start` and `end` are null where the host keeps the content, so that nothing could be checked.
    """

    observation: str
    quote: str
    start: int | None = Field(ge=0)
    end: int | None = Field(ge=1)
    occurred_at: Instant
    actor: str


class Fact(Answer):
    """An admitted assertion as it stands in the view that was asked."""

    fact_id: str = Field(examples=["f1"])
    entity: str = Field(examples=["alice"])
    attribute: str = Field(examples=["city"])
    value: JsonValue = Field(examples=["Berlin"])
    type: ValueType
    valid_from: Instant
    valid_to: Instant | None = Field(description="exclusive; null if open")
    recorded_at: Instant
    status: Status
    confidence: float = Field(ge=0, le=1)
    asserted_by: AssertedBy
    evidence: tuple[Evidence, ...]
    supersedes: str | None
    superseded_by: str | None = Field(description="a fact id, or `deleted`")


class ContentReference(Answer):
    """Where the host keeps an observation's content."""

    uri: str
    sha256: str
    bytes: int = Field(ge=0)


class Episode(Answer):
    """An admitted observation: testimony, never releasable.

    `content` is null where the host keeps it; `content_ref` then says where.
    """

    event_id: str
    content: str | None
    content_ref: ContentReference | None = None
    media_type: str
    occurred_at: Instant
    recorded_at: Instant
    actor: str
    role: Literal["user", "assistant", "tool", "document", "system"]
    sensitivity: Literal["public", "normal", "personal", "secret"]


class Overlap(Answer):
    """A half-open interval of valid time; an end of null is open."""

    from_: Instant = Field(alias="from")
    to: Instant | None


class Conflict(Answer):
    """Facts of one single-valued key that cannot all be so; none of them is public."""

    conflict_id: str
    entity: str
    attribute: str
    sides: tuple[Fact, ...] = Field(min_length=2)
    overlap: Overlap


class _Result(Answer):
    """What results of every type have."""

    id: str
    score: float
    legs: tuple[str, ...] = Field(description="what found it", examples=[["exact", "lexical"]])
    text: str
    releasable: bool
    complete: bool = Field(description="false if the budget cut its bundle")


class FactResult(_Result):
    """A fact that recall found; `id` is the fact's."""

    type: Literal["fact"] = "fact"
    fact: Fact


class EpisodeResult(_Result):
    """An episode that recall found; `id` is the observation's."""

    type: Literal["episode"] = "episode"
    episode: Episode
    releasable: Literal[False]


class ConflictResult(_Result):
    """A conflict that recall found, all sides in one result; `id` is the conflict's."""

    type: Literal["conflict"] = "conflict"
    conflict: Conflict
    releasable: Literal[False]


RecallResult = Annotated[FactResult | EpisodeResult | ConflictResult, Field(discriminator="type")]


class Budget(Answer):
    """What recall was allowed, and what it used."""

    limit: int = Field(description="results at most")
    token_budget: int | None = Field(description="tokens at most; null for no bound")
    results: int = Field(description="results given")
    tokens: int = Field(description="tokens of the texts given")


class Recall(Answer):
    """What memory holds on a query, best first; conflicts as conflicts."""

    snapshot: Snapshot
    status: Literal["complete", "partial", "insufficient_evidence"]
    results: tuple[RecallResult, ...]
    budget: Budget
    missing: tuple[Reason, ...]
    trace_id: str


class ReleasedClaim(Answer):
    """One claim of a release and, if it is not `ok`, the first reason that applies."""

    entity: str
    attribute: str
    value: JsonValue
    type: ValueType
    facts: tuple[str, ...]
    ok: bool
    reason: ReleaseReason | None


class Release(Answer):
    """Whether all claims may be stated as fact; `record` is opaque, to keep with the claims."""

    snapshot: Snapshot
    decision: Literal["release", "abstain"]
    claims: tuple[ReleasedClaim, ...]
    record: dict[str, Any]


class ReleaseCheck(Answer):
    """Whether a release record still stands."""

    valid: bool
    reason: Literal["bad_mac", "changed", "stale_head", "unknown_version"] | None


class Page(Answer, Generic[T]):
    """One page of a listing at one snapshot; `next_cursor` is null on the last."""

    snapshot: Snapshot
    items: tuple[T, ...]
    next_cursor: str | None


class Head(Answer):
    """Where a scope's memory stands: how many entries changed it, and the hash of the last."""

    scope_sequence: int = Field(ge=0)
    scope_hash: str
    token: str


class AuditEntry(Answer):
    """A ledger entry of the scope, also one that was refused; ids are null once erased."""

    scope_sequence: int | None
    hash: str
    recorded_at: Instant
    kind: str
    decision: str
    reason: str | None
    event_id: str | None
    record_id: str | None
    adapter: str | None
    topic: str
    appended_at: Instant
    policy_version: str
    schema_version: str
    normaliser_version: int


class AuditFact(Answer):
    """An assertion of any status and what caused it; content is null once deleted or covered."""

    fact_id: str | None
    entity: str | None
    attribute: str | None
    value: JsonValue | None
    type: ValueType | None
    valid_from: Instant | None
    valid_to: Instant | None
    recorded_at: Instant
    status: AuditStatus
    cause: Reason | None
    confidence: float | None = Field(ge=0, le=1)
    asserted_by: AssertedBy | None
    evidence: tuple[Evidence, ...]
    supersedes: str | None
    superseded_by: str | None


class PartitionHead(Answer):
    """Where one partition's chain stands: how many entries, and the hash of the last."""

    partition: int = Field(ge=0)
    entries: int = Field(ge=0)
    head: str = Field(pattern="^[0-9a-f]{64}$", examples=["9f" * 32])


class Checkpoint(Answer):
    """Every partition's head at a time, signed: kept elsewhere, it shows what a ledger lost."""

    version: Literal[1]
    log: str = Field(description="the log's identity")
    made_at: Instant
    partitions: tuple[PartitionHead, ...]
    public_key: str = Field(description="Ed25519, hex")
    signature: str = Field(description="Ed25519, hex")


class Finding(Answer):
    """Something `verify` found; `sequence` is null if no single entry shows it."""

    partition: int
    sequence: int | None
    what: str
    detail: str


class Verification(Answer):
    """`ok` iff there is no damage; notices break no promise."""

    ok: bool
    partitions: tuple[PartitionHead, ...]
    damage: tuple[Finding, ...]
    notices: tuple[Finding, ...]


class NewKey(Answer):
    """A new API key, shown this once."""

    name: str
    key: str


class Problem(Answer):
    """An error (RFC 9457); what does not apply is left out."""

    type: str = Field(examples=["urn:mnemolog:problem:missing_field"])
    title: str
    status: int = Field(ge=400, le=599)
    detail: str
    code: str
    field: str | None = Field(default=None, exclude_if=_absent)
    limit: str | None = Field(default=None, exclude_if=_absent)
    remedy: str | None = Field(default=None, exclude_if=_absent)
