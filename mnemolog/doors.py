"""Doors: one set of calls, embedded or over HTTP, with the same JSON in and the same models out."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import httpx
from pydantic import BaseModel

from gateway import errors
from gateway.application import Application
from gateway.http.app import create_app
from gateway.publishing import publish_many, publish_single
from gateway.views import EMBEDDED_CAPACITY
from gateway.wire import (
    ListParams,
    RecallBody,
    ReceiptParams,
    ReleaseBody,
    ScopeParams,
    VerifyReleaseBody,
    parse,
    parse_claims,
)
from mnemolog.data_directory import DEFAULT_PARTITIONS, DataDirectory
from mnemolog.embedded import Embedded
from schemas import answers
from schemas.checkpoints import parse_checkpoint
from schemas.errors import Fault, InvalidEvent, Unavailable, ViewBehind, invalid
from schemas.kinds import KIND_OF_WORD
from schemas.master import MasterKey
from schemas.principals import LOCAL, Principal

Json = dict[str, Any]
A = TypeVar("A", bound=BaseModel)

PAGES: dict[str, type[answers.Page[Any]]] = {
    "facts": answers.Page[answers.Fact],
    "history": answers.Page[answers.Fact],
    "conflicts": answers.Page[answers.Conflict],
    "episodes": answers.Page[answers.Episode],
    "audit/facts": answers.Page[answers.AuditFact],
    "audit/entries": answers.Page[answers.AuditEntry],
}


class Door(Protocol):
    """A deployment's calls; errors: `InvalidEvent`, `gateway.errors.Refused`, `Unavailable`."""

    def publish(self, events: Sequence[Json], wait: float) -> list[answers.Receipt]:
        """Publish in order; a bad event is answered by its own `rejected` receipt."""

    def publish_one(self, event: Json, wait: float) -> answers.Receipt:
        """Publish one event; a fault in it raises."""

    def receipt(self, event_id: str, params: Json) -> answers.Receipt:
        """What became of an event."""

    def recall(self, body: Json) -> answers.Recall:
        """What bears on a query."""

    def release(self, body: Json) -> answers.Release:
        """Whether claims may be said."""

    def verify_release(self, body: Json) -> answers.ReleaseCheck:
        """Whether a record still stands."""

    def page(self, name: str, params: Json) -> answers.Page[Any]:
        """A page of one of `PAGES`."""

    def head(self, params: Json) -> answers.Head:
        """Where a scope stands."""

    def verify(self, deep: bool, against: object = None) -> answers.Verification:
        """Check the ledger, also against a checkpoint (plain JSON data)."""

    def checkpoint(self) -> answers.Checkpoint:
        """Sign where every partition stands."""

    def trust_as_found(self) -> None:
        """Forget the anchors, so that the ledger is trusted as it stands; `Unavailable` afar."""

    def replay(self, progress: Callable[[int, int], None] | None) -> dict[str, int]:
        """Rebuild the projections."""

    def close(self) -> None:
        """Let go."""


def now_micros() -> int:
    """The clock of this process, in µs."""
    return time.time_ns() // 1000


class EmbeddedDoor:
    """A data directory in this process, as the principal `local`."""

    def __init__(self, backend: Embedded, master: MasterKey) -> None:
        self.backend = backend
        self.application = Application(backend, master, now_micros, views=EMBEDDED_CAPACITY)

    @classmethod
    def open(
        cls, path: Path, *, create: bool = True, partitions: int = DEFAULT_PARTITIONS
    ) -> EmbeddedDoor:
        """Open a data directory, made if it is not there and `create`."""
        directory = DataDirectory(path, os.environ)
        if not directory.exists and create:
            directory.init(partitions)
        directory.manifest()
        master = MasterKey.load(path, os.environ, create=not directory.opened)
        return cls(Embedded(directory, master), master)

    def app(self) -> Any:
        """The HTTP door over the same process."""
        return create_app(self.application, self.backend.registry, now_micros)

    def _local(self) -> Principal:
        principal = self.backend.registry().principal(LOCAL)
        assert principal is not None
        return principal

    def publish(self, events: Sequence[Json], wait: float) -> list[answers.Receipt]:
        """See `Door`."""
        return publish_many(self.application, self._local(), list(events), now_micros, wait)

    def publish_one(self, event: Json, wait: float) -> answers.Receipt:
        """See `Door`."""
        return publish_single(self.application, self._local(), event, now_micros, wait)

    def receipt(self, event_id: str, params: Json) -> answers.Receipt:
        """See `Door`."""
        at = parse(ReceiptParams, params)
        if at.kind is not None and at.kind not in KIND_OF_WORD:
            raise invalid("unknown_symbol", "kind", f"{at.kind} is no kind", "see `policy show`")
        kind = KIND_OF_WORD[at.kind] if at.kind else None
        return self.application.receipt(self._local(), at.scope(), event_id, kind)

    def recall(self, body: Json) -> answers.Recall:
        """See `Door`."""
        asked = parse(RecallBody, body)
        return self.application.recall(self._local(), asked.scope.scope(), asked.request())

    def release(self, body: Json) -> answers.Release:
        """See `Door`."""
        asked = parse(ReleaseBody, body)
        return self.application.release(self._local(), asked.scope.scope(), asked.request())

    def verify_release(self, body: Json) -> answers.ReleaseCheck:
        """See `Door`."""
        asked = parse(VerifyReleaseBody, body)
        return self.application.verify_release(
            self._local(), asked.record, asked.query, parse_claims(asked.claims)
        )

    def page(self, name: str, params: Json) -> answers.Page[Any]:
        """See `Door`."""
        at = parse(ListParams, params)
        method = getattr(self.application, name.replace("/", "_"))
        page: answers.Page[Any] = method(self._local(), at.scope(), at.filters())
        return page

    def head(self, params: Json) -> answers.Head:
        """See `Door`."""
        return self.application.head(self._local(), parse(ScopeParams, params).scope())

    def verify(self, deep: bool, against: object = None) -> answers.Verification:
        """See `Door`."""
        asked = None if against is None else parse_checkpoint(against)
        return self.application.verify(self._local(), deep, asked)

    def checkpoint(self) -> answers.Checkpoint:
        """See `Door`."""
        return self.application.checkpoint(self._local())

    def trust_as_found(self) -> None:
        """See `Door`."""
        self.backend.trust_as_found()

    def replay(self, progress: Callable[[int, int], None] | None) -> dict[str, int]:
        """See `Door`."""
        return self.backend.replay(progress)

    def close(self) -> None:
        """See `Door`."""
        self.backend.close()


class HttpDoor:
    """A server, as the principal whose API key is given."""

    def __init__(self, url: str, key: str, client: httpx.Client | None = None) -> None:
        self._client = client or httpx.Client(base_url=url, timeout=60.0)
        self._headers = {"Authorization": f"Bearer {key}"}

    def publish(self, events: Sequence[Json], wait: float) -> list[answers.Receipt]:
        """See `Door`."""
        params = {"wait": str(wait)} if wait else {}
        answer = self._call("POST", "/v1/events", json=list(events), params=params)
        return list(answers.Receipts.model_validate(answer).receipts)

    def publish_one(self, event: Json, wait: float) -> answers.Receipt:
        """See `Door`."""
        params = {"wait": str(wait)} if wait else {}
        answer = self._call("POST", "/v1/events", json=event, params=params)
        return answers.Receipts.model_validate(answer).receipts[0]

    def receipt(self, event_id: str, params: Json) -> answers.Receipt:
        """See `Door`."""
        path = f"/v1/events/{httpx.URL('/', path='/' + event_id).raw_path.decode()[1:]}"
        return answers.Receipt.model_validate(self._call("GET", path, params=_said(params)))

    def recall(self, body: Json) -> answers.Recall:
        """See `Door`."""
        return answers.Recall.model_validate(self._call("POST", "/v1/recall", json=body))

    def release(self, body: Json) -> answers.Release:
        """See `Door`."""
        return answers.Release.model_validate(self._call("POST", "/v1/release", json=body))

    def verify_release(self, body: Json) -> answers.ReleaseCheck:
        """See `Door`."""
        answer = self._call("POST", "/v1/release/verify", json=body)
        return answers.ReleaseCheck.model_validate(answer)

    def page(self, name: str, params: Json) -> answers.Page[Any]:
        """See `Door`."""
        answer = self._call("GET", f"/v1/{name}", params=_said(params))
        return PAGES[name].model_validate(answer)

    def head(self, params: Json) -> answers.Head:
        """See `Door`."""
        return answers.Head.model_validate(self._call("GET", "/v1/head", params=_said(params)))

    def verify(self, deep: bool, against: object = None) -> answers.Verification:
        """See `Door`."""
        params = {"deep": "true" if deep else "false"}
        more = {} if against is None else {"json": {"against": against}}
        answer = self._call("POST", "/v1/admin/verify", params=params, timeout=3600.0, **more)
        return answers.Verification.model_validate(answer)

    def checkpoint(self) -> answers.Checkpoint:
        """See `Door`."""
        return answers.Checkpoint.model_validate(self._call("POST", "/v1/admin/checkpoint"))

    def trust_as_found(self) -> None:
        """See `Door`: it is for who has the directory in hand."""
        raise Unavailable(
            "anchors", "a server does not forget them", "stop it and use the data directory itself"
        )

    def replay(self, progress: Callable[[int, int], None] | None) -> dict[str, int]:
        """See `Door`; a server tells no progress."""
        answer = self._call("POST", "/v1/admin/replay", timeout=3600.0)
        return {str(partition): int(count) for partition, count in answer.items()}

    def close(self) -> None:
        """See `Door`."""
        self._client.close()

    def _call(self, method: str, path: str, **options: Any) -> Any:
        try:
            response = self._client.request(method, path, headers=self._headers, **options)
        except httpx.HTTPError as error:
            raise Unavailable(
                f"server {self._client.base_url}",
                str(error) or type(error).__name__,
                "check that it runs and that the address is right",
            ) from error
        if response.is_success:
            return response.json()
        raise _error(response)


def _said(params: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in params.items() if value is not None}


_OF_STATUS: dict[int, type[errors.Refused]] = {
    401: errors.Unauthenticated,
    403: errors.Forbidden,
    404: errors.NotFound,
    409: errors.Conflict,
    413: errors.TooLarge,
    429: errors.TooMany,
}


def _error(response: httpx.Response) -> Exception:
    """The error that a problem document stands for."""
    try:
        said = answers.Problem.model_validate(response.json())
    except ValueError:
        return Unavailable(
            "server",
            f"it answered {response.status_code} without a problem document",
            "check that the address is mnemolog's",
        )
    remedy = said.remedy or ""
    if said.status == 422:
        fault = Fault(said.code, said.field or "", said.detail, remedy, said.limit or "")
        return InvalidEvent(fault)
    if said.code == "view_behind":
        return ViewBehind("view", said.detail, remedy)
    if said.code == "ledger_damaged":
        return errors.LedgerDamaged(said.code, said.detail, remedy)
    if said.status in _OF_STATUS:
        field, limit = said.field or "", said.limit or ""
        return _OF_STATUS[said.status](said.code, said.detail, remedy, field=field, limit=limit)
    return Unavailable("server", said.detail, remedy)
