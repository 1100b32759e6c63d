"""`advise`: what policies would have earned instead of the one that wrote a log, whichever way arms wear out."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats
from rotting.common.display.figures import Curve, Figure, Panel
from rotting.common.display.tables import NO_INTERVAL, Column, FormattedTable, ends_text, interval_text, number_format
from rotting.common.html_parts import block
from rotting.common.rules import nonnegative_int, positive_int
from rotting.common.short_numbers import word_list
from rotting.common.statistics import Interval, NoInterval
from rotting.logs.clocks import Clock, Decay
from rotting.logs.diagnosis import Diagnosis, Plotted, diagnose
from rotting.logs.fit import FittedFamily, fit
from rotting.logs.log import Log, check_log, earned_text
from rotting.policies.eff_raw_ucb import EffRAWUCB
from rotting.policies.raw_ucb import RAWUCB
from rotting.policies.sw_ucb import SWUCB
from rotting.policies.thompson_sampling import ThompsonSampling
from rotting.policies.ucb1 import UCB1
from rotting.policies.uniform import Uniform
from rotting.policy import Policy, check_policies, labels_of
from rotting.problems.families import family_key
from rotting.problems.oracle import OPTIMAL
from rotting.simulation.engines.greedy import FamilyDraws
from rotting.simulation.plan import Simulation
from rotting.simulation.result import Result
from rotting.simulation.simulate import simulate_all

ROUNDS = 40_000_000  # of one policy under one reading, which decide the number of runs
FEWEST_RUNS, MOST_RUNS = 40, 200
# In per cent, at the lower end of the interval. In problems whose arms are alike every policy gains about nothing, and loses
# nothing: without a least gain, chance would recommend one policy of a log that cannot show any difference. Policies whose
# smallest gains differ by less are practically tied.
LEAST_GAIN = 1.0
NAMED = 5  # tied policies that a sentence names
_OUTSIDE = 0.025  # of the runs lie below an interval, and as many above
_AT_ONCE = 20  # runs whose means are in memory at a time


class Gain(NamedTuple):
    """What a policy would have earned if arms wear out along a clock.

    `reward` is the sum of the mean rewards of all rounds; `gain` compares it with that of the choices of the log, in percent.
    Their intervals contain the results of 95 % of the problems that the log could have come from.
    """

    policy: Policy
    clock: Clock
    reward: Interval
    gain: Interval


@dataclass(frozen=True)
class Advice(Plotted):
    """What policies would have earned instead of the one that wrote a log. `advise` returns it.

    Args:
        log: the log.
        diagnosis: whether its arms wear out, and along which clock.
        gains: one for each policy and clock.
        policy: the recommended policy, which earns more than the log under every reading; if there are several, the one whose
            smallest gain is the largest. None if there is none.
        reason: why, in a sentence, and which policies are practically tied with it.
        runs: the number of problems that each policy played under each reading.
    """

    log: Log
    diagnosis: Diagnosis
    gains: tuple[Gain, ...]
    policy: Policy | None
    reason: str
    runs: int

    @property
    def clocks(self) -> tuple[Clock, ...]:
        """The clocks along which arms may wear out, as far as the log can tell."""
        return tuple(dict.fromkeys(each.clock for each in self.gains))

    @property
    def policy_name(self) -> str:
        """The name of the recommended policy in sentences; empty without one."""
        return "" if self.policy is None else _named(_policies(self.gains), sentence_names)[self.policy]

    def __repr__(self) -> str:
        return f"Advice(policy={self.policy!r}, clocks={self.clocks!r}, runs={self.runs})"

    def table(self) -> FormattedTable:
        """Return the gains as a formatted table, with the advice above it."""
        labels = _named(_policies(self.gains), labels_of)
        rewards = [each.reward for each in self.gains]
        halves = [(high - low) / 2 for _, low, high in rewards if low is not None and high is not None]
        style = number_format([each.mean for each in rewards], halves)
        columns = (
            Column("policy", lambda row: row["policy"]),
            Column("if arms wear out with", lambda row: _WORDS[row["clock"]]),
            Column("against the log", lambda row: _gain_text(row["gain"])),
            Column("mean reward, all rounds", lambda row: interval_text(row["reward"], style)),
        )
        rows = [{**each._asdict(), "policy": labels[each.policy]} for each in self.gains]
        plays = f"Every policy plays as many rounds, in {self.runs} problems that the log could have come from."
        notes = (
            f"The log earned {earned_text(self.log)} in {int(self.log.known.sum()):,} rounds. {plays}",
            "The intervals contain 95 % of the results. Gains are relative to the choices of the log in the same problem.",
        )
        return FormattedTable((self.reason,), columns, rows, left=2, notes=notes)

    def figure(self) -> Figure:
        """Return the gains with their intervals as a figure, a panel for each clock."""
        labels = _named(_policies(self.gains), labels_of)
        panels = []
        for clock in self.clocks:
            curves = []
            for place, each in enumerate(gain for gain in self.gains if gain.clock == clock):
                mean, low, high = (None if end is None else np.array([end]) for end in each.gain)
                curves.append(Curve(labels[each.policy], np.array([place + 1.0]), np.asarray(mean), low, high, points=True))
            title, x_label = f"if arms wear out with {_WORDS[clock]}", "policy, in the order of the legend"
            panels.append(Panel(title, x_label, "gain over the log, %", tuple(curves)))
        problems = f"{self.runs} problems that the log could have come from"
        caption = f"Mean gain over the choices of the log; the bars contain the results of 95 % of {problems}."
        return Figure("advice", "What policies would have earned", caption, tuple(panels), columns=2)

    def _repr_html_(self) -> str:
        return block(repr(self), self.table()._repr_html_())


_WORDS = {"pulls": "their pulls", "time": "time", "both": "their pulls and time"}


def advise(
    log: Log,
    policies: Policy | Sequence[Policy] | None = None,
    runs: int | None = None,
    seed: int = 0,
    progress: bool | None = None,
) -> Advice:
    """Return which policy would have earned more than the one that wrote a log, and how much.

    The policies play problems that the log could have come from (`rotting.fit`), under every reading that the log allows: if
    the log cannot tell whether arms wear out with their pulls or with time, under both readings. The recommended policy is the
    one whose smallest gain is the largest, if that gain is at least 1 %; the smallest gain of a policy is the lowest end of its
    intervals under all readings.

    Every policy plays as many rounds as the log has rewards.

    Args:
        log: the log.
        policies: the policies to compare; by default RAW-UCB and others that fit the rewards.
        runs: the number of problems of each reading; by default 200, fewer if the log has more than 200,000 rewards, and 40
            from 1,000,000 rewards on. With fewer than 40, intervals contain less than 95 %.
        seed: the seed of the problems, the rewards, and the randomness of the policies.
        progress: show a progress bar; by default on a terminal and in a notebook.

    Example:
        >>> import rotting
        >>> log = Log({"arm": ["a", "b"] * 50, "reward": [1.0, 0.25] * 50})
        >>> advice = advise(log, [rotting.UCB1(sigma=0.1), rotting.Uniform()], runs=2)
        >>> advice.policy
        UCB1(sigma=0.1)
        >>> advice.reason
        'Whichever way your arms wear out, UCB1 would have earned 59 % more.'
    """
    check_log(log)
    seed = nonnegative_int("seed", seed)
    listed = tuple(default_policies(log)) if policies is None else check_policies(policies)
    number = default_runs(log) if runs is None else positive_int("runs", runs)
    return advise_with(diagnose(log), listed, number, seed, progress)


def advise_with(diagnosis: Diagnosis, policies: Sequence[Policy], runs: int, seed: int, progress: bool | None) -> Advice:
    """Return what `advise` does, given the diagnosis of the log."""
    falling = all(each.verdict != "rises" for each in diagnosis.arms)
    families = [fit(diagnosis.log, clock, falling) for clock in _readings(diagnosis.decay)]
    gains = gains_on(families, policies, runs, seed, progress)
    policy, reason = _choice(gains, policies)
    return Advice(diagnosis.log, diagnosis, tuple(gains), policy, reason, runs)


def _readings(decay: Decay) -> tuple[Clock, ...]:
    """Return the clocks along which arms may wear out, given the verdict."""
    match decay:
        case "none" | "cannot tell":
            return "pulls", "time"
        case clock:
            return (clock,)


def default_runs(log: Log) -> int:
    """Return the number of problems that each policy plays under each reading."""
    return min(max(ROUNDS // max(int(log.known.sum()), 1), FEWEST_RUNS), MOST_RUNS)


def default_policies(log: Log) -> list[Policy]:
    """Return policies that fit the rewards of a log."""
    reward = log.reward[log.known]
    rounds, n_arms = max(reward.size, 2), len(log.arms)
    window = max(2 * n_arms, math.ceil(math.sqrt(rounds * math.log(rounds))))
    thompson = ThompsonSampling()
    if not np.isin(reward, (0.0, 1.0)).all():
        thompson = ThompsonSampling("gaussian", sigma=max(float(reward.std()), np.finfo(float).tiny))
    windows: list[Policy] = [RAWUCB(sigma="estimate"), EffRAWUCB(sigma="estimate"), SWUCB(tau=window, sigma="estimate")]
    return [*windows, UCB1(sigma="estimate"), thompson, Uniform()]


def gains_on(
    families: Sequence[FittedFamily], policies: Sequence[Policy], runs: int, seed: int, progress: bool | None = None
) -> list[Gain]:
    """Return the gains of policies on the problems of families, family by family."""
    played = [Simulation(policies, family, runs=runs, seed=seed, checkpoints=[]) for family in families]
    results = simulate_all(played, progress=progress)
    return [gain for family, result in zip(families, results, strict=True) for gain in _gains(family, result)]


def _gains(family: FittedFamily, result: Result) -> list[Gain]:
    """Return the gains of policies: the reward of a game is that of the reference less the regret, in the same problem."""
    runs, seed = result.runs, result.seed
    draws = FamilyDraws(family, family.problem(0, seed), family_key(seed), result.checkpoints, family.reference or OPTIMAL)
    optimum = np.concatenate([draws.tables(k, min(_AT_ONCE, runs - k))[1][:, -1] for k in range(0, runs, _AT_ONCE)])
    log_rewards = np.array([family.log_reward(run, seed) for run in range(runs)])
    found = []
    for k, policy in enumerate(result.policies):
        rewards = optimum - result.regret[k, :, -1]
        found.append(Gain(policy, family.clock, _interval(rewards), _relative(rewards, log_rewards)))
    return found


def _interval(values: Floats) -> Interval:
    """Return the mean of the runs, and the interval that contains 95 % of them."""
    ordered = np.sort(values)
    outside = int(_OUTSIDE * (values.size + 1))
    first = max(outside - 1, 0)
    return Interval(float(values.mean()), float(ordered[first]), float(ordered[values.size - 1 - first]))


def _relative(rewards: Floats, log_rewards: Floats) -> Interval:
    """Return the gain over the log in percent."""
    if log_rewards.min() <= 0:
        return NoInterval(math.nan, "the choices of the log may have earned nothing on average, so percentages make no sense")
    return _interval(100 * (rewards / log_rewards - 1))


def _choice(gains: Sequence[Gain], policies: Sequence[Policy]) -> tuple[Policy | None, str]:
    """Return the policy with the largest gain where it is smallest, if that is enough, and the reason."""
    ends = {policy: [each.gain for each in gains if each.policy == policy] for policy in policies}
    unknown = next((each.gain.reason for each in gains if isinstance(each.gain, NoInterval)), None)
    lows = {policy: min(-math.inf if low is None else low for _, low, _ in found) for policy, found in ends.items()}
    best = max(lows, key=lambda policy: lows[policy])
    names = _named(policies, sentence_names)
    if lows[best] >= LEAST_GAIN:
        low, high = _short(lows[best]), _short(max(high for _, _, high in ends[best] if high is not None))
        more = low if low == high else f"{low} to {high}"
        tied = [names[policy] for policy in lows if policy != best and lows[best] - lows[policy] < LEAST_GAIN]
        return best, f"{_when(gains)}, {names[best]} would have earned {more} % more.{_tie(tied)}"
    if unknown is not None and lows[best] == -math.inf:
        return None, f"No policy is recommended: {unknown}."
    return None, (
        f"No policy is recommended: none earns at least {LEAST_GAIN:.0f} % more than the log in 95 % of the problems that it "
        f"could have come from. "
        f"{names[best]} comes closest, with a gain of at least {lows[best]:+.1f} %."
    )


def _tie(names: Sequence[str]) -> str:
    """Return a sentence about policies that are practically tied with the recommended one; nothing without any."""
    if not names:
        return ""
    apart = f"less than {LEAST_GAIN:.0f} percentage point apart"
    return f" It is practically tied with {word_list(names, NAMED)}: their smallest gains are {apart}."


def _when(gains: Sequence[Gain]) -> str:
    clocks = dict.fromkeys(each.clock for each in gains)
    return "Whichever way your arms wear out" if len(clocks) > 1 else f"If arms wear out with {_WORDS[next(iter(clocks))]}"


def sentence_names(policies: Sequence[Policy]) -> list[str]:
    """Return the name of each policy in sentences: its title, or its label if others have the same title.

    Example:
        >>> sentence_names([RAWUCB(), UCB1(sigma=0.5)]), sentence_names([UCB1(), UCB1(sigma=0.5)])
        (['RAW-UCB', 'UCB1'], ['UCB1', 'UCB1, sigma=0.5'])
    """
    counts = Counter(policy.title for policy in set(policies))
    labels = labels_of(policies)
    return [policy.title if counts[policy.title] == 1 else label for policy, label in zip(policies, labels, strict=True)]


def _policies(gains: Sequence[Gain]) -> list[Policy]:
    return list(dict.fromkeys(each.policy for each in gains))


def _named(policies: Sequence[Policy], names: Callable[[Sequence[Policy]], list[str]]) -> dict[Policy, str]:
    """Return the name of each policy; a name depends on the other policies."""
    return dict(zip(policies, names(policies), strict=True))


def _short(percent: float) -> str:
    """Return a percentage with one digit after the point if it is below 10."""
    return f"{percent:.1f}" if percent < 9.95 else f"{percent:.0f}"


def _gain_text(gain: Interval) -> str:
    return NO_INTERVAL if math.isnan(gain.mean) else f"{gain.mean:+.1f} % {ends_text(gain.low, gain.high, '+.1f')}"
