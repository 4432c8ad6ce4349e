"""Serving an app on a socket that is bound first, so that the real address can be told.

Stopping is graceful: no new connection is taken, what is in flight is answered, and only then does
the caller go on to close its stores.
"""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from schemas.errors import Unavailable

BACKLOG = 128
GRACE_SECONDS = 10


class Server(uvicorn.Server):
    """One app's server; in any thread, another one stops it by setting `should_exit`."""

    def __init__(self, app: FastAPI) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=GRACE_SECONDS,
                lifespan="off",
            )
        )

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take SIGINT and SIGTERM as the wish to stop.

        They are not raised again, as uvicorn would: what serves has stores to close.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {
            number: signal.signal(number, self.handle_exit)
            for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def bind(host: str, port: int) -> socket.socket:
    """A bound socket, not yet listening; port 0 picks a free one. `Unavailable` if it is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns Nagle's algorithm off only where TCP is named: else each answer waits 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    with _unavailable(f"{host}:{port}", listener):
        listener.bind((host, port))
    return listener


@contextmanager
def _unavailable(address: str, listener: socket.socket) -> Iterator[None]:
    try:
        yield
    except (OSError, OverflowError) as error:
        listener.close()
        raise Unavailable(
            f"address {address}", str(error), "choose another with --port, or 0 for a free one"
        ) from error


def url_of(listener: socket.socket) -> str:
    """Where a bound socket is reached."""
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}"


def serve(app: FastAPI, listener: socket.socket, on_ready: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM; `on_ready` is told the URL once it can be connected to."""
    url = url_of(listener)
    with _unavailable(url, listener):  # two may bind an address; only one may listen
        listener.listen(BACKLOG)
    on_ready(url)
    Server(app).run(sockets=[listener])
