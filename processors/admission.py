"""Admission of one partition: decide → seal → chain → append → read back → fold (SPEC §3).

Rules
- Only what was read back counts. If other bytes stand where ours should, another writer was first:
  nothing of ours is committed, the ledger is folded to its end, and everything is decided again.
- A key is durable before its entry is appended.
- Every intake record leaves one entry; an assertion whose premises come later leaves a further one,
  right after the entry that brought them. Resuming starts at the intake positions that the ledger
  itself states, so a crash or a re-delivery neither loses nor doubles.
- Refusals are told to the rejections topic at least once: before they are committed, and again by
  whoever folds them without having told them (after a crash, or beaten).
- Recorded time comes from the injected clock and strictly increases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
import structlog

from processors.decide import Context, decide
from processors.draft import Draft
from processors.receive import receive
from processors.settling import judge_due, settle
from projections import keys
from projections.evolve import evolve
from projections.follower import Decided, Follower, decided
from projections.ports import LogRecord
from projections.rows import ReceiptRow
from projections.state import Overlay
from projections.step import Due
from schemas.bodies import encode_body, with_quote_key
from schemas.codec import Codec
from schemas.entry import NO_FOLLOW_UP, SCHEMA_VERSION, Entry, Header, header_bytes, make_entry
from schemas.kinds import Decision, Kind, Reason
from schemas.normalise import VERSION as NORMALISER_VERSION
from schemas.policy import Policy
from schemas.principals import Registry
from schemas.sealing import KeySource, seal
from schemas.topics import TopicNames

log = structlog.get_logger()


class Rules(NamedTuple):
    """What admission works by, read once a batch."""

    policy: Policy
    registry: Registry


class _Plan(NamedTuple):
    """A batch decided but not yet in the ledger, and the policy that it is decided by."""

    policy: Policy
    version: bytes
    overlay: Overlay
    entries: list[Entry]
    record_keys: list[tuple[bytes, bytes]]
    receipts: list[Decided]


class Admission:
    """The writer of one partition. One thread; two of them on one partition cannot fork it."""

    def __init__(
        self,
        follower: Follower,
        topics: TopicNames,
        codec: Codec,
        key_source: KeySource,
        clock: Callable[[], int],
        rules: Callable[[], Rules],
    ) -> None:
        self.follower = follower
        self._topics = topics
        self._codec = codec
        self._keys = key_source
        self._clock = clock
        self._rules = rules
        self._anew: bool | None = None
        follower.on_fold = self._tell_folded

    def resume(self) -> None:
        """Fold to the ledger's end and settle what a crash may have left undecided."""
        self.follower.check_log()
        self.follower.catch_up()
        self._anew = False
        self.follower.destroy_leftovers()
        while True:
            waiting = [_due_of(key) for key, _ in self.follower.store.scan(keys.ALL_AWAITING)]
            if self._write(self._plan([], waiting)):
                return
            self.follower.catch_up()

    def positions(self) -> dict[Kind, int]:
        """Where to read on in each intake topic, by the ledger's own account."""
        positions = self.follower.checkpoint().positions
        return {kind: positions[kind] for kind in Kind}

    def admit(self, records: Sequence[LogRecord]) -> int:
        """Admit intake records of this partition, each topic's in order; how many were new."""
        due: list[Due] = []
        while True:
            plan = self._plan(in_order_of_append(records), due)
            if self._write(plan):
                return sum(entry.header.follows == NO_FOLLOW_UP for entry in plan.entries)
            due += self.follower.catch_up().due

    def _plan(self, records: Sequence[LogRecord], due: Sequence[Due]) -> _Plan:
        rules = self._rules()
        plan = _Plan(rules.policy, rules.policy.version, self.follower.overlay(), [], [], [])
        self._settle(plan, due)
        codec, partitions = self._codec, self.follower.log.partitions
        positions = list(plan.overlay.at.positions)
        new = []
        for record in records:
            kind = self._topics.kind_of[record.topic]
            if record.offset >= positions[kind]:
                positions[kind] = record.offset + 1
                new.append(receive(record, kind, codec, rules.registry, partitions))
        context = Context(plan.overlay, rules.policy, self.follower.hasher, 0)
        for received in new:
            context.now = now = self._now(plan)
            draft = received if isinstance(received, Draft) else decide(received, context)
            self._settle(plan, self._chain(plan, draft, now))
        return plan

    def _settle(self, plan: _Plan, due: Sequence[Due]) -> None:
        """Further entries for what is due, and for what these make due in turn."""
        while due:
            raised: list[Due] = []
            for one, verdict in judge_due(due, plan.overlay, self._now(plan)):
                now = self._now(plan)
                draft = settle(one, verdict, plan.overlay, plan.policy, now)
                if draft is not None:
                    raised += self._chain(plan, draft, now)
            due = raised

    def _now(self, plan: _Plan) -> int:
        return max(self._clock(), plan.overlay.at.recorded_at + 1)

    def _chain(self, plan: _Plan, draft: Draft, now: int) -> list[Due]:
        """Seal a draft, put it on the plan's chain and fold it; the dues it raises."""
        at, key = plan.overlay.at, self._keys.draw()
        header = header_of(draft, at.count, at.hash, now, plan.version, key.key_id)
        head = header_bytes(header)
        entry = make_entry(header, head, seal(key, encode_body(draft.body), head))
        body = with_quote_key(draft.body, key.key)
        evolution = evolve(plan.overlay, entry, body, at.next_offset, self.follower.hasher)
        plan.entries.append(entry)
        plan.record_keys.append((key.key_id, key.key))
        plan.receipts.append(decided(entry, evolution))
        return evolution.due

    def _write(self, plan: _Plan) -> bool:
        """Append, read back, commit; False if another writer's bytes stand there instead."""
        if not plan.entries:
            return True
        follower = self.follower
        start = follower.checkpoint().next_offset
        follower.vault.put(plan.record_keys)
        stored = [entry.stored for entry in plan.entries]
        follower.log.append(follower.ledger, follower.partition, [(data, ()) for data in stored])
        if self._read_back(start, len(stored)) != stored:
            log.info("beaten by another writer", partition=follower.partition, entries=len(stored))
            return False
        self._tell_rejections(plan.receipts)
        follower.commit(plan.overlay, plan.receipts)
        return True

    def _read_back(self, start: int, count: int) -> list[bytes | None]:
        """The `count` records from `start` on; fewer if they are not contiguous there."""
        follower = self.follower
        found: list[bytes | None] = []
        ledger, partition, end = follower.ledger, follower.partition, start + count
        while len(found) < count:
            at = start + len(found)
            records = follower.log.read(ledger, partition, at, end - at, end)
            following = [r.value for n, r in enumerate(records) if r.offset == at + n]
            if not following:
                break
            found += following
        return found

    def _tell_folded(self, receipts: Sequence[Decided]) -> None:
        """Tell again what was folded, but what a store made anew folds: that was told before."""
        if self._anew is None:
            self._anew = self.follower.checkpoint().count == 0
        if not self._anew:
            self._tell_rejections(receipts)

    def _tell_rejections(self, receipts: Sequence[Decided]) -> None:
        refused = [
            (rejection(self._topics, one.receipt), ())
            for one in receipts
            if one.receipt.decision in (Decision.REJECTED, Decision.DEAD_LETTERED)
        ]
        if refused:
            follower = self.follower
            follower.log.append(self._topics.rejections, follower.partition, refused)


def _due_of(key: bytes) -> Due:
    return key[1:17], key[17:33], key[33:49]


def in_order_of_append(records: Sequence[LogRecord]) -> list[LogRecord]:
    """By append time where topics' own orders allow: causes tend to come before effects."""
    latest: dict[str, int] = {}
    placed = []
    for record in records:
        at = max(record.append_ms, latest.get(record.topic, record.append_ms))
        latest[record.topic] = at
        placed.append((at, record))
    return [record for _, record in sorted(placed, key=lambda pair: pair[0])]


def header_of(
    draft: Draft, sequence: int, previous: bytes, now: int, policy: bytes, key_id: bytes
) -> Header:
    """The header of a draft at its place in the chain; `policy` is a version."""
    place = draft.place
    return Header(
        place.kind,
        draft.decision,
        draft.reason,
        draft.flags,
        draft.tier,
        draft.target_type,
        sequence,
        now,
        previous,
        draft.follows,
        policy,
        SCHEMA_VERSION,
        NORMALISER_VERSION,
        place.kind,
        place.partition,
        place.offset,
        place.append_ms,
        key_id,
        draft.scope,
        draft.subject,
        draft.record,
        draft.idempotency,
        draft.content,
        draft.target,
        draft.supersedes,
        draft.entity_attribute,
        draft.adapter,
        draft.sources,
    )


def rejection(topics: TopicNames, receipt: ReceiptRow) -> bytes:
    """What the rejections topic says of a refused record: its place and reason, no content."""
    fault = receipt.fault
    return msgspec.json.encode(
        {
            "topic": topics.intake[Kind(receipt.kind)],
            "partition": receipt.partition,
            "offset": receipt.offset,
            "event_id": receipt.event_id,
            "code": fault.code if fault else Reason(receipt.reason).code,
            "field": fault.field if fault else "",
            "detail": fault.detail if fault else "",
            "remedy": fault.remedy if fault else "",
        }
    )
