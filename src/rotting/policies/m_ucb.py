"""M-UCB: a UCB index that restarts all arms when the two halves of an arm's last samples differ."""

import math
from typing import Literal, NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import COUNT, FINITE, INDEX, POSITIVE, PROBABILITY, Rule
from rotting.errors import InvalidValueError
from rotting.policies.kernels.elementary import ceil, log
from rotting.policies.kernels.exact_sums import difference
from rotting.policies.parts.indices import by_index, first_new
from rotting.policies.parts.prefix_sums import append
from rotting.policies.parts.presence import Presence, new_presence, round_robin
from rotting.policies.parts.reward_scale import OUTSIDE, check_range, to_unit
from rotting.policy import Kernel, Params, Policy, Reason, parameter

_SMALLEST_CHANGE = 0.001
_WINDOW = Rule("a whole number, 2 or more", low=2, whole=True)


class MUCB(Policy):
    """UCB for rewards in [0, 1]; all arms restart when the two halves of an arm's last w samples differ.

    Pulls the arm with the largest `mean_i + sqrt(2 ln(t - r) / n_i)` over the n_i samples of arm i since the last restart,
    after round r. Explores: arm a in the rounds with `(t - r - 1) mod ceil(K / gamma) = a`. All arms restart after a sample of
    an arm with at least w samples if `|sum of its last w / 2 - sum of the w / 2 before| > b`. An arm without a sample since the
    restart goes first.

    Args:
        w: window of the detector, an even number of samples of one arm; not to be given with a change.
        b: threshold of the detector; not to be given with a horizon. The default, 46, is that of w = 200, K = 10, T = 10,000.
        gamma: share of the rounds that explore; not to be given with a horizon. Arms that only rot need none.
        horizon: number of rounds T to tune for: `b = sqrt(w ln(2 K T^2) / 2)`, `gamma = sqrt(Y K (2 b + 3 sqrt(w)) / (2 T))`,
            at most 1; 0 for b and gamma as given.
        breakpoints: number of changes Y (the publication's M - 1), with a horizon.
        change: smallest change to be found, in units of the range, at least 0.001, with a horizon:
            `w = (4 / change^2) (sqrt(ln(2 K T^2)) + sqrt(ln(2 T)))^2`, rounded up to an even number, often longer than T;
            0 for w as given.
        low: smallest reward.
        high: largest reward; rewards are mapped to [0, 1] by `(reward - low) / (high - low)`.
        outside: "refuse" or "clip" rewards outside the range.

    The tuning is the publication's. The difference of two sums of w / 2 samples without a change exceeds b with a chance of at
    most `2 exp(-2 b^2 / w) = 1 / (K T^2)` (Hoeffding), so that all K arms and T rounds together raise a false alarm with a
    chance of at most 1 / T. The window is the shortest with `change >= 2 sqrt(ln(2 K T^2) / w) + 2 sqrt(ln(2 T) / w)`: a change
    in its middle moves the difference by `change w / 2`, past b by `sqrt(w ln(2 T) / 2)` or more, and is missed with a chance
    of at most 1 / T. gamma makes the sum of `gamma T` rounds of exploration and Y delays of
    `K (2 b + 3 sqrt(w)) / (2 gamma)` rounds least.

    Needs the horizon, the number of changes, the size of the smallest one, and the range of the rewards. Made for arms that
    change with time; unsound for rested rotting: forced exploration pulls worn arms, and slow decay goes unseen.

    Example:
        >>> MUCB(horizon=10_000, breakpoints=4, w=800).max_rounds
        10000

    Reference: Cao, Wen, Kveton, Xie, "Nearly optimal adaptive procedure with change detection for piecewise-stationary
    bandit", AISTATS 2019.
    """

    w: int = parameter(_WINDOW, "samples that are compared to find a change; an even number", default=200)
    b: float = parameter(POSITIVE, "threshold of the difference of two sums of w / 2 samples", default=46.0)
    gamma: float = parameter(PROBABILITY, "share of the rounds that explore all arms in turn", default=0.05)
    horizon: int = parameter(INDEX, "number of rounds to tune b and gamma for; 0 = b and gamma as given", default=0)
    breakpoints: int = parameter(COUNT, "number of changes, with a horizon", default=1)
    change: float = parameter(PROBABILITY, "smallest change, to tune w for, with a horizon; 0 = w as given", default=0.0)
    low: float = parameter(FINITE, "smallest reward", default=0.0)
    high: float = parameter(FINITE, "largest reward", default=1.0)
    outside: Literal["refuse", "clip"] = parameter(OUTSIDE, "what to do with rewards outside [low, high]", default="refuse")

    name = "m-ucb"
    title = "M-UCB"
    has_index = True
    tuning_params = ("breakpoints", "change")
    manual_params = ("b", "gamma")
    needs_horizon = True
    needs_changes = True
    restless = True
    memory = "O(K t)"

    def check(self) -> None:
        """Refuse an empty range, an odd window, and a change too small for any window."""
        check_range(self)
        if self.w % 2:
            raise InvalidValueError("w", "be an even number", self.w)
        if 0.0 < self.change < _SMALLEST_CHANGE:
            raise InvalidValueError("change", f"be 0 or at least {_SMALLEST_CHANGE}", self.change)


class State(NamedTuple):
    pulls: Ints  # [K] n_i: samples of each arm since the restart
    high: Floats  # [K, capacity + 1] sum of the first n of them, as high + low
    low: Floats
    restart: Ints  # [1] r: round of the last restart
    epoch: Ints  # [2] rounds before the game that this state is tuned to, and its length (0 = not tuned)
    presence: Presence  # K, for the tuning and for the exploration in turn


def init(p: Params, n_arms: int, capacity: int) -> State:
    s = State(
        pulls=np.zeros(n_arms, np.int64),
        high=np.zeros((n_arms, capacity + 1)),
        low=np.zeros((n_arms, capacity + 1)),
        restart=np.zeros(1, np.int64),
        epoch=np.zeros(2, np.int64),
        presence=new_presence(n_arms),
    )
    reset(p, s, p.horizon)
    return s


def index(p: Params, s: State, t: int, i: int) -> Reason:
    """Return `mean_i + sqrt(2 ln(t - r) / n_i)`."""
    n = s.pulls[i]
    if n == 0:
        return Reason(math.inf, math.nan, 0, math.inf)
    mean, c = s.high[i, n] / n, math.sqrt(2.0 * log(t - s.restart[0]) / n)
    return Reason(mean + c, mean, n, c)


largest_index = by_index(index)["choose"]


def choose(p: Params, s: State, t: int, key: int, arms: Ints) -> int:
    """Return the first arm without a sample; else the arm to be explored in this round; else the one of the largest index."""
    arm, gamma = first_new(s, arms), exploration_rate(p, s)
    if arm < 0 and gamma > 0.0:
        arm = round_robin(s.presence, float(ceil(s.presence.number[0] / gamma)), t - s.restart[0] - 1, arms)
    return arm if arm >= 0 else largest_index(p, s, t, key, arms)


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    """Record the sample, and restart all arms if the two halves of the arm's window differ."""
    append(s, arm, to_unit(p.low, p.high, reward))
    if alarm(p, s, arm):
        s.pulls[:] = 0
        s.restart[0] = t


def alarm(p: Params, s: State, i: int) -> bool:
    """Return whether the sums of the two halves of arm i's last w samples differ by more than b."""
    n, w = s.pulls[i], window(p, s)
    if n < w:
        return False
    middle = n - w // 2
    newer = difference(s.high[i, n], s.low[i, n], s.high[i, middle], s.low[i, middle])
    older = difference(s.high[i, middle], s.low[i, middle], s.high[i, n - w], s.low[i, n - w])
    return bool(abs(newer - older) > threshold(p, s, w))


def reset(p: Params, s: State, horizon: int) -> None:
    s.pulls[:] = 0
    s.restart[0] = 0
    s.epoch[0], s.epoch[1] = 0, horizon


# The tuning depends on the number of arms, which may grow: it is computed when it is needed, not kept.


def window(p: Params, s: State) -> int:
    """Return w: `(4 / change^2) (sqrt(ln(2 K T^2)) + sqrt(ln(2 T)))^2` rounded up to an even number, or w as given."""
    K, T = s.presence.number[0], float(s.epoch[1])
    if T == 0.0 or p.change == 0.0:
        return int(p.w)
    root = math.sqrt(log(2.0 * K * (T * T))) + math.sqrt(log(2.0 * T))
    return 2 * ceil((4.0 / (p.change * p.change)) * (root * root) / 2.0)


def threshold(p: Params, s: State, w: int) -> float:
    """Return `b = sqrt(w ln(2 K T^2) / 2)`, or b as given."""
    K, T = s.presence.number[0], float(s.epoch[1])
    return math.sqrt(w * log(2.0 * K * (T * T)) / 2.0) if T > 0.0 else p.b


def exploration_rate(p: Params, s: State) -> float:
    """Return `gamma = sqrt(Y K (2 b + 3 sqrt(w)) / (2 T))`, cut at 1, or gamma as given."""
    K, T = s.presence.number[0], float(s.epoch[1])
    if T == 0.0:
        return float(p.gamma)
    w = window(p, s)
    return min(1.0, math.sqrt(p.breakpoints * K * (2.0 * threshold(p, s, w) + 3.0 * math.sqrt(w)) / (2.0 * T)))


MUCB.kernel = Kernel(init, choose, update, by_index(index)["explain"], reset=reset)
