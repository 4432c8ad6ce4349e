"""The JSON of an event, field by field, one type a kind (INTERFACE "Events").

What is not `Required` has a default, told in its description; null is taken only where the type has
`None`. These types serve three doors: strict parsing, OpenAPI, and Python's type checker.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Required

from pydantic import ConfigDict, Field, TypeAdapter, with_config
from typing_extensions import TypedDict

from schemas.kinds import Kind
from schemas.limits import INT64_MAX, INT64_MIN, MEMBERS, PREMISES

STRICT = ConfigDict(strict=True, extra="forbid")

Number = Annotated[float, Field(ge=0, le=1)]
Integer = Annotated[int, Field(ge=INT64_MIN, le=INT64_MAX)]
Time = Annotated[str, Field(examples=["2026-05-01T09:00:00Z"], description="RFC 3339, with offset")]
Role = Literal["user", "assistant", "tool", "document", "system"]
Sensitivity = Literal["public", "normal", "personal", "secret"]


@with_config(STRICT)
class ScopeJson(TypedDict, total=False):
    """Where the event belongs; `branch` is `main` by default."""

    tenant: Required[str]
    namespace: Required[str]
    subject: Required[str]
    branch: str


@with_config(STRICT)
class ActorJson(TypedDict):
    """Who did or said it in the world."""

    id: str
    role: Role


class EnvelopeJson(TypedDict, total=False):
    """What events of all kinds carry."""

    scope: Required[ScopeJson]
    event_id: Annotated[str, Field(description="default: a new UUIDv7")]
    occurred_at: Annotated[Time, Field(description="default: the time of publishing")]
    actor: Annotated[ActorJson, Field(description="default: the adapter, with role `system`")]
    purpose: Annotated[str, Field(description="default: `unspecified`")]
    idempotency_key: Annotated[str, Field(description="default: the event id")]


@with_config(STRICT)
class ContentRefJson(TypedDict):
    """Content that the host keeps."""

    uri: str
    sha256: str
    bytes: Integer


@with_config(STRICT)
class ObservationJson(EnvelopeJson, total=False):
    """Something a source said or showed; exactly one of `content` and `content_ref`."""

    kind: Required[Literal["observation"]]
    content: str
    content_ref: ContentRefJson
    media_type: Annotated[str, Field(description="default: `text/plain`")]
    sensitivity: Annotated[Sensitivity, Field(description="default: `normal`")]
    salience: Annotated[Number, Field(description="0 to 1; default: 0.5")]


@with_config(STRICT)
class PremiseJson(TypedDict, total=False):
    """Words of an observation, with their span in bytes unless they occur once, or a fact."""

    observation: str
    quote: str
    start: Integer | None
    end: Integer | None
    fact: str


@with_config(STRICT)
class JustificationJson(TypedDict):
    """Premises that must all hold."""

    premises: Annotated[list[PremiseJson], Field(max_length=PREMISES)]


@with_config(STRICT)
class DerivationJson(TypedDict, total=False):
    """How an assertion came about; method and version are `unspecified` by default."""

    kind: Required[Literal["direct", "derived", "inferred"]]
    method: str
    version: str


@with_config(STRICT)
class AssertionJson(EnvelopeJson, total=False):
    """A proposed fact; `type` says what `value` is."""

    kind: Required[Literal["assertion"]]
    fact_id: Annotated[str, Field(description="default: a new UUIDv7")]
    entity: Required[str]
    attribute: Required[str]
    value: Required[Any]
    type: Annotated[str, Field(description="type of the value; default: `string`")]
    valid_from: Annotated[Time, Field(description="default: `occurred_at`")]
    valid_to: Annotated[Time | None, Field(description="exclusive; default: open")]
    confidence: Annotated[Number, Field(description="0 to 1; default: 1")]
    derivation: Annotated[DerivationJson, Field(description="default: direct")]
    justifications: Required[Annotated[list[JustificationJson], Field(max_length=PREMISES)]]
    supersedes: Annotated[str | None, Field(description="a fact id; default: none")]
    expires_at: Annotated[Time | None, Field(description="default: never")]


@with_config(STRICT)
class RetractionJson(EnvelopeJson, total=False):
    """The fact was never right."""

    kind: Required[Literal["retraction"]]
    fact_id: Required[str]
    reason: str


@with_config(STRICT)
class TargetJson(TypedDict, total=False):
    """What to forget: exactly one of these; `subject` and `scope` are true, never false."""

    observation: str
    fact: str
    subject: bool
    scope: bool


@with_config(STRICT)
class DeletionJson(EnvelopeJson, total=False):
    """Forget an observation, a fact, or the subject or scope that the scope names."""

    kind: Required[Literal["deletion"]]
    target: Required[TargetJson]
    reason: str


@with_config(STRICT)
class WorkingSetJson(EnvelopeJson, total=False):
    """A bounded set of records that a task works with."""

    kind: Required[Literal["workingset"]]
    workingset_id: Required[str]
    task: Required[str]
    members: Annotated[list[str], Field(max_length=MEMBERS)]
    expires_at: Time | None


@with_config(STRICT)
class ControlTargetJson(TypedDict, total=False):
    """What a control acts on: exactly one of these."""

    fact: str
    workingset: str


@with_config(STRICT)
class ControlJson(EnvelopeJson, total=False):
    """What system adapters alone may say."""

    kind: Required[Literal["control"]]
    control: Required[
        Literal[
            "timeout",
            "expiry",
            "approval",
            "branch_fork",
            "branch_invalidation",
            "policy_change",
            "restoration",
        ]
    ]
    target: Required[ControlTargetJson]
    reason: str


@with_config(STRICT)
class NoteJson(EnvelopeJson, total=False):
    """An event of a kind whose rules are not in force yet; `payload` is kept whole."""

    kind: Required[
        Literal[
            "association",
            "procedure",
            "outcome",
            "commitment",
            "appraisal",
            "challenge",
            "grant",
        ]
    ]
    record_id: Required[str]
    payload: Required[dict[str, Any]]


EventJson = Annotated[
    ObservationJson
    | AssertionJson
    | RetractionJson
    | DeletionJson
    | WorkingSetJson
    | ControlJson
    | NoteJson,
    Field(discriminator="kind"),
]

TYPE_OF_KIND: dict[Kind, type[EnvelopeJson]] = {
    Kind.OBSERVATION: ObservationJson,
    Kind.ASSERTION: AssertionJson,
    Kind.RETRACTION: RetractionJson,
    Kind.DELETION: DeletionJson,
    Kind.ASSOCIATION: NoteJson,
    Kind.PROCEDURE: NoteJson,
    Kind.OUTCOME: NoteJson,
    Kind.COMMITMENT: NoteJson,
    Kind.APPRAISAL: NoteJson,
    Kind.CHALLENGE: NoteJson,
    Kind.GRANT: NoteJson,
    Kind.WORKINGSET: WorkingSetJson,
    Kind.CONTROL: ControlJson,
}
VALIDATOR_OF_KIND = {
    kind: TypeAdapter(type_).validator.validate_python for kind, type_ in TYPE_OF_KIND.items()
}
