"""Arms with a memory: an arm has a small state of its own, and plain functions say what it pays and how the state moves on."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from rotting.common.rules import FINITE, option
from rotting.errors import InvalidTypeError
from rotting.policies.kernels.binding import KernelFunction, digest, plain_function
from rotting.policies.kernels.code_checks import check_arguments
from rotting.problems.arms import Arm
from rotting.problems.decays import name_of
from rotting.problems.mean_table import SUM, Means, no_steps, one_arm

State: TypeAlias = Any
"""A number, or a tuple of numbers such as a NamedTuple."""
_CLOCK = option("pulls", "rounds")


class ArmKernel(NamedTuple):
    """What all arms that are played by the same code share: the functions, and the forms of the parameters and the state."""

    init: KernelFunction
    mean: KernelFunction
    step: KernelFunction
    rest: KernelFunction | None
    params: tuple[type, int]  # the class of the parameters, and their number
    state: tuple[type, int]  # the same of the state; the class of a single number is float

    @property
    def draws(self) -> bool:
        """Whether the arm is random, apart from the noise of its rewards."""
        return takes_key(self.init, "init") or takes_key(self.step, "step")


@dataclass(frozen=True, repr=False)
class Stateful(Arm):
    """An arm with a memory. Its state is a number or a tuple of numbers, such as a NamedTuple.

    In round t, after n of its pulls, the arm has the mean `mean(params, state, t, n)`. The state of round 1 is `init(params)`.
    After every round, whether the arm was pulled in it or not, its state becomes `step(params, state, t, n, pulled)`; `pulled`
    is 1 or 0, and n still counts the pulls before round t. An arm that nobody asks is not stepped: its steps are made up for
    when it is pulled, or when its mean is recorded or compared with others.

    `rest` saves these steps. `rest(params, state, t, n, rounds)` returns the state after `rounds` rounds without a pull, of
    which t is the first; `step` is then called after pulls only. Each time, `rest` starts from the state after the last pull,
    or from that of round 1, so it does not matter who asked for the mean in between. A thousand arms with `rest` cost no more
    per round than one.

    `init` and `step` may be random: with one more argument, `key`, they draw `uniform(key, t, draw)` of `rotting.kit`. The key
    depends on the seed, the run and the arm, so the arm moves alike for all policies. If such arms move whether they are
    pulled or not, all policies meet the same means. `init` uses t = 0.

    Functions are compiled into the game, by the rules for functions of a policy: see docs/your-own-policy.md. Numbers in the
    state and in the parameters are floats: write `State(0.0)`, not `State(0)`.

    Args:
        init: returns the first state.
        mean: returns the mean.
        step: returns the next state.
        params: numbers that the functions get, such as a NamedTuple. Arms that differ in them alone share their code.
        rest: returns the state after rounds without a pull.
        clock: what the noise of the rewards follows, as for other arms: "pulls" or "rounds".

    Example:
        >>> import rotting
        >>> def fresh(p):
        ...     return 0.0
        >>> def mean(p, tired, t, n):
        ...     return p[0] - tired
        >>> def tire(p, tired, t, n, pulled):
        ...     return 0.9 * (tired + 0.1 * pulled)
        >>> arms = [Stateful(fresh, mean, tire, [top]) for top in (0.9, 0.7)]
        >>> game = rotting.play(rotting.GreedyOracle(), rotting.Problem(arms, horizon=6))
        >>> game.arm.tolist(), game.mean.round(3).tolist()
        ([0, 0, 0, 1, 0, 1], [0.9, 0.81, 0.729, 0.7, 0.68, 0.619])
    """

    init: Callable[..., State]
    mean: Callable[..., float]
    step: Callable[..., State]
    params: Any = ()
    rest: Callable[..., State] | None = None
    clock: str = "pulls"

    def __post_init__(self) -> None:
        for name, arguments in _ARGUMENTS.items():
            function = getattr(self, name)
            if function is not None or name != "rest":
                plain = plain_function(name, function)
                more = ("key",) if name in _RANDOM and takes_key(plain, name) else ()
                check_arguments(plain, (*arguments, *more))
                digest(plain)
        object.__setattr__(self, "clock", _CLOCK.show(_CLOCK.check("clock", self.clock)))
        given = tuple(self.params) if isinstance(self.params, list) else self.params
        numbers = [FINITE.check(f"params[{k}]", each) for k, each in enumerate(_as_tuple("params", given))]
        object.__setattr__(self, "params", _like(given, numbers))
        state = self.first_state()
        size = len(_as_tuple("init", state))
        _number("mean", self.mean(self.params, state, 1, 0))
        following = {"step": self.next_state(state, 1, 0, 1)}
        if self.rest is not None:
            following["rest"] = self.rest(self.params, state, 1, 0, 1)
        for name, other in following.items():
            if len(_as_tuple(name, other)) != size:
                raise InvalidTypeError(name, "return a state like that of init", other)

    @property
    def kernel(self) -> ArmKernel:
        """The functions, and the forms of the parameters and the state."""
        forms = [(_form(each), len(_as_tuple("", each))) for each in (self.params, self.first_state())]
        return ArmKernel(self.init, self.mean, self.step, self.rest, *forms)

    @property
    def clocks(self) -> frozenset[str]:
        """The memory, which is a clock of its own."""
        return frozenset({"memory"})

    def means(self, horizon: int) -> Means:
        """Return the first mean as a table, by which it is checked; the game calls the functions instead."""
        first = float(self.mean(self.params, self.first_state(), 1, 0))
        return one_arm(SUM, no_steps(), (np.zeros(1, np.int64), np.array([first])), on_rounds=self.clock == "rounds")

    def first_state(self, key: int = 0) -> State:
        """Return the state of round 1; `key` is that of the arm in a run."""
        return self.init(self.params, key) if takes_key(self.init, "init") else self.init(self.params)

    def next_state(self, state: State, t: int, n: int, pulled: int, key: int = 0) -> State:
        """Return the state after round t, before which the arm had n pulls."""
        more = (key,) if takes_key(self.step, "step") else ()
        return self.step(self.params, state, t, n, pulled, *more)

    def state_at(self, state: State, since: int, t: int, n: int, key: int = 0) -> State:
        """Return the state of round t of an arm that has not been pulled since it had `state` in round `since`."""
        if self.rest is not None:
            return self.rest(self.params, state, since, n, t - since) if since < t else state
        for u in range(since, t):
            state = self.next_state(state, u, n, 0, key)
        return state

    def __repr__(self) -> str:
        names = ", ".join(name_of(each) for each in (self.init, self.mean, self.step))
        rest = "" if self.rest is None else f", rest={name_of(self.rest)}"
        clock = "" if self.clock == "pulls" else f", clock={self.clock!r}"
        return f"Stateful({names}, params={self.params!r}{rest}{clock})"


_ARGUMENTS = {
    "init": ("params",),
    "mean": ("params", "state", "t", "n"),
    "step": ("params", "state", "t", "n", "pulled"),
    "rest": ("params", "state", "t", "n", "rounds"),
}
_RANDOM = ("init", "step")


def takes_key(function: Any, name: str) -> bool:
    """Return whether an `init` or a `step` draws random numbers."""
    return bool(function.__code__.co_argcount > len(_ARGUMENTS[name]))


def _number(name: str, value: object) -> float:
    if isinstance(value, bool | int | float | np.number | np.bool_):
        return float(value)
    raise InvalidTypeError(name, "return a number", value)


def _as_tuple(name: str, value: object) -> tuple[Any, ...]:
    """Return the numbers of a state or of parameters."""
    listed = value if isinstance(value, tuple) else (value,)
    for each in listed:
        if not isinstance(each, bool | int | float | np.number | np.bool_):
            rule = "be numbers" if name == "params" else "return a number or a tuple of numbers"
            raise InvalidTypeError(name, rule, value)
    return listed


def _form(value: object) -> type:
    return type(value) if isinstance(value, tuple) else float


def _like(value: object, numbers: list[float]) -> Any:
    """Return these numbers in the form of `value`."""
    if not isinstance(value, tuple):
        return numbers[0]
    form: Any = type(value)
    return form(*numbers) if hasattr(value, "_fields") else tuple(numbers)
