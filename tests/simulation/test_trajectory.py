"""One run, round by round: it is the run that `simulate` plays, and shown as a frame, a picture and a line."""

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import rotting
from rotting import errors
from rotting.kit import Kernel, Params, Policy, Reason
from rotting.problems import Abrupt, Exponential, Linear, Problem, Product, Rested, Restless
from rotting.problems.noise import Bernoulli, Beta, Binomial, Gaussian, Noise, Noiseless, Poisson
from rotting.simulation.trajectory import Trajectory
from tests.conftest import INTERPRETED
from tests.helpers.games import examples

HORIZON = 80 if INTERPRETED else 400
SEED, RUN = 5, 2

BOTH_CLOCKS = [
    Rested(Abrupt(0.8, 0.1, at=HORIZON // 5)),
    Restless(Linear(0.9, slope=-0.8 / HORIZON)),
    Product(Exponential(0.9, rate=2 / HORIZON), Exponential(0.9, rate=1 / HORIZON)),
]


def taking_any_reward(policy: Policy) -> Policy:
    return type(policy)(**{**policy.shown_params(), "outside": "clip"}) if policy.reward_range is not None else policy


def check_is_the_run_of_simulate(policy: Policy, problem: Problem) -> Trajectory:
    """The regret of every round and the pulls, bit for bit."""
    game = rotting.play(policy, problem, run=RUN, seed=SEED)
    result = rotting.simulate(policy, problem, runs=RUN + 1, seed=SEED, checkpoints=range(1, game.horizon))
    assert game.regret.tobytes() == result.regret[0, RUN].tobytes()
    np.testing.assert_array_equal(game.pulls, result.pulls[0, RUN])
    assert game.reference == result.reference
    return game


def check_is_what_simulate_records(policy: Policy, problem: Problem) -> None:
    """The arm and the reward of every round, too."""
    game = check_is_the_run_of_simulate(policy, problem)
    result = rotting.simulate(policy, problem, runs=RUN + 1, seed=SEED, record=("arms", "rewards"))
    assert result.arms is not None
    assert result.rewards is not None
    np.testing.assert_array_equal(game.arm, result.arms[0, RUN])
    assert game.reward.tobytes() == result.rewards[0, RUN].tobytes()


# A loop that records compiles as long as one that does not: of the compiled ones, an exact index, one that learns from its own
# probabilities, one that tests for changes, and an oracle stand for all.
COMPILED = {"eff-raw-ucb", "exp3", "cusum-ucb", "greedy-oracle"}
PLAYERS = [policy for policy in examples() if INTERPRETED or policy.name in COMPILED]


@pytest.mark.parametrize("policy", PLAYERS, ids=lambda policy: policy.name)
def test_every_policy_plays_the_run_of_simulate(policy: Policy) -> None:
    """Oracles too; explaining every arm in every round changes nothing."""
    check_is_the_run_of_simulate(taking_any_reward(policy), Problem(BOTH_CLOCKS, Gaussian(0.5), HORIZON))


NOISES = (Gaussian(0.3), Bernoulli(), Binomial(3), Beta(9.0), Poisson(), Noiseless())


@pytest.mark.parametrize("noise", NOISES if INTERPRETED else NOISES[:2], ids=repr)
def test_every_noise_pays_the_rewards_of_simulate(noise: Noise) -> None:
    check_is_what_simulate_records(rotting.UCB1(), Problem(BOTH_CLOCKS, noise, HORIZON))


@pytest.mark.parametrize("make", [Problem.rested, Problem.restless])
def test_a_clock_alone(make: Any) -> None:
    check_is_what_simulate_records(rotting.RAWUCB(), make([Abrupt(0.8, 0.1, at=30), 0.5], Gaussian(0.5), HORIZON))


def test_a_policy_that_starts_over_and_one_whose_state_is_enlarged() -> None:
    falling = Problem.rested([Linear(1.0, slope=-1.0), Linear(1.0, slope=-1.5)], Noiseless(), HORIZON)  # long hulls
    check_is_the_run_of_simulate(rotting.RAWUCB(), falling)
    check_is_the_run_of_simulate(rotting.doubling(rotting.SWUCB(horizon=20, breakpoints=1)), falling)


def test_the_largest_index_is_pulled() -> None:
    game = rotting.play(rotting.RAWUCB(), Problem(BOTH_CLOCKS, Gaussian(0.5), HORIZON))
    assert game.index is not None
    assert game.window is not None
    assert game.width is not None
    np.testing.assert_array_equal(game.arm, game.index.argmax(axis=1))
    pulls = np.array([(game.arm[:t] == 1).sum() for t in range(HORIZON)])
    assert (game.window[:, 1] <= pulls).all()
    known = pulls > 0
    t = np.arange(1, HORIZON + 1)
    expected = np.sqrt(2 * 1.4 * np.log(t[known]) / game.window[known, 1])
    np.testing.assert_allclose(game.width[known, 1], expected, rtol=1e-12)


def test_means_are_those_of_the_problem() -> None:
    problem = Problem(BOTH_CLOCKS, Gaussian(0.5), HORIZON)
    game = rotting.play(rotting.UCB1(), problem)
    for t in (1, 7, HORIZON // 2, HORIZON):
        pulls = np.bincount(game.arm[: t - 1], minlength=3)
        assert game.means[t - 1].tolist() == [problem.mean(i, t, int(pulls[i])) for i in range(3)]
        assert game.mean[t - 1] == problem.mean(int(game.arm[t - 1]), t, int(pulls[game.arm[t - 1]]))
        assert game.best_mean[t - 1] == game.means[t - 1].max()


def test_a_policy_that_explains_nothing_has_no_index() -> None:
    game = rotting.play(rotting.Uniform(), Problem(BOTH_CLOCKS, Gaussian(0.5), HORIZON))
    assert (game.index, game.window, game.width) == (None, None, None)
    assert game.means.shape == (HORIZON, 3)


def test_a_horizon_may_be_given() -> None:
    problem = Problem.rested([Abrupt(0.8, 0.1, at=30), 0.5])
    assert rotting.play(rotting.UCB1(), problem, horizon=25).horizon == 25
    with pytest.raises(errors.InvalidValueError, match="horizon must be given"):
        rotting.play(rotting.UCB1(), problem)


def test_runs_and_seeds_differ() -> None:
    problem = Problem(BOTH_CLOCKS, Gaussian(0.5), HORIZON)
    first, run, seed = (rotting.play(rotting.UCB1(), problem, **other) for other in ({}, {"run": 1}, {"seed": 1}))
    assert first.reward.tobytes() not in {run.reward.tobytes(), seed.reward.tobytes()}


class State(NamedTuple):
    asked: np.ndarray


def init(p: Params, n_arms: int, capacity: int) -> State:
    return State(np.zeros(n_arms, np.int64))


def choose(p: Params, s: State, t: int, key: int, arms: np.ndarray) -> int:
    return int(arms[s.asked[0] // arms.size % arms.size])


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    pass


def explain(p: Params, s: State, t: int, arms: np.ndarray, arm: int) -> Reason:
    s.asked[0] += 1
    return Reason(float(s.asked[0]), 0.0, 0, 0.0)


class ChangesItsMind(Policy):
    name = "changes-its-mind"
    kernel = Kernel(init, choose, update, explain)


def shift(p: Params, s: State, t: int, key: int, arms: np.ndarray) -> int:
    return int(arms[(t + min(s.asked[0], 1)) % arms.size])


class ShiftsItsTurns(Policy):
    """Pulls the arms in turn, beginning with another one once it was asked."""

    name = "shifts-its-turns"
    kernel = Kernel(init, shift, update, explain)


def see(p: Params, s: State, t: int, arms: np.ndarray, arm: int) -> Reason:
    return Reason(float(arm), 0.0, 0, 0.0)


class TellsOnly(Policy):
    name = "tells-only"
    kernel = Kernel(init, shift, update, see)


def test_a_policy_of_others_that_explains_itself_is_played() -> None:
    game = rotting.play(TellsOnly(), Problem.rested([0.5, 0.4], horizon=4))
    assert game.arm.tolist() == [1, 0, 1, 0]
    assert game.index is not None
    assert game.index[:, 1].tolist() == [1.0] * 4


@pytest.mark.parametrize(
    ("policy", "means"),
    [(ChangesItsMind(), [0.5, 0.5]), (ShiftsItsTurns(), [0.5, 0.4])],
    ids=["other pulls of the same regret", "the same pulls in another order"],
)
def test_another_game_is_found_by_its_pulls_and_by_its_regret(policy: Policy, means: list[float]) -> None:
    for horizon in (20, 21):
        with pytest.raises(
            errors.KernelError, match=rf"^{type(policy).__name__}\(\): explain must change nothing that a choice "
        ):
            rotting.play(policy, Problem.rested(means, horizon=horizon))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"run": -1}, "run must be the number of a run, from 0 to 2^32 - 1, got -1"),
        ({"run": 2**32}, "run must be the number of a run, from 0 to 2^32 - 1, got 4294967296"),
        ({"seed": -1}, "seed must be a whole number, 0 or more, got -1"),
        ({"policy": "raw-ucb"}, "policy must be a policy such as RAWUCB(alpha=1.4), got 'raw-ucb'"),
        ({"problem": 3}, "problem must be a Problem such as Problem.rested(means), got int"),
        ({"horizon": 10**9}, "record must fit in 8 GiB, got 1,000,000,000 rounds of 2 arms, which take 68 GiB"),
    ],
)
def test_bad_input_is_refused(changes: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"policy": rotting.UCB1(), "problem": Problem.rested([0.5, 0.4]), "horizon": 10, **changes}
    with pytest.raises(errors.RottingError) as caught:
        rotting.play(**arguments)
    assert str(caught.value) == message


SHOWN = 60  # rounds of a run that is shown


def shown_game(policy: rotting.Policy | None = None, arms: int = 2) -> Trajectory:
    problem = Problem.rested([Abrupt(0.9 - i / 20, 0.0, at=10) for i in range(arms)], rotting.Gaussian(0.2), SHOWN)
    return rotting.play(policy or rotting.RAWUCB(sigma=0.2), problem, run=1, seed=2)


def test_its_line_says_who_played_what() -> None:
    assert repr(shown_game()) == "Trajectory(RAW-UCB 1.4, sigma=0.2 on rested problem, 2 arms, horizon=60, run=1, seed=2)"


def test_arrays_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        shown_game().arm[0] = 1


def test_the_frame_has_every_number() -> None:
    played = shown_game()
    frame = played.to_pandas()
    assert len(frame) == SHOWN
    assert list(frame["round"]) == list(range(1, SHOWN + 1))
    for name in ("arm", "reward", "mean", "best_mean", "regret"):
        np.testing.assert_array_equal(frame[name], getattr(played, name))
    for name, table in (("mean", played.means), ("index", played.index), ("window", played.window), ("width", played.width)):
        assert table is not None
        np.testing.assert_array_equal(frame[[f"{name}_0", f"{name}_1"]], table)
    assert list(shown_game(rotting.Uniform()).to_pandas().columns)[-2:] == ["mean_0", "mean_1"]


@pytest.fixture(autouse=True)
def _headless(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("MPLBACKEND", "Agg")


def test_the_picture_shows_pulls_indices_and_means(tmp_path: Path) -> None:
    played = shown_game()
    pulls, index, means = played.plot(tmp_path / "run.png").axes
    assert [ax.get_ylabel() for ax in (pulls, index, means)] == ["pulls so far", "index", "mean"]
    last = [line.get_ydata()[-1] for line in pulls.get_lines()]  # type: ignore[index]
    assert last == played.pulls.tolist()
    np.testing.assert_array_equal(means.get_lines()[1].get_ydata(), played.means[:, 1])
    assert played.index is not None
    np.testing.assert_array_equal(np.asarray(index.get_lines()[0].get_ydata())[1:], played.index[1:, 0])
    assert (tmp_path / "run.png").stat().st_size > 1_000
    with pytest.raises(FileExistsError, match="exists"):
        played.plot(tmp_path / "run.png")


@pytest.mark.parametrize("policy", [rotting.Uniform(), rotting.FEWA(sigma=0.2)])
def test_a_policy_without_an_index_has_two_panels(policy: rotting.Policy, tmp_path: Path) -> None:
    assert len(shown_game(policy).plot(tmp_path / "run.svg").axes) == 2


def test_of_many_arms_those_pulled_most_are_drawn(tmp_path: Path) -> None:
    played = shown_game(arms=12)
    picture = played.plot(tmp_path / "run.png")
    drawn = [int(str(line.get_label()).split()[1]) for line in picture.axes[0].get_lines()]
    assert len(drawn) == 8
    assert played.pulls[drawn].min() >= np.delete(played.pulls, drawn).max()
    assert "8 of 12 arms" in picture.texts[1].get_text()
    chosen = played.plot(tmp_path / "two.png", arms=[11, 3], title="Mine")
    assert [str(line.get_label()) for line in chosen.axes[0].get_lines()] == ["arm 11", "arm 3"]
    assert chosen.texts[0].get_text() == "Mine"


@pytest.mark.parametrize(
    ("arms", "message"),
    [
        ([2], "arms must be below 2, the number of arms, got 2"),
        ([], "arms must hold at least one arm, got none"),
        ("01", "arms must be a list of arms, got '01'"),
        ([-1], "arms must be a whole number, 0 or more, got -1"),
    ],
)
def test_arms_that_are_not_there_are_refused(arms: Any, message: str) -> None:
    with pytest.raises(errors.RottingError) as caught:
        shown_game().plot(arms=arms)
    assert str(caught.value) == message


def test_the_shortest_game_is_shown() -> None:
    played = rotting.play(rotting.RAWUCB(), Problem.restless([0.5], horizon=1))
    assert len(played.plot().axes) == 2  # an arm that was never pulled has no index yet
    assert "arm 0" in played._repr_html_()
    assert len(played.to_pandas()) == 1


def test_a_notebook_shows_pulls_and_mean_rewards_of_the_arms() -> None:
    played = shown_game()
    shown = played._repr_html_()
    for arm in range(2):
        rewards = played.reward[played.arm == arm]
        for number in (f"arm {arm}", f"{len(rewards)}", f"{rewards.mean():.4g}", f"{played.means[-1, arm]:.4g}"):
            assert f">{number}</td>" in shown


def test_a_picture_has_labels_colours_and_an_order_of_ones_own() -> None:
    played = shown_game()
    for ax in played.plot(arms=[1, 0], labels=["jazz", "rock"], colors={"rock": "red"}).axes:
        lines = ax.get_lines()
        assert [line.get_label() for line in lines] == ["jazz", "rock"]
        assert lines[1].get_color() == "red"
    for labels in (["jazz"], ["jazz", "jazz"], "ab"):
        with pytest.raises(ValueError, match="^labels must be one text for each of 2 arms, got"):
            played.plot(arms=[1, 0], labels=labels)


def test_a_notebook_shows_indices_as_the_picture_does_without_the_first_ones() -> None:
    played = rotting.play(rotting.RAWUCB(), rotting.problems.two_arms(horizon=200))
    assert played.index is not None
    axes = {ax.get_ylabel(): ax for ax in played.plot().axes}
    settled = axes["index"].get_ylim()[1]
    seen = np.where((played.index <= settled) & np.isfinite(played.index), played.index, -np.inf).max()
    assert np.isfinite(played.index).any()
    assert played.index[np.isfinite(played.index)].max() > settled
    written = re.findall(r">([^<>]*)</text>", played._repr_html_())
    above = written[written.index("pulls so far") + 2 :]  # the numbers of the index's axis, then those of the rounds
    assert seen / 2 < float(above[above.index("0", 1) - 1]) < played.index[np.isfinite(played.index)].max()
