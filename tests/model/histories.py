"""Generated histories: small pools, so that every collision of the rules happens often.

`from_seed(seed, size)` is plain random generation, fast; the first n records of a seed are the same
for every size. `histories()` is the hypothesis strategy over it, which shrinks to the shortest
failing prefix; `minimise` then drops what is not needed. Times inside events are integer µs; a
field that is None was left out.

A `History` lists its records in publishing order: the offsets and append times (ms) of one topic
never decrease along it, ties within and between topics abound, and it is itself one interleaving.
`interleavings` gives others that keep each topic's own order, `swaps` those one step away.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.model.reference import Adapter, Policy
from tests.model.rules import Record, Scope

ADAPTERS = {
    "root": Adapter("operator", frozenset({"writer", "operator"}), system=True),
    "crm": Adapter("service", frozenset({"writer"})),
    "erp": Adapter("service", frozenset({"writer", "operator"})),
    "alice": Adapter("user", frozenset({"writer"})),
    "web": Adapter("untrusted", frozenset({"writer"})),
    "guest": Adapter("service", frozenset({"reader"})),
}
KINDS = ("observation", "assertion", "retraction", "deletion", "control")
NOTES = (
    "association", "procedure", "outcome", "commitment",
    "appraisal", "challenge", "grant", "workingset",
)  # fmt: skip
DAY = 86_400_000_000
EPOCH = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z, in µs
CLOCK = 1_767_225_600_000  # the same in ms

TEXTS = {  # what an observation id says, most of the time
    "o1": "I moved to Berlin in May.",
    "o2": "né à Zürich, né à Zürich; lives in Munich",
    "o3": "aaa: 7 tags, 1.50 EUR, Berlin",
    "o4": "Berlin? No: Munich.",
}
REFERENCE = {"uri": "file:report.pdf", "sha256": "0" * 64, "bytes": 11}
ENTITIES = ("alice", "alice", "alice", "Alice", "ALI\u200bCE", "\u0430lice")
ATTRIBUTES = ("city", "city", "city", " City", "tags")
VALUES: tuple[tuple[str, Any], ...] = (
    ("string", "Berlin"), ("string", " berlin "), ("string", "Munich"), ("string", "7"),
    ("string", "2\u2075"), ("string", "25"), ("integer", 7), ("decimal", "1.50"),
    ("decimal", "1.5"), ("boolean", True), ("instant", EPOCH), ("string", "Zu\u0308rich"),
    ("string", "Z\u00fcrich"),
)  # fmt: skip


@dataclass(frozen=True)
class History:
    """Records in publishing order and the registry and policy under which they are judged."""

    seed: int
    records: tuple[Record, ...]
    policy: Policy
    scopes: tuple[Scope, ...]
    adapters: dict[str, Adapter]


def from_seed(seed: int, size: int = 16, notes: bool = False) -> History:
    """A history of `size` records; with `notes`, also of kinds that have no rules yet."""
    return _Author(random.Random(seed), seed, notes).write(size)


def tangled(seed: int, size: int = 16) -> History:
    """As `from_seed`, but most premises are facts."""
    return _Author(random.Random(seed), seed, notes=False, facts=0.55).write(size)


def histories(max_size: int = 24) -> st.SearchStrategy[History]:
    """Histories of 1 to `max_size` records."""
    return st.builds(from_seed, st.integers(0, 2**48), st.integers(1, max_size))


def topic(record: Record) -> str:
    """The topic of a record: its order is kept by every interleaving."""
    return str(record["kind"])


def interleaving(records: Sequence[Record], rng: random.Random) -> list[Record]:
    """One random merge of the topics, sometimes with long runs of one of them."""
    queues: dict[str, list[Record]] = {}
    for record in records:
        queues.setdefault(topic(record), []).append(record)
    merged: list[Record] = []
    while queues:
        name = rng.choice(sorted(queues))
        for _ in range(rng.choice((1, 1, 2, len(records)))):
            if name in queues:
                merged.append(queues[name].pop(0))
                if not queues[name]:
                    del queues[name]
    return merged


def interleavings(records: Sequence[Record], rng: random.Random, n: int) -> list[list[Record]]:
    """`n` random interleavings; the first two read one topic after the other, both ways round."""
    by_topic = [
        [record for name in names for record in records if topic(record) == name]
        for names in (sorted({topic(r) for r in records}),)
        for names in (names, names[::-1])
    ]
    return [*by_topic, *(interleaving(records, rng) for _ in range(n))][:n]


def swaps(records: Sequence[Record]) -> Iterator[tuple[int, list[Record]]]:
    """Each interleaving that differs in the order of two neighbours, with the first's index."""
    for n in range(len(records) - 1):
        if topic(records[n]) != topic(records[n + 1]):
            yield n, [*records[:n], records[n + 1], records[n], *records[n + 2 :]]


def minimise(records: Sequence[Record], fails: Callable[[list[Record]], bool]) -> list[Record]:
    """Drop records one by one for as long as `fails` still holds of the rest."""
    kept, n = list(records), 0
    while n < len(kept):
        rest = kept[:n] + kept[n + 1 :]
        if fails(rest):
            kept, n = rest, 0
        else:
            n += 1
    return kept


class _Author:
    """Writes one history; draws from `rng` in the same order whatever the size."""

    def __init__(self, rng: random.Random, seed: int, notes: bool, facts: float = 0.2) -> None:
        self.rng = rng
        self.seed = seed
        self.facts = facts  # how many premises are facts
        subjects = ["s1"] if rng.random() < 0.8 else ["s1", "s2"]
        branches = ["main"] if rng.random() < 0.7 else ["main", "try"]
        self.scopes = [("acme", "support", s, b) for s in subjects for b in branches]
        self.observation_ids = list(TEXTS)[: rng.randint(2, 4)]
        self.fact_ids = [f"f{n}" for n in range(1, rng.randint(3, 8))]
        self.skew = rng.choice((0, 0, 0, 2))
        self.mixed = (
            rng.random() < 0.3
        )  # a motley of attributes and values, or one bone of contention
        weights = {
            "observation": 5,
            "assertion": 9,
            "retraction": rng.choice((1, 2)),
            "deletion": rng.choice((1, 2, 3)),
            "control": 1,
        }
        if notes:
            weights |= dict.fromkeys(NOTES, 1)
        self.kinds, self.weights = list(weights), list(weights.values())
        self.barrier = rng.choice((0.0, 0.1, 0.4))  # how many deletions take a whole subject
        self.written: list[Record] = []
        self.clock = CLOCK

    def write(self, size: int) -> History:
        """The history of the first `size` records."""
        while len(self.written) < size:
            again = self.written and self.rng.random() < 0.06
            self.written.append(self.repeat() if again else self.fresh())
        policy = Policy(self.skew)
        return History(self.seed, tuple(self.written), policy, tuple(self.scopes), ADAPTERS)

    def record(self, kind: str, adapter: str, event: Record, filled: Sequence[str]) -> Record:
        self.clock += self.rng.choice((0, 0, 1, 1, 3))
        offset = sum(record["kind"] == kind for record in self.written)
        return {
            "kind": kind, "offset": offset, "append_ms": self.clock, "adapter": adapter,
            "event": event, "filled": tuple(filled),
        }  # fmt: skip

    def fresh(self) -> Record:
        kind = self.rng.choices(self.kinds, self.weights)[0]
        body: Record = getattr(self, kind, dict)()
        adapters = ["root", "crm", "crm", "crm", "erp", "alice", "alice", "web"]
        if kind == "control":
            adapters = ["root", "root", "root", "crm"]
        if {"subject", "scope"} & body.get("target", {}).keys():
            adapters = ["root", "erp", "erp", "crm"]
        adapter = "guest" if self.rng.random() < 0.03 else self.rng.choice(adapters)
        event_id = body.pop("event_id", f"e{len(self.written)}")
        tenant, namespace, subject, branch = self.rng.choice(self.scopes)
        event = {
            "kind": kind,
            "event_id": event_id,
            "scope": {
                "tenant": tenant, "namespace": namespace, "subject": subject, "branch": branch,
            },
            "occurred_at": EPOCH,
            "actor": {"id": adapter, "role": "system"},
            "purpose": "unspecified",
            "idempotency_key": f"k{len(self.written)}",
            **body,
        }  # fmt: skip
        left_out = self.rng.choice(((), (), ("occurred_at",), ("occurred_at", "fact_id")))
        filled = [name for name in left_out if kind == "assertion" or name != "fact_id"]
        return self.record(kind, adapter, event, filled)

    def repeat(self) -> Record:
        """An earlier record once more: the same content, or other content under its key."""
        old = self.rng.choice(self.written)
        event = {**old["event"]}
        how = self.rng.choice(("retry", "refilled", "refilled", "other", "other adapter"))
        if how == "refilled":  # as a client does that sends it anew: what it left out differs
            observed = old["kind"] == "observation"
            new_id = self.rng.choice(self.observation_ids) if observed else f"e{len(self.written)}"
            fresh = {
                "event_id": new_id,
                "occurred_at": EPOCH + DAY,
                "fact_id": self.rng.choice(self.fact_ids),
            }
            event |= {name: fresh[name] for name in ("event_id", *old["filled"])}
        if how == "other":
            event |= {"purpose": "audit"}
        adapter = self.rng.choice(("crm", "root")) if how == "other adapter" else old["adapter"]
        return self.record(old["kind"], adapter, event, old["filled"])

    def mostly_new(self, ids: Sequence[str]) -> str:
        """An id of the pool, mostly one that no record has brought yet."""
        brought = {r["event"].get("fact_id") for r in self.written if r["kind"] == "assertion"}
        brought |= {r["event"]["event_id"] for r in self.written}
        new = [name for name in ids if name not in brought]
        return self.rng.choice(new if new and self.rng.random() < 0.8 else ids)

    def observation(self) -> Record:
        name = self.mostly_new(self.observation_ids)
        body: Record = {"event_id": name, "content": TEXTS[name]}
        chance = self.rng.random()
        if chance < 0.1:
            body["content"] = self.rng.choice(list(TEXTS.values()))
        if chance > 0.9:
            body = {"event_id": name, "content": None, "content_ref": REFERENCE}
        return {**body, "media_type": "text/plain", "sensitivity": "normal", "salience": 0.5}

    def quote(self) -> Record:
        name = self.rng.choice(self.observation_ids)
        text = TEXTS[name].encode()
        good = {"o1": "Berlin", "o2": "Munich", "o3": "Berlin", "o4": "Munich"}[name]
        at = text.index(good.encode())
        chance = self.rng.random()
        premise = {"observation": name, "quote": good, "start": None, "end": None}
        if chance < 0.45:
            return premise
        if chance < 0.75:
            return premise | {"start": at, "end": at + len(good)}
        twice = {"o2": "né à Zürich", "o3": "aa"}.get(name)
        if chance < 0.9 and twice is not None:
            start = text.rindex(twice.encode())
            spans = (None, None), (None, None), (start, start + len(twice.encode()))
            start_end = self.rng.choice(spans)
            return premise | {"quote": twice, "start": start_end[0], "end": start_end[1]}
        whole = text.decode()
        bad: Sequence[Record] = (
            {"quote": "Paris"},
            {"quote": "berlin"},
            {"quote": good, "start": at + 1, "end": at + 1 + len(good)},
            {"quote": whole, "start": 5, "end": 5 + len(text)},  # beyond the end
        )
        return premise | self.rng.choice(bad)

    def justification(self) -> Record:
        count = self.rng.choice((1, 1, 1, 2))
        return {
            "premises": [
                {"fact": self.rng.choice(self.fact_ids)}
                if self.rng.random() < self.facts
                else self.quote()
                for _ in range(count)
            ]
        }

    def assertion(self) -> Record:
        rng = self.rng
        start = rng.choice((0, 0, 1, 2))
        end = rng.choice((None, None, None, start + 1, start + 2))
        expires = rng.choice((None,) * 6 + (start + 1, start + 3))
        kind, value = rng.choice(VALUES if self.mixed else VALUES[:3])
        return {
            "fact_id": self.mostly_new(self.fact_ids),
            "entity": rng.choice(ENTITIES) if self.mixed else rng.choice(ENTITIES[:4]),
            "attribute": rng.choice(ATTRIBUTES) if self.mixed else rng.choice(ATTRIBUTES[:4]),
            "value": value,
            "type": kind,
            "valid_from": EPOCH + start * DAY,
            "valid_to": None if end is None else EPOCH + end * DAY,
            "expires_at": None if expires is None else EPOCH + expires * DAY,
            "confidence": 1,
            "derivation": {
                "kind": rng.choice(("direct",) * 6 + ("derived", "inferred")),
                "method": "unspecified",
                "version": "1",
            },
            "justifications": [self.justification() for _ in range(rng.choice((1, 1, 1, 2, 2, 3)))],
            "supersedes": rng.choice(self.fact_ids) if rng.random() < 0.45 else None,
        }

    def retraction(self) -> Record:
        return {"fact_id": self.rng.choice(self.fact_ids), "reason": "corrected"}

    def deletion(self) -> Record:
        chance = self.rng.random()
        target: Record = {"subject": True} if self.rng.random() < 0.9 else {"scope": True}
        if chance >= self.barrier:
            target = self.rng.choice(
                (
                    {"observation": self.rng.choice(self.observation_ids)},
                    {"fact": self.rng.choice(self.fact_ids)},
                )
            )
        return {"target": target, "reason": "asked to"}

    def control(self) -> Record:
        return {"control": "timeout", "target": {"fact": self.rng.choice(self.fact_ids)},
                "reason": "waited long enough"}  # fmt: skip
