"""Measure segments: one bandit for all users, one for each segment, or one for each that starts from what all have learned.

    python -m studies.segments

Thirty segments, such as countries, with traffic that falls like 1 / rank. Forty creatives are live at a time; every 750
impressions the oldest one is replaced. A creative has a click rate of 2 to 10 %, which halves after 300 views in a segment. In
a segment its rate is multiplied by exp(taste x normal - taste^2 / 2): with a taste of 0, all segments like the same.

A segment that starts from what all have learned adds each creative with a prior: the mean that it has in a bandit which learns
from all segments, or the mean of all rewards if that is new, with a weight.
"""

import sys
from pathlib import Path

import numpy as np

import rotting
from docs.page_tables import fill, show, table

PAGE = Path(__file__).parents[1] / "docs" / "guides" / "which-segments.md"
SEGMENTS, LIVE, ROUNDS, EVERY, WEARS = 30, 40, 60_000, 750, 300
TASTES, RUNS, WEIGHTS = (0.0, 0.3, 0.8), 3, (10, 100)
_POLICY = rotting.EffRAWUCB(sigma=0.3)


def clicks(way: str, taste: float, run: int) -> int:
    """Return the clicks of one run; the same run has the same creatives and users in every way."""
    world, luck = np.random.default_rng([run, 1]), np.random.default_rng([run, 2])
    creatives = LIVE + ROUNDS // EVERY
    traffic = 1.0 / np.arange(1, SEGMENTS + 1)
    users = world.choice(SEGMENTS, ROUNDS, p=traffic / traffic.sum())
    noise = world.normal(size=(creatives, SEGMENTS))
    rates = world.uniform(0.02, 0.10, (creatives, 1)) * np.exp(taste * noise - taste**2 / 2.0)
    views, total, live = np.zeros((creatives, SEGMENTS)), 0, list(range(LIVE))
    pool = rotting.Bandit(_POLICY, arms=live, seed=run, compile="now")
    own: dict[int, rotting.Bandit[int]] = {}
    weight = int(way.rpartition(" ")[2]) if way.startswith("prior") else 0

    def add(bandit: rotting.Bandit[int], arm: int, t: int) -> None:
        known = pool.explain()[arm] if weight and arm in pool.arms else None
        if known is not None and known.pulls:
            bandit.add_arm(arm, prior=(known.mean, weight))
        else:
            bandit.add_arm(arm, prior=(total / t, weight) if weight and total else None)

    for t in range(ROUNDS):
        if t and t % EVERY == 0:
            old, new = live.pop(0), LIVE + t // EVERY - 1
            live.append(new)
            for bandit in (pool, *own.values()):
                if bandit is pool:
                    pool.add_arm(new)
                else:
                    add(bandit, new, t)
                bandit.forget(old)
        segment = int(users[t]) if way != "one for all" else -1
        if segment >= 0 and segment not in own:
            own[segment] = rotting.Bandit(_POLICY, arms=[live[0]], seed=run, compile="now")
            for arm in live[1:]:
                add(own[segment], arm, t)
        bandit = pool if segment < 0 else own[segment]
        arm, user = bandit.pull(), int(users[t])
        rate = rates[arm, user] * (0.5 if views[arm, user] >= WEARS else 1.0)
        views[arm, user] += 1
        reward = float(luck.uniform() < min(1.0, rate))
        total += int(reward)
        bandit.update(arm, reward)
        if weight:
            pool.update(arm, reward)
    return total


def main() -> None:
    """Write the table into the page."""
    ways = ("one for all", "one for each", *(f"prior of weight {weight}" for weight in WEIGHTS))
    rows = []
    for way in ways:
        found = [np.array([clicks(way, taste, run) for run in range(RUNS)]) for taste in TASTES]
        rows.append([way, *(f"{each.mean():,.0f}" for each in found)])
        sys.stdout.write(f"{rows[-1]}\n")
        sys.stdout.flush()
    parts = {"segments": table(["bandits", *(f"taste {taste:g}" for taste in TASTES)], rows, "lrrr")}
    show(parts)
    fill(PAGE, parts)


if __name__ == "__main__":
    main()
