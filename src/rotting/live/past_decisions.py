"""Reads past decisions in any form, and refuses the first value that cannot be right, with its row.

`Bandit.learn` and `Log` use it. Data frames and columns that are given need no extra; Polars reads files.

The rewards of a bandit's own log are those that the bandit still knows: in the order of their decisions, without those of
forgotten arms. Priors of arms are not rewards and are left out.
"""

import codecs
import csv
import gzip
import io
import json
import math
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import suppress
from datetime import UTC, date, datetime
from functools import cached_property
from itertools import chain
from os import PathLike
from os.path import isfile
from pathlib import Path
from typing import Any, NamedTuple, SupportsFloat, get_args

import numpy as np

from rotting.common.arrays import AnyArray, Floats, Ints
from rotting.common.rules import LARGEST, PROPENSITY, suggest
from rotting.errors import InvalidArgumentError, InvalidTypeError, InvalidValueError, MissingExtraError, PathMissingError
from rotting.live.arms import Arms, UnknownArms, check_arm
from rotting.live.values import RewardRule, check_number
from rotting.policy import Policy

_FORMS = "a data frame or a mapping with the columns 'arm' and 'reward', pairs of these, or the path of a file"
_ROWS = (list, tuple, np.ndarray)
_CSV = "be a table in CSV, with the names of its columns first"
_TEXTS = (".csv", ".tsv", ".txt")
_KINDS = {
    **dict.fromkeys(_TEXTS, _CSV),
    ".parquet": "be a table in Parquet",
    ".jsonl": "have a JSON object in each line",
    ".ndjson": "have a JSON object in each line",
}
_SHEETS = (".xlsx", ".xls", ".ods", ".numbers")
_PART = 100_000  # values of a column that are Python objects at once
_SEPARATORS = ",\t;|"
_PREAMBLE = 20  # lines at most that may stand above the names of the columns
_TRUTHS = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}
_MISSING_WORDS = frozenset({"", "nan", "na", "null", "none"})
_TIME = "be a date such as 2026-05-01 12:30, or a number"


class NumberRule(NamedTuple):
    """The rule for a column of numbers. Numbers from `least` to `most` are valid; `check` raises the error for others."""

    check: Callable[[object, str], float]
    least: float
    most: float


REWARDS = NumberRule(check_number, -LARGEST, LARGEST)
"""The rule for the rewards of any policy."""
PROPENSITIES = NumberRule(lambda value, name: PROPENSITY.check(name, value), float(np.nextafter(0.0, 1.0)), 1.0)


# --- Columns ------------------------------------------------------------------------------------------------------------------


class Labels(NamedTuple):
    """A column of names."""

    names: tuple[Hashable, ...]  # each once, in the order of their first rows
    which: Ints  # [row] the position in `names`


class DataColumn:
    """A column of a table, by its name."""

    def __init__(self, table: "Table", name: str) -> None:
        data = table.columns[name]
        if isinstance(data, str | bytes) or not isinstance(data, Iterable):
            raise InvalidTypeError(f"column {name!r}", "be a list of values", data)
        self.table, self.name = table, name
        self._data: Any = data if isinstance(data, Sized) else list(data)

    def __len__(self) -> int:
        return len(self._data)

    @cached_property
    def values(self) -> Sequence[Any]:
        """The values as Python values."""
        method = next((each for each in ("tolist", "to_list") if hasattr(self._data, each)), None)
        values: Iterable[object] = self._data if method is None else getattr(self._data, method)()
        return values if isinstance(values, list | tuple) else list(values)

    def _parts(self) -> Iterator[Sequence[Any]]:
        """Yield the values as Python values, part by part: millions of texts at once would fill the memory."""
        if isinstance(self._data, list | tuple) or "values" in vars(self):
            yield self.values
            return
        data = getattr(self._data, "iloc", self._data)
        for first in range(0, len(self), _PART):
            part = data[first : first + _PART]
            yield part.tolist() if hasattr(part, "tolist") else part.to_list() if hasattr(part, "to_list") else list(part)

    @cached_property
    def _array(self) -> AnyArray:
        """The column as an array; an empty one if the column is a list, text or another type."""
        if str(getattr(self._data, "dtype", "")) == "String":  # of Polars, whose texts would become Python objects, all at once
            return np.zeros(0, object)
        array = self._data.to_numpy() if hasattr(self._data, "to_numpy") else self._data
        return array if isinstance(array, np.ndarray) else np.zeros(0, object)

    def place(self, row: int) -> str:
        """Return where a value stands, for an error message."""
        return self.table.place(row, self.name)

    def labels(self, may_look_missing: bool = False) -> Labels:
        """Return names of arms, units or decisions; none may be missing.

        Args:
            may_look_missing: whether None and texts such as "NA" are names, as in the log of a bandit that has such arms.
        """
        numbers: dict[Hashable, int] = {}
        try:
            which = np.fromiter(
                (numbers.setdefault(each, len(numbers)) for part in self._parts() for each in part), np.int64, len(self)
            )
        except TypeError:  # a value cannot be hashed
            row = next(k for k, each in enumerate(self.values) if not _is_hashable(each))
            rule = "be a string, a number or a tuple of these"
            raise InvalidTypeError(self.name, rule, self.values[row], where=self.place(row)) from None
        for value, number in numbers.items():
            if not may_look_missing and is_missing(value):
                where = self.place(int(np.flatnonzero(which == number)[0]))
                raise InvalidValueError(self.name, "not be missing", value, where=where)
        return Labels(tuple(numbers), which)

    def numbers(self, rule: NumberRule, may_be_missing: bool = False) -> Floats:
        """Return numbers or truth values, which may be text; NaN stands for a missing one."""
        numbers = self._array.astype(np.float64) if self._array.dtype.kind in "fiub" else self._floats(_number)
        valid = (numbers >= rule.least) & (numbers <= rule.most)
        wrong = np.flatnonzero(~(valid | np.isnan(numbers)) if may_be_missing else ~valid)
        if wrong.size:
            row = int(wrong[0])
            value = self.values[row]
            if isinstance(value, str):
                with suppress(ValueError):
                    value = float(value)
            try:
                rule.check(value, self.name)
            except InvalidArgumentError as error:
                hint, where = error.hint + comma_hint(value), self.place(row)
                raise InvalidValueError(self.name, error.rule, value, error.got, hint, where) from None
        return numbers

    def times(self) -> tuple[Floats, bool]:
        """Return times as numbers, in seconds if they are dates, and whether they are dates. None may be missing."""
        if self._array.dtype.kind == "M":
            moments, dated = self._array.astype("datetime64[us]").astype(np.int64) / 1e6, True
            moments[np.isnat(self._array)] = math.nan
        elif self._array.dtype.kind in "fiu" and not all(map(_is_compact_date, self._array[:1].tolist())):
            moments, dated = self._array.astype(np.float64), False
        else:
            first = next((each for part in self._parts() for each in part), None)
            if isinstance(first, str) and _SLASHED.fullmatch(first.strip()):
                rule = "have dates such as 2026-05-01: it is not said here whether the day or the month comes first"
                raise InvalidValueError(self.name, rule, first, where=self.place(0))
            compact = _is_compact_date(first) and all(_is_compact_date(each) for part in self._parts() for each in part)
            dated = compact or isinstance(first, date) or (isinstance(first, str) and not _is_number(first))
            moments = self._floats(_moment if dated else _number)
        wrong = np.flatnonzero(~np.isfinite(moments))
        if wrong.size:
            row = int(wrong[0])
            value, rule = self.values[row], "be known in every row" if np.isnan(moments[row]) else _TIME
            raise InvalidValueError(self.name, rule, value, where=self.place(row))
        return moments, dated

    def sets(self) -> list[frozenset[Hashable]]:
        """Return sets of arms; in text, a list is written in JSON. Rows with the same text share one set."""
        found: list[frozenset[Hashable]] = []
        texts: dict[str, frozenset[Hashable]] = {}
        for row, value in enumerate(self.values):
            if isinstance(value, str) and value in texts:
                found.append(texts[value])
                continue
            listed = value
            if isinstance(value, str):
                with suppress(json.JSONDecodeError):
                    listed = json.loads(value)
            listable = isinstance(listed, Sequence | set | frozenset | np.ndarray) and not isinstance(listed, str)
            if not listable or not all(map(_is_hashable, listed)):
                rule = 'be a list of arms, in text such as ["a", "b"]'
                raise InvalidTypeError(self.name, rule, value, where=self.place(row))
            found.append(frozenset(listed))
            if isinstance(value, str):
                texts[value] = found[-1]
        return found

    def _floats(self, read: Callable[[object], float]) -> Floats:
        """Return the number that each value stands for: NaN if it is missing, and infinity if it is no number."""

        def number(value: object) -> float:
            try:
                return math.nan if is_missing(value) else read(value)
            except (TypeError, ValueError, OverflowError):
                return math.inf

        def floats(part: Sequence[object]) -> Floats:
            if read is _number:
                with suppress(TypeError, ValueError, OverflowError):  # much faster than one by one, also for text
                    found = np.array(part, np.float64)
                    if found.ndim == 1:
                        return found
            return np.fromiter(map(number, part), np.float64, len(part))

        return np.concatenate([np.zeros(0), *map(floats, self._parts())])


def check_lengths(columns: Iterable[DataColumn]) -> None:
    """Refuse columns of different lengths."""
    first, *others = columns
    for each in others:
        if len(each) != len(first):
            got = f"{len(first)} in {first.name!r}, {len(each)} in {each.name!r}"
            raise InvalidValueError("columns", "have the same length", len(each), got=got)


def is_missing(value: object) -> bool:
    """Return whether a value stands for no value: None, NaN, or a text such as "" or "NA".

    Example:
        >>> [is_missing(each) for each in (None, math.nan, " ", "NA", 0, "0")]
        [True, True, True, True, False, False]
    """
    if isinstance(value, str):
        return value.strip().lower() in _MISSING_WORDS
    return value is None or value != value  # noqa: PLR0124 - only NaN and NaT differ from themselves


def comma_hint(value: object) -> str:
    """Return a hint for the error about a number with a comma, which may separate decimals or thousands; "" for other values.

    Example:
        >>> comma_hint("1,5"), comma_hint("one")
        ('; write numbers with a decimal point and without commas, such as 1.5', '')
    """
    if isinstance(value, str) and "," in value and _is_number(value.replace(",", "")):
        return "; write numbers with a decimal point and without commas, such as 1.5"
    return ""


def _is_hashable(value: object) -> bool:
    """Return whether a value can be the key of a dict; a tuple can if all its items can."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _number(value: object) -> float:
    if isinstance(value, str):
        text = value.strip().lower()
        return _TRUTHS[text] if text in _TRUTHS else float(text)
    if not isinstance(value, SupportsFloat):
        raise TypeError
    return float(value)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


_COMPACT = re.compile(r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")
_SLASHED = re.compile(r"\d{1,2}([/.-])\d{1,2}\1(\d{4}|\d\d)\b.*")


def _moment(value: object) -> float:
    """Return the seconds since 1970 of a date; without a time zone it is UTC."""
    if isinstance(value, int | float):
        value = f"{value:.0f}"
    moment = datetime.fromisoformat(value.strip()) if isinstance(value, str) else value
    if isinstance(moment, date) and not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    if not isinstance(moment, datetime):
        raise TypeError
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _is_compact_date(value: object) -> bool:
    """Return whether a value is a date such as 20260301."""
    text = f"{value:.0f}" if isinstance(value, int | float) else str(value).strip()
    return bool(_COMPACT.fullmatch(text))


# --- Tables -------------------------------------------------------------------------------------------------------------------


class Table(NamedTuple):
    """The columns of a file or of other data."""

    columns: Mapping[str, Any]
    is_text: bool = False  # whether all values are text, as in CSV
    is_log: bool = False  # whether they are the decisions of a bandit in a store
    notes: tuple[str, ...] = ()  # how the file was read, where that was a choice
    skipped: int = 0  # lines of a text file above the names of the columns

    def column(self, parameter: str, name: object) -> DataColumn:
        """Return a column by its name; `parameter` is the argument that named it."""
        if not isinstance(name, str):
            raise InvalidTypeError(parameter, "be the name of a column", name)
        if name not in self.columns:
            hint = suggest(name, self.columns) or f"; the columns are {', '.join(map(repr, self.columns))}"
            raise InvalidValueError(parameter, "be the name of a column", name, hint=hint)
        return DataColumn(self, name)

    def place(self, row: int, column: str) -> str:
        """Return where a value stands, for an error message: the line of a CSV file, or the row of another table."""
        if not self.is_text or self.is_log:
            return f"{row_text(row)}, column {column!r}"
        above = chain(self.columns, *(values[:row] for values in self.columns.values()))
        more = sum(text.count("\n") for text in above)  # quoted texts may have several lines
        return f"line {row + 2 + more + self.skipped}, column {column!r}"


def row_text(row: int) -> str:
    """Return the number of a row, for an error message.

    Example:
        >>> row_text(3)
        'row 3 (counting from 0)'
    """
    return f"row {row} (counting from 0)"


def read_table(data: object, name: str | None, keep_missing: bool = False) -> Table:
    """Return the columns of past decisions.

    Args:
        data: a data frame, a mapping of columns, rows, or the path of a file.
        name: the name of the bandit in a log.
        keep_missing: whether to return the decisions of a log that have no reward, too.
    """
    if isinstance(data, Table):
        return data
    if isinstance(data, str | PathLike):
        is_address = isinstance(data, str) and data.startswith(("postgresql://", "postgres://"))
        found = _read_store(str(data), name, keep_missing) if is_address else _read_file(Path(data), name, keep_missing)
        if found.is_log:
            return found
    else:
        named = _columns_by_name(data)
        found = Table(_columns_of_rows(data) if named is None else named)
    if name is not None:
        raise InvalidValueError("name", "be left out, unless the data is a store", name)
    return found


def _columns_by_name(data: Any) -> dict[str, object] | None:
    """Return the columns of a mapping or of any data frame that has `columns`; None if it has none."""
    names = data if isinstance(data, Mapping) else getattr(data, "columns", None)
    if names is None:
        return None
    try:
        return {str(each): data[each] for each in names}
    except TypeError as error:  # for example from a lazy frame
        raise InvalidTypeError("data", f"be {_FORMS}", data) from error


def _columns_of_rows(data: object) -> dict[str, list[Any]]:
    """Return the columns of pairs of an arm and a reward, or of triples with a propensity."""
    if isinstance(data, bytes) or not isinstance(data, Iterable):
        raise InvalidTypeError("data", f"be {_FORMS}", data)
    rows, names = list(data), ("arm", "reward", "propensity")
    width = 3 if rows and isinstance(rows[0], _ROWS) and len(rows[0]) == 3 else 2
    for k, row in enumerate(rows):
        if not isinstance(row, _ROWS) or len(row) != width:
            form = "an arm and a reward" if width == 2 else "an arm, a reward and a propensity"
            raise InvalidTypeError(row_text(k), f"be {form}", row)
    return {each: [row[k] for row in rows] for k, each in enumerate(names[:width])}


def _read_file(path: Path, name: str | None, keep_missing: bool) -> Table:
    """Return the columns of a table in a file, or the rewards of the bandit `name` in a store."""
    if not isfile(path):  # noqa: PTH113 - Path.is_file raises an error if the name is too long
        raise PathMissingError(f"no such file: {path}")
    kind = _kind(path)
    if kind in _SHEETS:
        rule = "be a table of text: a sheet may hold several tables, and dates as numbers"
        raise InvalidValueError("data", rule, path, hint="; save it as CSV in UTF-8")
    if kind in _KINDS:
        return _read_with_polars(path, kind)
    return _read_store(str(path), name, keep_missing)


def _kind(path: Path) -> str:
    """Return the ending of a file, without that of a compressed one.

    Example:
        >>> _kind(Path("clicks.csv.gz")), _kind(Path("clicks.TSV"))
        ('.csv', '.tsv')
    """
    return (path.with_suffix("") if path.suffix == ".gz" else path).suffix.lower()


def _read_with_polars(path: Path, kind: str) -> Table:
    try:
        import polars  # noqa: ICN001, PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError(f"a {kind} file needs Polars: pip install 'rotting[logs]'") from error
    content = path.read_bytes()
    if content.startswith(b"\x1f\x8b"):
        content = gzip.decompress(content)
    if kind in _TEXTS:
        return _read_text(path, content)
    try:
        frame = polars.read_parquet(content) if kind == ".parquet" else polars.read_ndjson(content, infer_schema_length=None)
    except polars.exceptions.PolarsError as error:
        raise InvalidValueError("data", _KINDS[kind], path) from error
    return Table({each.name: each for each in frame})


def _read_text(path: Path, content: bytes) -> Table:
    """Return a table in CSV, also with other separators, in other encodings, and with lines above the names of the columns."""
    import polars  # noqa: ICN001, PLC0415 - an extra

    content, notes = _in_utf8(path, content)
    separator, skipped = _layout(content[: 1 << 16].decode("utf-8", "replace").splitlines()[: 2 * _PREAMBLE])
    if skipped:
        notes.append(f"The first {skipped} lines of {path.name} are no part of the table, and were skipped.")
    for _ in range(skipped):
        content = content[content.index(b"\n") + 1 :]
    try:  # all as text: the type of an arm or of a date cannot be told from a few rows
        frame = polars.read_csv(content, separator=separator, infer_schema_length=0)
        frame = frame.with_columns(polars.col(each.name).fill_null("") for each in frame if each.null_count())
    except polars.exceptions.PolarsError as error:
        raise _csv_error(path, content, separator, skipped) from error
    for each in frame.columns:
        original, found, _ = each.rpartition("_duplicated_")
        if found and original in frame.columns and original:
            raise InvalidValueError("data", "have each column once", original, hint=" twice or more")
    return Table({each.name: each for each in frame}, is_text=True, notes=tuple(notes), skipped=skipped)


def _in_utf8(path: Path, content: bytes) -> tuple[bytes, list[str]]:
    """Return a text in UTF-8, and a note if it was in another encoding."""
    if content[:2] in {codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE} or b"\0" in content[:2]:
        raise InvalidValueError("data", "be encoded in UTF-8", path, hint=", which seems to be UTF-16")
    content = content.removeprefix(codecs.BOM_UTF8)
    try:
        if not content.isascii():
            content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        text = content.decode("cp1252", "replace")  # which is Latin-1 with quotes and a few letters more
        return text.encode(), [f"{path.name} is not in UTF-8 (line {line}), and was read as Windows-1252, for Western Europe."]
    return content, []


def _layout(lines: Sequence[str]) -> tuple[str, int]:
    """Return the separator of a table, and how many lines stand above the names of its columns.

    A separator must cut all lines from the names on into as many values. Of several, the one with the fewest lines above the
    names is taken, and then the one with the most columns. If none does, commas separate, and the names come first.

    Example:
        >>> _layout(["a;b", "1;2,5", "2;3,5"]), _layout(["Report", "", "arm,reward", "a,1"]), _layout(["arm,reward", "a,1,0"])
        ((';', 0), (',', 2), (',', 0))
    """
    found = []
    for separator in _SEPARATORS:
        widths = [len(next(csv.reader([line], delimiter=separator), [])) for line in lines]
        skipped = next((k for k, width in enumerate(widths) if width > 1), len(widths))
        below = [width for line, width in zip(lines[skipped:], widths[skipped:], strict=True) if line.strip()]
        if len(set(below)) == 1 and skipped <= (_PREAMBLE if len(below) > 1 else 0):
            found.append((-skipped, below[0], separator))
    skipped, _, separator = max(found, key=lambda each: each[:2], default=(0, 0, ","))
    return separator, -skipped


def _csv_error(path: Path, content: bytes, separator: str, skipped: int) -> InvalidValueError:
    """Return the error about a file that Polars does not read as CSV; it names the line of a row with too many values."""
    rows = csv.reader(io.StringIO(content.decode("utf-8", "replace"), newline=""), delimiter=separator)
    with suppress(csv.Error):
        names = next(rows, [])
        line = rows.line_num + 1
        for row in rows:
            if len(row) > len(names):
                return InvalidValueError(f"line {line + skipped} of {path}", f"have {len(names)} values", len(row))
            line = rows.line_num + 1
    return InvalidValueError("data", _CSV, path)


# --- Stores -------------------------------------------------------------------------------------------------------------------


def _read_store(place: str, name: str | None, keep_missing: bool) -> Table:
    """Return the decisions of the bandit `name` in a store, without those that were cancelled and those of forgotten arms.

    `keep_missing`: with those that have no reward.
    """
    from rotting.server.store.database import open_database  # noqa: PLC0415 - it builds on this package
    from rotting.server.store.rows import decision_rows  # noqa: PLC0415

    database = open_database(place, create=False, readonly=True)
    try:
        record = database.find(_select_bandit([each.name for each in database.records()], name))
        rows = [] if record is None else list(decision_rows(database, record))
    finally:
        database.close()
    kept = [row for row in rows if not row.forgotten and row.state != "cancelled" and (keep_missing or row.reward is not None)]
    names = ("arm", "reward", "propensity", "time", "unit", "available")
    columns = {each: [getattr(row, each) for row in kept] for each in names}
    columns["unit"] = [each or "(none)" for each in columns["unit"]]
    return Table(columns, is_log=True)


def _select_bandit(known: Sequence[str], name: str | None) -> str:
    """Return the given name if the store has it, or the only name in the store."""
    if name is None and len(known) == 1:
        return known[0]
    if name is None or name not in known:
        raise InvalidValueError("name", f"be one of the bandits in the log, {', '.join(map(repr, known))}", name)
    return name


# --- Rewards to learn ---------------------------------------------------------------------------------------------------------


class PastRewards(NamedTuple):
    """Rewards in their order."""

    table: Table  # what they were read from
    arms: list[Any]  # each once
    which: Ints  # [row] the position of its arm in `arms`
    rewards: Floats  # [row]
    propensities: Floats | None  # [row]

    def where_first(self, k: int) -> str:
        """Return where arm number k appears first, for an error message."""
        return self.table.place(int(np.flatnonzero(self.which == k)[0]), "arm")


def read_rewards(data: object, name: str | None, rule: RewardRule, dividing: Policy | None) -> PastRewards:
    """Return the rows that a bandit learns, whose numbers are checked.

    Args:
        data: as for `Bandit.learn`.
        name: the name of the bandit in a log.
        rule: the rule for rewards.
        dividing: the policy if it divides rewards by propensities, otherwise None.
    """
    table = read_table(data, name)
    wanted = ["arm", "reward", *(["propensity"] if dividing else [])]
    if missing := [each for each in wanted if each not in table.columns]:
        why = f", since {dividing!r} divides each reward by its propensity" if missing == ["propensity"] else ""
        raise InvalidValueError("data", f"have a column {missing[0]!r}{why}", list(table.columns))
    columns = [DataColumn(table, each) for each in wanted]
    check_lengths(columns)
    arms = columns[0].labels(may_look_missing=True)
    rewards = columns[1].numbers(NumberRule(rule.check, rule.least, rule.most))
    propensities = columns[2].numbers(PROPENSITIES) if dividing else None
    return PastRewards(table, list(arms.names), arms.which, rewards, propensities)


def match_arms(past: PastRewards, arms: Arms, unknown: UnknownArms) -> tuple[PastRewards, list[Any]]:
    """Return the rows to learn, and the arms that must be added first; `unknown` is as for `Bandit.learn`."""
    if unknown not in get_args(UnknownArms):
        raise InvalidValueError("unknown", "be 'refuse', 'add' or 'skip'", unknown)
    named = past.arms
    if past.table.is_text:  # an arm may be the text of another value
        by_text = arms_in_text([*arms.active, *arms.retired])
        named = [by_text.get(each, each) if isinstance(each, str) else each for each in named]
    new = [k for k, arm in enumerate(named) if arm not in arms.active and arm not in arms.retired]
    if new and unknown == "refuse":
        try:
            arms.known(named[new[0]])
        except InvalidValueError as error:
            raise error.replace(hint=f"{error.hint}; see `unknown`", where=past.where_first(new[0])) from None
    if new and unknown == "skip":
        kept = ~np.isin(past.which, new)
        used, which = np.unique(past.which[kept], return_inverse=True)
        propensities = None if past.propensities is None else past.propensities[kept]
        return PastRewards(past.table, [named[k] for k in used], which, past.rewards[kept], propensities), []
    for k in new:
        try:
            check_arm(named[k])
        except InvalidArgumentError as error:
            raise error.replace(where=past.where_first(k)) from None
    return past._replace(arms=named), [named[k] for k in new]


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
