"""Measure the holdout: how often the interval of `uplift` holds the truth, and when it can tell that a policy is worth it.

    python -m studies.holdout [trials]

Twenty arms with click rates of 2 to 10 %; every second one halves after its own 500 views. EFF-RAW-UCB decides, and 5 % of the
decisions are held out. The interval is looked at after every hundred decisions. The truth is the mean click rate of the
decisions of the policy, less that of the decisions that were held out.
"""

import sys

import numpy as np

import rotting

ARMS, ROUNDS, LOOK = 20, 10_000, 100


def trial(seed: int, share: float) -> tuple[bool, int | None, float]:
    """Return whether an interval ever missed the truth, when it could tell, and the share that was held out."""
    rng = np.random.default_rng(seed)
    rates, pulls = rng.uniform(0.02, 0.10, ARMS), np.zeros(ARMS, np.int64)
    bandit = rotting.Bandit(rotting.EffRAWUCB(sigma=0.3), arms=list(range(ARMS)), seed=seed, holdout=share, compile="now")
    expected, counts, missed, told = np.zeros(2), np.zeros(2), False, None
    for t in range(1, ROUNDS + 1):
        decision = bandit.decide()
        arm, side = decision.arm, int(decision.reason.rule == "holdout")
        rate = rates[arm] * (0.5 if arm % 2 and pulls[arm] >= 500 else 1.0)
        pulls[arm] += 1
        expected[side] += rate
        counts[side] += 1
        bandit.reward(decision, float(rng.uniform() < rate))
        if t % LOOK == 0 and counts.min() > 0:
            found = bandit.uplift()
            policy, uniform = expected / counts
            missed = missed or not found.low <= policy - uniform <= found.high
            if told is None and found.low > 0.0:
                told = t
    return missed, told, counts[1] / ROUNDS


def main() -> None:
    """Print the results."""
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    for share in (0.05, 0.2):
        found = [trial(seed, share) for seed in range(trials)]
        told = [t for _, t, _ in found if t is not None]
        missed = sum(each for each, _, _ in found)
        sys.stdout.write(
            f"holdout {share:.0%}: {missed} of {trials} intervals missed the truth at any look; {len(told)} could tell within "
            f"{ROUNDS:,} decisions; share held out {np.mean([each for *_, each in found]):.4f}\n"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    main()
