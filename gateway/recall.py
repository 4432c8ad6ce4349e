"""Recall: what bears on this? (SPEC §8; the legs of this version: exact and lexical.)

Rules
- Access is decided first: only visible records are searched, counted and ranked. A view of the
  scope says which these are (`gateway.views`); each one that is served is read and judged again,
  and if it is not what the view said, the read stops (SPEC §5).
- Legs rank candidates: a fact, an episode, or a conflict, which is one candidate however many
  sides it has and is found by the best of them. Legs are fused by reciprocal rank (K = 10: on
  LoCoMo the customary 60 is measurably worse), packed greedily under the caller's budgets.
- In a scope too large to be looked at as a whole the exact leg knows the keys of the tail's facts
  and of those that the lexical leg came upon; if candidates had to be left unjudged, or a key has
  more facts than are read, the answer is `partial` and says `scope_truncated`.
- Recall changes nothing, and the same state and request give the same answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec
import numpy as np

from gateway.asked import Asked
from gateway.requests import RecallQuery
from gateway.serving import Serving
from gateway.tokens import Tokens
from gateway.views import ScopeView, Views, names_of
from projections.lexical import JUDGED, NoSearchableTerms, search
from projections.lexical_rows import read_block_rows
from projections.sights import Candidate, Sight, Standing
from projections.state import Reader
from projections.visible import MEMBERS, Glances, Viewer
from schemas import answers
from schemas.normalise import normalise_key
from schemas.sealing import Hasher

FUSION_K = 10
LEG_DEPTH = 200
CHARACTERS_A_TOKEN = 4

_NO_TERMS = answers.Reason(
    code="no_searchable_terms",
    field="query",
    detail="the query has no word or symbol to search for",
    remedy="ask with at least one word",
)
_QUERY_TRUNCATED = answers.Reason(
    code="query_truncated",
    field="query",
    detail="only its first terms were used",
    remedy="ask shorter",
)
_SCOPE_TRUNCATED = answers.Reason(
    code="scope_truncated",
    field="query",
    detail=f"more than {JUDGED:,} candidates, or keys of more than {MEMBERS:,} facts in all",
    remedy="ask with rarer words, or list the facts of one entity and attribute",
)
_RESULTS_CUT = answers.Reason(
    code="token_budget",
    field="token_budget",
    detail="results were left out",
    remedy="raise token_budget",
)


class _Search:
    """One question to one scope: the kept view of its tail, and what is looked at beyond it."""

    def __init__(self, reader: Reader, asked: Asked, view: ScopeView, types: Sequence[str]) -> None:
        self.count = view.blocks
        self._reader = reader
        self._asked = asked
        self._view = view
        self._types = types
        self._beyond: dict[int, Sight] = {}
        self._viewer: Viewer | None = None

    # The rest of the scope, as the lexical leg reads it

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
                Glances({}, {}, {}),
                self._view.standing,
            )
        found = {sight.ordinal: sight for sight in self._viewer.see(ordinals)}
        self._beyond |= found
        return {ordinal for ordinal, sight in found.items() if self._wanted(sight.candidate)}

    def candidate(self, ordinal: int) -> Candidate:
        """What a document is (a part of)."""
        return self._sight(ordinal).candidate

    def _sight(self, ordinal: int) -> Sight:
        return self._view.sights.get(ordinal) or self._beyond[ordinal]

    def _wanted(self, candidate: Candidate) -> bool:
        return not self._types or candidate.kind in self._types

    # The legs

    def legs(self, query: str, depth: int) -> tuple[dict[str, list[Sight]], list[answers.Reason]]:
        """Sights a leg, one a candidate, best first; what was left out."""
        sights = self._view.sights.values()
        wanted = np.ones(len(sights), np.bool_)
        if self._types:
            wanted[:] = [self._wanted(sight.candidate) for sight in sights]
        found = search(self._view.tail, wanted, self, query, depth)
        if isinstance(found, NoSearchableTerms):
            return {}, [_NO_TERMS]
        missing = [_QUERY_TRUNCATED] if found.truncated else []
        looked = self._view.complete and (self._viewer is None or self._viewer.complete)
        if not (found.complete and looked):
            missing.append(_SCOPE_TRUNCATED)
        ranked = [(hit.score, self._sight(hit.ordinal)) for hit in found.hits]
        ranked.sort(key=lambda one: (-one[0], one[1].candidate.name))
        lexical = [sight for _, sight in ranked]
        return {"exact": self._exact(query, lexical)[:depth], "lexical": lexical}, missing

    def _groups_beyond(self) -> list[Standing]:
        """Groups of which the tail has no document, as far as they were looked at."""
        looked_at = {} if self._viewer is None else self._viewer.standing
        known = self._view.standing
        return [one for attribute16, one in looked_at.items() if attribute16 not in known]

    def _exact(self, query: str, lexical: Sequence[Sight]) -> list[Sight]:
        """What the query names by entity, attribute or value; most names first.

        Ties go by lexical rank: an order of their own (by id) would outvote the other leg with
        chance, so that fused legs were worse than one alone.
        """
        asked = f" {normalise_key(query)} "
        found: dict[Candidate, Sight] = {}
        named: dict[Candidate, set[str]] = {}
        for names in (self._view.names, names_of(self._groups_beyond())):
            for name, sights in names.items():
                if name in asked and _stands_in(name, asked):
                    for sight in sights:
                        found.setdefault(sight.candidate, sight)
                        named.setdefault(sight.candidate, set()).add(name)
        wanted = filter(self._wanted, named)
        rank = {sight.candidate: place for place, sight in enumerate(lexical)}

        def order(one: Candidate) -> tuple[int, int, str]:
            return (-len(named[one]), rank.get(one, len(rank)), one.name)

        return [found[one] for one in sorted(wanted, key=order)]


def _fused(legs: dict[str, list[Sight]]) -> list[tuple[Sight, float, tuple[str, ...]]]:
    """Reciprocal-rank fusion: sights, one a candidate, with their scores and legs, best first."""
    sights: dict[Candidate, Sight] = {}
    scores: dict[Candidate, float] = {}
    found_by: dict[Candidate, tuple[str, ...]] = {}
    for leg, ranked in legs.items():
        for rank, sight in enumerate(ranked, start=1):
            one = sight.candidate
            sights.setdefault(one, sight)
            scores[one] = scores.get(one, 0.0) + 1.0 / (FUSION_K + rank)
            found_by[one] = (*found_by.get(one, ()), leg)
    order = sorted(scores, key=lambda one: (-scores[one], one.name))
    return [(sights[one], scores[one], found_by[one]) for one in order]


def recall(
    reader: Reader,
    asked: Asked,
    request: RecallQuery,
    hasher: Hasher,
    tokens: Tokens,
    views: Views,
) -> answers.Recall:
    """Answer a recall from one consistent state."""
    searched = _Search(reader, asked, views.view(reader, asked), request.types)
    legs, missing = searched.legs(request.query, max(LEG_DEPTH, request.limit))
    serving = Serving(reader, asked)
    results: list[answers.RecallResult] = []
    used = 0
    cut = False
    for sight, score, names in _fused(legs):
        if len(results) == request.limit:
            break
        result = serving.result(sight, score, names)
        cost = -(-len(result.text) // CHARACTERS_A_TOKEN)
        if request.token_budget is not None and used + cost > request.token_budget:
            cut = True
            continue
        used += cost
        results.append(result)
    if cut:
        missing.append(_RESULTS_CUT)
    partial = cut or _SCOPE_TRUNCATED in missing
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


def _trace_id(asked: Asked, request: RecallQuery, hasher: Hasher) -> str:
    """Names this question at this state, under the tenant-blind keyed hash of the service."""
    state = (
        asked.scope + asked.head.hash + msgspec.msgpack.encode((asked.valid_at, asked.recorded_at))
    )
    digest = hashlib.sha256(state + msgspec.msgpack.encode(request)).digest()
    return "t-" + hasher.content(digest).hex()
