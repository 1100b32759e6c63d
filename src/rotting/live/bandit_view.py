"""The methods of a bandit that change nothing."""

import warnings
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Generic

import numpy as np

from rotting.common.arrays import Ints
from rotting.common.rules import positive_int
from rotting.errors import InvalidValueError, RewardsWarning
from rotting.live.arms import Arm, Complement, to_slots
from rotting.live.decisions import Decision
from rotting.live.explanations import ArmExplanation, Explanation
from rotting.live.locks import Guard
from rotting.live.preview import Preview
from rotting.live.reward_rule import RewardRule
from rotting.live.saved_state import SavedState, StateParts
from rotting.live.shared_functions import is_library_kernel
from rotting.policy import Policy

if TYPE_CHECKING:
    from rotting.live.ledger import Entry


class BanditView(Generic[Arm]):
    """The methods of a bandit that only read its state. They may be called from several threads.

    With a reward window, they show the state of the last call that changed the bandit: only such calls settle decisions.

    Args:
        guard: the state, and the lock for it.
        warn: called with each warning, after the lock is released; by default they are Python warnings.
    """

    def __init__(self, guard: Guard[Arm], warn: Callable[[str], object] | None = None) -> None:
        self._guard, self._state, self._warn_with = guard, guard.state, warn
        self._reward_rule = RewardRule(guard.state.policy)

    @property
    def policy(self) -> Policy:
        """The policy that decides."""
        return self._state.policy

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The arms that may be chosen, in the order of their slots."""
        arms = self._state.arms
        return tuple(arms.names[slot] for slot in arms.slots)

    @property
    def rounds(self) -> int:
        """The number of rounds played so far: the paper's t - 1."""
        return self._state.rounds

    @property
    def pending(self) -> int:
        """The number of decisions without a reward; with a reward window, the number of decisions that have not settled."""
        return self._state.n_pending

    @property
    def paused(self) -> tuple[Arm, ...]:
        """The arms that the probe pauses in the next decision, in the order of their slots; none if no other arm is left."""
        with self._guard.lock:
            self._state.available(None)
            return tuple(self._state.paused())

    @property
    def is_compiled(self) -> bool:
        """Whether the policy runs as machine code; if not, it is interpreted, with the same decisions.

        Each function is compiled when it is first called, for example by the first `explain`. Functions that were never called
        do not count.
        """
        return self._state.learner.is_compiled and self._state.pending.is_compiled

    def __repr__(self) -> str:
        state = self._state
        window = "" if state.window is None else f", reward_window={state.window.seconds!r}"
        probe = "" if state.probe is None else f", probe={state.probe.share!r}"
        return f"Bandit({self.policy!r}, arms={list(self.arms)!r}{window}{probe}, rounds={self.rounds})"

    def _warn(self) -> None:
        """Issue the warnings of the state. The lock must be released, since Python may turn a warning into an exception."""
        messages = self._state.warnings
        while messages:
            with suppress(IndexError):  # another thread has issued it meanwhile
                message = messages.pop()
                if self._warn_with is None:
                    warnings.warn(message, RewardsWarning, stacklevel=3)
                else:
                    self._warn_with(message)

    def _available_for(self, count: int, arms: Iterable[Arm] | None, without: Iterable[Arm] | None) -> Ints | Complement:
        """Return the slots to choose from, or raise an error if they do not suffice for `count` decisions."""
        state = self._state
        among = state.available(arms, without, count)
        most = min(among.size, state.ledger.max_pending)
        if count > most:
            limit = "the number of available arms" if most == among.size else "max_pending"
            raise InvalidValueError("count", f"be at most {most}, {limit}", count)
        state.check_rounds(count)
        return among

    def preview(
        self, arms: Iterable[Arm] | None = None, count: int = 1, *, without: Iterable[Arm] | None = None
    ) -> tuple[Decision[Arm], ...]:
        """Return the decisions that `decide` would make now, without making them. Their ids are "".

        The preview is exact as long as nothing else happens to the bandit, even for a policy that chooses at random, and even
        if `max_pending` is reached, so that deciding would expire the oldest decisions. It works on a copy of the policy's
        state: its cost depends on the number of arms, not on the number of pending decisions, and other threads wait only while
        the copy is made. Over HTTP, the bandits of a `Client` do the same with `decide(dry_run=True)`.

        Args:
            arms: the arms available this time; all by default.
            count: how many distinct arms to choose.
            without: arms that are not available this time, even if they are among `arms`.

        Example:
            >>> import rotting
            >>> bandit = rotting.Bandit(rotting.Uniform(), arms=["a", "b", "c"])
            >>> next_page = bandit.preview(count=2)
            >>> [decision.id for decision in next_page], bandit.rounds
            (['', ''], 0)
            >>> [decision.arm for decision in next_page] == [decision.arm for decision in bandit.decide(count=2)]
            True
        """
        number = positive_int("count", count)
        with self._guard.lock:
            among, state = self._available_for(number, arms, without), self._state
            window, ledger = state.window, state.ledger
            closed = len(state.closed_by(max(self._guard.clock(), state.latest)))
            free = ledger.max_pending - state.n_pending
            oldest: Iterable[Entry] = ()
            if closed or number > free:
                oldest = ledger.entries.values() if window is not None else ledger.oldest_entries(number - free)
            missing = None if window is None else window.missing
            names = state.arms.names.copy()
            copies = Preview(state.chooser.copy(), state.random_key, state.rounds, names, missing, closed, free, deque(oldest))
        return copies.decisions(among, number)

    def propensities(self, arms: Iterable[Arm] | None = None) -> dict[Arm, float]:
        """Return the probability with which the next decision would choose each arm: 0 for an arm that the probe pauses.

        To log the propensity of a decision, use `Decision.propensity`: between two calls, another thread may decide.

        Args:
            arms: the available arms; all by default.

        Example:
            >>> import rotting
            >>> rotting.Bandit(rotting.Uniform(), arms=["a", "b"]).propensities()
            {'a': 0.5, 'b': 0.5}
        """
        with self._guard.lock:
            state = self._state
            given, available, t = to_slots(state.arms.available(arms)), to_slots(state.available(arms)), state.rounds + 1
            trial, pending = state.learner.copy(), state.pending.copy()  # copies, since a choice changes the state
            names = [state.arms.names[slot] for slot in given]
        out = np.zeros(given.size)
        out[np.searchsorted(given, available)] = pending.probabilities(trial, t, state.random_key, available)
        return dict(zip(names, out.tolist(), strict=True))

    def explain(self) -> Explanation[Arm]:
        """Return the index, mean, window, width, rewards and pending decisions of each arm, for the next decision.

        The index is the policy's own. Without pending decisions, the arm with the largest index is chosen next, unless the
        probe pauses it (`paused`). With `pending="shrink"`, pending decisions shrink the widths; the `reason` of a `Decision`
        has the index that was used.

        Example:
            >>> import rotting
            >>> bandit = rotting.Bandit(rotting.UCB1(), arms=["a", "b"])
            >>> bandit.update("a", 3.0)
            >>> bandit.explain()["a"].mean, bandit.explain()["b"].index
            (3.0, inf)
        """
        with self._guard.lock:
            state = self._state
            slots, t = state.arms.slots, state.rounds + 1
            trial, pending = state.learner.copy(), state.pending  # a copy, since explaining may change the state
            rows = [(state.arms.names[i], int(i), pending.rewards[i], pending.pending[i]) for i in slots]
        explanation: Explanation[Arm] = Explanation()
        for arm, slot, *counts in rows:
            index, mean, window, width = trial.explain(t, slots, slot)
            explanation[arm] = ArmExplanation(float(index), float(mean), int(window), float(width), *counts)
        return explanation

    def warm_up(self) -> None:
        """Prepare every function of the policy, so that no later call waits for the compiler.

        With `compile="now"`, all of them are compiled. With "auto", machine code that is in the cache is loaded, and no call
        waits for the rest. A policy from outside the library is called on a copy of its state.
        """
        with self._guard.lock:
            state = self._state
            trial, pending, t = state.learner.copy(), state.pending.copy(), state.rounds + 1
            slots = state.arms.slots
        trial.warm_up()
        pending.warm_up(trial)
        if not is_library_kernel(state.policy.kernel) and t <= state.max_rounds:
            slot, reward = pending.choose(trial, t, state.random_key, slots).slot, self._reward_rule.middle
            trial.learn_all(np.full(1, t), np.full(1, slot), np.full(1, reward))
            trial.learn(t, slot, reward)
            trial.explain(t, slots, slot)
            pending.probabilities(trial, t, state.random_key, slots)
        trial.forget(int(slots[0]))
        trial.set_present(slots)

    def get_state(self) -> SavedState:
        """Return the policy, the arms, the statistics, the decisions and the randomness as JSON-able data, for `from_state`."""
        with self._guard.lock:
            parts = StateParts.of(self._state)
        return parts.to_json()
