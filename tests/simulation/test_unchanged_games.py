"""Games that were played once and must stay: regrets and pulls of every policy on four problems, bit for bit.

`make record` adds the digests of policies that have none. A change that is meant to alter results removes those of the policies
concerned from `unchanged_games.json` first, and says in the changelog which ones changed, and why.
"""

import hashlib
import json
from pathlib import Path

import pytest

import rotting
from rotting.problems import Abrupt, Exponential, Linear, Problem, Product, Rested, Restless
from tests.conftest import STRESS

HORIZON, RUNS, SEED = 2_000, 20, 7
KEPT = Path(__file__).with_name("unchanged_games.json")

PROBLEMS = {
    "rested": Problem.rested([Abrupt(0.8, 0.1, at=400), 0.5, Abrupt(0.6, 0.3, at=900)], noise=rotting.Gaussian(0.5)),
    "restless": Problem.restless([Linear(0.9, slope=-0.0004), 0.5, Abrupt(0.7, 0.2, at=600)], noise=rotting.Gaussian(0.5)),
    "both clocks": Problem(
        [
            Product(Exponential(1.0, rate=0.002), Exponential(1.0, rate=0.001)),
            Rested(0.4),
            Restless(Linear(0.8, slope=-0.0003)),
        ],
        noise=rotting.Gaussian(0.5),
    ),
    "Bernoulli": Problem(
        [Rested(Abrupt(0.7, 0.2, at=500)), Restless(Abrupt(0.6, 0.3, at=1_000)), Rested(0.4)], noise=rotting.Bernoulli()
    ),
}


def policies() -> list[rotting.Policy]:
    """Every policy of the library with its defaults; a parameter that has none is a horizon."""
    classes = [each for each in rotting.list_policies() if each.__module__.startswith("rotting.policies")]
    return [each(**{every.name: HORIZON for every in each.parameters() if every.required}) for each in classes]


def played(policy: rotting.Policy, name: str) -> str:
    params = {"outside": "clip"} if policy.reward_range is not None else {}  # Gaussian rewards leave every range
    playing = type(policy)(**{**policy.shown_params(), **params})
    result = rotting.simulate(
        playing, PROBLEMS[name], horizon=HORIZON, runs=RUNS, seed=SEED, checkpoints=range(100, HORIZON, 100)
    )
    return hashlib.sha256(result.regret.tobytes() + result.pulls.tobytes()).hexdigest()[:16]


RECORDED: dict[str, dict[str, str]] = json.loads(KEPT.read_text("utf-8"))
EVERY = [policy for policy in policies() if policy.name in RECORDED]
GAUSSIAN = [name for name in PROBLEMS if name != "Bernoulli"]


@pytest.mark.slow
@pytest.mark.parametrize("policy", EVERY, ids=lambda policy: policy.name)
def test_games_are_what_they_were(policy: rotting.Policy) -> None:
    kept = RECORDED[policy.name]
    assert {name: played(policy, name) for name in GAUSSIAN} == {name: kept[name] for name in GAUSSIAN}


@pytest.mark.slow
@pytest.mark.parametrize("policy", EVERY if STRESS else EVERY[::4], ids=lambda policy: policy.name)
def test_games_with_coins_are_what_they_were(policy: rotting.Policy) -> None:
    """By themselves: another noise is as much to compile."""
    assert played(policy, "Bernoulli") == RECORDED[policy.name]["Bernoulli"]


if __name__ == "__main__":
    new = [policy for policy in policies() if policy.name not in RECORDED]
    found = RECORDED | {policy.name: {name: played(policy, name) for name in PROBLEMS} for policy in new}
    KEPT.write_text(json.dumps(found, indent=2, sort_keys=True) + "\n", "utf-8")
