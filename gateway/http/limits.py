"""A bound on request bodies, enforced while they are read (413 naming the limit)."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.http.problems import problem


class _TooLarge(Exception):
    pass


class BodyLimit:
    """ASGI middleware: no request body beyond `limit` bytes is ever buffered."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, counting."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        read = 0

        async def counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self._limit:
                raise _TooLarge
            return message

        declared = dict(scope["headers"]).get(b"content-length", b"0")
        try:
            if declared.isdigit() and int(declared) > self._limit:
                raise _TooLarge
            await self._app(scope, counted, send)
        except _TooLarge:
            response = problem(
                413,
                "request_too_large",
                "the request body is larger than the limit",
                "send it in parts",
                limit=f"{self._limit} bytes",
            )
            await response(scope, receive, send)
