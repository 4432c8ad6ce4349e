"""Recall: what bears on this? (SPEC §8; the legs of this version: exact and lexical.)

Rules
- Access is decided first: only visible records are searched, counted and ranked. A view of the
  scope says which these are (`gateway.views`); each one that is served is read and judged again,
  and if it is not what the view said, the read stops (SPEC §5).
- Legs rank candidates: a fact, an episode, or a conflict, which is one candidate however many
  sides it has and is found by the best of them. Legs are fused by reciprocal rank (K = 10: on
  LoCoMo the customary 60 is measurably worse), packed greedily under the caller's budgets.
- In a scope that has posting blocks the exact leg knows the facts of the tail and those that the
  lexical leg came upon; if that had to leave candidates unjudged, the answer is `partial` and says
  `scope_truncated`.
- Recall changes nothing, and the same state and request give the same answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from gateway.asked import Asked
from gateway.requests import RecallQuery
from gateway.serving import Serving
from gateway.tokens import Tokens
from gateway.views import Names, ScopeView, Views, candidate, names_of
from projections.lexical import NoSearchableTerms, search
from projections.lexical_rows import blocks_of, read_block_rows, read_documents
from projections.state import Reader
from projections.visible import Sight, Viewer, kind_of
from schemas import answers
from schemas.normalise import normalise_key
from schemas.sealing import Hasher

FUSION_K = 10
LEG_DEPTH = 200
CHARACTERS_A_TOKEN = 4


class _Candidate(NamedTuple):
    """A fused candidate: one of its documents, its score, the legs that found it."""

    sight: Sight
    score: float
    legs: tuple[str, ...]


class _Search:
    """One question to one scope: the kept view of its tail, and what is looked at beyond it."""

    def __init__(
        self, reader: Reader, asked: Asked, view: ScopeView, types: frozenset[str]
    ) -> None:
        self.count = blocks_of(asked.head.documents)
        self._reader = reader
        self._asked = asked
        self._view = view
        self._types = types
        self._beyond: dict[int, Sight] = {}
        self._viewer: Viewer | None = None

    def rows(self, keys: Sequence[tuple[int, bytes]]) -> Sequence[bytes | None]:
        """Rows of posting blocks."""
        return read_block_rows(self._reader, self._asked.scope, keys)

    def visible(self, ordinals: Sequence[int]) -> set[int]:
        """Those documents of blocks that are seen and asked for."""
        asked = self._asked
        if self._viewer is None:
            assert asked.valid_at is not None
            self._viewer = Viewer(
                self._reader,
                asked.scope,
                asked.horizon,
                asked.policy,
                asked.valid_at,
                self._view.standing,
                whole=False,
            )
        sights = self._viewer.see(read_documents(self._reader, asked.scope, ordinals))
        found = {sight.ordinal: sight for sight in sights if self.wanted(sight)}
        self._beyond |= found
        return set(found)

    def candidate(self, ordinal: int) -> Hashable:
        """What a document is a part of."""
        return candidate(self.sight(ordinal))

    def sight(self, ordinal: int) -> Sight:
        """A document that was seen."""
        return self._view.sights.get(ordinal) or self._beyond[ordinal]

    def wanted(self, sight: Sight) -> bool:
        """Whether it is of a type that was asked for."""
        return not self._types or kind_of(sight) in self._types

    def name(self, ordinal: int) -> str:
        """What breaks a tie: the record's own id, the same in every deployment."""
        sight = self.sight(ordinal)
        if kind_of(sight) == "conflict":
            assert sight.standing is not None
            return min(side.fact_id for side in sight.standing.facts.values())
        return sight.name

    def names(self) -> list[Names]:
        """Facts and conflicts by name, in the tail and beyond."""
        return [self._view.names, names_of(self._beyond.values())]

    def legs(self, query: str, depth: int) -> tuple[dict[str, list[int]], list[answers.Reason]]:
        """Ordinals a leg, one a candidate, best first; what was left out."""
        sights = self._view.sights.values()
        wanted = np.fromiter(map(self.wanted, sights), np.bool_, len(sights))
        found = search(self._view.tail, wanted, self, query, depth)
        if isinstance(found, NoSearchableTerms):
            return {}, [
                _reason(
                    "no_searchable_terms",
                    "query",
                    "the query has no word or symbol to search for",
                    "ask with at least one word",
                )
            ]
        missing = []
        if found.truncated:
            missing.append(
                _reason("query_truncated", "query", "only its first terms were used", "ask shorter")
            )
        if not found.complete:
            missing.append(
                _reason(
                    "scope_truncated",
                    "query",
                    "the scope holds more candidates than one recall judges",
                    "ask with rarer words",
                )
            )
        ties = sorted(found.hits, key=lambda hit: (-hit.score, self.name(hit.ordinal)))
        lexical = [hit.ordinal for hit in ties]
        return {"exact": self._exact(query, depth), "lexical": lexical}, missing

    def _exact(self, query: str, depth: int) -> list[int]:
        """What the query names by entity, attribute or value; most names first."""
        asked = f" {normalise_key(query)} "
        ordinals: dict[Hashable, int] = {}
        scores: dict[Hashable, set[str]] = {}
        for names in self.names():
            for name, having in names.items():
                if name in asked and _stands_in(name, asked):
                    for key, ordinal in having.items():
                        ordinals.setdefault(key, ordinal)
                        scores.setdefault(key, set()).add(name)
        ranked = sorted(
            (-len(found), self.name(ordinals[key]), ordinals[key])
            for key, found in scores.items()
            if self.wanted(self.sight(ordinals[key]))
        )
        return [ordinal for _, _, ordinal in ranked[:depth]]

    def fused(self, legs: dict[str, list[int]]) -> list[_Candidate]:
        """Reciprocal-rank fusion."""
        scores: dict[Hashable, float] = {}
        found_by: dict[Hashable, list[str]] = {}
        ordinals: dict[Hashable, int] = {}
        for leg, ranked in legs.items():
            for rank, ordinal in enumerate(ranked, start=1):
                key = self.candidate(ordinal)
                ordinals.setdefault(key, ordinal)
                scores[key] = scores.get(key, 0.0) + 1.0 / (FUSION_K + rank)
                found_by.setdefault(key, []).append(leg)
        order = sorted(scores, key=lambda key: (-scores[key], self.name(ordinals[key])))
        return [
            _Candidate(self.sight(ordinals[key]), scores[key], tuple(found_by[key]))
            for key in order
        ]


def recall(
    reader: Reader,
    asked: Asked,
    request: RecallQuery,
    hasher: Hasher,
    tokens: Tokens,
    views: Views,
) -> answers.Recall:
    """Answer a recall from one consistent state."""
    searched = _Search(reader, asked, views.view(reader, asked), frozenset(request.types))
    legs, missing = searched.legs(request.query, max(LEG_DEPTH, request.limit))
    serving = Serving(reader, asked)
    results: list[answers.RecallResult] = []
    used = 0
    cut = False
    for found in searched.fused(legs):
        if len(results) == request.limit:
            break
        result = serving.result(found.sight, found.score, found.legs)
        cost = -(-len(result.text) // CHARACTERS_A_TOKEN)
        if request.token_budget is not None and used + cost > request.token_budget:
            cut = True
            continue
        used += cost
        results.append(result)
    if cut:
        missing.append(
            _reason("token_budget", "token_budget", "results were left out", "raise token_budget")
        )
    partial = cut or any(reason.code == "scope_truncated" for reason in missing)
    return answers.Recall(
        snapshot=asked.snapshot(tokens),
        status=_status(results, partial),
        results=tuple(results),
        budget=answers.Budget(
            limit=request.limit,
            token_budget=request.token_budget,
            results=len(results),
            tokens=used,
        ),
        missing=tuple(missing),
        trace_id=_trace_id(asked, request, hasher),
    )


def _status(results: list[answers.RecallResult], partial: bool) -> str:
    if partial:
        return "partial"
    return "complete" if results else "insufficient_evidence"


def _stands_in(name: str, asked: str) -> bool:
    at = asked.find(name)
    while at >= 0:
        before, after = asked[at - 1 : at], asked[at + len(name) : at + len(name) + 1]
        if not before.isalnum() and not after.isalnum():
            return True
        at = asked.find(name, at + 1)
    return False


def _reason(code: str, field: str, detail: str, remedy: str) -> answers.Reason:
    return answers.Reason(code=code, field=field, detail=detail, remedy=remedy)


def _trace_id(asked: Asked, request: RecallQuery, hasher: Hasher) -> str:
    """Names this question at this state, under the tenant-blind keyed hash of the service."""
    state = (
        asked.scope + asked.head.hash + msgspec.msgpack.encode((asked.valid_at, asked.recorded_at))
    )
    digest = hashlib.sha256(state + msgspec.msgpack.encode(request)).digest()
    return "t-" + hasher.content(digest).hex()
