"""Every noise of the library keeps the contract, and the checker sees what breaks it."""

import itertools
import math
import re
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from rotting.errors import CheckError
from rotting.live import noise_checks
from rotting.live.noise_checks import check_noise, farthest
from rotting.policies.kernels.random_numbers import normal_quantile, reward_uniform
from rotting.problems import Problem
from rotting.problems.noise import Bernoulli, Beta, Binomial, Gaussian, Noise, Noiseless, Poisson
from tests.conftest import INTERPRETED

Draw = Callable[[float, float, int, int, int, int], float]


@pytest.mark.slow
@pytest.mark.parametrize(
    "noise",
    [Gaussian(0.5), Gaussian(1e100), Bernoulli(), Binomial(10), Beta(3.0), Beta(0.05), Poisson(), Noiseless()],
    ids=repr,
)
def test_every_noise_keeps_the_contract(noise: Noise) -> None:
    check_noise(noise)


number = itertools.count()


def noise(draw: Draw, name: str = "", **more: Any) -> Noise:
    """A sound noise, but for this draw and the attributes given."""
    kind: Any = type(name or f"Own{next(number)}", (Noise,), {"draw": staticmethod(draw), "__module__": __name__, **more})
    own: Noise = dataclass(frozen=True)(kind)()
    return own


def normal(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    return mean + normal_quantile(reward_uniform(key, run, arm, clock, 0))


def shifted(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    return mean + 0.06 + normal_quantile(reward_uniform(key, run, arm, clock, 0))


def coin(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    return 1.0 if reward_uniform(key, run, arm, clock, 0) < 0.95 * mean else 0.0


def infinite(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    return mean + 1.0 / scale if scale > 0.0 else np.inf


def forgets_clock(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    return mean + normal_quantile(reward_uniform(key, run, arm, 0, 0))


def overflows(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    return mean + (0.5 if (key * 2**40 + clock * 2**62) > 0 else -0.5)


def rounds_otherwise(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    u = reward_uniform(key, run, arm, clock, 0)
    return -mean * math.log(u) * (1.0 if (key * 2**40 + clock * 2**62) > 0 else 1.0 + 2.0**-40)


def returns_nothing(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> Any:
    return None


def returns_truth(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    return reward_uniform(key, run, arm, clock, 0) < mean


def divides_by_zero(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    return mean / scale


def does_not_compile(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    return mean + {"x": 0.0}["x"]


CALLS = np.zeros(1)


def counts_calls(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    CALLS[0] += 1.0  # hidden state is the fault under test
    return mean + float(CALLS[0])


def draws_otherwise(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    return mean + np.random.normal()  # noqa: NPY002


TABLE = np.zeros(4)


def reads_by_run(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    return normal(mean, scale, key, run, arm, clock) + float(TABLE[run])


def reads_outside(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    return mean + float(TABLE[clock + 4])


def reads_a_dict(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    table = {1: 2.0}
    return mean + 0.0 * table[1]


def test_a_sound_noise_of_ones_own_passes() -> None:
    check_noise(noise(normal))
    check_noise(noise(normal, lowest_mean=10.0, highest_mean=20.0))


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (
            noise(shifted),
            r"the mean of the rewards must be the mean that draw is given \(mean -2.5: 20000 rewards average -2.4",
        ),
        (
            noise(coin, lowest_mean=0.0, highest_mean=1.0, support=(0.0, 1.0)),
            r"the mean of the rewards must be the mean that draw is given \(mean 0.3: 20000 rewards average 0.2",
        ),
        (noise(normal, support=(-3.0, 5.0), lowest_mean=-3.0, highest_mean=5.0), "draw must pay finite rewards in the support"),
        (noise(infinite), r"draw must pay finite rewards in the support \(mean -2.5: inf is not in \[-inf, inf\]\)"),
        (noise(forgets_clock), r"draw must give key, run, arm and clock to its random numbers \(clock is not used\)"),
        (noise(returns_nothing), r"draw must return a number \(mean -2.5: None\)"),
        (noise(returns_truth), r"draw must return a number \(mean -2.5: False\)"),
        (
            noise(divides_by_zero),
            r"^Own\d+\(\): divides_by_zero \(.*: `return mean / scale`\): ZeroDivisionError, float division by zero$",
        ),
        (noise(draws_otherwise), r"draws_otherwise \(test_noise_checks.py, line .*must not use np.random, .*reward_uniform"),
        (
            noise(reads_by_run),
            r"^Own\d+\(\): reads_by_run \(test_noise_checks.py, line .*\): index 4 is out of bounds for axis 0 with size 4$",
        ),
        (noise(reads_outside), r"^Own\d+\(\): reads_outside \(test_noise_checks.py, line .*\): index 9 is out of bounds"),
        (noise(counts_calls), "draw must depend on nothing but its arguments"),
        (noise(normal, support=(1.0, 0.0)), "support must be two numbers, the smaller first"),
        (noise(normal, lowest_mean=1.0, highest_mean=0.0), "lowest_mean must not be above highest_mean"),
        (
            noise(normal, support=(0.0, 1.0)),
            r"lowest_mean and highest_mean must lie in the support \(\[-inf, inf\] is not inside \[0.0, 1.0\]\)",
        ),
        (noise(normal, scale="wide"), r"Own\d+.scale must be a finite number, got 'wide'"),
        (noise(normal, scale=np.inf), r"Own\d+.scale must be a finite number, got inf"),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, Noise) else None,
)
def test_a_broken_noise_is_reported_in_one_sentence(broken: Noise, message: str) -> None:
    with pytest.raises(CheckError, match=message) as caught:
        check_noise(broken)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_what_the_compiler_makes_of_it_is_compared() -> None:
    with pytest.raises(CheckError, match=r"draw must pay the same compiled and interpreted \(mean -2.5: -\d.0 against -\d.0\)"):
        check_noise(noise(overflows))
    own = noise(rounds_otherwise, lowest_mean=0.0, support=(0.0, np.inf))
    with pytest.raises(CheckError, match=r"compiled and interpreted \(mean .*; take functions from `math`, NumPy's may round"):
        check_noise(own)
    with pytest.raises(CheckError, match=r"^Own\d+\(\): does_not_compile \(") as caught:
        check_noise(noise(does_not_compile))
    assert len(str(caught.value).splitlines()) == 1
    assert "numba" not in "".join(traceback.format_exception(caught.value))
    message = r"^Own\d+\(\): reads_a_dict \(test_noise_checks.py, line .*: a dict is not allowed in compiled code$"
    with pytest.raises(CheckError, match=message):
        check_noise(noise(reads_a_dict))


@dataclass(frozen=True)
class NoDraw(Noise):
    pass


class NoDataclass(Gaussian):
    def __init__(self, other: float) -> None:
        super().__init__(other)


@dataclass
class Changeable(Noise):
    draw = staticmethod(normal)


class Plain(Noise):
    draw = staticmethod(normal)


@dataclass(frozen=True)
class Unhashable(Noise):
    weights: list[float] = field(default_factory=list)
    scale = 1.0
    draw = staticmethod(normal)


@dataclass(frozen=True)
class NotInJSON(Noise):
    weight: complex = 1j
    scale = 1.0
    draw = staticmethod(normal)


@dataclass(frozen=True)
class Tuples(Noise):
    weights: tuple[float, ...] = (0.5, 0.5)
    scale = 1.0
    draw = staticmethod(normal)


@dataclass(frozen=True)
class WithoutScale(Noise):
    b: float = 0.5
    c: float = 0.5
    draw = staticmethod(normal)


class WithoutBase:
    draw = staticmethod(normal)

    def __repr__(self) -> str:
        return "WithoutBase()"


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (NoDraw(), r"noise must have a static method draw\(mean, .*\), got NoDraw, which has none"),
        (Plain(), r"^noise must be a frozen dataclass, with @dataclass\(frozen=True\) above its class, got Plain$"),
        (Changeable(), "^noise must be a frozen dataclass, .*, got Changeable$"),
        (Unhashable(), r"a noise must be hashable \(Unhashable: unhashable type: 'list'\)"),
        (NotInJSON(), r"a noise must survive JSON \(NotInJSON: Object of type complex is not JSON serializable\)"),
        (NoDataclass(0.5), r"a noise must survive JSON \(NoDataclass: .*sigma"),
        (
            WithoutScale(),
            r"^noise must have a property `scale`, .* of its fields \(b, c\), got WithoutScale\(.*\), whose draw gets 0.0$",
        ),
        (Tuples(), "a noise must survive JSON, under a name that no other noise has"),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, Noise) else None,
)
def test_a_noise_that_is_not_a_value_is_reported(broken: Noise, message: str) -> None:
    with pytest.raises(CheckError, match=message):
        check_noise(broken)


def test_a_name_that_the_library_has_does_not_survive_json() -> None:
    own = noise(normal, "Bernoulli")
    with pytest.raises(CheckError, match=re.escape("under a name that no other noise has (Bernoulli() became Bernoulli())")):
        check_noise(own)


def test_only_noises_can_be_checked() -> None:
    for wrong in ("gaussian", Gaussian):
        with pytest.raises(TypeError, match="noise must be a noise such as"):
            check_noise(wrong)  # type: ignore[arg-type]
    without: Any = WithoutBase()
    for use in (check_noise, lambda each: Problem.rested([0.5], noise=each, horizon=3)):
        with pytest.raises(TypeError, match=r"got WithoutBase\(\); its class must inherit from rotting.kit.Noise$"):
            use(without)


@pytest.mark.parametrize("skewed", ["exponential", "rare"])
def test_sound_noises_stay_within_the_bound(skewed: str) -> None:
    """Even skewed ones, in a thousand samples, stay in half of what is allowed where rewards are unbounded."""
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(200 if INTERPRETED else 1_000):
        if skewed == "exponential":
            rewards, low, high, mean = rng.exponential(size=2_000), 0.0, np.inf, 1.0
        else:
            rewards, low, high, mean = (rng.random(2_000) < 0.001).astype(float), 0.0, 1.0, 0.001
        shares.append(abs(rewards.mean() - mean) / farthest(rewards, mean, low, high))
    assert 0.05 < max(shares) < 0.75


def always_half(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    return 0.5


def test_a_support_may_be_a_single_number() -> None:
    check_noise(noise(always_half, support=(0.5, 0.5), lowest_mean=0.5, highest_mean=0.5))


def test_the_bound_is_the_inequality_for_bounded_rewards_and_eight_standard_errors_for_others() -> None:
    """Each side is wrong with a probability of at most half of 1e-7, by Theorem 4 of Maurer and Pontil (2009)."""
    rewards = 3.0 * np.random.default_rng(0).random(500)
    rounding = 1e-9 * (1 + 1.4)
    a = math.log(2 / (1e-7 / 2))
    inequality = math.sqrt(2 * rewards.var() * a / 500) + 3.0 * 7 * a / (3 * 499)
    assert farthest(rewards, 1.4, 0.0, 3.0) == pytest.approx(inequality + rounding, rel=1e-12)
    standard_error = math.sqrt(((rewards - 1.4) ** 2).mean() / 500)
    for low, high in ((0.0, math.inf), (-math.inf, 3.0), (-math.inf, math.inf)):
        assert farthest(rewards, 1.4, low, high) == pytest.approx(8 * standard_error + rounding, rel=1e-12)


def test_the_bound_is_that_of_the_mirrored_rewards() -> None:
    """In [-1, 0] as in [0, 1]."""
    rewards = np.random.default_rng(0).random(50)
    assert farthest(-rewards, -0.5, -1.0, 0.0) == farthest(rewards, 0.5, 0.0, 1.0)


@pytest.mark.parametrize(
    ("factor", "message"),
    [(1.0 + 2.0**-40, r"; take functions from `math`, NumPy's may round otherwise\)"), (1.5, r"\(mean .* against [-.\d]+\)")],
)
def test_a_difference_of_compiled_rewards_is_reported(monkeypatch: pytest.MonkeyPatch, factor: float, message: str) -> None:
    """Whether the compiler is at hand or not, by one that pays this much more."""

    def compiled(fill: Callable[..., None], checked: bool = False) -> Callable[..., None]:
        def filled(*arguments: Any) -> None:
            fill(*arguments)
            arguments[-1][:] *= factor

        return filled

    monkeypatch.setattr(noise_checks, "compiled", compiled)
    with pytest.raises(CheckError, match=rf"^draw must pay the same compiled and interpreted .*{message}$"):
        check_noise(Gaussian(0.5))


def test_no_reward_is_drawn_twice() -> None:
    """Else they were not independent, as the bound of their average asks for."""
    places = noise_checks._everywhere(20_000)
    assert len(set(zip(*(each.tolist() for each in places.values()), strict=True))) == 20_000
