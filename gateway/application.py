"""The application layer: authorise, wait, answer. CLI, HTTP and Python all stand on it.

Access is decided before anything is read. A wait is bounded and ends in `ViewBehind`, never in a
stale answer. Rules live in `processors` and `projections`; here is only who may ask, and when.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

import msgspec

from gateway import listing, paging
from gateway.asked import Asked, ask
from gateway.audit import audit_entries
from gateway.backend import Backend, Published, Reach
from gateway.errors import Conflict, Forbidden, NotFound, Unprocessable
from gateway.paging import Item, SortKey, Turn
from gateway.recall import recall
from gateway.release import Gate
from gateway.render import receipt_answer
from gateway.requests import Filters, RecallQuery, ReleaseQuery
from gateway.tokens import Cursor, Position, SnapshotPoint, Tokens
from gateway.views import CAPACITY, Views
from projections.claims import Claim
from projections.rows import ReceiptRow
from projections.state import NOT_BEFORE_EVERYTHING, Reader
from schemas import answers
from schemas.checkpoints import CheckpointKey
from schemas.errors import ViewBehind
from schemas.events import Event, is_barrier
from schemas.kinds import Kind, Role
from schemas.master import MasterKey
from schemas.principals import Principal
from schemas.scope import Scope, partition_of
from schemas.sealing import Hasher

WAIT = 5.0
Lister = Callable[[Turn, Asked, SortKey], Iterable[Item]]
P = TypeVar("P", bound=answers.Page[Any])


class Application:
    """Everything a door may offer, for authenticated principals; safe for many threads."""

    def __init__(
        self,
        backend: Backend,
        master: MasterKey,
        clock: Callable[[], int],
        wait: float = WAIT,
        views: int = CAPACITY,
    ) -> None:
        """`wait`: seconds for a view to catch up; `views`: bytes of views that are kept."""
        self._backend = backend
        self._hasher: Hasher = backend.hasher
        self._clock = clock
        self._wait = wait
        self.tokens = Tokens(master.derive("tokens", 64))
        self._views = Views(views)
        self._checkpoints = CheckpointKey(master)
        self._gate = Gate(backend, self.tokens, master.derive("release-records"))

    # Writing

    def publish(
        self, principal: Principal, events: Sequence[tuple[Kind, Event]], wait: float
    ) -> list[answers.Receipt]:
        """Publish in order; with `wait` (seconds), the receipts of those decided in that time."""
        allow = self.authorising(principal)
        for said in events:
            allow(said)
        published = self._backend.publish(events)
        deadline = time.monotonic() + wait
        receipts = []
        for place, (kind, event) in zip(published, events, strict=True):
            row = self._decided(place, deadline) if wait > 0 else None
            receipts.append(self._receipt(place, event, kind, row))
        return receipts

    def authorising(self, principal: Principal) -> Callable[[tuple[Kind, Event]], None]:
        """See `gateway.ports.Application`; it asks one state of the registry."""
        registry = self._backend.registry()

        def allow(said: tuple[Kind, Event]) -> None:
            kind, event = said
            if kind is Kind.CONTROL and not principal.system:
                raise Forbidden(
                    "role_required",
                    "controls are published by system adapters only",
                    "leave them to the agents",
                )
            role = Role.OPERATOR if is_barrier(event) else Role.WRITER
            if not registry.may(principal, role, event.envelope.scope):
                raise _not_granted()

        return allow

    def _decided(self, place: Published, deadline: float) -> ReceiptRow | None:
        left = deadline - time.monotonic()
        goal = Reach(0, {place.kind: place.offset + 1})
        try:
            self._backend.reach(place.partition, goal, max(left, 0.0))
        except ViewBehind:
            return None
        return self._backend.outcome(place)

    def _receipt(
        self, place: Published, event: Event, kind: Kind, row: ReceiptRow | None
    ) -> answers.Receipt:
        if row is not None:
            return receipt_answer(row, self._position(row))
        position = Position(place.partition, place.kind, place.offset)
        return answers.Receipt(
            event_id=event.envelope.event_id,
            kind=kind.word,
            token=self.tokens.seal(position),
            state="received",
            reason=None,
            entry=None,
        )

    def _position(self, row: ReceiptRow) -> str:
        return self.tokens.seal(Position(row.partition, row.kind, row.offset))

    def receipt(
        self, principal: Principal, scope: Scope, event_id: str, kind: Kind | None
    ) -> answers.Receipt:
        """What became of an event, by its id; `Conflict` naming `kind` if two kinds share it."""
        self._require_any(principal, (Role.WRITER, Role.READER, Role.AUDITOR), scope)
        scope16 = self._hasher.scope(scope)
        with self._backend.reading(self._partition(scope)) as reader:
            rows = [
                row
                for each in ([kind] if kind else Kind)
                if (row := reader.receipt(self._hasher.event(scope16, each, event_id)))
            ]
        if not rows:
            raise NotFound(
                "unknown_event",
                "no event of this id has been decided in this scope",
                "check the id and scope; a just published event takes a moment",
            )
        if len(rows) > 1:
            kinds = ", ".join(Kind(row.kind).word for row in rows)
            raise Conflict(
                "ambiguous_event",
                f"events of several kinds have this id: {kinds}",
                "say which with kind=",
                field="kind",
            )
        return receipt_answer(rows[0], self._position(rows[0]))

    # Asking

    def recall(self, principal: Principal, scope: Scope, request: RecallQuery) -> answers.Recall:
        """What bears on a query, ranked, from visible records only."""
        self._require(principal, Role.READER, scope)
        self._after(scope, request.after)
        with self._backend.reading(self._partition(scope)) as reader:
            asked = self._frame(reader, scope, request.valid_at, request)
            return recall(reader, asked, request, self._hasher, self.tokens, self._views)

    def release(self, principal: Principal, scope: Scope, request: ReleaseQuery) -> answers.Release:
        """Whether claims may be stated as fact now."""
        self._require(principal, Role.READER, scope)
        if request.recorded_at is not None:
            self._require(principal, Role.HISTORIAN, scope)
        self._after(scope, request.after)

        def frame(reader: Reader) -> Asked:
            asked = self._frame(reader, scope, request.valid_at, request)
            if asked.historical:
                self._require(principal, Role.HISTORIAN, scope)
            return asked

        partition = self._partition(scope)
        return self._gate.decide(principal.name, scope, partition, request, frame, self._wait)

    def verify_release(
        self, principal: Principal, record: dict[str, Any], query: str, claims: tuple[Claim, ...]
    ) -> answers.ReleaseCheck:
        """Whether a release record is authentic, unchanged and of the current head."""
        scope = self._gate.scope_of(record)
        if scope is None:
            return answers.ReleaseCheck(valid=False, reason="bad_mac")
        self._require(principal, Role.READER, scope)
        return self._gate.check(record, query, claims, self._partition(scope), self._wait)

    def facts(
        self, principal: Principal, scope: Scope, filters: Filters
    ) -> answers.Page[answers.Fact]:
        """Public facts at an instant (default now), or at any."""
        want = listing.wanted(filters.entity, filters.attribute)
        return self._page(
            answers.Page[answers.Fact],
            principal,
            Role.READER,
            scope,
            filters,
            "facts",
            lambda turn, asked, after: listing.facts(turn, asked, after, want, self._hasher),
        )

    def history(
        self, principal: Principal, scope: Scope, filters: Filters
    ) -> answers.Page[answers.Fact]:
        """Every period of a key, superseded ones marked."""
        want = listing.wanted(filters.entity, filters.attribute)
        return self._page(
            answers.Page[answers.Fact],
            principal,
            Role.READER,
            scope,
            filters,
            "history",
            lambda turn, asked, after: listing.history(turn, asked, after, want, self._hasher),
        )

    def conflicts(
        self, principal: Principal, scope: Scope, filters: Filters
    ) -> answers.Page[answers.Conflict]:
        """Conflict sets at an instant (default now), or at any."""
        want = listing.wanted(filters.entity, filters.attribute)
        return self._page(
            answers.Page[answers.Conflict],
            principal,
            Role.READER,
            scope,
            filters,
            "conflicts",
            lambda turn, asked, after: listing.conflicts(turn, asked, after, want, self._hasher),
        )

    def episodes(
        self, principal: Principal, scope: Scope, filters: Filters
    ) -> answers.Page[answers.Episode]:
        """Testimony."""
        return self._page(
            answers.Page[answers.Episode],
            principal,
            Role.READER,
            scope,
            filters,
            "episodes",
            listing.episodes,
        )

    def audit_facts(
        self, principal: Principal, scope: Scope, filters: Filters
    ) -> answers.Page[answers.AuditFact]:
        """Assertions of every status with the cause."""
        want = listing.wanted(filters.entity, filters.attribute)
        return self._page(
            answers.Page[answers.AuditFact],
            principal,
            Role.AUDITOR,
            scope,
            filters,
            "audit-facts",
            lambda turn, asked, after: listing.audit_facts(turn, asked, after, want, self._hasher),
        )

    def audit_entries(
        self, principal: Principal, scope: Scope, filters: Filters
    ) -> answers.Page[answers.AuditEntry]:
        """The scope's ledger entries with their decisions."""
        return self._page(
            answers.Page[answers.AuditEntry],
            principal,
            Role.AUDITOR,
            scope,
            filters,
            "audit-entries",
            lambda _, asked, after: audit_entries(self._backend, asked, after),
        )

    def head(self, principal: Principal, scope: Scope) -> answers.Head:
        """Where the scope's memory stands."""
        self._require_any(principal, (Role.READER, Role.AUDITOR, Role.WRITER), scope)
        with self._backend.reading(self._partition(scope)) as reader:
            snapshot = self._frame(reader, scope, None, Filters()).snapshot(self.tokens)
        return answers.Head(
            scope_sequence=snapshot.scope_sequence,
            scope_hash=snapshot.scope_hash,
            token=snapshot.token,
        )

    # Operating

    def ready(self) -> list[str]:
        """Why this process is not ready; empty if it is."""
        return self._backend.problems()

    def verify(
        self, principal: Principal, deep: bool, against: answers.Checkpoint | None = None
    ) -> answers.Verification:
        """Check the ledger, also against a checkpoint of this installation; role operator."""
        self._operator(principal)
        if against is not None:
            self._checkpoints.recognise(against)
        return self._backend.verify(deep, against)

    def checkpoint(self, principal: Principal) -> answers.Checkpoint:
        """Sign where every partition stands, and keep it where there is a place; role operator."""
        self._operator(principal)
        log, heads = self._backend.heads()
        made = self._checkpoints.sign(log, self._clock(), heads)
        self._backend.keep(made)
        return made

    def replay(self, principal: Principal) -> dict[str, int]:
        """Rebuild the projections while reads go on; role operator."""
        self._operator(principal)
        return self._backend.replay()

    # Who may

    def _operator(self, principal: Principal) -> None:
        if principal.revoked or Role.OPERATOR not in principal.roles:
            raise _not_granted()

    def _require(self, principal: Principal, role: Role, scope: Scope) -> None:
        if not self._backend.registry().may(principal, role, scope):
            raise _not_granted()

    def _require_any(self, principal: Principal, roles: tuple[Role, ...], scope: Scope) -> None:
        registry = self._backend.registry()
        if not any(registry.may(principal, role, scope) for role in roles):
            raise _not_granted()

    # When

    def _partition(self, scope: Scope) -> int:
        return partition_of(scope, self._backend.partitions)

    def _after(self, scope: Scope, token: str | None) -> None:
        """Wait until the view includes what a receipt's token names."""
        if token is None:
            return
        position = self.tokens.position(token, "after")
        if position.partition != self._partition(scope):
            raise Unprocessable(
                "foreign_token",
                "the token belongs to another partition's subject",
                "pass a token of an event of this subject",
                field="after",
            )
        goal = Reach(0, {Kind(position.kind): position.offset + 1})
        self._backend.reach(position.partition, goal, self._wait)

    def _frame(
        self,
        reader: Reader,
        scope: Scope,
        valid_at: int | None,
        request: RecallQuery | ReleaseQuery | Filters,
        *,
        audit: bool = False,
    ) -> Asked:
        point = self._pinned(scope, request)
        recorded_at = request.recorded_at
        any_time = isinstance(request, Filters) and request.valid_at == "any"
        at: int | None = valid_at
        if point is not None:
            recorded_at = point.recorded_at
            at = point.valid_at if valid_at is None and not any_time else valid_at
            listed = isinstance(request, Filters) and valid_at is None
            any_time = any_time or (listed and point.valid_at is None)
        if at is None and not any_time:
            at = self._clock()
        return ask(
            reader,
            self._partition(scope),
            self._hasher.scope(scope),
            self._hasher.subject(scope),
            self._backend.policy(),
            None if any_time else at,
            recorded_at,
            audit=audit,
        )

    def _pinned(
        self, scope: Scope, request: RecallQuery | ReleaseQuery | Filters
    ) -> SnapshotPoint | None:
        if request.snapshot is None:
            return None
        if request.recorded_at is not None:
            raise Unprocessable(
                "two_instants",
                "snapshot and recorded_at both say which state to read",
                "pass one of them",
                field="snapshot",
            )
        point = self.tokens.snapshot(request.snapshot, "snapshot")
        if point.scope != self._hasher.scope(scope):
            raise Unprocessable(
                "foreign_token",
                "the snapshot belongs to another scope",
                "pass a snapshot of this scope",
                field="snapshot",
            )
        return point

    def _page(
        self,
        shape: type[P],
        principal: Principal,
        role: Role,
        scope: Scope,
        filters: Filters,
        name: str,
        lister: Lister,
    ) -> P:
        self._require(principal, role, scope)
        self._after(scope, filters.after)
        identity = _identity(name, scope, filters)
        cursor = None if filters.cursor is None else self.tokens.cursor(filters.cursor)
        if cursor is not None and cursor.filters != identity:
            raise Unprocessable(
                "foreign_cursor",
                "the cursor belongs to another list or other filters",
                "repeat the request that gave it, with only the cursor added",
                field="cursor",
            )
        valid_at = filters.valid_at if isinstance(filters.valid_at, int) else None
        if cursor is not None:
            valid_at = cursor.valid_at
            filters = msgspec.structs.replace(
                filters,
                snapshot=None,
                recorded_at=cursor.recorded_at,
                valid_at="any" if valid_at is None else valid_at,
            )
        turn = partial(self._backend.reading, self._partition(scope))
        with turn() as reader:
            asked = self._frame(reader, scope, valid_at, filters, audit=role is Role.AUDITOR)
            pinned = _pinned_at(reader, asked, filters)
        asked = msgspec.structs.replace(
            asked, horizon=msgspec.structs.replace(asked.horizon, evidence=pinned)
        )
        after = paging.FIRST if cursor is None else cursor.last
        items, last = paging.page(turn, asked, lister(turn, asked, after), filters.limit)
        return shape(
            snapshot=asked.snapshot(self.tokens),
            items=items,
            next_cursor=None
            if last is None
            else self.tokens.seal(Cursor(identity, pinned, asked.valid_at, last)),
        )


def _pinned_at(reader: Reader, asked: Asked, filters: Filters) -> int:
    """The τ up to which a list has evidence, on its first page and on all others.

    It is the partition's, not the scope head's: some entries move no head, and are listed.
    """
    checkpoint = reader.checkpoint()
    now = NOT_BEFORE_EVERYTHING if checkpoint is None else checkpoint.recorded_at
    return min(at for at in (now, asked.recorded_at, filters.recorded_at) if at is not None)


def _identity(name: str, scope: Scope, filters: Filters) -> bytes:
    """What a cursor belongs to: the list, the scope and every filter but the page itself."""
    plain = msgspec.structs.replace(filters, cursor=None, limit=0, after=None)
    data = msgspec.msgpack.encode((name, scope, plain))
    return hashlib.sha256(data).digest()[:16]


def _not_granted() -> Forbidden:
    return Forbidden(
        "not_granted",
        "this key has no grant for that scope and role",
        "ask an operator for a key with the grant",
    )
