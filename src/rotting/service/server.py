"""The running service: it opens the store, compiles, listens, and ends in order when it is told to."""

import asyncio
import errno
import ipaddress
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from os import PathLike
from typing import Any, NamedTuple

from rotting.errors import InvalidValueError
from rotting.live.bandit import Bandit
from rotting.registry import from_json as policy_from_json
from rotting.service.application import Application
from rotting.service.broadcast import EVERY
from rotting.service.commits import Commits
from rotting.service.compiling import Compiling
from rotting.service.http import Connection, Limits, Server
from rotting.service.tokens import Tokens
from rotting.store.host import Host
from rotting.store.protocol import Durability

_log = logging.getLogger("rotting.service")
_DRAIN = 10.0  # seconds that requests under way have to end
_SWITCH = 0.0005  # seconds after which one thread lets another one go on: who waits for a disk should not wait for that, too


class Settings(NamedTuple):
    """How the service runs.

    Args:
        host: the address to listen at; only this machine can reach the default.
        port: 0: any that is free.
        tokens: who may do what; without them the address must be one that only this machine can reach.
        durability: what an answer means, as for `rotting.open`.
        rate: requests a second that each token, or each address, may make; None: any number.
        limits: what one connection may ask for.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    tokens: Tokens | None = None
    durability: Durability = "disk"
    rate: float | None = None
    limits: Limits = Limits()


def is_loopback(host: str) -> bool:
    """Tell whether an address can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def bound(host: str, port: int) -> list[socket.socket]:
    """Take a port: who cannot have it learns so before anything is made or compiled."""
    try:
        places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except socket.gaierror as error:
        raise InvalidValueError(f"host must be an address of this machine, got {host!r}: {error.strerror}") from error
    found: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in dict.fromkeys(places):
            found.append(socket.socket(family, kind, protocol))
            if os.name == "posix":  # elsewhere it would mean that two may have the port
                found[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                found[-1].setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            found[-1].bind(address)
    except OSError as error:
        for each in found:
            each.close()
        what = "host must be an address of this machine" if error.errno == errno.EADDRNOTAVAIL else "port must be free"
        told = repr(host) if error.errno == errno.EADDRNOTAVAIL else f"{port} of {host}"
        raise InvalidValueError(f"{what}, got {told}: {os.strerror(error.errno or 0)}") from error
    return found


def compile_policies(host: Host, compiling: Compiling) -> None:
    """Compile what the bandits of a store need, so that nobody waits for it."""
    for policy in {policy_from_json(meta["policy"]) for meta in host.metas.values()}:
        with compiling.of(policy):
            Bandit(policy, arms=[0, 1]).warm_up()


class Service:
    """A service in an event loop of its own process, or of a test."""

    def __init__(self, path: str | PathLike[str], settings: Settings, say: Callable[[str], None]) -> None:
        if settings.tokens is None and not is_loopback(settings.host):
            raise InvalidValueError(
                f"host must be an address of this machine alone, such as 127.0.0.1, as long as there are no tokens, "
                f"got {settings.host!r}; see rotting token"
            )
        self._settings, self.compiling = settings, Compiling(say)
        self._sockets = bound(settings.host, settings.port)
        try:
            self._host = Host(path, settings.durability)
        except BaseException:
            self._release()
            raise
        self._writer = ThreadPoolExecutor(1, "rotting-writer")
        self._threads = ThreadPoolExecutor(4, "rotting-reader")
        self._pages = ThreadPoolExecutor(1, "rotting-pages")
        self.port = 0

    async def run(self, ready: Callable[[], None], stop: asyncio.Event) -> None:
        """Serve until `stop` is set, then end what is under way and save everything."""
        loop, settings = asyncio.get_running_loop(), self._settings
        application = Application(
            self._host,
            self._threads,
            self._pages,
            loop.call_soon_threadsafe,
            self.compiling,
            settings.tokens,
            settings.rate,
        )
        commits = Commits(loop, self._host, self._writer, application.written)
        application.hold = commits.hold
        server = Server(application.handle, application.refuse, settings.limits)
        try:
            self.port = self._sockets[0].getsockname()[1]
            listeners = [
                await loop.create_server(lambda: Connection(server), sock=each, backlog=1_024) for each in self._sockets
            ]
            ready()
            clocks = [
                asyncio.ensure_future(_repeat(1.0, server.tick)),
                asyncio.ensure_future(_repeat(EVERY, application.broadcast.deliver)),
            ]
            await stop.wait()
            application.draining = True
            for listener in listeners:
                listener.close()
            server.stop_listening()
            until = time.monotonic() + _DRAIN
            while (application.in_flight or not commits.is_idle) and time.monotonic() < until:
                await asyncio.sleep(0.01)
            for clock in clocks:
                clock.cancel()
            commits.stop()
            await asyncio.sleep(0)  # the last answers are sent
        finally:
            self._release()
            self._writer.shutdown()
            for threads in (self._threads, self._pages):
                threads.shutdown(cancel_futures=True)
            self._host.close()

    def _release(self) -> None:
        for each in self._sockets:
            each.close()

    @property
    def bandits(self) -> Host:
        """The bandits that are served."""
        return self._host


async def _repeat(seconds: float, call: Callable[[], None]) -> None:
    while True:
        await asyncio.sleep(seconds)
        call()


def _loop_factory() -> Callable[[], Any] | None:
    try:
        import uvloop  # noqa: PLC0415 - not on every system
    except ImportError:
        return None
    return uvloop.new_event_loop


def serve(path: str | PathLike[str], settings: Settings, say: Callable[[str], None]) -> None:
    """Serve the bandits of a store until the process is told to end."""
    service = Service(path, settings, say)
    compile_policies(service.bandits, service.compiling)
    sys.setswitchinterval(_SWITCH)

    async def main() -> None:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()

        def told(name: str) -> None:
            stop.set()
            with suppress(OSError):  # who read it is gone
                say(f"{name}: ending what is under way, then saving")

        for each in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(each, told, each.name)

        def ready() -> None:
            shown = f"[{settings.host}]" if ":" in settings.host else settings.host
            who = "without tokens, to this machine alone" if settings.tokens is None else "to who has a token"
            say(f"serving {len(service.bandits.metas)} bandits of {path} at http://{shown}:{service.port}, {who}")

        await service.run(ready, stop)
        with suppress(OSError):
            say(f"saved {path}")

    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(main())
