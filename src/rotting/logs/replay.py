"""What other choices would have earned on the rewards that are in a log.

`replay` plays policies on the rewards as far as they reach. `fixed_choices` weighs the rewards by inverse propensities, for one
arm in every round, or an arm at random.
"""

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats
from rotting.common.display.html_parts import block
from rotting.common.display.tables import NO_INTERVAL, Column, FormattedTable, Row, interval_text, number_format
from rotting.common.progress import Progress
from rotting.common.rules import nonnegative_int
from rotting.common.short_numbers import word_list
from rotting.common.statistics import LEVEL, Interval, NoInterval
from rotting.errors import InvalidValueError
from rotting.live.bandit_state import check_learner
from rotting.live.values import RewardRule
from rotting.logs.cells import Decay, scale_of
from rotting.logs.diagnosis import Diagnosis, diagnose
from rotting.logs.games import Played, Player, Stacks, openings_of, stacks_of
from rotting.logs.log import Log, check_log, earned_text, sum_format
from rotting.logs.rates import weighted_interval
from rotting.policy import Policy, check_policies
from rotting.problems.noise import Bernoulli, Noise, Resampled

FEW_ANSWERED = 0.2
"""Of the rounds: a replay that answers fewer says too little for a table."""
_WINDOWS = tuple(25 * 2**k for k in range(16))  # rewards of an arm whose mean bounds what it pays later
_ERROR = 0.05
_FALSE_ALARM = 0.001  # the chance that the right propensities of a log fail their check
_MANY_EVENTS = 200  # events of equal weight from which on a mean is nearly normal
_FEWEST_ROWS = 30  # rows of equal weight, below which a mean is not nearly normal


class FixedChoice(NamedTuple):
    """What a fixed choice would have earned.

    Args:
        arm: the arm of every round; None for an arm at random, every available one with the same chance.
        rounds: the number of rows in which the arm was available, and whose reward and propensity are known.
        weight: the mean weight of these rows, about 1 if the propensities are right.
        value: the mean reward of a round, with its 95 % interval.
    """

    arm: Hashable | None
    rounds: int
    weight: float
    value: Interval


@dataclass(frozen=True)
class PolicyReplay:
    """The replay of one policy.

    Args:
        policy: the policy.
        steps: how many rounds the log could answer.
        reward: the sum of the known rewards in these rounds. Exact if arms wear out with their pulls, or not at all.
        log_reward: what the log earned in as many rounds.
        ran_out: the arm that the policy asked for when the log had no more of its rewards; None if every round was answered.
        choices: the arms that the policy chose in these rounds.
        low: a lower bound of the sum of the rewards in all rounds of the log, on average over logs like this one, if arms wear
            out with their pulls or not at all; NaN without one.
        high: an upper bound; NaN if there is none.
        why: why a bound is missing; empty if both are there.
    """

    policy: Policy
    steps: int
    reward: float
    log_reward: float
    ran_out: Hashable | None
    choices: tuple[Hashable, ...]
    low: float
    high: float
    why: str


class Replay:
    """The replays of several policies on one log, in the order of the policies. `replay` returns it.

    Attributes:
        log: the log.
        policies: a `PolicyReplay` for each policy.
        steps: for each policy, the number of rounds for which the log has the rewards that it asked for.
        reward: the rewards in these rounds.
        low: lower bounds of the rewards in all rounds.
        high: upper bounds of the rewards in all rounds.
        ran_out: the arms that ran out of rewards, which ended the replays; None for a replay of all rounds.
        choices: the arms that were chosen.
    """

    def __init__(self, log: Log, policies: Sequence[PolicyReplay]) -> None:
        self.log, self.policies = log, tuple(policies)
        self.steps = [each.steps for each in policies]
        self.reward = [each.reward for each in policies]
        self.low, self.high = [each.low for each in policies], [each.high for each in policies]
        self.ran_out = [each.ran_out for each in policies]
        self.choices = [each.choices for each in policies]

    def __iter__(self) -> Iterator[PolicyReplay]:
        return iter(self.policies)

    @property
    def fixed_choices(self) -> tuple[FixedChoice, ...]:
        """What choosing one arm, or a random arm, in every round would have earned; empty if the log has no propensities."""
        return fixed_choices(self.log)

    def fixed_table(self) -> FormattedTable:
        """Return the fixed choices as a formatted table."""
        return fixed_table(self.fixed_choices)

    def __repr__(self) -> str:
        return (
            f"Replay({len(self.log):,} rounds, {', '.join(f'{each.policy.label}: {each.steps:,}' for each in self.policies)})"
        )

    def table(self) -> FormattedTable:
        """Return the replays as a formatted table: how many rounds the log has rewards for, and what the policies earned.

        There are no rows if the log answers less than a fifth of its rounds.
        """
        rounds = len(self.log)
        answered = [each for each in self.policies if each.steps >= FEW_ANSWERED * rounds]
        log_rewards = [each.log_reward for each in answered]
        halves = [(each.high - each.low) / 2 for each in answered]
        style = sum_format(
            [*(each.reward for each in answered), *log_rewards], [each for each in halves if not math.isnan(each)]
        )
        columns = (
            Column("policy", lambda row: row["policy"]),
            Column("rounds answered", lambda row: f"{row['steps']:,} ({row['steps'] / rounds:.0%})"),
            Column("ran out of", lambda row: "-" if row["ran_out"] is None else str(row["ran_out"])),
            Column("reward", lambda row: f"{row['reward']:{style}}"),
            Column("log, as many rounds", lambda row: f"{row['log_reward']:{style}}"),
            Column(f"bounds for all {rounds:,}, without wear with time", lambda row: _bounds_text(row, style)),
        )
        names = ("steps", "ran_out", "reward", "log_reward", "low", "high")
        rows = [{"policy": each.policy.label, **{name: getattr(each, name) for name in names}} for each in answered]
        lines = [f"The log earned {earned_text(self.log)} in {rounds:,} rounds."]
        if len(answered) < len(self.policies):
            lines.append(self._few_text([each for each in self.policies if each not in answered]))
        notes = dict.fromkeys(each.why for each in answered if each.why)
        return FormattedTable(tuple(lines), columns, rows, left=1, notes=tuple(notes))

    def _few_text(self, few: Sequence[PolicyReplay]) -> str:
        most = max(few, key=lambda each: each.steps)
        names = word_list([each.policy.label for each in few], len(few))
        share = most.steps / len(self.log)
        return f"The log answers {share:.0%} of its rounds at most for {names}: too few to say what they would have earned."

    def _repr_html_(self) -> str:
        return block(repr(self), self.table()._repr_html_())


def replay(log: Log, policies: Policy | Sequence[Policy], seed: int = 0, progress: bool | None = None) -> Replay:
    """Return what policies would have earned, on the rewards of a log, until these run out.

    A policy gets the rewards of each arm in the order in which the log has them. If arms wear out with their pulls, or not at
    all, this is exactly the game that `Bandit(policy, arms, seed)` would have played, decision by decision, until it asks for a
    reward that the log does not have. It does not matter which policy wrote the log. If the log has units, each round belongs
    to the same unit as in the log, and every unit has its own rewards. Rows without a reward are left out.

    The bounds are for what the policy earns in all rounds of the log, on average over logs like this one. They hold if arms
    wear out with their pulls or not at all, and no arm rises: an arm then pays no more later than its last rewards suggest. A
    log whose arms wear out with time has none: `advise` says what policies would have earned there. docs/intervals.md shows
    how often the bounds hold.

    If the log has propensities, `fixed_choices` of the result says what one arm, or an arm at random, would have earned.

    Args:
        log: the log.
        policies: one policy or several.
        seed: the seed of the policies' own randomness.
        progress: show a progress bar; by default on a terminal and in a notebook.

    Example:
        >>> import rotting
        >>> log = Log([("a", 1.0), ("b", 0.0), ("a", 1.0), ("b", 0.0), ("a", 0.5), ("b", 0.0)])
        >>> found = replay(log, rotting.UCB1())
        >>> found.steps, found.reward, found.ran_out, found.choices
        ([4], [2.5], ['a'], [('a', 'b', 'a', 'a')])
    """
    listed = check_replay(log, policies)
    seed = nonnegative_int("seed", seed)
    return replay_with(diagnose(log), listed, seed, progress)


def replay_with(diagnosis: Diagnosis, policies: Sequence[Policy], seed: int, progress: bool | None) -> Replay:
    """Return what `replay` does, given the diagnosis of the log and policies that `check_replay` returned."""
    log = diagnosis.log
    stacks, openings = stacks_of(log), openings_of(log)
    found = []
    with Progress(len(policies), "games on the log", show=progress) as bar:
        for k, policy in enumerate(policies):
            bar.status = f"{policy.title} ({k + 1} of {len(policies)})"  # shown at once: it may have to be compiled
            game = Player(policy, any_noise(log), len(log.arms), len(log)).on_stacks(stacks, openings, seed)
            found.append(_policy_replay(policy, log, stacks, game, diagnosis.decay))
            bar.advance()
        bar.status = ""
    return Replay(log, found)


def _policy_replay(policy: Policy, log: Log, stacks: Stacks, game: Played, decay: Decay) -> PolicyReplay:
    steps, (low, high, why) = game.choices.size, _bounds(log, stacks, game, decay)
    return PolicyReplay(
        policy,
        steps,
        reward=game.earned,
        log_reward=float(np.nansum(log.reward[:steps])),
        ran_out=None if game.ran_out is None else log.arms[game.ran_out],
        choices=tuple(log.arms[arm] for arm in game.choices),
        low=low,
        high=high,
        why=why,
    )


def check_replay(log: Log, policies: Policy | Sequence[Policy]) -> tuple[Policy, ...]:
    """Return the policies; what cannot be replayed on the log is refused."""
    check_log(log)
    listed = check_policies(policies)
    known = log.reward[log.known]
    if not known.size:
        raise InvalidValueError("log", "have a row with a reward", log, got="none")
    for policy in listed:
        check_learner(policy)
        rule = RewardRule(policy)
        for reward in (float(known.min()), float(known.max())):
            rule.check(reward)
        if policy.max_rounds is not None and policy.max_rounds < len(log):
            rule_text = f"be tuned to at least the {len(log)} rounds of the log"
            raise InvalidValueError("policy", rule_text, policy, hint="; rotting.doubling(policy) plays without a horizon")
    return listed


# --- Bounds -----------------------------------------------------------------------------------------------------------------


def _bounds(log: Log, stacks: Stacks, game: Played, decay: Decay) -> tuple[float, float, str]:
    """Return bounds of the reward in all rounds, and why one is missing.

    What was earned is exact for the rewards of the log, whose luck a mean does not have. The rest pays the present levels at
    most.
    """
    if decay in {"time", "both"}:
        return math.nan, math.nan, "No bounds: arms wear out with time."
    if log.missing:
        return math.nan, math.nan, "No bounds: the log lacks rewards."
    luck = NormalDist().inv_cdf(1 - _ERROR / 2) * _noise(stacks) * math.sqrt(game.choices.size)
    rest = 0.0 if game.ran_out is None else _most_to_come(stacks, game)
    high = game.earned + luck + rest
    if game.ran_out is not None and float(stacks.rewards.min()) < 0:
        return math.nan, high, "No lower bounds: rewards can be negative, and arms may fall to any level."
    return game.earned - luck, high, ""


def _noise(stacks: Stacks) -> float:
    """Return the standard deviation of a reward, from differences of successive rewards of a stack, which share their level."""
    inside = np.ones(max(stacks.rewards.size - 1, 0), bool)
    borders = stacks.starts[1:-1]
    inside[borders[(borders > 0) & (borders < stacks.rewards.size)] - 1] = False
    steps = np.diff(stacks.rewards)[inside]
    return math.sqrt(float((steps**2).mean()) / 2) if steps.size else float(stacks.rewards.std())


def _most_to_come(stacks: Stacks, game: Played) -> float:
    """Return an upper bound of the mean rewards of all rounds that were not played: each pays the best arm of its unit."""
    played = game.choices.size
    taken = np.bincount(stacks.units[:played] * stacks.n_arms + game.choices, minlength=stacks.starts.size - 1)
    spread, most = float(stacks.rewards.std()), float(stacks.rewards.max())
    level = math.sqrt(2 * math.log(2 * stacks.starts.size * len(_WINDOWS) / _ERROR))
    highest = np.full(taken.size, most)
    for place, n in enumerate(taken):
        # For every h, an arm pays no more than its last h rewards suggest. Of an arm without rewards nothing is known.
        past = stacks.rewards[stacks.starts[place] : min(stacks.starts[place] + max(int(n), 1), stacks.starts[place + 1])]
        bounds = [past[-h:].mean() + level * spread / math.sqrt(h) for h in _WINDOWS if h <= past.size]
        highest[place] = min([most, *bounds])
    best = highest.reshape(-1, stacks.n_arms).max(axis=1)
    return float(best[stacks.units[played:]].sum())


def any_noise(log: Log) -> Noise:
    """Return a noise of the kind that `fit` would find for the log: the games of both are then compiled once."""
    known = log.reward[log.known]
    return Bernoulli() if known.size and scale_of(known).is_binary else Resampled([0.0])


def _bounds_text(row: Row, style: str) -> str:
    low, high = ("?" if math.isnan(row[name]) else f"{row[name]:{style}}" for name in ("low", "high"))
    return "-" if low == high == "?" else f"{low} to {high}"


# --- Fixed choices, by inverse propensities -----------------------------------------------------------------------------------


def fixed_choices(log: Log) -> tuple[FixedChoice, ...]:
    """Return the value of each arm and of a random arm; nothing without propensities.

    For each arm, a row weighs 1 / propensity if it shows the arm, and 0 otherwise. If the propensities are right, the weights
    of an arm average 1, and b + weight * (reward - b) averages what the arm pays, for any number b that was known before the
    row (Horvitz and Thompson 1952). Here b is the mean of the rewards before. This holds whichever policy wrote the log, also
    if it learned from the rewards.

    The weights check the propensities: those of an arm that could not be chosen in some rounds do not average 1, and then the
    arm has no value here.

    The value of an arm is that of the state in which each row found it. If arms wear out with their pulls, an arm that is
    always chosen pays less.

    Example:
        >>> columns = {"arm": ["a", "b"] * 50, "reward": [1.0, 0.5] * 50, "p": [0.5] * 100}
        >>> [(each.arm, round(each.value.mean, 2)) for each in fixed_choices(Log(columns, propensity="p"))]
        [('a', 1.0), ('b', 0.49), (None, 0.75)]
    """
    if log.propensity is None:
        return ()
    used = log.known & ~np.isnan(log.propensity)
    if used.sum() < 2:
        return ()
    arm, reward, weight = log.arm[used], log.reward[used], 1 / log.propensity[used]
    before = np.cumsum(reward)[:-1] / np.arange(1, reward.size)  # there is none before the first row, which is left out
    arm, reward, weight = arm[1:], reward[1:], weight[1:]
    openings = openings_of(log)
    masks, which = openings.mask(len(log.arms)), openings.which[used][1:]
    alarm = NormalDist().inv_cdf(1 - _FALSE_ALARM / 2 / (len(log.arms) + 1))
    found = []
    for i, name in enumerate(log.arms):
        there = masks[which, i]
        if there.any():
            found.append(_choice(name, np.where(arm == i, weight, 0.0)[there], reward[there], before[there], alarm))
    return *found, _choice(None, weight / masks.sum(axis=1)[which], reward, before, alarm)


def _choice(arm: Hashable | None, weight: Floats, reward: Floats, before: Floats, alarm: float) -> FixedChoice:
    rounds, mean = weight.size, float(weight.mean())
    scores = before + weight * (reward - before)
    value = _value(_name(arm), weight, scores, alarm)
    paid = weight * reward
    few = (reward != 0).mean() < 0.5 and float(paid.sum()) ** 2 <= _MANY_EVENTS * float((paid**2).sum())
    if isinstance(value, NoInterval) or not few or reward.min() < 0:
        return FixedChoice(arm, rounds, mean, value)
    # Few events: a normal interval around their mean would be too short, and might reach below 0.
    low, high = weighted_interval(paid[paid > 0], float(weight.max()) * float(max(reward.max(), np.finfo(float).tiny)))
    return FixedChoice(arm, rounds, mean, Interval(float(paid.mean()), low / rounds, min(high / rounds, _most(reward))))


def _most(reward: Floats) -> float:
    """Return the largest possible mean: 1 if rewards are 0 or 1."""
    return 1.0 if np.isin(reward, (0.0, 1.0)).all() else math.inf


def _value(name: str, weight: Floats, scores: Floats, alarm: float) -> Interval:
    """Return the mean of the scores with its interval, unless the weights are wrong or too few."""
    off = float(weight.mean()) - 1
    if abs(off) > alarm * float(weight.std()) / math.sqrt(weight.size):
        return NoInterval(math.nan, f"the weights of {name} average {1 + off:.2g}, not 1, so its propensities cannot be right")
    rows = float(weight.sum() ** 2 / (weight**2).sum())
    if rows < _FEWEST_ROWS:
        return NoInterval(float(scores.mean()), f"the weights of {name} are worth {rows:.0f} rows, fewer than {_FEWEST_ROWS}")
    half = NormalDist().inv_cdf((1 + LEVEL) / 2) * float(scores.std(ddof=1)) / math.sqrt(scores.size)
    mean = float(scores.mean())
    return Interval(mean, mean - half, mean + half)


def fixed_table(choices: Sequence[FixedChoice]) -> FormattedTable:
    """Return fixed choices as a formatted table."""
    values = [each.value for each in choices if not math.isnan(each.value.mean)]
    style = number_format([each.mean for each in values], [each.high - each.mean for each in values if each.high is not None])
    columns = (
        Column("always", lambda row: _name(row["arm"])),
        Column("rounds", lambda row: f"{row['rounds']:,}"),
        Column("mean weight", lambda row: f"{row['weight']:.3f}"),
        Column("reward per round", lambda row: _value_text(row["value"], style)),
    )
    lines = ("What one arm, or an arm at random, would have earned in every round, by the propensities of the log.",)
    notes = ("The arm as each round found it: if arms wear out with their pulls, an arm that is always chosen pays less.",)
    return FormattedTable(lines, columns, [each._asdict() for each in choices], left=1, notes=notes)


def _value_text(value: Interval, style: str) -> str:
    return NO_INTERVAL if math.isnan(value.mean) else interval_text(value, style)


def _name(arm: Hashable | None) -> str:
    return "a random arm" if arm is None else str(arm)
