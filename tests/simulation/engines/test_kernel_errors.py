"""Mistakes in the functions of a policy or a noise: one sentence that says whose, where, and what."""

import math
import re
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from rotting import errors, kit
from rotting.common.arrays import Floats, Ints
from rotting.common.progress import Progress
from rotting.common.rules import POSITIVE
from rotting.live.bandit import Bandit
from rotting.live.checks import check_policy
from rotting.live.noise_checks import check_noise
from rotting.policies.kernels.binding import digest
from rotting.policy import Kernel, Params, Policy, Reason, parameter
from rotting.problems import Problem
from rotting.problems.noise import Noise, Noiseless
from rotting.registry import make
from rotting.simulation.engines import kernel_errors, threads
from rotting.simulation.engines.game import mean_now
from rotting.simulation.engines.task import Task
from rotting.simulation.plan import Simulation
from rotting.simulation.simulate import simulate
from tests.conftest import INTERPRETED

compiled_only = pytest.mark.skipif(INTERPRETED, reason="the interpreter allows it")
PROBLEM = Problem.rested([0.5, 0.25], noise=Noiseless(), horizon=30)
FAR = 1_000_000_000  # beyond anything that could be mapped by chance


class Scaled(Policy):
    """The parameters of the policies below."""

    scale: float = parameter(POSITIVE, "a scale", default=1.0)


class State(NamedTuple):
    pulls: Ints
    sums: Floats


def init(p: Params, n_arms: int, capacity: int) -> State:
    return State(np.zeros(n_arms, np.int64), np.zeros(n_arms))


def choose(p: Params, s: State, t: int, key: int, arms: Ints) -> int:
    return int(arms[t % arms.size])


def update(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    s.sums[arm] += reward


def own(**functions: Any) -> Policy:
    """A policy of this file, so not the library's own."""
    kernel = Kernel(**{"init": init, "choose": choose, "update": update, **functions})
    made: Policy = type("Own", (Scaled,), {"name": "own", "kernel": kernel})()
    return made


def line_of(function: Any, text: str) -> int:
    """The line of this file on which a function says something."""
    lines = Path(__file__).read_text("utf-8").splitlines()
    first: int = function.__code__.co_firstlineno
    return next(number for number, line in enumerate(lines[first:], start=first + 1) if text in line)


def fault(policy: Policy, noise: Noise | None = None) -> errors.KernelError:
    """What is said of a policy, or of a noise, in a simulation."""
    problem = PROBLEM if noise is None else Problem.rested([0.5, 0.25], noise=noise, horizon=30)
    with pytest.raises(errors.KernelError) as caught:
        simulate(policy, problem, runs=20)
    assert "\n" not in str(caught.value)
    return caught.value


# --- Indices out of bounds ----------------------------------------------------------------------------------------------------


def add_far(s: State, t: int, reward: float) -> None:
    s.sums[FAR * (t > 7)] += reward


def writes_far(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    add_far(s, t, reward)


def test_an_index_out_of_bounds_names_policy_function_line_and_round() -> None:
    error = fault(own(update=writes_far))
    assert isinstance(error, errors.KernelIndexError)
    assert isinstance(error, IndexError)
    where = f"add_far (test_kernel_errors.py, line {line_of(add_far, 's.sums')}: `s.sums[FAR * (t > 7)] += reward`)"
    what = f"index {FAR} is out of bounds for axis 0 with size 2"
    assert str(error) == f"Own(scale=1.0): {where}: {what}, in round 8 of run 0"


def test_a_live_bandit_says_the_same() -> None:
    bandit = Bandit(own(update=writes_far), arms=["a", "b"])
    for _ in range(7):
        bandit.update(bandit.pull(), 1.0)
    with pytest.raises(errors.KernelIndexError, match=rf"Own\(scale=1.0\): add_far \(.*line .*index {FAR} is out of bounds"):
        bandit.update(bandit.pull(), 1.0)


def reads_far(p: Params, s: State, t: int, key: int, arms: Ints) -> int:
    return int(s.pulls[FAR * t])


def test_a_live_choice_out_of_bounds_is_told() -> None:
    bandit = Bandit(own(choose=reads_far), arms=["a", "b"])
    with pytest.raises(errors.KernelIndexError, match=rf"Own\(scale=1.0\): reads_far \(.*index {FAR} is out of bounds"):
        bandit.pull()


def no_arm(function: Any) -> str:
    line = function.__code__.co_firstlineno
    return f"Own(scale=1.0): {function.__name__} (test_kernel_errors.py, line {line}) must return one of `arms`, got "


def chooses_far(p: Params, s: State, t: int, key: int, arms: Ints) -> int:
    return FAR


def test_an_arm_that_is_not_there_is_told() -> None:
    assert str(fault(own(choose=chooses_far))) == f"{no_arm(chooses_far)}{FAR}, in round 1 of run 0"


def chooses_below(p: Params, s: State, t: int, key: int, arms: Ints) -> int:
    return 0 if t < 3 else -1


def chooses_a_float(p: Params, s: State, t: int, key: int, arms: Ints) -> Any:
    return 0.0


def test_a_negative_arm_is_not_the_last_one() -> None:
    assert str(fault(own(choose=chooses_below))) == f"{no_arm(chooses_below)}-1, in round 3 of run 0"


@pytest.mark.parametrize(("function", "got"), [(chooses_far, "1000000000"), (chooses_below, "-1")])
def test_a_live_choice_that_is_no_arm_changes_nothing(function: Any, got: str) -> None:
    bandit = Bandit(own(choose=function), arms=["a", "b"])
    for arm in ("a", "b"):
        bandit.update(arm, 1.0)
    before = bandit.get_state()
    with pytest.raises(errors.KernelIndexError, match=f"^{re.escape(no_arm(function))}{got}$"):
        bandit.pull()
    assert bandit.get_state() == before


def chooses_the_first(p: Params, s: State, t: int, key: int, arms: Ints) -> int:
    return 0


def test_a_live_choice_must_be_available() -> None:
    bandit = Bandit(own(choose=chooses_the_first), arms=["a", "b"])
    assert bandit.pull() == "a"
    with pytest.raises(errors.KernelIndexError, match="^" + re.escape(no_arm(chooses_the_first)) + "0$"):
        bandit.pull(arms=["b"])


def takes_a_logarithm_first(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    s.sums[FAR if math.log(0.0 * reward) < 0.0 else arm] += reward


@compiled_only
def test_an_index_that_the_interpreter_does_not_reach_is_told_too() -> None:
    """Compiled, the logarithm of zero is an infinity; interpreted, it ends the call before the index does."""
    message = str(fault(own(update=takes_a_logarithm_first)))
    assert message.startswith("Own(scale=1.0): init (test_kernel_errors.py, line ")
    assert " or takes_a_logarithm_first (test_kernel_errors.py, line " in message
    assert message.endswith(" reaches outside an array, in round 1 of run 0")


@compiled_only
def test_a_round_too_late_to_be_played_again_names_the_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_errors, "_REPLAY_ROUNDS", 7)
    message = str(fault(own(update=writes_far)))
    assert " or add_far (test_kernel_errors.py, line " in message
    assert "play_runs" not in message
    assert message.endswith(" reaches outside an array, in round 8 of run 0")


def draw_far(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    return float(TABLE[FAR])


TABLE = np.zeros(3)


@dataclass(frozen=True)
class Far(Noise):
    draw = staticmethod(draw_far)


def test_the_noise_is_checked_too() -> None:
    assert str(fault(make("uniform"), Far())).startswith("Far(): draw_far (test_kernel_errors.py, line ")


def test_the_first_and_the_last_run_are_checked_of_code_that_is_not_the_librarys(monkeypatch: pytest.MonkeyPatch) -> None:
    checks = []
    real = threads.compiled_loop

    def seen(game: Any, checked: bool = False) -> Any:
        checks.append(checked)
        return real(game, checked)

    monkeypatch.setattr(threads, "compiled_loop", seen)
    policy = own()
    first = simulate(policy, PROBLEM, runs=5)
    assert checks == [True, False]
    assert simulate(policy, PROBLEM, runs=5) == first
    assert checks == [True, False, True, False]
    simulate(make("uniform"), PROBLEM, runs=5)
    assert checks[4:] == [False]


def draw_by_run(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    return mean + float(TABLE[FAR * (run == 19)])


@dataclass(frozen=True)
class ByRun(Noise):
    draw = staticmethod(draw_by_run)


def test_the_last_run_is_checked_too() -> None:
    text = str(fault(make("uniform"), ByRun()))
    assert "draw_by_run (test_kernel_errors.py, line " in text
    assert text.endswith(f"index {FAR} is out of bounds for axis 0 with size 3, in round 1 of run 19")


def test_of_a_long_task_one_run_is_tried() -> None:
    """The rest of it is played when that went well: all of it checked would keep the other workers waiting."""
    (game,), _ = Simulation(own(), PROBLEM).games()
    found = list(threads.Threads(2).play([[Task(game, 4, 5)]], Progress(1, show=False)))
    assert [(task.first_run, task.runs, len(chunk.regret)) for task, chunk in found] == [(8, 1, 1), (4, 4, 4)]
    assert all(task.game is game for task, _ in found)


def test_a_game_that_failed_is_checked_again() -> None:
    policy = own(update=writes_far)
    assert {str(fault(policy)) for _ in range(5)} == {str(fault(policy))}


# --- What the compiler does not know ------------------------------------------------------------------------------------------


def uses_a_dict(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    found = {}
    found[arm] = reward
    s.sums[arm] = found[arm]


def indexes_by_a_float(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    half: Any = t / 2
    s.sums[half] += reward


def reads_an_unknown_field(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    s.totals[arm] += reward  # type: ignore[attr-defined]


def changes_a_type(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    x: Any = 1
    if t > 3:
        x = "a"
    s.sums[arm] = x


def makes_an_array(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    s.sums[arm] = np.zeros(3)[0]


def writes_a_text(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    s.sums[arm] = "a"


def adds_a_text(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    word: Any = "a"
    s.sums[arm] = t + word


def fits_a_line(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    s.sums[arm] = np.polyfit(s.sums, s.sums, 1)[0]


def opens_a_file(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    open("x")  # noqa: PTH123, SIM115 - a file is the fault under test


def writes_into_a_module(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    TABLE[0] = reward


CREATED = "nothing may be created in compiled code, neither arrays nor lists nor texts"
REFUSED = [
    (uses_a_dict, "found[arm] = reward", "a dict is not allowed in compiled code"),
    (indexes_by_a_float, "s.sums[half]", "an index must be a whole number, got float"),
    (reads_an_unknown_field, "s.totals", "State has no totals"),
    (changes_a_type, "s.sums[arm] = x", "x must keep its type, got int and str"),
    (makes_an_array, "np.zeros", CREATED),
    (writes_a_text, 's.sums[arm] = "a"', "setitem(array, int, str) is not allowed in compiled code"),
    (adds_a_text, "t + word", "add(int, str) is not allowed in compiled code"),
    (fits_a_line, "np.polyfit", "numpy.polyfit is not allowed in compiled code"),
    (opens_a_file, "open(", "open is not allowed in compiled code"),
    (
        writes_into_a_module,
        "TABLE[0]",
        "an array of a module must not be written to: what changes belongs into the state",
    ),
]


@compiled_only
@pytest.mark.parametrize(("function", "text", "why"), REFUSED, ids=lambda each: getattr(each, "__name__", ""))
def test_what_does_not_compile_is_told_in_one_sentence(function: Any, text: str, why: str) -> None:
    error = fault(own(update=function))
    where = f"Own(scale=1.0): {function.__name__} (test_kernel_errors.py, line {line_of(function, text)}: `"
    assert str(error).startswith(where)
    assert str(error).endswith(f"`): {why}")
    assert "numba" not in "".join(traceback.format_exception(error))
    assert "nopython" in str(error.__context__)  # the compiler's own words, for who wants them
    with pytest.raises(errors.KernelError) as caught:
        Bandit(own(update=function), arms=["a", "b"])
    assert str(caught.value) == str(error)


def returns_a_float(p: Params, s: State, t: int, key: int, arms: Ints) -> float:
    return 0.5 * float(arms[0])


def returns_nothing_later(p: Params, s: State, t: int, key: int, arms: Ints) -> Any:
    if t < 5:
        return arms[0]
    return None


def test_a_choice_that_equals_an_arm_and_is_none_is_told_alike_wherever_it_is_made() -> None:
    where = f"chooses_a_float (test_kernel_errors.py, line {chooses_a_float.__code__.co_firstlineno})"
    message = f"Own(scale=1.0): {where} must return a whole number, got float"
    policy = own(choose=chooses_a_float)
    assert str(fault(policy)).startswith(message)
    with pytest.raises(errors.KernelError, match=f"^{re.escape(message)}$"):
        Bandit(policy, arms=["a", "b"]).pull()
    with pytest.raises(errors.CheckError, match=f"^{re.escape(message)}$"):
        check_policy(policy)


@pytest.mark.parametrize("function", [indexes_by_a_float, reads_an_unknown_field], ids=lambda each: each.__name__)
def test_a_mistake_is_told_in_the_same_words_wherever_it_is_made(function: Any) -> None:
    """A simulation says in which round, too, where the code is not compiled."""
    policy = own(update=function)
    simulated = str(fault(policy)).removesuffix(", in round 1 of run 0")
    with pytest.raises(errors.CheckError) as caught:
        check_policy(policy)
    assert str(caught.value) == simulated
    assert "Error" not in simulated
    words = {each: why for each, _, why in REFUSED}[function]
    assert words.partition(", got")[0] in simulated


@compiled_only
@pytest.mark.parametrize(("function", "got"), [(returns_a_float, "float"), (returns_nothing_later, "number or None")])
def test_a_choice_that_is_no_whole_number_is_told(function: Any, got: str) -> None:
    where = f"{function.__name__} (test_kernel_errors.py, line {function.__code__.co_firstlineno})"
    assert str(fault(own(choose=function))) == f"Own(scale=1.0): {where} must return a whole number, got {got}"


def test_only_the_innermost_line_that_the_compiler_names_tells_of_a_choice() -> None:
    """The game itself uses the choice as an index; an index inside a function of the policy is that function's mistake."""
    policy = own()
    (game,), _ = Simulation(policy, PROBLEM).games()

    def error_message(*functions: Any) -> str:
        last = [max(line for *_, line in each.__code__.co_lines() if line is not None) for each in functions]
        places = zip((each.__code__.co_filename for each in functions), last, strict=True)
        error = TypeError("\n".join(["Unsupported array index type float64", *(f'File "{f}", line {n}:' for f, n in places)]))
        return str(kernel_errors.compile_error(game.loop, policy, error))

    where = f"choose (test_kernel_errors.py, line {choose.__code__.co_firstlineno})"
    assert error_message(mean_now, update) == f"Own(scale=1.0): {where} must return a whole number, got float"
    where = f"update (test_kernel_errors.py, line {line_of(update, 's.sums')}: `s.sums[arm] += reward`)"
    assert error_message(update, mean_now) == f"Own(scale=1.0): {where}: an index must be a whole number, got float"


def without_a_key(p: Params, s: State, t: int, arms: Ints) -> int:
    return int(arms[0])


def factorial(n: int) -> int:
    return 1 if n < 2 else n * factorial(n - 1)


def recursive(p: Params, s: State, t: int, key: int, arms: Ints) -> int:
    return int(arms[factorial(t % 3) % arms.size])


class Holder:
    def choose(self, p: Params, s: State, t: int, key: int, arms: Ints) -> int:
        return int(arms[0])


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (
            without_a_key,
            "without_a_key (test_kernel_errors.py, line {line}) must take (p, s, t, key, arms), got (p, s, t, arms)",
        ),
        (Holder().choose, "choose(p, s, t, key, arms) must be a plain Python function, got <bound method Holder.choose of "),
        (None, "choose(p, s, t, key, arms) must be a plain Python function, got None"),
    ],
    ids=["arguments", "method", "none"],
)
def test_a_choice_that_cannot_be_called_is_told_by_the_class(function: Any, why: str) -> None:
    with pytest.raises(errors.KernelError) as caught:
        own(choose=function)
    line = "" if function is None else function.__code__.co_firstlineno
    assert str(caught.value).startswith(f"Own: {why.format(line=line)}")


def test_a_choice_that_calls_itself_is_told() -> None:
    message = f"factorial (test_kernel_errors.py, line {factorial.__code__.co_firstlineno}) must not call itself"
    assert str(fault(own(choose=recursive))) == f"Own(scale=1.0): {message}"
    with pytest.raises(errors.KernelError, match=re.escape(message)):
        Bandit(own(choose=recursive), arms=["a", "b"])


def explain_by_nothing(p: Params, s: State, t: int, arms: Ints, arm: int) -> Reason:
    return Reason(s.sums[:0].max(), 0.0, 0, 0.0)


def explain_by_a_number(p: Params, s: State, t: int, arms: Ints, arm: int) -> Any:
    return 3.0


def test_an_explanation_that_is_no_reason_is_told() -> None:
    bandit = Bandit(own(explain=explain_by_a_number), arms=["a", "b"])
    with pytest.raises(errors.KernelError) as caught:
        bandit.explain()
    where = f"explain_by_a_number (test_kernel_errors.py, line {explain_by_a_number.__code__.co_firstlineno})"
    assert str(caught.value) == f"Own(scale=1.0): {where} must return a Reason, got 3.0"


def divides_by_nothing(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    s.sums[arm] = t // (t - t)


def test_a_mistake_of_another_kind_is_told_too() -> None:
    bandit = Bandit(own(explain=explain_by_nothing), arms=["a", "b"])
    where = f"explain_by_nothing (test_kernel_errors.py, line {line_of(explain_by_nothing, 'max')}: `return "
    with pytest.raises(errors.KernelError, match=re.escape(f"Own(scale=1.0): {where}") + ".*`.*: ValueError, zero-size array"):
        bandit.explain()


@pytest.mark.skipif(not INTERPRETED, reason="compiled, the division gives a number")
def test_a_mistake_of_another_kind_is_told_of_a_game() -> None:
    where = (
        f"divides_by_nothing (test_kernel_errors.py, line {line_of(divides_by_nothing, '//')}: `s.sums[arm] = t // (t - t)`)"
    )
    message = str(fault(own(update=divides_by_nothing)))
    assert message.startswith(f"Own(scale=1.0): {where}: ZeroDivisionError, ")
    assert message.endswith(", in round 1 of run 0")


def stumbles(p: Params, n_arms: int, capacity: int) -> State:
    return State(np.zeros(n_arms, np.int64), np.zeros(n_arms), np.zeros(1))  # type: ignore[call-arg]


def test_a_mistake_in_init_is_told() -> None:
    message = f"Own(scale=1.0): stumbles (test_kernel_errors.py, line {line_of(stumbles, 'return')}: `return State("
    assert str(fault(own(init=stumbles))).startswith(message)
    with pytest.raises(errors.KernelError, match=re.escape(message)):
        Bandit(own(init=stumbles), arms=["a", "b"])


# --- What the code itself shows -----------------------------------------------------------------------------------------------


def raises(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    if reward < 0.0:
        raise ValueError(reward)


def asserts(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    assert reward < 1.0, "large"


def prints(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    print(reward)


def draws(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    s.sums[arm] += np.random.rand()  # noqa: NPY002


def assigns(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    s.sums += reward  # type: ignore[misc]


counted = 0


def counts(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    global counted  # noqa: PLW0603 - hidden state is the fault under test
    counted += 1
    s.sums[arm] = counted


def calls_nothing(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    s.sums[arm] += missing(t)  # type: ignore[name-defined]  # noqa: F821


def imports(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    import math

    s.sums[arm] = math.sqrt(t)


def opens(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    with np.errstate():
        s.sums[arm] += reward


def yields(p: Params, s: State, t: int, arm: int, reward: float) -> Iterator[float]:
    yield reward


def defines(p: Params, s: State, t: int, arm: int, reward: float) -> None:
    twice: Any = lambda x: 2.0 * x  # noqa: E731 - a function in a function is the fault under test
    s.sums[arm] = twice(reward)


QUIET = "compiled code can only return numbers and write into arrays"
FORBIDDEN = [
    (raises, "raise ValueError", f"must not raise: {QUIET}"),
    (asserts, "assert reward", f"must not assert: {QUIET}"),
    (prints, "print(", f"must not print: {QUIET}"),
    (
        draws,
        "np.random",
        (
            "must not use np.random, whose numbers cannot be reproduced: use rotting.kit.uniform(key, t, draw) in a policy, "
            "rotting.kit.reward_uniform(key, run, arm, clock, draw) in a noise"
        ),
    ),
    (assigns, "s.sums +=", "must not assign to the field sums"),
    (counts, "counted += 1", "must not assign to the global counted: what changes belongs into the state"),
    (imports, "import math", "must not import in compiled code"),
    (opens, "with np.errstate", "must not use `with` in compiled code"),
    (yields, "yield reward", "must not yield in compiled code"),
    (defines, "lambda", "must not define a function or a comprehension in compiled code"),
    (calls_nothing, "missing(t)", "uses missing, which is not defined"),
]


@pytest.mark.parametrize(("function", "text", "why"), FORBIDDEN, ids=lambda each: getattr(each, "__name__", ""))
def test_what_a_kernel_may_not_do_is_refused_before_it_is_compiled(function: Any, text: str, why: str) -> None:
    error = str(fault(own(update=function)))
    assert error.startswith(f"Own(scale=1.0): {function.__name__} (test_kernel_errors.py, line {line_of(function, text)}: `")
    assert why in error
    with pytest.raises(errors.KernelError) as caught:
        Bandit(own(update=function), arms=["a", "b"])
    assert str(caught.value) == error


def test_sources_of_random_numbers_are_told_by_any_name() -> None:
    import random

    for value in (random, random.random, np.random, np.random.rand, np.random.default_rng(1), np.random.default_rng(1).random):
        scope: dict[str, Any] = {"lucky": value, "__name__": "defined"}
        exec("def f(x):\n    return x + lucky()\n", scope)
        with pytest.raises(errors.KernelError, match="must not use lucky, whose numbers cannot be reproduced"):
            digest(scope["f"])


def test_the_random_numbers_of_numpy_are_told_by_any_name() -> None:
    source = "def f(x):\n    return x + xp.random.rand()\n"
    scope: dict[str, Any] = {"xp": np, "__name__": "defined"}
    exec(source, scope)
    with pytest.raises(errors.KernelError, match=r"f \(<string>, line 2\) must not use xp.random, whose numbers"):
        digest(scope["f"])


def test_the_advice_names_what_the_kit_has() -> None:
    for name in ("uniform", "reward_uniform"):
        assert hasattr(kit, name)
        assert f"rotting.kit.{name}(" in str(fault(own(update=draws)))


# --- The mistakes of a noise --------------------------------------------------------------------------------------------------


def noise_of(draw: Any) -> Noise:
    kind: Any = type("Odd", (Noise,), {"draw": staticmethod(draw), "__module__": __name__})
    made: Noise = dataclass(frozen=True)(kind)()
    return made


def draw_nothing(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> Any:
    return None


def draw_and_print(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    print(mean)
    return mean


def draw_from_a_dict(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    found = {1: mean}
    return found[1]


def draw_a_text(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    word: Any = "a"
    return float(mean + word)


def draw_to_infinity(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    return mean if clock < 7 or arm == 0 else math.inf


def draw_a_root(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    return mean + math.sqrt(6.0 - clock)


def place_of(function: Any, text: str = "") -> str:
    line = line_of(function, text) if text else function.__code__.co_firstlineno
    return f"{function.__name__} (test_kernel_errors.py, line {line}{f': `{text}`' if text else ''})"


def test_what_a_draw_may_not_do_is_told_of_the_noise() -> None:
    noise = noise_of(draw_and_print)
    message = str(fault(make("ucb1"), noise))
    assert message == f"Odd(): {place_of(draw_and_print, 'print(mean)')} must not print: {QUIET}"
    assert message == str(fault(own(), noise))
    with pytest.raises(errors.CheckError) as caught:
        check_noise(noise)
    assert str(caught.value) == message


@compiled_only
@pytest.mark.parametrize(
    ("draw", "text", "why"),
    [
        (draw_from_a_dict, "return found[1]", "a dict is not allowed in compiled code"),
        (draw_a_text, "return float(mean + word)", "add(float, str) is not allowed in compiled code"),
    ],
    ids=["dict", "text"],
)
@pytest.mark.parametrize("policy", [make("ucb1"), own()], ids=repr)
def test_a_draw_that_does_not_compile_is_told_of_the_noise(draw: Any, text: str, why: str, policy: Policy) -> None:
    assert str(fault(policy, noise_of(draw))) == f"Odd(): {place_of(draw, text)}: {why}"


@pytest.mark.parametrize("policy", [make("ucb1"), make("uniform"), own()], ids=repr)
def test_a_draw_that_returns_no_number_is_told(policy: Policy) -> None:
    message = str(fault(policy, noise_of(draw_nothing)))
    assert message.removesuffix(", in round 1 of run 0") == f"Odd(): {place_of(draw_nothing)} must return a number, got None"


def test_a_reward_that_is_not_finite_is_told_with_its_round() -> None:
    """Arms take turns from the second on: its eighth pull is that of round 15."""
    message = str(fault(own(), noise_of(draw_to_infinity)))
    assert message == f"Odd(): {place_of(draw_to_infinity)} must return a finite number, got inf, in round 15 of run 0"


@compiled_only
def test_a_reward_that_the_interpreter_does_not_reach_is_told_too() -> None:
    message = str(fault(own(), noise_of(draw_a_root)))
    assert message == f"Odd(): {place_of(draw_a_root)} must return a finite number, in round 15 of run 0"


@compiled_only
def test_of_a_policy_and_a_noise_both_are_named_where_either_may_be_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_errors, "_REPLAY_ROUNDS", 0)
    assert str(fault(own(), Far())).startswith("Own(scale=1.0) or Far(): ")
    assert str(fault(make("uniform"), Far())).startswith("Far(): draw_far (test_kernel_errors.py, line ")


# --- What compiling leaves alone ----------------------------------------------------------------------------------------------


def play(n_arms: int) -> Floats:
    """Called as the loop is, and allocating all the same."""
    return np.zeros(n_arms)


def init_by_play(p: Params, n_arms: int, capacity: int) -> State:
    return State(np.zeros(n_arms, np.int64), play(n_arms))


def test_a_function_called_play_may_allocate() -> None:
    assert simulate(own(init=init_by_play), PROBLEM, runs=2).pulls.sum() == 60
