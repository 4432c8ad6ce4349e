"""Building typed events: the four that carry the memory, with the defaults of INTERFACE "Events".

Everything is checked here as it will be at admission, so a fault is told before anything is sent.

    builder = EventBuilder("crm", Scope("acme", "support", "alice"))
    seen = builder.observation("I moved to Berlin in May.", actor="alice", role="user")
    fact = builder.assertion("alice", "city", "Berlin", [quote(seen, "Berlin")])
    publisher.publish([seen, fact])
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

from schemas.boundary import parse_event
from schemas.events import Event
from schemas.ids import uuid7
from schemas.kinds import Kind
from schemas.scope import Scope

Built = tuple[Kind, Event]
Premise = dict[str, Any]


def quote(source: Built | str, words: str, start: int | None = None) -> Premise:
    """A premise: words of an observation; with `start`, a byte offset into its UTF-8 content."""
    name = source if isinstance(source, str) else source[1].envelope.event_id
    premise: Premise = {"observation": name, "quote": words}
    if start is not None:
        premise |= {"start": start, "end": start + len(words.encode())}
    return premise


class EventBuilder:
    """Builds events of one adapter in one scope. Raises `InvalidEvent` naming field and remedy."""

    def __init__(
        self,
        adapter: str,
        scope: Scope,
        clock: Callable[[], int] = lambda: time.time_ns() // 1000,
    ) -> None:
        self._adapter = adapter
        self._scope = {
            "tenant": scope.tenant,
            "namespace": scope.namespace,
            "subject": scope.subject,
            "branch": scope.branch,
        }
        self._clock = clock

    def observation(
        self, content: str, *, actor: str | None = None, role: str = "user", **fields: Any
    ) -> Built:
        """Something a source said or showed."""
        if actor is not None:
            fields["actor"] = {"id": actor, "role": role}
        return self._build(kind="observation", content=content, **fields)

    def assertion(
        self, entity: str, attribute: str, value: Any, premises: Sequence[Premise], **fields: Any
    ) -> Built:
        """A proposed fact resting on one justification; more with `justifications=`."""
        justifications = fields.pop("justifications", [{"premises": list(premises)}])
        return self._build(
            kind="assertion", entity=entity, attribute=attribute, value=value,
            justifications=justifications, **fields,
        )  # fmt: skip

    def retraction(self, fact_id: str, **fields: Any) -> Built:
        """This was never right."""
        return self._build(kind="retraction", fact_id=fact_id, **fields)

    def deletion(self, target: dict[str, Any], **fields: Any) -> Built:
        """Forget; the target is `{"observation": id}`, `{"fact": id}`, `{"subject": True}`, …"""
        return self._build(kind="deletion", target=target, **fields)

    def _build(self, **event: Any) -> Built:
        now = self._clock()
        return parse_event(
            {"scope": self._scope, **event},
            adapter=self._adapter,
            now=now,
            new_id=lambda: uuid7(now // 1000, os.urandom(10)),
        )
