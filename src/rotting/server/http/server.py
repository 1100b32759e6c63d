"""Runs the service on uvicorn: listens, handles signals, and shuts down cleanly."""

import asyncio
import contextlib
import errno
import logging
import os
import signal
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import suppress
from os import PathLike
from typing import NamedTuple

from rotting.errors import InvalidValueError, MissingExtraError, RottingError
from rotting.registry import from_json as policy_from_json
from rotting.server.http.admission import is_loopback
from rotting.server.http.application import create_application
from rotting.server.http.service import Service, ServiceOptions
from rotting.server.store.database import Durability, all_records
from rotting.server.store.events import decode, encode

try:
    import uvicorn
except ImportError as error:
    raise MissingExtraError("the service needs uvicorn: pip install 'rotting[service]'") from error

_DRAIN = 10  # seconds that running requests have to end after a signal
_MOST_REQUESTS = 1_024  # at the same time; more are refused with status 503
_IDLE = 75  # seconds between two requests of a connection
_HEAD = 65_536  # bytes of the head of a request


class ServerSettings(NamedTuple):
    """Where and how to listen."""

    host: str = "127.0.0.1"  # the address to listen on; only this machine can reach the default
    port: int = 8000  # 0 for any free port
    durability: Durability = "disk"
    create: bool = True
    tls: tuple[str, str] | None = None  # files of the certificate and of its key, for HTTPS
    proxies: tuple[str, ...] = ()  # addresses or networks of proxies whose X-Forwarded-For is trusted
    access_log: bool = False  # write a line for each request to standard error


def bind_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens on a port of the host."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = min(found)  # IPv4 before IPv6, if a name has addresses of both
        return socket.create_server(address, family=family, backlog=2_048)
    except socket.gaierror as error:
        raise InvalidValueError("host", "be an address of this machine", host, hint=f": {error.strerror}") from error
    except OSError as error:
        why = f": {os.strerror(error.errno or 0)}"
        if error.errno == errno.EADDRNOTAVAIL:
            raise InvalidValueError("host", "be an address of this machine", host, hint=why) from error
        raise InvalidValueError("port", "be free", port, got=f"{port} of {host}", hint=why) from error


def check_settings(settings: ServerSettings, options: ServiceOptions) -> None:
    """Refuse settings that would let other machines in without tokens, and a certificate that cannot be used."""
    if options.token_file is None and not is_loopback(settings.host):
        rule = "be an address of this machine alone, such as 127.0.0.1, as long as there are no tokens"
        raise InvalidValueError("host", rule, settings.host, hint="; see rotting token")
    if settings.proxies and options.token_file is None:
        rule = "be given with a trusted proxy, which lets other machines in"
        raise InvalidValueError("token file", rule, None, got="none")
    if settings.tls is not None:
        try:
            ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(*settings.tls)
        except OSError as error:
            rule = "be a certificate and its key"
            raise InvalidValueError("tls-cert and tls-key", rule, settings.tls[0], hint=f": {error}") from error


class _Server(uvicorn.Server):
    """A server that leaves signals to its caller and reports when it listens."""

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


def warm_up(service: Service, say: Callable[[str], None]) -> None:
    """Compile the policies of all bandits, so that no request waits for that, or have them compiled in the background."""
    from rotting.live.bandit import Bandit  # noqa: PLC0415 - imports much that is not needed to refuse wrong settings

    # Of ten thousand bandits, most have the same policy: it is made once.
    described = {encode(decode(record.description)["policy"]) for record in all_records(service.database)}
    for each in described:
        try:
            policy = policy_from_json(decode(each))
        except RottingError as error:  # of another version; the other bandits must be served
            say(f"bandits of a policy that is not known here cannot be used: {error}")
            continue
        bandit = Bandit(policy, arms=[0, 1], compile=service.options.compile)
        bandit.warm_up()
        say(f"compiled {policy.name}" if bandit.is_compiled else f"{policy.name} decides interpreted")


def serve(store: str | PathLike[str], settings: ServerSettings, options: ServiceOptions, say: Callable[[str], None]) -> None:
    """Serve a store until SIGTERM or SIGINT."""
    check_settings(settings, options)
    # The port comes first, so that a port in use is reported before anything is created or compiled.
    bound = bind_socket(settings.host, settings.port)
    try:
        application = create_application(store, durability=settings.durability, create=settings.create, **options._asdict())
    except BaseException:
        bound.close()
        raise
    service: Service = application.state.service
    warm_up(service, say)
    certificate, key = settings.tls or (None, None)
    config = uvicorn.Config(
        application,
        ws="none",
        log_config=None,
        access_log=settings.access_log,
        server_header=False,
        proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=list(settings.proxies),
        backlog=2_048,
        limit_concurrency=_MOST_REQUESTS,
        h11_max_incomplete_event_size=_HEAD,
        timeout_keep_alive=_IDLE,
        timeout_graceful_shutdown=_DRAIN,
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # malformed requests would fill the log
    if settings.access_log:
        lines = logging.StreamHandler()
        lines.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
        logging.getLogger("uvicorn.access").addHandler(lines)
        logging.getLogger("uvicorn.access").setLevel(logging.INFO)
    port = bound.getsockname()[1]

    def ready() -> None:
        shown = f"[{settings.host}]" if ":" in settings.host else settings.host
        who = "without tokens, for this machine only" if options.token_file is None else "for clients with a token"
        scheme = "http" if settings.tls is None else "https"
        say(f"serving {service.database.count()} bandits of {service.database.place} at {scheme}://{shown}:{port}, {who}")

    async def main() -> None:
        server, loop = _Server(config, ready), asyncio.get_running_loop()

        def end(name: str) -> None:
            with suppress(OSError):  # standard error was closed
                say(f"{name}: finishing running requests")
            service.stopping.set()
            server.should_exit = True

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, end, number.name)
        await server.serve([bound])
        for number in (signal.SIGTERM, signal.SIGINT):  # a second signal must not change how the process ends
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_IGN)

    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(main())
