"""What is published: several model histories side by side, each with subjects of its own.

Subjects never meet, so the reference model judges each history by itself, from the intake as it was
recorded: in the order and at the append times that the log gave, with what was sent twice.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from msgspec import structs

from projections.follower import Follower
from projections.ports import LogRecord
from schemas.entry import NO_FOLLOW_UP, Entry
from schemas.events import Event
from schemas.kinds import Kind
from schemas.master import MasterKey
from schemas.policy import Policy
from schemas.principals import Principal, Registry, api_key_hash, built_in
from schemas.scope import partition_of
from schemas.topics import TopicNames
from tests.core.harness import CODEC, Core, intake, kind_of, registry_of, scope_of
from tests.core.test_differential import differences
from tests.model.asking import run
from tests.model.histories import ADAPTERS, History, from_seed, tangled
from tests.model.reference import Policy as ModelPolicy
from tests.model.rules import Record


class Said(NamedTuple):
    """One event to publish, and the model's record of it."""

    kind: Kind
    event: Event
    payload: bytes
    history: int
    record: Record


class Feed:
    """`histories` of `size` records each, so many in turns; the same for the same arguments."""

    def __init__(self, seed: int, histories: int, size: int, together: int = 0) -> None:
        self.seed = seed
        self.histories = [
            _apart((tangled if number % 2 else from_seed)(seed * 1000 + number, size), number)
            for number in range(histories)
        ]
        columns = [
            [_said(number, record) for record in history.records]
            for number, history in enumerate(self.histories)
        ]
        many = together or histories
        self.said = [
            said
            for first in range(0, histories, many)
            for row in zip(*columns[first : first + many], strict=True)
            for said in row
        ]
        self._known = {(said.kind, said.payload): said for said in self.said}

    def differences(
        self, recorded: Iterable[LogRecord], topics: TopicNames, followers: Sequence[Follower]
    ) -> list[str]:
        """Where the followers' answers differ from the model's over the recorded intake."""
        given: list[list[Record]] = [[] for _ in self.histories]
        offsets = itertools.count()  # partitions count for themselves; the order is what matters
        for record in sorted(recorded, key=lambda one: (one.append_ms, one.offset)):
            said = self._known[topics.kind_of[record.topic], record.value or b""]
            place = {"offset": next(offsets), "append_ms": record.append_ms}
            given[said.history].append({**said.record, **place})
        found = []
        for history, records in zip(self.histories, given, strict=True):
            for scope in history.scopes:
                one = replace(history, scopes=(scope,), records=tuple(records))
                seen = differences(one, run(one, records), Seen(one, followers))
                found += [f"seed {self.seed}, history {one.seed}: {words}" for words in seen]
        return found


def unanswered(entries: Iterable[Entry], places: Iterable[tuple[int, int]]) -> list[str]:
    """(kind, offset) places of a partition's intake without an entry of their own, or with two."""
    headers = [entry.header for entry in entries]
    answered = Counter((h.topic, h.offset) for h in headers if h.follows == NO_FOLLOW_UP)
    wanted = Counter(places)
    wrong = sorted((answered - wanted) + (wanted - answered))
    return [
        f"{Kind(kind).word} {offset}: {answered[kind, offset]} entries" for kind, offset in wrong
    ]


class Seen(Core):
    """A partition that stands already, asked about one scope as the core over memory is."""

    def __init__(self, history: History, followers: Sequence[Follower]) -> None:
        (scope,) = history.scopes
        self.history = history
        self.policy = Policy()
        self.steps = []
        self.follower = followers[partition_of(scope_of(scope), len(followers))]
        self.hasher = self.follower.hasher


def _apart(history: History, number: int) -> History:
    """The history about subjects of its own, judged without clock skew."""

    def subject(name: str) -> str:
        return f"{number}-{name}"

    def moved(record: Record) -> Record:
        scope = record["event"]["scope"]
        scope = {**scope, "subject": subject(scope["subject"])}
        return {**record, "event": {**record["event"], "scope": scope}}

    scopes = tuple((t, n, subject(s), branch) for t, n, s, branch in history.scopes)
    records = tuple(moved(record) for record in history.records)
    return replace(history, records=records, scopes=scopes, policy=ModelPolicy(0))


def _said(number: int, record: Record) -> Said:
    kind = kind_of(record)
    payload = intake(record).value or b""
    return Said(kind, CODEC.decode(kind, payload), payload, number, record)


def callers(master: MasterKey) -> Registry:
    """The model's adapters, known to a gateway by API keys, beside the built-in principals."""
    known = registry_of(ADAPTERS)
    return Registry((*built_in(master), *(_caller(known.principal(name)) for name in ADAPTERS)))


def _caller(principal: Principal | None) -> Principal:
    assert principal is not None
    return structs.replace(principal, api_key_hash=api_key_hash(principal.name))
