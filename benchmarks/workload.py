"""The benchmark's events: 60% observations, 30% assertions, 6% retractions, 4% deletions.

Observations have 200 to 400 bytes, over 1,000 subjects; assertions quote one of them exactly.
Everything is built, encoded and signed beforehand, from a seed.
"""

from __future__ import annotations

import random
from collections import defaultdict

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
START = 1_790_000_000_000_000
WORDS = (
    "garden",
    "light",
    "order",
    "invoice",
    "shipment",
    "meeting",
    "engine",
    "valve",
    "harbour",
    "crew",
    "morning",
    "report",
    "status",
    "customer",
    "ticket",
    "refund",
    "address",
    "phone",
    "winter",
    "summer",
    "battery",
    "sensor",
    "pump",
    "window",
    "delay",
    "update",
)


def events(count: int, seed: int) -> list[tuple[Kind, Event]]:
    """`count` events in publishing order."""
    rng = random.Random(seed)
    quotable: dict[str, list[tuple[str, str]]] = defaultdict(list)
    facts: dict[str, list[str]] = defaultdict(list)
    made: list[tuple[Kind, Event]] = []
    for n in range(count):
        subject = f"s{rng.randrange(SUBJECTS)}"
        envelope = Envelope(
            f"e{n}",
            Scope("acme", "bench", subject),
            LOCAL,
            Actor("alice", "user"),
            "bench",
            START + n,
            f"e{n}",
            (),
        )
        draw = rng.random()
        if draw >= 0.96 and quotable[subject]:
            target, _ = quotable[subject].pop(rng.randrange(len(quotable[subject])))
            made.append((Kind.DELETION, Deletion(envelope, "observation", target, "")))
        elif draw >= 0.90 and facts[subject]:
            made.append(
                (Kind.RETRACTION, Retraction(envelope, rng.choice(facts[subject]), "wrong"))
            )
        elif draw >= 0.60 and quotable[subject]:
            source, quote = rng.choice(quotable[subject])
            facts[subject].append(f"f{n}")
            made.append((Kind.ASSERTION, _assertion(rng, envelope, f"f{n}", source, quote)))
        else:
            words = " ".join(rng.choice(WORDS) for _ in range(rng.randrange(30, 60)))
            content = f"note {n}: {words}"[: rng.randrange(200, 400)]
            quotable[subject].append((f"e{n}", f"note {n}:"))
            made.append(
                (
                    Kind.OBSERVATION,
                    Observation(envelope, content, None, "text/plain", "normal", 0.5),
                )
            )
    return made


def _assertion(
    rng: random.Random, envelope: Envelope, fact_id: str, source: str, quote: str
) -> Assertion:
    return Assertion(
        envelope,
        fact_id,
        f"thing {rng.randrange(20)}",
        rng.choice(("state", "place", "owner")),
        Value("string", rng.choice(WORDS)),
        envelope.occurred_at,
        None,
        1.0,
        Derivation("direct", "bench", "1"),
        ((Premise(observation=source, quote=quote, start=0, end=len(quote)),),),
        None,
        None,
    )


def intake(made: list[tuple[Kind, Event]], signer: Signer, topics: TopicNames) -> list[LogRecord]:
    """The events as one partition's intake records, signed."""
    codec = Codec()
    offsets: dict[Kind, int] = defaultdict(int)
    records = []
    for n, (kind, event) in enumerate(made):
        payload = codec.encode(kind, event)
        headers = tuple(signer.sign(kind, payload))
        records.append(LogRecord(topics.intake[kind], 0, offsets[kind], n, payload, headers))
        offsets[kind] += 1
    return records
