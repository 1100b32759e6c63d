"""Tables: every form that a log or a bandit reads, and a sentence with the line or the row of what cannot be right."""

import itertools
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import rotting
from rotting import cli
from rotting.errors import InvalidValueError, MissingExtraError, NotAStoreError, PathMissingError
from rotting.live.bandit import Bandit
from rotting.logs.log import Log
from rotting.policy import Policy

if TYPE_CHECKING:
    from rotting.live.values import Decision

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
        if not Bandit(policy, ARMS)._state.chooser.learner.uses_propensity:
            bandit.update(7, 0.5)
        for decision in open_ones:
            bandit.expire(decision.id)


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


def test_rewards_stand_in_the_order_of_their_decisions(tmp_path: Path) -> None:
    path = tmp_path / "songs.rot"

    def learned() -> list[tuple[Any, float]]:
        bandit = Bandit(rotting.UCB1(), arms=["a", "b"])
        (event,) = recorded(bandit, path)
        return [(event["arms"][k], reward) for k, reward in zip(event["which"], event["rewards"], strict=True)]

    with rotting.open(path, rotting.UCB1(), arms=["a", "b"]) as bandit:
        first, second = bandit.decide(["a"]), bandit.decide(["b"])
        bandit.learn([("b", 0.3)])
        bandit.reward(second, 0.2)
        bandit.reward(first, 0.1)
        third, fourth = bandit.decide(["b"]), bandit.decide(["a"])
        bandit.expire(third.id, missing=0.0)
        bandit.cancel(fourth)
        bandit.learn([("a", 0.4), ("a", 0.5)])
        assert learned() == [("a", 0.1), ("b", 0.2), ("b", 0.3), ("b", 0.0), ("a", 0.4), ("a", 0.5)]
        bandit.forget("a")
        assert learned() == [("b", 0.2), ("b", 0.3), ("b", 0.0)]
        bandit.add_arm("a")
        assert learned() == [("b", 0.2), ("b", 0.3), ("b", 0.0)]


def recorded(bandit: Bandit, path: Path) -> list[dict[str, Any]]:
    """Return the events with which a bandit learns a store."""
    bandit._state.events = []
    bandit.learn(path)
    return bandit._state.events


@pytest.mark.parametrize("kind", ["csv", "parquet", "ndjson"])
def test_a_file_teaches_the_same_as_its_table(kind: str, tmp_path: Path) -> None:
    table = pl.DataFrame({"arm": ["x", "y"], "when": [3, 4], "reward": [0.1 + 0.2, 1.0], "propensity": [0.5, 0.25]})
    path = tmp_path / f"clicks.{kind.replace('ndjson', 'jsonl')}"
    getattr(table, f"write_{kind}")(path)
    log, same = (Log(each, time="when", propensity="propensity") for each in (path, table))
    assert log.arms == same.arms
    for one, other in ((log.reward, same.reward), (log.time, same.time), (log.propensity, same.propensity)):
        np.testing.assert_array_equal(one, other)
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
        ("arm,reward\njazz\n", r"line 2, column 'reward': reward must be a finite number, got ''"),
        ("arm,reward\njazz,\n", r"line 2, column 'reward': reward must be a finite number, got ''"),
        ("arm,reward\njazz,1\njazz,nan\n", r"line 3, column 'reward': reward must be a finite number .*got nan"),
        ('arm,reward\njazz,"1,5"\n', "line 2, .* got '1,5'; write numbers with a decimal point and"),
        ("song,click\njazz,1\n", r"data must have a column 'arm', got \['song', 'click'\]"),
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
    words = "data must be encoded in UTF-8, got '.*', which seems to be UTF-16$"
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
    bandit = rotting.Bandit(rotting.UCB1(), arms=["jazz"])
    with pytest.raises(InvalidValueError, match="name must be one of the bandits in the log, 'films', 'songs', got None"):
        bandit.learn("all.rot")
    with pytest.raises(InvalidValueError, match="got 'books'"):
        bandit.learn("all.rot", name="books")
    assert bandit.learn("all.rot", name="films") == 3


def test_a_durable_bandit_remembers_what_it_learned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "songs.rot"
    with rotting.open(path, rotting.RAWUCB(), arms=["jazz"]) as bandit:
        bandit.learn([("jazz", k % 5 / 4) for k in range(2_500)])
        bandit.learn([("rock", 0.1)], unknown="add")
        state = bandit.get_state()
    with rotting.open(path) as bandit:
        assert bandit.get_state() == state
    assert cli.main(["verify", str(path)]) == 0
    assert "5 events" in capsys.readouterr().out
    assert cli.main(["log", str(path)]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) < 300


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
def test_a_file_without_polars_names_the_extra(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    path = tmp_path / f"clicks{suffix}"
    path.touch()
    with pytest.raises(MissingExtraError, match=rf"a {suffix} file needs Polars: pip install 'rotting\[logs\]'"):
        Log(path)
    assert Log({"arm": ["x"], "reward": np.array([0.5])}).reward.tolist() == [0.5]


@pytest.mark.parametrize(
    ("suffix", "rule"), [(".parquet", "be a table in Parquet"), (".jsonl", "have a JSON object in each line")]
)
def test_a_file_of_another_kind_is_refused(suffix: str, rule: str, tmp_path: Path) -> None:
    path = tmp_path / f"clicks{suffix}"
    path.write_text("arm,reward\n")
    with pytest.raises(InvalidValueError, match=f"data must {rule}, got"):
        Log(path)


def test_missing_rewards_of_a_file_are_missing(tmp_path: Path) -> None:
    path = tmp_path / "clicks.csv"
    path.write_text("arm,reward\na,1.0\nb,\na,NA\na,true\n")
    assert np.array_equal(Log(path).reward, [1.0, np.nan, np.nan, 1.0], equal_nan=True)
    path.write_text("arm,reward\na,1.0\n,2.0\n")
    with pytest.raises(InvalidValueError, match="line 3, column 'arm': arm must not be missing, got ''"):
        Log(path)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("high", "line 6, column 'reward': reward must be a finite number, got 'high'"),
        ("3,5", "line 6 of log.csv must have 3 values, got 4"),
    ],
)
def test_errors_name_the_line_of_a_csv_file(
    newline: str, cell: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = f'arm,"two\nlines",reward\na,"two\nlines",1\nb,,0\na,"two\nlines",{cell}\nb,,{cell}\n'
    Path("log.csv").write_bytes(text.replace("\n", newline).encode())
    with pytest.raises(InvalidValueError) as caught:
        Log("log.csv")
    assert str(caught.value) == message


def test_a_csv_file_with_two_columns_of_one_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("arm,reward,reward\na,1,0\n")
    with pytest.raises(InvalidValueError, match="data must have each column once, got 'reward' twice or more"):
        Log(tmp_path / "log.csv")
    (tmp_path / "log.csv").write_text("arm,reward,,\na,1,,\n")  # columns without a name
    assert Log(tmp_path / "log.csv").reward.tolist() == [1.0]
