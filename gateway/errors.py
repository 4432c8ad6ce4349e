"""Refusals of the gateway, one class a status; each carries what to do next (RFC 9457).

Input faults are `schemas.errors.InvalidEvent` (422); missing parts `schemas.errors.Unavailable`
and its kin (503).
"""

from __future__ import annotations

from schemas.errors import MnemologError


class Refused(MnemologError):
    """Base: `code`, `detail`, `remedy`, and the HTTP status that says it."""

    status = 400

    def __init__(self, code: str, detail: str, remedy: str, *, field: str = "", limit: str = ""):
        super().__init__(f"{code}: {detail} ({remedy})")
        self.code = code
        self.detail = detail
        self.remedy = remedy
        self.field = field
        self.limit = limit


class Unauthenticated(Refused):
    """No key, or one that is not known (401)."""

    status = 401


class Forbidden(Refused):
    """Scope or role not granted; the same answer whether the scope exists or not (403)."""

    status = 403


class NotFound(Refused):
    """Nothing of that id in the scope (404)."""

    status = 404


class Conflict(Refused):
    """The state moved, or the question is ambiguous (409)."""

    status = 409


class TooLarge(Refused):
    """Beyond a limit that the answer names (413)."""

    status = 413


class Unprocessable(Refused):
    """A parameter that cannot be used (422)."""

    status = 422


class TooMany(Refused):
    """Try again later (429); `retry_after` in seconds."""

    status = 429

    def __init__(
        self,
        code: str,
        detail: str,
        remedy: str,
        retry_after: int = 1,
        *,
        field: str = "",
        limit: str = "",
    ):
        super().__init__(code, detail, remedy, field=field, limit=limit)
        self.retry_after = retry_after


class LedgerDamaged(Refused):
    """The partition's ledger or store does not verify: nothing is served from it (503)."""

    status = 503
