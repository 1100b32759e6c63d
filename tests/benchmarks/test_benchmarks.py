"""The benchmark measures what it says: peers make our choices, and the report says what was found."""

import json
from pathlib import Path

import pytest

import rotting
from benchmarks import __main__ as command
from benchmarks import drift, durable, limit, numpy_style, ours, packages, rows, scaling
from benchmarks.measure import TINY, Check, Contestant, Finding, Goal, Outcome, Race, Sample, UnavailableError
from benchmarks.report import markdown, write
from rotting.policy import Policy
from rotting.problems import Problem, ten_arms, two_arms
from tests.conftest import INTERPRETED
from tests.helpers import games
from tests.reference import full_scan

T = 150 if INTERPRETED else 1_500
POLICIES: list[Policy] = [rotting.RAWUCB(), rotting.EffRAWUCB(), rotting.FEWA(), rotting.EffFEWA()]
PROBLEMS = {"two": two_arms(horizon=T), "ten": ten_arms(horizon=T), "many": ours.many_arms(7)}


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_numpy_peers_choose_as_our_policies_do(policy: Policy, problem: Problem) -> None:
    table = ours.reward_table(problem, T).tolist()
    chosen = games.play(policy, table, T)
    peer = numpy_style.make(policy.name, problem.n_arms, policy.params.alpha)
    pulls = [0] * problem.n_arms
    for t, arm in enumerate(chosen, start=1):
        assert peer.choice() == arm, t
        peer.get_reward(arm, table[arm][pulls[arm]])
        pulls[arm] += 1
    assert numpy_style.play(numpy_style.make(policy.name, problem.n_arms, policy.params.alpha), table, T) == pulls


@pytest.mark.skipif(limit.compiler() is None, reason="no C compiler")
@pytest.mark.parametrize(
    ("loop", "policy"),
    [
        ("eff_raw_ucb_plain", rotting.EffRAWUCB()),
        ("eff_raw_ucb_lazy", rotting.EffRAWUCB()),
        ("raw_ucb_scan", rotting.RAWUCB()),
    ],
)
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_c_plays_our_games(loop: str, policy: Policy, problem: Problem) -> None:
    mine, theirs = ours.game(policy, problem, T, 3 * T)(), limit.game(loop, problem, T, 3 * T)()
    assert len(mine.pulls) == 3
    assert theirs.pulls == mine.pulls
    assert theirs.game == mine.game
    assert theirs.us > 1e-3  # no loop plays a round in a nanosecond: it was not timed
    assert limit.game(loop, problem, T, 4 * T, threads=2)().pulls[:3] == mine.pulls


def test_c_refuses_problems_it_cannot_play() -> None:
    with pytest.raises(TypeError, match="problem must have Gaussian noise"):
        limit.game("raw_ucb_scan", rotting.problems.stationary([0.5], rotting.Bernoulli()), 10, 10)
    with pytest.raises(ValueError, match="problem must have rested arms of at most two pieces"):
        limit.game("raw_ucb_scan", Problem.rested([[0.3, 0.2, 0.1]]), 3, 3)


def test_stretches_continue_the_game_and_scans_agree() -> None:
    whole, parts = (ours.Stretches(rotting.FEWA(), PROBLEMS["ten"], T) for _ in range(2))
    _, chosen = whole.play(T)
    _, head = parts.play(T // 2)
    twin = parts.copy()
    _, tail = parts.play(T)
    _, scanned = twin.play(T // 2 + 50, full_scan.fewa)
    assert head + tail == chosen
    assert scanned == tail[:50]
    assert whole.board.pulls.tolist() == list(ours.game(rotting.FEWA(), PROBLEMS["ten"], T, T)().pulls[0])


def test_means_do_not_drift() -> None:
    error, growth = drift.measure(TINY._replace(drift_rounds=T))
    assert error.value is not None
    assert error.value < 1e-15
    assert error.verdict == "met"
    assert growth.unit == "MiB"


def test_live_peers_are_raced_or_named_as_missing() -> None:
    sample = packages.live(packages.bandit(rotting.UCB1()), 3, 20)()
    assert sample.us > 0.0
    assert packages.live(packages.numpy_peer("fewa", 0.06, 1.0), 3, 20)().us > 0.0
    for make in (packages.river("UCB"), packages.pymab("UCBPolicy"), packages.mabwiser("UCB1")):
        try:
            assert packages.live(make, 3, 20)().us > 0.0
        except UnavailableError as why:
            assert "is not installed: pip install" in str(why)  # noqa: PT017 - either outcome is right


def _race(*goals: Goal) -> Outcome:
    def missing() -> Sample:
        raise UnavailableError("peer is not installed")

    times = iter([2.0, 30.0, 1.0, 20.0])

    def turn(pulls: tuple[int, ...]) -> Sample:
        return Sample(next(times), 0.0, "the game", (pulls,))

    players = {"ours": lambda: turn((1, 2)), "peer": lambda: turn((2, 1)), "absent": missing}
    return Race("row", "a row", lambda size: players, goals, ("a note",)).run(TINY._replace(repeats=2))


def test_a_race_keeps_the_best_turns_and_compares_pulls() -> None:
    outcome = _race(
        Goal("speed", "peer", "ours", "at least", 10.0, 30.0),
        Goal("cost", "ours", "peer", "at most", 0.01),
        Goal("unknown", "absent", "ours", "at least", 2.0),
    )
    mine, peer, absent = outcome.entries
    assert (mine.best, peer.best, absent.us) == (1.0, 20.0, [])
    assert (mine.same_pulls, peer.same_pulls) == ("", "0 of 1")
    assert absent.skipped == "peer is not installed"
    assert [(found.value, found.verdict) for found in outcome.findings] == [
        (20.0, "met"),
        (0.05, "MISSED"),
        (None, "not measured"),
    ]
    assert outcome.findings[0].detail == "turn by turn 15 to 20, median 17.5"


@pytest.mark.parametrize(("value", "verdict"), [(0.4, "aim met"), (0.5, "aim met"), (0.9, "met"), (1.1, "MISSED")])
def test_verdicts(value: float, verdict: str) -> None:
    assert Finding("x", value, "at most", 1.0, 0.5).verdict == verdict


def test_the_report_holds_the_ratios(tmp_path: Path) -> None:
    outcomes = [
        _race(Goal("speed", "peer", "ours", "at least", 10.0, 30.0)),
        Check("check", "a check", lambda size: [Finding("drift", 2e-17, "at most", 1e-9, None, "")]).run(TINY),
    ]
    where = {
        "processor": "a processor", "cpus": 2, "load": [1.0, 1.0, 1.0], "python": "3", "packages": {"river": None},
        "compiler": None, "commit": "abc",
    }  # fmt: skip
    plot = {"title": "A plot", "label": "x", "file": "x.png", "points": {"line": [(1, 0.5), (10, 0.25)]}, "ended": ["why"]}
    as_json, as_markdown = write(tmp_path, {"size": "tiny", "machine": where, "plots": [plot]}, outcomes)
    data, text = json.loads(as_json.read_text()), as_markdown.read_text()
    assert data["rows"][0]["entries"][1]["best_us"] == 20.0
    assert data["rows"][0]["findings"][0]["value"] == 20.0
    assert data["rows"][0]["findings"][0]["verdict"] == "met"
    assert "| speed | at least 10x (aim 30x) | 20x | met | turn by turn 15 to 20, median 17.5 |" in text
    assert "| drift | at most 1e-09 | 2e-17 | met |  |" in text
    assert "| peer | 20 | 20x | 2 turns, worst 30 | 0 of 1 |" in text
    assert "| absent | skipped: peer is not installed |" in text
    assert "river (not installed)" in text
    assert "| line | 0.5 | 0.25 |" in text
    assert text == markdown(data, outcomes)


def test_curves_end_where_the_next_point_would_take_too_long() -> None:
    def build(x: int) -> Contestant:
        return lambda: Sample(float(x), 1e-5 * x * x)

    plot = scaling.Plot("horizon", "x", "title", (10, 100, 1_000), (scaling.Curve("line", build, ours=True),))
    points, ended = scaling.measure(plot, TINY, lambda text: None)
    assert points == {"line": [(10, 10.0), (100, 100.0)]}
    assert ended == ["line ends at 100: its next point would take more than 0.2 s"]


def test_goals_name_contestants_of_their_rows() -> None:
    names = [row.name for row in rows.ROWS]
    assert len(set(names)) == len(names)
    for row in rows.ROWS:
        if isinstance(row, Race) and row.name not in {"arms", "fewa-scan", "raw-ucb-scan"}:  # those are slow to set up
            assert {name for goal in row.goals for name in (goal.over, goal.under)} <= set(row.contestants(TINY))


def test_the_command_runs_a_row_and_a_plot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--tiny", "--only", "eff-fewa", "--only", "plot-workers", "--out", str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"benchmark.json", "benchmark.md", "workers.png"}
    assert "equal pulls: 1 of 1" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        command.main(["--only", "nothing"])


def test_durable_events_are_timed() -> None:
    findings = durable.measure(TINY)
    assert [found.verdict == "not measured" for found in findings] == [False] * 3
    assert all(found.value is not None and found.value > 0 for found in findings)
