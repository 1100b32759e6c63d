"""The commands about stores: serve, token, log, verify, copy, migrate and backup."""

import argparse
import csv
import json
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rotting.cli.arguments import (
    Commands,
    UserError,
    add_compile_option,
    new_path,
    parse_value,
    say,
    user_errors,
    user_errors_of_store,
)
from rotting.common.short_numbers import plural
from rotting.errors import MissingExtraError, PathMissingError, StoreDamagedError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rotting.server.store.database import Database
    from rotting.server.store.events import BanditRecord

_STORE = "the store: an SQLite file such as songs.rot, or postgresql://user@host/database"
_SHOWN_VALUES = 10  # values of a list in a line
_EVENT = len("learned_many")  # the longest name
_COLUMNS = ("bandit", "round", "time", "caller", "unit", "arm", "propensity", "reward", "available", "id", "state", "rule")


# --- Serving ----------------------------------------------------------------------------------------------------------------


def _serve(options: argparse.Namespace) -> None:
    from rotting.common.rules import POSITIVE, nonnegative_int, option
    from rotting.simulation.engines.tiers import MODES

    with user_errors():
        port = nonnegative_int("port", parse_value(options.port))
        rate = None if options.rate is None else POSITIVE.check("rate", parse_value(options.rate))
        deadline = POSITIVE.check("deadline", parse_value(options.deadline))
        option("disk", "os").check("durability", options.durability)
        option(*MODES).check("compile", options.compile)
    if port > 65_535:
        raise UserError(f"port must be at most 65535, got {port}")
    if (options.tls_cert is None) != (options.tls_key is None):
        raise UserError("tls-cert and tls-key must be given together, got one of them")
    try:
        from rotting.server.http.server import ServerSettings, check_settings, serve
        from rotting.server.http.service import ServiceOptions

        settings = ServerSettings(
            host=options.host,
            port=port,
            durability=options.durability,
            create=not options.must_exist,
            tls=None if options.tls_cert is None else (options.tls_cert, options.tls_key),
            proxies=tuple(options.trusted_proxy),
            access_log=options.access_log,
        )
        service = ServiceOptions(
            token_file=options.token_file,
            rate=rate,
            deadline=deadline,
            compile=options.compile,
            webhook=options.webhook,
        )
        with user_errors():
            if options.check:
                check_settings(settings, service)
                _check(options.store, options.token_file)
            else:
                serve(options.store, settings, service, say)
    except (MissingExtraError, PathMissingError, StoreError) as error:
        raise UserError(str(error)) from error


def _check(store: str, token_file: str | None) -> None:
    """Say whether a service could start: the store can be opened, and the tokens can be read."""
    from rotting.server.http.tokens import TokenFile
    from rotting.server.store.database import open_database

    if token_file is not None:
        TokenFile(Path(token_file))
    database = open_database(store, create=False)
    say(f"{database.place} can be served: {plural(database.count(), 'bandit')}")
    database.close()


def _token(options: argparse.Namespace) -> None:
    from rotting.server.http.tokens import new_token

    with user_errors():
        bandits = None if options.bandits is None else options.bandits.split(",")
        print(new_token(Path(options.file), options.name, options.scopes.split(","), bandits))
    say(f"added to {options.file}, which stores only its digest; copy the token now: it is not shown again")


# --- Reading ----------------------------------------------------------------------------------------------------------------


@contextmanager
def _opened(store: str, *, readonly: bool = True, create: bool = False) -> "Iterator[Database]":
    with user_errors_of_store():
        from rotting.server.store.database import open_database

        database = open_database(store, create=create, readonly=readonly)
    try:
        yield database
    finally:
        database.close()


def _records(database: "Database", name: str | None) -> "Iterator[BanditRecord]":
    from rotting.server.store.database import all_records

    if name is not None:
        record = database.find(name)
        if record is None:
            raise UserError(f"bandit must be one of the store, got {name!r}")
        yield record
        return
    yield from all_records(database)


def _log(options: argparse.Namespace) -> None:
    after = parse_value(options.after)
    if not isinstance(after, int) or after < 0:
        raise UserError(f"after must be a number of an event, or 0, got {options.after!r}")
    with _opened(options.store) as database:
        if options.to is not None:
            _print_decisions(database, options.bandit, options.to)
        else:
            _print_events(database, options.bandit, after, options.json)


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _short(value: object) -> str:
    """Return JSON, in which a long list is shortened to its first values and their number."""
    if isinstance(value, list) and len(value) > _SHOWN_VALUES:
        return f"{_text(value[:_SHOWN_VALUES])[:-1]}, ... {len(value)} in all]"
    return _text(value)


def _print_decisions(database: "Database", name: str | None, form: str) -> None:
    """Print one row for each decision, as CSV or as JSON."""
    from rotting.server.store.rows import decision_rows

    writer = csv.writer(sys.stdout, lineterminator="\n")
    if form == "csv":
        writer.writerow(_COLUMNS)
    for record in _records(database, name):
        for row in decision_rows(database, record):
            values = {"bandit": record.name, **{each: getattr(row, each) for each in _COLUMNS[1:]}}
            values["available"] = list(row.available)
            if form == "jsonl":
                print(_text(values))
            else:
                as_text = {
                    "arm": row.arm if isinstance(row.arm, str) else _text(row.arm),
                    "available": _text(values["available"]),
                }
                writer.writerow([{**values, **as_text}[each] for each in _COLUMNS])


def _print_events(database: "Database", name: str | None, after: int, as_json: bool) -> None:
    """Print one event per line: common fields in columns, then the others. In a terminal, lines are cut to its width."""
    from datetime import UTC, datetime

    from rotting.server.store.events import MICROSECOND, decode

    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    records = list(_records(database, name))
    wide = min(20, max((6, *(len(each.name) for each in records))))
    if not as_json:
        print(f"{'number':>8}  {'time':23}  {'bandit':{wide}}  {'event':{_EVENT}}  {'id':8}".rstrip())
    for record in records:
        number = max(after, record.base)
        while events := database.events(record, number + 1):
            number = events[-1].number
            for event in events:
                payload = decode(event.payload)
                if as_json:
                    print(
                        _text(
                            {
                                "bandit": record.name,
                                "number": event.number,
                                "time": event.time,
                                "caller": event.caller,
                                **payload,
                            }
                        )
                    )
                    continue
                when = datetime.fromtimestamp(event.time * MICROSECOND, UTC).isoformat(" ", "milliseconds")[:23]
                what, key = str(payload.pop("event")), str(payload.pop("id", ""))[:8]
                first: dict[str, object] = {each: payload.pop(each) for each in ("arm", "reward") if each in payload}
                first |= {"caller": event.caller} if event.caller else {}
                own = " ".join(f"{each}={_short(value)}" for each, value in {**first, **payload}.items() if value is not None)
                line = f"{event.number:>8}  {when}  {record.name:{wide}}  {what:{_EVENT}}  {key:8}  {own}".rstrip()
                print(line if columns is None or len(line) <= columns else f"{line[: columns - 3]}...")


def _verify(options: argparse.Namespace) -> None:
    from rotting.common.progress import Progress

    with _opened(options.store) as database:
        from rotting.server.store.verify import verify

        last = [database.last(record) for record in _records(database, options.bandit)]
        with Progress(sum(each.number for each in last if each is not None), "events") as bar:
            found = verify(database, options.bandit, bar.advance)
    for line in (*found.notes, *found.problems):
        print(line)
    if found.problems:
        raise StoreDamagedError(f"is damaged: {plural(len(found.problems), 'problem')}", database.place)
    choices = "" if found.notes else ", and all choices are the same when they are made again"
    print(f"{database.place}: {plural(found.events, 'event')}, all intact{choices}")


# --- Moving -----------------------------------------------------------------------------------------------------------------


def _copy(options: argparse.Namespace) -> None:
    with _opened(options.store) as source, _opened(options.target, readonly=False, create=True) as target:
        from rotting.server.store.copying import copy

        with user_errors():
            events = copy(source, target)
        say(f"copied {plural(source.count(), 'bandit')} with {plural(events, 'event')} to {target.place}, and checked them")


def _migrate(options: argparse.Namespace) -> None:
    with _opened(options.store, readonly=False, create=True) as database:
        database.migrate()
        say(f"{database.place} is ready")


def _backup(options: argparse.Namespace) -> None:
    copy = new_path("COPY", options.copy)
    with user_errors_of_store():
        from rotting.server.store.copying import backup

        backup(options.file, copy)
    say(f"copied {options.file} to {copy}; check it with: rotting verify {copy}")


def add_store_commands(commands: Commands) -> None:
    """Add the commands to the parser."""
    _add_serve(commands)
    token = commands.add(
        "token", _token, "Add a token to a token file, and print it", "The file stores only the digest of the token."
    )
    token.add_argument("file", metavar="FILE", help="the token file; it is created if it is missing")
    token.add_argument("--name", default="unnamed", help="name of the token, for the log")
    token.add_argument(
        "--scopes", default="decide,reward", help="scopes among decide, reward, admin, read; default: decide,reward"
    )
    token.add_argument("--bandits", metavar="NAMES", help="allow only these bandits, such as songs,radio-*; default: all")

    more = "Only reads the store, which other programs may be writing to. Shortens ids; --json prints them in full."
    log = commands.add("log", _log, "Print the events or the decisions of a store", more)
    log.add_argument("store", metavar="STORE", help=_STORE)
    log.add_argument("--bandit", metavar="NAME", help="only this bandit; default: all bandits")
    log.add_argument("--after", default="0", metavar="N", help="only the events after event number N; default: 0, all events")
    ways = log.add_mutually_exclusive_group()
    ways.add_argument("--json", action="store_true", help="print strict JSON, one event per line")
    ways.add_argument("--to", choices=("csv", "jsonl"), help="print one row for each decision, with its reward")

    verify = commands.add(
        "verify", _verify, "Check that no event of a store was changed, and make every decision again", "Only reads the store."
    )
    verify.add_argument("store", metavar="STORE", help=_STORE)
    verify.add_argument("--bandit", metavar="NAME", help="only this bandit; default: all bandits")

    copy = commands.add(
        "copy",
        _copy,
        "Copy all bandits of a store into another one",
        "From SQLite to PostgreSQL or back; the copy is verified.",
    )
    copy.add_argument("store", metavar="FROM", help=_STORE)
    copy.add_argument("target", metavar="TO", help="the other store, which is created if it is missing")

    migrate = commands.add(
        "migrate",
        _migrate,
        "Make the tables of a store, or raise them to this version",
        "Servers of older versions may refuse it from then on.",
    )
    migrate.add_argument("store", metavar="STORE", help=_STORE)

    more = "Other programs may be writing to it. The copy is the file as it was at one moment; no file is overwritten."
    backup = commands.add("backup", _backup, "Copy an SQLite file, even while it is being written to", more)
    backup.add_argument("file", metavar="FILE", help="the file, such as songs.rot; for PostgreSQL use pg_dump")
    backup.add_argument("copy", metavar="COPY", help="the new file")


def _add_serve(commands: Commands) -> None:
    more = (
        "Any number of servers may share a store. SIGTERM shuts the service down cleanly. "
        "The OpenAPI document is at /openapi.json."
    )
    serve = commands.add("serve", _serve, "Serve the bandits of a store over HTTP", more)
    serve.add_argument("store", metavar="STORE", help=f"{_STORE}; it is created if it is missing")
    serve.add_argument("--must-exist", action="store_true", help="refuse to start if the store is missing")
    serve.add_argument("--check", action="store_true", help="only check the store and the settings")
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on; default: 127.0.0.1, this machine only")
    serve.add_argument("--port", default="8000", help="port to listen on; default: 8000; 0: any free port")
    serve.add_argument("--token-file", metavar="F", help="tokens of the clients; required unless --host is a loopback address")
    serve.add_argument(
        "--durability", default="disk", help="where a change is stored before the response: disk (default) or os"
    )
    serve.add_argument("--deadline", metavar="S", default="30", help="seconds after which a request fails; default: 30")
    add_compile_option(serve)
    serve.add_argument("--rate", metavar="N", help="maximum requests per second for each token or address; default: no limit")
    serve.add_argument("--webhook", metavar="URL", help="where to tell that an arm wears out, falls silent or starves")
    serve.add_argument("--access-log", action="store_true", help="write a line for every request to standard error")
    serve.add_argument("--tls-cert", metavar="F", help="certificate for HTTPS, with --tls-key")
    serve.add_argument("--tls-key", metavar="F", help="private key of the certificate")
    serve.add_argument(
        "--trusted-proxy",
        metavar="ADDRESS",
        action="append",
        default=[],
        help="use the client address in X-Forwarded-For from this proxy",
    )
