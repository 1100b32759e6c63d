"""The connections of `AsyncClient`: protocols of asyncio."""

import asyncio
import ssl
from typing import cast

from rotting.service.address import Address
from rotting.service.http1 import MalformedResponseError, ResponseReader, check_tunnel
from rotting.service.pools import MAX_CONNECTIONS, Attempt, IdleConnections, is_readable
from rotting.service.retries import ClientResponse


class AsyncioPool:
    """Connections to one service, for the tasks of one event loop."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._free = asyncio.Semaphore(MAX_CONNECTIONS)
        self._idle: IdleConnections[_AsyncioConnection] = IdleConnections()

    async def exchange(self, message: bytes, timeout: float, attempt: Attempt) -> ClientResponse:
        """Send a request and return its response; raises OSError or MalformedResponseError if there is none."""
        end = asyncio.get_running_loop().time() + timeout
        if self._free.locked():
            async with asyncio.timeout_at(end):
                await self._free.acquire()
        else:
            await self._free.acquire()
        try:
            connection = self._idle.pop() or await _open(self._address, end)
            try:
                attempt.sent = True
                return await connection.exchange(message, end)
            finally:
                self._idle.give_back(connection)
        finally:
            self._free.release()

    async def close(self) -> None:
        """Close the connections; calls that are under way still get their responses."""
        self._idle.close()
        await asyncio.sleep(0)  # so that the event loop closes the sockets


class _AsyncioConnection(asyncio.Protocol):
    is_reusable = False
    _transport: asyncio.Transport
    _reader: ResponseReader
    _response: "asyncio.Future[ClientResponse] | None" = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # a TCP connection gets nothing less

    async def exchange(self, message: bytes, end: float, opens_tunnel: bool = False) -> ClientResponse:
        """Return the response to a request."""
        self.is_reusable = False
        if self._transport.is_closing():
            raise ConnectionResetError("the connection was closed")
        loop = asyncio.get_running_loop()
        self._reader, self._response = ResponseReader(opens_tunnel), loop.create_future()
        timer = loop.call_at(end, self._time_out)  # costs half of what `asyncio.timeout` does
        try:
            self._transport.write(message)
            response = await self._response
        finally:
            timer.cancel()
        self.is_reusable = self._reader.is_reusable
        return response

    def _time_out(self) -> None:
        if self._response is not None and not self._response.done():
            self._response.set_exception(TimeoutError())

    def data_received(self, data: bytes) -> None:
        if self._response is None or self._response.done():
            self.close()  # the response to no request
            return
        try:
            response = self._reader.feed(data)
        except MalformedResponseError as error:
            self._response.set_exception(error)
            return
        if response is not None:
            self._response.set_result(response)

    def eof_received(self) -> None:
        if self._response is not None and not self._response.done():
            try:
                self._response.set_result(self._reader.feed_end())
            except MalformedResponseError as error:
                self._response.set_exception(error)
        # The transport closes itself now.

    def connection_lost(self, error: Exception | None) -> None:
        if self._response is not None and not self._response.done():
            self._response.set_exception(error or ConnectionResetError("the connection was closed"))

    def is_quiet(self) -> bool:
        return not self._transport.is_closing() and not is_readable(self._transport.get_extra_info("socket").fileno())

    def close(self) -> None:
        self._transport.abort()

    async def start_tls(self, context: ssl.SSLContext, name: str) -> None:
        """Encrypt a connection that a proxy has opened."""
        loop = asyncio.get_running_loop()
        transport = await loop.start_tls(self._transport, self, context, server_hostname=name)
        assert transport is not None
        self._transport = transport


async def _open(address: Address, end: float) -> _AsyncioConnection:
    loop, is_direct = asyncio.get_running_loop(), address.tunnel is None
    tls, name = (address.tls, address.tls_name) if address.tls is not None and is_direct else (None, None)
    async with asyncio.timeout_at(end):
        _, connection = await loop.create_connection(
            _AsyncioConnection, address.host, address.port, ssl=tls, server_hostname=name
        )
        if address.tunnel is not None and address.tls is not None:
            try:
                check_tunnel(await connection.exchange(address.tunnel, end, opens_tunnel=True))
                await connection.start_tls(address.tls, address.tls_name)
            except BaseException:
                connection.close()
                raise
        return connection
