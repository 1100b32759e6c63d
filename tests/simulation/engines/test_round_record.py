"""What is recorded of every round: for any number of threads, kept on disk, and never too much."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rotting
from rotting import errors
from rotting.problems import Abrupt, Problem
from rotting.simulation.engines.extensions import arm_type

BOTH = ("arms", "rewards")
POLICIES = [rotting.UCB1(), rotting.Uniform()]
PROBLEM = Problem.rested([Abrupt(0.9, 0.1, at=10), 0.5, 0.4], rotting.Gaussian(0.5), horizon=50)


def simulate(**changes: Any) -> rotting.Result:
    return rotting.simulate(POLICIES, PROBLEM, **{"runs": 40, "seed": 3, "record": BOTH, "checkpoints": [20], **changes})


def test_any_number_of_threads_records_the_same_bits() -> None:
    one, three = simulate(workers=1), simulate(workers=3)
    assert one == three
    assert one.arms is not None
    assert one.rewards is not None
    assert one.arms.dtype == np.uint8
    assert one.arms.shape == one.rewards.shape == (2, 40, 50)
    for p in range(2):
        for r in range(40):
            np.testing.assert_array_equal(np.bincount(one.arms[p, r], minlength=3), one.pulls[p, r])


def test_recording_changes_no_other_number() -> None:
    recorded, plain = simulate(), simulate(record=())
    assert plain.arms is None
    assert plain.rewards is None
    assert recorded.regret.tobytes() == plain.regret.tobytes()
    assert recorded.pulls.tobytes() == plain.pulls.tobytes()
    assert recorded != plain


@pytest.mark.parametrize("name", BOTH)
def test_one_of_them_alone(name: str) -> None:
    result, both = simulate(record=name), simulate()
    (other,) = {*BOTH} - {name}
    assert getattr(result, other) is None
    assert getattr(result, name).tobytes() == getattr(both, name).tobytes()


def test_a_run_pays_the_same_to_every_policy() -> None:
    """The first pull of an arm, whoever pulls it."""
    result = simulate()
    assert result.arms is not None
    assert result.rewards is not None
    for r in range(40):
        for arm in range(3):
            first = [int(np.argmax(result.arms[p, r] == arm)) for p in range(2)]
            assert result.rewards[0, r, first[0]] == result.rewards[1, r, first[1]]


def test_records_are_saved_and_loaded(tmp_path: Path) -> None:
    for k, record in enumerate((BOTH, "arms", "rewards", ())):
        result = simulate(record=record)
        result.save(tmp_path / str(k))
        back = rotting.Result.load(tmp_path / str(k))
        assert back == result
        assert (back.arms is None, back.rewards is None) == (result.arms is None, result.rewards is None)


def test_records_are_kept_with_finished_games(tmp_path: Path) -> None:
    first = simulate(runs=25, keep=tmp_path)
    files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.chunk")}
    again = simulate(runs=25, keep=tmp_path)
    assert again == first
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.chunk")} == files
    assert simulate(keep=tmp_path) == simulate()
    plain = simulate(record=(), keep=tmp_path)  # what was recorded is not taken for what was not
    assert plain.arms is None
    assert simulate(record="arms", keep=tmp_path) == simulate(record="arms")


def test_the_arrays_of_a_result_are_checked() -> None:
    import dataclasses

    result = simulate()
    assert result.arms is not None
    with pytest.raises(errors.InvalidValueError, match=r"arms must have the shape \[policies, runs, horizon\]"):
        dataclasses.replace(result, arms=result.arms[:, :, 1:])
    with pytest.raises(errors.InvalidValueError, match="arms must be below 3, the number of arms, got 7"):
        dataclasses.replace(result, arms=np.full_like(result.arms, 7))
    with pytest.raises(errors.InvalidTypeError, match="arms must be an array of uint8, got one of int64"):
        dataclasses.replace(result, arms=result.arms.astype(np.int64))
    mine = result.arms.copy()
    held = dataclasses.replace(result, arms=mine)
    mine[:] = 0
    assert held == result


@pytest.mark.parametrize(("n_arms", "kind"), [(1, np.uint8), (256, np.uint8), (257, np.uint16), (65_537, np.uint32)])
def test_arms_take_little_room(n_arms: int, kind: Any) -> None:
    assert arm_type(n_arms) == kind


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"record": "arm"}, "record must be 'arms' or 'rewards', or both, got 'arm'; did you mean 'arms'?"),
        ({"record": 3}, "record must be 'arms' or 'rewards', or both, got 3"),
        ({"runs": 10**8}, "record must fit in 8 GiB, got 200,000,000 runs of 50 rounds, which take 83.8 GiB"),
    ],
)
def test_bad_records_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.InvalidValueError) as caught:
        simulate(**changes)
    assert str(caught.value) == message
