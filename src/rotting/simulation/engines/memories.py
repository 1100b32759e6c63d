"""Arms with a memory in the game loop.

The state of an arm is a row of the board. A game binds the functions of its arms into those of this module, once for each
`ArmKernel`, and calls these by the number of the arm's kernel.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.policies.kernels.binding import KernelFunction, bind, bind_all, slot, with_names
from rotting.policies.kernels.random_numbers import subkey
from rotting.problems import Problem
from rotting.problems.stateful import ArmKernel, Stateful, takes_key
from rotting.simulation.engines.game import Board, new_states, start_arms

SINCE = 0  # the column with the round of the state; the state itself follows


@slot
def arm_init(p: Any, key: int) -> Any:
    """Slot: the `init` of an arm."""
    raise NotImplementedError


@slot
def arm_mean(p: Any, s: Any, t: int, n: int) -> float:
    """Slot: the `mean` of an arm."""
    raise NotImplementedError


@slot
def arm_step(p: Any, s: Any, t: int, n: int, pulled: int, key: int) -> Any:
    """Slot: the `step` of an arm."""
    raise NotImplementedError


@slot
def arm_rest(p: Any, s: Any, t: int, n: int, rounds: int) -> Any:
    """Slot: the `rest` of an arm."""
    raise NotImplementedError


@slot
def read_params(rows: Floats, i: int) -> Any:
    """Slot: returns row i in the form of the parameters."""
    raise NotImplementedError


@slot
def read_state(rows: Floats, i: int) -> Any:
    """Slot: returns row i, without its first column, in the form of the state."""
    raise NotImplementedError


@slot
def as_floats(s: Any) -> Any:
    """Slot: returns a state whose numbers are floats, as those of `read_state` are."""
    raise NotImplementedError


@slot
def write_state(rows: Floats, i: int, s: Any) -> None:
    """Slot: writes a state into row i, behind its first column."""
    raise NotImplementedError


def no_key(b: Board, i: int) -> int:
    """Return any number: the arm draws nothing."""
    return 0


def key_of_arm(b: Board, i: int) -> int:
    """Return the key of an arm in the run."""
    return subkey(b.memory_key[0], i)


def start(m: Any, b: Board, i: int, t: int) -> float:
    """Give an arm its first state."""
    write_state(b.states, i, arm_init(read_params(m.arm_params, i), no_key(b, i)))
    b.states[i, SINCE] = t
    return 0.0


def state_now(m: Any, b: Board, i: int, t: int) -> Any:
    """Return the state of round t, after the steps of the rounds since the arm was last asked."""
    p, n, key = read_params(m.arm_params, i), b.pulls[i], no_key(b, i)
    for u in range(int(b.states[i, SINCE]), t):
        write_state(b.states, i, arm_step(p, read_state(b.states, i), u, n, 0, key))
    b.states[i, SINCE] = t
    return read_state(b.states, i)


def rested_state(m: Any, b: Board, i: int, t: int) -> Any:
    """Return the state of round t, from that after the last pull, which is kept: another round may be asked for next."""
    since, s = int(b.states[i, SINCE]), read_state(b.states, i)
    if since < t:
        s = as_floats(arm_rest(read_params(m.arm_params, i), s, since, b.pulls[i], t - since))
    return s


def mean_of_memory(m: Any, b: Board, i: int, t: int) -> float:
    """Return the mean of an arm at round t."""
    return float(arm_mean(read_params(m.arm_params, i), state_now(m, b, i, t), t, b.pulls[i]))


def pull(m: Any, b: Board, i: int, t: int) -> float:
    """Move the state of an arm on that is pulled in round t."""
    p, s = read_params(m.arm_params, i), state_now(m, b, i, t)
    write_state(b.states, i, arm_step(p, s, t, b.pulls[i], 1, no_key(b, i)))
    b.states[i, SINCE] = t + 1
    return 0.0


# All arms: those of each kernel, and those with a table.


@slot
def start_arm(m: Any, b: Board, i: int, t: int) -> float:
    """Slot: `start` of the arm's kernel."""
    raise NotImplementedError


@slot
def pull_arm(m: Any, b: Board, i: int, t: int) -> float:
    """Slot: `pull` of the arm's kernel."""
    raise NotImplementedError


def nothing(m: Any, b: Board, i: int, t: int) -> float:
    """Do nothing: an arm with a table has no state."""
    return 0.0


def start_all(m: Any, b: Board, run: int) -> None:
    """Give every arm its first state, before the first round."""
    if b.done[0] == 0:
        b.memory_key[0] = subkey(m.memory_key[0], run)
        for i in range(b.pulls.size):
            start_arm(m, b, i, 1)


def count_and_move(m: Any, b: Board, i: int, t: int) -> None:
    """Count a pull, and move the arm's state on."""
    pull_arm(m, b, i, t)
    b.pulls[i] += 1


def states_of_arms(m: Any) -> Floats:
    """Return room for the states of all arms."""
    return np.zeros(m.arm_states.shape)


def memory_parts(
    kernels: Sequence[ArmKernel], mean: KernelFunction, count: KernelFunction
) -> dict[KernelFunction, KernelFunction]:
    """Return the functions to bind into a game whose arms have these kernels.

    Args:
        kernels: the kernels of the arms.
        mean: the function to replace, which returns the mean of an arm that has a table.
        count: the function to replace, which counts a pull.
    """
    own = [_bound(kernel) for kernel in kernels]
    table = with_names(mean, {})  # a copy, which is not replaced by itself
    return {
        new_states: states_of_arms,
        start_arms: bind(start_all, {start_arm: _by_kind([each["start"] for each in own], nothing)}),
        mean: _by_kind([each["mean"] for each in own], table),
        count: bind(count_and_move, {pull_arm: _by_kind([each["pull"] for each in own], nothing)}),
    }


def _bound(kernel: ArmKernel) -> dict[str, KernelFunction]:
    """Return `start`, `mean_of_memory` and `pull` of a kernel."""
    parts = {
        arm_init: kernel.init,
        arm_step: kernel.step,
        arm_mean: kernel.mean,
        read_params: _returning("read_params(rows, i)", kernel.params, "rows[i, {}]", first=0),
        read_state: _returning("read_state(rows, i)", kernel.state, "rows[i, {}]", first=SINCE + 1),
        write_state: _writer(*kernel.state),
    }
    if not takes_key(kernel.init, "init"):
        parts[arm_init] = _generated("def arm_init(p, key):\n    return own(p)\n", own=kernel.init)
    if not takes_key(kernel.step, "step"):
        source = "def arm_step(p, s, t, n, pulled, key):\n    return own(p, s, t, n, pulled)\n"
        parts[arm_step] = _generated(source, own=kernel.step)
    if kernel.rest is not None:
        one = "1.0 * s" if kernel.state[0] is float else "1.0 * s[{}]"
        parts |= {state_now: rested_state, arm_rest: kernel.rest, as_floats: _returning("as_floats(s)", kernel.state, one)}
    if kernel.draws:
        parts[no_key] = key_of_arm
    return bind_all({"start": start, "mean": mean_of_memory, "pull": pull}, parts)


# Compiled code can loop neither over functions nor over the numbers of a NamedTuple: these functions are generated as source.


def _by_kind(functions: Sequence[KernelFunction], otherwise: KernelFunction) -> KernelFunction:
    """Return a function that calls the one of the arm's kernel, or `otherwise` for an arm with a table."""
    names: dict[str, object] = {f"of_{k}": function for k, function in enumerate(functions)}
    lines = [f"    if m.arm_kinds[i] == {k}:\n        return of_{k}(m, b, i, t)\n" for k in range(len(functions))]
    return _generated(
        f"def by_kind(m, b, i, t):\n{''.join(lines)}    return otherwise(m, b, i, t)\n", otherwise=otherwise, **names
    )


def _returning(head: str, form: tuple[type, int], number: str, first: int = 0) -> KernelFunction:
    """Return a function whose result has the form of parameters or of a state.

    Args:
        head: its name and arguments.
        form: the class of the result, and how many numbers it has.
        number: the code of the k-th number, from k = `first` on.
        first: the first k.
    """
    kind, size = form
    numbers = [number.format(first + k) for k in range(size)]
    value = f"Form({', '.join(numbers)})" if hasattr(kind, "_fields") else f"({''.join(f'{each}, ' for each in numbers)})"
    return _generated(f"def {head}:\n    return {numbers[0] if kind is float else value}\n", Form=kind)


def _writer(form: type, size: int) -> KernelFunction:
    """Return a function that writes a state into a row, after the first column."""
    lines = [f"    rows[i, {SINCE + 1 + k}] = {'s' if form is float else f's[{k}]'}\n" for k in range(size)]
    return _generated(f"def write_state(rows, i, s):\n{''.join(lines) or '    pass'}\n")


def _generated(source: str, **names: object) -> KernelFunction:
    """Return the function that the source code defines, with these global names."""
    scope: dict[str, Any] = {"__name__": __name__, **names}
    exec(source, scope)  # noqa: S102 - made of numbers
    function: KernelFunction = scope[source.removeprefix("def ").partition("(")[0]]
    return function


# The arms of a problem as arrays.


def memory_of_arms(problem: Problem, kernels: Sequence[ArmKernel]) -> tuple[Ints, Floats, Floats]:
    """Return, for each arm, the number of its kernel, its parameters, and room for its state.

    An arm with a table has the number after the last one.
    """
    arms = [each if isinstance(each, Stateful) else None for each in problem.bare_arms]
    kinds = np.array([len(kernels) if arm is None else kernels.index(arm.kernel) for arm in arms])
    params = np.zeros((len(arms), max((kernel.params[1] for kernel in kernels), default=0)))
    for row, arm in zip(params, arms, strict=True):
        if arm is not None:
            numbers = np.ravel(arm.params)
            row[: numbers.size] = numbers
    columns = SINCE + 1 + max((kernel.state[1] for kernel in kernels), default=-1)
    return kinds, params, np.zeros((len(arms), columns))
