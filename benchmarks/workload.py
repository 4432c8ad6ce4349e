"""The benchmark's events: 60% observations, 30% assertions, 6% retractions, 4% deletions.

Observations have 200 to 400 bytes; assertions quote one of them exactly. Everything comes from a
seed and is built, encoded and signed outside the measured time. A subject's events do not depend on
which other subjects are kept, so the same scope can be had in a small store and in a large one.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator

from projections.ports import LogRecord
from schemas.codec import Codec
from schemas.events import (
    Actor,
    Assertion,
    Deletion,
    Derivation,
    Envelope,
    Event,
    Observation,
    Premise,
    Retraction,
    Value,
)
from schemas.kinds import Kind
from schemas.principals import LOCAL
from schemas.scope import Scope
from schemas.signing import Signer
from schemas.topics import TopicNames

SUBJECTS = 1000
THINGS = 200  # a scope of 1,000 events has some 300 facts of 600 keys: about 100 are disputed
START = 1_750_000_000_000_000
QUERY = "garden light order status pump note"
WORDS = [
    *("garden", "light", "order", "invoice", "shipment", "meeting", "engine", "valve", "harbour"),
    *("crew", "morning", "report", "status", "customer", "ticket", "refund", "address", "phone"),
    *("winter", "summer", "battery", "sensor", "pump", "window", "delay", "update"),
]

Said = tuple[Kind, Event]


def scope_of(subject: str) -> Scope:
    """The scope of one of the benchmark's subjects."""
    return Scope("acme", "bench", subject)


def envelope(name: str, subject: str, n: int) -> Envelope:
    """The common fields of the n-th event."""
    actor = Actor("alice", "user")
    return Envelope(name, scope_of(subject), LOCAL, actor, "bench", START + n, name, ())


def events(
    count: int, seed: int, subjects: int = SUBJECTS, kept: int | None = None, prefix: str = ""
) -> Iterator[Said]:
    """`count` events in publishing order; of them those of the first `kept` subjects.

    Ids begin with the prefix, so that several workloads can go into one store.
    """
    rng = random.Random(seed)
    streams = [_Stream(f"s{n}", random.Random(f"{seed}/{n}"), prefix) for n in range(subjects)]
    for n in range(count):
        subject = rng.randrange(subjects)
        if kept is None or subject < kept:
            yield streams[subject].event(n)


class _Stream:
    """One subject's events; what they refer to is the subject's own."""

    def __init__(self, subject: str, rng: random.Random, prefix: str) -> None:
        self._subject = subject
        self._prefix = prefix
        self._rng = rng
        self._quotable: list[tuple[str, str]] = []
        self._facts: list[str] = []

    def event(self, n: int) -> Said:
        name, rng = f"{self._prefix}e{n}", self._rng
        common = envelope(name, self._subject, n)
        draw = rng.random()
        if draw >= 0.96 and self._quotable:
            target, _ = self._quotable.pop(rng.randrange(len(self._quotable)))
            return Kind.DELETION, Deletion(common, "observation", target, "")
        if draw >= 0.90 and self._facts:
            return Kind.RETRACTION, Retraction(common, rng.choice(self._facts), "wrong")
        if draw >= 0.60 and self._quotable:
            fact = f"{self._prefix}f{n}"
            self._facts.append(fact)
            source, quote = rng.choice(self._quotable)
            entity = f"thing {rng.randrange(THINGS)}"
            attribute = rng.choice(("state", "place", "owner"))
            word = rng.choice(WORDS)
            return Kind.ASSERTION, assertion(common, fact, entity, attribute, word, source, quote)
        words = " ".join(rng.choice(WORDS) for _ in range(60))
        content = f"note {n}: {words}"[: rng.randint(200, 400)]
        self._quotable.append((name, f"note {n}:"))
        return Kind.OBSERVATION, observation(common, content)


def observation(common: Envelope, content: str) -> Observation:
    """Plain text that somebody said."""
    return Observation(common, content, None, "text/plain", "normal", 0.5)


def assertion(
    common: Envelope,
    fact_id: str,
    entity: str,
    attribute: str,
    value: str,
    source: str,
    quote: str,
) -> Assertion:
    """A fact with one quote of one observation, valid from its own time on."""
    return Assertion(
        common,
        fact_id,
        entity,
        attribute,
        Value("string", value),
        common.occurred_at,
        None,
        1.0,
        Derivation("direct", "bench", "1"),
        ((Premise(observation=source, quote=quote, start=0, end=len(quote)),),),
        None,
        None,
    )


def intake(said: Iterable[Said], signer: Signer, topics: TopicNames) -> Iterator[LogRecord]:
    """The events as one partition's intake records, signed."""
    codec = Codec()
    offsets: dict[Kind, int] = defaultdict(int)
    for n, (kind, event) in enumerate(said):
        payload = codec.encode(kind, event)
        headers = tuple(signer.sign(kind, payload))
        yield LogRecord(topics.intake[kind], 0, offsets[kind], n, payload, headers)
        offsets[kind] += 1
