"""The rewards of a log: of a store, or of a file that `rotting log` or another program has written.

What a log tells is what its bandit knew: the rewards in the order of their decisions, without those of arms that it has
forgotten. The priors of arms are no rewards, and are left out.
"""

import csv
import json
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from rotting.errors import InvalidValueError, MissingExtraError, PathMissingError
from rotting.live.arms import restore_arm
from rotting.live.events import Event, one_by_one

Columns = dict[str, Sequence[Any]]
EXPORTED = frozenset({"number", "epoch", "bandit", "event"})
"""Columns that tell an export of a log from a table of rewards."""


def rewards_of(events: Iterable[Event]) -> Columns:
    """Return the arm, the reward and the propensity of every decision that has a reward, in the order of the decisions.

    Args:
        events: all events of one bandit, in their order.
    """
    arms: list[Hashable] = []
    rewards: list[float | None] = []
    propensities: list[float | None] = []
    lives: list[int] = []  # how often the arm had been forgotten
    place: dict[Hashable, int] = {}  # of the open decisions
    forgotten: dict[Hashable, int] = {}

    def put(arm: Hashable, reward: float | None, propensity: float | None) -> None:
        arms.append(arm)
        rewards.append(reward)
        propensities.append(propensity)
        lives.append(forgotten.get(arm, 0))

    for event in chain.from_iterable(map(one_by_one, events)):
        kind = event.get("event")  # a note has none
        if kind == "decided":
            place[event["id"]] = len(arms)
            put(restore_arm(event["arm"]), None, event["propensity"])
        elif kind in {"rewarded", "expired", "cancelled"}:
            if event["id"] not in place:
                raise InvalidValueError(
                    "history", "be a whole log", event["id"], got=f"one without the decision {event['id']}, which it answers"
                )
            rewards[place.pop(event["id"])] = event.get("reward")
        elif kind == "learned":
            put(restore_arm(event["arm"]), event["reward"], event.get("propensity"))
        elif kind in {"forgotten", "added"}:  # a new arm under an old id is another one
            arm = restore_arm(event["arm"])
            forgotten[arm] = forgotten.get(arm, 0) + 1
    kept = [k for k, arm in enumerate(arms) if rewards[k] is not None and lives[k] == forgotten.get(arm, 0)]
    found: Columns = {"arm": arms, "reward": rewards, "propensity": propensities}
    return {name: [column[k] for k in kept] for name, column in found.items()}


def _the_one(names: Iterable[str], name: str | None) -> str:
    """Return the name of the bandit that is meant."""
    known = list(dict.fromkeys(names))
    if name is None and len(known) == 1:
        return known[0]
    if name not in known:
        raise InvalidValueError("name", f"be one of the bandits in the log, {', '.join(map(repr, known))}", name)
    return name


def _is_missing(value: object) -> bool:
    return value is None or value == "" or value != value  # noqa: PLR0124 - a missing value may be NaN


def exported_rewards(columns: Columns, name: str | None) -> Columns:
    """Return the rewards of a log that `rotting log` exported as a table; their arms may be called as in CSV."""
    if not columns["event"]:
        return {"arm": [], "reward": [], "propensity": []}
    wanted = _the_one(columns["bandit"], name)

    def events() -> Iterator[Event]:
        for row in zip(*columns.values(), strict=True):
            event = {key: None if _is_missing(value) else value for key, value in zip(columns, row, strict=True)}
            if event["bandit"] == wanted:
                yield {"reward": None, "propensity": None, **event}

    return rewards_of(events())


class Read(NamedTuple):
    """What was found in a file."""

    columns: Columns
    is_text: bool  # all values are text, as in CSV
    is_log: bool  # of one bandit


def _csv_columns(path: Path) -> Columns:
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, strict=True)
        try:
            heads = next(reader)
            columns: list[list[str]] = [[] for _ in heads]
            for k, row in enumerate(reader):
                if len(row) != len(heads):
                    raise InvalidValueError(f"row {k} (from 0) of {path}", f"have {len(heads)} values", len(row))
                for column, value in zip(columns, row, strict=True):
                    column.append(value)
        except (StopIteration, UnicodeDecodeError, csv.Error) as error:
            raise InvalidValueError("history", "be a table in CSV, with the names of its columns first", path) from error
    return dict(zip(heads, columns, strict=True))


def read_file(path: str | PathLike[str], name: str | None) -> Read:
    """Return the columns of a file of rewards.

    Args:
        path: a file that ends in .csv or .parquet, or a store.
        name: which bandit of a store.
    """
    place = Path(path)
    if not place.is_file():
        raise PathMissingError(f"no such file: {place}")
    if place.suffix == ".csv":
        return Read(_csv_columns(place), True, False)
    if place.suffix == ".parquet":
        try:
            import polars  # noqa: ICN001, PLC0415 - an extra
        except ImportError as error:
            raise MissingExtraError("a Parquet file needs Polars: pip install 'rotting[report]'") from error
        return Read({each.name: each.to_list() for each in polars.read_parquet(place)}, False, False)
    from rotting.store.sqlite import SQLiteStore  # noqa: PLC0415 - needs an extra, and builds on this package

    with SQLiteStore(place, readonly=True) as store:
        wanted = _the_one(store.bandits(), name)
        return Read(rewards_of(event.payload for event in store.read(wanted)), False, True)


def arms_in_text(arms: Iterable[Hashable]) -> Mapping[str, Hashable]:
    """Return what arms are called in a file of text: a string by itself, and every arm as JSON writes it.

    Example:
        >>> sorted(arms_in_text(["jazz", 7]))
        ['"jazz"', '7', 'jazz']
    """
    called: dict[str, Hashable] = {}
    for arm in arms:
        names = {json.dumps(arm, ensure_ascii=False), *([arm] if isinstance(arm, str) else ())}
        for each in names:
            if each in called:
                raise InvalidValueError(
                    "arms", "be told apart in CSV", called[each], hint=f" and {arm!r}, both written {each}; use another format"
                )
            called[each] = arm
    return called
