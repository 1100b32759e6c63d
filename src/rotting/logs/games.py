"""Games of policies on a log: on its own rewards, or on problems that it could have come from.

Let X(i, n) be the reward of the n-th pull of arm i, whenever that pull comes: the arms are rested. A log shows X(i, 1), X(i,
2), ... in their order, whatever policy wrote it. A policy that gets its rewards from these stacks plays the game that it would
have played live, decision by decision, until it asks for a reward that the log does not have. A reward that is missing keeps
its place: the pull wears out the arm, and nothing is learned from it.

In both kinds of games a policy chooses among the arms that could be chosen in that round of the log. One loop plays both, so
that it is compiled once for each policy.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import nonnegative_int
from rotting.live.policy_state import first_capacity, grow
from rotting.logs.log import Log, positions
from rotting.policies.kernels.binding import bind
from rotting.policies.kernels.policy_functions import choose, new_state, update
from rotting.policies.kernels.random_numbers import derive_key, subkey
from rotting.policy import Params, Policy
from rotting.problems.mean_table import SUM, Means, join, no_steps, one_arm
from rotting.problems.noise import Noise
from rotting.simulation.engines.game import Board, draw, full_parts, is_full, mean_now, new_board
from rotting.simulation.engines.tiers import COMPILE_SECONDS, EntryPoint, interpreted, resolve_mode

FEW_ROUNDS = round(COMPILE_SECONDS / 100e-6)
"""Rounds of a log that take about as long interpreted, at 60 to 200 us each, as compiling the loop."""
NO_MEANS = join([one_arm(SUM, no_steps(), no_steps())])
_LATE = 0.05  # of the rows: an arm whose first row comes later may have been launched late
_LATE_ROWS = 20  # rows for each arm that must come before a late launch: a policy that learns may try an arm late
_LAUNCH_ROWS = 15  # of a late arm in as many rows again: by chance it would have been absent before once in 2**15 arms
_PLAYED, _BEGUN, _CHOSEN = range(3)  # positions in `progress`


class Openings(NamedTuple):
    """Which arms could be chosen in each round of a log: all that are launched, unless the log lists them."""

    which: Ints  # [round] the set of each round
    starts: Ints  # [set] where its arms begin; the next set begins where they end
    members: Ints  # the arms of the sets, one after the other

    def mask(self, n_arms: int) -> NDArray[np.bool_]:
        """Return the arms of each set [set, arm]."""
        found = np.zeros((self.starts.size - 1, n_arms), bool)
        found[np.repeat(np.arange(len(found)), np.diff(self.starts)), self.members] = True
        return found


def openings_of(log: Log) -> Openings:
    """Return which arms could be chosen in each round."""
    places = {name: i for i, name in enumerate(log.arms)}
    if log.available is None:
        first = launches(log)
        times = np.unique(first)
        which, sets = np.searchsorted(times, np.arange(len(log)), side="right") - 1, [np.flatnonzero(first <= t) for t in times]
    else:
        numbers: dict[frozenset[object], int] = {}
        which = np.array([numbers.setdefault(each, len(numbers)) for each in log.available])
        sets = [np.array(sorted(places[name] for name in each if name in places), np.int64) for each in numbers]
    return Openings(which, np.cumsum([0, *map(len, sets)]), np.concatenate(sets))


def launches(log: Log) -> Ints:
    """Return the row at which each arm was launched: 0 unless the first row of the arm is clearly late.

    Example:
        >>> launches(Log({"arm": ["a", "b"] * 200 + ["a", "c"] * 50, "reward": [1.0] * 500}))
        array([  0,   0, 401])
    """
    size = len(log)
    first = np.full(len(log.arms), size)
    np.minimum.at(first, log.arm, np.arange(size))
    late = first > max(_LATE * size, _LATE_ROWS * len(log.arms))
    soon = np.bincount(log.arm[np.arange(size) <= 2 * first[log.arm]], minlength=len(log.arms))
    return np.where(late & (soon >= _LAUNCH_ROWS), first, 0)


class Stacks(NamedTuple):
    """The rewards of each unit and arm, in the order of their pulls; NaN if one is missing."""

    rewards: Floats  # all stacks one after the other
    starts: Ints  # [unit * K + arm] where a stack begins; the next one begins where it ends
    units: Ints  # [round] the unit that each round of the log served
    n_arms: int


def stacks_of(log: Log) -> Stacks:
    """Return the stacks of a log; a missing reward keeps its place."""
    n_arms = len(log.arms)
    places = log.unit * n_arms + log.arm
    lengths = np.bincount(places, minlength=n_arms * len(log.units))
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return Stacks(log.reward[np.argsort(places, kind="stable")], starts, log.unit.copy(), n_arms)


class Rules(NamedTuple):
    """What a game is played by, apart from the policy."""

    openings: Openings
    rewards: Floats  # of the stacks; empty in a game on a problem
    starts: Ints
    units: Ints
    means: Means  # of the problem
    seen: Ints  # [round] whether the policy learns the reward, in a game on a problem


def list_open(o: Openings, t: int, arms: Ints, note: Ints) -> int:
    """Make `arms` begin with those that can be chosen at round t, and return their number; `note` remembers both."""
    now = o.which[t - 1]
    if note[1] != now:
        note[0], note[1] = o.starts[now + 1] - o.starts[now], now
        for k in range(note[0]):
            arms[k] = o.members[o.starts[now] + k]
    return int(note[0])


def play_rounds(
    p: Params,
    s: object,
    key: int,
    rules: Rules,
    scale: float,
    noise_key: int,
    run: int,
    arms: Ints,
    note: Ints,
    b: Board,
    taken: Ints,
    choices: Ints,
    progress: Ints,
) -> bool:
    """Play rounds until one cannot be played; return whether the state must be enlarged first.

    `progress` holds the number of rounds played, 1 if the arm of the next round is chosen already, and that arm.
    """
    while progress[_PLAYED] < rules.seen.size:
        k = progress[_PLAYED]
        if progress[_BEGUN] == 0:
            progress[_CHOSEN] = choose(p, s, k + 1, key, arms[: list_open(rules.openings, k + 1, arms, note)])
            progress[_BEGUN] = 1
        i = progress[_CHOSEN]
        place = 0
        if rules.starts.size > 0:
            place = rules.units[k] * b.pulls.size + i
            if rules.starts[place] + taken[place] == rules.starts[place + 1]:
                return False
            reward = rules.rewards[rules.starts[place] + taken[place]]
            mean, known = 0.0, reward == reward  # noqa: PLR0124 - NaN is not equal to itself
        else:
            mean, known = mean_now(rules.means, b, i, k + 1), rules.seen[k] != 0
            clock = k if rules.means.on_rounds[i] else b.pulls[i]
            reward = draw(mean, scale, noise_key, run, i, clock) if known else 0.0
        if known:
            update(p, s, k + 1, i, reward)
            if is_full(s):
                return True
        if rules.starts.size > 0:
            taken[place] += 1
        b.collected[0] += mean
        b.pulls[i] += 1
        if choices.size > 0:
            choices[k] = i
        progress[_PLAYED], progress[_BEGUN] = k + 1, 0
    return False


class Played(NamedTuple):
    """A game that was played, up to the round in which a stack is empty."""

    choices: Ints  # [rounds played]; empty in a game on a problem
    pulls: Ints  # [K]
    earned: float  # the sum of known rewards, or of means
    ran_out: int | None  # the arm that the policy asked for when the game ended; None if every round was played


class Player:
    """A policy that plays games on a log; several threads may use it.

    Args:
        policy: the policy.
        noise: the noise of the problems.
        n_arms: K.
        rounds: about how many rounds it will play: few are interpreted unless it is compiled already.
    """

    def __init__(self, policy: Policy, noise: Noise, n_arms: int, rounds: int) -> None:
        self.policy, self.noise, self.n_arms = policy, noise, n_arms
        self._play = _loop(policy, noise, rounds)

    def on_stacks(self, stacks: Stacks, openings: Openings, seed: int) -> Played:
        """Play the rounds of a log on its stacks, as `Bandit(policy, arms, seed)` would play them live."""
        key = derive_key(nonnegative_int("seed", seed), "policy")
        seen = np.ones(stacks.units.size, np.int64)
        rules = Rules(openings, stacks.rewards, stacks.starts, stacks.units, NO_MEANS, seen)
        game = self._game(rules, key, 0, 0, keep=True)
        places = stacks.units[: game.choices.size] * stacks.n_arms + game.choices
        paid = stacks.rewards[stacks.starts[places] + positions(places)]
        return game._replace(earned=float(np.nansum(paid)))

    def on_means(self, means: Means, openings: Openings, seen: Ints, seed: int, run: int) -> Played:
        """Play a run on a problem; the noise is that of `simulate`."""
        nothing = np.zeros(0, np.int64)
        rules = Rules(openings, np.zeros(0), nothing, nothing, means, seen)
        return self._game(rules, subkey(derive_key(seed, "policy"), run), derive_key(seed, "noise"), run, keep=False)

    def _game(self, rules: Rules, key: int, noise_key: int, run: int, keep: bool) -> Played:
        policy, n_arms, rounds = self.policy, self.n_arms, rules.seen.size
        capacity = first_capacity(policy, n_arms, rounds)
        state = new_state(policy, n_arms, capacity)
        arms, note, progress = np.arange(n_arms), np.array([0, -1]), np.zeros(3, np.int64)
        board = new_board(rules.means, np.zeros(n_arms, np.int64))
        taken, choices = np.zeros(max(rules.starts.size - 1, 0), np.int64), np.zeros(rounds if keep else 0, np.int64)
        rest = (key, rules, self.noise.scale, noise_key, run, arms, note, board, taken, choices, progress)
        with np.errstate(all="ignore"):  # as machine code, which does not warn
            while self._play(policy.params, state, *rest):
                state.full[0] = 0
                capacity *= 2
                state = grow(policy, state, n_arms, capacity)
        ran_out = int(progress[_CHOSEN]) if progress[_BEGUN] else None
        return Played(choices[: progress[_PLAYED]], board.pulls, float(board.collected[0]), ran_out)


def _loop(policy: Policy, noise: Noise, rounds: int) -> Callable[..., bool]:
    """Return the loop of a policy: interpreted if it is not compiled yet and few rounds are to be played, else machine code."""
    kernel = policy.kernel
    loop = bind(play_rounds, {choose: kernel.choose, update: kernel.update, draw: noise.draw, **full_parts(kernel)})
    numbers = np.zeros(1, np.int64)
    rules = Rules(Openings(*[numbers] * 3), np.zeros(1), numbers, numbers, NO_MEANS, numbers)
    board = new_board(rules.means, numbers)
    rest = (1, rules, noise.scale, 1, 0, numbers, numbers, board, numbers, numbers, numbers)
    entry = EntryPoint(loop, policy, (policy.params, new_state(policy, 1, 1), *rest), noise=noise)
    mode = resolve_mode("auto")
    few = rounds < FEW_ROUNDS and entry.is_library_code and not entry.is_available
    if mode == "never" or (mode == "auto" and few):
        return interpreted(entry)
    from rotting.simulation.engines.compile import guarded_for  # noqa: PLC0415 - imports Numba

    return guarded_for(entry)
