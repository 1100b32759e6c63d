"""Logs as history: what a bandit learns of one is what the bandit of the log knew."""

import itertools
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl
import pytest

import rotting
from rotting import cli
from rotting.errors import InvalidValueError, NotAStoreError, PathMissingError
from rotting.live.bandit import Bandit
from rotting.live.reward_files import rewards_of
from rotting.policy import Policy

if TYPE_CHECKING:
    from rotting.live.decisions import Decision
    from rotting.live.events import Event

ARMS: list[Any] = ["jazz", 7, ("rock", 1)]


def play_durable_bandit(path: Path, policy: Policy, name: str = "bandit") -> None:
    """Play a durable bandit: rewards late, in another order, missing, and of arms that come and go."""
    chance = random.Random(3)
    with rotting.open(path, policy, arms=ARMS, name=name) as bandit:
        bandit.learn([(arm, 0.25, 0.5) for arm in ARMS])
        open_ones: list[Decision] = []
        for k in range(60):
            open_ones.append(bandit.decide())
            if k % 3:
                decision = open_ones.pop(chance.randrange(len(open_ones)))
                if k % 7 == 0:
                    bandit.cancel(decision.id)
                elif k % 5 == 0:
                    bandit.expire(decision.id, missing=0.0 if k % 2 else "drop")
                else:
                    bandit.reward(decision.id, k / 60)
            if k == 20:
                bandit.forget("jazz")  # and all rewards with it
                bandit.add_arm("jazz")
        if not bandit._state.learner.uses_propensity:
            bandit.update(7, 0.5)
        for decision in open_ones:
            bandit.expire(decision.id)


def test_notes_are_passed_over() -> None:
    decided = {"event": "decided", "id": "x", "round": 1, "arm": "a", "arms": None, "without": None, "propensity": 1.0}
    events: list[Event] = [decided, {"note": "key 7", "ids": ["x"]}, {"event": "rewarded", "id": "x", "reward": 0.5}]
    assert rewards_of(events) == rewards_of([events[0], events[2]]) == {"arm": ["a"], "reward": [0.5], "propensity": [1.0]}


@pytest.mark.parametrize("policy", [rotting.RAWUCB(), rotting.ThompsonSampling(), rotting.Exp3S(gamma=0.1, alpha=0.01)])
def test_what_is_learned_of_a_log_is_what_its_bandit_knew(policy: Policy, tmp_path: Path) -> None:
    play_durable_bandit(tmp_path / "songs.rot", policy)
    bandit = Bandit(policy, arms=ARMS)
    learned = bandit.learn(tmp_path / "songs.rot")
    with rotting.open(tmp_path / "songs.rot") as old:
        known, now = old.explain(), bandit.explain()
    assert learned == sum(each.pulls for each in known.values()) > 20
    assert {arm: each.pulls for arm, each in now.items()} == {arm: each.pulls for arm, each in known.items()}
    if not bandit._state.learner.uses_propensity:
        assert [now[arm].mean for arm in ARMS] == pytest.approx([known[arm].mean for arm in ARMS])


def test_rewards_stand_in_the_order_of_their_decisions() -> None:
    def decided(key: str, arm: str) -> dict[str, Any]:
        return {"event": "decided", "id": key, "arm": arm, "propensity": 0.5}

    events = [
        decided("1", "a"),
        decided("2", "b"),
        {"event": "learned", "arm": "b", "reward": 0.3},
        {"event": "rewarded", "id": "2", "reward": 0.2},
        {"event": "rewarded", "id": "1", "reward": 0.1},
        decided("3", "b"),
        decided("4", "a"),
        {"event": "expired", "id": "3", "reward": 0.0},
        {"event": "cancelled", "id": "4"},
        {"event": "learned_many", "arms": ["a"], "which": [0, 0], "rewards": [0.4, 0.5], "propensities": [0.7, 0.8]},
    ]
    found = rewards_of(events)
    assert found == {
        "arm": ["a", "b", "b", "b", "a", "a"],
        "reward": [0.1, 0.2, 0.3, 0.0, 0.4, 0.5],
        "propensity": [0.5, 0.5, None, 0.5, 0.7, 0.8],
    }
    assert rewards_of([*events, {"event": "forgotten", "arm": "a"}])["arm"] == ["b", "b", "b"]
    assert rewards_of([*events, {"event": "added", "arm": "b", "prior": None}])["arm"] == ["a", "a", "a"]


@pytest.mark.parametrize("policy", [rotting.UCB1(), rotting.Exp3S(gamma=0.1, alpha=0.01)])
def test_an_export_is_as_good_as_the_store(policy: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    play_durable_bandit(Path("songs.rot"), policy)
    states = []
    for suffix in (".csv", ".parquet"):
        assert cli.main(["log", "songs.rot", "--out", f"log{suffix}"]) == 0
    frames = pl.read_parquet("log.parquet"), pd.read_csv("log.csv")
    for history in ("songs.rot", "log.csv", "log.parquet", *frames):
        bandit = Bandit(policy, arms=ARMS)
        assert bandit.learn(history) > 20
        states.append(bandit.get_state())
    assert all(state == states[0] for state in states)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_file_teaches_the_same_as_its_table(suffix: str, tmp_path: Path) -> None:
    table = pl.DataFrame({"arm": ["x", "y"], "when": [3, 4], "reward": [0.1 + 0.2, 1.0], "propensity": [0.5, 0.25]})
    path = tmp_path / f"clicks{suffix}"
    table.write_csv(path) if suffix == ".csv" else table.write_parquet(path)
    for policy in (rotting.UCB1(), rotting.Exp3(gamma=0.1)):
        bandit, plain = Bandit(policy, arms=["x", "y"]), Bandit(policy, arms=["x", "y"])
        assert (bandit.learn(path), plain.learn(table)) == (2, 2)
        assert bandit.get_state() == plain.get_state()


def test_arms_in_csv_are_what_they_were(tmp_path: Path) -> None:
    path = tmp_path / "h.csv"
    path.write_text('arm,reward\n7,1.0\njazz,0.5\n"[""rock"", 1]",0.25\n"""jazz""",0.5\n', "utf-8")
    bandit = Bandit(rotting.UCB1(), arms=ARMS)
    bandit.learn(path)
    assert [bandit.explain()[arm].mean for arm in ARMS] == [0.5, 1.0, 0.25]
    with pytest.raises(InvalidValueError, match="arms must be told apart in CSV, got 7 and '7', both written 7; use another"):
        Bandit(rotting.UCB1(), arms=[7, "7"]).learn(path)
    path.write_text("arm,reward\nfolk,1\n", "utf-8")
    bandit.learn(path, unknown="add")
    assert "folk" in bandit.arms


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "must be a table in CSV, with the names of its columns first"),
        ("arm,reward\njazz\n", r"line 2 of .* must have 2 values, got 1"),
        ("arm,reward\njazz,\n", r"line 2, column 'reward': reward must be a finite number, got ''"),
        ("arm,reward\njazz,1\njazz,nan\n", r"line 3, column 'reward': reward must be a finite number .*got nan"),
        ('arm,reward\njazz,"1,5"\n', "line 2, .* got '1,5'; write numbers with a decimal point and"),
        ("song,click\njazz,1\n", r"history must have a column 'arm', got \['song', 'click'\]"),
        ("arm,reward\nfunk,1\n", r"line 2, column 'arm': arm must be one of 'jazz', .* got 'funk'"),
    ],
)
def test_bad_tables_are_refused(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "h.csv"
    path.write_text(text, "utf-8")
    bandit = Bandit(rotting.UCB1(), arms=ARMS)
    with pytest.raises((InvalidValueError, TypeError), match=words):
        bandit.learn(path)
    assert bandit.rounds == 0


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_table_in_utf_16_is_refused_with_its_encoding(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "h.csv"
    path.write_text("arm,reward\njazz,1\n", encoding)
    words = "history must be encoded in UTF-8, got '.*', which seems to be UTF-16$"
    with pytest.raises(InvalidValueError, match=words):
        Bandit(rotting.UCB1(), arms=ARMS).learn(path)


def test_missing_files_and_files_that_are_not_logs_are_refused(tmp_path: Path) -> None:
    bandit = Bandit(rotting.UCB1(), arms=ARMS)
    with pytest.raises(PathMissingError, match="no such file"):
        bandit.learn(tmp_path / "none.rot")
    with pytest.raises(PathMissingError, match="no such file"):
        bandit.learn(tmp_path / f"{'x' * 300}.csv")
    (tmp_path / "x.rot").write_text("no store at all, but long enough to look like one", "utf-8")
    with pytest.raises(NotAStoreError):
        bandit.learn(str(tmp_path / "x.rot"))


def test_one_bandit_of_several_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, rounds in (("songs", 2), ("films", 3)):
        with rotting.open("all.rot", rotting.UCB1(), arms=["jazz"], name=name) as durable:
            durable.learn(itertools.repeat(("jazz", 1.0), rounds))
    assert cli.main(["log", "all.rot", "--out", "all.csv"]) == 0
    for path in ("all.rot", "all.csv"):
        bandit = rotting.Bandit(rotting.UCB1(), arms=["jazz"])
        with pytest.raises(InvalidValueError, match="name must be one of the bandits in the log, 'songs', 'films', got None"):
            bandit.learn(path)
        with pytest.raises(InvalidValueError, match="got 'books'"):
            bandit.learn(path, name="books")
        assert bandit.learn(path, name="films") == 3


def test_a_durable_bandit_remembers_what_it_learned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "songs.rot"
    with rotting.open(path, rotting.RAWUCB(), arms=["jazz"]) as bandit:
        bandit.learn([("jazz", k % 5 / 4) for k in range(2_500)])
        bandit.learn([("rock", 0.1)], unknown="add")
        state = bandit.get_state()
        bandit._unsaved = 0  # no snapshot at the end: what follows comes from the log
    with rotting.open(path) as bandit:
        assert bandit.get_state() == state
    assert cli.main(["log", str(path), "--verify"]) == 0
    assert "5 events" in capsys.readouterr().out
    assert cli.main(["log", str(path)]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) < 300


def test_a_part_of_a_log_is_refused() -> None:
    events: list[Any] = [{"event": "rewarded", "id": "late", "reward": 1.0}]
    with pytest.raises(InvalidValueError, match="history must be a whole log, got one without the decision late, which it"):
        rewards_of(events)
