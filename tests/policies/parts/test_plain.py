"""Plain classes play the same games as the library's policies, and say what is wrong with them."""

import functools
import math
import pickle
import random
import threading
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import matplotlib.pyplot as plt
import numpy as np
import pytest

import rotting
from rotting.errors import InvalidTypeError, InvalidValueError, KernelError, KernelIndexError, RepeatWarning
from rotting.kit import log
from rotting.policies.parts.plain import as_policy
from rotting.problems import Problem, Rested
from rotting.problems.arms import Visiting
from rotting.problems.delays import GeometricDelay
from rotting.problems.families import RandomBreakpoints
from rotting.simulation.engines.chunk_store import ChunkStore

if TYPE_CHECKING:
    from rotting.simulation.plan import Competitor

HORIZON, RUNS = 60, 4
TWO = rotting.problems.two_arms(L=1.0, horizon=HORIZON)
VISITORS = Problem(
    [Visiting(Rested(0.5), last=40), Rested(rotting.problems.Linear(0.9, -0.02)), Rested(0.4), Visiting(Rested(0.8), 20)],
    rotting.Gaussian(0.3),
    HORIZON,
)


class PlainUCB1:
    """UCB1, as somebody would write it."""

    def __init__(self, n_arms: int, sigma: float = 1.0) -> None:
        self.sigma = sigma
        self.rewards: list[list[float]] = [[] for _ in range(n_arms)]
        self.round = 0

    def pull(self) -> int:
        return self.best(range(len(self.rewards)))

    def best(self, arms: Iterable[int]) -> int:
        self.round += 1
        return max(arms, key=lambda i: (self.index(i), -i))

    def index(self, i: int) -> float:
        seen = self.rewards[i]
        if not seen:
            return math.inf
        return math.fsum(seen) / len(seen) + self.sigma * math.sqrt(2.0 * log(float(self.round)) / len(seen))

    def update(self, arm: int, reward: float) -> None:
        self.rewards[arm].append(reward)


class PlainRAWUCB(PlainUCB1):
    """RAW-UCB, which computes every window again."""

    def index(self, i: int) -> float:
        seen, c = self.rewards[i], 2.0 * 1.4 * log(float(self.round))
        if not seen:
            return math.inf
        return min(math.fsum(seen[-h:]) / h + self.sigma * math.sqrt(c / h) for h in range(1, len(seen) + 1))


class Selecting:
    """The other verb, which asks for the arms."""

    def __init__(self, n_arms: int) -> None:
        self.inner = PlainUCB1(n_arms, 0.5)

    def select(self, arms: list[int]) -> int:
        return self.inner.best(arms)

    def update(self, arm: int, reward: float) -> None:
        self.inner.update(arm, reward)


class Drawing:
    """A policy that draws from the seed of its run."""

    def __init__(self, n_arms: int, seed: int = 0) -> None:
        self.n_arms, self.random = n_arms, random.Random(seed)

    def pull(self) -> int:
        return self.random.randrange(self.n_arms)

    def update(self, arm: int, reward: float) -> None:
        pass


def equal_regret(result: rotting.Result, one: int, two: int) -> bool:
    return bool(np.array_equal(result.regret[one], result.regret[two]) and np.array_equal(result.pulls[one], result.pulls[two]))


RAW = rotting.RAWUCB(sigma=0.5)
PROBLEMS = {
    "two arms": TWO,
    "late rewards": TWO.delayed(GeometricDelay(3, lost=0.1)),
    "a family": RandomBreakpoints(n_arms=3, horizon=HORIZON, noise=rotting.Gaussian(0.5)),
}


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_plain_classes_equal_the_policies_of_the_library(problem: Any) -> None:
    raw = functools.partial(PlainRAWUCB, sigma=0.5)
    players: list[Competitor] = [rotting.UCB1(sigma=1.0), PlainUCB1, RAW, raw]
    result = rotting.simulate(players, problem, runs=RUNS, seed=3, record=("arms", "rewards"))
    assert equal_regret(result, 0, 1)
    assert equal_regret(result, 2, 3)
    assert result == rotting.simulate(players, problem, runs=RUNS, seed=3, record=("arms", "rewards"))
    assert result.arms is not None
    assert np.array_equal(result.arms[0], result.arms[1])
    assert result.rewards is not None
    assert np.array_equal(result.rewards[2], result.rewards[3])


def test_a_plain_class_is_told_which_arms_are_present() -> None:
    result = rotting.simulate([rotting.UCB1(sigma=0.5), Selecting], VISITORS, runs=RUNS)
    assert equal_regret(result, 0, 1)
    with pytest.raises(
        KernelIndexError, match=r"PlainUCB1.pull must return an arm that is present, one of \[0, 1, 2\], got 3, in"
    ):
        rotting.simulate(PlainUCB1, VISITORS, runs=RUNS)


def test_a_class_a_function_and_an_object_play_alike_and_no_run_sees_another() -> None:
    own = PlainUCB1(2, sigma=0.5)
    given: list[Competitor] = [functools.partial(PlainUCB1, sigma=0.5), lambda K: PlainUCB1(K, 0.5), own]
    result = rotting.simulate(given, TWO, runs=RUNS, workers=2)
    assert equal_regret(result, 0, 1)
    assert equal_regret(result, 0, 2)
    assert own.rewards == [[], []]
    assert result.labels == ("PlainUCB1, sigma=0.5", "PlainUCB1, sigma=0.5 (2)", "PlainUCB1, sigma=0.5 (3)")


def test_shards_are_merged_and_any_number_of_workers_gives_the_same_result(tmp_path: Path) -> None:
    players: list[Competitor] = [rotting.UCB1(sigma=1.0), Drawing, PlainUCB1]
    whole = rotting.simulate(players, TWO, runs=6, seed=1, workers=1)
    shards = [rotting.simulate(players, TWO, runs=3, seed=1, first_run=first, workers=3) for first in (0, 3)]
    assert shards[0].merge(shards[1]) == whole
    assert len({tuple(each) for each in whole.pulls[1].tolist()}) > 1  # another seed in each run
    whole.save(tmp_path / "result")
    read = rotting.Result.load(tmp_path / "result")
    assert read == whole == pickle.loads(pickle.dumps(whole))
    assert read.labels == whole.labels
    with pytest.raises(KernelError, match="must be passed as a class to be played, got one that was loaded"):
        rotting.simulate(read.policies, TWO, runs=1)


def test_the_table_says_what_is_plain() -> None:
    result = rotting.simulate([rotting.UCB1(sigma=1.0), PlainUCB1], TWO, runs=2)
    assert "Plain Python, which is slow and neither timed nor kept: PlainUCB1." in str(result.table())
    assert np.isnan(result.us_per_round[1])
    assert "Plain" not in str(result.select("UCB1").table())


def test_only_games_of_other_policies_are_kept(tmp_path: Path) -> None:
    first = rotting.simulate([rotting.UCB1(sigma=1.0), PlainUCB1], TWO, runs=2, keep=tmp_path)
    store = ChunkStore(tmp_path)
    assert rotting.simulate_all([rotting.Simulation([rotting.UCB1(sigma=1.0), PlainUCB1], TWO, runs=2)], keep=store) == [first]
    assert store.reused == 2


def test_settings_vary_in_a_study() -> None:
    players = rotting.grid(PlainUCB1, n_arms=2, sigma=[0.5, 1.0])
    study = rotting.sweep(players, rotting.grid(rotting.problems.two_arms, L=[0.1, 1.0], horizon=HORIZON), runs=2)
    assert study.varying == ("L", "PlainUCB1.sigma")
    assert study.plot(x="PlainUCB1.sigma").axes[0].get_xlabel() == "PlainUCB1.sigma"
    plt.close("all")


def test_one_run_is_that_of_the_simulation() -> None:
    game = rotting.play(PlainUCB1, TWO, run=2, seed=3)
    result = rotting.simulate(PlainUCB1, TWO, runs=3, seed=3, record="arms")
    assert result.arms is not None
    assert np.array_equal(game.arm, result.arms[0, 2])
    assert game.index is None
    assert rotting.play(rotting.tuned(lambda T: PlainUCB1), TWO, run=2, seed=3).regret[-1] == result.regret[0, 2, -1]


def test_a_sweep_plays_plain_classes_on_problems_of_any_number_of_arms() -> None:
    problems = [Problem.rested([0.5] * K, rotting.Gaussian(), HORIZON) for K in (2, 5)]
    study = rotting.sweep([PlainUCB1, rotting.UCB1(sigma=1.0)], problems, runs=2)
    assert [each.policies[0].label for each in study.results] == ["PlainUCB1, sigma=1"] * 2
    assert "neither timed nor kept: PlainUCB1" in str(study.table())


class Faulty(PlainUCB1):
    """Fails in the seventh round."""

    def update(self, arm: int, reward: float) -> None:
        super().update(arm, reward)
        if self.round == 7:
            raise RuntimeError("no more")


class TooFar(PlainUCB1):
    """Returns an arm that does not exist."""

    def pull(self) -> int:
        return 2 if self.round == 3 else super().pull()


class NoNumber(PlainUCB1):
    """Returns nothing."""

    def pull(self) -> int:
        return None  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("player", "kind", "message"),
    [
        (Faulty, KernelError, "Faulty.update raised RuntimeError, no more, in round 7 of run 2"),
        (TooFar, KernelIndexError, "TooFar.pull must return an arm from 0 to 1, got 2, in round 4 of run 2"),
        (NoNumber, KernelError, "NoNumber.pull must return the number of an arm, got None, in round 1 of run 2"),
        (dict.fromkeys, KernelError, r"fromkeys\(2\) raised TypeError, 'int' object is not iterable"),
        (PlainUCB1.index, KernelError, r"index\(2\) raised TypeError, PlainUCB1.index\(\) missing 1 required .*"),
        (list, KernelError, r"list\(2\) raised TypeError, 'int' object is not iterable"),
        (bytearray, KernelError, r"bytearray\(2\) must have pull\(\) or select\(\), got bytearray, which has none"),
        (
            3,
            InvalidTypeError,
            r"policies must be policies such as RAWUCB\(alpha=1.4\), got 3, which has no pull\(\) and update",
        ),
        (rotting.UCB1, InvalidTypeError, r"policies must be policies such as RAWUCB\(alpha=1.4\), got <class"),
    ],
)
def test_errors_name_the_class_the_call_the_round_and_the_run(player: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=f"^{message}") as caught:
        rotting.simulate([player], TWO, runs=2, first_run=2)
    assert player is not Faulty or isinstance(caught.value.__cause__, RuntimeError)


class Locked(PlainUCB1):
    """Has a lock, which cannot be copied."""

    def __init__(self, n_arms: int) -> None:
        super().__init__(n_arms)
        self.lock = threading.Lock()


def test_an_object_without_update_or_that_cannot_be_copied_is_refused() -> None:
    class Half:
        def __init__(self, n_arms: int) -> None: ...

        def pull(self) -> int:
            return 0

    with pytest.raises(KernelError, match=r"Half\(2\) must have update\(arm, reward\), got Half, which has none"):
        rotting.simulate(Half, TWO, runs=1)
    with pytest.raises(
        KernelError, match=r"must be an object that copy.deepcopy copies, but this raised TypeError, cannot pickle"
    ):
        rotting.simulate(Locked(2), TWO, runs=1)


def test_a_bandit_plays_as_its_policy() -> None:
    result = rotting.simulate([RAW, lambda K: rotting.Bandit(RAW, arms=range(K), compile="never")], TWO, runs=2)
    assert equal_regret(result, 0, 1)


class Sharing(PlainUCB1):
    """Keeps its rewards in the class, for all runs."""

    kept: ClassVar[list[list[float]]] = [[], []]

    def __init__(self, n_arms: int) -> None:
        super().__init__(n_arms)
        self.rewards = self.kept


def test_a_class_that_keeps_something_between_runs_or_draws_on_its_own_is_named() -> None:
    shared = PlainUCB1(2)
    for player in (Sharing, lambda K: shared, lambda K: Drawing(K, random.randrange(10**6))):
        with pytest.warns(RepeatWarning, match=r"does not play run 0 again as before: it must keep nothing"):
            rotting.simulate(player, TWO, runs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rotting.simulate([Drawing, PlainUCB1], TWO, runs=1)


def test_other_engines_are_refused_before_they_start() -> None:
    for engine in ("cuda", "dask"):
        with pytest.raises(
            InvalidValueError, match=f"engine must be 'threads' for a plain class, got '{engine}' for PlainUCB1"
        ):
            rotting.simulate([rotting.UCB1(sigma=1.0), PlainUCB1], TWO, runs=1, engine=engine)
    result = rotting.simulate(PlainUCB1, TWO, runs=1, engine="auto", compile="now")
    assert result == rotting.simulate(PlainUCB1, TWO, runs=1)


def test_policies_are_told_apart_by_their_settings_and_their_source() -> None:
    one, two, other = as_policy(PlainUCB1, 2), as_policy(lambda K: PlainUCB1(K, 0.5), 5), as_policy(PlainRAWUCB, 2)
    assert (repr(one), repr(two)) == ("PlainUCB1(sigma=1.0)", "PlainUCB1(sigma=0.5)")
    assert one == as_policy(PlainUCB1, 3)
    assert as_policy(PlainUCB1(3), 3) == as_policy(PlainUCB1(3), 3)
    assert hash(one) == hash(as_policy(PlainUCB1, 3)) == hash(as_policy(PlainUCB1(3), 3))
    assert len({one, two, other}) == 3
    assert rotting.registry.from_json(two.to_json()) == two


class Private:
    """Its settings are kept under other names."""

    def __init__(self, n_arms: int, arm: int = 0) -> None:
        self._arm = arm

    def pull(self) -> int:
        return self._arm

    def update(self, arm: int, reward: float) -> None:
        pass


@pytest.mark.parametrize(
    "make",
    [lambda arm: functools.partial(Private, arm=arm), lambda arm: lambda K: Private(K, arm), lambda arm: Private(2, arm)],
    ids=["partial", "function", "object"],
)
def test_players_with_settings_that_nobody_knows_are_told_apart(make: Any, tmp_path: Path) -> None:
    first, second = make(0), make(1)
    result = rotting.simulate([first, second], TWO, runs=RUNS)
    assert not np.array_equal(result.pulls[0], result.pulls[1])
    assert rotting.simulate(first, TWO, runs=RUNS, reference=second).regret.any()
    result.save(tmp_path / "result")
    for each in (result, rotting.Result.load(tmp_path / "result")):
        assert each.select(each.policies[1]).pulls.tolist() == result.pulls[1:].tolist()


def test_tuned_functions_that_are_made_anew_are_the_same_at_one_horizon() -> None:
    problems = rotting.grid(rotting.problems.two_arms, L=[0.1, 1.0], horizon=HORIZON)
    study = rotting.sweep([rotting.tuned(lambda T: lambda K: Private(K, T % 2))], problems, runs=2)
    assert len(study.results) == 2


def test_what_only_plays_simulations_is_no_policy_by_name() -> None:
    assert not {"single-arm", "plain-policy"} & {each.name for each in rotting.list_policies()}
