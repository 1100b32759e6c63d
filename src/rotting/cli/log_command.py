"""`rotting log`: the events that a store keeps."""

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rotting.cli.arguments import UserError, new_place, refusing, value_of
from rotting.errors import MissingExtraError, PathMissingError, StoreDamagedError, StoreError

if TYPE_CHECKING:
    from rotting.cli.parsers import Command
    from rotting.store.protocol import Event
    from rotting.store.sqlite import SQLiteStore

_FORMATS = (".csv", ".parquet")


def _log(options: argparse.Namespace) -> None:
    out = None if options.out is None else _new_table("out", options.out)
    after: Any = value_of(options.after)
    with _opened(options.file) as store:
        if options.verify:
            _verify(store, options.file)
            return
        with refusing():
            events = store.read(options.bandit, after)
        if out is not None:
            _export(events, out)
        else:
            for event in events:
                print(json.dumps(event._asdict(), ensure_ascii=False) if options.json else _line(event))


def _opened(file: str) -> "SQLiteStore":
    try:
        from rotting.store.sqlite import SQLiteStore

        return SQLiteStore(file, readonly=True)
    except (MissingExtraError, PathMissingError, StoreError) as error:
        raise UserError(str(error)) from error


def _verify(store: "SQLiteStore", file: str) -> None:
    from rotting.store.durable import replaying
    from rotting.store.verify import verify

    found = verify(store, replaying(store))
    for problem in found.problems:
        print(problem)
    if found.problems:
        raise StoreDamagedError(f"{file} is damaged: {len(found.problems)} found in {found.events} events")
    print(f"{file}: {found.events} events, all as they were written, and every choice the same again")


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _line(event: "Event") -> str:
    """Return an event in one line: its number, epoch and bandit, what happened, and the rest as JSON."""
    payload = dict(event.payload)
    what = str(payload.pop("event", "note" if "note" in payload else ""))
    rest = " ".join(f"{name}={_text(value)}" for name, value in payload.items())
    return f"{event.number:>8} {event.epoch:>4} {event.bandit}  {what} {rest}".rstrip()


def _new_table(name: str, text: str) -> Path:
    path = new_place(name, text)
    if path.suffix not in _FORMATS:
        raise UserError(f"{name} must end in one of {', '.join(_FORMATS)}, got {text!r}")
    return path


def _export(events: "Iterable[Event]", path: Path) -> None:
    from rotting.cli.output import say
    from rotting.common.atomic_files import write_atomically
    from rotting.report.frames import csv_bytes, parquet_bytes

    rows = []
    for number, epoch, bandit, payload in events:
        own = {"number": number, "epoch": epoch, "bandit": bandit}
        rows.append({**own, **{f"payload_{name}" if name in own else name: value for name, value in payload.items()}})
    try:
        content = (csv_bytes if path.suffix == ".csv" else parquet_bytes)(_in_columns(rows))
    except MissingExtraError as error:
        raise UserError(f"out: {error}") from error
    write_atomically(path, content)
    say(f"saved {len(rows)} events to {path}")


def _in_columns(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows whose columns hold values of one kind; a column that does not becomes JSON."""
    kinds: dict[str, set[type]] = {}
    for row in rows:
        for name, value in row.items():
            if value is not None:
                wide = isinstance(value, int) and not -(2**63) <= value < 2**63
                kinds.setdefault(name, set()).add(object if wide else type(value))
    plain: tuple[set[type], ...] = ({bool}, {int}, {float}, {str}, {int, float}, set())
    as_json = {name for name, kind in kinds.items() if kind not in plain}
    return [
        {name: _text(value) if name in as_json and value is not None else value for name, value in row.items()} for row in rows
    ]


def add(command: "Command") -> None:
    """Add the command to the parser."""
    more = "Reads beside the program that writes the store, and changes nothing."
    log = command("log", _log, "Print, export or verify the events that a store keeps", more)
    log.add_argument("file", metavar="FILE", help="the store, such as songs.rot")
    log.add_argument("--bandit", metavar="NAME", help="only the events of this bandit; default: of all")
    log.add_argument("--after", default="0", metavar="N", help="only the events after number N; default: 0")
    ways = log.add_mutually_exclusive_group()
    ways.add_argument("--json", action="store_true", help="strict JSON on standard output, one event a line")
    ways.add_argument("--out", metavar="FILE.csv|FILE.parquet", help="export the events into a new file")
    ways.add_argument("--verify", action="store_true", help="check that every event is as it was written, and play them again")
