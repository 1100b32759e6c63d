"""RC-BE: eliminates arms in windows that grow, for arms that rise with time."""

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
    Presence,
    Reason,
    Rule,
    add,
    ceil,
    log,
    new_presence,
    parameter,
    power,
)

_GROWTH = Rule("a number from 1 to 10", low=1.0, high=10.0)


class RCBE(Policy):
    """RC-BE(alpha), for restless rising concave arms: successive elimination that starts afresh in windows which grow.

    Window w = 1, 2, ... lasts `D_w = ceil(w^alpha)` rounds. It begins with all arms, and plays them in turn, the lowest first.
    After each full turn, arm i is out for the rest of the window if the sum S_i of its rewards in the window has
    `S_i + 2 (1 + 2 sigma sqrt(D_w ln(2 K D_w))) < max S`. A window that ends within a turn cuts it.

    Args:
        alpha: how fast the windows grow; 8/3 is best in theory.
        sigma: sub-Gaussian scale of the rewards.

    Needs to know sigma, and that the means lie in [0, 1]; neither the horizon nor how much the means rise. Made for arms that
    rise with time (restless) and by less each round. Not sound for rotting of either kind: within a window, it trusts the order
    of the arms. The publication proves a regret of order T^(7/11), up to logarithms, at alpha = 8/3, and that none is below
    T^(3/5). In its own test (five arms, sigma = 0.1, means `c (1 - exp(-50 a t / T))` with a and c uniform in (0, 1]), the mean
    regret in 20 of these problems was 1,497 at T = 10,000 and 35,688 at T = 1,000,000: more than T^(7/11) would let it grow, as
    windows must be long before an arm is out. It was 82 and 2,057 for SW-UCB with a window of T / 20.

    Rules of ours: of an arm that is played more than once in a turn, as when the others are not available, the first reward
    counts, and a reward that comes late counts in the turn in which it comes; if none of the arms that wait is available, the
    lowest arm that is still in is played, or else the lowest; an arm that is added goes first, and begins the turns again.

    Example:
        >>> RCBE(sigma=0.1)
        RCBE(alpha=2.6666666666666665, sigma=0.1)

    Reference: Migali, Genalti, Mussi, Metelli, "Tightening regret lower and upper bounds in restless rising bandits", 2025.
    """

    alpha: float = parameter(_GROWTH, "growth of the windows: window w lasts ceil(w**alpha) rounds", default=8.0 / 3.0)
    sigma: float = parameter(POSITIVE, "sub-Gaussian scale of the rewards", default=1.0)

    name = "rcbe"
    title = "RC-BE"
    first_pulls = False


class State(NamedTuple):
    pulls: Ints  # [K] rewards of this window that count
    high: Floats  # [K] S_i: their sum, as high + low
    low: Floats
    active: Ints  # [K] 1 if the arm is still in, 0 if it is out, -1 if it is new
    waiting: Ints  # [K] 1 if no reward of it has counted in this turn
    window: Ints  # [3] w, D_w, and the last round of the window
    presence: Presence  # K


def init(p: Params, n_arms: int, capacity: int) -> State:
    return State(
        pulls=np.zeros(n_arms, np.int64),
        high=np.zeros(n_arms),
        low=np.zeros(n_arms),
        active=np.full(n_arms, -1),
        waiting=np.zeros(n_arms, np.int64),
        window=np.zeros(3, np.int64),
        presence=new_presence(n_arms),
    )


def advance(p: Params, s: State, t: int) -> None:
    """Begin the window that round t belongs to, or end the turn if it is over."""
    if t > s.window[2]:
        while t > s.window[2]:
            s.window[0] += 1
            s.window[1] = ceil(power(float(s.window[0]), p.alpha))
            s.window[2] += s.window[1]
        begin_turns(s)
    elif is_turn_over(s):
        eliminate(p, s)


def begin_turns(s: State) -> None:
    """Forget the rewards, and let all arms in that are present."""
    s.pulls[:] = 0
    s.high[:] = 0.0
    s.low[:] = 0.0
    for i in range(s.active.size):
        s.waiting[i] = s.presence.here[i]
        s.active[i] = 1 if s.presence.here[i] == 1 else -1


def is_turn_over(s: State) -> bool:
    """Return whether no arm that is present and still in waits for its turn."""
    for i in range(s.waiting.size):  # noqa: SIM110 - a generator does not compile
        if s.waiting[i] == 1 and s.presence.here[i] == 1:
            return False
    return True


def eliminate(p: Params, s: State) -> None:
    """Take out the arms whose sums are too far behind, and begin the next turn."""
    D, best = float(s.window[1]), -math.inf
    slack = 2.0 * (1.0 + 2.0 * p.sigma * math.sqrt(D * log(2.0 * s.presence.number[0] * D)))
    for i in range(s.active.size):
        if s.active[i] == 1 and s.presence.here[i] == 1:
            best = max(best, s.high[i])
    for i in range(s.active.size):
        if s.active[i] == 1 and s.high[i] + slack < best:
            s.active[i] = 0
        s.waiting[i] = max(0, s.active[i])


def choose(p: Params, s: State, t: int, key: int, arms: Ints) -> int:
    """Return a new arm, or the lowest whose turn it is; if none is available, the lowest that is still in; else the lowest."""
    advance(p, s, t)
    for i in arms:
        if s.active[i] < 0:
            return int(i)
    for i in arms:
        if s.waiting[i] == 1:
            return int(i)
    for i in arms:
        if s.active[i] == 1:
            return int(i)
    return int(arms[0])


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    advance(p, s, t)
    if s.active[arm] < 0:
        begin_turns(s)
    if s.waiting[arm] == 1:
        s.waiting[arm] = 0
        s.pulls[arm] += 1
        s.high[arm], s.low[arm] = add(s.high[arm], s.low[arm], reward)


def explain(p: Params, s: State, t: int, arms: Ints, i: int) -> Reason:
    if t > s.window[2] or s.pulls[i] == 0:
        return Reason(math.nan, math.nan, 0, math.nan)
    return Reason(math.nan, s.high[i] / s.pulls[i], s.pulls[i], math.nan)


RCBE.kernel = Kernel(init, choose, update, explain)
