"""The loop on a GPU: a thread is a run.

Arrays that a run has of its own are kept for many runs together. Small ones have the runs on the last axis: threads that stand
side by side then read memory side by side. In large ones, where each thread is at another place, the runs come first: what a
thread reads next is near. `play_one` gives a thread its part of them, and the game is the one that `engines/game.py` plays.
Plain functions, as all kernels are; `engines/cuda_device.py` compiles them.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from numpy.typing import NDArray

from rotting.common.arrays import Floats, Ints
from rotting.engines.game import Board, choose, draw, is_cancelled, is_full, play, reveal, reveal_means, says_full, update
from rotting.kernels.binding import bind, slot
from rotting.kernels.nested import is_nested
from rotting.kernels.random_numbers import subkey
from rotting.policy import Policy
from rotting.problems.mean_table import Means
from rotting.problems.noise import Noise

_NOTHING: Mapping[Any, Any] = {}
_SMALL = 64  # numbers of an array


class Boards(NamedTuple):
    """The arrays of a `Board`, or of many: where nothing is recorded and no terms are added, the loop reads no more of it."""

    pulls: Ints
    round_piece: Ints
    pull_piece: Ints
    passed: Ints
    collected: Floats


def own_arrays(board: Board) -> Boards:
    """Return the arrays of a board."""
    return Boards(board.pulls, board.round_piece, board.pull_piece, board.passed, board.collected)


@slot
def state_of(s: Any, r: int) -> Any:
    """Stand for the part of a state that belongs to the r-th run."""
    raise NotImplementedError


@slot
def board_of(s: Any, r: int) -> Any:
    """Stand for the part of the boards that belongs to the r-th run."""
    raise NotImplementedError


def thread_number() -> int:
    """Return which thread this is: the device has it."""
    return 0


def never_cancelled(signal: Ints, rounds: int) -> bool:
    """Go on: what is launched is short, and the next launch can be left out."""
    return False


def play_one(
    p: Any,
    states: Any,
    boards: Any,
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
    """Play the run of this thread on to round `last`, unless its state is full."""
    r = thread_number()
    if r < runs.size:
        s = state_of(states, r)
        if not is_full(s):
            run = runs[r]
            b, key = board_of(boards, r), subkey(policy_key, run)
            play(p, s, b, m, scale, noise_key, key, run, arms, checkpoints, optimal, regret[r], last, signal)


def runs_axis(array: NDArray[Any]) -> int:
    """Return which axis the runs are on, the first or the last, where this array is kept for many of them."""
    return -1 if array.size <= _SMALL else 0


def part_of(name: str, tree: Any) -> Callable[[Any, int], Any]:
    """Return a function of that name that takes the r-th run's part of a tree like this one, kept for many runs.

    Compiled code cannot walk over the fields of a NamedTuple: the function is written out.
    """
    kinds: dict[str, Any] = {}

    def written(part: Any, path: str) -> str:
        if not is_nested(part):
            return f"{path}[{':, ' * part.ndim}r]" if runs_axis(part) == -1 else f"{path}[r]"
        kind = f"Kind{len(kinds)}"
        kinds[kind] = type(part)
        return f"{kind}({', '.join(written(getattr(part, field), f'{path}.{field}') for field in part._fields)})"

    scope: dict[str, Any] = {"__name__": __name__}
    exec(f"def {name}(s, r):\n    return {written(tree, 's')}\n", scope)  # noqa: S102 (made of names of fields)
    scope.update(kinds)
    function: Callable[[Any, int], Any] = scope[name]
    return function


def link_thread(
    policy: Policy, noise: Noise, state: Any, board: Boards, more: Mapping[Any, Any] = _NOTHING
) -> Callable[..., None]:
    """Return `play_one` bound to this policy and this noise, and to states and boards like these, still plain.

    Args:
        policy: whose `choose` and `update` are called.
        noise: whose `draw` is.
        state: like that of a run.
        board: the same.
        more: other functions to bind, such as those that give the means.
    """
    kernel = policy.kernel
    parts: dict[Any, Any] = {
        choose: kernel.choose,
        update: kernel.update,
        draw: noise.draw,
        state_of: part_of("state_of", state),
        board_of: part_of("board_of", board),
        is_cancelled: never_cancelled,
    }
    if policy.sees_means:
        parts[reveal] = reveal_means
    if kernel.enlarge is not None:
        parts[is_full] = says_full
    return bind(play_one, {**parts, **more})
