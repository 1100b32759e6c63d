"""Runs the application on uvicorn: listens, handles signals, and shuts down cleanly."""

import asyncio
import contextlib
import errno
import gc
import logging
import os
import signal
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from os import PathLike
from typing import NamedTuple

from rotting.engines.tiers import CompileMode
from rotting.errors import InvalidValueError
from rotting.live.bandit import Bandit
from rotting.registry import from_json as policy_from_json
from rotting.service.admission import is_loopback
from rotting.service.application import Application
from rotting.service.connections import ConnectionGuard, ConnectionLimits, parse_networks
from rotting.store.host import MAX_LOADED
from rotting.store.protocol import Durability

import uvicorn  # isort: skip - after `connections`, whose error says what to install

_DRAIN = 10.0  # seconds that running requests have to end after a signal
_GARBAGE = 10_000  # new objects before Python looks for cycles: a request makes about a hundred objects and few cycles


class ServiceSettings(NamedTuple):
    """Settings of the service; those from `durability` to `compile` are arguments of `Application`."""

    host: str = "127.0.0.1"  # the address to listen on; only this machine can reach the default
    port: int = 8000  # 0 for any free port
    token_file: str | PathLike[str] | None = None  # tokens of the clients; without it, the host must be a loopback address
    durability: Durability = "disk"
    create: bool = True
    max_loaded: int = MAX_LOADED
    rate: float | None = None
    deadline: float = 30.0
    max_body: int = 4 << 20
    access_log: str | None = None
    compile: CompileMode = "auto"
    tls: tuple[str, str] | None = None  # files of the certificate and of its key, for HTTPS
    proxies: tuple[str, ...] = ()  # addresses or networks of proxies whose X-Forwarded-For is trusted
    limits: ConnectionLimits = ConnectionLimits()


def bind_sockets(host: str, port: int) -> list[socket.socket]:
    """Return sockets that are bound to a port of each address of the host."""
    try:
        places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except socket.gaierror as error:
        raise InvalidValueError("host", "be an address of this machine", host, hint=f": {error.strerror}") from error
    found: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in dict.fromkeys(places):
            found.append(socket.socket(family, kind, protocol))
            if os.name == "posix":  # on other systems two processes could then share the port
                found[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                found[-1].setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            found[-1].bind(address)
    except OSError as error:
        for bound in found:
            bound.close()
        why = f": {os.strerror(error.errno or 0)}"
        if error.errno == errno.EADDRNOTAVAIL:
            raise InvalidValueError("host", "be an address of this machine", host, hint=why) from error
        raise InvalidValueError("port", "be free", port, got=f"{port} of {host}", hint=why) from error
    return found


def _check_certificate(certificate: str, key: str) -> None:
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key)
    except OSError as error:
        rule = "be a certificate and its key"
        raise InvalidValueError("tls-cert and tls-key", rule, certificate, hint=f": {error}") from error


def compile_policies(application: Application) -> None:
    """Compile the policies of all bandits, so that no request waits for that, or have them compiled in the background."""
    for policy in {policy_from_json(description["policy"]) for description in application.host.descriptions.values()}:
        began = time.perf_counter()
        bandit = Bandit(policy, arms=[0, 1], compile=application.host.compile)
        bandit.warm_up()
        application.compiling.report(bandit, time.perf_counter() - began)


class _Server(uvicorn.Server):
    """A uvicorn server that leaves signals to its caller and reports when it listens."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Install no handlers: the process ends with the status of the command, not with that of the signal."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and report it."""
        await super().startup(sockets)
        self._ready()


class Service:
    """The application on a uvicorn server, with limits on connections."""

    def __init__(self, path: str | PathLike[str], settings: ServiceSettings, say: Callable[[str], None]) -> None:
        if settings.token_file is None and not is_loopback(settings.host):
            rule = "be an address of this machine alone, such as 127.0.0.1, as long as there are no tokens"
            raise InvalidValueError("host", rule, settings.host, hint="; see rotting token")
        if settings.proxies and settings.token_file is None:
            rule = "be given with a trusted proxy, which lets other machines in"
            raise InvalidValueError("token file", rule, None, got="none")
        if settings.tls is not None:
            _check_certificate(*settings.tls)
        self._settings = settings
        self._guard = ConnectionGuard(settings.limits, parse_networks(settings.proxies))
        # The port comes first, so that a port in use is reported before anything is created or compiled.
        self._sockets = bind_sockets(settings.host, settings.port)
        self.port = self._sockets[0].getsockname()[1]
        try:
            self.application = Application(
                path,
                durability=settings.durability,
                create=settings.create,
                max_loaded=settings.max_loaded,
                token_file=settings.token_file,
                rate=settings.rate,
                deadline=settings.deadline,
                max_body=settings.max_body,
                access_log=settings.access_log,
                compile=settings.compile,
                say=say,
            )
        except BaseException:
            for bound in self._sockets:
                bound.close()
            raise
        self.application.gauges |= {
            "connections_refused": lambda: self._guard.refused,
            "connections_timed_out": lambda: self._guard.timed_out,
        }

    def _config(self) -> uvicorn.Config:
        certificate, key = self._settings.tls or (None, None)
        return uvicorn.Config(
            self.application,
            http=self._guard.protocol(),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=bool(self._settings.proxies),
            forwarded_allow_ips=list(self._settings.proxies),
            backlog=2_048,
            timeout_keep_alive=round(self._settings.limits.idle_seconds),
            timeout_graceful_shutdown=round(_DRAIN),
            ssl_certfile=certificate,
            ssl_keyfile=key,
        )

    async def run(self, ready: Callable[[], None], stop: asyncio.Event) -> None:
        """Serve until `stop` is set, then finish running requests and save everything."""
        server = _Server(self._config(), ready)
        async with self.application:
            helpers = [asyncio.ensure_future(self._sweep()), asyncio.ensure_future(self._end(server, stop))]
            try:
                await server.serve(self._sockets)
            finally:
                for helper in helpers:
                    helper.cancel()

    async def _end(self, server: uvicorn.Server, stop: asyncio.Event) -> None:
        await stop.wait()
        self.application.stop()
        server.should_exit = True

    async def _sweep(self) -> None:
        """Close connections whose clients are too slow, once per second."""
        while True:
            await asyncio.sleep(1.0)
            try:
                self._guard.sweep()
            except Exception:
                logging.getLogger("rotting.service").exception("the check of slow connections failed")


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415 - not on every system
    except ImportError:
        return None
    return uvloop.new_event_loop


def _on_signal(loop: asyncio.AbstractEventLoop, number: signal.Signals, call: Callable[[], None]) -> None:
    """Call a function in the loop whenever the process gets a signal."""
    try:
        loop.add_signal_handler(number, call)
    except NotImplementedError:  # on Windows
        signal.signal(number, lambda *_: loop.call_soon_threadsafe(call))


def serve(path: str | PathLike[str], settings: ServiceSettings, say: Callable[[str], None]) -> None:
    """Serve a store until SIGTERM or SIGINT; raises a `StoreError` if something was not saved."""
    service = Service(path, settings, say)
    if service.application.host.is_new:
        say(f"created {path}, a new store")
    compile_policies(service.application)
    gc.freeze()  # objects that exist now are never garbage
    gc.set_threshold(_GARBAGE)
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # malformed requests would fill the log

    async def main() -> None:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()

        def end(name: str) -> None:
            stop.set()
            with suppress(OSError):  # standard error was closed
                say(f"{name}: finishing running requests, then saving")

        for number in (signal.SIGTERM, signal.SIGINT):
            _on_signal(loop, number, partial(end, number.name))
        if hasattr(signal, "SIGHUP"):
            _on_signal(loop, signal.SIGHUP, service.application.reload)

        def ready() -> None:
            shown = f"[{settings.host}]" if ":" in settings.host else settings.host
            who = "without tokens, for this machine only" if settings.token_file is None else "for clients with a token"
            scheme = "http" if settings.tls is None else "https"
            count = len(service.application.host.descriptions)
            say(f"serving {count} bandits of {path} at {scheme}://{shown}:{service.port}, {who}")

        await service.run(ready, stop)
        for number in (signal.SIGTERM, signal.SIGINT):  # a second signal must not change how the process ends
            with suppress(NotImplementedError):
                loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_IGN)
        with suppress(OSError):
            say(f"saved {path}")

    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(main())
