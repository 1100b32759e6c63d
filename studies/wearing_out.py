"""Measure the flag "wearing out" of the service: how many worn arms it finds, and how many steady ones it marks in 30 days.

    python -m studies.wearing_out [bandits]

Twenty arms with click rates of 2 to 10 %, EFF-RAW-UCB with a holdout of 5 %, 200 users. In the first world every second arm
halves after its own 2,000 views. In the others nothing wears out: the rates are steady, follow a daily cycle, or fall by a
third in 30 days, all together. As in the service, `rotting.diagnose` judges the newest 100,000 decisions, here every six hours.
"""

import sys
from collections.abc import Callable

import numpy as np

import rotting
from rotting.server.http.observer import wearing_out

ARMS, DAYS, EVERY, ROWS = 20, 30, 4, 100_000  # looks in a day

WORLDS: dict[str, Callable[[float], float]] = {
    "worn": lambda day: 1.0,
    "steady": lambda day: 1.0,
    "daily cycle": lambda day: 1.0 + 0.4 * np.sin(2.0 * np.pi * day),
    "slow fall of all": lambda day: 1.0 - day / (3.0 * DAYS),
}


def marked(world: str, seed: int, decisions: int) -> tuple[int, int, int, int]:
    """Return how many arms that wore out were marked, how many wore out, and the same for those that did not."""
    rng = np.random.default_rng(seed)
    rates, pulls = rng.uniform(0.02, 0.10, ARMS), np.zeros(ARMS, np.int64)
    bandit = rotting.Bandit(rotting.EffRAWUCB(sigma=0.3), arms=list(range(ARMS)), seed=seed, holdout=0.05, compile="now")
    made = np.zeros((decisions, 4))
    ever: set[int] = set()
    for t in range(decisions):
        day, user = DAYS * t / decisions, int(rng.integers(200))
        arm = bandit.pull()
        wears = world == "worn" and arm % 2 == 1 and pulls[arm] >= 2_000
        rate = rates[arm] * WORLDS[world](day) * (0.5 if wears else 1.0)
        pulls[arm] += 1
        reward = float(rng.uniform() < rate)
        bandit.update(arm, reward)
        made[t] = arm, reward, day, user
        if (t + 1) % (decisions // (DAYS * EVERY)) == 0:
            rows = made[max(0, t + 1 - ROWS) : t + 1]
            names = [str(int(each)) for each in rows[:, 0]]
            log = rotting.Log({"arm": names, "reward": rows[:, 1], "time": rows[:, 2]}, time="time")
            ever |= {int(str(each)) for each in wearing_out((log, list(range(ARMS))))}
    # An arm can only be found if it was shown for some time after it had worn out.
    worn = {arm for arm in range(ARMS) if world == "worn" and arm % 2 == 1 and pulls[arm] >= 2_500}
    untouched = {arm for arm in range(ARMS) if not (world == "worn" and arm % 2 == 1 and pulls[arm] >= 2_000)}
    return len(ever & worn), len(worn), len(ever & untouched), len(untouched)


def main() -> None:
    """Print the results."""
    bandits = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    for world in WORLDS:
        found = np.sum([marked(world, seed, 120_000) for seed in range(bandits)], axis=0)
        arms = f"{found[0]} of {found[1]} worn arms marked, {found[2]} of {found[3]} others"
        sys.stdout.write(f"{world}: {arms} in {DAYS} days\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
