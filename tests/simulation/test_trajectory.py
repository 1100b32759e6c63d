"""What a run looks like: a frame, a picture, a line."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rotting
from rotting import errors
from rotting.problems import Abrupt, Problem
from rotting.simulation.trajectory import Trajectory

HORIZON = 60


def game(policy: rotting.Policy | None = None, arms: int = 2) -> Trajectory:
    problem = Problem.rested([Abrupt(0.9 - i / 20, 0.0, at=10) for i in range(arms)], rotting.Gaussian(0.2), HORIZON)
    return rotting.play(policy or rotting.RAWUCB(sigma=0.2), problem, run=1, seed=2)


def test_its_line_says_who_played_what() -> None:
    assert repr(game()) == "Trajectory(RAW-UCB 1.4, sigma=0.2 on rested problem, 2 arms, horizon=60, run=1, seed=2)"


def test_arrays_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        game().arm[0] = 1


def test_the_frame_has_every_number() -> None:
    played = game()
    frame = played.to_pandas()
    assert len(frame) == HORIZON
    assert list(frame["round"]) == list(range(1, HORIZON + 1))
    for name in ("arm", "reward", "mean", "best_mean", "regret"):
        np.testing.assert_array_equal(frame[name], getattr(played, name))
    for name, table in (("mean", played.means), ("index", played.index), ("window", played.window), ("width", played.width)):
        assert table is not None
        np.testing.assert_array_equal(frame[[f"{name}_0", f"{name}_1"]], table)
    assert list(game(rotting.Uniform()).to_pandas().columns)[-2:] == ["mean_0", "mean_1"]


@pytest.fixture(autouse=True)
def _headless(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("MPLBACKEND", "Agg")


def test_the_picture_shows_pulls_indices_and_means(tmp_path: Path) -> None:
    played = game()
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
    assert len(game(policy).plot(tmp_path / "run.svg").axes) == 2


def test_of_many_arms_those_pulled_most_are_drawn(tmp_path: Path) -> None:
    played = game(arms=12)
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
        game().plot(arms=arms)
    assert str(caught.value) == message


def test_the_shortest_game_is_shown() -> None:
    played = rotting.play(rotting.RAWUCB(), Problem.restless([0.5], horizon=1))
    assert len(played.plot().axes) == 2  # an arm that was never pulled has no index yet
    assert "arm 0" in played._repr_html_()
    assert len(played.to_pandas()) == 1


def test_a_notebook_shows_pulls_and_mean_rewards_of_the_arms() -> None:
    played = game()
    shown = played._repr_html_()
    for arm in range(2):
        rewards = played.reward[played.arm == arm]
        for number in (f"arm {arm}", f"{len(rewards)}", f"{rewards.mean():.4g}", f"{played.means[-1, arm]:.4g}"):
            assert f">{number}</td>" in shown


def test_a_notebook_shows_indices_as_the_picture_does_without_the_first_ones() -> None:
    played = rotting.play(rotting.RAWUCB(), rotting.problems.two_arms(horizon=200))
    assert played.index is not None
    axes = {ax.get_ylabel(): ax for ax in played.plot().axes}
    settled = axes["index"].get_ylim()[1]
    seen = np.where((played.index <= settled) & np.isfinite(played.index), played.index, -np.inf).max()
    assert np.isfinite(played.index).any()
    assert played.index[np.isfinite(played.index)].max() > settled
    assert f">{seen:.3g}</text>" in played._repr_html_()
