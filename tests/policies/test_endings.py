"""Every kernel ends, whatever its state holds: a loop on a NaN would not hear an interrupt."""

import math
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from rotting.policies.parts.divergences import kl_bernoulli_upper
from rotting.policies.parts.posteriors import probabilities_of_largest
from rotting.policies.parts.reward_scale import GAUSSIAN
from rotting.problems import Problem
from rotting.problems.noise import log_gamma_variate
from rotting.registry import make
from rotting.simulation.simulate import simulate

# Each of a state's arrays of floats in turn, and then all of them; few arms, and enough for a tournament.
SCRIPT = textwrap.dedent("""
    import sys
    import numpy as np
    from tests.helpers.games import KEY, compiled_kernels
    from rotting.policies.kernels.policy_functions import flatten
    from rotting.live import policy_state as states
    from rotting.registry import make

    def played(policy, update, n_arms, rounds):
        state = states.new_state(policy, n_arms, 16 * (rounds + 1))
        for t in range(1, rounds + 1):
            update(policy.params, state, t, (t - 1) % n_arms, 0.25 * (t % 3))
        assert "full" not in state._fields or state.full[0] == 0
        return state

    def check(policy, choose, state, n_arms, t, spoil, value):
        for name in spoil:
            flatten(state)[name][...] = value
        arm = int(choose(policy.params, state, t, KEY, np.arange(n_arms)))
        assert 0 <= arm < n_arms, (policy, spoil, arm)

    for policy in [*map(make, sys.argv[1:]), make("raw-kl-ucb", kind="gaussian")]:
        print(policy.name, flush=True)
        choose, update = compiled_kernels(policy)
        fresh = flatten(states.new_state(policy, 1, 1))
        floats = [name for name, array in fresh.items() if array.dtype.kind == "f"]
        for n_arms in (1, 3, 40):
            state = played(policy, update, n_arms, 4 * n_arms)
            for spoil in [*([name] for name in floats), floats]:
                for value in (np.nan, np.inf, -np.inf):
                    check(policy, choose, states.copy(state), n_arms, 4 * n_arms + 1, spoil, value)
""")
SEARCHING = ["raw-ucb", "raw-ucb-pp", "raw-kl-ucb", "eff-raw-ucb", "eff-raw-ucb-pp", "fewa", "eff-fewa"]


@pytest.mark.parametrize("way", ["interpreted", pytest.param("compiled", marks=pytest.mark.slow)])
def test_a_choice_ends_on_any_state(way: str) -> None:
    tests = Path(__file__).parent
    disable = "1" if way == "interpreted" else "0"
    path = os.pathsep.join([str(tests), str(tests.parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT, *SEARCHING],
        env={**os.environ, "NUMBA_DISABLE_JIT": disable, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.split() == [*SEARCHING, "raw-kl-ucb"]


@pytest.mark.parametrize("x", [math.nan, math.inf, -math.inf, 0.5])
@pytest.mark.parametrize("d", [math.nan, math.inf, 1e308, 0.5])
def test_a_bound_ends_on_any_mean(x: float, d: float) -> None:
    assert not kl_bernoulli_upper(x, d) > 1.0


@pytest.mark.parametrize("shape", [math.nan, math.inf, 1e308])
def test_a_variate_ends_on_any_shape(shape: float) -> None:
    _, draw = log_gamma_variate(shape, 1, 2, 3, 4, 0)
    assert draw == 2


EDGE = -1e20 * math.sqrt(80.0)  # where the other posterior, far wider, begins


@pytest.mark.parametrize("worst", [(math.nan, 1.0), (0.0, math.inf), (0.0, math.nan), (EDGE, math.ulp(EDGE) / 4)])
def test_chances_end_on_any_posterior(worst: tuple[float, float]) -> None:
    """The last one's panels are too short to go on from where it lies, seen from the centre of the other."""
    out = np.zeros(2)
    with np.errstate(all="ignore"):
        probabilities_of_largest(GAUSSIAN, np.array([(0.0, 1e20), worst]), out)
    assert np.isnan(out).all() or out.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["raw-ucb", "raw-ucb-pp", "raw-kl-ucb"])
def test_games_on_the_largest_means_end(name: str) -> None:
    """Twice the size is refused; this much overflows no sum."""
    policy = make(name, kind="gaussian") if name == "raw-kl-ucb" else make(name)
    result = simulate(policy, Problem.rested([1e100, -1e100, 9e99], horizon=50), runs=2)
    assert np.isfinite(result.regret).all()
    with pytest.raises(ValueError, match="means must be finite numbers of at most 1e\\+100 in size, got 2e\\+100"):
        Problem.rested([2e100, 0.0], horizon=50)
