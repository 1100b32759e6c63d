"""The click log R6A, read as a stream: lines `timestamp article_id click |user ... |article ...` of about 1.5 kB.

Only the first three fields are used. NumPy parses the first bytes of thousands of lines at a time, and a display takes three
bytes of memory. Most of the time is spent on decompression, which releases the global interpreter lock: threads, one per file,
use all cores.
"""

import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rotting.common.arrays import Ints
from rotting.datasets.nights import TIMESTAMP_SECONDS, Reading

DAY_TIMESTAMPS = 24 * 60 * 60 // TIMESTAMP_SECONDS
FIRST_SECOND = 1_241_049_600  # 2009-04-30 00:00 UTC, the day before the first file
DAYS = 13  # the ten files' days, and some before and after for time zones and late events
SLOTS = DAYS * DAY_TIMESTAMPS
LAST_SECOND = FIRST_SECOND + SLOTS * TIMESTAMP_SECONDS

_EVENT = re.compile(rb"(\d{1,18}) (\d{1,18}) ([01]) \|")
_WIDTH = 48  # bytes kept of a line: more than the longest event
# The positions of the fields in nearly all lines, as in `1241160900 109513 0 |`; the others are parsed one by one.
_SECONDS, _ARTICLE, _CLICK, _END = slice(0, 10), slice(11, 17), 18, 21
_SPACES = [10, 17, 19]
_BAR = 20
_READ = 1 << 16  # bytes of a file at a time
_PIECE = 1 << 18  # bytes of text at a time: few enough for the processor's cache
_BATCH = 1 << 15  # lines that are parsed at once
_EXAMPLES = 5  # malformed lines of a file that are quoted


class _DamagedError(Exception):
    """A file cannot be read to its end."""


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
    parts = []
    trouble: list[str] = []
    for batch in _batches(_line_starts(_pieces(path, advance, trouble))):
        seconds, articles, clicks, good = _parse(batch)
        for k in np.flatnonzero(~good):
            if len(examples) < _EXAMPLES:
                examples.append((lines + int(k) + 1, _quote(batch[k])))
        lines += len(batch)
        malformed += len(batch) - int(np.count_nonzero(good))
        slots = ((seconds[good] - FIRST_SECOND) // TIMESTAMP_SECONDS).astype(np.uint16)
        parts.append((slots, articles[good], clicks[good]))
    if not lines and not trouble:
        trouble.append("is empty")
    reading = Reading(path.name, lines, malformed, tuple(examples), trouble[0] if trouble else None)
    parts.append((np.empty(0, np.uint16), np.empty(0, np.int64), np.empty(0, np.bool_)))
    slots, articles, clicks = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _by_article(slots, articles, clicks, reading)


def _by_article(slots: NDArray[np.uint16], articles: Ints, clicks: NDArray[np.bool_], reading: Reading) -> Displays:
    ids, places = np.unique(articles, return_inverse=True)
    # The smallest type: 16-bit integers are sorted in linear time.
    places = places.astype(np.min_scalar_type(len(ids)))
    order = np.argsort(places, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(places, minlength=len(ids)))])
    return Displays(ids, starts, slots[order], clicks[order], reading)


def _pieces(path: Path, advance: Callable[[int], None], trouble: list[str]) -> Iterator[bytes]:
    """Yield the text of a file; if it ends too early, the reason is added to `trouble`."""
    with path.open("rb") as file:

        def blocks() -> Iterator[bytes]:
            while block := file.read(_READ):
                advance(len(block))
                yield block

        try:
            yield from _inflated(blocks()) if path.suffix == ".gz" else blocks()
        except _DamagedError as error:
            trouble.append(str(error))


def _inflated(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the content of gzip members, one after the other; zero padding is skipped."""
    inflater = None
    first = True
    for block in blocks:
        rest = block
        while rest := (rest if inflater or first else rest.lstrip(b"\0")):
            inflater = inflater or zlib.decompressobj(zlib.MAX_WBITS | 16)
            first = False
            try:
                piece = inflater.decompress(rest, _PIECE)
            except zlib.error as error:
                raise _DamagedError(f"is damaged: {error}") from error
            if piece:
                yield piece
            rest = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
            if inflater.eof:
                inflater = None
    if inflater:
        while piece := inflater.decompress(b"", _PIECE):
            yield piece
        if not inflater.eof:
            raise _DamagedError("is cut off: its gzip data have no end")


def _line_starts(pieces: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield the first `_WIDTH` bytes of every line; those of a shorter line run into the next one."""
    head = b""  # the start of a line whose first bytes are not complete
    inside = False  # whether the next piece continues a line whose start was yielded
    for piece in pieces:
        text = head + piece if head else piece
        at = 0
        if inside:
            at = text.find(b"\n") + 1
            if not at:
                continue
        starts = []
        last = len(text) - _WIDTH
        inside = False
        while at <= last:
            starts.append(text[at : at + _WIDTH])
            at = text.find(b"\n", at) + 1
            if not at:
                inside = True
                break
        head = b"" if inside else text[at:]
        yield starts
    ends = head.split(b"\n")
    if not ends[-1]:
        ends.pop()
    yield [end.ljust(_WIDTH, b"\n") for end in ends]


def _batches(groups: Iterable[list[bytes]]) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    for group in groups:
        batch += group
        if len(batch) >= _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _parse(starts: list[bytes]) -> tuple[Ints, Ints, NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the seconds, articles and clicks of lines, and which lines are events in these days."""
    text = np.frombuffer(b"".join(starts), np.uint8).reshape(-1, _WIDTH)[:, :_END]
    digits = text - np.uint8(ord("0"))  # wraps around: what is not a digit is above 9
    seconds, seconds_good = _numbers(digits[:, _SECONDS])
    articles, articles_good = _numbers(digits[:, _ARTICLE])
    clicks = digits[:, _CLICK] == 1
    usual = seconds_good & articles_good & (digits[:, _CLICK] <= 1)
    usual &= (text[:, _SPACES] == ord(" ")).all(axis=1) & (text[:, _BAR] == ord("|"))
    good = usual.copy()
    for k in np.flatnonzero(~usual):
        event = _EVENT.match(starts[k])
        if event:
            seconds[k], articles[k], clicks[k], good[k] = int(event[1]), int(event[2]), event[3] == b"1", True
    good &= (seconds >= FIRST_SECOND) & (seconds < LAST_SECOND)
    return seconds, articles, clicks, good


def _numbers(digits: NDArray[np.uint8]) -> tuple[Ints, NDArray[np.bool_]]:
    value = np.zeros(len(digits), np.int64)
    for column in digits.T:
        value *= 10
        value += column
    return value, np.all(digits <= 9, axis=1)


def _quote(start: bytes) -> str:
    """Return the start of a line, as text."""
    return start.split(b"\n")[0].rstrip(b"\r").decode("ascii", "backslashreplace")
