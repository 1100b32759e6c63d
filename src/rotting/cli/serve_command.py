"""`rotting serve` and `rotting token`: serve decisions over HTTP, and create tokens for its clients."""

import argparse
from pathlib import Path

from rotting.cli.arguments import UserError, add_compile_option, parse_value, user_errors
from rotting.cli.parsers import Commands
from rotting.errors import MissingExtraError, PathMissingError, StoreError


def _serve(options: argparse.Namespace) -> None:
    from rotting.cli.output import say
    from rotting.common.rules import POSITIVE, nonnegative_int, option, positive_int
    from rotting.engines.tiers import MODES
    from rotting.store.protocol import DURABILITIES

    with user_errors():
        port = nonnegative_int("port", parse_value(options.port))
        max_loaded = positive_int("max-loaded", parse_value(options.max_loaded))
        rate = None if options.rate is None else POSITIVE.check("rate", parse_value(options.rate))
        option(*DURABILITIES).check("durability", options.durability)
        option(*MODES).check("compile", options.compile)
    if port > 65_535:
        raise UserError(f"port must be at most 65535, got {port}")
    if (options.tls_cert is None) != (options.tls_key is None):
        raise UserError("tls-cert and tls-key must be given together, got one of them")
    try:
        from rotting.service.server import ServiceSettings, serve

        settings = ServiceSettings(
            host=options.host,
            port=port,
            token_file=options.token_file,
            durability=options.durability,
            create=not options.must_exist,
            max_loaded=max_loaded,
            rate=rate,
            access_log=options.access_log,
            compile=options.compile,
            tls=None if options.tls_cert is None else (options.tls_cert, options.tls_key),
            proxies=tuple(options.trusted_proxy),
        )
        with user_errors():
            serve(options.file, settings, say)
    except (MissingExtraError, PathMissingError, StoreError) as error:
        raise UserError(str(error)) from error


def _token(options: argparse.Namespace) -> None:
    from rotting.cli.output import say
    from rotting.service.tokens import new_token

    with user_errors():
        bandits = None if options.bandits is None else options.bandits.split(",")
        print(new_token(Path(options.file), options.name, options.scopes.split(","), bandits))
    say(f"added to {options.file}, which stores only its digest; copy the token now: it is not shown again")


def add(commands: Commands) -> None:
    """Add the commands to the parser."""
    more = (
        "SIGTERM shuts the service down cleanly; SIGHUP reloads the tokens and reopens the access log. "
        "The OpenAPI document is at /openapi.json."
    )
    serve = commands.add("serve", _serve, "Serve the bandits of a store over HTTP", more)
    serve.add_argument("file", metavar="FILE", help="the store, such as songs.rot; it is created if it is missing")
    serve.add_argument("--must-exist", action="store_true", help="refuse to start if the store is missing")
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on; default: 127.0.0.1, this machine only")
    serve.add_argument("--port", default="8000", help="port to listen on; default: 8000; 0: any free port")
    serve.add_argument("--token-file", metavar="F", help="tokens of the clients; required unless --host is a loopback address")
    serve.add_argument(
        "--durability",
        default="disk",
        help="where a change is stored before the response: disk (default) or os; memory is the same as os",
    )
    serve.add_argument(
        "--max-loaded",
        metavar="N",
        default="10000",
        help="number of bandits in memory above which idle ones are unloaded; default: 10000",
    )
    add_compile_option(serve)
    serve.add_argument("--rate", metavar="N", help="maximum requests per second for each token or address; default: no limit")
    serve.add_argument("--access-log", metavar="F", help="append a line for every request to this file; -: standard error")
    serve.add_argument("--tls-cert", metavar="F", help="certificate for HTTPS, with --tls-key")
    serve.add_argument("--tls-key", metavar="F", help="private key of the certificate")
    serve.add_argument(
        "--trusted-proxy",
        metavar="ADDRESS",
        action="append",
        default=[],
        help="use the client address in X-Forwarded-For from this proxy",
    )
    token = commands.add(
        "token", _token, "Add a token to a token file, and print it", "The file stores only the digest of the token."
    )
    token.add_argument("file", metavar="FILE", help="the token file; it is created if it is missing")
    token.add_argument("--name", default="unnamed", help="name of the token, for the access log")
    token.add_argument(
        "--scopes", default="decide,reward", help="scopes among decide, reward, admin, read; default: decide,reward"
    )
    token.add_argument("--bandits", metavar="NAMES", help="allow only these bandits, such as songs,radio-*; default: all")
