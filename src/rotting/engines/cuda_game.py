"""The game loop for a GPU, where each thread plays one run.

The arrays of many runs are stored together. In small arrays the runs are on the last axis, so that neighbouring threads read
neighbouring memory. In large arrays, where each thread reads at another position, the runs are on the first axis, so that the
next value of a thread is near the last. `play_one` gives a thread its part of the arrays and plays the game of
`engines/game.py`. These are plain functions, as all kernels are; `engines/cuda_device.py` compiles them.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from rotting.common.arrays import AnyArray, Floats, Ints
from rotting.engines.game import is_full, play, policy_parts, report_rounds
from rotting.kernels.binding import Bindings, KernelFunction, bind, slot
from rotting.kernels.nested_state import is_nested
from rotting.kernels.random_numbers import subkey
from rotting.policy import Params, Policy
from rotting.problems.mean_table import Means
from rotting.problems.noise import Noise

_SMALL = 64  # the size up to which an array counts as small


class Boards(NamedTuple):
    """The first fields of a `Board`, its arrays, or those of many boards; a GPU plays no games that need the other fields."""

    pulls: Ints
    round_piece: Ints
    pull_piece: Ints
    passed: Ints
    collected: Floats


@slot
def state_of(states: object, r: int) -> object:
    """Slot: returns the r-th run's part of the states."""
    raise NotImplementedError


@slot
def board_of(boards: Boards, r: int) -> Any:
    """Slot: returns the r-th run's part of the boards."""
    raise NotImplementedError


def thread_number() -> int:
    """Return the number of this thread; replaced on the device."""
    return 0


def never_cancelled(signal: Ints, rounds: int) -> bool:
    """Return False: a launch is short, and to cancel a game is to launch no more."""
    return False


def play_one(
    p: Params,
    states: object,
    boards: Boards,
    m: Means,
    scale: float,
    noise_key: int,
    policy_key: int,
    runs: Ints,
    arms: Ints,
    checkpoints: Ints,
    optimal: Floats,
    regret: Floats,
    last: int,
    signal: Ints,
) -> None:
    """Play the run of this thread up to round `last`, unless its state is full."""
    r = thread_number()
    if r < runs.size:
        s = state_of(states, r)
        if not is_full(s):
            run = runs[r]
            b, key = board_of(boards, r), subkey(policy_key, run)
            play(p, s, b, m, scale, noise_key, key, run, arms, checkpoints, optimal, regret[r], last, signal)


def runs_axis(array: AnyArray) -> int:
    """Return the axis of the runs, 0 or -1, in the arrays that hold one such array for each run."""
    return -1 if array.size <= _SMALL else 0


def run_selector(name: str, tree: NamedTuple) -> KernelFunction:
    """Return a function of that name, which returns the r-th run's part of a state or a board of many runs.

    Compiled code cannot loop over the fields of a NamedTuple, so the function is generated as source code.

    Args:
        name: the name of the function.
        tree: the state or the board of one run.
    """
    kinds: dict[str, type] = {}

    def written(part: Any, path: str) -> str:
        if not is_nested(part):
            return f"{path}[{':, ' * part.ndim}r]" if runs_axis(part) == -1 else f"{path}[r]"
        kind = f"Kind{len(kinds)}"
        kinds[kind] = type(part)
        return f"{kind}({', '.join(written(getattr(part, field), f'{path}.{field}') for field in part._fields)})"

    scope: dict[str, Any] = {"__name__": __name__}
    exec(f"def {name}(s, r):\n    return {written(tree, 's')}\n", scope)  # noqa: S102 - made of names of fields
    scope.update(kinds)
    function: KernelFunction = scope[name]
    return function


def link_thread(policy: Policy, noise: Noise, state: NamedTuple, board: Boards, more: Bindings) -> Callable[..., None]:
    """Return `play_one` bound to this policy and this noise, and to states and boards like these: a plain function.

    Args:
        policy: its `choose` and `update` are called.
        noise: its `draw` is called.
        state: the state of a run.
        board: the board of a run.
        more: other functions to replace, such as those that give the means.
    """
    of_thread = {
        state_of: run_selector("state_of", state),
        board_of: run_selector("board_of", board),
        report_rounds: never_cancelled,
    }
    return bind(play_one, {**policy_parts(policy, noise), **of_thread, **more})
