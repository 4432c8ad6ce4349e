"""What callers ask, parsed: instants in µs, tokens opaque (INTERFACE "HTTP")."""

from __future__ import annotations

from typing import Literal

import msgspec

from projections.claims import Claim

AnyTime = Literal["any"]


class RecallQuery(msgspec.Struct, frozen=True):
    """`POST /v1/recall`; `types` empty means all, `valid_at` None means now."""

    query: str
    limit: int = 10
    token_budget: int | None = None
    valid_at: int | None = None
    recorded_at: int | None = None
    types: tuple[str, ...] = ()
    snapshot: str | None = None
    after: str | None = None


class ReleaseQuery(msgspec.Struct, frozen=True):
    """`POST /v1/release`."""

    query: str
    claims: tuple[Claim, ...]
    valid_at: int | None = None
    recorded_at: int | None = None
    snapshot: str | None = None
    after: str | None = None


class Filters(msgspec.Struct, frozen=True):
    """The lists' parameters; `valid_at` "any" means public at some instant."""

    entity: str | None = None
    attribute: str | None = None
    valid_at: int | AnyTime | None = None
    recorded_at: int | None = None
    snapshot: str | None = None
    after: str | None = None
    limit: int = 100
    cursor: str | None = None
