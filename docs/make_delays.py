"""Measure what docs/delays.md shows: what late rewards cost, with and without counting pending decisions, and lost ones.

`make delays` runs it (half a core-hour, the games once). It writes the tables between their marks in the page, which is written
by hand, and the picture. The figures are kept in docs/delays.json: the page follows from them, and they depend on the code and
on a fixed seed only.
"""

import argparse
import json
import math
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from docs.late_games import Chance, Counted, bound_play, choices
from docs.page_tables import fill, table
from rotting.common.arrays import Floats, Ints
from rotting.display.figures import Curve, Figure, Panel
from rotting.display.pictures import picture_bytes
from rotting.display.plots import draw_figure
from rotting.kernels.binding import digest, plain_function
from rotting.live.bandit import Bandit
from rotting.live.pending_rule import shrinks_width
from rotting.policy import Policy
from rotting.registry import make

PAGE = Path(__file__).parent / "delays.md"
PICTURE = Path(__file__).parent / "delays.svg"
FIGURES = Path(__file__).parent / "delays.json"
K, T, SWAPPED, RUNS, SEED = 30, 50_000, 2_000, 50, 0
DELAYS: tuple[tuple[int, int], ...] = ((0, 0), (100, 100), (500, 500), (60, 1_800))
LOST = (0.05, 0.5)
Rule = Literal["shrink", "ignore", "everywhere", "few rewards"]
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
    """Count while an arm has fewer rewards than pending decisions, whether it leads or not."""
    return rewards < pending


COUNTED: dict[Rule, Counted] = {
    "shrink": shrinks_width,
    "ignore": shrinks_width,  # which is not asked
    "everywhere": counted_everywhere,
    "few rewards": counted_with_few_rewards,
}

# --- The games ----------------------------------------------------------------------------------------------------------------


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
    policy: Policy, rule: Literal["shrink", "ignore"], chance: Chance, n_arms: int, swapped: int, seed: int
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
    rules: dict[bool, tuple[Rule, ...]] = {True: ("shrink",), False: ("ignore", "shrink")}
    names = policies(problem.sigma)
    return [Cell(problem, name, delay, rule) for name in names for delay in DELAYS for rule in rules[delay == (0, 0)]]


def lost_cells(problem: Clicks) -> list[Cell]:
    """Return the entries of one row of the table of lost rewards, after that of none."""
    return [Cell(problem, "Exp3S", (0, 0), "shrink", lost, thinned) for lost in LOST for thinned in (False, True)]


def rule_cells(problem: Clicks, policy: str) -> list[Cell]:
    """Return the entries of some rows of the table of rules."""
    late = [Cell(problem, policy, delay, rule, seed=OTHER_SEED) for delay in DELAYS[1:3] for rule in COUNTED]
    return [Cell(problem, policy, DELAYS[0], "shrink", seed=OTHER_SEED), *late]


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


# --- The page -----------------------------------------------------------------------------------------------------------------


def error_bar(values: Floats) -> float:
    """Return 1.96 standard errors of the mean."""
    return float(1.96 * values.std(ddof=1) / math.sqrt(values.size))


def shown(values: Floats) -> str:
    """Return a mean and 1.96 standard errors."""
    return f"{values.mean():,.0f} ± {error_bar(values):,.0f}"


def span(delay: tuple[int, int]) -> str:
    """Return a delay in words."""
    low, high = delay
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def late_table(problem: Clicks, found: Found) -> str:
    """Return the table of the regrets of one problem."""
    heads = [
        "policy",
        f"delay {span(DELAYS[0])}",
        *(f"{span(delay)}, {rule}" for delay in DELAYS[1:] for rule in ("ignore", "shrink")),
    ]
    rows = [
        [name, *(shown(found[cell.name]) for cell in late_cells(problem) if cell.policy == name)]
        for name in policies(problem.sigma)
    ]
    return table(heads, rows, "l" + "r" * (len(heads) - 1))


class Losses(NamedTuple):
    """What a delay costs, in each run."""

    ignored: Floats  # if pending decisions are ignored
    counted: Floats  # if they count

    @property
    def share(self) -> float:
        """What remains of the loss."""
        return float(self.counted.mean() / self.ignored.mean())


def losses(problem: Clicks, policy: str, delay: tuple[int, int], found: Found) -> Losses:
    """Return what a delay costs, against none."""
    none = found[Cell(problem, policy, DELAYS[0], "shrink").name]
    rules: tuple[Rule, Rule] = ("ignore", "shrink")
    return Losses(*(found[Cell(problem, policy, delay, rule).name] - none for rule in rules))


def saved_table(found: Found) -> str:
    """Return the table of what counting changes, run by run."""
    rows = []
    for problem in PROBLEMS:
        for policy in policies(problem.sigma):
            lost = [losses(problem, policy, delay, found) for delay in DELAYS[1:]]
            changes = [shown(each.counted - each.ignored) for each in lost]
            rows.append([f"{problem.rate:.0%}", policy, *changes, f"{lost[1].share:.0%}" if policy != "Exp3S" else "-"])
    heads = ["clicks", "policy", *(span(delay) for delay in DELAYS[1:]), "remaining loss at 500"]
    return table(heads, rows, "ll" + "r" * len(DELAYS))


def rules_table(found: Found) -> str:
    """Return the table of other rules."""
    rows = []
    for problem in PROBLEMS:
        for policy in ROTTING:
            none, *late = (found[cell.name] for cell in rule_cells(problem, policy))
            for k, delay in enumerate(DELAYS[1:3]):
                of_rules = late[k * len(COUNTED) : (k + 1) * len(COUNTED)]
                rows.append([f"{problem.rate:.0%}", policy, span(delay), shown(none), *map(shown, of_rules)])
    heads = ["clicks", "policy", "delay", "no delay", "all but the leader", "none", "all", "few rewards"]
    return table(heads, rows, "ll" + "r" * (len(heads) - 2))


class Lost(NamedTuple):
    """What lost rewards cost Exp3.S, in each run."""

    cost: Floats  # the regret more than without a loss
    information: Floats  # the part of it that who plays only the other rounds pays too


def lost(problem: Clicks, share: float, found: Found) -> Lost:
    """Return what it costs that this share of the rewards is lost."""
    none = found[Cell(problem, "Exp3S", DELAYS[0], "shrink").name]
    cost, information = (found[cell.name] - none for cell in lost_cells(problem) if cell.lost == share)
    return Lost(cost, information)


def lost_table(found: Found) -> str:
    """Return the table of lost rewards."""
    rows = []
    for problem in PROBLEMS:
        none = found[Cell(problem, "Exp3S", DELAYS[0], "shrink").name]
        for share in LOST:
            cost, information = lost(problem, share, found)
            rows.append(
                [
                    f"{problem.rate:.0%}",
                    f"{share:.0%}",
                    *map(shown, (none, none + cost, none + information, cost - information)),
                ]
            )
    heads = ["clicks", "share lost", "none lost", "some lost", "not played", "difference of the last two"]
    return table(heads, rows, "lr" + "r" * (len(heads) - 2))


def figure(found: Found) -> Figure:
    """Return the picture as data."""

    def curve(problem: Clicks, policy: str, rule: Rule) -> Curve:
        values = [found[Cell(problem, policy, d, "shrink" if d == DELAYS[0] else rule).name] for d in DELAYS]
        means, halves = np.array([each.mean() for each in values]), np.array([error_bar(each) for each in values])
        x = np.array([(low + high) / 2 for low, high in DELAYS])
        return Curve(f"{policy}, {rule}", x, means, means - halves, means + halves, points=True)

    panels = tuple(
        Panel(
            title=f"click rates around {problem.rate:.0%}",
            x_label="mean delay in rounds",
            y_label="regret",
            curves=tuple(curve(problem, policy, rule) for policy in (*ROTTING, "UCB1") for rule in ("ignore", "shrink")),
        )
        for problem in PROBLEMS
    )
    caption = (
        f"Mean regret after {T:,} rounds, with 1.96 standard errors, for fixed delays of {', '.join(map(span, DELAYS[:3]))}; "
        f"the last point is a delay drawn uniformly from {span(DELAYS[3])}."
    )
    return Figure("delays", "What late rewards cost", caption, panels, columns=2)


def picture(found: Found) -> bytes:
    """Return the picture's file."""
    return picture_bytes(draw_figure(figure(found)), "svg")


def parts(found: Found) -> dict[str, str]:
    """Return what the page holds between its marks, by their names."""
    return {
        "runs": f"Measured in {RUNS} paired runs.",
        **{problem.name: late_table(problem, found) for problem in PROBLEMS},
        "saved": saved_table(found),
        "rules": rules_table(found),
        "lost": lost_table(found),
    }


def kept_figures() -> dict[str, Floats]:
    """Return the figures that the page was made of."""
    return {name: np.array(values) for name, values in json.loads(FIGURES.read_text("utf-8")).items()}


def main() -> None:
    """Write the figures, the tables and the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("keep", type=Path, help="a folder for finished games")
    found = measured(parser.parse_args().keep)
    lines = (f"{json.dumps(name)}: {json.dumps(values.tolist())}" for name, values in found.items())
    FIGURES.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    fill(PAGE, parts(found))
    PICTURE.write_bytes(picture(found))
    sys.stdout.write(f"{FIGURES}, {PAGE} and {PICTURE} written\n")


if __name__ == "__main__":
    main()
