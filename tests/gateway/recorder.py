"""A recording stand-in for the application layer, where only HTTP behaviour matters.

It says what reached the port, which a real runtime does not: that a refused request reached nothing
is the claim of several tests. What the answers mean is tested on real runtimes (`test_http.py`,
`tests/runtime/`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fastapi.testclient import TestClient

from gateway.http import examples
from gateway.http.app import create_app
from gateway.http.limits import BODY_S, IN_FLIGHT
from gateway.requests import Filters, RecallQuery, ReleaseQuery
from projections.claims import Claim
from schemas import answers
from schemas.events import Event
from schemas.kinds import Kind, Role, Tier
from schemas.principals import EVERYWHERE, Principal, Registry, api_key_hash
from schemas.scope import Scope

NOW = 1_780_000_000_000_000
READERS_KEY = "mnemolog_reader"
OPERATORS_KEY = "mnemolog_operator"
REVOKED_KEY = "mnemolog_revoked"


class Recorder:
    """Keeps what it was asked; answers the examples, or raises `fault`."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self.fault: Exception | None = None
        self.problems: list[str] = []
        self.entered: Callable[[], None] = lambda: None

    def _asked(self, *what: Any) -> None:
        self.asked.append(what)
        self.entered()
        if self.fault is not None:
            raise self.fault

    def authorising(self, principal: Principal) -> Callable[[tuple[Kind, Event]], None]:
        """Anybody may."""
        return lambda _: None

    def publish(
        self, principal: Principal, events: Sequence[tuple[Kind, Event]], wait: float
    ) -> list[answers.Receipt]:
        """One accepted receipt an event."""
        self._asked("publish", principal.name, list(events), wait)
        return [
            answers.Receipt.model_validate(
                {**examples.RECEIPT_ANSWER, "event_id": event.envelope.event_id, "kind": kind.word}
            )
            for kind, event in events
        ]

    def receipt(
        self, principal: Principal, scope: Scope, event_id: str, kind: Kind | None
    ) -> answers.Receipt:
        """The example's."""
        self._asked("receipt", scope, event_id, kind)
        return answers.Receipt.model_validate(examples.RECEIPT_ANSWER)

    def recall(self, principal: Principal, scope: Scope, request: RecallQuery) -> answers.Recall:
        """The example's."""
        self._asked("recall", scope, request)
        return answers.Recall.model_validate(examples.RECALL_ANSWER)

    def release(self, principal: Principal, scope: Scope, request: ReleaseQuery) -> answers.Release:
        """The example's."""
        self._asked("release", scope, request)
        return answers.Release.model_validate(examples.RELEASE_ANSWER)

    def verify_release(
        self, principal: Principal, record: dict[str, Any], query: str, claims: tuple[Claim, ...]
    ) -> answers.ReleaseCheck:
        """The example's."""
        self._asked("verify_release", record, query, claims)
        return answers.ReleaseCheck.model_validate(examples.CHECK_ANSWER)

    def facts(
        self, principal: Principal, scope: Scope, filters: Filters
    ) -> answers.Page[answers.Fact]:
        """The example's."""
        self._asked("facts", scope, filters)
        return answers.Page[answers.Fact].model_validate(examples.ANSWERS["facts"])

    def history(
        self, principal: Principal, scope: Scope, filters: Filters
    ) -> answers.Page[answers.Fact]:
        """The example's."""
        self._asked("history", scope, filters)
        return answers.Page[answers.Fact].model_validate(examples.ANSWERS["history"])

    def conflicts(
        self, principal: Principal, scope: Scope, filters: Filters
    ) -> answers.Page[answers.Conflict]:
        """The example's."""
        self._asked("conflicts", scope, filters)
        return answers.Page[answers.Conflict].model_validate(examples.ANSWERS["conflicts"])

    def episodes(
        self, principal: Principal, scope: Scope, filters: Filters
    ) -> answers.Page[answers.Episode]:
        """The example's."""
        self._asked("episodes", scope, filters)
        return answers.Page[answers.Episode].model_validate(examples.ANSWERS["episodes"])

    def audit_entries(
        self, principal: Principal, scope: Scope, filters: Filters
    ) -> answers.Page[answers.AuditEntry]:
        """The example's."""
        self._asked("audit_entries", scope, filters)
        return answers.Page[answers.AuditEntry].model_validate(examples.ANSWERS["audit_entries"])

    def audit_facts(
        self, principal: Principal, scope: Scope, filters: Filters
    ) -> answers.Page[answers.AuditFact]:
        """The example's."""
        self._asked("audit_facts", scope, filters)
        return answers.Page[answers.AuditFact].model_validate(examples.ANSWERS["audit_facts"])

    def head(self, principal: Principal, scope: Scope) -> answers.Head:
        """The example's."""
        self._asked("head", scope)
        return answers.Head.model_validate(examples.HEAD_ANSWER)

    def ready(self) -> list[str]:
        """Whatever a test says."""
        return self.problems

    def verify(
        self, principal: Principal, deep: bool, against: answers.Checkpoint | None = None
    ) -> answers.Verification:
        """The example's."""
        self._asked("verify", deep, against)
        return answers.Verification.model_validate(examples.VERIFICATION_ANSWER)

    def checkpoint(self, principal: Principal) -> answers.Checkpoint:
        """The example's."""
        self._asked("checkpoint")
        return answers.Checkpoint.model_validate(examples.CHECKPOINT_ANSWER)

    def replay(self, principal: Principal) -> dict[str, int]:
        """The example's."""
        self._asked("replay")
        return dict(examples.REPLAY_ANSWER)


def principal(name: str, key: str, *roles: Role, revoked: bool = False) -> Principal:
    """Somebody with an API key for every scope."""
    return Principal(
        name=name,
        tier=Tier.SERVICE,
        roles=frozenset(roles),
        grants=(EVERYWHERE,),
        system=False,
        speaks_for_others=False,
        api_key_hash=api_key_hash(key),
        key=None,
        revoked=revoked,
    )


REGISTRY = Registry(
    [
        principal("crm", READERS_KEY, Role.WRITER, Role.READER),
        principal("ops", OPERATORS_KEY, Role.OPERATOR),
        principal("gone", REVOKED_KEY, *Role, revoked=True),
    ]
)


class Door:
    """An app over a recorder, and a client that has a key."""

    def __init__(self, in_flight: int = IN_FLIGHT, body_seconds: float = BODY_S) -> None:
        self.port = Recorder()
        self.app = create_app(self.port, lambda: REGISTRY, lambda: NOW, in_flight, body_seconds)
        self.client = TestClient(self.app)

    def call(self, method: str, path: str, key: str = READERS_KEY, **options: Any) -> Any:
        """A request with a key; the response."""
        headers = {"Authorization": f"Bearer {key}"} | options.pop("headers", {})
        return self.client.request(method, path, headers=headers, **options)


def problem(answer: Any, status: int) -> answers.Problem:
    """The problem document of a refusal; there is no other shape of one."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    said = answers.Problem.model_validate(answer.json())
    assert said.status == status
    return said
