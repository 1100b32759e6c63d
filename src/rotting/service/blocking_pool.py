"""The connections of `Client`: sockets that block, for any number of threads."""

import socket
import time
from contextlib import suppress
from queue import Empty, SimpleQueue

from rotting.service.address import Address
from rotting.service.http1 import ResponseReader, check_tunnel
from rotting.service.pools import MAX_CONNECTIONS, IdleConnections, Progress, is_readable
from rotting.service.retries import ClientResponse

_PART = 2**16  # bytes read at once
_LONGEST = 1e6  # seconds; sockets refuse timeouts of a month


class BlockingPool:
    """Connections to one service, for the threads of one process."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._free: SimpleQueue[None] = SimpleQueue()  # a semaphore that takes no lock of Python
        for _ in range(MAX_CONNECTIONS):
            self._free.put(None)
        self._idle: IdleConnections[_BlockingConnection] = IdleConnections()

    def exchange(self, message: bytes, timeout: float, progress: Progress) -> ClientResponse:
        """SendRequest a request and return its response; raises OSError or MalformedResponseError if there is none."""
        end = time.monotonic() + min(timeout, _LONGEST)
        try:
            self._free.get(timeout=_seconds_until(end))
        except Empty:
            raise TimeoutError from None
        try:
            connection = self._idle.pop() or _open(self._address, end)
            try:
                progress.sent = True
                response, is_reusable = connection.exchange(message, end)
            except BaseException:
                connection.close()
                raise
            if is_reusable:
                self._idle.push(connection)
            else:
                connection.close()
            return response
        finally:
            self._free.put(None)

    def close(self) -> None:
        """Close the connections; calls that are under way still get their responses."""
        self._idle.close()


class _BlockingConnection:
    __slots__ = ("_socket",)

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock

    def exchange(self, message: bytes, end: float, opens_tunnel: bool = False) -> tuple[ClientResponse, bool]:
        """Return the response to a request, and whether the connection can be used for another one."""
        sock, reader = self._socket, ResponseReader(opens_tunnel)
        sock.settimeout(_seconds_until(end))
        with suppress(BrokenPipeError, ConnectionResetError):  # there may be a response that says why, such as status 413
            sock.sendall(message)
        response = None
        while response is None:
            sock.settimeout(_seconds_until(end))
            part = sock.recv(_PART)
            response = reader.feed(part) if part else reader.feed_end()
        return response, reader.is_reusable

    def is_quiet(self) -> bool:
        return not is_readable(self._socket.fileno())

    def close(self) -> None:
        self._socket.close()


def _seconds_until(end: float) -> float:
    left = end - time.monotonic()
    if left <= 0.0:
        raise TimeoutError
    return left


def _open(address: Address, end: float) -> _BlockingConnection:
    sock = socket.create_connection((address.host, address.port), _seconds_until(end))
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if address.tunnel is not None:
            response, _ = _BlockingConnection(sock).exchange(address.tunnel, end, opens_tunnel=True)
            check_tunnel(response)
        if address.tls is not None:
            sock.settimeout(_seconds_until(end))
            sock = address.tls.wrap_socket(sock, server_hostname=address.tls_name)
        return _BlockingConnection(sock)
    except BaseException:
        sock.close()
        raise
