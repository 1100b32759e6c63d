"""Write docs/policies.md from the code: what each policy needs and costs, and its regret on four problems.

`make docs` runs it. The page depends on the code and on a fixed seed only, not on the machine or the number of its cores.
"""

import inspect
import re
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from docs.page_tables import table
from rotting import registry
from rotting.policy import Policy
from rotting.problems import Abrupt, Constant, Piecewise, Problem, stationary
from rotting.problems.noise import Bernoulli
from rotting.simulation.simulate import simulate

PAGE = Path(__file__).parent / "policies.md"
COLUMNS = 120
HORIZON, RUNS, SEED = 2_000, 50, 0
Cells = Mapping[str, Sequence[str]]
"""By the name of a policy's class: its regret on each problem, as on the page."""


# --- The four problems --------------------------------------------------------------------------------------------------------


class Setting(NamedTuple):
    """A problem, and what policies that need it are told about it."""

    title: str
    problem: Problem
    changes: int  # Y
    variation: float  # V
    means: str


def _settings() -> tuple[Setting, ...]:
    T, coin = HORIZON, Bernoulli()
    quarter, short, L = T // 4, T // 25, 0.4
    sizes = [5 * i / 100 for i in range(1, 10)]
    two_arms = [Constant(0.5), Abrupt(0.5 + L / 2, 0.5 - L / 2, at=quarter)]
    ten_arms = [Constant(0.5), *(Abrupt(0.5 + mu, 0.5 - mu, at=short) for mu in sizes)]
    levels = [[0.9, 0.4, 0.3, 0.2], [0.7, 0.7, 0.3, 0.2], [0.5, 0.5, 0.5, 0.2], [0.3, 0.3, 0.3, 0.3]]
    starts = [k * quarter for k in range(4)]
    pieces = [Piecewise(values, starts) for values in levels]
    return (
        Setting("stationary", stationary([0.7, 0.6, 0.5, 0.4, 0.3], coin, T), 0, 0.0, "0.7, 0.6, 0.5, 0.4, 0.3 for ever"),
        Setting(
            "rested, 2 arms",
            Problem.rested(two_arms, coin, T),
            1,
            L,
            f"0.5 for ever; 0.7 for {quarter} of its own pulls, then 0.3",
        ),
        Setting(
            "rested, 10 arms",
            Problem.rested(ten_arms, coin, T),
            len(sizes),
            round(2 * sum(sizes), 6),
            f"0.5 for ever; 0.5 + d for {short} of its own pulls, then 0.5 - d, for d in 0.05, 0.10, ..., 0.45",
        ),
        Setting(
            "restless, 4 arms",
            Problem.restless(pieces, coin, T),
            3,
            1.2,
            f"each arm's means in the quarters of {quarter} rounds: " + "; ".join(", ".join(map(str, each)) for each in levels),
        ),
    )


SETTINGS = _settings()


# --- The policies, and what they are given ------------------------------------------------------------------------------------


def policies() -> list[type[Policy]]:
    """Return the library's policies: those sound for both kinds of rotting first, those for neither last; then by name."""
    built_in = [each for each in registry.list_policies() if each.__module__.startswith("rotting.policies.")]
    return sorted(built_in, key=lambda each: (each.sees_means, not each.rested, not each.restless, each.__name__.lower()))


def given_to(policy: type[Policy], setting: Setting) -> dict[str, float]:
    """Return what a policy is given beyond its defaults: the scale of the rewards, the horizon, the changes."""
    known = {each.name: each for each in policy.parameters()}
    given: dict[str, float] = {}
    made_for_it = "kind" in known or "B" in known  # for rewards in [0, 1], by default
    if "sigma" in known and not made_for_it:
        given["sigma"] = 0.5
    if "horizon" in known:
        given["horizon"] = HORIZON
    for name, value in (("breakpoints", setting.changes), ("budget", setting.variation)):
        if policy.needs_changes and name in known:
            rule = known[name].rule
            refused = value < rule.low or (value == rule.low and rule.open_low)
            given[name] = known[name].default if refused else value
    return given


def regrets(classes: Sequence[type[Policy]], workers: int | None = None) -> dict[str, list[str]]:
    """Play every problem with policies, and return their cells of the table; a policy's cells do not depend on the others."""
    cells: dict[str, list[str]] = {each.__name__: [] for each in classes}
    for setting in SETTINGS:
        players = [each(**given_to(each, setting)) for each in classes]
        result = simulate(players, setting.problem, runs=RUNS, seed=SEED, workers=workers, checkpoints=[], progress=False)
        for each, regret in zip(classes, result.regret[:, :, -1], strict=True):
            cells[each.__name__].append(f"{regret.mean():.1f}")
    return cells


# --- The page -----------------------------------------------------------------------------------------------------------------


def _wrapped(text: str, indent: str = "") -> str:
    """Return the text in lines that do not break within `code`, where a leading + or - would start a list."""
    whole = re.sub(r"`[^`]*`", lambda code: code[0].replace(" ", "\0"), " ".join(text.split()))
    lines = textwrap.wrap(whole, COLUMNS, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).replace("\0", " ")


def _table(classes: Sequence[type[Policy]], cells: Cells) -> str:
    def told(words: Mapping[str, bool]) -> str:
        return ", ".join(word for word, holds in words.items() if holds) or "-"

    heads = ["policy", "needs", "learns", "draws", "time per round", "memory", *(each.title for each in SETTINGS)]
    rows = [
        [
            each.__name__,
            told({"T": each.needs_horizon, "changes": each.needs_changes}),
            told({"rested": each.rested, "restless": each.restless}),
            told({"yes": each.randomised}),
            each.cost,
            each.memory,
            *cells[each.__name__],
        ]
        for each in classes
    ]
    return table(heads, rows, "llllll" + "r" * len(SETTINGS))


def _list(*items: str) -> str:
    return "\n".join(_wrapped(f"- {each}", "  ") for each in items)


def _description(policy: type[Policy]) -> str:
    """Return the first line of the docstring, beside the names of the policy."""
    first = (inspect.getdoc(policy) or "").partition("\n")[0]
    source = policy.__module__.replace(".", "/") + ".py"
    return f"[{policy.__name__}](../src/{source}), `{policy.name}`: {first}"


def _problem(setting: Setting) -> str:
    known = f"K = {setting.problem.n_arms}, Y = {setting.changes}, V = {setting.variation:g}"
    return f"**{setting.title}** ({known}): {setting.means}."


def page(cells: Cells) -> str:
    """Return the page on the policies whose regrets are given."""
    classes = [each for each in policies() if each.__name__ in cells]
    parts = [
        "# The policies",
        "<!-- Written by `make docs` from the code: do not edit. The tests check that it is up to date. -->",
        _wrapped(
            "Policies that learn under both kinds of decay come first, those that learn under neither last, and the greedy"
            " oracle, which sees the means, is at the end. The last four columns are the mean regret on four problems."
        ),
        _table(classes, cells),
        _list(
            "**needs**: T, the number of rounds (`rotting.doubling(policy)` plays it without T), or the number of changes, or"
            " how much or how fast the means vary.",
            "**learns**: the policy has a guarantee, or is known to learn, when arms wear out with their own pulls (rested),"
            " or with time (restless).",
            "**draws**: the policy draws random numbers.",
            "**time per round**, **memory**: for K arms after t rounds, with typical rewards. In the worst case, policies that"
            " search windows or splits ([how](hull.md)) take O(t) per arm.",
        ),
        "## The four problems",
        _wrapped(
            f"The regrets are means of {RUNS} paired runs of T = {HORIZON:,} rounds, with seed {SEED}; less is better. The"
            " rewards are 0 and 1. K is the number of arms, Y the number of changes, and V the total variation: the sum, over"
            " the Y changes, of the largest change of any arm. The means are:"
        ),
        _list(*map(_problem, SETTINGS)),
        _wrapped(
            "Policies with a sub-Gaussian scale get `sigma=0.5`; policies that can be tuned to a horizon get T and, where they"
            " take them, Y or V (or the default, 1, where the true value is 0, which they refuse). All other parameters have"
            ' their defaults. With `sigma="estimate"`, ten of the policies need no sigma: see [unknown'
            " noise](unknown-noise.md)."
        ),
        _wrapped(
            f"{HORIZON:,} rounds are too few for some policies: AdSwitch, Ada-ILTCB+ and META, with the constants of their"
            " papers, play all arms about equally; M-UCB explores in a quarter to all of its rounds; DiscountedTS and"
            " SlidingWindowTS are not tuned, and remember about 1,000 rounds."
        ),
        "## Summaries",
        _wrapped(
            "The name in Python links to the file, which has the formula, the tuning, what is proved and the reference; the"
            " second name is that on the command line."
        ),
        _list(*map(_description, classes)),
    ]
    return "\n\n".join(parts) + "\n"


def read_regrets(text: str) -> dict[str, list[str]]:
    """Return the regrets that a page holds."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    return {row[0]: row[-len(SETTINGS) :] for row in rows[2:]}


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(regrets(policies())), "utf-8")
    sys.stdout.write(f"{PAGE} written\n")


if __name__ == "__main__":
    main()
