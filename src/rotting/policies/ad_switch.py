"""AdSwitch: good arms in turn, bad arms checked at random, and a new episode at every change."""

import math
from typing import Literal, NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import FINITE, POSITIVE, Rule
from rotting.policies.kernels.elementary import ceil, log
from rotting.policies.kernels.random_numbers import uniform
from rotting.policies.parts.prefix_sums import append, window_mean
from rotting.policies.parts.presence import Presence, new_presence
from rotting.policies.parts.reward_scale import OUTSIDE, check_range, to_unit
from rotting.policy import Kernel, Params, Policy, Reason, parameter

_HORIZON = Rule("a whole number, 2 or more", low=2, whole=True)


class AdSwitch(Policy):
    """Filter the arms, check the bad ones now and then, and start afresh at every change: minimax without knowing the changes.

    In episode l, each round plays the least recently played of the good arms and of the bad arms under check. With
    `mean_i[s, t]` the mean of arm i's `n_i[s, t]` samples from rounds s to t of the episode:

    - a good arm is evicted when `max_j mean_j[s, t] - mean_i[s, t] > sqrt(C1 ln(T) / (n_i[s, t] - 1))` for some s; that
      difference is its gap, `mean_i[s, t]` its mean (of the earliest such s);
    - in each round, for each bad arm and i = 1, 2, ... while `2^-i >= gap / 16`, with probability
      `2^-i sqrt(l / (K T ln T))` a check begins: `ceil(2^(2i + 1) ln T)` samples of it;
    - a new episode begins when the means of two runs of a good arm's samples differ by more than
      `sqrt(2 ln(T) / n_1) + sqrt(2 ln(T) / n_2)`, or the mean of a bad arm's last n samples differs from its mean by more than
      `gap / 4 + sqrt(2 ln(T) / n)`.

    Args:
        horizon: number of rounds T, 2 or more.
        C1: width of the eviction test. The theory asks for more than `8 (2n - 1) / n` for every n, so for 16: then an arm that
            2n samples evict is behind by more than twice the radius `sqrt(2 ln(T) / n)` of n samples. 16.1 is just above.
        low: smallest reward.
        high: largest reward; rewards are mapped to [0, 1] by `(reward - low) / (high - low)`.
        outside: "refuse" or "clip" rewards outside the range.

    The radius `sqrt(2 ln(T) / n)` fails for a mean of n samples with a chance of at most `2 / T^4` (Hoeffding). A check takes
    the samples that make the radius 2^-i, the size of the change it looks for. For each i, the checks of all bad arms cost
    `K 2^-i sqrt(l / (K T ln T)) 2^(2i + 1) ln T` samples per round, each at a gap of at most `16 2^-i`. That is a regret of the
    order of `sqrt(l K T ln T)` in T rounds: the publication's bound for l episodes.

    Needs the horizon and the range of the rewards; not the number of changes. Made for arms that change with time, at the
    minimax rate with a large constant (nothing is evicted before `1 + C1 ln T` samples); no guarantee for rested arms, whose
    decay it takes for changes, one episode after the other.

    Example:
        >>> AdSwitch(horizon=10_000)
        AdSwitch(horizon=10000, C1=16.1, low=0.0, high=1.0, outside='refuse')

    Reference: Auer, Gajane, Ortner, "Adaptively tracking the best bandit arm with an unknown number of distribution changes",
    COLT 2019.
    """

    horizon: int = parameter(_HORIZON, "number of rounds T")
    C1: float = parameter(POSITIVE, "width of the eviction test; above 16 in theory", default=16.1)
    low: float = parameter(FINITE, "smallest reward", default=0.0)
    high: float = parameter(FINITE, "largest reward", default=1.0)
    outside: Literal["refuse", "clip"] = parameter(OUTSIDE, "what to do with rewards outside [low, high]", default="refuse")

    name = "ad-switch"
    title = "AdSwitch"
    check = check_range
    needs_horizon = True
    randomised = True
    restless = True
    cost = "O(K t)"
    memory = "O(K t)"


class State(NamedTuple):
    pulls: Ints  # [K] samples of each arm in this episode
    high: Floats  # [K, capacity + 1] sum of the first n of them, as high + low
    low: Floats
    rounds: Ints  # [K, capacity + 1] round of each sample
    last: Ints  # [K] round in which the arm was last played, in any episode
    bad: Ints  # [K] 1 if the arm was evicted in this episode
    unseen: Ints  # [K] 1 if it was evicted after the last search for changes
    gap: Floats  # [K] gap and mean of the arm when it was evicted
    mean: Floats
    until: Ints  # [K] number of samples at which the check of a bad arm ends
    above: Floats  # [K] largest lower confidence bound of a run of the arm's samples
    below: Floats  # [K] smallest upper confidence bound of such a run
    first: Ints  # [K] working space of `evict`: samples before the round at hand, and the mean of those since
    recent: Floats
    episode: Ints  # [2] number l of the episode, and its first round
    epoch: Ints  # [2] rounds before the game that this state is tuned to, and its length T
    presence: Presence  # K, for the probability of a check


def init(p: Params, n_arms: int, capacity: int) -> State:
    s = State(
        pulls=np.zeros(n_arms, np.int64),
        high=np.zeros((n_arms, capacity + 1)),
        low=np.zeros((n_arms, capacity + 1)),
        rounds=np.zeros((n_arms, capacity + 1), np.int64),
        last=np.zeros(n_arms, np.int64),
        bad=np.zeros(n_arms, np.int64),
        unseen=np.zeros(n_arms, np.int64),
        gap=np.zeros(n_arms),
        mean=np.zeros(n_arms),
        until=np.zeros(n_arms, np.int64),
        above=np.zeros(n_arms),
        below=np.zeros(n_arms),
        first=np.zeros(n_arms, np.int64),
        recent=np.zeros(n_arms),
        episode=np.zeros(2, np.int64),
        epoch=np.zeros(2, np.int64),
        presence=new_presence(n_arms),
    )
    reset(p, s, p.horizon)
    return s


def choose(p: Params, s: State, t: int, key: int, arms: Ints) -> int:
    """Begin checks at random, and return the least recently played of the good arms and the arms under check."""
    begin_checks(s, t, key)
    arm = least_recent(s, arms, True)
    return arm if arm >= 0 else least_recent(s, arms, False)


def propensities(p: Params, s: State, t: int, arms: Ints, out: Floats) -> None:
    """Write the probability of each arm: that it is open, and that no arm which was played less recently is open."""
    none = 1.0
    for i in arms:
        none *= stays_closed(s, i)
    for k in range(arms.size):
        out[k] = 1.0 - stays_closed(s, arms[k])
        for j in arms:
            if comes_before(s, j, arms[k]):
                out[k] *= stays_closed(s, j)
        if arms[k] == least_recent(s, arms, False):
            out[k] += none


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    """Record the sample. Begin a new episode if an arm has changed, else evict good arms that are too far behind."""
    s.last[arm] = t
    s.rounds[arm, s.pulls[arm]] = t
    append(s, arm, to_unit(p.low, p.high, reward))
    # A late reward of an arm that was removed is recorded, but begins no new episode.
    changed = s.bad[arm] == 0 and good_arm_changed(s, arm) and s.presence.here[arm] == 1
    for i in range(s.pulls.size):
        if s.bad[i] == 1 and s.presence.here[i] == 1 and (i == arm or s.unseen[i] == 1):
            changed = changed or bad_arm_changed(s, i)
            s.unseen[i] = 0
    if changed:
        new_episode(s, s.episode[0] + 1, t + 1)
    else:
        evict(p, s, t)


def explain(p: Params, s: State, t: int, arms: Ints, i: int) -> Reason:
    n = s.pulls[i]
    if n == 0:
        return Reason(math.nan, math.nan, 0, math.inf)
    return Reason(math.nan, window_mean(s, i, n), n, radius(s, n))


def begin_checks(s: State, t: int, key: int) -> None:
    """Begin a check of each bad arm for changes of 1/2, 1/4, ... with the probability of each."""
    draw = 0
    for a in range(s.pulls.size):
        if s.bad[a] == 1 and s.presence.here[a] == 1:
            step = 0.5
            while step >= s.gap[a] / 16.0:
                if uniform(key, t, draw) < check_probability(s, step):
                    samples = ceil(2.0 / (step * step) * log_horizon(s))
                    s.until[a] = max(s.until[a], s.pulls[a] + samples)
                draw += 1
                step /= 2.0


def stays_closed(s: State, i: int) -> float:
    """Return the probability that arm i is not open after the draws of this round."""
    if is_open(s, i):
        return 0.0
    probability, step = 1.0, 0.5
    while step >= s.gap[i] / 16.0:
        probability *= 1.0 - check_probability(s, step)
        step /= 2.0
    return probability


def is_open(s: State, i: int) -> bool:
    """Return whether arm i is good, or bad and being checked."""
    return bool(s.bad[i] == 0 or s.pulls[i] < s.until[i])


def least_recent(s: State, arms: Ints, only_open: bool) -> int:
    """Return the least recently played of the arms, or of the open ones if `only_open`; -1 if there is none."""
    best = -1
    for i in arms:
        if (is_open(s, i) or not only_open) and (best < 0 or comes_before(s, i, best)):
            best = i
    return int(best)


def comes_before(s: State, i: int, j: int) -> bool:
    """Return whether arm i was played less recently than arm j; of two arms never played, the lower one comes first."""
    return bool(s.last[i] < s.last[j] or (s.last[i] == s.last[j] and i < j))


def check_probability(s: State, step: float) -> float:
    """Return `step sqrt(l / (K T ln T))`: the probability that a check for a change of `step = 2^-i` begins now."""
    return step * math.sqrt(s.episode[0] / (s.presence.number[0] * s.epoch[1] * log_horizon(s)))


def radius(s: State, n: int) -> float:
    """Return `sqrt(2 ln(T) / n)`."""
    return math.sqrt(2.0 * log_horizon(s) / n)


def log_horizon(s: State) -> float:
    return log(s.epoch[1])


def good_arm_changed(s: State, i: int) -> bool:
    """Return whether the means of two runs of arm i's samples differ by more than the sum of their radii."""
    # Only the runs that end now are new. Of all earlier ones, the extreme bounds decide.
    above, below = -math.inf, math.inf
    for n in range(1, s.pulls[i] + 1):
        mean, c = window_mean(s, i, n), radius(s, n)
        above, below = max(above, mean - c), min(below, mean + c)
    s.above[i], s.below[i] = max(s.above[i], above), min(s.below[i], below)
    return bool(s.above[i] > below or above > s.below[i])


def bad_arm_changed(s: State, i: int) -> bool:
    """Return whether the mean of some of arm i's last samples is off its mean at the eviction by over `gap / 4 + radius`."""
    for n in range(1, s.pulls[i] + 1):  # noqa: SIM110 - a generator does not compile
        if abs(window_mean(s, i, n) - s.mean[i]) > s.gap[i] / 4.0 + radius(s, n):
            return True
    return False


def evict(p: Params, s: State, t: int) -> None:
    """Evict the good arms whose mean since some round is too far below the best one; the earliest such round counts."""
    C = p.C1 * log_horizon(s)
    s.first[:] = -1  # no mean was computed yet
    for start in range(s.episode[1], t):
        best, most = -math.inf, 0
        for i in range(s.pulls.size):
            n = s.pulls[i]
            if n == 0 or s.presence.here[i] == 0 or (s.bad[i] == 1 and s.unseen[i] == 0):
                continue
            # The number f of samples before round `start` only grows; the mean changes only when f does.
            f = max(0, s.first[i])
            while f < n and s.rounds[i, f] < start:
                f += 1
            if f == n:
                s.first[i] = f
                continue
            if f != s.first[i]:
                s.first[i] = f
                s.recent[i] = window_mean(s, i, n - f)
            best, most = max(best, s.recent[i]), max(most, n - f)
        if most - 1 <= C:  # from here on only a gap above 1 would evict, and rewards lie in [0, 1]
            return
        for i in range(s.pulls.size):
            n, gap = s.pulls[i] - s.first[i], best - s.recent[i]
            if s.bad[i] == 0 and s.presence.here[i] == 1 and n >= 2 and gap > math.sqrt(C / (n - 1)):
                s.bad[i], s.unseen[i], s.mean[i], s.gap[i] = 1, 1, s.recent[i], gap


def new_episode(s: State, number: int, start: int) -> None:
    s.pulls[:] = 0
    s.bad[:] = 0
    s.unseen[:] = 0
    s.until[:] = 0
    s.above[:] = -math.inf
    s.below[:] = math.inf
    s.episode[0], s.episode[1] = number, start


def reset(p: Params, s: State, horizon: int) -> None:
    s.last[:] = 0
    new_episode(s, 1, 1)
    s.epoch[0], s.epoch[1] = 0, horizon


def tune(p: Params, s: State) -> None:
    """Start the episode again if only evicted arms are left: how they compare with each other is not known.

    That happens when the arms that were better are removed.
    """
    latest, evicted = 0, 0
    for i in range(s.pulls.size):
        latest = max(latest, s.last[i])
        if s.presence.here[i] == 1:
            if s.pulls[i] > 0 and s.bad[i] == 0:
                return
            evicted += s.bad[i]
    if evicted > 0:
        new_episode(s, s.episode[0], latest + 1)


AdSwitch.kernel = Kernel(init, choose, update, explain, propensities, reset=reset, tune=tune)
