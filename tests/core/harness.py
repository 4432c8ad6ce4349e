"""Feeding a model history to the real core, and asking it what the model is asked.

The intake is signed Avro as a producer writes it; log, store and vault are the in-memory twins;
clock and record keys are seeded. One record is admitted at a time, so each step has a τ.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from threading import RLock
from typing import Any

from msgspec.structs import replace

from mnemolog.parts import Turnstile
from processors.admission import Admission, Rules
from projections import keys
from projections.claims import Claim, judge_claim
from projections.follower import Decided, Follower
from projections.kv_memory import MemoryStore
from projections.log_memory import MemoryLog
from projections.ports import KeyValueStore, LogRecord
from projections.rows import ObservationRow
from projections.support import Horizon, audit_horizon, judge, public_horizon
from projections.vault import MemoryVault
from projections.view import Group, episode_visible, groups
from schemas.boundary import parse_event
from schemas.codec import Codec
from schemas.kinds import KIND_OF_WORD, RECEIPT_STATE, TIER_OF_WORD, Decision, Kind, Reason, Role
from schemas.normalise import normalise_key
from schemas.policy import Policy
from schemas.principals import EVERYWHERE, Principal, Registry
from schemas.scope import Scope
from schemas.sealing import Hasher, SeededKeys
from schemas.signing import HmacKey, HmacSigner
from schemas.times import format_instant
from schemas.topics import TopicNames
from schemas.values import parse_value
from tests.model.histories import History
from tests.model.reference import ANY

CODEC = Codec()
TOPICS = TopicNames()
TIMES = ("occurred_at", "valid_from", "valid_to", "expires_at")
START = 1_800_000_000_000_000


def secret(name: str) -> bytes:
    """An adapter's HMAC secret."""
    return name.encode().ljust(32, b"!")


def registry_of(adapters: dict[str, Any]) -> Registry:
    """The model's adapters as principals."""
    return Registry(
        Principal(
            name=name,
            tier=TIER_OF_WORD[adapter.tier],
            roles=frozenset(Role(role) for role in adapter.roles),
            grants=(EVERYWHERE,),
            system=adapter.system,
            speaks_for_others=False,
            api_key_hash=None,
            key=HmacKey(secret(name)),
            revoked=False,
        )
        for name, adapter in adapters.items()
    )


def intake(record: dict[str, Any]) -> LogRecord:
    """A model record as it stands in its intake topic."""
    kind = KIND_OF_WORD[record["kind"]]
    event = {name: value for name, value in record["event"].items() if value is not None}
    event |= {name: format_instant(event[name]) for name in TIMES if name in event}
    if event.get("type") == "instant":
        event["value"] = format_instant(event["value"])
    ids = (f"filled{n}" for n in itertools.count())
    _, parsed = parse_event(event, adapter=record["adapter"], now=START, new_id=lambda: next(ids))
    filled = tuple(record["filled"])
    parsed = replace(parsed, envelope=replace(parsed.envelope, filled=filled))
    payload = CODEC.encode(kind, parsed)
    headers = HmacSigner(record["adapter"], secret(record["adapter"])).sign(kind, payload)
    return LogRecord(
        TOPICS.intake[kind], 0, record["offset"], record["append_ms"], payload, tuple(headers)
    )


@dataclass
class Core:
    """One partition of the real thing, in memory."""

    history: History
    seed: bytes = b"seed"
    log: MemoryLog = field(default_factory=lambda: MemoryLog(1, lambda: START // 1000))
    store: KeyValueStore = field(default_factory=lambda: Turnstile(MemoryStore(), RLock()))
    vault: MemoryVault = field(default_factory=MemoryVault)

    def __post_init__(self) -> None:
        self.hasher = Hasher(b"k" * 32)
        self.policy = Policy(clock_skew_ms=self.history.policy.skew_ms)
        self.registry = registry_of(self.history.adapters)
        self.steps: list[int] = []
        self.receipts: list[tuple[str, str]] = []
        self._ticks = itertools.count(START)
        self.follower = self.follow(self.store)
        self.admission = Admission(
            self.follower,
            TOPICS,
            CODEC,
            SeededKeys(self.seed),
            lambda: next(self._ticks),
            lambda: Rules(self.policy, self.registry),
        )

    def follow(self, store: KeyValueStore) -> Follower:
        """A follower of this ledger into a store."""
        return Follower(0, self.log, TOPICS.ledger, store, self.vault, self.hasher)

    def consume(self, records: Iterable[dict[str, Any]]) -> Core:
        """Admit records one at a time."""
        for record in records:
            seen: list[Decided] = []
            self.follower.on_receipts = seen.extend
            self.admission.admit([intake(record)])
            place = (KIND_OF_WORD[record["kind"]], record["offset"])
            row = [one.receipt for one in seen if (one.kind, one.offset) == place][-1]
            code = row.fault.code if row.fault else Reason(row.reason).code
            self.receipts.append((RECEIPT_STATE[Decision(row.decision)], code))
            self.steps.append(self.follower.checkpoint().recorded_at)
        return self

    # Asking

    def at_step(self, upto: int | None) -> int | None:
        """The τ after so many records."""
        if upto is None:
            return None
        return self.steps[upto - 1] if upto else START - 1

    def horizon(self, scope: Scope, upto: int | None = None, *, audit: bool = False) -> Horizon:
        """What a view may use."""
        subject16 = self.hasher.subject(scope)
        make = audit_horizon if audit else public_horizon
        return make(self.follower.reader, subject16, self.at_step(upto))

    def groups(self, scope: Scope, upto: int | None = None, *, audit: bool = False) -> list[Group]:
        """The groups of a scope; none if it is blocked."""
        horizon = self.horizon(scope, upto, audit=audit)
        if horizon.blocked:
            return []
        reader, scope16 = self.follower.reader, self.hasher.scope(scope)
        return [group for _, group in groups(reader, scope16, horizon, self.policy)]

    def public_facts(
        self, scope: Scope, t: Any, upto: int | None = None, *, audit: bool = False
    ) -> frozenset[str]:
        """Ids of public facts."""
        found = set()
        for group in self.groups(scope, upto, audit=audit):
            members = group.public_ever() if t is ANY else group.at(t).public
            found |= {member.event.fact_id for member in members}
        return frozenset(found)

    def conflicts(self, scope: Scope, t: Any, upto: int | None = None) -> frozenset[Any]:
        """(entity, attribute, ids, overlap)."""
        found = set()
        for group in self.groups(scope, upto):
            if t is ANY:
                sets = group.conflicts()
            else:
                one = group.conflict_at(t)
                sets = [] if one is None else [one]
            for conflict in sets:
                event = conflict.sides[0].event
                found.add(
                    (
                        normalise_key(event.entity),
                        normalise_key(event.attribute),
                        frozenset(side.event.fact_id for side in conflict.sides),
                        (conflict.start, conflict.end),
                    )
                )
        return frozenset(found)

    def superseded_by(self, scope: Scope, t: int) -> dict[str, str]:
        """By whom each fact is superseded at an instant, as an answer says it."""
        found = {}
        for group in self.groups(scope):
            for record16, by in group.at(t).superseded.items():
                fact_id = group.members[record16].event.fact_id
                deleted = by.status.word == "deleted"
                found[fact_id] = "deleted" if deleted else by.event.fact_id
        return found

    def episodes(
        self, scope: Scope, upto: int | None = None, *, audit: bool = False
    ) -> frozenset[str]:
        """Ids of visible episodes."""
        horizon = self.horizon(scope, upto, audit=audit)
        reader, scope16 = self.follower.reader, self.hasher.scope(scope)
        found = set()
        for key, row in reader.scan(keys.observations(scope16)):
            assert isinstance(row, ObservationRow)
            visible = episode_visible(reader, scope16, key[17:], row, horizon, self.policy)
            if visible and row.event is not None:
                found.add(row.event.envelope.event_id)
        return frozenset(found)

    def status(self, scope: Scope, fact_id: str) -> str:
        """The model's word for a fact's status."""
        horizon = self.horizon(scope)
        if horizon.blocked:
            return "blocked"
        scope16 = self.hasher.scope(scope)
        record16 = self.hasher.fact(scope16, fact_id)
        row = self.follower.reader.fact(scope16, record16)
        if row is None:
            return "absent"
        return judge(self.follower.reader, scope16, record16, row, horizon)[0].word

    def retracted(self, scope: Scope, fact_id: str) -> bool:
        """Whether a fact is effectively retracted."""
        horizon = self.horizon(scope)
        scope16 = self.hasher.scope(scope)
        row = self.follower.reader.fact(scope16, self.hasher.fact(scope16, fact_id))
        return not horizon.blocked and row is not None and horizon.retracted(row.retractions)

    def release(
        self, scope: Scope, t: int, claims: Sequence[dict[str, Any]], upto: int | None = None
    ) -> tuple[str, list[str | None]]:
        """Decision and reasons."""
        horizon = self.horizon(scope, upto)
        reasons = []
        for claim in claims:
            raw = claim["value"]
            if claim.get("type") == "instant":
                raw = format_instant(raw)
            value = parse_value(raw, claim.get("type"), "value")
            asked = Claim(claim["entity"], claim["attribute"], value, tuple(claim["facts"]))
            reasons.append(
                judge_claim(
                    self.follower.reader,
                    self.hasher.scope(scope),
                    asked,
                    t,
                    horizon,
                    self.policy,
                    self.hasher,
                )
            )
        fine = reasons != [] and not any(reasons)
        return "release" if fine else "abstain", reasons


def scope_of(scope: Sequence[str]) -> Scope:
    """The model's scope tuple as a Scope."""
    return Scope(*scope)


def kind_of(record: dict[str, Any]) -> Kind:
    """A record's kind."""
    return KIND_OF_WORD[record["kind"]]
