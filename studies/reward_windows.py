"""Measure what docs/guides/late-rewards.md says about clicks that come late: the regret with a reward window and without."""

import math
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from docs.page_tables import fill, show, table
from rotting.common.arrays import Floats
from rotting.live.bandit import Bandit
from rotting.live.bandit_state import BanditState
from rotting.live.locks import Guard
from rotting.registry import make
from studies.pending_rewards import error_bar, shown

PAGE = Path(__file__).parent.parent / "docs" / "guides" / "late-rewards.md"
K, HOURS, PER_HOUR, RUNS = 10, 24, 1_000, 40
WINDOW = 1_800.0  # seconds


class Chance(NamedTuple):
    """What all ways of reporting meet in one run."""

    rates: Floats  # [arm number] click rates; every hour, the oldest arm leaves and the next number takes its place
    clicks: Floats  # [round] a click if below the arm's rate
    delays: Floats  # [round] seconds until the outcome arrives


def drawn(run: int, delay: float) -> Chance:
    """Return the chance of one run, with delays up to `delay` seconds."""
    rng = np.random.default_rng([9, run])
    rounds = HOURS * PER_HOUR
    return Chance(rng.uniform(0.2, 1.0, K + HOURS), rng.uniform(size=rounds), rng.uniform(0.0, 1.0, rounds) * delay)


Outcomes = list[tuple[str, float]]
"""The ids of decisions and their rewards, which arrive now."""
Report = Callable[[Bandit, Outcomes, float], None]


def report_at_once(bandit: Bandit, outcomes: Outcomes, now: float) -> None:
    """Report each click when it comes, and expire decisions without one after 30 minutes, as zeros."""
    bandit.reward_many([(key, reward) for key, reward in outcomes if reward > 0.0])
    bandit.expire(older_than=WINDOW, missing=0.0)


def report_all(bandit: Bandit, outcomes: Outcomes, now: float) -> None:
    """Report every outcome when it comes, zeros included."""
    bandit.reward_many(outcomes)


class HeldByHand:
    """Reports nothing before 30 minutes have passed, and then the outcome of each decision, in order."""

    def __init__(self) -> None:
        self.came: dict[str, float] = {}
        self.made: deque[tuple[float, str]] = deque()

    def __call__(self, bandit: Bandit, outcomes: Outcomes, now: float) -> None:
        """Report the outcomes of the decisions that are old enough."""
        self.came.update(outcomes)
        due = []
        while self.made and self.made[0][0] <= now - WINDOW:
            key = self.made.popleft()[1]
            due.append((key, self.came.pop(key, 0.0)))
        bandit.reward_many(due)


def report_clicks(bandit: Bandit, outcomes: Outcomes, now: float) -> None:
    """Report each click when it comes, and nothing else: the reward window does the rest."""
    bandit.reward_many([(key, reward) for key, reward in outcomes if reward > 0.0])


def regret(run: int, delay: float, window: bool, report: Report) -> float:
    """Play one run, and return its regret against the best arm of each hour."""
    chance, now = drawn(run, delay), [0.0]
    state = BanditState.new(make("eff-raw-ucb", sigma=0.5), range(K), run, reward_window=WINDOW if window else None)
    bandit = Bandit.holding(Guard(state, clock=lambda: now[0]))
    due: dict[int, list[tuple[str, float]]] = {}
    lost, step = [], 3_600.0 / PER_HOUR
    for t in range(HOURS * PER_HOUR):
        now[0] = t * step
        hour = t // PER_HOUR
        if t > 0 and t % PER_HOUR == 0:
            bandit.forget(hour - 1)
            bandit.add_arm(K + hour - 1)
        report(bandit, due.pop(t, []), now[0])
        decision = bandit.decide()
        arm = int(str(decision.arm))
        if isinstance(report, HeldByHand):
            report.made.append((now[0], decision.id))
        click = float(chance.clicks[t] < chance.rates[arm])
        if delay == 0.0:
            report(bandit, [(decision.id, click)], now[0])
        else:
            due.setdefault(t + max(1, math.ceil(chance.delays[t] / step)), []).append((decision.id, click))
        lost.append(chance.rates[hour : hour + K].max() - chance.rates[arm])
    return math.fsum(lost)


WAYS: dict[str, tuple[float, bool, Callable[[], Report]]] = {
    "late clicks, held by hand until the window closes": (WINDOW, False, HeldByHand),
    'late clicks, `reward_window="30min"`': (WINDOW, True, lambda: report_clicks),
    "late clicks at once, zeros by `expire` after 30 minutes": (WINDOW, False, lambda: report_at_once),
    "all outcomes at once, learned on arrival": (0.0, False, lambda: report_all),
    'all outcomes at once, `reward_window="30min"`': (0.0, True, lambda: report_all),
}


def measured() -> dict[str, Floats]:
    """Play all games."""
    found = {}
    for name, (delay, window, report) in WAYS.items():
        found[name] = np.array([round(regret(run, delay, window, report()), 4) for run in range(RUNS)])
        sys.stdout.write(f"{name}: {shown(found[name])}\n")
        sys.stdout.flush()
    return found


def parts(found: dict[str, Floats]) -> dict[str, str]:
    """Return what the page holds between its marks."""
    held, _, _, arrival, _ = found.values()
    rows = []
    for (name, values), base in zip(found.items(), (held, held, held, arrival, arrival), strict=True):
        change = values - base
        difference = (
            ""
            if values is base
            else f"{100 * change.mean() / base.mean():+.0f}% ± {100 * error_bar(change) / base.mean():.0f}%"
        )
        rows.append([name, shown(values), difference])
    return {"windows": table(["what is reported", "regret", "difference"], rows, "lrr")}


def main() -> None:
    """Write the table into the page."""
    found = parts(measured())
    show(found)
    fill(PAGE, found)


if __name__ == "__main__":
    main()
