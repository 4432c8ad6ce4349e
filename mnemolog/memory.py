"""`Memory`: the Python door (INTERFACE "Python"). Answers are frozen models of the JSON.

A scope remembers the token of its last write and passes it as `after`, so what was written is read.
"""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Callable, Coroutine, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from mnemolog.doors import Door, EmbeddedDoor, HttpDoor, Json, now_micros
from schemas import answers
from schemas.ids import uuid7

WAIT = 5.0
Claim = tuple[str, str, Any, Sequence[str]]
R = TypeVar("R")


class AssertionReceipt(answers.Receipt):
    """The receipt of an assertion, with the id of the fact that it proposes."""

    fact_id: str


def new_id() -> str:
    """A UUIDv7."""
    return uuid7(now_micros() // 1000, os.urandom(10))


class Memory:
    """A memory: a data directory opened in this process, or a server that is connected to."""

    def __init__(self, door: Door) -> None:
        self.door = door

    @classmethod
    def open(cls, path: str | Path, *, create: bool = True) -> Memory:
        """The embedded runtime over a data directory, made if it is not there."""
        return cls(EmbeddedDoor.open(Path(path), create=create))

    @classmethod
    def connect(cls, url: str, key: str) -> Memory:
        """A server over HTTP."""
        return cls(HttpDoor(url, key))

    def scope(
        self, tenant: str, namespace: str, subject: str, branch: str = "main"
    ) -> ScopedMemory:
        """The memory of one scope."""
        return ScopedMemory(
            self.door,
            {"tenant": tenant, "namespace": namespace, "subject": subject, "branch": branch},
        )

    def publish(self, events: Iterable[Json], wait: float = WAIT) -> list[answers.Receipt]:
        """Publish events as JSON objects, of any scopes, in order."""
        return self.door.publish(list(events), wait)

    def verify(
        self, deep: bool = False, against: answers.Checkpoint | None = None
    ) -> answers.Verification:
        """Check the ledger, also against a checkpoint that was kept elsewhere."""
        kept = None if against is None else against.model_dump(mode="json")
        return self.door.verify(deep, kept)

    def checkpoint(self) -> answers.Checkpoint:
        """Sign where every partition stands: keep it away from the memory."""
        return self.door.checkpoint()

    def replay(self, progress: Callable[[int, int], None] | None = None) -> dict[str, int]:
        """Rebuild the projections while reads go on; entries by partition."""
        return self.door.replay(progress)

    def close(self) -> None:
        """Let it go; idempotent."""
        self.door.close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class ScopedMemory:
    """What can be said and asked in one scope. Times are RFC 3339 texts."""

    def __init__(self, door: Door, scope: Json) -> None:
        self._door = door
        self._scope = scope
        self._after: str | None = None

    # Saying

    def observe(
        self,
        content: str | None = None,
        *,
        actor: str | None = None,
        role: str = "user",
        **fields: Any,
    ) -> answers.Receipt:
        """Publish an observation; `fields` are those of INTERFACE "Events"."""
        event: Json = {"kind": "observation", **fields}
        if content is not None:
            event["content"] = content
        if actor is not None:
            event["actor"] = {"id": actor, "role": role}
        return self._publish(event)

    def assert_fact(
        self,
        entity: str,
        attribute: str,
        value: Any,
        *,
        source: answers.Receipt | str | None = None,
        quote: str | None = None,
        start: int | None = None,
        end: int | None = None,
        justifications: Sequence[Json] | None = None,
        fact_id: str | None = None,
        **fields: Any,
    ) -> AssertionReceipt:
        """Publish an assertion, by one quote of a source or by whole justifications."""
        if justifications is None:
            premise: Json = {
                "observation": source if isinstance(source, str | None) else source.event_id,
                "quote": quote,
            }
            premise |= {n: v for n, v in (("start", start), ("end", end)) if v is not None}
            justifications = [{"premises": [premise]}]
        name = fact_id or new_id()
        event = {
            "kind": "assertion",
            "entity": entity,
            "attribute": attribute,
            "value": value,
            "fact_id": name,
            "justifications": list(justifications),
            **fields,
        }
        receipt = self._publish(event)
        return AssertionReceipt(fact_id=name, **dict(receipt))

    def retract(self, fact_id: str, *, reason: str = "", **fields: Any) -> answers.Receipt:
        """Publish a retraction: this was never right."""
        event: Json = {"kind": "retraction", "fact_id": fact_id, **fields}
        if reason:
            event["reason"] = reason
        return self._publish(event)

    def forget(
        self,
        *,
        observation: str | None = None,
        fact: str | None = None,
        subject: bool = False,
        scope: bool = False,
        reason: str = "",
        **fields: Any,
    ) -> answers.Receipt:
        """Publish a deletion of just one of: an observation, a fact, the subject, the scope."""
        target = {
            name: value
            for name, value in (
                ("observation", observation),
                ("fact", fact),
                ("subject", subject),
                ("scope", scope),
            )
            if value
        }
        event: Json = {"kind": "deletion", "target": target, **fields}
        if reason:
            event["reason"] = reason
        return self._publish(event)

    def _publish(self, event: Json) -> answers.Receipt:
        receipt = self._door.publish_one({**event, "scope": self._scope}, WAIT)
        self._after = receipt.token
        return receipt

    def receipt(self, event_id: str, kind: str | None = None) -> answers.Receipt:
        """What became of an event."""
        return self._door.receipt(event_id, _given(**self._scope, kind=kind))

    # Asking

    def recall(self, query: str, **options: Any) -> answers.Recall:
        """What bears on a query; `options` are those of `POST /v1/recall`."""
        return self._door.recall(self._body(query=query, **options))

    def release(
        self, claims: Sequence[Claim], *, query: str = "", **options: Any
    ) -> answers.Release:
        """Whether claims (entity, attribute, value, fact ids) may be stated as fact."""
        said = [_claim(claim) for claim in claims]
        return self._door.release(self._body(query=query, claims=said, **options))

    def verify_release(
        self, record: Json, claims: Sequence[Claim], *, query: str = ""
    ) -> answers.ReleaseCheck:
        """Whether a release record still stands."""
        said = [_claim(claim) for claim in claims]
        return self._door.verify_release({"record": record, "query": query, "claims": said})

    def facts(self, **filters: Any) -> answers.Page[answers.Fact]:
        """Public facts."""
        return self._page("facts", filters)

    def history(self, entity: str, attribute: str, **filters: Any) -> answers.Page[answers.Fact]:
        """Every period of a key."""
        return self._page("history", {"entity": entity, "attribute": attribute, **filters})

    def conflicts(self, **filters: Any) -> answers.Page[answers.Conflict]:
        """Conflict sets."""
        return self._page("conflicts", filters)

    def episodes(self, **filters: Any) -> answers.Page[answers.Episode]:
        """Testimony."""
        return self._page("episodes", filters)

    def audit_facts(self, **filters: Any) -> answers.Page[answers.AuditFact]:
        """Assertions of every status."""
        return self._page("audit/facts", filters)

    def audit_entries(self, **filters: Any) -> answers.Page[answers.AuditEntry]:
        """The scope's ledger entries."""
        return self._page("audit/entries", filters)

    def head(self) -> answers.Head:
        """Where the scope's memory stands."""
        return self._door.head(dict(self._scope))

    def _page(self, name: str, filters: Json) -> answers.Page[Any]:
        return self._door.page(name, _given(**self._scope, **{"after": self._after, **filters}))

    def _body(self, **fields: Any) -> Json:
        return _given(scope=self._scope, **{"after": self._after, **fields})


def _given(**fields: Any) -> Json:
    return {name: value for name, value in fields.items() if value is not None}


def _claim(claim: Claim) -> Json:
    entity, attribute, value, facts = claim
    said: Json = {"entity": entity, "attribute": attribute, "facts": list(facts)}
    if isinstance(value, bool):
        return {**said, "value": value, "type": "boolean"}
    if isinstance(value, int):
        return {**said, "value": value, "type": "integer"}
    if isinstance(value, tuple):
        value, kind = value
        return {**said, "value": value, "type": kind}
    return {**said, "value": value}


def _threaded(method: Callable[..., R]) -> Callable[..., Coroutine[Any, Any, R]]:
    async def call(self: AsyncScopedMemory, *args: Any, **kwargs: Any) -> R:
        return await asyncio.to_thread(method, self.scoped, *args, **kwargs)

    return functools.update_wrapper(call, method)


class AsyncScopedMemory:
    """`ScopedMemory` for asyncio: the same methods, awaited."""

    def __init__(self, scoped: ScopedMemory) -> None:
        self.scoped = scoped

    observe = _threaded(ScopedMemory.observe)
    assert_fact = _threaded(ScopedMemory.assert_fact)
    retract = _threaded(ScopedMemory.retract)
    forget = _threaded(ScopedMemory.forget)
    receipt = _threaded(ScopedMemory.receipt)
    recall = _threaded(ScopedMemory.recall)
    release = _threaded(ScopedMemory.release)
    verify_release = _threaded(ScopedMemory.verify_release)
    facts = _threaded(ScopedMemory.facts)
    history = _threaded(ScopedMemory.history)
    conflicts = _threaded(ScopedMemory.conflicts)
    episodes = _threaded(ScopedMemory.episodes)
    audit_facts = _threaded(ScopedMemory.audit_facts)
    audit_entries = _threaded(ScopedMemory.audit_entries)
    head = _threaded(ScopedMemory.head)


class AsyncMemory:
    """`Memory` for asyncio."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    @classmethod
    async def open(cls, path: str | Path, *, create: bool = True) -> AsyncMemory:
        """See `Memory.open`."""
        return cls(await asyncio.to_thread(Memory.open, path, create=create))

    @classmethod
    async def connect(cls, url: str, key: str) -> AsyncMemory:
        """See `Memory.connect`."""
        return cls(await asyncio.to_thread(Memory.connect, url, key))

    def scope(
        self, tenant: str, namespace: str, subject: str, branch: str = "main"
    ) -> AsyncScopedMemory:
        """See `Memory.scope`."""
        return AsyncScopedMemory(self._memory.scope(tenant, namespace, subject, branch))

    async def publish(self, events: Iterable[Json], wait: float = WAIT) -> list[answers.Receipt]:
        """See `Memory.publish`."""
        return await asyncio.to_thread(self._memory.publish, events, wait)

    async def verify(
        self, deep: bool = False, against: answers.Checkpoint | None = None
    ) -> answers.Verification:
        """See `Memory.verify`."""
        return await asyncio.to_thread(self._memory.verify, deep, against)

    async def checkpoint(self) -> answers.Checkpoint:
        """See `Memory.checkpoint`."""
        return await asyncio.to_thread(self._memory.checkpoint)

    async def replay(self) -> dict[str, int]:
        """See `Memory.replay`."""
        return await asyncio.to_thread(self._memory.replay)

    async def close(self) -> None:
        """See `Memory.close`."""
        await asyncio.to_thread(self._memory.close)

    async def __aenter__(self) -> AsyncMemory:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
