"""Callers of a gateway: a kept connection each, and events as JSON.

Callers at once are threads of the benchmark's process; times are theirs, from before the request to
after the answer's last byte.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from benchmarks.partition import MASTER
from benchmarks.workload import scope_of
from schemas.events import Assertion, Deletion, Event, Observation, Retraction
from schemas.kinds import Kind
from schemas.principals import local_api_key
from schemas.times import format_instant

Json = dict[str, Any]


class Client:
    """A caller with one kept connection."""

    def __init__(self, url: str) -> None:
        self._connection = HTTPConnection(urlsplit(url).netloc, timeout=60)
        key = local_api_key(MASTER)
        self.open = self._connection.connect
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def post(self, path: str, body: bytes) -> Json:
        """The answer; `RuntimeError` if it is a refusal."""
        self._connection.request("POST", path, body, self._headers)
        response = self._connection.getresponse()
        answer: Json = json.loads(response.read())
        if response.status >= 300:
            raise RuntimeError(f"{path}: {response.status} {answer}")
        return answer


def at_once(url: str, path: str, asks: Sequence[Sequence[bytes]]) -> tuple[list[float], float]:
    """Seconds of each request, and of all; a client for each list of bodies."""
    taken: list[float] = []
    failed: list[Exception] = []
    ready = threading.Barrier(len(asks) + 1)

    def ask(bodies: Sequence[bytes]) -> None:
        client = Client(url)
        client.open()
        ready.wait()
        try:
            for body in bodies:
                began = time.perf_counter()
                client.post(path, body)
                taken.append(time.perf_counter() - began)
        except Exception as error:  # noqa: BLE001 - raised below, in the caller's thread
            failed.append(error)

    threads = [threading.Thread(target=ask, args=(bodies,)) for bodies in asks]
    for thread in threads:
        thread.start()
    ready.wait()
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return taken, time.perf_counter() - began


def scope_json(subject: str) -> Json:
    """One of the benchmark's scopes as a caller writes it."""
    scope = scope_of(subject)
    return {"tenant": scope.tenant, "namespace": scope.namespace, "subject": scope.subject}


def json_of(kind: Kind, event: Event) -> Json:
    """One of the benchmark's events as a caller writes it."""
    common = event.envelope
    said: Json = {
        "kind": kind.word,
        "event_id": common.event_id,
        "scope": scope_json(common.scope.subject),
        "occurred_at": format_instant(common.occurred_at),
    }
    if isinstance(event, Observation):
        return {**said, "content": event.content}
    if isinstance(event, Assertion):
        premises = [
            {"observation": p.observation, "quote": p.quote, "start": p.start, "end": p.end}
            for p in event.justifications[0]
        ]
        return {
            **said,
            "fact_id": event.fact_id,
            "entity": event.entity,
            "attribute": event.attribute,
            "value": event.value.text,
            "justifications": [{"premises": premises}],
        }
    if isinstance(event, Retraction):
        return {**said, "fact_id": event.fact_id, "reason": event.reason}
    assert isinstance(event, Deletion)
    return {**said, "target": {"observation": event.target_id}}
