"""Strategies of valid typed events of every kind, for properties of codec and boundary."""

from __future__ import annotations

from hypothesis import strategies as st

from schemas.canonical import canonical
from schemas.events import (
    Actor,
    Assertion,
    ContentRef,
    Control,
    Deletion,
    Derivation,
    Envelope,
    Event,
    Note,
    Observation,
    Premise,
    Retraction,
    Value,
    WorkingSet,
)
from schemas.kinds import (
    ACTOR_ROLES,
    CONTROLS,
    DERIVATIONS,
    SENSITIVITIES,
    Kind,
)
from schemas.scope import Scope
from schemas.times import MAX_MICROS, MIN_MICROS

_characters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
texts = st.text(_characters, max_size=20)
words = st.text(_characters, min_size=1, max_size=12)
ids = words.filter(lambda text: text != "*")
names = words.map(lambda text: f"n{text}")
instants = st.integers(MIN_MICROS, MAX_MICROS)
units = st.floats(0, 1)
int64 = st.integers(-(2**63), 2**63 - 1)
scopes = st.builds(Scope, ids, ids, ids, ids)
envelopes = st.builds(
    Envelope,
    event_id=ids,
    scope=scopes,
    adapter=ids,
    actor=st.builds(Actor, ids, st.sampled_from(ACTOR_ROLES)),
    purpose=ids,
    occurred_at=instants,
    idempotency_key=ids,
    filled=st.just(()),
)
values = st.one_of(
    texts.map(lambda text: Value("string", text)),
    int64.map(lambda number: Value("integer", str(number))),
    st.decimals(allow_nan=False, allow_infinity=False).map(lambda d: Value("decimal", str(d))),
    st.sampled_from([Value("boolean", "true"), Value("boolean", "false")]),
    instants.map(lambda micros: Value("instant", str(micros))),
)


@st.composite
def premises(draw: st.DrawFn) -> Premise:
    """A premise of each form."""
    if draw(st.booleans()):
        return Premise(fact=draw(ids))
    quote = draw(words)
    if draw(st.booleans()):
        return Premise(observation=draw(ids), quote=quote)
    start = draw(st.integers(0, 2**40))
    return Premise(draw(ids), quote, start, start + len(quote.encode()))


@st.composite
def assertions(draw: st.DrawFn) -> Assertion:
    """Any valid assertion."""
    start = draw(st.integers(MIN_MICROS, MAX_MICROS - 1))
    ends = st.none() | st.integers(start + 1, MAX_MICROS)
    justifications = st.lists(st.lists(premises(), min_size=1, max_size=2), min_size=1, max_size=3)
    return Assertion(
        draw(envelopes),
        draw(ids),
        draw(names),
        draw(names),
        draw(values),
        start,
        draw(ends),
        draw(units),
        Derivation(draw(st.sampled_from(DERIVATIONS)), draw(words), draw(words)),
        tuple(tuple(justification) for justification in draw(justifications)),
        draw(st.none() | ids),
        draw(ends),
    )


_references = st.builds(
    ContentRef,
    uri=words,
    sha256=st.from_regex(r"[0-9a-f]{64}", fullmatch=True),
    bytes=st.integers(0, 2**63 - 1),
)
_sensitivities = st.sampled_from(SENSITIVITIES)
observations = st.builds(
    Observation, envelopes, texts, st.none(), words, _sensitivities, units
) | st.builds(Observation, envelopes, st.none(), _references, words, _sensitivities, units)
deletions = st.builds(
    Deletion, envelopes, st.sampled_from(["observation", "fact"]), ids, texts
) | st.builds(Deletion, envelopes, st.sampled_from(["subject", "scope"]), st.none(), texts)
_json = st.recursive(
    st.none() | st.booleans() | int64 | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
notes = st.builds(Note, envelopes, ids, st.dictionaries(texts, _json, max_size=3).map(canonical))

EVENTS_OF_KIND: dict[Kind, st.SearchStrategy[Event]] = {
    Kind.OBSERVATION: observations,
    Kind.ASSERTION: assertions(),
    Kind.RETRACTION: st.builds(Retraction, envelopes, ids, texts),
    Kind.DELETION: deletions,
    Kind.ASSOCIATION: notes,
    Kind.PROCEDURE: notes,
    Kind.OUTCOME: notes,
    Kind.COMMITMENT: notes,
    Kind.APPRAISAL: notes,
    Kind.CHALLENGE: notes,
    Kind.GRANT: notes,
    Kind.WORKINGSET: st.builds(
        WorkingSet,
        envelopes,
        ids,
        words,
        st.lists(ids, max_size=3).map(tuple),
        st.none() | instants,
    ),
    Kind.CONTROL: st.builds(
        Control,
        envelopes,
        st.sampled_from(CONTROLS),
        st.sampled_from(["fact", "workingset"]),
        ids,
        texts,
    ),
}
events: st.SearchStrategy[tuple[Kind, Event]] = st.sampled_from(list(Kind)).flatmap(
    lambda kind: st.tuples(st.just(kind), EVENTS_OF_KIND[kind])
)
