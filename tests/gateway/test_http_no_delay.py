"""Answers leave at once: Nagle's algorithm is off on every connection of the server's socket.

With it, the body of an answer waits for the acknowledgement of its head: 40 ms a request.
"""

from __future__ import annotations

import asyncio
import socket

from gateway.http.server import bind


def test_a_connection_to_the_bound_socket_sends_without_delay() -> None:
    async def accepted() -> int:
        seen: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connection = writer.get_extra_info("socket")
            seen.set_result(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        listener = bind("127.0.0.1", 0)
        async with await asyncio.start_server(connected, sock=listener):
            _, writer = await asyncio.open_connection(*listener.getsockname())
            found = await asyncio.wait_for(seen, 10)
            writer.close()
        return found

    assert asyncio.run(accepted())
