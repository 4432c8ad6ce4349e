"""Serving an app on a socket that is bound first, so that the real address can be told."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from schemas.errors import Unavailable


class _Server(uvicorn.Server):
    """Returns after a signal instead of raising it again: what serves must close its stores."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take SIGINT and SIGTERM as the wish to stop."""
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
    """A listening socket; port 0 picks a free one. `Unavailable` if the address is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise Unavailable(
            f"address {host}:{port}", str(error), "choose another with --port, or 0 for a free one"
        ) from error
    return listener


def serve(app: FastAPI, listener: socket.socket, on_ready: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM, then finish what is in flight."""
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    config = uvicorn.Config(
        app, log_config=None, access_log=False, timeout_graceful_shutdown=10, lifespan="off"
    )
    listener.listen(128)
    on_ready(f"http://{shown}:{port}")
    _Server(config).run(sockets=[listener])
