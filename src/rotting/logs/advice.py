"""`advise`: what policies would have earned instead of the one that wrote a log, whichever way arms wear out."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from os import cpu_count
from typing import NamedTuple

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.display.html_parts import block
from rotting.common.display.tables import NO_INTERVAL, Column, FormattedTable, ends_text, interval_text, number_format
from rotting.common.progress import Progress
from rotting.common.rules import nonnegative_int, positive_int
from rotting.common.short_numbers import word_list
from rotting.common.statistics import Interval, NoInterval, t_critical
from rotting.logs.cells import FEWEST_EVENTS, Clock, Decay, scale_of
from rotting.logs.diagnosis import Diagnosis, diagnose
from rotting.logs.fit import FittedFamily, few_events, few_late, fit
from rotting.logs.games import Openings, Player, openings_of
from rotting.logs.log import Log, check_log, earned_text
from rotting.logs.replay import fixed_choices
from rotting.policies.raw_ucb import RAWUCB
from rotting.policies.ucb1 import UCB1
from rotting.policies.uniform import Uniform
from rotting.policy import Policy, check_policies, labels_of
from rotting.problems.families import family_key

ROUNDS = 60_000_000  # of all policies under all readings, beyond which no more than the fewest runs are played
FEWEST_RUNS, MOST_RUNS = 20, 200
BATCH = 20  # runs, after which it is decided whether more are needed
# In per cent, at the lower end of the interval. In problems whose arms are alike every policy gains about nothing, and loses
# nothing: without a least gain, chance would recommend one policy of a log that cannot show any difference. Policies whose
# smallest gains differ by less are practically tied.
LEAST_GAIN = 1.0
NAMED = 5  # tied policies that a sentence names
_OUTSIDE = 0.025  # of the runs lie below an interval, and as many above
_MISFIT = 3.5  # standard errors by which what the log earned may differ from what its choices earn on the fitted problems
_MISFIT_SHARE = 0.03  # a smaller difference does not matter
_FEW_SHARE = 0.1  # of the rounds that a policy may spend more than the log did on arms with a handful of events


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
class Advice:
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
        notes: tuple[str, ...] = ()
        if rows:
            missing = list(dict.fromkeys(each.gain.reason for each in self.gains if isinstance(each.gain, NoInterval)))
            notes = (
                f"The log earned {earned_text(self.log)} in {len(self.log):,} rounds. Every policy plays as many rounds.",
                f"It chooses among the arms that could be chosen, in {self.runs} problems that the log could have come from.",
                "The intervals contain 95 % of the results. Gains are relative to the choices of the log in the same problem.",
                *(f"{NO_INTERVAL} No gain: {each}." for each in missing),
            )
        return FormattedTable((self.reason,), columns, rows, left=2, notes=notes)

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

    Every policy plays as many rounds as the log has rows, and chooses in each of them among the arms that were launched, or
    that the log lists as available. Problems on which the log's own choices do not earn what the log earned are no base for
    advice, nor is a log that chose arms by unit: `reason` says so.

    Args:
        log: the log.
        policies: the policies to compare; by default RAW-UCB, UCB1 and uniform choices.
        runs: the number of problems of each reading; by default from 20 to 200, until the advice is clear.
        seed: the seed of the problems, the rewards, and the randomness of the policies.
        progress: show a progress bar; by default on a terminal and in a notebook.

    Example:
        >>> import rotting
        >>> log = Log({"arm": ["a", "b"] * 50, "reward": [1.0, 0.25] * 50})
        >>> advice = advise(log, [rotting.UCB1(sigma=0.1), rotting.Uniform()], runs=2)
        >>> advice.policy
        UCB1(sigma=0.1)
        >>> advice.reason
        'Whether arms wear out with their pulls or with time, UCB1 would have earned 59 % more.'
    """
    check_log(log)
    seed = nonnegative_int("seed", seed)
    listed = tuple(default_policies()) if policies is None else check_policies(policies)
    number = None if runs is None else positive_int("runs", runs)
    return advise_with(diagnose(log), listed, number, seed, progress)


def advise_with(diagnosis: Diagnosis, policies: Sequence[Policy], runs: int | None, seed: int, progress: bool | None) -> Advice:
    """Return what `advise` does, given the diagnosis of the log."""
    log = diagnosis.log
    why = _why_none(diagnosis)
    if why is None:
        families = [fit(log, clock, falling=not diagnosis.rises) for clock in _readings(diagnosis.decay)]
        why = _misfit(log, families, seed)
    if why is not None:
        return Advice(log, diagnosis, (), None, f"No policy is recommended: {why}.", 0)
    gains, played = gains_on(log, families, policies, runs, seed, progress, learned=diagnosis.learned)
    policy, reason = _choice(gains, policies)
    return Advice(log, diagnosis, tuple(gains), policy, reason, played)


def _why_none(diagnosis: Diagnosis) -> str | None:
    """Return why no problems can be fitted; None if they can."""
    log = diagnosis.log
    if not log.known.any():
        return "the log has no known reward"
    if diagnosis.targeted:
        return (
            "the log chose arms by unit, and policies that are not told the unit would give that up; compare policies for "
            "groups of similar units, each with a log of its own"
        )
    if log.total_row is not None:
        return f"{log.total_row}; leave it out first"
    if few_events(log).all():
        return f"no arm has {FEWEST_EVENTS} rewards other than 0"
    return None


def _misfit(log: Log, families: Sequence[FittedFamily], seed: int) -> str | None:
    """Return why the fitted problems are not those of the log: its choices, or a random arm, earn something else on them."""
    known = log.reward[log.known]
    earned, noise = float(known.sum()), float(known.var()) * known.size
    random = [each.value for each in fixed_choices(log) if each.arm is None]
    for family in families:
        runs = range(BATCH)
        paid = np.array([family.log_reward(run, seed) for run in runs])
        mean, error = float(paid.mean()), math.sqrt(float(paid.var(ddof=1)) + noise)
        if abs(earned - mean) > max(_MISFIT * error, _MISFIT_SHARE * abs(earned)):
            return (
                f"its own choices would earn {mean:,.4g} on the problems that were fitted to the log, but earned {earned:,.4g}"
            )
        if random and random[0].low is not None and random[0].high is not None:
            drawn = family.random_rewards(log, runs, seed)
            low, high = _predicted(drawn)
            if high < random[0].low or low > random[0].high:
                return (
                    f"a random arm would pay {drawn.mean():.4g} a round on the problems that were fitted to the log, but pays "
                    f"{random[0].low:.4g} to {random[0].high:.4g} by its propensities"
                )
    return None


def _readings(decay: Decay) -> tuple[Clock, ...]:
    """Return the clocks along which arms may wear out, given the verdict."""
    match decay:
        case "none" | "cannot tell":
            return "pulls", "time"
        case clock:
            return (clock,)


def default_policies() -> list[Policy]:
    """Return policies that fit any rewards: one that looks at recent rewards, one that never forgets, one that never learns."""
    return [RAWUCB(sigma="estimate"), UCB1(sigma="estimate"), Uniform()]


def gains_on(
    log: Log,
    families: Sequence[FittedFamily],
    policies: Sequence[Policy],
    runs: int | None,
    seed: int,
    progress: bool | None = None,
    *,
    learned: bool = False,
) -> tuple[list[Gain], int]:
    """Return the gains of policies on the problems of families, family by family, and the number of runs of each.

    Args:
        log: the log, whose choices are the reference, and which says what could be chosen.
        families: the problems.
        policies: what is compared.
        runs: of each family; None to go on until the advice is clear.
        seed: of the problems, the rewards and the policies.
        progress: as for `advise`.
        learned: whether the policy of the log learned, and left arms: what these pay now is known from late rows alone.
    """
    most = MOST_RUNS if runs is None else runs
    affordable = ROUNDS // max(len(families) * len(policies) * len(log), 1)
    limit = min(most, max(affordable // BATCH * BATCH, FEWEST_RUNS)) if runs is None else runs
    openings = openings_of(log)
    rounds = limit * len(families) * len(log)
    players = [[Player(policy, family.noise, len(log.arms), rounds) for policy in policies] for family in families]
    rewards = [np.zeros((len(policies), 0)) for _ in families]
    logged = [np.zeros(0) for _ in families]
    few, most_on_few = families[0].few, _FEW_SHARE
    if learned:
        few = few | few_late(log)
        # Levels of measurements are exact otherwise, so that intervals are short, and the cost of trying arms that fell counts.
        most_on_few = _FEW_SHARE / 2 if scale_of(log.reward[log.known]).ratios or not few.any() else -1.0
    on_few = np.zeros(len(policies))
    played = 0
    total = limit * len(families) * len(policies)
    with Progress(total, "games on fitted problems", show=progress) as bar, ThreadPoolExecutor(cpu_count()) as pool:
        while played < limit:
            batch = range(played, min(played + BATCH, limit))
            for k, family in enumerate(families):
                found = list(pool.map(partial(_play_run, family, players[k], openings, seed, bar), batch))
                rewards[k] = np.column_stack([rewards[k], *(earned for earned, _ in found)])
                on_few += np.array([pulls[:, few].sum(axis=1) for _, pulls in found]).sum(axis=0)
                logged[k] = np.append(logged[k], [family.log_reward(run, seed) for run in batch])
            played = batch.stop
            if runs is None and played >= 2 * BATCH and _is_clear(rewards, logged, log):
                break
    spent = on_few / (played * len(families) * len(log)) - float(few[log.arm].mean())
    scale = len(log) / max(int(log.known.sum()), 1)
    gains = []
    for family, paid, own in zip(families, rewards, logged, strict=True):
        for policy, each, share in zip(policies, paid, spent, strict=True):
            gain = _relative(each, own * scale)
            if share > most_on_few:
                rewards_of_few = f"fewer than {FEWEST_EVENTS} rewards other than 0"
                gain = NoInterval(math.nan, f"gains would rest on arms with {rewards_of_few}")
                if learned:
                    gain = NoInterval(
                        math.nan, "gains would rest on arms that the policy of the log had left: what they pay now is not known"
                    )
            gains.append(Gain(policy, family.clock, _interval(each), gain))
    return gains, played


def _play_run(
    family: FittedFamily, players: Sequence[Player], openings: Openings, seed: int, bar: Progress, run: int
) -> tuple[Floats, Ints]:
    """Return what each policy earns in the problem of a run, and its pulls [policy, arm]."""
    table = family.means(run, family_key(seed), family.horizon)
    found = []
    for player in players:
        found.append(player.on_means(table, openings, family.seen, seed, run))
        bar.advance()
    return np.array([each.earned for each in found]), np.array([each.pulls for each in found])


def _is_clear(rewards: Sequence[Floats], logged: Sequence[Floats], log: Log) -> bool:
    """Return whether more runs would hardly change which policies gain enough."""
    scale = len(log) / max(int(log.known.sum()), 1)
    if any(own.min() <= 0 for own in logged):
        return True
    found = [[100 * (paid / (own * scale) - 1) for paid in rows] for rows, own in zip(rewards, logged, strict=True)]
    for gains in zip(*found, strict=True):
        lows = [(_predicted(each)[0], 2 * float(each.std(ddof=1)) / math.sqrt(each.size)) for each in gains]
        low, error = min(lows)
        if abs(low - LEAST_GAIN) < 2 * error:
            return False
    return True


def _predicted(values: Floats) -> tuple[float, float]:
    """Return an interval that contains the result of one more run with a chance of 95 %, for values that are nearly normal."""
    half = t_critical(values.size - 1) * float(values.std(ddof=1)) * math.sqrt(1 + 1 / values.size)
    return float(values.mean()) - half, float(values.mean()) + half


def _interval(values: Floats) -> Interval:
    """Return the mean of the runs, and the interval that contains 95 % of them; with few runs, of one more run."""
    ordered = np.sort(values)
    first = max(int(_OUTSIDE * (values.size + 1)) - 1, 0)
    low, high = float(ordered[first]), float(ordered[values.size - 1 - first])
    if BATCH <= values.size < 2 * BATCH:
        least, most = _predicted(values)
        low, high = min(low, least), max(high, most)
    return Interval(float(values.mean()), low, high)


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
    return (
        "Whether arms wear out with their pulls or with time"
        if len(clocks) > 1
        else f"If arms wear out with {_WORDS[next(iter(clocks))]}"
    )


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
