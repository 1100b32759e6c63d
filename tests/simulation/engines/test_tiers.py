"""Interpreted functions and machine code: the same decisions and games, wherever one follows the other."""

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rotting
from rotting import problems
from rotting.errors import InvalidValueError, KernelError
from rotting.live import policy_state as states
from rotting.live.bandit import Bandit
from rotting.live.bandit_state import BanditState
from rotting.policies.kernels.policy_functions import new_state
from rotting.policy import Policy
from rotting.problems import Problem, ProblemFamily
from rotting.problems.noise import Noise
from rotting.registry import make
from rotting.simulation.engines.tiers import CompileMode, EntryPoint, interpreted, mark_cached, resolve_mode
from rotting.simulation.simulate import simulate
from tests.conftest import STRESS
from tests.helpers.bad_policy import Bad
from tests.helpers.compiler_programs import CHANGE, compiled_only, run
from tests.helpers.games import examples, learners
from tests.helpers.gpu_games import NOISES, PROBLEM, players, problem

ROUNDS = 10


def change_over(state: BanditState) -> None:
    """Replace all functions of an interpreted bandit by machine code."""
    for functions in (state.learner._functions, state.chooser._functions):
        if functions is not None:
            for name in functions._entries:
                functions.compile(name)


def decisions(policy: Policy, compile: CompileMode, change_at: int | None = None) -> Any:
    """All decisions of a short game with late rewards, and the state after it; the tier changes before one of the rounds."""
    bandit = Bandit(policy, arms=range(4), seed=3, compile=compile)
    made, waiting = [], []
    for t in range(ROUNDS):
        if t == change_at:
            change_over(bandit._state)
        waiting.append(bandit.decide(without=[t % 4]))
        made.append(repr(waiting[-1]._replace(id="")))
        for _ in range(t % 3):  # some rewards come rounds later, and out of order
            if waiting:
                decision = waiting.pop((7 * t) % len(waiting))
                bandit.reward(decision, float((3 * t + int(str(decision.arm))) % 2))
    return made, states.to_json(bandit._state.learner.state), bandit.propensities(), repr(bandit.explain())


DECIDING = [each for each in examples() if not each.sees_means] if STRESS else learners()


@compiled_only
@pytest.mark.parametrize("policy", DECIDING, ids=lambda each: each.name)
def test_a_bandit_that_changes_over_in_any_round_decides_the_same(policy: Policy) -> None:
    expected = decisions(policy, "now")
    assert decisions(policy, "never") == expected
    for t in range(ROUNDS):
        assert decisions(policy, "never", change_at=t) == expected, t


@pytest.mark.parametrize("name", ["ucb1", "exp3"])
def test_a_stored_bandit_that_changes_over_before_any_decision_writes_the_same_log(name: str, tmp_path: Path) -> None:
    """Also if it is opened again in the other tier."""

    def play(path: Path, change_at: int | None, compile: CompileMode) -> Any:
        made: list[str] = []
        for first in (0, 5):
            with rotting.open(path, policy=make(name), arms=["a", "b", "c"], seed=3, compile=compile) as bandit:
                for t in range(first, first + 5):
                    if t == change_at:
                        bandit._read(lambda recorded: change_over(recorded.state))
                    decision = bandit.decide()
                    made.append(repr(decision._replace(id="")))
                    bandit.reward(decision, t % 3 / 2)
                state = bandit.get_state()["state"]
        return made, state

    pytest.importorskip("apsw")
    expected = play(tmp_path / "now.rot", None, "now")
    assert play(tmp_path / "never.rot", None, "never") == expected
    for t in range(10):
        assert play(tmp_path / f"{t}.rot", t, "never") == expected, t


def assert_equal_in_all_tiers(given: dict[str, Any]) -> None:
    games: Any = {"runs": 3, "workers": 2, "record": ("arms", "rewards"), "horizon": 60} | given
    assert simulate(**games, compile="now") == simulate(**games, compile="never")


@compiled_only
@pytest.mark.parametrize("policy", players(60), ids=lambda each: each.name)
def test_games_are_equal_in_all_tiers_with_every_policy(policy: Policy) -> None:
    """Regret in every round instead of records, which are compiled apart: `test_unchanged_games.py` uses the same code."""
    assert_equal_in_all_tiers({"policies": policy, "problem": PROBLEM, "record": (), "checkpoints": range(1, 60)})


@compiled_only
@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_games_are_equal_in_all_tiers_with_every_noise(noise: Noise) -> None:
    assert_equal_in_all_tiers({"policies": make("uniform"), "problem": problem(noise)})


MIXED, STEADY = problem(rotting.Bernoulli()), problems.Rested(0.3)
RECOVERING = [problems.Recovering(np.linspace(0.1, 0.9, 60), fresh=0.7), problems.Recovering(0.5)]
VISITING = [problems.Visiting(problems.Rested(0.9), first=11, last=40), problems.Visiting(problems.Restless(0.6), first=25)]
KINDS_OF_PROBLEMS: dict[str, Problem | ProblemFamily] = {
    "both clocks": Problem([problems.Sum(problems.Linear(0.4, slope=-0.01), problems.Linear(0.4, slope=-0.005)), STEADY]),
    "general": Problem([problems.General(lambda n, t: 0.9 / (1.0 + n) + 0.001 * t), STEADY]),
    "late": MIXED.delayed(problems.GeometricDelay(5, lost=0.2)),
    "recovering": Problem([*RECOVERING, STEADY]),
    "visiting": Problem([*VISITING, STEADY]),
    "late, recovering and visiting": Problem([*VISITING, *RECOVERING, STEADY], delay=problems.UniformDelay(0, 9)),
    "family of tables": problems.RandomBreakpoints(n_arms=3, horizon=60),
    "family": ProblemFamily(lambda rng: problems.two_arms(L=rng.uniform(0.1, 1.0), horizon=60)),
}


@compiled_only
@pytest.mark.parametrize("kind", KINDS_OF_PROBLEMS)
@pytest.mark.parametrize("policy", players(60) if STRESS else [make("ucb1")], ids=lambda each: each.name)
def test_games_are_equal_in_all_tiers_on_every_kind_of_problem(policy: Policy, kind: str) -> None:
    assert_equal_in_all_tiers({"policies": policy, "problem": KINDS_OF_PROBLEMS[kind]})


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
    for name in ("NUMBA_DISABLE_JIT", "ROTTING_COMPILE"):
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


GREEDY_ORACLE = """
from rotting.problems.arms import Recovering
problem = rotting.Problem([Recovering(0.8), *[Recovering(0.5)] * 5], horizon=20_000)
rotting.simulate(rotting.UCB1(), problem, runs=1, compile="never", progress=False)
"""
FORMULA = """
def mean(i, t, n):
    return 0.5 / (1.0 + n) + 0.1 * i

def mistaken(i, t, n):
    return (0.5, 0.25)[int(n) + i]

rotting.simulate(rotting.UCB1(), rotting.Problem.by_function(mean, 2, horizon=50), compile="never", progress=False)
try:
    rotting.simulate(rotting.UCB1(), rotting.Problem.by_function(mistaken, 2, horizon=50), compile="never", progress=False)
except rotting.errors.KernelError as error:
    assert "mistaken" in str(error), error
else:
    raise AssertionError
"""
MANY_ARMS = """
bandit = rotting.Bandit(rotting.RAWUCB(), arms=range(1_500), compile="never")
bandit.reward(bandit.decide(), 0.5)
bandit.add_arm("new")
bandit.remove_arm(7)
bandit.decide(count=2)
bandit.explain()
bandit.propensities()
bandit.warm_up()
"""
BY_ENVIRONMENT = """
import csv, os
from pathlib import Path
os.environ.pop("NUMBA_DISABLE_JIT", None)  # which overrides the next one
os.environ["ROTTING_COMPILE"] = "never"
bandit = rotting.Bandit(rotting.UCB1(), arms=[1, 2])
bandit.reward(bandit.decide(), 0.5)
bandit.explain()
rotting.play(rotting.UCB1(), rotting.problems.two_arms(horizon=100))
file = Path(os.environ["NUMBA_CACHE_DIR"], "log.csv")
with file.open("w", newline="") as written:
    csv.writer(written).writerows([["time", "arm", "reward"], *([t, "abc"[t % 3], t % 2] for t in range(300))])
rotting.replay(rotting.Log(str(file), time="time"), [rotting.UCB1()])
file.unlink()
"""
NEVER = """
import os, sys, rotting
started = []
def note(event, arguments):
    if event == "subprocess.Popen" and arguments[0] != "git":  # which tells the commit
        started.append(arguments[0])
sys.addaudithook(note)
{}
assert "numba" not in sys.modules and not started
assert not any(files for _, _, files in os.walk(os.environ["NUMBA_CACHE_DIR"]))
"""


@pytest.mark.parametrize(
    "program", [GREEDY_ORACLE, FORMULA, MANY_ARMS, BY_ENVIRONMENT], ids=["oracle", "formula", "arms", "all"]
)
def test_with_never_nothing_is_compiled(program: str, tmp_path: Path) -> None:
    """The greedy oracle looks up many means, and is compiled otherwise."""
    run(NEVER.format(program), tmp_path)


IN_MEMORY = """
import os, warnings
from pathlib import Path
folder = Path(os.environ["NUMBA_CACHE_DIR"])
(folder / "file").touch()
os.environ["NUMBA_CACHE_DIR"] = str(folder / "file" / "folder")
warnings.simplefilter("ignore")  # which say that nothing can be cached
import rotting
for mode in ("now", "auto"):
    bandit = rotting.Bandit(rotting.UCB1(), arms=[1, 2], compile=mode)
    bandit.update(bandit.pull(), 1.0)
    assert bandit.is_compiled
"""


MANY_SHORT = """
import numpy as np, rotting
from rotting.simulation.engines import threads
threads._interpreted_seconds = lambda game: 0.4 * threads.COMPILE_SECONDS / 500  # for each of the 500 rounds of a game
games = [rotting.problems.two_arms(L, horizon=100) for L in (0.1, 0.2, 0.3, 0.4)]
study = rotting.sweep([rotting.UCB1(), rotting.Uniform()], games, runs=5)
assert [np.isnan(each.us_per_round).tolist() for each in study.results] == [[True] * 2] * 2 + [[False] * 2] * 2
"""


@compiled_only
def test_short_games_that_share_their_code_are_compiled_once_they_took_as_long(tmp_path: Path) -> None:
    run(MANY_SHORT, tmp_path)


@compiled_only
def test_machine_code_in_memory_is_used_again_where_the_cache_cannot_be_written(tmp_path: Path) -> None:
    run(IN_MEMORY, tmp_path)


BOTH = """
import sys, time
import warnings
warnings.simplefilter("error")
import rotting
soon = rotting.simulate(rotting.UCB1(), rotting.problems.two_arms(horizon=500), runs=20)
assert soon.us_per_round[0] != soon.us_per_round[0]  # it was interpreted
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
assert result.us_per_round[0] > 0  # so they were compiled, which takes less time
some = rotting.simulate(**games, runs=20, compile="never")
assert (some.regret == result.regret[:, :20]).all()
"""


@compiled_only
def test_bandits_change_over_to_what_a_child_process_compiles_and_long_games_are_compiled(tmp_path: Path) -> None:
    run(BOTH, tmp_path)


ON_DEMAND = """
import os, re
from pathlib import Path
import rotting


def compiled():  # the functions in the cache
    files = Path(os.environ["NUMBA_CACHE_DIR"]).rglob("*.nbi")
    return {re.sub("_[0-9a-f]{16}.*", "", path.name).rpartition(".")[2] for path in files}


bandit = rotting.Bandit(rotting.UCB1(), arms=[1, 2], compile="now")
choose, explain = bandit.policy.kernel.choose.__name__, "plain_reason"
assert bandit.is_compiled and compiled() == {"learn"}, compiled()
bandit.update(bandit.pull(), 1.0)
assert compiled() == {"learn", choose}, compiled()
bandit.explain()
assert compiled() == {"learn", choose, explain}, compiled()
bandit.warm_up()
everything = compiled()
assert everything == {"learn", choose, explain, "learn_all", "compete"}, everything
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


# --- Where the compiler cannot be used, or fails ------------------------------------------------------------------------------

FULL_DISK = """
import resource, warnings
warnings.simplefilter("ignore")  # which say that nothing can be cached
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # every write to a file fails
"""
NO_CHILD = """
import sys
sys.executable = "/nowhere/python"
"""


@compiled_only
@pytest.mark.parametrize("before", [FULL_DISK, NO_CHILD], ids=["full disk", "no child"])
def test_a_bandit_changes_over_to_what_its_own_process_compiles(before: str, tmp_path: Path) -> None:
    run(f"{before}{CHANGE}assert play(300)", tmp_path)


KILLED = """
import os, signal, subprocess, threading
killed = []


def kill_compilers():
    while True:
        listed = subprocess.run(["pgrep", "-P", str(os.getpid()), "-f", "import pickle, sys"], capture_output=True)
        for child in map(int, listed.stdout.split()):
            os.kill(child, signal.SIGKILL)
            killed.append(child)
        time.sleep(0.05)


threading.Thread(target=kill_compilers, daemon=True).start()
assert not play(300, until=lambda: len(killed) >= 2) and not play(3)
"""


@compiled_only
def test_a_bandit_whose_compiler_is_killed_stays_interpreted(tmp_path: Path) -> None:
    """It may need more memory than there is."""
    run(CHANGE + KILLED, tmp_path)


INTERRUPTED = """
import os, signal, sys, threading, time
import rotting


def interrupt():
    while "rotting.simulation.engines.compile" not in sys.modules:
        time.sleep(0.01)
    time.sleep(0.5)  # so that it compiles
    os.kill(os.getpid(), signal.SIGINT)


threading.Thread(target=interrupt, daemon=True).start()
try:
    rotting.simulate(rotting.RAWUCB(), rotting.problems.two_arms(horizon=10**6), runs=100, progress=False)
except KeyboardInterrupt:
    assert not any(files for _, _, files in os.walk(os.environ["NUMBA_CACHE_DIR"])), "it waited for the compiler"
    os._exit(0)  # as Python's end would, without waiting for a thread that compiles
os._exit(1)
"""


@compiled_only
def test_control_c_does_not_wait_for_the_compiler(tmp_path: Path) -> None:
    run(INTERRUPTED, tmp_path)


SPAWN = """
import multiprocessing
import rotting

def play(bandit):
    made = []
    for k in range(50):
        decision = bandit.decide()
        bandit.reward(decision, decision.arm * (k % 3) / 3)
        made.append(repr(decision._replace(id="")))
    games = rotting.simulate(bandit.policy, rotting.problems.two_arms(horizon=50), runs=4, workers=2, progress=False)
    return made, games.regret.tolist()

if __name__ == "__main__":
    bandits = [rotting.Bandit(rotting.UCB1(), arms=[1, 2], seed=1, compile=mode) for mode in ("auto", "never")]
    expected = play(bandits[1])
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(play, [bandits[0], rotting.Bandit(rotting.UCB1(), arms=[1, 2], seed=1)]) == [expected] * 2
"""


def test_spawned_processes_play_the_same(tmp_path: Path) -> None:
    """As multiprocessing starts them on macOS, from a script and with a cache whose paths have spaces."""
    script = tmp_path / "a folder" / "a script.py"
    script.parent.mkdir()
    script.write_text(SPAWN)
    run(script, tmp_path / "the cache")


# --- Entry points -------------------------------------------------------------------------------------------------------------


def double(x: float) -> float:
    return 2 * x


def triple(x: float) -> float:
    return 3 * x


def shout(x: float) -> float:
    print(x)
    return x


def root(x: float) -> float:
    return math.sqrt(x)


def test_the_key_depends_on_types_and_code_but_not_on_sizes_and_values() -> None:
    policy = make("raw-ucb")
    choose = policy.kernel.choose

    def key(n_arms: int, arms: object) -> str:
        return EntryPoint(choose, policy, (policy.params, new_state(policy, n_arms, 10 * n_arms), 1, 7, arms)).key

    same = {key(1, np.arange(1)), key(2, np.arange(1)), key(3, np.arange(5))}
    frozen = np.arange(1)
    frozen.setflags(write=False)
    others = [key(1, each) for each in (np.zeros(1), np.arange(4)[::2], np.zeros((1, 1), np.int64), frozen)]
    assert len(same) == 1
    assert len({*same, *others}) == 1 + len(others)
    keys = [EntryPoint(each, None, (1.0,), allocates).key for each in (double, triple) for allocates in (False, True)]
    assert len(set(keys)) == len(keys)


def test_code_that_could_not_be_compiled_is_refused_when_it_is_interpreted_too() -> None:
    assert interpreted(EntryPoint(double, None, (1.0,)))(4.0) == 8.0
    with pytest.raises(KernelError, match=r"shout .* must not print"):
        interpreted(EntryPoint(shout, None, (1.0,)))


def test_errors_of_code_from_outside_the_library_name_owner_and_line() -> None:
    with pytest.raises(KernelError, match=r"^Bad\(.*\): root \(test_tiers.py, line \d+"):
        interpreted(EntryPoint(root, Bad(), (1.0,)))(-1.0)


def test_code_is_cached_as_long_as_the_file_of_numba_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after the folder was copied elsewhere, as an image that is built in stages does."""
    entry, cache = EntryPoint(double, None, (1.0,)), tmp_path / "cache"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(cache))
    index = cache / "policies" / "double.nbi"
    index.parent.mkdir(parents=True)
    assert not entry.is_cached
    index.write_bytes(b"")
    mark_cached(entry.key, index)
    assert entry.is_cached
    assert not entry._replace(allocates=True).is_cached
    cache.rename(tmp_path / "copied")
    assert not entry.is_cached
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "copied"))
    assert entry.is_cached
    (tmp_path / "copied" / "policies" / "double.nbi").unlink()
    assert not entry.is_cached


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry, cache = EntryPoint(double, None, (1.0,)), tmp_path / "a file where the folder should be"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(cache))
    cache.touch()
    mark_cached(entry.key, tmp_path / "double.nbi")
    assert not entry.is_cached
