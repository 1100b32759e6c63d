"""The benchmark measures what it says: peers make our choices, and the report says what was found."""

import json
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import rotting
from benchmarks import __main__ as command
from benchmarks import before, decisions, drift, durable, limit, numpy_style, ours, packages, resources, rows, samples, scaling
from benchmarks.measure import TINY, Check, Contestant, Finding, Goal, Outcome, Race, Sample, UnavailableError
from benchmarks.report import markdown, write
from rotting.live import policy_state as states
from rotting.parts.hull import pulls
from rotting.parts.prefix_blocks import new_prefix_sums
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
    complete, parts = (ours.Stretches(rotting.FEWA(), PROBLEMS["ten"], T) for _ in range(2))
    _, chosen = complete.play(T)
    _, head = parts.play(T // 2)
    twin = parts.copy()
    _, tail = parts.play(T)
    _, scanned = twin.play(T // 2 + 50, full_scan.fewa)
    assert head + tail == chosen
    assert scanned == tail[:50]
    assert complete.board.pulls.tolist() == list(ours.game(rotting.FEWA(), PROBLEMS["ten"], T, T)().pulls[0])


def test_stretches_make_room_as_games_do() -> None:
    problem = ours.many_arms(40)
    parts = ours.Stretches(rotting.RAWUCB(), problem, 1)  # room for little
    parts.capacity = 16 * 30
    parts.state = states.new_state(parts.policy, 40, parts.capacity)
    chosen = [arm for until in (25, 45, T) for arm in parts.play(until)[1]]
    assert parts.capacity > 16 * 30
    assert chosen == ours.Stretches(rotting.RAWUCB(), problem, T).play(T)[1]
    assert parts.board.pulls.tolist() == list(ours.game(rotting.RAWUCB(), problem, T, T)().pulls[0])


@pytest.mark.parametrize(
    "policies",
    [(rotting.RAWKLUCB(), before.RAWKLUCBScan()), (rotting.RAWUCB(), full_scan.RAWUCBByBlocks())],
    ids=["raw-kl-ucb", "raw-ucb"],
)
def test_what_the_hulls_replaced_plays_the_same_games(policies: tuple[Policy, Policy]) -> None:
    now, then = policies
    problem = rotting.problems.stationary([0.9, 0.5, 0.4], rotting.Bernoulli())
    mine, theirs = ours.game(now, problem, T, 2 * T)(), ours.game(then, problem, T, 2 * T, now.name)()
    assert theirs.game == mine.game
    assert theirs.pulls == mine.pulls


def test_the_glr_test_of_before_raises_the_same_alarms() -> None:
    """Samples that jump every fiftieth: how many are left after each tells when they were forgotten."""
    policy = rotting.GLRUCB.from_horizon(1_000)
    state, history = states.new_state(policy, 1, 100), new_prefix_sums(1, 300)
    rewards = np.random.default_rng(0).standard_normal(300) + 3.0 * (np.arange(300) // 50 % 2)
    left = []
    for t, reward in enumerate(rewards.tolist(), start=1):
        policy.kernel.update(policy.params, state, t, 0, reward)
        before.glr_update(policy.params, history, t, 0, reward)
        left.append(pulls(state.upper, 0))
        assert history.pulls[0] == left[-1]
    assert left.count(0) >= 3


def test_one_more_sample_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "_COPIES", 1)
    monkeypatch.setattr(samples, "_TIMED", 5)
    for after in (samples.on_hulls, samples.on_blocks):
        assert after(50)().us > 1e-3  # nothing records a sample in a nanosecond: it was not timed
    monkeypatch.setattr(np.random, "default_rng", lambda seed: SimpleNamespace(standard_normal=_jumping))
    for after in (samples.on_hulls, samples.on_blocks):
        with pytest.raises(RuntimeError, match="an alarm was raised, or room was missing: fewer than 55 samples are there"):
            after(50)()


def _jumping(shape: tuple[int, int]) -> np.ndarray:
    return np.tile(10.0 * (np.arange(shape[1]) >= 25), (shape[0], 1))


def _takes_much() -> None:
    held = np.ones(20_000_000)
    time.sleep(0.05)
    del held


def test_the_peak_of_a_call_is_seen() -> None:
    assert resources._peak(_takes_much) > 1e8


def test_saved_states_are_those_of_live_games() -> None:
    bandit = rotting.Bandit(rotting.RAWUCB(), range(2))
    resources._play(bandit, resources._abrupt(2), 60)
    assert bandit.rounds == 60
    assert resources.saved(2, 60)["abrupt"] == len(json.dumps(bandit.get_state()))


def test_each_call_of_a_live_game_is_timed() -> None:
    found = resources.stalls(40, 300, 2)
    for call in ("pull", "update"):
        assert 0 < found[call]["median"] <= found[call]["worst"]
        assert 1 <= found[call]["round"] <= 300


def test_resources_are_measured_in_processes_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    requested = []
    stall = {"median": 2_000.0, "worst": 300_000, "round": 7}

    def answer(what: str, *arguments: object, **environment: str) -> object:
        requested.append((what, *arguments))
        answers = {
            "simulated": 3_000_000,
            "live": 60_000_000,
            "saved": {"abrupt": 20_000, "falling": 400_000},
            "stalls": {"enlarged": 2, "pull": {**stall, "worst": 4_000}, "update": stall},
            "compiling": 9.0,
        }
        return answers[what]

    monkeypatch.setattr(resources, "_in_new_process", answer)
    verdicts = [found.verdict for found in (*resources.memory(TINY), *resources.growth(TINY), *resources.cold(TINY))]
    assert verdicts == ["met", "MISSED", "met", "met", "MISSED", "met", "MISSED", "met"]
    assert ("live", 1_000, TINY.live_rounds) in requested
    assert ("compiling", "RAWUCB") in requested


def test_a_new_process_answers() -> None:
    assert resources._in_new_process("saved", 2, 20) == resources.saved(2, 20)


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
    assert "| what | measured |\n| --- | --- |\n| drift | 2e-17 |" in text  # where nobody is raced
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
    assert len(findings) == 7
    assert all(found.verdict != "not measured" for found in findings)
    assert all(found.value is not None and found.value > 0 for found in findings)


def test_decisions_are_timed() -> None:
    findings = [*decisions.many_arms(TINY), *decisions.snapshots(TINY), *decisions.stored_snapshots(TINY)]
    assert all(found.value is not None and found.value > 0 for found in findings)
    assert [found.unit for found in findings] == ["s", "us", "x", "x", "x", "x"]


def test_a_bare_bandit_chooses_as_ours_does() -> None:
    policy = rotting.EffRAWUCB(sigma=0.5)
    table, chosen = packages.coins(3, 300), []
    for make in (decisions.bare(policy), decisions.deciding(policy), packages.bandit(policy)):
        pull, update = make(3)
        arms = []
        for t in range(300):
            arms.append(pull())
            update(arms[-1], table[arms[-1]][t])
        chosen.append(arms)
    assert chosen[0] == chosen[1] == chosen[2]
