"""Measure what docs/probe.md shows: what a probe costs, and how often `rotting.diagnose` names the clock from its pauses.

`make probe` runs it (10 minutes of one core; `--logs 1 --few-logs 1 --runs 2` for a quick look, which writes nothing). It
writes the tables between their marks in the page, which is written by hand. The figures are kept in docs/probe.json: the page
follows from them.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple, TypedDict

import numpy as np

import rotting
from docs.made_logs import TRUTHS, make_world
from docs.page_tables import fill, show, table
from rotting.adapters import Environment
from rotting.common.progress import Progress
from rotting.common.statistics import mean_interval
from rotting.logs.diagnosis import diagnose
from rotting.problems import Problem, ten_arms, two_arms

PAGE = Path(__file__).parent / "probe.md"
FIGURES = Path(__file__).parent / "probe.json"
LOGS, FEW_LOGS, RUNS = 12, 3, 8
"""Logs of the uniform policy with few arms, and of all others, which take longer to make; runs of each problem."""
POLICIES = ("uniform", "Thompson", "RAW-UCB")
PROBES = (0.02, 0.1, 0.3)
ROUNDS = {20: 40_000, 100: 100_000}  # by the number of arms
PROBLEMS = ("two arms", "ten arms", "simulated, pulls", "simulated, time")


class Cell(NamedTuple):
    """One row of the table of verdicts."""

    arms: int
    probe: float
    truth: str
    policy: str

    def key(self) -> str:
        """Return the key of the cell in the file of the figures."""
        return " / ".join(map(str, self))


def cells() -> Iterator[Cell]:
    """Yield the rows of the table of verdicts; policies that learn are measured with few arms and large shares only."""
    for arms, policy in ((20, "uniform"), (20, "Thompson"), (20, "RAW-UCB"), (100, "uniform")):
        for probe in {20: PROBES, 100: PROBES[2:]}[arms][policy != "uniform" :]:
            for truth in TRUTHS:
                yield Cell(arms, probe, truth, policy)


def verdict(cell: Cell, seed: int) -> str:
    """Return the clock that is named for one log."""
    world = make_world(seed, cell.truth, "Gaussian", ROUNDS[cell.arms], cell.arms, 1)
    return diagnose(world.probed_log(cell.policy, cell.probe, seed)).decay


def regret(problem: str, probe: float | None, run: int) -> float:
    """Return the regret of RAW-UCB in one run."""
    env = Environment(_problem(problem), seed=1)
    env.reset(options={"run": run})
    arms = list(range(env.problem.n_arms))
    bandit = rotting.Bandit(rotting.RAWUCB(alpha=1.4, sigma=1.0), arms, seed=run, probe=probe, compile="now")
    ended, info = False, {"regret": 0.0}
    while not ended:
        arm = bandit.pull()
        _, reward, _, ended, info = env.step(arm)
        bandit.update(arm, reward)
    return info["regret"]


def _problem(name: str) -> Problem:
    if name.startswith("simulated"):
        return make_world(0, name.split()[1], "Gaussian", 20_000, 10, 1).problem()
    return two_arms(L=1.0, horizon=10_000) if name == "two arms" else ten_arms()


class Figures(TypedDict):
    """What the page shows."""

    verdicts: dict[str, dict[str, int]]  # how often each verdict was given, by cell
    regrets: dict[str, list[list[float]]]  # [run, probe] of each problem


def _verdict(task: tuple[Cell, int]) -> str:
    return verdict(*task)


def _regrets(task: tuple[str, int]) -> list[float]:
    problem, run = task
    return [regret(problem, probe, run) for probe in (None, *PROBES)]


def measure(logs: int, few_logs: int, runs: int) -> Figures:
    """Return the number of verdicts of each cell, and the regrets [run, probe] of each problem."""
    judged: list[tuple[Cell, int]] = []
    for cell in cells():
        judged += [(cell, seed) for seed in range(logs if cell.policy == "uniform" and cell.arms == 20 else few_logs)]
    played = [(problem, run) for run in range(runs) for problem in PROBLEMS]
    verdicts: dict[str, Counter[str]] = {}
    regrets: dict[str, list[list[float]]] = {}
    bar = Progress(len(judged) + len(played), show=True)
    with ProcessPoolExecutor() as pool:
        for (cell, _), found in zip(judged, pool.map(_verdict, judged, chunksize=2), strict=True):
            verdicts.setdefault(cell.key(), Counter())[found] += 1
            bar.advance(1)
        for (problem, _), each in zip(played, pool.map(_regrets, played, chunksize=2), strict=True):
            regrets.setdefault(problem, []).append(each)
            bar.advance(1)
    return {
        "verdicts": {cell.key(): dict(verdicts[cell.key()]) for cell in cells()},
        "regrets": {name: np.round(regrets[name], 1).tolist() for name in PROBLEMS},
    }


def pages(figures: Figures) -> dict[str, str]:
    """Return the tables by the names of their marks."""
    rows = []
    for cell in cells():
        counts = Counter(figures["verdicts"][cell.key()])
        logs, wrong = sum(counts.values()), sum(counts[each] for each in TRUTHS if each != cell.truth)
        shares = [f"{count / logs:.0%}" for count in (counts[cell.truth], wrong, counts["cannot tell"])]
        rows.append([str(cell.arms), cell.policy, f"{cell.probe:g}", cell.truth, str(logs), *shares])
    heads = ["arms", "policy", "probe", "truth", "logs", "right", "wrong", "cannot tell"]
    prices = []
    for name in PROBLEMS:
        regrets = np.array(figures["regrets"][name])
        more = [mean_interval(regrets[:, k] - regrets[:, 0]) for k in range(1, regrets.shape[1])]
        shown = [f"{each.mean:+.0f} ({each.low:+.0f} to {each.high:+.0f})" for each in more]
        prices.append([name, str(len(regrets)), f"{regrets[:, 0].mean():.0f}", *shown])
    columns = ["problem", "runs", "regret without", *(f"more with {probe:g}" for probe in PROBES)]
    return {"verdicts": table(heads, rows, "rlrl" + "r" * 4), "prices": table(columns, prices, "l" + "r" * 5)}


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Measure what docs/probe.md shows.")
    parser.add_argument("--logs", type=int, default=LOGS, help="logs of the first rows (default: %(default)s)")
    parser.add_argument("--few-logs", type=int, default=FEW_LOGS, help="logs of the other rows (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=RUNS, help="runs of each problem (default: %(default)s)")
    parser.add_argument("--write", action="store_true", help="keep the figures, and write the page anew")
    options = parser.parse_args()
    figures = measure(options.logs, options.few_logs, options.runs)
    show(pages(figures))
    if options.write:
        FIGURES.write_text(json.dumps(figures) + "\n")
        fill(PAGE, pages(figures))


if __name__ == "__main__":
    main()
