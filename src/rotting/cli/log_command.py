"""`rotting log`: print, export or verify the events of a store."""

import argparse
import json
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rotting.cli.arguments import UserError, new_path, parse_value, user_errors, user_errors_of_store
from rotting.cli.parsers import Commands
from rotting.common.short_numbers import plural
from rotting.errors import MissingExtraError, StoreDamagedError

if TYPE_CHECKING:
    from rotting.store.protocol import StoredEvent
    from rotting.store.sqlite import SQLiteStore

_FORMATS = (".csv", ".parquet")
_SHOWN_VALUES = 10  # values of a list in a line
_EVENT = len("learned_many")  # the longest name


def _log(options: argparse.Namespace) -> None:
    out = None if options.out is None else _new_table("out", options.out)
    after = parse_value(options.after)
    if options.verify and (options.bandit is not None or after != 0):
        raise UserError("verify must be given without --bandit and --after: it reads the whole log")
    with _opened(options.file) as store:
        if options.verify:
            _verify(store, options.file)
            return
        with user_errors():
            events = store.read(options.bandit, after)
        if out is not None:
            _export(events, out)
        elif options.json:
            for event in events:
                print(_text(event._asdict()))
        else:
            _print(store, events)


def _opened(file: str) -> "SQLiteStore":
    with user_errors_of_store():
        from rotting.store.sqlite import SQLiteStore

        return SQLiteStore(file, readonly=True)


def _verify(store: "SQLiteStore", file: str) -> None:
    from rotting.common.progress import Progress
    from rotting.store.verify import verify

    with Progress(store.last, "events") as bar:
        found = verify(store, replay=True, progress=bar.advance)
    for line in (*found.notes, *found.problems):
        print(line)
    if found.problems:
        raise StoreDamagedError(f"is damaged: {plural(len(found.problems), 'problem')}, events read: {found.events}", file)
    choices = "; see above what other versions wrote" if found.notes else ", and all choices are the same when replayed"
    print(f"{file}: {plural(found.events, 'event')}, all intact{choices}")


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _short(value: object) -> str:
    """Return JSON, in which a long list is shortened to its first values and their number."""
    if isinstance(value, list) and len(value) > _SHOWN_VALUES:
        return f"{_text(value[:_SHOWN_VALUES])[:-1]}, ... {len(value)} in all]"
    return _text(value)


def _print(store: "SQLiteStore", events: "Iterable[StoredEvent]") -> None:
    """Print one event per line: common fields in columns, then the others. In a terminal, lines are cut to its width."""
    wide = min(20, max((6, *map(len, store.bandits()))))
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    print(f"{'number':>8} {'epoch':>6}  {'bandit':{wide}}  {'event':{_EVENT}}  {'id':8}".rstrip())
    for event in events:
        payload = {name: value for name, value in event.payload.items() if name not in {"answer", "body"}}
        what = str(payload.pop("event", "note" if "note" in payload else ""))
        key = str(payload.pop("id", ""))[:8]
        first: dict[str, object] = {name: payload.pop(name) for name in ("arm", "reward") if name in payload}
        own = " ".join(f"{name}={_short(value)}" for name, value in {**first, **payload}.items() if value is not None)
        line = f"{event.number:>8} {event.epoch:>6}  {event.bandit:{wide}}  {what:{_EVENT}}  {key:8}  {own}".rstrip()
        print(line if columns is None or len(line) <= columns else f"{line[: columns - 3]}...")


def _new_table(name: str, text: str) -> Path:
    path = new_path(name, text)
    if path.suffix not in _FORMATS:
        raise UserError(f"{name} must end in one of {', '.join(_FORMATS)}, got {text!r}")
    return path


def _export(events: "Iterable[StoredEvent]", path: Path) -> None:
    from rotting.cli.output import say
    from rotting.common.atomic_files import write_atomically
    from rotting.live.events import one_by_one
    from rotting.report.frames import csv_bytes, parquet_bytes

    rows = []
    for number, epoch, bandit, payload in events:
        own = {"number": number, "epoch": epoch, "bandit": bandit}
        rows += [
            {**own, **{f"payload_{name}" if name in own else name: value for name, value in each.items()}}
            for each in one_by_one(payload)
        ]
    try:
        content = (csv_bytes if path.suffix == ".csv" else parquet_bytes)(_in_columns(rows))
    except MissingExtraError as error:
        raise UserError(f"out: {error}") from error
    write_atomically(path, content)
    say(f"saved {len({row['number'] for row in rows})} events to {path}")


def _in_columns(rows: Sequence[Mapping[str, object]]) -> list[dict[str, object]]:
    """Return rows whose columns have one type each; columns of mixed types become JSON."""
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


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    more = "Only reads the store, which another program may be writing to. Shortens ids; --json prints them in full."
    log = commands.add("log", _log, "Print, export or verify the events of a store", more)
    log.add_argument("file", metavar="FILE", help="the store, such as songs.rot")
    log.add_argument("--bandit", metavar="NAME", help="only the events of this bandit; default: all bandits")
    log.add_argument("--after", default="0", metavar="N", help="only the events after event number N; default: 0, all events")
    ways = log.add_mutually_exclusive_group()
    ways.add_argument("--json", action="store_true", help="print strict JSON, one event per line")
    ways.add_argument("--out", metavar="FILE.csv|FILE.parquet", help="export the events to a new file")
    ways.add_argument("--verify", action="store_true", help="check that no event was changed, and replay every decision")
