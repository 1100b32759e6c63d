"""Reading logs: every form of data, and a sentence with the row for what cannot be right."""

import datetime as dt
import gzip
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rotting
from rotting.errors import InvalidArgumentError, InvalidTypeError, InvalidValueError, PathMissingError
from rotting.logs.log import Log, positions

ROWS = [("a", 1.0), ("b", 0.5), ("a", None), ("a", 0.25)]


def same_rows(log: Log) -> bool:
    return [log.arms[k] for k in log.arm] == list("abaa") and np.array_equal(
        log.reward, [1.0, 0.5, np.nan, 0.25], equal_nan=True
    )


def test_pairs_columns_and_frames_give_the_same_log() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    columns = {"arm": [arm for arm, _ in ROWS], "reward": [reward for _, reward in ROWS]}
    for data in (ROWS, columns, pandas.DataFrame(columns), polars.DataFrame(columns)):
        assert same_rows(Log(data))


def test_a_store_gives_its_decisions_also_those_without_a_reward(tmp_path: Path) -> None:
    with rotting.open(tmp_path / "log.rot", policy=rotting.UCB1(), arms=["a", "b"]) as bandit:
        first, second, third, fourth = (bandit.decide() for _ in range(4))
        bandit.reward(second.id, 0.5)
        bandit.reward(first.id, 1.0)
        bandit.cancel(third.id)
    log = Log(tmp_path / "log.rot")
    assert [log.arms[k] for k in log.arm] == [first.arm, second.arm, fourth.arm]
    assert np.array_equal(log.reward, [1.0, 0.5, np.nan], equal_nan=True)


@pytest.mark.parametrize("values", [[True, False], ["True", "false"], ["1", "0"], [1, 0], np.array([True, False])])
def test_truth_values_are_rewards(values: Any) -> None:
    assert Log({"arm": [1, 2], "reward": values}).reward.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    "times",
    [
        ["2026-05-02", "2026-05-01 12:00"],
        ["2026-05-02T00:00:00Z", "2026-05-01T14:00:00+02:00"],
        [dt.datetime(2026, 5, 2, tzinfo=dt.UTC), dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)],
        np.array(["2026-05-02T00", "2026-05-01T12"], "datetime64[h]"),
    ],
)
def test_rows_are_sorted_by_date(times: Any) -> None:
    log = Log({"arm": ["late", "early"], "reward": [1.0, 0.0], "at": times}, time="at")
    assert [log.arms[k] for k in log.arm] == ["early", "late"]
    assert log.time[1] - log.time[0] == 43_200
    assert (log.reordered, log.has_dates) == (1, True)


def test_the_description_says_that_rows_were_sorted() -> None:
    columns = {"arm": list("abab"), "reward": [1, 0, 1, 0], "t": [1, 4, 2, 3]}
    sentence = "Order: 2 of 4 rows had an earlier time than a row above them, so all rows were sorted by time."
    assert sentence in str(Log(columns, time="t").describe())
    assert "Order:" not in str(Log(columns).describe())


def test_rows_of_one_time_stay_in_their_order() -> None:
    log = Log({"arm": list("abc"), "reward": [1, 2, 3], "t": [5, 5, 5]}, time="t")
    assert (log.reward.tolist(), log.reordered) == ([1.0, 2.0, 3.0], 0)


def test_pulls_are_counted_for_each_unit() -> None:
    log = Log({"arm": list("aabaa"), "reward": [0] * 5, "who": list("xyxxy")}, unit="who")
    assert log.own_pulls.tolist() == [0, 0, 0, 1, 1]
    assert log.units == ("x", "y")


@given(st.lists(st.integers(0, 3), max_size=30))
def test_positions_count_the_equal_elements_before(values: list[int]) -> None:
    assert positions(np.array(values, np.int64)).tolist() == [values[:k].count(value) for k, value in enumerate(values)]


COLUMNS: dict[str, Any] = {"arm": ["a", "b"], "reward": [1.0, 0.0]}


@pytest.mark.parametrize(
    ("changes", "arguments", "message"),
    [
        ({}, {"arm": "amr"}, "arm must be the name of a column, got 'amr'; did you mean 'arm'?"),
        ({}, {"reward": 3}, "reward must be the name of a column, got 3"),
        ({}, {"unit": "x"}, "unit must be the name of a column, got 'x'; the columns are 'arm', 'reward'"),
        ({"arm": ["a", math.nan]}, {}, "row 1 (counting from 0), column 'arm': arm must not be missing, got nan"),
        ({"arm": ["a", ""]}, {}, "row 1 (counting from 0), column 'arm': arm must not be missing, got ''"),
        (
            {"arm": ["a", ["b"]]},
            {},
            "row 1 (counting from 0), column 'arm': arm must be a string, a number or a tuple of these, got ['b']",
        ),
        ({"reward": [1, "x"]}, {}, "row 1 (counting from 0), column 'reward': reward must be a finite number, got 'x'"),
        ({"reward": ["0.5", "-1,5"]}, {}, "must be a finite number, got '-1,5'; write numbers with a decimal point and"),
        (
            {"reward": [math.inf, 1]},
            {},
            "column 'reward': reward must be a finite number of at most 1e+100 in size, got inf",
        ),
        ({"reward": [1, -1e200]}, {}, "column 'reward': reward must be a finite number of at most 1e+100 in size, got -1e+200"),
        ({"reward": [1.0]}, {}, "columns must have the same length, got 2 in 'arm', 1 in 'reward'"),
        ({"p": [0.5]}, {"propensity": "p"}, "columns must have the same length, got 2 in 'arm', 1 in 'p'"),
        ({"can": [["a"]]}, {"available": "can"}, "columns must have the same length, got 2 in 'arm', 1 in 'can'"),
        (
            {"t": ["2026-05-01", "soon"]},
            {"time": "t"},
            "column 't': t must be a date such as 2026-05-01 12:30, or a number, got 'soon'",
        ),
        ({"t": [1.0, None]}, {"time": "t"}, "row 1 (counting from 0), column 't': t must be known in every row, got None"),
        ({"p": [0.5, 0.0]}, {"propensity": "p"}, "column 'p': p must be a probability above 0, at most 1, got 0.0"),
        ({"p": [0.5, 1.5]}, {"propensity": "p"}, "column 'p': p must be a probability above 0, at most 1, got 1.5"),
        (
            {"id": [7, 7]},
            {"decision": "id"},
            "row 1 (counting from 0), column 'id': id must be different in every row: a decision has one reward, got 7",
        ),
        (
            {"can": [["a"], ["a"]]},
            {"available": "can"},
            "row 1 (counting from 0), column 'arm': arm must be among the available arms, got 'b'",
        ),
        ({"can": ["x", "y"]}, {"available": "can"}, "row 0 (counting from 0), column 'can': can must be a list of arms"),
        (
            {"can": ["[[1]]", "[]"]},
            {"available": "can"},
            "row 0 (counting from 0), column 'can': can must be a list of arms",
        ),
    ],
)
def test_what_cannot_be_right_is_refused_with_its_row(changes: dict[str, Any], arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        Log({**COLUMNS, **changes}, **arguments)
    assert message in str(caught.value)


@pytest.mark.parametrize("arm", [["b"], ("b", ["c"])])
def test_an_arm_that_cannot_be_hashed_is_refused_with_its_row(arm: object) -> None:
    with pytest.raises(InvalidTypeError, match="arm must be a string, a number or a tuple of these") as caught:
        Log({"arm": ["a", arm], "reward": [1.0, 0.0]})
    assert caught.value.where == "row 1 (counting from 0), column 'arm'"


def test_arms_of_a_store_may_be_called_as_missing_values_are(tmp_path: Path) -> None:
    with rotting.open(tmp_path / "log.rot", policy=rotting.UCB1(), arms=["none", "NA", None], compile="never") as bandit:
        for _ in range(3):
            bandit.update(bandit.pull(), 1.0)
    assert Log(tmp_path / "log.rot").arms == ("none", "NA", None)


def test_an_empty_log_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match="data must have at least one row"):
        Log({"arm": [], "reward": []})
    with pytest.raises(PathMissingError):
        Log(tmp_path / "none.csv")
    with pytest.raises(InvalidTypeError):
        Log(3)


def test_arrays_of_a_log_are_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        Log(ROWS).reward[0] = 2.0


def test_the_description_says_what_is_missing() -> None:
    assert "missing rewards  1" in str(Log(ROWS).describe())
    assert "25.0% of the rewards are missing." in str(Log(ROWS).describe())


PLAIN = "arm,reward,when\ncafé,1,2026-03-01\nb,0,2026-03-02\ncafé,0,2026-03-03\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("utf8.csv", PLAIN.encode()),
        ("bom.csv", b"\xef\xbb\xbf" + PLAIN.encode()),
        ("western.csv", PLAIN.encode("cp1252")),
        ("tabs.tsv", PLAIN.replace(",", "\t").encode()),
        ("semicolons.csv", PLAIN.replace(",", ";").encode()),
        ("small.csv.gz", gzip.compress(PLAIN.encode(), mtime=0)),
        ("preamble.csv", f"Report of March\n\n{PLAIN}".encode()),
        ("words.csv", PLAIN.replace(",1,", ",yes,").replace(",0,", ",No,").encode()),
        ("compact.csv", PLAIN.replace("2026-03-0", "2026030").encode()),
        ("spaces.csv", PLAIN.replace("\ncafé,0", "\ncafé ,0").encode()),
        ("rows.jsonl", b"\n".join(b'{"arm": "%s", "reward": %d, "when": "2026-03-0%d"}' % each for each in
                                  [("café".encode(), 1, 1), (b"b", 0, 2), ("café".encode(), 0, 3)])),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)  # fmt: skip
def test_files_of_many_forms_give_the_same_log(name: str, content: bytes, tmp_path: Path) -> None:
    pytest.importorskip("polars")
    path = tmp_path / name
    path.write_bytes(content)
    log = Log(path, time="when")
    assert [log.arms[k] for k in log.arm] == ["café", "b", "café"]
    assert log.reward.tolist() == [1.0, 0.0, 0.0]
    assert (log.has_dates, np.diff(log.time).tolist()) == (True, [86_400.0, 86_400.0])
    noted = {"western.csv": "Windows-1252", "preamble.csv": "first 2 lines", "spaces.csv": "count as one"}
    assert (noted[name] in log.notes[0]) if name in noted else not log.notes


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("slashes.csv", "arm,reward,when\na,1,03/04/2026\n", "line 2, column 'when': when must have dates such as 2026-05-01"),
        ("late.csv", "Report\n\narm,reward,when\na,1,2026-03-01\na,x,2026-03-01\n", "line 5, column 'reward'"),
        ("sheet.xlsx", "PK", "save it as CSV in UTF-8"),
    ],
)
def test_what_must_not_be_guessed_is_refused(name: str, content: str, message: str, tmp_path: Path) -> None:
    pytest.importorskip("polars")
    path = tmp_path / name
    path.write_text(content, "utf-8")
    with pytest.raises(InvalidValueError) as caught:
        Log(path, time="when")
    assert message in str(caught.value)


def test_rows_that_are_in_twice_are_noted() -> None:
    rng = np.random.default_rng(0)
    columns = {"arm": rng.integers(0, 3, 500), "reward": rng.random(500), "t": np.datetime64("2026-03-01") + np.arange(500)}
    twice = {name: np.concatenate([each, each]) for name, each in columns.items()}
    assert not Log(columns, time="t").notes
    assert "500 rows are equal to a row before them" in Log(twice, time="t").notes[0]
    thrice = {name: np.concatenate([each.astype(float)] * 3) for name, each in columns.items()}
    assert "1,000 rows are equal to a row before them" in Log(thrice, time="t").notes[0]


def test_rewards_that_may_still_come_are_missing() -> None:
    times = np.datetime64("2026-03-01") + np.arange(10).astype("timedelta64[D]")
    log = Log({"arm": ["a", "b"] * 5, "reward": [1.0] * 10, "t": times}, time="t", delay="3d")
    assert (log.young, log.missing) == (3, 3)
    assert "those of the newest 3 rows are left out" in str(log.describe())
    numbers = {"arm": ["a"] * 10, "reward": [1.0] * 10, "t": range(10)}
    assert Log(numbers, time="t", delay=2).young == 2
    with pytest.raises(InvalidValueError, match="delay must be a number, as the times are, got '2d'"):
        Log(numbers, time="t", delay="2d")
    with pytest.raises(InvalidValueError, match="delay must come with the name of a column of times"):
        Log(numbers, delay=2)
