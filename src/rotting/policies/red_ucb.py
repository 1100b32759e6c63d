"""R-ed-UCB: an upper bound of the mean that each arm would have by now, for arms that improve with their pulls."""

import math
from typing import NamedTuple

import numpy as np

from rotting.kit import (
    POSITIVE,
    Floats,
    Ints,
    Kernel,
    Params,
    Policy,
    Reason,
    Rule,
    add,
    by_index,
    difference,
    floor,
    log,
    parameter,
    times,
)

BELOW_HALF = Rule("a number above 0 and below 1/2", low=0.0, open_low=True, high=0.5, open_high=True)


class RedUCB(Policy):
    """R-ed-UCB, for rested rising arms: extends the trend of each arm's last rewards to the current round.

    Pulls the arm with the largest `mu_i + sigma (t - N_i + h_i - 1) sqrt(10 alpha ln(t) / h_i^3)`. The window of arm i is its
    last `h_i = floor(epsilon N_i)` rewards. The estimate compares each reward X_l in it with the one h_i pulls earlier, and
    extends the slope between the two from pull l to pull t:

        mu_i = 1/h_i sum over N_i - h_i < l <= N_i of X_l + (t - l) (X_l - X_{l - h_i}) / h_i.

    An arm with `h_i = 0` has an infinite index, so every arm starts with its first `1 / epsilon` pulls in a row. Ties go to the
    lowest arm. Where priors make `t <= N_i`, the estimate and the factor of the width are those of `t = N_i + 1`.

    Args:
        epsilon: the window's share of an arm's pulls, above 0 and below 1/2. A long window has less noise, but its slope is
            that of older rewards. 1/4 in most of the authors' experiments.
        alpha: confidence level, `delta_t = t**-alpha`. The theory asks for more than 2; 4 in the authors' experiments.
        sigma: sub-Gaussian scale of the rewards; 0.1 in the authors' experiments.

    R-less-UCB, the publication's policy for arms that rise with time (restless), has the same rule under another name.

    Needs to know sigma; neither the horizon nor how fast the arms rise. Made for arms that improve with their own pulls, and
    by less each time, such as models in training or users who learn an interface. Not sound for rested nor for restless
    rotting: an arm that fell is expected to fall further, and the width of every arm that is not pulled grows with t.

    Example:
        >>> RedUCB(sigma=0.1)
        RedUCB(epsilon=0.25, alpha=4.0, sigma=0.1)

    Reference: Metelli, Trovò, Pirola, Restelli, "Stochastic rising bandits", ICML 2022, R-ed-UCB and R-less-UCB.
    """

    epsilon: float = parameter(BELOW_HALF, "the window's share of an arm's pulls", default=0.25)
    alpha: float = parameter(POSITIVE, "confidence level: delta_t = t**-alpha; above 2 in theory", default=4.0)
    sigma: float = parameter(POSITIVE, "sub-Gaussian scale of the rewards", default=1.0)

    name = "red-ucb"
    title = "R-ed-UCB"
    has_index = True
    first_pulls = False
    memory = "O(K + t)"


class Sums(NamedTuple):
    """A sum for each arm, as high + low."""

    high: Floats  # [K]
    low: Floats  # [K]


class State(NamedTuple):
    pulls: Ints  # [K] N_i
    window: Ints  # [K] h_i
    recent: Sums  # of the window
    slope: Sums  # of the window, minus the sum of the h rewards before it: h^2 times what mu_i gains per round
    level: Sums  # h^2 times mu_i at t = N_i
    newest: Ints  # [K] entry of X_N in the log of rewards below
    near: Ints  # [K] entry of X_{N - h}, the last reward before the window
    far: Ints  # [K] entry of X_{N - 2 h}
    entries: Ints  # [1] length of the log
    rewards: Floats  # [capacity] of all arms, in the order in which they came
    previous: Ints  # [capacity] entry of the same arm's reward before this one
    following: Ints  # [capacity] entry of the same arm's reward after this one


def init(p: Params, n_arms: int, capacity: int) -> State:
    return State(
        pulls=np.zeros(n_arms, np.int64),
        window=np.zeros(n_arms, np.int64),
        recent=Sums(high=np.zeros(n_arms), low=np.zeros(n_arms)),
        slope=Sums(high=np.zeros(n_arms), low=np.zeros(n_arms)),
        level=Sums(high=np.zeros(n_arms), low=np.zeros(n_arms)),
        newest=np.zeros(n_arms, np.int64),
        near=np.zeros(n_arms, np.int64),
        far=np.zeros(n_arms, np.int64),
        entries=np.zeros(1, np.int64),
        rewards=np.zeros(capacity),
        previous=np.zeros(capacity, np.int64),
        following=np.zeros(capacity, np.int64),
    )


def index(p: Params, s: State, t: int, i: int) -> Reason:
    """Return the estimate, which is a line in t, plus the width."""
    n, h = s.pulls[i], s.window[i]
    if h == 0:
        return Reason(math.inf, math.nan, 0, math.inf)
    ahead = max(t - n, 1)  # an arm with a prior may have more pulls than there were rounds
    high, low = times(s.slope.high[i], s.slope.low[i], ahead)
    mean = difference(s.level.high[i], s.level.low[i], -high, -low) / (h * h)
    c = p.sigma * (ahead + h - 1) * math.sqrt(10.0 * p.alpha * log(t) / (float(h) * h * h))
    return Reason(mean + c, mean, h, c)


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    """Log the reward, and add it to the window, which grows by one or loses its oldest reward."""
    log_reward(s, arm, reward)
    n, h = s.pulls[arm], s.window[arm]
    if n == 1:
        s.near[arm] = s.far[arm] = s.newest[arm]
    elif floor(p.epsilon * n) > h:
        grow(s, arm, h, reward)
    else:
        slide(s, arm, h, reward)


def log_reward(s: State, arm: int, reward: float) -> None:
    """Append the reward to the log, linked with the arm's previous one."""
    e = s.entries[0]
    s.rewards[e] = reward
    if s.pulls[arm] > 0:
        s.previous[e] = s.newest[arm]
        s.following[s.newest[arm]] = e
    s.entries[0] = e + 1
    s.newest[arm] = e
    s.pulls[arm] += 1


# The level is the sum over the window of h X_l + (N - l) (X_l - X_{l - h}). One more pull raises every N - l by one, which adds
# the slope; then rewards enter and leave. Where h grows as well, the rewards that are subtracted keep their weights.


def slide(s: State, i: int, h: int, x: float) -> None:
    """Move on by one pull: x enters the window, y = X_{n - h} leaves it, and z = X_{n - 2 h} leaves the h rewards before it."""
    s.near[i], s.far[i] = s.following[s.near[i]], s.following[s.far[i]]
    y, z = s.rewards[s.near[i]], s.rewards[s.far[i]]
    accumulate(s.level, i, 1, s.slope.high[i])
    accumulate(s.level, i, 1, s.slope.low[i])
    accumulate(s.level, i, h, x)
    accumulate(s.level, i, -2 * h, y)
    accumulate(s.level, i, h, z)
    accumulate(s.slope, i, 1, x)
    accumulate(s.slope, i, -2, y)
    accumulate(s.slope, i, 1, z)
    accumulate(s.recent, i, 1, x)
    accumulate(s.recent, i, -1, y)


def grow(s: State, i: int, h: int, x: float) -> None:
    """Lengthen the window by x, and the rewards before it by z = X_{n - 1 - 2 h}, the last one that had left them."""
    z = s.rewards[s.far[i]]
    s.far[i] = s.previous[s.far[i]]
    accumulate(s.level, i, 2, s.recent.high[i])
    accumulate(s.level, i, 2, s.recent.low[i])
    accumulate(s.level, i, h + 1, x)
    accumulate(s.level, i, -h, z)
    accumulate(s.slope, i, 1, x)
    accumulate(s.slope, i, -1, z)
    accumulate(s.recent, i, 1, x)
    s.window[i] = h + 1


def accumulate(sums: Sums, i: int, factor: int, x: float) -> None:
    """Add `factor x` to a sum."""
    product, rest = times(x, 0.0, factor)
    high, low = add(sums.high[i], sums.low[i], product)
    sums.high[i], sums.low[i] = add(high, low, rest)


RedUCB.kernel = Kernel(init, update=update, **by_index(index))
