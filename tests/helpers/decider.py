"""A program that decides and rewards in a store, and says what it was told: `python -m tests.helpers.decider FILE`."""

import itertools
import sys

import rotting


def main(path: str) -> None:
    with rotting.open(path, rotting.EffRAWUCB(sigma=0.5), arms=["a", "b", "c"]) as bandit:
        for k in itertools.count():
            decisions = bandit.decide(count=1 + k % 3)
            for decision in decisions:
                print("decided", decision.id, decision.round, decision.arm, flush=True)
            for decision in decisions[: k % 4]:
                print("rewarded", decision.id, 1.0, bandit.reward(decision.id, 1.0), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
