"""The release gate: may I say this now? (I5; SPEC §6)

Read the log's ends → catch up, bounded → scope head h₁ → evaluate → read ends and head again, h₂.
The ends include the intake of retractions and deletions, so one that was acknowledged before the
release began is never outrun. Behind or unavailable → nothing is released and the part is named;
h₁ ≠ h₂ → `head_changed` and no record. No claims → abstain.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from typing import Any

import msgspec

from gateway.asked import Asked, ask, scope_head
from gateway.backend import Backend
from gateway.errors import Conflict
from gateway.requests import ReleaseQuery
from gateway.tokens import Tokens
from projections.claims import Claim, claims_digest, judge_claim
from projections.state import Reader
from schemas import answers
from schemas.kinds import Kind
from schemas.normalise import VERSION as NORMALISER_VERSION
from schemas.scope import Scope
from schemas.times import format_instant
from schemas.values import json_value

RECORD_VERSION = 1
BARRING = (Kind.RETRACTION, Kind.DELETION)


class Gate:
    """Decides releases over a backend; `key` (32 bytes) authenticates the records."""

    def __init__(self, backend: Backend, tokens: Tokens, key: bytes) -> None:
        self._backend = backend
        self._tokens = tokens
        self._key = key

    def decide(
        self,
        user: str,
        scope: Scope,
        partition: int,
        request: ReleaseQuery,
        frame: Callable[[Reader], Asked],
        timeout: float,
    ) -> answers.Release:
        """Release or abstain, with a record; raises `ViewBehind`, or `Conflict` on a moved head."""
        self._catch_up(partition, timeout)
        with self._backend.reading(partition) as reader:
            asked = frame(reader)
            reasons = self._judge(reader, asked, request)
        self._catch_up(partition, timeout)
        with self._backend.reading(partition) as reader:
            after = scope_head(reader, asked.scope, asked.subject)
        if (after.count, after.hash) != (asked.head.count, asked.head.hash):
            raise Conflict(
                "head_changed",
                "the scope's memory changed while the release was decided",
                "ask again",
            )
        return self._answer(user, scope, asked, request, reasons)

    def _catch_up(self, partition: int, timeout: float) -> None:
        self._backend.reach(partition, self._backend.ends(partition, *BARRING), timeout)

    def _judge(self, reader: Reader, asked: Asked, request: ReleaseQuery) -> list[str | None]:
        assert asked.valid_at is not None
        return [
            judge_claim(
                reader,
                asked.scope,
                claim,
                asked.valid_at,
                asked.horizon,
                asked.policy,
                self._backend.hasher,
            )
            for claim in request.claims
        ]

    def _answer(
        self,
        user: str,
        scope: Scope,
        asked: Asked,
        request: ReleaseQuery,
        reasons: list[str | None],
    ) -> answers.Release:
        released = bool(reasons) and not any(reasons)
        decision = "release" if released else "abstain"
        return answers.Release(
            snapshot=asked.snapshot(self._tokens),
            decision=decision,
            claims=tuple(
                answers.ReleasedClaim(
                    entity=claim.entity,
                    attribute=claim.attribute,
                    value=json_value(claim.value),
                    type=claim.value.type,
                    facts=claim.facts,
                    ok=reason is None,
                    reason=reason,
                )
                for claim, reason in zip(request.claims, reasons, strict=True)
            ),
            record=self._record(decision, user, scope, asked, request),
        )

    def _record(
        self, decision: str, user: str, scope: Scope, asked: Asked, request: ReleaseQuery
    ) -> dict[str, Any]:
        assert asked.valid_at is not None
        at = asked.recorded_at
        record: dict[str, Any] = {
            "version": RECORD_VERSION,
            "decision": decision,
            "user": user,
            "scope": list(msgspec.structs.astuple(scope)),
            "query": self._query_hash(request.query),
            "claims": claims_digest(request.claims, asked.policy).hex(),
            "valid_at": format_instant(asked.valid_at),
            "recorded_at": None if at is None else format_instant(at),
            "scope_sequence": asked.head.count,
            "scope_hash": asked.head.hash.hex(),
            "policy": asked.policy.version.hex(),
            "normaliser": NORMALISER_VERSION,
        }
        return {**record, "mac": self._mac(record)}

    def _query_hash(self, query: str) -> str:
        return hmac.digest(self._key, b"query\0" + query.encode(), "sha256").hex()

    def _mac(self, record: dict[str, Any]) -> str:
        canonical = msgspec.json.encode(record, order="sorted")
        return hmac.digest(self._key, b"release\0" + canonical, "sha256").hex()

    def scope_of(self, record: dict[str, Any]) -> Scope | None:
        """The scope that an authentic record binds; None if it is not authentic."""
        body = {name: value for name, value in record.items() if name != "mac"}
        mac = record.get("mac")
        try:
            expected = self._mac(body)
        except (TypeError, ValueError, RecursionError, UnicodeEncodeError):
            return None
        if not isinstance(mac, str) or not hmac.compare_digest(
            hashlib.sha256(expected.encode()).digest(),
            hashlib.sha256(mac.encode("utf-8", "surrogatepass")).digest(),
        ):
            return None
        return Scope(*body["scope"])

    def check(
        self,
        record: dict[str, Any],
        query: str,
        claims: tuple[Claim, ...],
        partition: int,
        timeout: float,
    ) -> answers.ReleaseCheck:
        """Recompute all that an authentic record binds; a stale head is refused."""
        policy = self._backend.policy()
        versions = (record["version"], record["policy"], record["normaliser"])
        if versions != (RECORD_VERSION, policy.version.hex(), NORMALISER_VERSION):
            return answers.ReleaseCheck(valid=False, reason="unknown_version")
        if record["query"] != self._query_hash(query) or (
            record["claims"] != claims_digest(claims, policy).hex()
        ):
            return answers.ReleaseCheck(valid=False, reason="changed")
        self._catch_up(partition, timeout)
        scope = Scope(*record["scope"])
        hasher = self._backend.hasher
        with self._backend.reading(partition) as reader:
            head = ask(
                reader, partition, hasher.scope(scope), hasher.subject(scope), policy, None, None
            ).head
        if (record["scope_sequence"], record["scope_hash"]) != (head.count, head.hash.hex()):
            return answers.ReleaseCheck(valid=False, reason="stale_head")
        return answers.ReleaseCheck(valid=True, reason=None)
