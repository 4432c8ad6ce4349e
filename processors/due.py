"""What is due by clock: pure functions of state and an instant, the logic of the slow agents.

Controls are events like all others: published to the intake, decided by admission. Their ids follow
from what is due, so saying it twice is a duplicate. The Faust agents and the embedded scheduler run
the same functions.
"""

from __future__ import annotations

import hashlib

from projections import keys
from projections.rows import FactRow, Present, WorkingSetRow
from projections.state import Reader
from projections.step import NEVER
from schemas.events import Actor, Control, Envelope
from schemas.policy import Policy
from schemas.principals import AGENTS
from schemas.scope import Scope, pack_scope

LIMIT = 1000
_SECOND = 1_000_000


def due_controls(reader: Reader, now: int, policy: Policy) -> list[Control]:
    """Time-outs and expiries due at `now` (µs), at most `LIMIT`."""
    return [*timeouts(reader, now, policy), *expiries(reader, now)][:LIMIT]


def timeouts(reader: Reader, now: int, policy: Policy) -> list[Control]:
    """Assertions parked longer than the policy allows."""
    latest = now - policy.parked_timeout_s * _SECOND
    found = []
    for key, row in reader.scan(keys.ALL_AWAITING):
        assert isinstance(row, Present)
        if row.since > latest or row.since == NEVER:
            continue
        fact = reader.fact(key[17:33], key[33:49])
        if fact is not None and fact.event is not None:
            event = fact.event
            found.append(
                _control("timeout", "fact", event.fact_id, event.envelope.scope, row.since, now)
            )
    return found


def expiries(reader: Reader, now: int) -> list[Control]:
    """Facts and working sets whose `expires_at` has passed."""
    found = []
    for key, _ in reader.scan(keys.ALL_EXPIRING):
        expires_at = int.from_bytes(key[1:9], "big") - 2**63
        if expires_at > now:
            break
        scope16, record16 = key[9:25], key[25:41]
        row = reader.fact(scope16, record16) or reader.workingset(scope16, record16)
        if isinstance(row, FactRow) and row.event is not None:
            scope, kind, target = row.event.envelope.scope, "fact", row.event.fact_id
        elif isinstance(row, WorkingSetRow):
            scope, kind, target = row.event.envelope.scope, "workingset", row.event.workingset_id
        else:
            continue
        found.append(_control("expiry", kind, target, scope, expires_at, now))
    return found


def _control(
    control: str, target_kind: str, target: str, scope: Scope, cause: int, now: int
) -> Control:
    said = f"{control}\0{target_kind}\0{target}\0{cause}".encode()
    name = hashlib.sha256(pack_scope(scope) + said).hexdigest()
    return Control(
        envelope=Envelope(
            event_id=name,
            scope=scope,
            adapter=AGENTS,
            actor=Actor(AGENTS, "system"),
            purpose="housekeeping",
            occurred_at=now,
            idempotency_key=name,
            filled=("occurred_at",),
        ),
        control=control,
        target_kind=target_kind,
        target_id=target,
        reason="due by clock",
    )
