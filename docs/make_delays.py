"""Measure what docs/delays.md shows: what late rewards cost, with and without counting decisions under way, and lost ones.

`make delays` runs it (40 core-minutes, the games once). It writes the tables between their marks in the page, which is written
by hand, and the picture. The figures are kept in docs/delays.json: the page follows from them, and they depend on the code and
on a fixed seed only.
"""

import json
import math
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from docs.late_games import Chance, Counted, bound_play, choices
from rotting.common.arrays import Floats, Ints
from rotting.kernels.binding import digest, plain_function
from rotting.live.bandit import Bandit
from rotting.live.young_arms import counts_for
from rotting.policy import Policy
from rotting.registry import make

PAGE = Path(__file__).parent / "delays.md"
PICTURE = Path(__file__).parent / "delays.svg"
FIGURES = Path(__file__).parent / "delays.json"
K, T, SWAPPED, RUNS, SEED = 30, 50_000, 2_000, 50, 0
DELAYS: tuple[tuple[int, int], ...] = ((0, 0), (100, 100), (500, 500), (60, 1_800))
LOST = (0.05, 0.5)
Rule = Literal["young", "ignore", "everywhere", "few rewards"]
OTHER_SEED = 1  # of the games on which rules were compared, and this one chosen


class Clicks(NamedTuple):
    """One of the two problems."""

    name: str
    rate: float
    sigma: float


PROBLEMS = (Clicks("low", 0.03, 0.14), Clicks("high", 0.15, 0.3))


def policies(sigma: float) -> dict[str, Policy]:
    """Return the policies to compare."""
    return {
        "RAWUCB": make("raw-ucb", sigma=sigma),
        "EffRAWUCB": make("eff-raw-ucb", sigma=sigma),
        "UCB1": make("ucb1", sigma=sigma),
        "KLUCB": make("kl-ucb"),
        "ThompsonSampling": make("thompson-sampling"),
        "Exp3S": make("exp3-s", horizon=T),
    }


def counted_everywhere(leads: bool, pending: int, rewards: int) -> bool:
    """Count in every width."""
    return True


def counted_with_few_rewards(leads: bool, pending: int, rewards: int) -> bool:
    """Count while an arm has fewer rewards than decisions under way, whether it leads or not."""
    return rewards < pending


COUNTED: dict[Rule, Counted] = {
    "young": counts_for,
    "ignore": counts_for,  # which is not asked
    "everywhere": counted_everywhere,
    "few rewards": counted_with_few_rewards,
}

# --- The games ---------------------------------------------------------------------------------------------------


class Cell(NamedTuple):
    """One entry of a table: the games of one policy, with the same chance as those of the others."""

    problem: Clicks
    policy: str
    delay: tuple[int, int]
    rule: Rule
    lost: float = 0.0  # share of the rewards that never come
    thinned: bool = False  # the rounds whose rewards are lost are not played at all
    seed: int = SEED

    @property
    def name(self) -> str:
        """A name of its own."""
        low, high = self.delay
        lost = f" {'without' if self.thinned else 'lost'} {self.lost:g}" if self.lost else ""
        return f"{self.problem.name} {self.policy} {low}-{high} {self.rule}{lost}{' other seed' if self.seed != SEED else ''}"


def drawn(cell: Cell, run: int, rounds: int = T, swapped: int = SWAPPED) -> Chance:
    """Return the chance of one run; the delay, what is lost and the policy change nothing about the clicks."""
    rng = np.random.default_rng([cell.seed, run])
    rates = rng.uniform(0.0, 2.0 * cell.problem.rate, K + rounds // swapped + 1)
    clicks = rng.uniform(size=rounds)
    delays = rng.integers(cell.delay[0], cell.delay[1] + 1, rounds)
    kept = np.ones(rounds, bool)
    for first in range(0, rounds, swapped):  # as many in each generation, so that it can be played without them
        n = min(swapped, rounds - first)
        kept[first + rng.permutation(n)[: round(n * cell.lost)]] = False
    if cell.thinned:
        return Chance(rates, clicks[kept], delays[kept])
    return Chance(rates, clicks, np.where(kept, delays, -1))


def interval_of_swaps(cell: Cell, swapped: int = SWAPPED) -> int:
    """Return after how many rounds an arm is swapped."""
    return swapped - round(swapped * cell.lost) if cell.thinned else swapped


def bandit_game(
    policy: Policy, rule: Literal["young", "ignore"], chance: Chance, n_arms: int, swapped: int, seed: int
) -> Iterator[int]:
    """Play a game with a bandit, and yield the number of the arm that is chosen in each round: what `choices` computes."""
    bandit = Bandit(policy, arms=range(n_arms), seed=seed, pending=rule, max_pending=chance.clicks.size)
    due: dict[int, list[tuple[str, float]]] = {}
    for t, delay in enumerate(chance.delays.tolist()):
        if t > 0 and t % swapped == 0:
            number = n_arms + t // swapped - 1
            bandit.forget(number - n_arms)  # the oldest arm there is
            bandit.add_arm(number)
        decision = bandit.decide()
        arm = int(str(decision.arm))
        yield arm
        if delay < 0:
            bandit.expire(decision.id)
        due.setdefault(t + delay, []).append((decision.id, float(chance.clicks[t] < chance.rates[arm])))
        bandit.reward_many(due.pop(t, []))


def regret(chance: Chance, chosen: Ints, n_arms: int, swapped: int) -> float:
    """Return the regret of one run against the best arm there is in each round."""
    generations = np.arange(chosen.size) // swapped
    best = np.array([chance.rates[first : first + n_arms].max() for first in range(int(generations[-1]) + 1)])
    return math.fsum(best[generations] - chance.rates[chosen])


def played(cell: Cell, run: int) -> float:
    """Return the regret of one run of one entry, per T rounds."""
    chance, swapped = drawn(cell, run), interval_of_swaps(cell)
    policy = policies(cell.problem.sigma)[cell.policy]
    chosen = choices(policy, cell.rule != "ignore", chance, K, swapped, run, COUNTED[cell.rule])
    return regret(chance, chosen, K, swapped) * (T / chosen.size)


def late_cells(problem: Clicks) -> list[Cell]:
    """Return the entries of the table of one problem; without a delay, both rules are the same."""
    rules: dict[bool, tuple[Rule, ...]] = {True: ("young",), False: ("ignore", "young")}
    names = policies(problem.sigma)
    return [Cell(problem, name, delay, rule) for name in names for delay in DELAYS for rule in rules[delay == (0, 0)]]


def lost_cells(problem: Clicks) -> list[Cell]:
    """Return the entries of one row of the table of lost rewards, after that of none."""
    return [Cell(problem, "Exp3S", (0, 0), "young", lost, thinned) for lost in LOST for thinned in (False, True)]


def rule_cells(problem: Clicks, policy: str) -> list[Cell]:
    """Return the entries of some rows of the table of rules."""
    late = [Cell(problem, policy, delay, rule, seed=OTHER_SEED) for delay in DELAYS[1:3] for rule in COUNTED]
    return [Cell(problem, policy, DELAYS[0], "young", seed=OTHER_SEED), *late]


ROTTING = ("RAWUCB", "EffRAWUCB")


def cells() -> list[Cell]:
    """Return all entries."""
    late = [cell for problem in PROBLEMS for cell in (*late_cells(problem), *lost_cells(problem))]
    return [*late, *(cell for problem in PROBLEMS for policy in ROTTING for cell in rule_cells(problem, policy))]


Found = Mapping[str, Floats]
"""The regret of each run, by the names of the cells."""


def measured(keep: Path) -> dict[str, Floats]:
    """Play all games that are not in the folder `keep`, and keep them there."""
    found = {}
    keep.mkdir(parents=True, exist_ok=True)
    for cell in cells():
        policy = policies(cell.problem.sigma)[cell.policy]
        mark = digest(plain_function("play", bound_play(policy, cell.rule != "ignore", COUNTED[cell.rule])))
        file = keep / f"{cell.name} {mark}.json".replace(" ", "_")
        known: list[float] = json.loads(file.read_text("utf-8")) if file.exists() else []
        while len(known) < RUNS:
            known.append(round(played(cell, len(known)), 4))
            if len(known) % 10 == 0:
                file.write_text(json.dumps(known), "utf-8")
        found[cell.name] = np.array(known)
        sys.stdout.write(f"{cell.name}: {shown(found[cell.name])}\n")
        sys.stdout.flush()
    return found


# --- The page ----------------------------------------------------------------------------------------------------


def half_interval(values: Floats) -> float:
    """Return half the length of the 95 % interval of the mean."""
    return float(1.96 * values.std(ddof=1) / math.sqrt(values.size))


def shown(values: Floats) -> str:
    """Return a mean and half the length of its interval."""
    return f"{values.mean():,.0f} ± {half_interval(values):,.0f}"
