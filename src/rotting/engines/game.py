"""The one loop: a policy plays a problem.

`play` is one game and allocates nothing, so that one thread of any machine can run it; `play_runs` sets up one game after the
other. Both call the policy (`init`, `choose`, `update`), the noise (`draw`), what an oracle sees (`reveal`) and what is
recorded (`look`, `note`) through slots that `link` fills.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.kernels.binding import allocates_nothing, bind, raises, slot
from rotting.kernels.exact_sums import add, difference
from rotting.kernels.random_numbers import subkey
from rotting.policy import Policy, small_capacity
from rotting.problems.mean_table import Means, mean_at, seek
from rotting.problems.noise import Noise

CANCEL, DONE = 0, 1  # places of `signal`: set to stop the game; rounds played so far
_POLL = 1 << 14  # rounds between two looks at `signal`
_MORE = 2  # times the room, when there is none left
_NOTHING: Mapping[Any, Any] = {}


class Board(NamedTuple):
    """Where one game stands: what the problem knows of the rounds played."""

    pulls: Ints  # [K] N_i
    round_piece: Ints  # [K] piece of each arm's means that the last round looked up lies in
    pull_piece: Ints  # [K] the same over the arm's own pulls
    passed: Ints  # [2] rounds and checkpoints that lie behind
    collected: Floats  # [2] the sum of the means of the arms pulled, as high + low
    log: Any = ()  # a `Log` of the rounds, if they are recorded
    extra: Any = ()  # what else is to be remembered, of a problem that has terms


def new_board(m: Means, pulls: Ints, log: Any = (), extra: Any = ()) -> Board:
    """Return the board of a game that begins, which counts the pulls in `pulls`."""
    pieces = m.round_first[:-1].copy(), m.pull_first[:-1].copy()
    return Board(pulls, pieces[0], pieces[1], np.zeros(2, np.int64), np.zeros(2), log, extra)


@slot
def init(p: Any, n_arms: int, capacity: int) -> Any:
    """Stand for the policy's `init`."""
    raise NotImplementedError


@slot
def choose(p: Any, s: Any, t: int, key: int, arms: Ints) -> int:
    """Stand for the policy's `choose`."""
    raise NotImplementedError


@slot
def update(p: Any, s: Any, t: int, arm: int, reward: float) -> None:
    """Stand for the policy's `update`."""
    raise NotImplementedError


@slot
def draw(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    """Stand for the noise's `draw`."""
    raise NotImplementedError


def mean_now(m: Means, b: Board, i: int, t: int) -> float:
    """Return the mean that arm i would pay at round t."""
    b.round_piece[i] = seek(m.round_starts, b.round_piece[i], m.round_first[i + 1], t)
    b.pull_piece[i] = seek(m.pull_starts, b.pull_piece[i], m.pull_first[i + 1], b.pulls[i])
    return mean_at(m, i, b.round_piece[i], b.pull_piece[i])


def visit(b: Board, i: int) -> None:
    """Trust the choice."""


def visit_checked(b: Board, i: int) -> None:
    """Refuse an arm that is not there; a negative one would count from the last arm, wherever indices are checked."""
    b.pulls[i if i >= 0 else b.pulls.size] += 0


@slot
def draw_of_noise(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    """Stand for the noise's `draw` where the rewards are looked at."""
    raise NotImplementedError


@raises
def draw_checked(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    """Refuse a reward that is no finite number: a policy would go on with it in silence."""
    reward = draw_of_noise(mean, scale, key, run, arm, clock)
    if not math.isfinite(reward):
        raise FloatingPointError
    return reward


def available(m: Means, t: int, arms: Ints) -> Ints:
    """Return the arms that may be pulled at round t: all of them."""
    return arms


def hear(p: Any, s: Any, b: Board, m: Means, t: int) -> None:
    """Wait for no reward: each was seen in its own round."""


def observe(p: Any, s: Any, b: Board, m: Means, t: int, i: int, reward: float, run: int) -> None:
    """Show the policy the reward at once."""
    update(p, s, t, i, reward)


def count(m: Means, b: Board, i: int, t: int) -> None:
    """Count a pull."""
    b.pulls[i] += 1


def extra_of_run(m: Any, n_arms: int, horizon: int) -> Any:
    """Remember nothing else."""
    return ()


def reveal(s: Any, m: Means, b: Board, t: int) -> None:
    """Show a learner nothing."""


def reveal_means(s: Any, m: Means, b: Board, t: int) -> None:
    """Show an oracle the mean of every arm."""
    for i in range(b.pulls.size):
        s.means[i] = mean_now(m, b, i, t)


def means_of_run(m: Any, r: int, n_arms: int) -> Any:
    """Return the means of one of the runs that are played: the same for all."""
    return m


def own_means(m: Any, r: int, n_arms: int) -> Any:
    """Return the means of one run, where those of several follow one another."""
    a, b = r * n_arms, (r + 1) * n_arms
    return Means(
        m.kinds[a:b],
        m.on_rounds[a:b],
        m.round_starts,
        m.round_values,
        m.round_first[a : b + 1],
        m.pull_starts,
        m.pull_values,
        m.pull_first[a : b + 1],
        m.grid,
        m.grid_first[a : b + 1],
    )


def optimum_of_run(optimal: Floats, r: int) -> Floats:
    """Return what the optimal policy collects in one of the runs: the same in all."""
    return optimal


def own_optimum(optimal: Floats, r: int) -> Any:
    """Return what the optimal policy collects in one run, where each has its own."""
    return optimal[r]


def log_of_run(log: Any, r: int) -> Any:
    """Record nothing."""
    return ()


def look(p: Any, s: Any, m: Means, b: Board, t: int, arms: Ints) -> None:
    """Record nothing of the arms before a choice."""


def note(b: Board, t: int, i: int, reward: float) -> None:
    """Record nothing of a round."""


def room_at_first(n_arms: int, rounds: int) -> int:
    """Make room for every round."""
    return rounds


def is_full(s: Any) -> bool:
    """There is room for every round."""
    return False


def says_full(s: Any) -> bool:
    """Tell whether the last update found no room."""
    return bool(s.full[0] != 0)


def enlarge(p: Any, s: Any, capacity: int) -> Any:
    """Leave a state that is never full as it is."""
    return s


def is_cancelled(signal: Ints, rounds: int) -> bool:
    """Count more rounds as played, and tell whether to stop."""
    signal[DONE] += rounds
    return bool(signal[CANCEL] != 0)


@allocates_nothing
def play(
    p: Any,
    s: Any,
    b: Board,
    m: Means,
    scale: float,
    noise_key: int,
    policy_key: int,
    run: int,
    arms: Ints,
    checkpoints: Ints,
    optimal: Floats,
    regret: Floats,
    last: int,
    signal: Ints,
) -> None:
    """Play on to round `last`, or until the state is full; write the pseudo-regret at each checkpoint into `regret`.

    A round in which the state was full is not played; it comes again once the state is enlarged.
    """
    mark, high, low = b.passed[1], b.collected[0], b.collected[1]
    for t in range(b.passed[0] + 1, last + 1):
        hear(p, s, b, m, t)
        if is_full(s):
            b.passed[0], b.passed[1], b.collected[0], b.collected[1] = t - 1, mark, high, low
            return
        reveal(s, m, b, t)
        now = available(m, t, arms)
        look(p, s, m, b, t, now)
        i = choose(p, s, t, policy_key, now)
        visit(b, i)
        mean = mean_now(m, b, i, t)
        clock = t - 1 if m.on_rounds[i] else b.pulls[i]
        reward = draw(mean, scale, noise_key, run, i, clock)
        note(b, t, i, reward)
        observe(p, s, b, m, t, i, reward, run)
        if is_full(s):
            b.passed[0], b.passed[1], b.collected[0], b.collected[1] = t - 1, mark, high, low
            return
        count(m, b, i, t)
        high, low = add(high, low, mean)
        if t == checkpoints[mark]:
            regret[mark] = difference(optimal[mark], 0.0, high, low)
            mark += 1
        if t % _POLL == 0 and is_cancelled(signal, _POLL):
            return
    is_cancelled(signal, last % _POLL)
    b.passed[0], b.passed[1], b.collected[0], b.collected[1] = last, mark, high, low


def play_runs(
    p: Any,
    m: Means,
    scale: float,
    noise_key: int,
    policy_key: int,
    first_run: int,
    checkpoints: Ints,
    optimal: Floats,
    regret: Floats,
    pulls: Ints,
    log: Any,
    signal: Ints,
) -> None:
    """Play one game for each row of `regret` [runs, checkpoints], `pulls` [runs, K] and the arrays of a `Log`, if it is one.

    Where each run has a problem of its own, their means follow one another in `m`, and `optimal` has a row for each.
    """
    n_arms = pulls.shape[1]
    arms = np.arange(n_arms)
    for r in range(regret.shape[0]):
        if signal[CANCEL] != 0:
            return
        run = first_run + r
        capacity = room_at_first(n_arms, checkpoints[-1])
        s = init(p, n_arms, capacity)
        mine, best = means_of_run(m, r, n_arms), optimum_of_run(optimal, r)
        b = new_board(mine, pulls[r], log_of_run(log, r), extra_of_run(mine, n_arms, checkpoints[-1]))
        key = subkey(policy_key, run)
        while True:  # one call: its code is compiled in place
            play(p, s, b, mine, scale, noise_key, key, run, arms, checkpoints, best, regret[r], checkpoints[-1], signal)
            if not is_full(s):
                break
            capacity *= _MORE
            s = enlarge(p, s, capacity)


def link(policy: Policy, noise: Noise, checked: bool = False, more: Mapping[Any, Any] = _NOTHING) -> Callable[..., None]:
    """Return `play_runs` bound to this policy and this noise, still plain.

    Args:
        policy: whose `init`, `choose` and `update` are called.
        noise: whose `draw` is.
        checked: look at choices and rewards.
        more: other functions to bind, such as those that record.
    """
    kernel = policy.kernel
    parts: dict[Any, Any] = {init: kernel.init, choose: kernel.choose, update: kernel.update, draw: noise.draw}
    if policy.sees_means:
        parts[reveal] = reveal_means
    if kernel.enlarge is not None:
        parts |= {room_at_first: small_capacity, is_full: says_full, enlarge: kernel.enlarge}
    if checked:
        parts |= {visit: visit_checked, draw: draw_checked, draw_of_noise: noise.draw}
    return bind(play_runs, {**parts, **more})
