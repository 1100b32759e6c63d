"""Measure how often the intervals of `fit` and `advise` hold the truth: the same policy in the world that made the log.

`python -m docs.make_logs_coverage` makes one log for each truth, logger and kind of rewards; `--logs 40` makes 40. A count is
printed for each of them:

- fit: the mean reward of RAW-UCB and UCB1, within the interval on `fit(log, clock)` with the true clock ("none": pulls);
- advise: their gains over the log, within the ends of all readings of `advise(log)` together;
- wrong advice: the recommended policy earns less than the log.
"""

import argparse
import sys
from collections import Counter
from itertools import product

import numpy as np

import rotting
from docs.made_logs import LOGGERS, REWARDS, TRUTHS, World, make_world
from rotting.common.arrays import Floats
from rotting.logs.advice import Advice, Gain, advise, gains_on
from rotting.logs.fit import fit
from rotting.logs.log import Log
from rotting.problems import optimal_rewards

POLICIES = (rotting.RAWUCB(sigma="estimate"), rotting.UCB1(sigma="estimate"))
RUNS = 40  # of the games in the world itself
CLOCKS = {"none": "pulls", "pulls": "pulls", "time": "time", "both": "both"}
SEED = 1


def true_rewards(world: World) -> Floats:
    """Return the mean reward of each policy in all rounds, played in the world of the log."""
    problem = world.problem()
    result = rotting.simulate(POLICIES, problem, runs=RUNS, seed=SEED, checkpoints=[], progress=False)
    best = optimal_rewards(problem, checkpoints=[world.rounds]).cumulative[-1]
    return np.asarray(best - result.regret[:, :, -1].mean(axis=1))


def measure(world: World, log: Log, runs: int, counts: Counter[str]) -> None:
    """Count the intervals of one log that hold the truth."""
    truth, logged = true_rewards(world), float(world.log_means(log).sum())
    clock = CLOCKS[world.truth]
    advice = advise(log, POLICIES, runs)
    own = [each for each in advice.gains if each.clock == clock] or gains_on(fit(log, clock), POLICIES, advice.runs, 0)
    for k, policy in enumerate(POLICIES):
        gain = 100 * (truth[k] / logged - 1)
        counts["all"] += 1
        counts["fit"] += _holds(own[k].reward, truth[k])
        counts["advise"] += _within([each for each in advice.gains if each.policy == policy], gain)
        counts["no interval"] += any(each.gain.low is None for each in advice.gains if each.policy == policy)
        counts["wrong advice"] += advice.policy == policy and gain < 0
        counts["advised"] += advice.policy == policy
    counts[f"decay: {_decay(advice)}"] += 1


def _holds(interval: tuple[float, float | None, float | None], value: float) -> bool:
    _, low, high = interval
    return low is None or high is None or low <= value <= high


def _within(gains: list[Gain], value: float) -> bool:
    lows, highs = [each.gain.low for each in gains], [each.gain.high for each in gains]
    if None in lows or None in highs:
        return True
    return min(low for low in lows if low is not None) <= value <= max(high for high in highs if high is not None)


def _decay(advice: Advice) -> str:
    return advice.diagnosis.decay


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int, default=1, help="logs of each truth, logger and kind of rewards")
    parser.add_argument("--rounds", type=int, default=3_000, help="rows of a log")
    parser.add_argument("--runs", type=int, default=60, help="problems of each reading")
    asked = parser.parse_args()
    heads = f"{'fit':>7} {'advise':>7} {'none':>5} {'advised':>8} {'wrong':>6}  diagnosed"
    sys.stdout.write(f"{'truth':6} {'logger':22} {'rewards':9} {heads}\n")
    for truth, logger, rewards in product(TRUTHS, LOGGERS, REWARDS):
        counts: Counter[str] = Counter()
        for seed in range(asked.logs):
            world = make_world(seed, truth, rewards, asked.rounds)
            measure(world, world.log(logger, seed), asked.runs, counts)
        held = " ".join(f"{counts[name]:>3}/{counts['all']:<3}" for name in ("fit", "advise"))
        advised = f"{counts['no interval']:>5} {counts['advised']:>8} {counts['wrong advice']:>6}"
        verdicts = ", ".join(f"{name[7:]} {number}" for name, number in counts.items() if name.startswith("decay: "))
        sys.stdout.write(f"{truth:6} {logger:22} {rewards:9} {held} {advised}  {verdicts}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
