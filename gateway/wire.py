"""Requests as JSON: the same shapes for HTTP, CLI, Python (INTERFACE "HTTP").

Unknown fields are refused by name; times are RFC 3339 with an offset; a scope must be said whole,
and neither `*` nor an empty or missing component ever widens it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, ValidationError

from gateway.requests import Filters, RecallQuery, ReleaseQuery
from projections.claims import Claim
from schemas.answers import Checkpoint, JsonValue
from schemas.errors import invalid
from schemas.faults import refusal
from schemas.limits import CLAIMS, ID_BYTES, NAME_BYTES, QUERY_BYTES, RESULTS
from schemas.scope import Scope
from schemas.text import check_id, check_text
from schemas.times import parse_instant
from schemas.values import parse_value

Time = Annotated[
    StrictStr, Field(description="RFC 3339 with an offset", examples=["2026-05-01T09:00:00Z"])
]
Limit = Annotated[StrictInt, Field(ge=1, le=RESULTS)]
M = TypeVar("M", bound=BaseModel)


class Body(BaseModel):
    """Base of request bodies."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ScopeBody(Body):
    """(tenant, namespace, subject, branch)."""

    tenant: StrictStr = Field(examples=["acme"])
    namespace: StrictStr = Field(examples=["support"])
    subject: StrictStr = Field(examples=["alice"])
    branch: StrictStr = "main"

    def scope(self) -> Scope:
        """The scope, each component checked."""
        return scope_of(self.tenant, self.namespace, self.subject, self.branch)


def scope_of(tenant: str, namespace: str, subject: str, branch: str, at: str = "scope.") -> Scope:
    """A scope from its components; `InvalidEvent` names the one at fault."""
    for name, value in (
        ("tenant", tenant),
        ("namespace", namespace),
        ("subject", subject),
        ("branch", branch),
    ):
        check_id(value, f"{at}{name}")
    return Scope(tenant, namespace, subject, branch)


class RecallBody(Body):
    """What bears on this?"""

    scope: ScopeBody
    query: StrictStr = Field(examples=["where does alice live?"])
    limit: Limit = 10
    token_budget: Annotated[StrictInt, Field(ge=1)] | None = None
    valid_at: Time | None = None
    recorded_at: Time | None = None
    types: tuple[Literal["fact", "episode", "conflict", "procedure"], ...] = ()
    snapshot: StrictStr | None = None
    after: StrictStr | None = None

    def request(self) -> RecallQuery:
        """The parsed request."""
        return RecallQuery(
            query=_query(self.query),
            limit=self.limit,
            token_budget=self.token_budget,
            valid_at=_instant(self.valid_at, "valid_at"),
            recorded_at=_instant(self.recorded_at, "recorded_at"),
            types=self.types,
            snapshot=self.snapshot,
            after=self.after,
        )


class ClaimBody(Body):
    """Something to be said, and the facts it rests on; `type` as in an assertion."""

    entity: StrictStr = Field(examples=["alice"])
    attribute: StrictStr = Field(examples=["city"])
    value: JsonValue = Field(examples=["Berlin"])
    type: StrictStr | None = None
    facts: tuple[StrictStr, ...] = Field(examples=[["f1"]])

    def claim(self, at: str) -> Claim:
        """The parsed claim."""
        for name in ("entity", "attribute"):
            check_text(getattr(self, name), f"{at}.{name}", NAME_BYTES)
        for fact in self.facts:
            check_text(fact, f"{at}.facts", ID_BYTES)
        value = parse_value(self.value, self.type, f"{at}.value")
        return Claim(self.entity, self.attribute, value, self.facts)


class ReleaseBody(Body):
    """May I say this now?"""

    scope: ScopeBody
    query: StrictStr = Field(examples=["where does alice live?"])
    claims: tuple[ClaimBody, ...]
    valid_at: Time | None = None
    recorded_at: Time | None = None
    snapshot: StrictStr | None = None
    after: StrictStr | None = None

    def request(self) -> ReleaseQuery:
        """The parsed request."""
        return ReleaseQuery(
            query=_query(self.query),
            claims=parse_claims(self.claims),
            valid_at=_instant(self.valid_at, "valid_at"),
            recorded_at=_instant(self.recorded_at, "recorded_at"),
            snapshot=self.snapshot,
            after=self.after,
        )


class VerifyReleaseBody(Body):
    """A record with the claims and the query it should bind."""

    record: dict[str, Any]
    query: StrictStr
    claims: tuple[ClaimBody, ...]


class ScopeParams(Body):
    """A scope as query parameters."""

    tenant: str
    namespace: str
    subject: str
    branch: str = "main"

    def scope(self) -> Scope:
        """The scope, each component checked."""
        return scope_of(self.tenant, self.namespace, self.subject, self.branch, at="")


class VerifyBody(Body):
    """What a ledger is checked against."""

    against: Checkpoint | None = None


class ReceiptParams(ScopeParams):
    """Which event's receipt."""

    kind: str | None = None


class ListParams(ScopeParams):
    """A list's scope and filters as query parameters."""

    entity: str | None = None
    attribute: str | None = None
    valid_at: str | None = Field(default=None, description="RFC 3339, or `any`; default now")
    recorded_at: str | None = None
    snapshot: str | None = None
    after: str | None = None
    limit: int = Field(default=100, ge=1, le=RESULTS)
    cursor: str | None = None

    def filters(self) -> Filters:
        """The parsed filters."""
        for name in ("entity", "attribute"):
            value = getattr(self, name)
            if value is not None:
                check_text(value, name, NAME_BYTES)
        at = self.valid_at
        return Filters(
            entity=self.entity,
            attribute=self.attribute,
            valid_at="any" if at == "any" else _instant(at, "valid_at"),
            recorded_at=_instant(self.recorded_at, "recorded_at"),
            snapshot=self.snapshot,
            after=self.after,
            limit=self.limit,
            cursor=self.cursor,
        )


def parse(shape: type[M], raw: object) -> M:
    """A body from plain JSON data; `InvalidEvent` names the field at fault."""
    try:
        return shape.model_validate(raw)
    except ValidationError as error:
        raise refusal(error, shape.model_fields) from None


def parse_claims(claims: tuple[ClaimBody, ...]) -> tuple[Claim, ...]:
    """Claims, at most as many as the limit."""
    if len(claims) > CLAIMS:
        raise invalid(
            "too_many", "claims", f"{len(claims)} claims", "release them in parts", str(CLAIMS)
        )
    return tuple(claim.claim(f"claims[{n}]") for n, claim in enumerate(claims))


def _query(text: str) -> str:
    check_text(text, "query", QUERY_BYTES, empty=True)
    return text


def _instant(text: str | None, field: str) -> int | None:
    return None if text is None else parse_instant(text, field)
