"""The game loop: a policy plays a problem.

`play` plays one game and allocates nothing, so that a thread of any device can run it; `play_runs` sets up one game after the
other. Both call the policy through the slots of `policy_functions.py`. The other small functions of this module do nothing,
or what the simplest game needs. `bind_game` replaces some of them for games that need more, such as an oracle that sees the
means, a state that can fill up, or a record of every round.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.policies.kernels.binding import NO_BINDINGS, Bindings, KernelFunction, allocates_nothing, bind, raises, slot
from rotting.policies.kernels.exact_sums import add, difference
from rotting.policies.kernels.policy_functions import choose, init, update
from rotting.policies.kernels.random_numbers import subkey
from rotting.policy import Kernel, Params, Policy, small_capacity
from rotting.problems.mean_table import Means, mean_at, seek
from rotting.problems.noise import Noise

CANCEL, DONE = 0, 1  # positions in `signal`: a request to stop, and the number of rounds played
_POLL = 1 << 14  # rounds between two checks of `signal`
_GROWTH = 2  # factor by which the capacity of a full state grows


class Board(NamedTuple):
    """The progress of one game, apart from the policy's state."""

    pulls: Ints  # [K] N_i
    round_piece: Ints  # [K] the piece of each arm's means that the last round looked up lies in
    pull_piece: Ints  # [K] the same over the arm's own pulls
    done: Ints  # [2] the number of rounds and of checkpoints that are done
    memory_key: Ints  # [1] the key of arms with a memory, in this run
    collected: Floats  # [2] the sum of the means of the arms pulled, as high + low
    states: Floats  # [K, columns] the states of arms with a memory; empty if there are none
    record: Any = ()  # a `RoundRecord`, if the rounds are recorded
    memory: Any = ()  # a `GameMemory`, if the problem has extensions


def new_board(m: Means, pulls: Ints, record: object = (), memory: object = ()) -> Board:
    """Return the board of a new game, which counts its pulls in `pulls`."""
    pieces = m.round_first[:-1].copy(), m.pull_first[:-1].copy()
    done, memory_key = np.zeros(2, np.int64), np.zeros(1, np.int64)
    return Board(pulls, pieces[0], pieces[1], done, memory_key, np.zeros(2), new_states(m), record, memory)


def new_states(m: Means) -> Floats:
    """Return no room for states: only arms with a memory need some."""
    return np.zeros((0, 0))


def start_arms(m: Means, b: Board, run: int) -> None:
    """Do nothing: only arms with a memory have a state."""


@slot
def draw(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    """Slot: the noise's `draw`, or `draw_checked`."""
    raise NotImplementedError


@slot
def noise_draw(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    """Slot: the noise's `draw`, as `draw_checked` calls it."""
    raise NotImplementedError


@raises
def draw_checked(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    """Refuse a reward that is not finite, which a policy would use without noticing."""
    reward = noise_draw(mean, scale, key, run, arm, clock)
    if not math.isfinite(reward):
        raise FloatingPointError
    return reward


def mean_now(m: Means, b: Board, i: int, t: int) -> float:
    """Return the mean of arm i at round t."""
    b.round_piece[i] = seek(m.round_starts, b.round_piece[i], m.round_first[i + 1], t)
    b.pull_piece[i] = seek(m.pull_starts, b.pull_piece[i], m.pull_first[i + 1], b.pulls[i])
    return mean_at(m, i, b.round_piece[i], b.pull_piece[i])


def check_arm(b: Board, i: int) -> None:
    """Accept every choice."""


def check_arm_in_range(b: Board, i: int) -> None:
    """Raise IndexError if there is no arm i, where indices are checked; a negative index would count from the last arm."""
    b.pulls[i if i >= 0 else b.pulls.size] += 0


def list_available(p: Params, s: object, b: Board, m: Means, t: int, arms: Ints) -> int:
    """Make `arms` begin with those that may be pulled at round t, and return their number: all arms are there, and stay."""
    return arms.size


def deliver_due_rewards(p: Params, s: object, b: Board, m: Means, t: int) -> None:
    """Do nothing: without delays, the policy saw every reward in its own round."""


def observe(p: Params, s: object, b: Board, m: Means, t: int, i: int, reward: float, run: int) -> None:
    """Show the policy the reward at once."""
    update(p, s, t, i, reward)


def count(m: Means, b: Board, i: int, t: int) -> None:
    """Count a pull."""
    b.pulls[i] += 1


def reveal(s: object, m: Means, b: Board, t: int) -> None:
    """Show the policy nothing of the means."""


def reveal_means(s: Any, m: Means, b: Board, t: int) -> None:
    """Show an oracle the mean of every arm."""
    for i in range(b.pulls.size):
        s.means[i] = mean_now(m, b, i, t)


def means_of_run(m: Means, r: int, n_arms: int) -> Means:
    """Return the means of the r-th run: the same for all runs."""
    return m


def means_by_run(m: Means, r: int, n_arms: int) -> Means:
    """Return the means of the r-th run, where `m` holds those of several runs one after the other."""
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
    """Return what the optimal policy collects in the r-th run: the same in all runs."""
    return optimal


def optimum_by_run(optimal: Floats, r: int) -> Any:
    """Return what the optimal policy collects in the r-th run, where `optimal` has a row for each."""
    return optimal[r]


def memory_of_run(m: Means, n_arms: int, horizon: int) -> object:
    """Return no memory: only extensions of a problem need one."""
    return ()


def record_of_run(record: object, r: int) -> object:
    """Return no record."""
    return ()


def record_state(p: Params, s: object, m: Means, b: Board, t: int, arms: Ints) -> None:
    """Record nothing before a choice."""


def record_round(b: Board, t: int, i: int, reward: float) -> None:
    """Record nothing of a round."""


def initial_capacity(n_arms: int, rounds: int) -> int:
    """Return room for every round."""
    return rounds


def is_full(s: object) -> bool:
    """Return False: the state has room for every round."""
    return False


def state_is_full(s: Any) -> bool:
    """Return whether the last update found no room in the state."""
    return bool(s.full[0] != 0)


def full_parts(kernel: Kernel) -> Bindings:
    """Return the functions to bind into any loop with `is_full`: a state can be full if the policy can enlarge it."""
    return NO_BINDINGS if kernel.enlarge is None else {is_full: state_is_full}


class HasPropensity(Protocol):
    """A state whose `update` divides by the propensity of the decision."""

    @property
    def propensity(self) -> Floats:
        """[K] the probability with which each arm was last drawn."""


def set_propensity(s: object, arm: int, propensity: float) -> None:
    """Do nothing: the policy does not use the propensities of decisions."""


def write_propensity(s: HasPropensity, arm: int, propensity: float) -> None:
    """Write the propensity of the decision whose reward is learned next into the state."""
    s.propensity[arm] = propensity


def enlarge(p: Params, s: object, capacity: int) -> object:
    """Return the state unchanged: it is never full."""
    return s


def report_rounds(signal: Ints, rounds: int) -> bool:
    """Add to the number of rounds played, and return whether to stop."""
    signal[DONE] += rounds
    return bool(signal[CANCEL] != 0)


@allocates_nothing
def play(
    p: Params,
    s: object,
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

    A round in which the state fills up does not count. It is played again after the state is enlarged.
    """
    start_arms(m, b, run)
    mark, high, low = b.done[1], b.collected[0], b.collected[1]
    for t in range(b.done[0] + 1, last + 1):
        deliver_due_rewards(p, s, b, m, t)
        if is_full(s):
            b.done[0], b.done[1], b.collected[0], b.collected[1] = t - 1, mark, high, low
            return
        reveal(s, m, b, t)
        now = arms[: list_available(p, s, b, m, t, arms)]
        record_state(p, s, m, b, t, now)
        i = choose(p, s, t, policy_key, now)
        check_arm(b, i)
        mean = mean_now(m, b, i, t)
        clock = t - 1 if m.on_rounds[i] else b.pulls[i]
        reward = draw(mean, scale, noise_key, run, i, clock)
        record_round(b, t, i, reward)
        observe(p, s, b, m, t, i, reward, run)
        if is_full(s):
            b.done[0], b.done[1], b.collected[0], b.collected[1] = t - 1, mark, high, low
            return
        count(m, b, i, t)
        high, low = add(high, low, mean)
        if t == checkpoints[mark]:
            regret[mark] = difference(optimal[mark], 0.0, high, low)
            mark += 1
        if t % _POLL == 0 and report_rounds(signal, _POLL):
            return
    report_rounds(signal, last % _POLL)
    b.done[0], b.done[1], b.collected[0], b.collected[1] = last, mark, high, low


def play_runs(
    p: Params,
    m: Means,
    scale: float,
    noise_key: int,
    policy_key: int,
    first_run: int,
    checkpoints: Ints,
    optimal: Floats,
    regret: Floats,
    pulls: Ints,
    record: object,
    signal: Ints,
) -> None:
    """Play one game for each row of `regret` [runs, checkpoints] and `pulls` [runs, K], and of the arrays of a `RoundRecord`.

    If each run has its own problem, `m` holds the means of all runs one after the other, and `optimal` has a row for each.
    """
    n_arms = pulls.shape[1]
    arms = np.arange(n_arms)
    for r in range(regret.shape[0]):
        if signal[CANCEL] != 0:
            return
        run = first_run + r
        capacity = initial_capacity(n_arms, checkpoints[-1])
        s: object = init(p, n_arms, capacity)
        mine, best = means_of_run(m, r, n_arms), optimum_of_run(optimal, r)
        b = new_board(mine, pulls[r], record_of_run(record, r), memory_of_run(mine, n_arms, checkpoints[-1]))
        key = subkey(policy_key, run)
        while True:  # with a single call of `play`, since its code is compiled into each place that calls it
            play(p, s, b, mine, scale, noise_key, key, run, arms, checkpoints, best, regret[r], checkpoints[-1], signal)
            if not is_full(s):
                break
            capacity *= _GROWTH
            s = enlarge(p, s, capacity)


def policy_parts(policy: Policy, noise: Noise) -> dict[KernelFunction, KernelFunction]:
    """Return the functions to bind into `play` for this policy and this noise."""
    kernel = policy.kernel
    seen = {reveal: reveal_means} if policy.sees_means else {}
    return {choose: kernel.choose, update: kernel.update, draw: noise.draw, **seen, **full_parts(kernel)}


def bind_game(policy: Policy, noise: Noise, checked: bool = False, more: Bindings = NO_BINDINGS) -> Callable[..., None]:
    """Return `play_runs` bound to this policy and this noise: a plain function.

    Args:
        policy: its `init`, `choose` and `update` are called.
        noise: its `draw` is called.
        checked: whether choices and rewards are checked.
        more: other functions to replace, such as those that record.
    """
    parts = policy_parts(policy, noise)
    parts[init] = policy.kernel.init
    if policy.kernel.enlarge is not None:
        parts |= {initial_capacity: small_capacity, enlarge: policy.kernel.enlarge}
    if checked:
        parts |= {check_arm: check_arm_in_range, draw: draw_checked, noise_draw: noise.draw}
    return bind(play_runs, {**parts, **more})
