"""Yahoo!'s front page at night: the paper's restless problems, prepared from the user's R6A files as its authors did.

The data, "R6A - Yahoo! Front Page Today Module User Click Log Dataset, version 1.0", may not be redistributed.
"""

import gzip
import hashlib
import json
import os
import re
import warnings
import zlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rotting.common.arrays import Floats, Ints
from rotting.common.files import cache_folder, write_atomically
from rotting.common.progress import Progress
from rotting.common.rules import positive_int
from rotting.errors import DataWarning, InvalidValueError
from rotting.paper.datasets import nights
from rotting.paper.datasets.files import Source, data_folder, missing
from rotting.paper.datasets.nights import FIRST_SECOND, NIGHTS, TIMESTAMP_SECONDS, TIMESTAMPS, Night, Nights, Reading

# --- The click log ---------------------------------------------------------------------------------------------------------
# Lines `timestamp article_id click |user ... |article ...` of about 1.5 kB, of which only the first three fields are used.

DAY_TIMESTAMPS = 24 * 60 * 60 // TIMESTAMP_SECONDS
DAYS = 13  # the ten files' days, and some before and after for time zones and late events
SLOTS = DAYS * DAY_TIMESTAMPS
LAST_SECOND = FIRST_SECOND + SLOTS * TIMESTAMP_SECONDS

_EVENT = re.compile(rb"(\d{1,18}) (\d{1,18}) ([01]) \|")
_PIECE = 1 << 18  # bytes of text that are read at a time
_QUOTED = 48  # bytes of a malformed line that are quoted
_EXAMPLES = 5  # malformed lines of a file that are quoted


@dataclass(frozen=True)
class Displays:
    """The displays of one file, article by article, each article's in the order of the file.

    Args:
        articles: the ids, increasing.
        starts: where each article's displays start; the last entry is their number.
        slots: the timestamp of each display, in steps of five minutes from `FIRST_SECOND`.
        clicks: whether it was clicked.
        reading: what was read.
    """

    articles: Ints
    starts: Ints
    slots: NDArray[np.uint16]
    clicks: NDArray[np.bool_]
    reading: Reading


def read_displays(path: Path, advance: Callable[[int], None]) -> Displays:
    """Read one file, gzipped when its name ends in `.gz`.

    Args:
        path: the file.
        advance: called with the number of bytes whenever some were read.
    """
    lines = malformed = 0
    examples: list[tuple[int, str]] = []
    seconds, articles, clicks = array("q"), array("q"), bytearray()
    trouble: list[str] = []
    for line in _lines(path, advance, trouble):
        lines += 1
        event = _EVENT.match(line)
        if event is not None and FIRST_SECOND <= int(event[1]) < LAST_SECOND:
            seconds.append(int(event[1]))
            articles.append(int(event[2]))
            clicks.append(event[3] == b"1")
        else:
            malformed += 1
            if len(examples) < _EXAMPLES:
                examples.append((lines, line[:_QUOTED].rstrip(b"\r").decode("ascii", "backslashreplace")))
    if not lines and not trouble:
        trouble.append("is empty")
    reading = Reading(path.name, lines, malformed, tuple(examples), trouble[0] if trouble else None)
    slots = ((np.frombuffer(seconds, np.int64) - FIRST_SECOND) // TIMESTAMP_SECONDS).astype(np.uint16)
    return _by_article(slots, np.frombuffer(articles, np.int64), np.frombuffer(clicks, np.bool_), reading)


def _lines(path: Path, advance: Callable[[int], None], trouble: list[str]) -> Iterator[bytes]:
    """Yield the lines of a file; if it ends too early, the reason is added to `trouble`."""
    with path.open("rb") as file, gzip.GzipFile(fileobj=file) if path.suffix == ".gz" else nullcontext(file) as text:
        rest, done = b"", 0
        while not trouble:
            piece = b""
            try:
                piece = text.read1(_PIECE)
            except EOFError:
                trouble.append("is cut off: its gzip data have no end")
            except (OSError, zlib.error) as error:
                trouble.append(f"is damaged: {error}")
            advance(file.tell() - done)
            done = file.tell()
            if not piece:
                break
            *whole, rest = (rest + piece).split(b"\n")
            yield from whole
        if rest:
            yield rest


def _by_article(slots: NDArray[np.uint16], articles: Ints, clicks: NDArray[np.bool_], reading: Reading) -> Displays:
    ids, places = np.unique(articles, return_inverse=True)
    # The smallest type: 16-bit integers are sorted in linear time.
    places = places.astype(np.min_scalar_type(len(ids)))
    order = np.argsort(places, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(places, minlength=len(ids)))])
    return Displays(ids, starts, slots[order], clicks[order], reading)


# --- The nights -------------------------------------------------------------------------------------------------------------


FOLDER = "yahoo-r6a"
NAMES = tuple(f"ydata-fp-td-clicks-v1_0.200905{day:02d}" for day in range(1, 11))
ORIGIN = "Yahoo! Webscope, data set R6A (https://webscope.sandbox.yahoo.com/catalog.php?datatype=r)"
WINDOW, LEAST = 30_000, 14_000
LEAST_TIMESTAMPS = 130  # of the 144 of a night: a few may be missing, but not half of them


def yahoo_nights(
    folder: str | Path | None = None,
    *,
    window: int = WINDOW,
    least: int = LEAST,
    cache: str | Path | None = None,
    workers: int | None = None,
    progress: bool | None = None,
) -> Nights:
    """Return the paper's nights 2 to 9 from the ten files of R6A.

    Night i lasts from 22:00 UTC of the day before 2009-05-i to 10:00 UTC of that day: in the United States, from 6 pm to 6 am
    Eastern daylight time. For each article, the mean of its clicks over the `window` of its displays around each one
    (what pandas calls `rolling(window, min_periods=least, center=True)`, over all ten days), then the mean of these per
    timestamp of five minutes. A night keeps the articles that have a value at every timestamp at which anything was
    displayed. A round is ten displays of the real traffic.

    Displays are first sorted by time, so that files with unsorted lines give the same curves. Nothing is dropped
    silently: malformed lines are counted with file and line number, a file that is missing, empty or truncated is named, and
    a night with fewer than 130 of 144 timestamps is left out with the reason. All this is in `Nights.notes`, and in a
    `DataWarning`.

    All files are read once, which takes some minutes. The nights are then cached in the user's cache folder, and read again
    when a file, a parameter or this code changes.

    Args:
        folder: where the files `ydata-fp-td-clicks-v1_0.20090501.gz` to `...10.gz` are, gzipped or not; None is `yahoo-r6a` in
            the data folder.
        window: the number of displays of an article to average.
        least: the smallest number of displays for an average, at most `window`.
        cache: the folder for prepared nights; None is the user's cache folder.
        workers: how many files are read at once; None for one per core.
        progress: show a progress bar; None to show it on terminals only.

    Example:
        >>> nights = yahoo_nights()  # doctest: +SKIP
        >>> night = nights[7]  # doctest: +SKIP
        >>> result = rotting.simulate(rotting.EffRAWUCB(sigma=0.29**0.5), night.problem(), runs=10)  # doctest: +SKIP
    """
    window = positive_int("window", window)
    least = positive_int("least", least)
    if least > window:
        raise InvalidValueError("least", f"be at most window = {window}", least)
    count = os.cpu_count() or 1 if workers is None else positive_int("workers", workers)
    where = data_folder() / FOLDER if folder is None else Path(folder)
    found = {name: path for name in NAMES if (path := _find(where, name)) is not None}
    if not found:
        first = f"{NAMES[0]}.gz"
        if folder is None:
            raise missing(Source(f"{FOLDER}/{first}", ORIGIN), data_folder())
        raise missing(Source(first, ORIGIN), where)

    key = _key(list(found.values()), window, least)
    kept = (cache_folder() if cache is None else Path(cache)) / f"r6a-{key[:16]}.json"
    result = _load(kept, key)
    if result is None:
        result = _prepare(found, window, least, count, progress)
        _save(kept, key, result)
    if result.notes:
        warnings.warn("R6A: " + "; ".join(result.notes), DataWarning, stacklevel=2)
    return result


def _find(folder: Path, name: str) -> Path | None:
    return next((path for path in (folder / f"{name}.gz", folder / name) if path.is_file()), None)


def _prepare(found: dict[str, Path], window: int, least: int, workers: int, progress: bool | None) -> Nights:
    size = sum(path.stat().st_size for path in found.values())
    with Progress(size, "bytes of R6A", show=progress) as bar, ThreadPoolExecutor(workers) as pool:
        parts = dict(zip(found, pool.map(lambda path: read_displays(path, bar.advance), found.values()), strict=True))
    readings = [parts[name].reading if name in parts else Reading(f"{name}.gz", trouble="is missing") for name in NAMES]
    displays = list(parts.values())
    traffic = np.zeros(SLOTS, np.int64)
    for part in displays:
        traffic += np.bincount(part.slots, minlength=SLOTS)
    rates = {article: click_rates(*events, window, least) for article, events in _articles(displays)}

    whole, skipped = [], {}
    for number in NIGHTS:
        night = _night(number, rates, traffic)
        if isinstance(night, Night):
            whole.append(night)
        else:
            skipped[number] = night
    return Nights(tuple(whole), tuple(readings), skipped)


def _articles(parts: Sequence[Displays]) -> Iterator[tuple[int, tuple[NDArray[np.uint16], NDArray[np.bool_]]]]:
    """Yield each article, by its id, with its displays from all files, sorted by time."""
    for article in np.unique(np.concatenate([part.articles for part in parts])).tolist():
        slots, clicks = [], []
        for part in parts:
            k = int(np.searchsorted(part.articles, article))
            if k < len(part.articles) and part.articles[k] == article:
                its = slice(part.starts[k], part.starts[k + 1])
                slots.append(part.slots[its])
                clicks.append(part.clicks[its])
        joined = np.concatenate(slots)
        order = np.argsort(joined, kind="stable")  # displays of one timestamp stay in order
        yield article, (joined[order], np.concatenate(clicks)[order])


def click_rates(slots: NDArray[np.uint16], clicks: NDArray[np.bool_], window: int, least: int) -> Floats:
    """Return the mean per timestamp of the centred rolling mean of clicks; NaN if there is none.

    Args:
        slots: the timestamp of each display of one article, increasing.
        clicks: whether it was clicked.
        window: displays per mean: the `window // 2` before a display, itself, and those after it.
        least: the smallest number of displays for a mean, at the ends where the window is cut.

    Example:
        >>> slots, clicks = np.array([0, 0, 1, 1], np.uint16), np.array([True, False, False, True])
        >>> click_rates(slots, clicks, window=3, least=2)[:3]
        array([0.41666667, 0.41666667,        nan])
    """
    n = len(clicks)
    totals = np.concatenate([[0], np.cumsum(clicks, dtype=np.int64)])
    ends = np.arange(n) + (window - 1) // 2 + 1
    low, high = np.maximum(ends - window, 0), np.minimum(ends, n)
    seen = high - low
    enough = seen >= least
    means = (totals[high] - totals[low])[enough] / seen[enough]
    counts = np.bincount(slots[enough], minlength=SLOTS)
    sums = np.bincount(slots[enough], weights=means, minlength=SLOTS)
    rates = np.full(SLOTS, np.nan)
    np.divide(sums, counts, out=rates, where=counts > 0)
    return rates


def _night(number: int, rates: dict[int, Floats], traffic: Ints) -> Night | str:
    """Return the night, or the reason why there is none."""
    # The first slot is 00:00 on April 30: night 1 would start at 22:00 on that day.
    start = (number - 1) * DAY_TIMESTAMPS + DAY_TIMESTAMPS * 22 // 24
    slots = start + np.flatnonzero(traffic[start : start + TIMESTAMPS])
    if len(slots) < LEAST_TIMESTAMPS:
        return f"only {len(slots)} of its {TIMESTAMPS} timestamps have displays"
    articles = {article: curve[slots] for article, curve in rates.items() if not np.isnan(curve[slots]).any()}
    if not articles:
        return "no article is available at every timestamp"
    seconds = FIRST_SECOND + TIMESTAMP_SECONDS * slots
    return Night(number, tuple(articles), seconds, np.array(list(articles.values())), traffic[slots], synthetic=False)


def _key(paths: list[Path], window: int, least: int) -> str:
    """Return a digest of all that decides the nights: names, sizes and times of the files, the settings, this code."""
    files = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in paths]
    code = [Path(module).read_bytes().hex() for module in (__file__, nights.__file__)]
    return hashlib.sha256(json.dumps([files, window, least, code]).encode()).hexdigest()


def _save(path: Path, key: str, result: Nights) -> None:
    data = {
        "key": key,
        "nights": [night.to_json() for night in result.values()],
        "readings": [asdict(reading) for reading in result.readings],
        "skipped": list(result.skipped.items()),
    }
    # Return the nights even if they cannot be cached, on a full disk for example.
    with suppress(OSError):
        write_atomically(path, json.dumps(data, allow_nan=False).encode())


def _load(path: Path, key: str) -> Nights | None:
    """Return the cached nights; None if there are none or the file is damaged."""
    try:
        data = json.loads(path.read_text("utf-8"))
        if data["key"] != key:
            return None
        readings = [
            Reading(**{**reading, "examples": tuple((line, text) for line, text in reading["examples"])})
            for reading in data["readings"]
        ]
        return Nights(tuple(map(Night.from_json, data["nights"])), tuple(readings), dict(data["skipped"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
