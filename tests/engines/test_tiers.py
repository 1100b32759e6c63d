"""Interpreted functions and machine code: the same decisions and games, wherever one follows the other."""

import os
from pathlib import Path
from typing import Any

import pytest

import rotting
from rotting import problems
from rotting.engines.tiers import CompileMode, resolve_mode
from rotting.errors import InvalidValueError
from rotting.live import policy_state as states
from rotting.live.bandit import Bandit
from rotting.policy import Policy
from rotting.problems.noise import Noise
from rotting.registry import make
from rotting.simulation.simulate import simulate
from tests.helpers.bad_policy import Bad
from tests.helpers.compiler_programs import CHANGE, compiled_only, run
from tests.helpers.games import examples, learners

ROUNDS = 10
NOISES = [
    rotting.Gaussian(0.5),
    rotting.Bernoulli(),
    rotting.Binomial(5),
    rotting.Beta(4.0),
    rotting.Poisson(),
    rotting.Noiseless(),
    rotting.Laplace(0.5),
    rotting.Student(5.0),
    rotting.LogNormal(0.5),
    rotting.Contaminated(),
]


BERNOULLI = problems.stationary(means=[0.75, 0.5], noise=rotting.Bernoulli(), horizon=60)


def decisions(policy: Policy, compile: CompileMode, change_at: int | None = None) -> Any:
    """All decisions of a short game with late rewards, and the state after it; the tier changes before one of the rounds."""
    bandit = Bandit(policy, arms=range(4), seed=3, compile=compile)
    made, waiting = [], []
    for t in range(ROUNDS):
        if t == change_at:
            for functions in (bandit._state.learner._functions, *bandit._state.pending._functions):
                functions.change_over()
        waiting.append(bandit.decide(without=[t % 4]))
        made.append(repr(waiting[-1]._replace(id="")))
        for _ in range(t % 3):  # some rewards come rounds later, and out of order
            if waiting:
                decision = waiting.pop((7 * t) % len(waiting))
                bandit.reward(decision, float((3 * t + int(str(decision.arm))) % 2))
    return made, states.to_json(bandit._state.learner.state), bandit.propensities(), repr(bandit.explain())


@pytest.mark.parametrize("policy", learners(), ids=lambda each: each.name)
def test_a_bandit_that_changes_over_in_any_round_decides_the_same(policy: Policy) -> None:
    expected = decisions(policy, "now")
    assert decisions(policy, "never") == expected
    for t in range(ROUNDS):
        assert decisions(policy, "never", change_at=t) == expected, t


@pytest.mark.parametrize("policy", examples(), ids=lambda each: each.name)
def test_interpreted_games_equal_compiled_ones(policy: Policy) -> None:
    games: Any = {"policies": policy, "problem": BERNOULLI, "runs": 3, "record": ("arms", "rewards")}
    assert simulate(**games, compile="never") == simulate(**games, compile="now")


@pytest.mark.parametrize("noise", NOISES, ids=lambda each: type(each).__name__)
def test_interpreted_games_equal_compiled_ones_with_every_noise(noise: Noise) -> None:
    problem = problems.stationary(means=[0.75, 0.5], noise=noise, horizon=80)
    assert simulate(make("uniform"), problem, runs=3, compile="never") == simulate(make("uniform"), problem, runs=3)


def test_games_of_two_tiers_are_kept_and_merged(tmp_path: Path) -> None:
    games: Any = {"policies": make("ucb1"), "problem": problems.two_arms(horizon=50)}
    first = simulate(**games, runs=5, keep=tmp_path, compile="never")
    assert str(first.us_per_round) == "[nan]"  # the time of the interpreter says nothing about the policy
    assert simulate(**games, runs=40, keep=tmp_path, compile="now") == simulate(**games, runs=40, compile="never")


def test_bandits_and_games_say_how_they_run() -> None:
    assert not Bandit(make("ucb1"), arms=[1], compile="never").is_compiled
    assert Bandit(make("ucb1"), arms=[1], compile="now").is_compiled
    saved = Bandit(make("ucb1"), arms=[1]).get_state()
    assert not Bandit.from_state(saved, compile="never").is_compiled


def test_modes_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidValueError, match="compile must be one of 'auto', 'now', 'never', got 'later'"):
        Bandit(make("ucb1"), arms=[1], compile="later")  # type: ignore[arg-type]
    with pytest.raises(InvalidValueError, match="compile must be one of"):
        simulate(make("ucb1"), problems.two_arms(horizon=5), compile="soon")  # type: ignore[arg-type]
    for name in ("NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK", "ROTTING_COMPILE"):
        monkeypatch.delenv(name, raising=False)
    assert resolve_mode("auto") == "auto"
    monkeypatch.setenv("ROTTING_COMPILE", "never")
    assert (resolve_mode("auto"), resolve_mode("now")) == ("never", "now")
    monkeypatch.setenv("ROTTING_COMPILE", "maybe")
    with pytest.raises(InvalidValueError, match="ROTTING_COMPILE must be"):
        resolve_mode("auto")
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert resolve_mode("auto") == "now"


def test_code_from_outside_the_library_is_compiled_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In the interpreter it may behave differently."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("ROTTING_COMPILE")
    assert Bandit(Bad(), arms=[1, 2]).is_compiled


NEVER = """
import sys
import rotting
from rotting.problems.arms import Recovering
problem = rotting.Problem([Recovering(0.8), *[Recovering(0.5)] * 5], horizon=20_000)
rotting.simulate(rotting.UCB1(), problem, runs=1, compile="never", progress=False)
assert "numba" not in sys.modules
"""


def test_with_never_the_reference_is_interpreted_too(tmp_path: Path) -> None:
    """The greedy oracle of these arms looks up so many means that it is compiled otherwise."""
    run(NEVER, tmp_path)


BOTH = """
import sys, time
import warnings
warnings.simplefilter("error")
import rotting
assert "numba" not in sys.modules
bandits = [rotting.Bandit(rotting.UCB1(), arms=[1, 2, 3], seed=5, compile=mode) for mode in ("auto", "never")]
assert not bandits[0].is_compiled and "numba" not in sys.modules
end = time.monotonic() + 500
while not bandits[0].is_compiled and time.monotonic() < end:
    arms = [bandit.pull() for bandit in bandits]
    assert arms[0] == arms[1]
    for bandit, arm in zip(bandits, arms):
        bandit.update(arm, arm * 0.25)
    time.sleep(0.001)
assert bandits[0].is_compiled and not bandits[1].is_compiled
assert rotting.Bandit(rotting.UCB1(sigma=0.5), arms=[1]).is_compiled  # the code is the same
assert bandits[0].explain() == bandits[1].explain()

games = {"policies": rotting.UCB1(), "problem": rotting.problems.two_arms(horizon=2_000)}
result = rotting.simulate(**games, runs=3_000)
assert result.us_per_round[0] > 0  # so the last games were compiled
some = rotting.simulate(**games, runs=20, compile="never")
assert (some.regret == result.regret[:, :20]).all()
"""


@compiled_only
def test_bandits_and_games_change_over_to_what_a_child_process_compiles(tmp_path: Path) -> None:
    run(BOTH, tmp_path)


ON_DEMAND = """
import os, re
from pathlib import Path
import rotting


def compiled():  # the functions in the cache
    files = Path(os.environ["NUMBA_CACHE_DIR"]).rglob("*.nbi")
    return {re.sub("_[0-9a-f]{16}.*", "", path.name).rpartition(".")[2] for path in files}


bandit = rotting.Bandit(rotting.UCB1(), arms=[1, 2], compile="now")
choose, explain = (function.__name__ for function in (bandit.policy.kernel.choose, bandit.policy.kernel.explain))
assert bandit.is_compiled and compiled() == {"learn"}, compiled()
bandit.update(bandit.pull(), 1.0)
assert compiled() == {"learn", choose}, compiled()
bandit.explain()
assert compiled() == {"learn", choose, explain}, compiled()
bandit.warm_up()
everything = compiled()
assert everything > {"learn", choose, explain, "choose_and_explain", "learn_all", "choose_and_compete", "compete"}, everything
for _ in range(3):
    bandit.decide(count=2)
bandit.learn([(1, 0.5)])
bandit.propensities()
assert compiled() == everything, compiled() - everything

later = rotting.Bandit(rotting.UCB1(), arms=[1, 2])
assert later.is_compiled  # from the start, since it is cached
other = rotting.Bandit(rotting.Uniform(), arms=[1, 2])
other.warm_up()
assert not other.is_compiled  # a child process compiles what is called
"""


@compiled_only
def test_a_function_is_compiled_when_it_is_first_called(tmp_path: Path) -> None:
    run(ON_DEMAND, tmp_path)


FORK = """
import os
bandit = rotting.Bandit(rotting.Uniform(), arms=[1, 2, 3])
bandit.pull()
assert not bandit.is_compiled
child = os.fork()
end = time.monotonic() + 300
while not bandit.is_compiled and time.monotonic() < end:
    bandit.update(bandit.pull(), 1.0)
    time.sleep(0.001)
if child == 0:
    os._exit(not bandit.is_compiled)
assert bandit.is_compiled
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


@compiled_only
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
def test_a_bandit_that_was_forked_changes_over_in_both_processes(tmp_path: Path) -> None:
    run(CHANGE + FORK, tmp_path)
