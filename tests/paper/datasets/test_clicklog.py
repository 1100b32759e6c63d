"""Logs of clicks, line by line: malformed, damaged, cut off."""

import gzip
import tempfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.paper.datasets import yahoo
from rotting.paper.datasets.yahoo import read_displays
from tests.helpers.yahoo_files import file_name, utc, write_gz

LINE = b"%d %d %d |user 2:0.1 1:1.000000 |109453 2:0.306008 1:1.000000"

SECOND = utc(3, 12)

GOOD = [
    LINE % (SECOND, 109_513, 1),
    LINE % (SECOND, 98_765, 0),  # five digits
    LINE % (SECOND, 1_234_567, 1),
    b"%d 7 1 |" % SECOND,  # cut after the event
    LINE % (utc(0, 0), 109_513, 0),
    LINE % (utc(13, 0) - 1, 109_513, 0),
]

BAD = [
    b"",
    b"   ",
    b"%d 109513 2 |user" % SECOND,
    b"%d 109513 |user" % SECOND,
    b"%d 109513 1" % SECOND,
    b"%d 109513 1 user" % SECOND,
    b"%d  109513 1 |user" % SECOND,
    b"%d 10951x 1 |user" % SECOND,
    b"-%d 109513 1 |user" % SECOND,
    b"124138080 109513 1 |user",
    b"1241380800.0 109513 1 |user",
    b"\xff\xfe\x00",
    b"9" * 200,
    b"%d %d 1 |user" % (SECOND, 10**40),
    LINE % (utc(0, 0) - 1, 109_513, 0),
    LINE % (utc(13, 0), 109_513, 0),
]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_malformed_lines_are_counted_with_their_place(tmp_path: Path, end: bytes) -> None:
    path = tmp_path / file_name(3)
    for bad in BAD:
        write_gz(path, end.join([*GOOD, bad, *GOOD, *GOOD, bad, *GOOD]) + end)
        displays = read_displays(path, lambda _: None)
        assert displays.reading.lines == 4 * len(GOOD) + 2
        assert displays.reading.malformed == 2
        assert [line for line, _ in displays.reading.examples] == [len(GOOD) + 1, 3 * len(GOOD) + 2]
        assert len(displays.slots) == 4 * len(GOOD)
        assert displays.articles.tolist() == [7, 98_765, 109_513, 1_234_567]
        assert np.diff(displays.starts).tolist() == [4, 4, 12, 4]
        quoted = displays.reading.examples[0][1]
        assert bad.decode("ascii", "backslashreplace").startswith(quoted)
        assert len(quoted) >= min(len(bad), 40)


def test_counts_are_exact_when_examples_are_few(tmp_path: Path) -> None:
    write_gz(tmp_path / file_name(1), b"".join([b"x\n" * 40_000, GOOD[0], b"\n", b"y\n" * 30_000]))
    reading = read_displays(tmp_path / file_name(1), lambda _: None).reading
    assert (reading.lines, reading.malformed) == (70_001, 70_000)
    assert reading.examples == tuple((k, "x") for k in range(1, 6))
    assert str(reading).endswith("line 5: 'x', ...)")


def test_the_last_line_needs_no_end(tmp_path: Path) -> None:
    for text, lines_, malformed in (
        (GOOD[0], 1, 0),
        (GOOD[0] + b"\n", 1, 0),
        (GOOD[0] + b"\n" + GOOD[0][:14], 2, 1),
        (b"\n", 1, 1),
    ):
        write_gz(tmp_path / file_name(1), text)
        reading = read_displays(tmp_path / file_name(1), lambda _: None).reading
        assert (reading.lines, reading.malformed) == (lines_, malformed)


@given(texts=st.lists(st.integers(0, 130), max_size=30), piece=st.integers(1, 200), closed=st.booleans())
def test_lines_are_found_wherever_the_pieces_end(texts: list[int], piece: int, closed: bool) -> None:
    expected = [bytes(97 + (k + at) % 26 for at in range(length)) for k, length in enumerate(texts)]
    text = b"\n".join(expected)
    if closed and expected:
        text += b"\n"
    elif expected and not expected[-1]:
        expected.pop()  # nothing after the last end of line
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(yahoo, "_PIECE", piece)
        (Path(folder) / file_name(1)).write_bytes(gzip.compress(text))
        assert list(yahoo._lines(Path(folder) / file_name(1), lambda _: None, [])) == expected


THOUSAND = b"".join(LINE % (SECOND, 109_513, k % 2) + b"\n" for k in range(1_000))


def test_members_padding_and_plain_text_are_the_same(tmp_path: Path) -> None:
    half = THOUSAND.index(b"\n", 30_000) - 20  # within a line
    members = gzip.compress(THOUSAND[:half]) + gzip.compress(THOUSAND[half:]) + b"\0" * 100_000
    (tmp_path / file_name(1)).write_bytes(gzip.compress(THOUSAND))
    (tmp_path / file_name(2)).write_bytes(members)
    (tmp_path / file_name(3, "")).write_bytes(THOUSAND)
    readings = [read_displays(path, lambda _: None) for path in sorted(tmp_path.iterdir())]
    assert [(each.reading.lines, each.reading.clean) for each in readings] == [(1_000, True)] * 3
    assert all(np.array_equal(each.clicks, readings[0].clicks) for each in readings)


def test_progress_counts_every_byte(tmp_path: Path) -> None:
    (tmp_path / file_name(1)).write_bytes(gzip.compress(THOUSAND))
    seen: list[int] = []
    read_displays(tmp_path / file_name(1), seen.append)
    assert sum(seen) == (tmp_path / file_name(1)).stat().st_size


def test_a_file_that_is_cut_off_gives_what_it_has(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    texts = [LINE % (SECOND, number, 1) for number in rng.integers(100_000, 999_999, 20_000).tolist()]
    content = gzip.compress(b"\n".join(texts))
    for keep in (3, 1_000, len(content) // 2, len(content) - 8, len(content) - 1):
        (tmp_path / file_name(1)).write_bytes(content[:keep])
        displays = read_displays(tmp_path / file_name(1), lambda _: None)
        assert displays.reading.trouble == "is cut off: its gzip data have no end"
        assert displays.reading.malformed <= 1
        assert len(displays.slots) == displays.reading.lines - displays.reading.malformed
        assert len(displays.slots) == len(texts) or keep < len(content) - 8
    # In the order of the file, articles apart: what is there is the start of what was written.
    (tmp_path / file_name(1)).write_bytes(content[: len(content) // 2])
    displays = read_displays(tmp_path / file_name(1), lambda _: None)
    complete = [int(text.split()[1]) for text in texts[: len(displays.slots)]]
    assert 5_000 < len(complete) < 15_000
    assert np.repeat(displays.articles, np.diff(displays.starts)).tolist() == sorted(complete)


def test_no_byte_is_left_in_the_inflater(tmp_path: Path) -> None:
    content = gzip.compress(THOUSAND[:5_000])
    for keep in range(2, len(content)):
        (tmp_path / file_name(1)).write_bytes(content[:keep])
        trouble: list[str] = []
        found = b"\n".join(yahoo._lines(tmp_path / file_name(1), lambda _: None, trouble))
        assert found.rstrip(b"\n") == zlib.decompressobj(31).decompress(content[:keep]).rstrip(b"\n")
        assert trouble == ["is cut off: its gzip data have no end"]


def test_damage_is_named(tmp_path: Path) -> None:
    content = bytearray(gzip.compress(THOUSAND))
    content[-6] ^= 1  # of the checksum
    (tmp_path / file_name(1)).write_bytes(content)
    (tmp_path / file_name(2)).write_bytes(THOUSAND)  # no gzip at all
    for day in (1, 2):
        assert str(read_displays(tmp_path / file_name(day), lambda _: None).reading.trouble).startswith("is damaged: ")
