"""Rewards that came before their turn, as arrays in the order of their decisions: what a policy learns from them at once."""

import numpy as np

from rotting.common.arrays import Floats, Ints


class EarlyRewards:
    """Rewards that wait for those before them."""

    def __init__(self) -> None:
        self.number = 0
        self.version = 0
        """Changes with every change."""
        self._rounds = np.zeros(16, np.int64)  # of the decisions, increasing
        self._came = np.zeros(16, np.int64)
        self._slots = np.zeros(16, np.int64)
        self._rewards = np.zeros(16)

    @property
    def _arrays(self) -> tuple[Ints, Ints, Ints, Floats]:
        return self._rounds, self._came, self._slots, self._rewards

    def add(self, round: int, came: int, slot: int, reward: float) -> None:  # noqa: A002 - the name that decisions have for it
        """Keep the reward of the decision in `round`, which `came` in a later one."""
        n = self.number
        if n == self._rounds.size:
            self._rounds, self._came, self._slots = (np.resize(each, 2 * n) for each in (self._rounds, self._came, self._slots))
            self._rewards = np.resize(self._rewards, 2 * n)
        place = int(self._rounds[:n].searchsorted(round))
        for array, value in zip(self._arrays, (round, came, slot, reward), strict=True):
            array[place + 1 : n + 1] = array[place:n]
            array[place] = value
        self.number, self.version = n + 1, self.version + 1

    def remove(self, round: int) -> None:  # noqa: A002
        """Drop the reward of the decision in `round`."""
        n = self.number
        place = int(self._rounds[:n].searchsorted(round))
        for array in self._arrays:
            array[place : n - 1] = array[place + 1 : n]
        self.number, self.version = n - 1, self.version + 1

    def copy(self) -> "EarlyRewards":
        """Return an independent copy."""
        twin = EarlyRewards()
        twin.number = self.number
        twin._rounds, twin._came, twin._slots = self._rounds.copy(), self._came.copy(), self._slots.copy()
        twin._rewards = self._rewards.copy()
        return twin

    def to_learn(self) -> tuple[Ints, Ints, Floats]:
        """Return rounds, slots and rewards in the order of the decisions, as if their turn had come with the last of them."""
        n = self.number
        return np.full(n, self._came[:n].max()), self._slots[:n], self._rewards[:n]
