"""What a door asks of the application layer, and all that it may ask (ARCHITECTURE "Gateway").

Every method is synchronous and may wait within a bound, so a door calls it from a thread. The
principal is authenticated by the door; roles and scopes are authorised behind this port. Refusals
are `gateway.errors.Refused`, input faults `InvalidEvent`, missing parts `Unavailable` and its kin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from gateway.requests import Filters, RecallQuery, ReleaseQuery
from projections.claims import Claim
from schemas import answers
from schemas.events import Event
from schemas.kinds import Kind
from schemas.principals import Principal
from schemas.scope import Scope


class Application(Protocol):
    """One deployment's calls."""

    def authorising(self, principal: Principal) -> Callable[[tuple[Kind, Event]], None]:
        """What raises `Forbidden` unless the principal may publish an event, for one request."""

    def publish(
        self, principal: Principal, events: Sequence[tuple[Kind, Event]], wait: float
    ) -> list[answers.Receipt]:
        """Publish; one receipt an event, in order. `wait` in seconds, 0 for none."""

    def receipt(
        self, principal: Principal, scope: Scope, event_id: str, kind: Kind | None
    ) -> answers.Receipt:
        """What became of an event; `NotFound`, or `Conflict` where two kinds share the id."""

    def recall(self, principal: Principal, scope: Scope, request: RecallQuery) -> answers.Recall:
        """What bears on a query."""

    def release(self, principal: Principal, scope: Scope, request: ReleaseQuery) -> answers.Release:
        """Whether claims may be said; `Conflict` with code `head_changed`."""

    def verify_release(
        self, principal: Principal, record: dict[str, Any], query: str, claims: tuple[Claim, ...]
    ) -> answers.ReleaseCheck:
        """Whether a release record still stands."""

    def facts(
        self, principal: Principal, scope: Scope, filters: Filters
    ) -> answers.Page[answers.Fact]:
        """Public facts."""

    def history(
        self, principal: Principal, scope: Scope, filters: Filters
    ) -> answers.Page[answers.Fact]:
        """Every period of a key."""

    def conflicts(
        self, principal: Principal, scope: Scope, filters: Filters
    ) -> answers.Page[answers.Conflict]:
        """Conflict sets."""

    def episodes(
        self, principal: Principal, scope: Scope, filters: Filters
    ) -> answers.Page[answers.Episode]:
        """Testimony."""

    def audit_entries(
        self, principal: Principal, scope: Scope, filters: Filters
    ) -> answers.Page[answers.AuditEntry]:
        """Ledger entries; role auditor."""

    def audit_facts(
        self, principal: Principal, scope: Scope, filters: Filters
    ) -> answers.Page[answers.AuditFact]:
        """Assertions of every status; role auditor."""

    def head(self, principal: Principal, scope: Scope) -> answers.Head:
        """Where the scope's memory stands."""

    def ready(self) -> list[str]:
        """Why this process may not be asked, in plain words; empty if it may."""

    def verify(
        self, principal: Principal, deep: bool, against: answers.Checkpoint | None = None
    ) -> answers.Verification:
        """Check the ledger, also against a checkpoint; role operator."""

    def checkpoint(self, principal: Principal) -> answers.Checkpoint:
        """Sign where every partition stands; role operator."""

    def replay(self, principal: Principal) -> dict[str, int]:
        """Rebuild the projections; entries by partition; role operator."""
