"""Recall: what bears on this? (SPEC §8; the legs of this version: exact and lexical.)

Access is decided first: only visible records are searched, counted and ranked. Legs are fused by
reciprocal rank (K = 10: on LoCoMo the customary 60 is measurably worse), packed greedily under the
caller's budgets. Conflicts are one result with all their sides. Recall changes nothing, and the
same state and request give the same answer.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import msgspec

from gateway.asked import Asked
from gateway.render import conflict_answer, episode_answer, fact_answer
from gateway.requests import RecallQuery
from gateway.tokens import Tokens
from projections.fold_assertions import fact_text
from projections.lexical import NoSearchableTerms, search
from projections.lexical_rows import LexicalRows
from projections.rows import Document
from projections.state import Reader
from projections.view import Conflict, Group, Member, episode_visible
from schemas import answers
from schemas.errors import StoreDamaged
from schemas.normalise import normalise_key
from schemas.sealing import Hasher

FUSION_K = 10
LEG_DEPTH = 200
CHARACTERS_A_TOKEN = 4


class _Seen(NamedTuple):
    """Visible records by document ordinal, and the hidden ordinals."""

    facts: dict[int, tuple[Group, Member]]
    conflicts: dict[int, tuple[Group, Conflict]]
    episodes: dict[int, answers.Episode]
    hidden: set[int]

    def name(self, ordinal: int) -> str:
        """What breaks a tie: the record's own id, the same in every deployment."""
        if ordinal in self.facts:
            return self.facts[ordinal][1].event.fact_id
        if ordinal in self.conflicts:
            return min(side.event.fact_id for side in self.conflicts[ordinal][1].sides)
        return self.episodes[ordinal].event_id


def recall(
    reader: Reader, asked: Asked, request: RecallQuery, hasher: Hasher, tokens: Tokens
) -> answers.Recall:
    """Answer a recall from one consistent state."""
    seen = _visible(reader, asked, set(request.types))
    legs, missing = _legs(reader, asked, request, seen)
    results: list[answers.RecallResult] = []
    used = 0
    cut = False
    for ordinal, score, names in _fuse(legs, seen):
        if len(results) == request.limit:
            break
        result = _result(reader, asked, seen, ordinal, score, names)
        cost = -(-len(result.text) // CHARACTERS_A_TOKEN)
        if request.token_budget is not None and used + cost > request.token_budget:
            cut = True
            continue
        used += cost
        results.append(result)
    if cut:
        missing = (
            *missing,
            _reason("token_budget", "token_budget", "results were left out", "raise token_budget"),
        )
    return answers.Recall(
        snapshot=asked.snapshot(tokens),
        status=_status(results, cut),
        results=tuple(results),
        budget=answers.Budget(
            limit=request.limit,
            token_budget=request.token_budget,
            results=len(results),
            tokens=used,
        ),
        missing=missing,
        trace_id=_trace_id(asked, request, hasher),
    )


def _status(results: list[answers.RecallResult], cut: bool) -> str:
    if not results:
        return "partial" if cut else "insufficient_evidence"
    return "partial" if cut else "complete"


def _visible(reader: Reader, asked: Asked, types: set[str]) -> _Seen:
    """Decide, before any search, what may be seen of the scope's documents."""
    seen = _Seen({}, {}, {}, set())
    groups: dict[bytes, Group] = {}
    for ordinal in range(asked.head.documents):
        document = reader.document(asked.scope, ordinal)
        if document is None:
            raise StoreDamaged(f"document {ordinal}")
        if asked.horizon.blocked or not _see(reader, asked, types, seen, groups, ordinal, document):
            seen.hidden.add(ordinal)
    return seen


def _see(
    reader: Reader,
    asked: Asked,
    types: set[str],
    seen: _Seen,
    groups: dict[bytes, Group],
    ordinal: int,
    document: Document,
) -> bool:
    if document.fact:
        return _see_fact(reader, asked, types, seen, groups, ordinal, document.record)
    if types and "episode" not in types:
        return False
    row = reader.observation(asked.scope, document.record)
    if row is None:
        raise StoreDamaged(f"observation {document.record.hex()}")
    if not episode_visible(reader, asked.scope, document.record, row, asked.horizon, asked.policy):
        return False
    seen.episodes[ordinal] = episode_answer(row)
    return True


def _see_fact(
    reader: Reader,
    asked: Asked,
    types: set[str],
    seen: _Seen,
    groups: dict[bytes, Group],
    ordinal: int,
    record16: bytes,
) -> bool:
    row = reader.fact(asked.scope, record16)
    if row is None:
        raise StoreDamaged(f"fact {record16.hex()}")
    if asked.valid_at is None:
        return False
    group = groups.get(row.entity_attribute)
    if group is None:
        group = Group(reader, asked.scope, row.entity_attribute, asked.horizon, asked.policy)
        groups[row.entity_attribute] = group
    standing = group.at(asked.valid_at)
    if not types or "fact" in types:
        for member in standing.public:
            if member.record == record16:
                seen.facts[ordinal] = (group, member)
                return True
    if not types or "conflict" in types:
        for member in standing.conflict:
            if member.record == record16:
                conflict = group.conflict_at(asked.valid_at)
                assert conflict is not None
                seen.conflicts[ordinal] = (group, conflict)
                return True
    return False


def _legs(
    reader: Reader, asked: Asked, request: RecallQuery, seen: _Seen
) -> tuple[dict[str, list[int]], tuple[answers.Reason, ...]]:
    """Ranked ordinals a leg, best first."""
    store = LexicalRows(reader, asked.head.documents)
    found = search(store, asked.scope, request.query, seen.hidden, LEG_DEPTH)
    if isinstance(found, NoSearchableTerms):
        return {}, (
            _reason(
                "no_searchable_terms",
                "query",
                "the query has no word or symbol to search for",
                "ask with at least one word",
            ),
        )
    ties = sorted(found.hits, key=lambda hit: (-hit.score, seen.name(hit.ordinal)))
    lexical = [hit.ordinal for hit in ties]
    missing: tuple[answers.Reason, ...] = ()
    if found.truncated:
        missing = (
            _reason("query_truncated", "query", "only its first terms were used", "ask shorter"),
        )
    return {"exact": _exact(request.query, seen), "lexical": lexical}, missing


def _exact(query: str, seen: _Seen) -> list[int]:
    """Facts and conflicts named in the query by entity, attribute or value, most names first."""
    asked = f" {normalise_key(query)} "
    scored = []
    members = {ordinal: [member] for ordinal, (_, member) in seen.facts.items()}
    members |= {ordinal: list(found.sides) for ordinal, (_, found) in seen.conflicts.items()}
    for ordinal, sides in members.items():
        event = sides[0].event
        names = {normalise_key(event.entity), normalise_key(event.attribute)}
        names |= {normalise_key(side.event.value.text) for side in sides}
        score = sum(1 for name in names if name and _stands_in(name, asked))
        if score:
            scored.append((-score, seen.name(ordinal), ordinal))
    return [ordinal for _, _, ordinal in sorted(scored)[:LEG_DEPTH]]


def _stands_in(name: str, asked: str) -> bool:
    at = asked.find(name)
    while at >= 0:
        before, after = asked[at - 1 : at], asked[at + len(name) : at + len(name) + 1]
        if not before.isalnum() and not after.isalnum():
            return True
        at = asked.find(name, at + 1)
    return False


def _fuse(legs: dict[str, list[int]], seen: _Seen) -> list[tuple[int, float, tuple[str, ...]]]:
    """Reciprocal-rank fusion; a conflict's sides are one candidate, found by the best of them."""
    scores: dict[int, float] = {}
    names: dict[int, list[str]] = {}
    one_of: dict[frozenset[bytes], int] = {}
    for leg, ordinals in legs.items():
        for rank, ordinal in enumerate(ordinals, start=1):
            candidate = ordinal
            if ordinal in seen.conflicts:
                sides = frozenset(side.record for side in seen.conflicts[ordinal][1].sides)
                candidate = one_of.setdefault(sides, ordinal)
                if leg in names.get(candidate, []):
                    continue
            scores[candidate] = scores.get(candidate, 0.0) + 1.0 / (FUSION_K + rank)
            names.setdefault(candidate, []).append(leg)
    order = sorted(scores, key=lambda ordinal: (-scores[ordinal], seen.name(ordinal)))
    return [(ordinal, scores[ordinal], tuple(names[ordinal])) for ordinal in order]


def _result(
    reader: Reader, asked: Asked, seen: _Seen, ordinal: int, score: float, legs: tuple[str, ...]
) -> answers.RecallResult:
    if ordinal in seen.facts:
        group, member = seen.facts[ordinal]
        fact = fact_answer(reader, asked.scope, group, member, asked.horizon, "active", None)
        return answers.FactResult(
            id=fact.fact_id,
            score=score,
            legs=legs,
            text=fact_text(member.event),
            releasable=not asked.historical,
            complete=True,
            fact=fact,
        )
    if ordinal in seen.conflicts:
        group, found = seen.conflicts[ordinal]
        conflict = conflict_answer(reader, asked.scope, group, found, asked.horizon)
        return answers.ConflictResult(
            id=conflict.conflict_id,
            score=score,
            legs=legs,
            text=" | ".join(f"{s.entity} {s.attribute} {s.value}" for s in conflict.sides),
            releasable=False,
            complete=True,
            conflict=conflict,
        )
    episode = seen.episodes[ordinal]
    return answers.EpisodeResult(
        id=episode.event_id,
        score=score,
        legs=legs,
        text=episode.content or "",
        releasable=False,
        complete=True,
        episode=episode,
    )


def _reason(code: str, field: str, detail: str, remedy: str) -> answers.Reason:
    return answers.Reason(code=code, field=field, detail=detail, remedy=remedy)


def _trace_id(asked: Asked, request: RecallQuery, hasher: Hasher) -> str:
    """Names this question at this state, under the tenant-blind keyed hash of the service."""
    state = (
        asked.scope + asked.head.hash + msgspec.msgpack.encode((asked.valid_at, asked.recorded_at))
    )
    digest = hashlib.sha256(state + msgspec.msgpack.encode(request)).digest()
    return "t-" + hasher.content(digest).hex()
