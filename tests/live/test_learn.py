"""`Bandit.learn`: past rewards in any form, learned as `update` would row by row, all of them or none."""

import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.live import events as event_module
from rotting.live.bandit import Bandit
from rotting.live.learner import Learner
from rotting.policy import Policy
from rotting.registry import make
from tests.conftest import INTERPRETED
from tests.helpers.games import examples

if TYPE_CHECKING:
    from rotting.live.events import Event

LEARNERS = [each for each in examples() if not each.sees_means]
ARMS: list[Any] = ["a", ("b", 1), 3]
ROWS = 150 if INTERPRETED else 300  # more than a new state has room for


def rows(n: int) -> list[tuple[Any, float]]:
    rng = np.random.default_rng(4)
    return [(ARMS[k], float(x)) for k, x in zip(rng.integers(0, 3, n), rng.random(n).round(3), strict=True)]


def bandit_taught_by_rows(policy: Policy, n: int) -> tuple[Bandit, list[tuple[Any, ...]]]:
    """A bandit that was updated row by row, and the rows, with propensities."""
    bandit, history = Bandit(policy, arms=ARMS, seed=8), []
    for arm, reward in rows(n):
        history.append((arm, reward, bandit.propensities()[arm]) if bandit._state.learner.uses_propensity else (arm, reward))
        bandit.update(arm, reward)
    return bandit, history


# --- The same as row by row ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", LEARNERS, ids=lambda each: each.name)
def test_it_is_the_same_as_row_by_row_and_the_fold_of_its_events(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_module, "_MAX_ROWS", 64)
    one_by_one, history = bandit_taught_by_rows(policy, ROWS)
    bandit, folded = Bandit(policy, arms=ARMS, seed=8), Bandit(policy, arms=ARMS, seed=8)
    events: list[Event] = []
    bandit._state.events = events
    assert [bandit.learn(history[:100]), bandit.learn(iter(history[100:]))] == [100, ROWS - 100]
    assert bandit.get_state() == one_by_one.get_state()
    for event in json.loads(json.dumps(events)):
        assert (event["event"], len(event["which"]) <= 64) == ("learned_many", True)
        folded._state.apply(event)
    assert folded.get_state() == bandit.get_state()
    assert [bandit.pull() for _ in range(5)] == [one_by_one.pull() for _ in range(5)]


@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), st.floats(-3, 3)), max_size=20), st.integers(0, 20))
def test_where_a_history_is_cut_does_not_matter(history: list[tuple[str, float]], cut: int) -> None:
    policy = make("kl-ucb", low=-1.0, high=1.0, outside="clip")  # the mean of all rewards is that of clipped ones
    complete, parts, one_by_one = (Bandit(policy, arms=["a", "b"]) for _ in range(3))
    assert complete.learn(history) == len(history)
    parts.learn(history[:cut])
    parts.learn(history[cut:])
    for arm, reward in history:
        one_by_one.update(arm, reward)
    assert complete.get_state() == parts.get_state() == one_by_one.get_state()


def test_open_decisions_stay_open_and_an_arm_with_rewards_is_not_young() -> None:
    bandit, events = Bandit(make("ucb1"), arms=["a", "b"], seed=1), []  # type: tuple[Bandit, list[Event]]
    bandit._state.events = events
    decision = bandit.decide(arms=["a"])
    assert bandit.explain()["a"][4:6] == (0, 1)  # rewards, pending decisions
    bandit.learn([("a", 1.0), ("a", 0.0)])
    assert (bandit.pending, bandit.rounds) == (1, 3)
    assert bandit.explain()["a"][4:6] == (2, 1)
    assert bandit.reward(decision.id, 0.5) == "applied"
    assert (bandit.explain()["a"].pulls, bandit.explain()["a"].mean) == (3, 0.5)
    folded = Bandit(make("ucb1"), arms=["a", "b"], seed=1)
    for event in events:
        folded._state.apply(event)
    assert folded.get_state() == bandit.get_state()


def test_retired_arms_still_learn() -> None:
    bandit = Bandit(make("ucb1"), arms=["a", "b"])
    bandit.retire("b")
    bandit.learn([("b", 0.25)])
    bandit.revive("b")
    assert bandit.explain()["b"].mean == 0.25


@pytest.mark.slow
def test_a_million_rows_need_no_loop_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    bandit = Bandit(make("eff-raw-ucb"), arms=["a", "b"])
    monkeypatch.setattr(Learner, "learn", None)
    n = 1_000_000
    assert bandit.learn({"arm": np.where(np.arange(n) % 3 == 0, "a", "b"), "reward": np.arange(n) % 2}) == n
    assert bandit.rounds == n
    assert [each.pulls for each in bandit.explain().values()] == [333_334, 666_666]


# --- Forms --------------------------------------------------------------------------------------------------------------------

TABLE: dict[str, Any] = {"arm": ["x", "y", "x"], "reward": [0.25, 1.0, 0.5], "day": ["mo", "tu", "we"]}
NUMBERED: dict[str, Any] = {"arm": [1, 2, 1], "reward": [1, 0, 1]}


def frame_of(table: dict[str, Any]) -> Any:
    return pd.DataFrame(table, index=[5, 5, 7])  # whose labels are no row numbers


FORMS: list[Callable[[dict[str, Any]], Any]] = [
    dict,
    frame_of,
    pl.DataFrame,
    lambda table: {name: np.array(values) for name, values in table.items()},
    lambda table: {name: tuple(values) for name, values in table.items()},
    lambda table: {name: pd.Series(values, dtype="object") for name, values in table.items()},
    lambda table: list(zip(table["arm"], table["reward"], strict=True)),
    lambda table: zip(table["arm"], table["reward"], strict=True),
    lambda table: [list(pair) for pair in zip(table["arm"], table["reward"], strict=True)],
    lambda table: pd.DataFrame(table).astype({"arm": "category"}),
    lambda table: pl.DataFrame(table).with_columns(pl.col("reward").cast(pl.Float32)),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("table", [TABLE, NUMBERED], ids=["names", "numbers"])
def test_all_forms_are_the_same(form: Callable[[dict[str, Any]], Any], table: dict[str, Any]) -> None:
    bandit, plain = (Bandit(make("ucb1"), arms=dict.fromkeys(table["arm"])) for _ in range(2))
    for arm, reward in zip(table["arm"], table["reward"], strict=True):
        plain.update(arm, reward)
    assert bandit.learn(form(table)) == 3
    assert bandit.get_state() == plain.get_state()


@pytest.mark.parametrize("rewards", [[Fraction(1, 2), np.float32(0.5), 2], [True, True, "1"], pl.Series([True] * 3)])
def test_rewards_may_be_any_numbers_and_truth_values(rewards: Any) -> None:
    bandit = Bandit(make("ucb1"), arms=["x"])
    bandit.learn({"arm": ["x"] * 3, "reward": rewards})
    assert bandit.explain()["x"].mean == 1.0


@pytest.mark.parametrize("nothing", [[], {"arm": [], "reward": []}, pd.DataFrame({"arm": [], "reward": []}), iter(())])
def test_an_empty_history_changes_nothing(nothing: Any) -> None:
    bandit, events = Bandit(make("ucb1"), arms=["x"]), []  # type: tuple[Bandit, list[Event]]
    bandit._state.events = events
    before = bandit.get_state()
    assert bandit.learn(nothing) == 0
    assert (bandit.get_state(), events) == (before, [])


# --- Unknown arms -------------------------------------------------------------------------------------------------------------

STRANGE = [("new", 1.0), ("a", 0.5), ("other", 0.0), ("new", 0.25)]


def test_unknown_arms_are_added_in_their_order() -> None:
    bandit, plain = Bandit(make("ucb1"), arms=["a"]), Bandit(make("ucb1"), arms=["a"])
    events: list[Event] = []
    bandit._state.events = events
    assert bandit.learn(STRANGE, unknown="add") == 4
    for arm in ("new", "other"):
        plain.add_arm(arm)
    for arm, reward in STRANGE:
        plain.update(arm, reward)
    assert bandit.get_state() == plain.get_state()
    assert [each["event"] for each in events] == ["added", "added", "learned_many"]


def test_rows_of_unknown_arms_are_skipped() -> None:
    bandit, plain = Bandit(make("exp3-s", horizon=100), arms=["a"]), Bandit(make("exp3-s", horizon=100), arms=["a"])
    assert bandit.learn([(*row, 0.5) for row in STRANGE], unknown="skip") == 1
    plain.learn([("a", 0.5, 0.5)])
    assert bandit.get_state() == plain.get_state()
    assert bandit.learn([("?", 1.0, 0.5)], unknown="skip") == 0


# --- Refused, with nothing learned --------------------------------------------------------------------------------------------

LIST = "a string, a number or a tuple of these"
REFUSED: list[tuple[Any, type[Exception], str]] = [
    (
        [("a", 1.0), ("c", 1.0)],
        InvalidValueError,
        "row 1 (counting from 0), column 'arm': arm must be one of 'a', 'b', got 'c'; see `unknown`",
    ),
    ([("a", 1.0), (["a"], 1.0)], InvalidTypeError, f"row 1 (counting from 0), column 'arm': arm must be {LIST}, got ['a']"),
    (
        {"arm": ["a", "b"], "reward": [0.5, math.nan]},
        InvalidValueError,
        "row 1 (counting from 0), column 'reward': reward must be a finite number of at most 1e+100 in size, got nan",
    ),
    (
        pd.DataFrame({"arm": ["a", "b"], "reward": [0.5, None]}),
        InvalidValueError,
        "row 1 (counting from 0), column 'reward': reward must be a finite number of at most 1e+100 in size, got nan",
    ),
    (
        {"arm": ["a"], "reward": [10**400]},
        InvalidValueError,
        "row 0 (counting from 0), column 'reward': reward must be a finite number of at most 1e+100 in size, got 1000000",
    ),
    (
        {"arm": ["a", "b"], "reward": [0.5, "x"]},
        InvalidValueError,
        "row 1 (counting from 0), column 'reward': reward must be a finite number, got 'x'",
    ),
    ({"arm": ["a"], "clicks": [1.0]}, InvalidValueError, "data must have a column 'reward', got ['arm', 'clicks']"),
    (
        {"arm": ["a"], "reward": [1.0, 2.0]},
        InvalidValueError,
        "columns must have the same length, got 1 in 'arm', 2 in 'reward'",
    ),
    ({"arm": "a", "reward": [1.0]}, InvalidTypeError, "column 'arm' must be a list of values, got 'a'"),
    (
        [("a", 1.0), ("a", 1.0, 0.5)],
        InvalidTypeError,
        "row 1 (counting from 0) must be an arm and a reward, got ('a', 1.0, 0.5)",
    ),
    (["ab"], InvalidTypeError, "row 0 (counting from 0) must be an arm and a reward, got 'ab'"),
    (7, InvalidTypeError, "data must be a data frame or a mapping with the columns 'arm' and 'reward', pairs"),
    (pl.LazyFrame({"arm": ["a"], "reward": [1.0]}), InvalidTypeError, "data must be a data frame or"),
]


@pytest.mark.filterwarnings("ignore::polars.exceptions.PerformanceWarning")
@pytest.mark.parametrize(("history", "error", "words"), REFUSED)
def test_a_bad_history_is_refused_whole(history: Any, error: type[Exception], words: str) -> None:
    bandit = Bandit(make("ucb1"), arms=["a", "b"])
    before = bandit.get_state()
    with pytest.raises(error) as caught:
        bandit.learn(history)
    assert str(caught.value).startswith(words)
    assert bandit.get_state() == before


def test_rewards_outside_the_range_and_rounds_after_the_last_are_refused() -> None:
    bandit = Bandit(make("exp3", horizon=3), arms=["a", "b"])
    before = bandit.get_state()
    with pytest.raises(InvalidValueError, match=r"row 1 .*: reward must be in \[0.0, 1.0\], the range that .*, got 1.5"):
        bandit.learn([("a", 1.0, 0.5), ("a", 1.5, 0.5)])
    with pytest.raises(InvalidValueError, match="round must be at most 3, the horizon .*, got round 4"):
        bandit.learn([("a", 1.0, 0.5)] * 4)
    assert bandit.get_state() == before
    with pytest.raises(InvalidValueError, match="unknown must be 'refuse', 'add' or 'skip', got 'ignore'"):
        bandit.learn([("a", 1.0, 0.5)], unknown="ignore")  # type: ignore[arg-type]
    with pytest.raises(InvalidTypeError, match=r"row 1 .* column 'arm': arm must be a string, .* got datetime"):
        Bandit(make("ucb1"), arms=["a"]).learn([("a", 1.0), (pd.Timestamp("2026-01-01").to_pydatetime(), 1.0)], unknown="add")


@pytest.mark.parametrize("propensity", [0.0, -0.5, 1.5, math.nan, "x", None])
def test_policies_that_weigh_need_propensities(propensity: Any) -> None:
    bandit = Bandit(make("exp3-s", horizon=100), arms=["a", "b"])
    with pytest.raises(InvalidValueError, match="must have a column 'propensity', since Exp3S.* divides each reward by"):
        bandit.learn([("a", 1.0)])
    with pytest.raises(
        (InvalidTypeError, InvalidValueError), match=r"row 1 .* propensity must be a probability above 0, at most 1"
    ):
        bandit.learn({"arm": ["a", "b"], "reward": [1.0, 1.0], "propensity": [0.5, propensity]})
    assert bandit.rounds == 0


def test_no_memory_for_a_state_is_nothing_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    bandit = Bandit(make("raw-ucb"), arms=["a", "b"])
    before = bandit.get_state()

    def no_memory(self: Learner) -> None:
        raise MemoryError

    monkeypatch.setattr(Learner, "_double_room", no_memory)
    with pytest.raises(MemoryError):
        bandit.learn([("a", 1.0 / k) for k in range(1, 3_000)])
    assert bandit.get_state() == before


def test_a_name_is_for_logs(tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match="name must be left out, unless the data is a store, got"):
        Bandit(make("ucb1"), arms=["a"]).learn([("a", 1.0)], name="songs")
