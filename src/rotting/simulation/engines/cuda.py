"""The engine for one GPU, where each thread plays one run.

The runs of a game are played together, as many at a time as fit into the memory of the device. Several games are played at the
same time, since one with a few thousand runs would leave most of the device idle. A game is played in launches of a fraction of
a second: progress is shown between two launches, and a game is cancelled by not launching the next.
"""

import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from rotting.common.arrays import AnyArray, Floats, Ints
from rotting.common.progress import Progress
from rotting.errors import EngineError
from rotting.policies.kernels.binding import bind
from rotting.policies.kernels.policy_functions import flatten, new_state, unflatten
from rotting.policy import small_capacity
from rotting.simulation.engines.cuda_device import (
    ELSEWHERE,
    Boards,
    CudaKernel,
    Device,
    link_thread,
    optimum_in_regret,
    optimum_of_thread,
    runs_axis,
)
from rotting.simulation.engines.game import new_board, new_states
from rotting.simulation.engines.task import Chunk, Game, Origin, PlayedTask, Task, take
from rotting.simulation.engines.threads import play_checked_runs

_LAUNCH_SECONDS = 0.5  # the intended duration of a launch
_FIRST_ROUNDS = 100  # rounds of the first launch, which shows how long a round takes
_FASTER = 16  # a launch has at most this many times the rounds of the last one
_SHARE = 0.9  # the part of the free memory that is used
_MOST_BATCHES = 32  # played at the same time
_WAIT = 0.0005  # seconds between two checks of the device
_GROWTH = 2  # factor by which the capacity of a full state grows


class Cuda:
    """Play tasks on a GPU.

    Code that is not the library's own first plays two runs on the CPU with every index checked, which a GPU cannot do.
    """

    def __init__(self) -> None:
        self._device = Device()
        self._device.check_rounding()

    def close(self) -> None:
        """Do nothing: the memory is freed with the games."""

    def play(self, games: Iterable[list[Task]], bar: Progress) -> Generator[PlayedTask, None, None]:
        """Play tasks, as `Engine` describes."""
        running = _RunningBatches(bar)
        self._device.hold()
        try:
            for tasks in games:
                if tasks:
                    yield from self._play_game(sorted(tasks, key=lambda task: task.first_run), running, bar)
            while running.batches:
                yield from running.finished()
        finally:
            running.close()
            self._device.release()

    def _play_game(self, tasks: list[Task], running: "_RunningBatches", bar: Progress) -> Iterator[PlayedTask]:
        game = tasks[0].game
        check_supported(game.setting.unsupported_feature)
        play_checked_runs(game, tasks[-1].end - 1)
        shared = _SharedByRuns(self._device, game)
        waiting = deque(tasks)
        while waiting:
            while running.batches and (len(running.batches) >= _MOST_BATCHES or shared.room() < waiting[0].runs):
                yield from running.finished()
            if shared.room() < waiting[0].runs:
                self._device.free_all()
            room = int(min(shared.room(), sum(each.runs for each in waiting)))
            if room == 0:
                raise shared.no_room(shared.bytes_per_run)
            bar.status = f"compiling {game.policy.title}" if not shared.is_compiled else ""
            bar.advance(0)
            running.add(_Batch(self._device, shared, take(waiting, room)))
            bar.status = ""
            yield from running.finished(wait=False)


def check_supported(unsupported_feature: str) -> None:
    """Refuse games with a feature that this engine does not support; an empty string is accepted."""
    if unsupported_feature:
        raise EngineError(f"engine='cuda' does not support {unsupported_feature}; {ELSEWHERE}")


class _SharedByRuns:
    """The arrays on the device that all runs of a game share, and its kernel."""

    def __init__(self, device: Device, game: Game) -> None:
        self.game, self.setting = game, game.setting
        self._device = device
        kernel, setting = game.policy.kernel, game.setting
        self.capacity = setting.horizon if kernel.enlarge is None else small_capacity(setting.n_arms, setting.horizon)
        self.state = new_state(game.policy, setting.n_arms, self.capacity)
        parts = dict(setting.extensions.on_means)
        make_states = {new_states: parts.pop(new_states)} if new_states in parts else {}
        self._parts = parts if setting.draws is None else {**parts, optimum_of_thread: optimum_in_regret}
        means: Any = setting.means  # plain, or with the parameters of arms
        board = bind(new_board, make_states)(means, np.zeros(setting.n_arms, np.int64))
        self.board = Boards._make(board[: len(Boards._fields)])
        stream = device.stream()
        self.means = type(means)._make(device.put(each, stream) for each in means)
        self.scale = device.put(scale, stream) if isinstance(scale := setting.noise.scale, np.ndarray) else scale
        lists = np.arange(setting.n_arms), setting.checkpoints, setting.optimum
        self.arms, self.checkpoints, self.optimum = (device.put(each, stream) for each in lists)
        self.signal = device.put(np.zeros(1, np.int64), stream)
        self._kernel: CudaKernel | None = None
        self.axes = [runs_axis(each) for each in flatten(self.state).values()]  # these stay when the arrays are enlarged
        self.bytes_per_run = self.bytes_with(self.state)
        arrays = len(self.axes) + sum(each.size > 0 for each in self.board) + 2
        self._rounding = arrays * device.page_bytes

    @property
    def is_compiled(self) -> bool:
        """Whether the kernel is compiled."""
        return self._kernel is not None

    def bytes_with(self, state: NamedTuple) -> int:
        """Return the memory that a run with such a state needs."""
        own = [*flatten(state).values(), *self.board]
        return int(sum(each.nbytes for each in own) + 8 * (1 + self.setting.checkpoints.size))

    def room(self, bytes_per_run: int | None = None) -> float:
        """Return how many runs fit into the free memory."""
        return float(max(0.0, _SHARE * self._device.free_bytes() - self._rounding) / (bytes_per_run or self.bytes_per_run))

    def no_room(self, bytes_per_run: int) -> EngineError:
        """Return the error that not even one run fits."""
        free, needed = self._device.free_bytes() / 1e9, (bytes_per_run + self._rounding) / _SHARE / 1e9
        return EngineError(
            f"engine='cuda' needs {needed:.3g} GB of the GPU's memory for one run of {self.game.policy!r}, "
            f"got {free:.3g} GB; {ELSEWHERE}"
        )

    def kernel(self, arguments: tuple[object, ...]) -> CudaKernel:
        """Return the kernel, compiled for arguments like these."""
        if self._kernel is None:
            policy, noise = self.game.policy, self.setting.noise
            linked = link_thread(policy, noise, self.state, self.board, self._parts)
            self._kernel = self._device.kernel(linked, policy, noise, arguments)
        return self._kernel


class _Waiting(NamedTuple):
    """Runs whose states were full, in host memory until they go on with larger states."""

    capacity: int
    bytes_per_run: int
    rows: Ints
    state: Any
    board: list[AnyArray]
    runs: Ints
    regret: Floats


def _cut(array: AnyArray, axis: int, part: slice) -> AnyArray:
    """Return some runs of an array that has the runs on axis 0 or -1."""
    return array[part] if axis == 0 else array[..., part]


class _Batch:
    """Runs of one game that are played together."""

    def __init__(self, device: Device, shared: _SharedByRuns, tasks: list[Task]) -> None:
        self._device, self._shared, self.tasks = device, shared, tasks
        setting, n = shared.setting, sum(each.runs for each in tasks)
        self._stream = device.stream()
        self._runs = np.concatenate([np.arange(each.first_run, each.end) for each in tasks])
        self._regret = np.empty((n, setting.checkpoints.size))
        self._pulls = np.empty((n, setting.n_arms), np.int64)
        self._rows = np.arange(n)  # the runs that are being played
        self._capacity = shared.capacity
        self._waiting: list[_Waiting] = []  # runs whose states were full
        self.seconds = 0.0
        self.rounds = 0  # rounds played, of all runs together
        self._last, self._rounds = 0, _FIRST_ROUNDS
        self._put(shared.state, shared.board)
        self._launch()

    def _put(self, state: NamedTuple, board: Boards) -> None:
        """Give each run a copy of the state and the board."""
        n, device, stream = self._rows.size, self._device, self._stream
        arrays, axes = flatten(state).values(), self._shared.axes
        spread = (device.spread(each, n, axis, stream) for each, axis in zip(arrays, axes, strict=True))
        self._state: Any = unflatten(state, spread)
        self._board = Boards(*(device.spread(each, n, runs_axis(each), stream) for each in board))
        setting = self._shared.setting
        if setting.draws is None:
            regret = device.spread(np.zeros(setting.checkpoints.size), n, 0, stream)
        else:  # each run has its own optimum
            found = [setting.draws.tables(task.first_run, task.runs)[1] for task in self.tasks]
            regret = device.put(np.concatenate(found), stream)
        self._on_device = device.put(self._runs, stream), regret

    def _launch(self) -> None:
        shared, setting = self._shared, self._shared.setting
        self._last = min(setting.horizon, self._last + self._rounds)
        runs, regret = self._on_device
        game = shared.game.policy.params, self._state, self._board, shared.means, shared.scale
        keys = setting.noise_key, setting.policy_key, runs
        lists = shared.arms, shared.checkpoints, shared.optimum
        arguments = (*game, *keys, *lists, regret, self._last, shared.signal)
        self._device.launch(shared.kernel(arguments), self._rows.size, self._stream, *arguments)
        self.has_finished = self._device.mark(self._stream)
        self._began = time.monotonic()

    def go_on(self) -> bool:
        """Launch the next rounds; return False if all runs are finished."""
        horizon = self._shared.setting.horizon
        self.rounds = self._last * self._rows.size
        if self._last < horizon:
            pace = _LAUNCH_SECONDS / max(time.monotonic() - self._began, 1e-6)
            self._rounds = max(1, int(self._rounds * min(pace, _FASTER)))
            self._launch()
            return True
        left = self._collect()
        if left.size > 0:
            self._enlarge(left)
        elif not self._waiting:
            self._device.take_back([*flatten(self._state).values(), *self._board, self._on_device[1]])
            return False
        self._resume()
        self._last = horizon - self._rounds  # so that the next launch plays every run to its end
        self._launch()
        return True

    def _collect(self) -> Ints:
        """Collect the results of the finished runs; return the others, whose states are full."""
        full = np.zeros(self._rows.size, bool)
        if self._shared.game.policy.kernel.enlarge is not None:
            full = self._device.get(self._state.full, self._stream)[0] != 0  # small: the runs are on its last axis
        finished = ~full if full.any() else slice(None)  # a slice copies nothing
        rows = self._rows[finished]
        self._regret[rows] = self._device.get(self._on_device[1], self._stream)[finished]
        pulls = self._device.get(self._board.pulls, self._stream)
        self._pulls[rows] = np.moveaxis(pulls, runs_axis(self._shared.board.pulls), 0)[finished]
        return np.flatnonzero(full)

    def _enlarge(self, left: Ints) -> None:
        """Move runs to larger states, of which the old ones are the leading corners, and let them wait."""
        device, shared, stream = self._device, self._shared, self._stream
        capacity = _GROWTH * self._capacity
        larger = new_state(shared.game.policy, shared.setting.n_arms, capacity)
        arrays = []
        kept = flatten(self._state).values()
        for new, old, axis in zip(flatten(larger).values(), kept, shared.axes, strict=True):
            many = np.repeat(np.expand_dims(new, axis), left.size, axis)
            corner = np.take(device.get(old, stream), left, axis)
            many[tuple(slice(0, size) for size in corner.shape)] = corner
            arrays.append(many)
        state = unflatten(larger, iter(arrays))
        state.full[:] = 0
        pairs = zip(self._board, shared.board, strict=True)
        board = [np.take(device.get(each, stream), left, runs_axis(first)) for each, first in pairs]
        runs, regret = (device.get(each, stream)[left] for each in self._on_device)
        self._waiting.append(_Waiting(capacity, shared.bytes_with(larger), self._rows[left], state, board, runs, regret))

    def _resume(self) -> None:
        """Move waiting runs to the device, as many as fit."""
        device, shared, stream = self._device, self._shared, self._stream
        del self._state, self._board, self._on_device  # which belong to runs that are finished or waiting
        these = self._waiting.pop()
        if shared.room(these.bytes_per_run) < these.rows.size:
            device.free_all()
        room = int(min(shared.room(these.bytes_per_run), these.rows.size))
        if room == 0:
            raise shared.no_room(these.bytes_per_run)
        if room < these.rows.size:
            self._waiting.append(self._part(these, slice(room, None)))
            these = self._part(these, slice(room))
        self._capacity, self._rows = these.capacity, these.rows
        self._state = unflatten(these.state, (device.put(each, stream) for each in flatten(these.state).values()))
        self._board = Boards(*(device.put(each, stream) for each in these.board))
        self._on_device = device.put(these.runs, stream), device.put(these.regret, stream)

    def _part(self, waiting: _Waiting, part: slice) -> _Waiting:
        shared, arrays = self._shared, flatten(waiting.state).values()
        pairs = zip(waiting.board, shared.board, strict=True)
        return waiting._replace(
            rows=waiting.rows[part],
            state=unflatten(waiting.state, (_cut(each, axis, part) for each, axis in zip(arrays, shared.axes, strict=True))),
            board=[_cut(each, runs_axis(first), part) for each, first in pairs],
            runs=waiting.runs[part],
            regret=waiting.regret[part],
        )

    def chunks(self) -> Iterator[PlayedTask]:
        """Yield the tasks with their chunks, each with its share of the time."""
        first, n = 0, len(self._regret)
        for task in self.tasks:
            part = slice(first, first + task.runs)
            seconds = self.seconds * task.runs / n
            yield task, Chunk(self._regret[part].copy(), self._pulls[part].copy(), seconds, origin=Origin.here_and_now())
            first += task.runs


class _RunningBatches:
    """The batches that are being played. Batches that are played at the same time share the time equally."""

    def __init__(self, bar: Progress) -> None:
        self.batches: list[_Batch] = []
        self._bar = bar
        self._rounds = 0  # rounds of the batches that are finished
        self._shown_rounds = 0  # rounds that the progress bar has counted
        self._looked = time.monotonic()

    def add(self, batch: _Batch) -> None:
        """Add a batch that was launched."""
        self._share_time()
        self.batches.append(batch)

    def _share_time(self) -> None:
        now = time.monotonic()
        for batch in self.batches:
            batch.seconds += (now - self._looked) / len(self.batches)
        self._looked = now

    def finished(self, wait: bool = True) -> Iterator[PlayedTask]:
        """Launch the next rounds of batches whose last launch has finished; yield the tasks that are finished.

        Args:
            wait: whether to wait until at least one launch has finished.
        """
        ready = [each for each in self.batches if each.has_finished()]
        while wait and not ready:
            time.sleep(_WAIT)
            ready = [each for each in self.batches if each.has_finished()]
        self._share_time()
        done = [each for each in ready if not each.go_on()]
        for batch in done:
            self.batches.remove(batch)
            self._rounds += sum(task.rounds for task in batch.tasks)
        played = self._rounds + sum(each.rounds for each in self.batches)
        self._bar.advance(played - self._shown_rounds)
        self._shown_rounds = played
        for batch in done:
            yield from batch.chunks()

    def close(self) -> None:
        """Launch nothing more, and wait for the running launches."""
        for batch in self.batches:
            while not batch.has_finished():
                time.sleep(_WAIT)
        self.batches.clear()
