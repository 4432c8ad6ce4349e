"""Publishing over HTTP: events as JSON to a gateway, which signs for the caller."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import httpx

from schemas.answers import Problem, Receipt, Receipts
from schemas.errors import Fault, InvalidEvent, Unavailable

ATTEMPTS = 5


class HttpPublisher:
    """Publishes with one API key. A full intake (429, 503) is tried again as the answer says."""

    def __init__(self, url: str, key: str, client: httpx.Client | None = None) -> None:
        self._client = client or httpx.Client(base_url=url, timeout=60.0)
        self._headers = {"Authorization": f"Bearer {key}"}

    def publish(self, events: Sequence[dict[str, Any]], wait: float = 0.0) -> list[Receipt]:
        """Receipts in order; a bad event is its own `rejected` receipt.

        Trying again is safe: an event that carries its id is admitted once. Raises `InvalidEvent`
        for a request that cannot be taken, `Unavailable` when the gateway does not take it.
        """
        for attempt in range(ATTEMPTS):
            try:
                response = self._client.post(
                    "/v1/events",
                    json=list(events),
                    params={"wait": wait} if wait else {},
                    headers=self._headers,
                )
            except httpx.HTTPError as error:
                raise Unavailable("gateway", str(error), "check its address") from error
            if response.status_code not in (429, 503) or attempt == ATTEMPTS - 1:
                return self._answer(response)
            time.sleep(float(response.headers.get("Retry-After", "1")))
        raise AssertionError("the loop returns")

    def close(self) -> None:
        """Let the connection go."""
        self._client.close()

    @staticmethod
    def _answer(response: httpx.Response) -> list[Receipt]:
        if response.is_success:
            return list(Receipts.model_validate(response.json()).receipts)
        said = Problem.model_validate(response.json())
        if said.status in (413, 422):
            remedy, limit = said.remedy or "", said.limit or ""
            raise InvalidEvent(Fault(said.code, said.field or "", said.detail, remedy, limit))
        raise Unavailable("gateway", f"{said.status}: {said.detail}", said.remedy or "try later")
