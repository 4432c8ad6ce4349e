"""Claim closure: may this claim be said? (I5; SPEC §6; docs/semantics.md §9)

A claim holds iff it names at least one fact and every fact it names is public at the instant and
equals it after normalisation. The reason for a refusal is the first, in a fixed order, that applies
to any of its facts. What a caller may not see reads `unsupported`, like what does not exist.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from projections import keys
from projections.rows import FactRow
from projections.state import Reader
from projections.support import Horizon, Status
from projections.view import Group, group_of
from schemas.errors import StoreDamaged
from schemas.events import Value
from schemas.intervals import holds
from schemas.kinds import Decision
from schemas.normalise import normalise_key, value_key
from schemas.policy import Policy
from schemas.scope import pack
from schemas.sealing import Hasher

REASONS = (
    "unsupported",
    "deleted",
    "retracted",
    "mismatch",
    "outside_valid_time",
    "not_public",
    "superseded",
    "conflicting",
)
CLAIMS_DOMAIN = "GPM-CLAIMS-v1"


class Claim(msgspec.Struct, frozen=True):
    """What a caller wants to say, and by which facts."""

    entity: str
    attribute: str
    value: Value
    facts: tuple[str, ...]


def judge_claim(
    reader: Reader,
    scope16: bytes,
    claim: Claim,
    t: int,
    horizon: Horizon,
    policy: Policy,
    hasher: Hasher,
) -> str | None:
    """Why a claim may not be released at `t`, or None if it may."""
    if not claim.facts:
        return REASONS[0]
    found = {
        _against(reader, scope16, claim, fact_id, t, horizon, policy, hasher)
        for fact_id in set(claim.facts)
    }
    found.discard(None)
    return min((reason for reason in found if reason), key=REASONS.index, default=None)


def _against(
    reader: Reader,
    scope16: bytes,
    claim: Claim,
    fact_id: str,
    t: int,
    horizon: Horizon,
    policy: Policy,
    hasher: Hasher,
) -> str | None:
    if horizon.blocked:
        return "deleted"
    record16 = hasher.fact(scope16, fact_id)
    row = reader.fact(scope16, record16)
    if row is None:
        names = normalise_key(claim.entity), normalise_key(claim.attribute)
        attribute16 = hasher.entity_attribute(scope16, *names)
        if reader.row(keys.group(scope16, attribute16) + record16) is not None:
            raise StoreDamaged(f"fact {record16.hex()}")
    if row is None or not row.decided_at or not horizon.knows(row.decided_at):
        return "unsupported"
    group = group_of(reader, scope16, row, horizon, policy)
    member = group.members.get(record16)
    if row.decision == Decision.COVERED or (member and member.status is Status.COVERED):
        return "deleted"
    if member is None or member.status in (Status.PARKED, Status.REJECTED):
        return "unsupported"
    if member.status is Status.DELETED:
        return "deleted"
    if member.retracted:
        return "retracted"
    if not _equals(claim, row, policy):
        return "mismatch"
    return _at(group, record16, t)


def _equals(claim: Claim, row: FactRow, policy: Policy) -> bool:
    event = row.event
    if event is None:
        return False
    return (
        normalise_key(event.entity) == normalise_key(claim.entity)
        and normalise_key(event.attribute) == normalise_key(claim.attribute)
        and value_key(event.value, policy.fold_values) == value_key(claim.value, policy.fold_values)
    )


def _at(group: Group, record16: bytes, t: int) -> str | None:
    member = group.members[record16]
    if not holds(member.start, member.end, t):
        return "outside_valid_time"
    if not member.eligible:
        return "not_public"
    standing = group.at(t)
    if record16 in standing.superseded:
        return "superseded"
    if any(side.record == record16 for side in standing.conflict):
        return "conflicting"
    return None


def claims_digest(claims: Sequence[Claim], policy: Policy) -> bytes:
    """SHA-256 over the sorted multiset of normalised claims with their sorted unique fact ids.

    Typed and length-delimited under the domain tag `GPM-CLAIMS-v1`; 32 bytes.
    """
    encoded = sorted(_canonical(claim, policy) for claim in claims)
    digest = hashlib.sha256(pack(CLAIMS_DOMAIN))
    digest.update(len(encoded).to_bytes(4, "big"))
    for item in encoded:
        digest.update(len(item).to_bytes(4, "big"))
        digest.update(item)
    return digest.digest()


def _canonical(claim: Claim, policy: Policy) -> bytes:
    value_type, value = value_key(claim.value, policy.fold_values)
    facts = sorted(set(claim.facts))
    return pack(
        normalise_key(claim.entity),
        normalise_key(claim.attribute),
        value_type,
        repr(value),
        str(len(facts)),
        *facts,
    )
