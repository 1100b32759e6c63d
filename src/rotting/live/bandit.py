"""A policy inside a user's program: named arms that come and go, rewards that may come late, a state to save."""

import hashlib
import json
import math
import numbers
import threading
from collections.abc import Callable, Collection, Hashable, Iterable
from dataclasses import asdict, dataclass, fields
from itertools import islice
from typing import Any

import numpy as np

from rotting.common.arrays import Ints
from rotting.common.rules import LARGEST, brief, nonnegative_int, suggest
from rotting.display.tables import Column, Table
from rotting.engines.compile import guarded_for
from rotting.engines.kernel_errors import check_choice, check_reason, is_own_work
from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.kernels.random_numbers import derive_key
from rotting.live import policy_state as states
from rotting.policy import Policy, Reason
from rotting.registry import from_json as policy_from_json

_FORMAT, _VERSION = "rotting-bandit", 3
_FIRST_CAPACITY = 64
_LISTED = 6  # arms in an error message


@dataclass(frozen=True)
class ArmExplanation:
    """Why one arm is or is not pulled; NaN and 0 stand for what the policy does not compute."""

    index: float
    mean: float
    window: int
    width: float
    pulls: int


class Explanation(dict[Hashable, ArmExplanation]):
    """One `ArmExplanation` for each arm, in a dict; printed as a table."""

    def __str__(self) -> str:
        return str(self._table())

    def _repr_html_(self) -> str:
        return self._table()._repr_html_()

    def _table(self) -> Table:
        def number(name: str) -> Column:
            return Column(name, lambda row: f"{row[name]:.6g}")

        rows = [{"arm": arm, **asdict(choice)} for arm, choice in self.items()]
        names = [each.name for each in fields(ArmExplanation)]
        columns = (Column("arm", lambda row: repr(row["arm"])), *map(number, names))
        return Table((), columns, rows)


def _check_arm(arm: object) -> Hashable:
    """Accept what JSON can store and a dict can look up: str, int, float, bool, None, and tuples of these."""
    if isinstance(arm, tuple):
        for part in arm:
            _check_arm(part)
        return arm
    if arm is None or type(arm) in {str, int, bool}:
        return arm
    if type(arm) is float and math.isfinite(arm):
        return arm
    raise InvalidTypeError(f"arm must be a string, a number, None or a tuple of these, so that JSON can carry it, got {arm!r}")


def _listed(arms: Collection[Hashable]) -> str:
    """Return the arms for an error message: all if they are few, else the first of them and how many there are."""
    names = ", ".join(brief(arm) for arm in islice(arms, _LISTED))
    return names if len(arms) <= _LISTED else f"{names} and {len(arms) - _LISTED} others"


def _check_iterable(arms: object) -> None:
    if isinstance(arms, str | bytes) or not isinstance(arms, Iterable):
        raise InvalidTypeError(f"arms must be a list of arms, got {arms!r}")


def _check_reward(reward: object) -> float:
    if type(reward) is not float and (isinstance(reward, bool | np.bool_) or not isinstance(reward, numbers.Real)):
        raise InvalidTypeError(f"reward must be a finite number, got {reward!r}")
    try:
        value = float(reward)
    except OverflowError:
        value = math.inf
    if not abs(value) <= LARGEST:
        raise InvalidValueError(f"reward must be a finite number of at most {LARGEST:g} in size, got {reward!r}")
    return value


def _restore_arm(arm: Any) -> Hashable:
    return _check_arm(tuple(_restore_arm(part) for part in arm) if isinstance(arm, list) else arm)


def _plain(value: Any) -> Any:
    """Write 1.0 as 1: some JSON tools do, and the digest must not change."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _state_digest(data: dict[str, Any]) -> str:
    text = json.dumps(
        _plain({name: value for name, value in data.items() if name != "digest"}), sort_keys=True, allow_nan=False
    )
    return hashlib.sha256(text.encode()).hexdigest()


class Bandit:
    """A policy that decides live: `pull` an arm, `update` it with the reward.

    No horizon is needed, unless the policy is tuned to one: the state grows with the rounds. A round is a pull, or an update
    without a pull (past rewards can be replayed with `update` alone). Rewards may come late. Those of one arm are matched to
    its pulls in the order of the pulls, which matters only to policies that divide by the probability of the draw. Until a
    reward comes, a deterministic policy tends to return the same arm. To pull several arms at once, leave out those that are
    waiting (`pull(arms=...)`), or use a randomised policy. All methods may be called from several threads.

    Args:
        policy: any policy but an oracle.
        arms: ids of the arms: strings, numbers, None or tuples of these, each once, at least one.
        seed: seed of the policy's own randomness.

    Example:
        >>> from rotting.policies.eff_raw_ucb import EffRAWUCB
        >>> bandit = Bandit(EffRAWUCB(sigma=0.5), arms=["a", "b"], seed=0)
        >>> for _ in range(10):
        ...     arm = bandit.pull()
        ...     bandit.update(arm, 1.0 if arm == "a" else 0.0)
        >>> bandit.pull()
        'a'
        >>> bandit.add_arm("c")
        >>> bandit.pull()
        'c'
    """

    def __init__(self, policy: Policy, arms: Iterable[Hashable], seed: int = 0) -> None:
        if not isinstance(policy, Policy):
            raise InvalidTypeError(f"policy must be a policy such as EffRAWUCB(alpha=1.4), got {policy!r}")
        if policy.sees_means:
            raise InvalidTypeError(f"policy must be a learner, got {policy!r}, which needs the true means; use it in simulate")
        _check_iterable(arms)
        names = [_check_arm(arm) for arm in arms]
        if not names:
            raise InvalidValueError("arms must hold at least one arm, got none")
        for place, arm in enumerate(names):
            if arm in names[:place]:
                raise InvalidValueError(f"arms must be distinct, got {arm!r} twice")
        key = derive_key(nonnegative_int("seed", seed), "policy")
        self._make_slots(len(names))
        self._slots[:] = names
        self._slot_of.update((arm, slot) for slot, arm in enumerate(names))
        capacity = states.first_capacity(policy, len(names), _FIRST_CAPACITY)
        self._set_up(policy, key, 0, capacity, states.new_state(policy, len(names), capacity))

    def _make_slots(self, count: int) -> None:
        """Make empty slots; an arm in use has one, also if it was removed with `keep=True`."""
        self._slots: list[Hashable | None] = [None] * count  # the arm of each slot; meaningless where it is not in use
        self._slot_of: dict[Hashable, int] = {}
        self._kept: dict[Hashable, int] = {}  # arms removed with keep=True
        self._pulls = [0] * count
        self._pending = [0] * count  # pulls of each slot whose reward has not come yet
        self._propensities: list[list[float]] = [[] for _ in range(count)]  # of those pulls, if the policy divides by them

    def _set_up(self, policy: Policy, key: int, rounds: int, capacity: int, state: Any) -> None:
        """Make the bandit ready to decide, once its slots are filled."""
        self._policy, self._key, self._rounds, self._capacity, self._state = policy, key, rounds, capacity, state
        self._lock = threading.RLock()
        self._active: Ints
        self._refresh()
        self._choose = guarded_for(policy.kernel.choose, policy, policy.params, state, 1, self._key, self._active)
        self._is_own = is_own_work(policy.kernel.choose)
        self._update = guarded_for(policy.kernel.update, policy, policy.params, state, 1, 0, 0.0)
        self._explain = self._optional(policy.kernel.explain, self._active, 0)
        self._propensities_now = self._optional(policy.kernel.propensities, self._active, np.zeros(1))
        self._may_be_full = policy.kernel.enlarge is not None
        self._uses_propensities = "propensity" in self._state._fields
        self._max_rounds = math.inf if policy.max_rounds is None else policy.max_rounds
        self._range = policy.reward_range or (-math.inf, math.inf)

    def _optional(self, kernel: Callable[..., Any] | None, *rest: object) -> Callable[..., Any] | None:
        if kernel is None:
            return None
        return guarded_for(kernel, self._policy, self._policy.params, self._state, 1, *rest, allocates=True)

    def _refresh(self) -> None:
        self._active = np.array(sorted(self._slot_of.values()), np.int64)

    @property
    def policy(self) -> Policy:
        """The policy that decides."""
        return self._policy

    @property
    def arms(self) -> tuple[Hashable, ...]:
        """The arms that may be pulled, in the order of their slots."""
        return tuple(self._slots[slot] for slot in self._active)

    @property
    def rounds(self) -> int:
        """Rounds played so far: the paper's t - 1."""
        return self._rounds

    def __repr__(self) -> str:
        return f"Bandit({self._policy!r}, arms={list(self.arms)!r}, rounds={self._rounds})"

    def _known(self, arm: Hashable, kept: bool = False) -> int:
        """Return the slot of an arm that was added or, if `kept`, of one that was removed with its statistics kept."""
        try:
            slot = self._slot_of.get(arm)
            if slot is None and kept:
                slot = self._kept.get(arm)
        except TypeError:  # not hashable
            slot = None
        if slot is None:
            known = [each for each in self._slot_of if isinstance(each, str)]
            hint = suggest(arm, known) if isinstance(arm, str) else ""
            raise InvalidValueError(f"arm must be one of {_listed(self._slot_of)}, got {arm!r}{hint}")
        return slot

    def _available(self, arms: Iterable[Hashable] | None) -> Ints:
        if arms is None:
            return self._active
        _check_iterable(arms)
        slots = sorted({self._known(arm) for arm in arms})
        if not slots:
            raise InvalidValueError("arms must hold at least one arm, got none")
        return np.array(slots, np.int64)

    def _check_round(self, rounds: int) -> None:
        limit = self._max_rounds
        if rounds > limit:
            raise InvalidValueError(
                f"round must be at most {limit}, the horizon that {self._policy!r} is tuned for, got round {rounds}; "
                f"rotting.doubling(policy) plays without a horizon"
            )

    def _make_room(self, rounds: int) -> None:
        if rounds > self._capacity and not self._may_be_full:
            capacity = max(rounds, 2 * self._capacity)
            self._state = states.grow(self._policy, self._state, len(self._slots), capacity)
            self._capacity = capacity

    def pull(self, arms: Iterable[Hashable] | None = None) -> Hashable:
        """Return the arm to play now.

        Args:
            arms: the arms available this time; all by default.
        """
        with self._lock:
            available = self._available(arms)
            self._check_round(self._rounds + 1)
            self._make_room(self._rounds + 1)
            slot = self._choose(self._policy.params, self._state, self._rounds + 1, self._key, available)
            if not self._is_own:
                check_choice(self._policy, slot, available)
            slot = int(slot)
            self._rounds += 1
            self._pending[slot] += 1
            if self._uses_propensities:
                self._propensities[slot].append(float(self._state.propensity[slot]))
            return self._slots[slot]

    def update(self, arm: Hashable, reward: float) -> None:
        """Learn that `arm` paid `reward`; an arm that was removed with `keep=True` can still be updated."""
        value = _check_reward(reward)
        low, high = self._range
        if not low <= value <= high:
            raise InvalidValueError(
                f"reward must be in [{low!r}, {high!r}], the range that {self._policy!r} declares, got {reward!r}"
            )
        with self._lock:
            slot = self._known(arm, kept=True)
            pulled = self._pending[slot] > 0
            if self._uses_propensities and not pulled and arm not in self._slot_of:
                raise InvalidValueError(f"arm must have been pulled, or be one that may be, got {arm!r}, which was removed")
            rounds = self._rounds if pulled else self._rounds + 1
            self._check_round(rounds)
            self._make_room(rounds)
            if self._uses_propensities:
                self._state.propensity[slot] = self._propensities[slot][0] if pulled else self.propensities()[arm]
            self._update(self._policy.params, self._state, rounds, slot, value)
            while self._may_be_full and self._state.full[0]:
                self._state.full[0] = 0  # also if there is no memory for more room, and the reward is not learned
                capacity = 2 * self._capacity
                self._state = states.grow(self._policy, self._state, len(self._slots), capacity)
                self._capacity = capacity
                self._update(self._policy.params, self._state, rounds, slot, value)
            self._rounds = rounds
            self._pulls[slot] += 1
            if pulled:
                self._pending[slot] -= 1
                del self._propensities[slot][:1]

    def add_arm(self, arm: Hashable, resume: bool = False) -> None:
        """Let `arm` be pulled from now on, as the paper treats a new arm: it is explored at the next pull.

        A tuning that depends on the number of arms is computed again; what was learned stays.

        Args:
            arm: its id.
            resume: continue with the statistics it had when it was removed with `keep=True`, instead of starting afresh.
        """
        _check_arm(arm)
        with self._lock:
            if arm in self._slot_of:
                raise InvalidValueError(f"arm must be new, got {arm!r}, which is there already")
            if resume:
                if arm not in self._kept:
                    raise InvalidValueError(f"resume needs an arm that was removed with keep=True, got {arm!r}")
                slot = self._kept.pop(arm)
            else:
                slot = self._free_slot()
                self._slots[slot] = arm
                old = self._kept.pop(arm, None)
                if old is not None:
                    self._clear(old)
            self._slot_of[arm] = slot
            self._refresh()

    def _free_slot(self) -> int:
        """Return a slot that no arm uses, cleared."""
        taken = {*self._slot_of.values(), *self._kept.values()}
        slot = next((each for each in range(len(self._slots)) if each not in taken), len(self._slots))
        if slot == len(self._slots):
            # One at a time: some policies use the number of slots as the number of arms.
            n_arms = len(self._slots) + 1
            self._capacity = max(self._capacity, states.first_capacity(self._policy, n_arms, _FIRST_CAPACITY))
            self._state = states.grow(self._policy, self._state, n_arms, self._capacity)
            self._slots.append(None)
            self._pulls.append(0)
            self._pending.append(0)
            self._propensities.append([])
        self._clear(slot)
        return slot

    def _clear(self, slot: int) -> None:
        """Forget everything about the arm in a slot."""
        states.forget_arm(self._policy, self._state, slot, self._capacity)
        self._pulls[slot], self._pending[slot], self._propensities[slot] = 0, 0, []

    def remove_arm(self, arm: Hashable, keep: bool = False) -> None:
        """Never pull `arm` again.

        Args:
            arm: its id.
            keep: keep its statistics, for `add_arm(arm, resume=True)`.
        """
        with self._lock:
            slot = self._known(arm)
            if len(self._slot_of) == 1:
                raise InvalidValueError(f"arm must not be the last one, got {arm!r}")
            del self._slot_of[arm]
            if keep:
                self._kept[arm] = slot
            else:
                self._clear(slot)
            self._refresh()

    def propensities(self, arms: Iterable[Hashable] | None = None) -> dict[Hashable, float]:
        """Return the probability with which the next pull would return each arm.

        Args:
            arms: the arms available; all by default.

        Example:
            >>> from rotting.policies.uniform import Uniform
            >>> Bandit(Uniform(), arms=["a", "b"]).propensities()
            {'a': 0.5, 'b': 0.5}
        """
        with self._lock:
            available = self._available(arms)
            t = self._rounds + 1
            self._make_room(t)
            out = np.zeros(available.size)
            trial = states.copy(self._state)  # choose and propensities may change the state
            if self._policy.randomised and self._policy.kernel.propensities is None:
                raise InvalidTypeError(
                    f"policy must give its propensities, got {self._policy!r}, which draws and does not; see rotting.Kernel"
                )
            if self._propensities_now is not None:
                self._propensities_now(self._policy.params, trial, t, available, out)
            else:
                out[np.searchsorted(available, self._choose(self._policy.params, trial, t, self._key, available))] = 1.0
            return {self._slots[slot]: float(probability) for slot, probability in zip(available, out, strict=True)}

    def explain(self) -> Explanation:
        """Return for each arm what decides whether it is pulled next: index, mean, chosen window, width, pulls.

        Example:
            >>> from rotting.policies.ucb1 import UCB1
            >>> bandit = Bandit(UCB1(), arms=["a", "b"])
            >>> bandit.update("a", 3.0)
            >>> bandit.explain()["a"].mean, bandit.explain()["b"].index
            (3.0, inf)
        """
        with self._lock:
            explanation = Explanation()
            trial = states.copy(self._state)  # explain may change the state
            for arm in self.arms:
                slot = self._slot_of[arm]
                reason = Reason(math.nan, math.nan, 0, math.nan)
                if self._explain is not None:
                    reason = self._explain(self._policy.params, trial, self._rounds + 1, self._active, slot)
                    check_reason(self._policy, reason)
                value, mean, window, width = reason
                explanation[arm] = ArmExplanation(float(value), float(mean), int(window), float(width), self._pulls[slot])
            return explanation

    def get_state(self) -> dict[str, Any]:
        """Return the policy, the arms, the statistics and the randomness as JSON-able data, for `from_state`."""
        with self._lock:
            data: dict[str, Any] = {
                "format": _FORMAT,
                "version": _VERSION,
                "policy": self._policy.to_json(),
                "key": f"{self._key:x}",  # a string: some JSON readers keep fewer than 63 bits of a number
                "rounds": self._rounds,
                "capacity": self._capacity,
                "slots": len(self._slots),
                "arms": [
                    {
                        "arm": arm,
                        "slot": slot,
                        "kept": kept,
                        "pulls": self._pulls[slot],
                        "pending": self._pending[slot],
                        "propensities": self._propensities[slot],
                    }
                    for kept, group in ((False, self._slot_of), (True, self._kept))
                    for arm, slot in group.items()
                ],
                "state": states.to_json(self._state),
            }
            plain: dict[str, Any] = json.loads(json.dumps(data, allow_nan=False))
            return {**plain, "digest": _state_digest(plain)}

    @classmethod
    def from_state(cls, state: Any) -> "Bandit":
        """Return the bandit that `get_state` described; it decides as the original would have.

        Example:
            >>> from rotting.policies.uniform import Uniform
            >>> bandit = Bandit(Uniform(), arms=[1, 2, 3], seed=5)
            >>> twin = Bandit.from_state(bandit.get_state())
            >>> [bandit.pull() for _ in range(9)] == [twin.pull() for _ in range(9)]
            True
        """
        if not isinstance(state, dict) or state.get("format") != _FORMAT:
            raise InvalidValueError(f"state must be what Bandit.get_state returned (format {_FORMAT!r}), got {brief(state)}")
        if state.get("version") != _VERSION:
            got = state.get("version")
            raise InvalidValueError(f"state version must be {_VERSION}, the only one that can be read, got {got!r}")
        try:
            intact = state.get("digest") == _state_digest(state)
        except (TypeError, ValueError):
            intact = False
        if not intact:
            raise InvalidValueError("state must be complete and unedited, got one whose digest does not match its content")
        bandit = cls.__new__(cls)
        bandit._make_slots(state["slots"])
        for each in state["arms"]:
            arm, slot = _restore_arm(each["arm"]), each["slot"]
            bandit._slots[slot] = arm
            (bandit._kept if each["kept"] else bandit._slot_of)[arm] = slot
            bandit._pulls[slot], bandit._pending[slot] = each["pulls"], each["pending"]
            bandit._propensities[slot] = each["propensities"]
        policy, capacity = policy_from_json(state["policy"]), state["capacity"]
        arrays = states.from_json(policy, state["state"], state["slots"], capacity)
        bandit._set_up(policy, int(state["key"], 16), state["rounds"], capacity, arrays)
        return bandit
