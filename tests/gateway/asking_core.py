"""Recalls on the in-memory core, and what they must answer, judged one record after the other."""

from __future__ import annotations

from gateway.asked import Asked, ask
from gateway.recall import FUSION_K, recall
from gateway.requests import RecallQuery
from gateway.tokens import Tokens
from gateway.views import Views
from schemas import answers
from schemas.normalise import normalise_key
from schemas.scope import Scope
from tests.core.harness import Core
from tests.projections.test_lexical import brute_force
from tests.projections.test_visible import one_by_one

TOKENS = Tokens(b"t" * 64)


def framed(core: Core, scope: Scope, t: int, upto: int | None = None) -> Asked:
    """The frame of a question at valid time `t`, to the prefix of so many steps."""
    return ask(
        core.follower.reader,
        0,
        core.hasher.scope(scope),
        core.hasher.subject(scope),
        core.policy,
        t,
        core.at_step(upto),
    )


def recalled(
    core: Core,
    scope: Scope,
    request: RecallQuery,
    t: int,
    upto: int | None = None,
    views: Views | None = None,
) -> answers.Recall:
    """The product's answer."""
    asked = framed(core, scope, t, upto)
    reader = core.follower.reader
    return recall(reader, asked, request, core.hasher, TOKENS, views or Views())


Found = list[tuple[str, str, float]]


def by_hand(
    core: Core, scope: Scope, query: str, t: int, upto: int | None = None, blocks: int = 0
) -> Found:
    """(type, id or the sides' ids, score) of every candidate, by the rules as they are written."""
    reader, scope16 = core.follower.reader, core.hasher.scope(scope)
    recorded_at = framed(core, scope, t, upto).recorded_at
    step = None if recorded_at is None else upto
    seen = {ordinal: (kind, text) for ordinal, kind, text, _ in one_by_one(core, scope, t, step)}
    key_of: dict[int, tuple[str, str]] = {}
    names: dict[tuple[str, str], set[str]] = {}
    groups: dict[bytes, list[tuple[int, str]]] = {}
    for ordinal, (kind, _) in seen.items():
        document = reader.document(scope16, ordinal)
        assert document is not None
        if kind == "episode":
            row = reader.observation(scope16, document.record)
            assert row is not None
            assert row.event is not None
            key_of[ordinal] = (kind, row.event.envelope.event_id)
            continue
        fact = reader.fact(scope16, document.record)
        assert fact is not None
        assert fact.event is not None
        key_of[ordinal] = (kind, fact.event.fact_id)
        if kind == "conflict":
            groups.setdefault(fact.entity_attribute, []).append((ordinal, fact.event.fact_id))
    for sides in groups.values():
        ids = " ".join(sorted(fact_id for _, fact_id in sides))
        key_of |= {ordinal: ("conflict", ids) for ordinal, _ in sides}
    for ordinal, key in key_of.items():
        document = reader.document(scope16, ordinal)
        assert document is not None
        fact = reader.fact(scope16, document.record) if document.fact else None
        if fact is not None and fact.event is not None:
            event = fact.event
            texts = (event.entity, event.attribute, event.value.text)
            names.setdefault(key, set()).update(map(normalise_key, texts))
    documents = reader.head(scope16).documents
    texts_of = [seen[o][1] if o in seen else "" for o in range(documents)]
    hidden = set(range(documents)) - seen.keys()
    hits = brute_force(texts_of, query, hidden, documents, blocks) if query.split() else []
    hits.sort(key=lambda hit: (-hit.score, _name(key_of[hit.ordinal])))
    asked = f" {normalise_key(query)} "
    named = {key: sum(_stands_in(n, asked) for n in found if n) for key, found in names.items()}
    lexical = list(dict.fromkeys(key_of[hit.ordinal] for hit in hits))
    places = {key: place for place, key in enumerate(lexical)}
    exact = sorted(
        (key for key in named if named[key]),
        key=lambda key: (-named[key], places.get(key, len(lexical)), _name(key)),
    )
    scores: dict[tuple[str, str], float] = {}
    for leg in (exact, lexical):
        for rank, key in enumerate(leg, start=1):
            scores[key] = scores.get(key, 0.0) + 1.0 / (FUSION_K + rank)
    order = sorted(scores, key=lambda key: (-scores[key], _name(key)))
    return [(*key, scores[key]) for key in order]


def _name(key: tuple[str, str]) -> str:
    return key[1].split(" ")[0] if key[0] == "conflict" else key[1]


def _stands_in(name: str, asked: str) -> bool:
    places = [at for at in range(len(asked)) if asked.startswith(name, at)]
    return any(
        not asked[at - 1 : at].isalnum() and not asked[at + len(name) :][:1].isalnum()
        for at in places
    )


def told(answer: answers.Recall) -> Found:
    """An answer in the words of `by_hand`."""
    found: Found = []
    for result in answer.results:
        ids = result.id
        if result.type == "conflict":
            ids = " ".join(side.fact_id for side in result.conflict.sides)
        found.append((result.type, ids, result.score))
    return found
