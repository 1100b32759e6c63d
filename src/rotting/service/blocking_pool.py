"""The connections of `Client`: sockets that block, for any number of threads.

With many threads, most of the time of a call is not spent in its code. Python releases its global lock (GIL) for each system
call, and wakes up a thread that waits for it, which often finds the lock taken again. So a `_PlainConnection` makes three
system calls for each exchange, and on Linux keeps the lock during the two that never wait: `getsockopt`, which checks that the
connection is still open, and `send`. With 64 threads, an exchange takes a quarter less CPU time than with `poll` and
`socket.send`, which release the lock.

What is left is mostly the cost of waiting: on a busy machine with two CPUs, the same code took two to five times as long after
a wait as in a loop. A thread that receives the responses of all connections took more, and so did fewer connections than
threads.
"""

import ctypes
import errno
import os
import socket
import struct
import sys
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import get_ident, main_thread

from rotting.service.address import Address
from rotting.service.http1 import ResponseReader, check_tunnel
from rotting.service.pools import MAX_CONNECTIONS, Attempt, IdleConnections, is_readable
from rotting.service.retries import ClientResponse

_CHUNK_BYTES = 2**16  # bytes read at once
_MAX_TIMEOUT = 1e6  # seconds; sockets refuse timeouts of a month
_TIMEOUT_SLACK = 0.001  # seconds by which a call may take longer: most calls need not set the timeout of their connection again
_TIMEVAL = struct.Struct("@ll")  # seconds and microseconds
_HAS_TIMEVAL = os.name == "posix"  # elsewhere the option is a number of milliseconds
_IS_LINUX = sys.platform == "linux"
_TCP_INFO = struct.Struct("@B127xQ")  # the state of a connection, and how many bytes it has received (Linux 4.1)
_ESTABLISHED = 1


class BlockingPool:
    """Connections to one service, for the threads of one process."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._free: SimpleQueue[None] = SimpleQueue()  # a semaphore that takes no lock of Python
        for _ in range(MAX_CONNECTIONS):
            self._free.put(None)
        self._idle: IdleConnections[_BlockingConnection] = IdleConnections()

    def exchange(self, message: bytes, timeout: float, attempt: Attempt) -> ClientResponse:
        """Send a request and return its response; raises OSError or MalformedResponseError if there is none."""
        end = time.monotonic() + min(timeout, _MAX_TIMEOUT)
        try:
            self._free.get_nowait()
        except Empty:
            self._wait_for_free_connection(end)
        try:
            connection = self._idle.pop() or _open(self._address, end)
            try:
                attempt.sent = True
                return connection.exchange(message, end)
            finally:
                self._idle.give_back(connection)
        finally:
            self._free.put(None)

    def _wait_for_free_connection(self, end: float) -> None:
        try:
            self._free.get(timeout=_seconds_until(end))
        except Empty:
            raise TimeoutError from None

    def close(self) -> None:
        """Close the connections; calls that are under way still get their responses."""
        self._idle.close()


class _BlockingConnection:
    """A connection whose socket has a timeout: before it sends or receives, Python waits in another system call."""

    __slots__ = ("_socket", "is_reusable")

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self.is_reusable = False

    def exchange(self, message: bytes, end: float, opens_tunnel: bool = False) -> ClientResponse:
        """Return the response to a request."""
        self.is_reusable = False
        reader = ResponseReader(opens_tunnel)
        try:  # noqa: SIM105 - `suppress` costs more
            self._send(message, end)
        except (BrokenPipeError, ConnectionResetError):
            pass  # there may be a response that says why, such as status 413
        response = None
        while response is None:
            part = self._receive(end)
            response = reader.feed(part) if part else reader.feed_end()
        self.is_reusable = reader.is_reusable
        return response

    def _send(self, message: bytes, end: float) -> None:
        self._socket.settimeout(_seconds_until(end))
        self._socket.sendall(message)

    def _receive(self, end: float) -> bytes:
        """Return the next bytes; none if the connection has ended."""
        self._socket.settimeout(_seconds_until(end))
        return self._socket.recv(_CHUNK_BYTES)

    def is_quiet(self) -> bool:
        return not is_readable(self._socket.fileno())

    def close(self) -> None:
        self._socket.close()


class _PlainConnection(_BlockingConnection):
    """A connection without TLS, whose socket has no timeout: the kernel ends a system call that takes too long."""

    __slots__ = ("_bytes_read", "_main_thread", "_timeout")

    def __init__(self, sock: socket.socket) -> None:
        super().__init__(sock)
        sock.settimeout(None)
        self._main_thread = main_thread().ident  # it stays the same, since a forked process opens its own connections
        self._timeout = 0.0  # seconds after which the kernel ends `recv`
        self._bytes_read = 0

    def _send(self, message: bytes, end: float) -> None:
        sent = _send_at_once(self._socket, message)
        if sent < len(message):  # more than the kernel has room for
            super()._send(message[sent:], end)
            self._socket.settimeout(None)

    def is_quiet(self) -> bool:
        if _IS_LINUX:  # other systems lay out the information differently
            info = self._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO.size)
            if len(info) == _TCP_INFO.size and _TCP_INFO.unpack(info) == (_ESTABLISHED, self._bytes_read):
                return True
        return super().is_quiet()  # the kernel may be too old to count bytes, and also counts those of a proxy's response

    def _receive(self, end: float) -> bytes:
        if get_ident() == self._main_thread:
            part = super()._receive(end)  # signals interrupt this thread, and the kernel would start the time anew after each
            self._socket.settimeout(None)
        else:
            left = _seconds_until(end)
            if not left <= self._timeout < left + _TIMEOUT_SLACK:
                self._set_timeout(left)
            try:
                part = self._socket.recv(_CHUNK_BYTES)
            except BlockingIOError:
                raise TimeoutError from None
        self._bytes_read += len(part)
        return part

    def _set_timeout(self, seconds: float) -> None:
        microseconds = int(1e6 * seconds) + 1  # 0 would mean no timeout
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _TIMEVAL.pack(*divmod(microseconds, 10**6)))
        self._timeout = seconds


def _send_without_releasing_the_lock(sock: socket.socket, message: bytes) -> int:
    sent: int = _libc_send(sock.fileno(), message, len(message), socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
    if sent >= 0:
        return sent
    number = ctypes.get_errno()
    if number in {errno.EAGAIN, errno.EWOULDBLOCK, errno.EINTR}:
        return 0
    raise OSError(number, os.strerror(number))


def _send_by_python(sock: socket.socket, message: bytes) -> int:
    try:
        return sock.send(message, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return 0


_send_at_once: Callable[[socket.socket, bytes], int] = _send_by_python
"""Sends as many bytes as the kernel has room for, and returns their number."""

if _IS_LINUX:
    _libc_send = ctypes.PyDLL(None, use_errno=True).send  # a `PyDLL` keeps the lock
    _libc_send.argtypes = ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int
    _libc_send.restype = ctypes.c_ssize_t
    _send_at_once = _send_without_releasing_the_lock


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
            check_tunnel(_BlockingConnection(sock).exchange(address.tunnel, end, opens_tunnel=True))
        if address.tls is not None:
            sock.settimeout(_seconds_until(end))
            return _BlockingConnection(address.tls.wrap_socket(sock, server_hostname=address.tls_name))
        return _PlainConnection(sock) if _HAS_TIMEVAL else _BlockingConnection(sock)
    except BaseException:
        sock.close()
        raise
