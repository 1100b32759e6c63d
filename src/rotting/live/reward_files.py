"""Reads the rewards of a store, of a file that `rotting log` exported, or of another table in a file.

The rewards of a log are those that its bandit still knows: in the order of their decisions, without those of forgotten arms.
Priors of arms are not rewards and are left out.
"""

import codecs
import csv
import json
from collections import Counter, OrderedDict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from os import PathLike
from os.path import isfile
from pathlib import Path
from typing import Any, NamedTuple

from rotting.errors import InvalidValueError, MissingExtraError, PathMissingError
from rotting.live.arms import restore_arm
from rotting.live.events import Event, one_by_one

Columns = dict[str, Sequence[Any]]
EXPORTED = frozenset({"number", "epoch", "bandit", "event"})
"""The columns by which an exported log is recognised."""


@dataclass(slots=True)
class _Row:
    """A decision, or a reward without one."""

    arm: Hashable
    uses: int  # how often the id of the arm had been used before
    round: int
    propensity: float | None
    reward: float | None
    paused: list[Hashable]  # the arms that the probe paused
    was_cancelled: bool = False


def rewards_of(events: Iterable[Event], keep_missing: bool = False) -> Columns:
    """Return the arm, reward and propensity of each decision with a reward, in order, given all events of one bandit.

    If the bandit's probe paused arms, there are two more columns: `round`, and `paused`, the arms that were paused.

    Args:
        events: all events of the bandit, in order.
        keep_missing: whether to return decisions without a reward, too, with None as their reward. Cancelled decisions, whose
            arm was never shown, are left out in any case.
    """
    rows: list[_Row] = []
    waiting: OrderedDict[Hashable, _Row] = OrderedDict()  # the decisions without a reward, by id
    used: Counter[Hashable] = Counter()  # how often each id was forgotten or added
    t = 0
    for event in chain.from_iterable(map(one_by_one, events)):
        kind = event.get("event")  # notes have none
        if kind == "decided":
            t, arm = int(event.get("round") or 0), restore_arm(event["arm"])
            paused = [restore_arm(each) for each in _listed(event.get("paused"))]
            row = waiting[event["id"]] = _Row(arm, used[arm], t, event["propensity"], None, paused)
            rows.append(row)
        elif kind in {"rewarded", "expired", "cancelled"}:
            if event["id"] not in waiting:
                got = f"one without the decision {event['id']}, which it rewards or ends"
                raise InvalidValueError("history", "be a whole log", event["id"], got=got)
            row = waiting.pop(event["id"])
            row.reward, row.was_cancelled = event.get("reward"), kind == "cancelled"
        elif kind == "settled":
            while waiting and next(iter(waiting.values())).round <= int(event["round"]):
                _, row = waiting.popitem(last=False)
                row.reward = event["missing"]
        elif kind == "learned":
            t, arm = t + 1, restore_arm(event["arm"])
            rows.append(_Row(arm, used[arm], t, event.get("propensity"), event["reward"], []))
        elif kind in {"forgotten", "added"}:  # an added arm is another one than the arm that had its id before
            used[restore_arm(event["arm"])] += 1
    kept = [row for row in rows if (not row.was_cancelled if keep_missing else row.reward is not None)]
    kept = [row for row in kept if row.uses == used[row.arm]]
    names = ["arm", "reward", "propensity", *(["round", "paused"] if any(row.paused for row in rows) else [])]
    return {name: [*map(attrgetter(name), kept)] for name in names}


def _listed(arms: str | list[object] | None) -> list[object]:
    """Return a list of arms, which is JSON in an exported log."""
    return (json.loads(arms) if isinstance(arms, str) else arms) or []


def _select_bandit(names: Iterable[str], name: str | None) -> str:
    """Return the given name if the log has it, or the only name in the log."""
    known = list(dict.fromkeys(names))
    if name is None and len(known) == 1:
        return known[0]
    if name not in known:
        raise InvalidValueError("name", f"be one of the bandits in the log, {', '.join(map(repr, known))}", name)
    return name


def _is_missing(value: object) -> bool:
    return value is None or value == "" or value != value  # noqa: PLR0124 - a missing value may be NaN


def exported_rewards(columns: Columns, name: str | None, keep_missing: bool = False) -> Columns:
    """Return the rewards of a log that `rotting log` exported as a table; its arms may be text, as in CSV."""
    if not columns["event"]:
        return {"arm": [], "reward": [], "propensity": []}
    wanted = _select_bandit(columns["bandit"], name)

    def events() -> Iterator[Event]:
        for row in zip(*columns.values(), strict=True):
            event = {key: None if _is_missing(value) else value for key, value in zip(columns, row, strict=True)}
            if event["bandit"] == wanted:
                yield {"reward": None, "propensity": None, **event}

    return rewards_of(events(), keep_missing)


class FileContent(NamedTuple):
    """The columns of a file or of another table."""

    columns: Mapping[str, Any]
    is_text: bool  # whether all values are text, as in CSV
    is_log: bool  # whether they are the rewards of one bandit in a store or an exported log

    def place(self, row: int, column: str) -> str:
        """Return where a value stands, for an error message: the line of a CSV file, or the row of another table."""
        if not self.is_text or self.is_log:
            return f"{row_text(row)}, column {column!r}"
        above = chain(self.columns, *(values[:row] for values in self.columns.values()))
        return f"line {_line_of(row, above)}, column {column!r}"


def row_text(row: int) -> str:
    """Return the number of a row, for an error message.

    Example:
        >>> row_text(3)
        'row 3 (counting from 0)'
    """
    return f"row {row} (counting from 0)"


def _line_of(row: int, above: Iterable[str]) -> int:
    """Return the line of a CSV file on which a row begins, given all texts above it: quoted texts may have several lines."""
    return row + 2 + sum(text.count("\n") + text.count("\r") - text.count("\r\n") for text in above)


def _seems_utf16(path: Path) -> bool:
    """Return whether a file begins as text in UTF-16 does: with a byte order mark, or with a character and a zero byte."""
    with path.open("rb") as file:
        start = file.read(2)
    return start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) or (len(start) == 2 and start.count(0) == 1)


def _csv_columns(path: Path) -> Columns:
    if _seems_utf16(path):
        raise InvalidValueError("history", "be encoded in UTF-8", path, hint=", which seems to be UTF-16")
    with path.open(encoding="utf-8-sig", newline="") as file:
        try:
            names, *rows = csv.reader(file, strict=True)
        except (ValueError, csv.Error) as error:  # the file is empty, or no text
            raise InvalidValueError("history", "be a table in CSV, with the names of its columns first", path) from error
    repeated = next((name for name, count in Counter(names).items() if name and count > 1), None)
    if repeated is not None:
        raise InvalidValueError("history", "have each column once", repeated, hint=" twice or more")
    for k, row in enumerate(rows):
        if len(row) != len(names):
            line = _line_of(k, chain(names, *rows[:k]))
            raise InvalidValueError(f"line {line} of {path}", f"have {len(names)} values", len(row))
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def read_file(path: str | PathLike[str], name: str | None, keep_missing: bool = False) -> FileContent:
    """Return the columns of a .csv or .parquet file, or the rewards of the bandit `name` in a store, as `rewards_of` does."""
    file = Path(path)
    if not isfile(file):  # noqa: PTH113 - Path.is_file raises an error if the name is too long
        raise PathMissingError(f"no such file: {file}")
    if file.suffix == ".csv":
        return FileContent(_csv_columns(file), True, False)
    if file.suffix == ".parquet":
        try:
            import polars  # noqa: ICN001, PLC0415 - an extra
        except ImportError as error:
            raise MissingExtraError("a Parquet file needs Polars: pip install 'rotting[report]'") from error
        return FileContent({each.name: each.to_list() for each in polars.read_parquet(file)}, False, False)
    from rotting.store.sqlite import SQLiteStore  # noqa: PLC0415 - needs an extra, and builds on this package

    with SQLiteStore(file, readonly=True) as store:
        wanted = _select_bandit(store.bandits(), name)
        return FileContent(rewards_of((event.payload for event in store.read(wanted)), keep_missing), False, True)


def arms_in_text(arms: Iterable[Hashable]) -> Mapping[str, Hashable]:
    """Return the arms by the texts that stand for them in CSV: their JSON, and for a string also the string itself.

    Example:
        >>> sorted(arms_in_text(["jazz", 7]))
        ['"jazz"', '7', 'jazz']
    """
    by_text: dict[str, Hashable] = {}
    for arm in arms:
        for text in {json.dumps(arm, ensure_ascii=False), *([arm] if isinstance(arm, str) else ())}:
            if text in by_text:
                hint = f" and {arm!r}, both written {text}; use another format"
                raise InvalidValueError("arms", "be told apart in CSV", by_text[text], hint=hint)
            by_text[text] = arm
    return by_text
