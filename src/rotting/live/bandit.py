"""A policy inside a user's program: named arms that come and go, rewards that come late, twice or never, a state to save."""

import math
import numbers
import sys
import threading
import warnings
from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from typing import Any, Literal, NoReturn, overload

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import LARGEST, Rule, nonnegative_int, positive_int
from rotting.errors import InvalidTypeError, InvalidValueError, RewardsWarning, brief
from rotting.kernels.random_numbers import derive_key
from rotting.live import policy_state as states
from rotting.live.arms import MAX_PRIOR_WEIGHT, AllBut, Arms, check_arm, listed_slots, restore_arm
from rotting.live.choosing import Chooser
from rotting.live.decisions import Decision, Entry, Ids, Key, Ledger, Orphans, Outcome, id_of
from rotting.live.events import Event, Listener, check_event, learned_many
from rotting.live.explanations import ArmExplanation, Explanation
from rotting.live.history import Numbers, Unknown, read, settle_arms
from rotting.live.learner import Learner
from rotting.live.pages import Page
from rotting.live.preview import Preview
from rotting.live.processes import Gate, own_stream, watch
from rotting.live.reporting import Reporting
from rotting.live.saved_state import Parts, unseal
from rotting.live.under_way import UnderWay
from rotting.policy import Policy, how_to_accept
from rotting.registry import from_json as policy_from_json

_MAX_PENDING = 10_000
_WEIGHT = Rule(f"a whole number from 1 to {MAX_PRIOR_WEIGHT:,}", low=1, high=MAX_PRIOR_WEIGHT, whole=True)

# Calls `tuple.__new__` directly: half the time of calling the class.
_decision: Callable[[type[Decision], tuple[object, ...]], Decision] = tuple.__new__


def _check_reward(reward: object, name: str) -> float:
    if type(reward) is not float and (isinstance(reward, bool | np.bool_) or not isinstance(reward, numbers.Real)):
        raise InvalidTypeError(name, "be a finite number", reward, hint=_instead(reward))
    try:
        value = float(reward)
    except OverflowError:
        value = math.inf
    if not abs(value) <= LARGEST:
        raise InvalidValueError(name, f"be a finite number of at most {LARGEST:g} in size", reward)
    return value


def _instead(reward: object) -> str:
    """Return what to write for something that is nearly a reward."""
    if isinstance(reward, bool | np.bool_):
        return ", which is mostly the answer to another question; write 1.0 or 0.0 if it is the reward"
    return "; write float(reward)" if hasattr(reward, "__float__") else ""


def _check_pair(pair: object) -> tuple[object, object]:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise InvalidTypeError("rewards", "be pairs of a decision and a reward", pair)
    return pair[0], pair[1]


class Bandit:
    """A policy that decides live: `decide` on an arm, and `reward` the decision.

        decision = bandit.decide()              # an arm, and an id
        bandit.reward(decision.id, 1.0)         # now or much later, in any order; twice does no harm

    `pull` and `update` are the simple form of the same, for rewards that come one after the other.

    **A reward of 0 must be reported too.** A decision without an answer is still waited for: it does not count as 0. Who
    reports only the clicks teaches the bandit that all arms are equally good. For decisions whose answer will never come there
    is `expire`; for those that were never shown, `cancel`.

    No horizon is needed, unless the policy is tuned to one: the state grows with the rounds. A round is a decision, or an
    update without one (`learn` replays past rewards). The rewards of one arm are learned in the order of
    its decisions. One that comes early counts at once, and takes its place when those before it have come; a policy that
    divides by the probability of the draw learns each when it comes, with the probability of its own decision. All methods may
    be called from several threads.

    A copy (`copy`, `deepcopy`, `pickle`) is a bandit of its own, with the same random numbers to come. In a forked process a
    bandit goes on by itself, with random numbers of its own.

    Args:
        policy: any policy but an oracle.
        arms: ids of the arms: strings, numbers, None or tuples of these, each once, at least one.
        seed: seed of the policy's own randomness.
        pending: "young": decisions under way count as if they had told something already, but for the leader of the arms that
            compete, once it has as many rewards; so no arm is chosen again and again before its first rewards come. "ignore":
            they do not count. The rule, and what either costs, is in docs/delays.md.
        max_pending: the most decisions that are waited for, or whose reward waits for that of an older one of the same arm.
            When there is one more, the oldest expires, without a reward. So many answers are remembered, too; a second reward
            for an older id is `unknown`.

    Example:
        >>> from rotting.policies.eff_raw_ucb import EffRAWUCB
        >>> bandit = Bandit(EffRAWUCB(sigma=0.5), arms=["a", "b"], seed=0)
        >>> for _ in range(10):
        ...     decision = bandit.decide()
        ...     outcome = bandit.reward(decision.id, 1.0 if decision.arm == "a" else 0.0)
        >>> bandit.decide().arm
        'a'
        >>> bandit.reward(decision.id, 1.0), bandit.reward(decision.id, 0.5), bandit.reward("?", 1.0)
        ('duplicate', 'conflict', 'unknown')
        >>> bandit.add_arm("c")
        >>> bandit.decide().arm
        'c'
    """

    def __init__(
        self,
        policy: Policy,
        arms: Iterable[Hashable],
        seed: int = 0,
        pending: Literal["young", "ignore"] = "young",
        max_pending: int = _MAX_PENDING,
    ) -> None:
        if not isinstance(policy, Policy):
            raise InvalidTypeError("policy", "be a policy such as EffRAWUCB(alpha=1.4)", policy)
        if policy.sees_means:
            raise InvalidTypeError("policy", "be a learner", policy, hint=", which needs the true means; use it in simulate")
        if pending not in ("young", "ignore"):
            raise InvalidValueError("pending", "be 'young' or 'ignore'", pending)
        self._arms = Arms(arms)
        self._key = derive_key(nonnegative_int("seed", seed), "policy")
        self._ledger = Ledger(positive_int("max_pending", max_pending))
        self._orphans = Orphans(self._ledger.max_pending)
        self._reporting = Reporting()
        self._rounds = 0
        self._set_up(Learner.new(policy, len(self._arms.names)), pending)

    def _set_up(self, learner: Learner, pending: str) -> None:
        """Make the bandit ready to decide, once its arms and its ledger are filled."""
        self._policy, self._settled, self._pending = learner.policy, learner, pending
        self._under_way = UnderWay(learner, pending == "young")
        self._chooser = Chooser(learner, self._under_way, self._ledger.early_rewards)
        self._lock: Any = threading.RLock()
        self._ids = Ids()
        watch(self)
        self._max_rounds = sys.maxsize if self._policy.max_rounds is None else self._policy.max_rounds
        self._range = self._policy.reward_range or (-math.inf, math.inf)
        self._least, self._most = max(self._range[0], -LARGEST), min(self._range[1], LARGEST)  # that a reward can be
        self._listener: Listener | None = None
        self._events: list[Event] = []
        self._warnings: list[str] = []
        self._full_told = False

    @property
    def policy(self) -> Policy:
        """The policy that decides."""
        return self._policy

    @property
    def arms(self) -> tuple[Hashable, ...]:
        """The arms that may be chosen, in the order of their slots."""
        return tuple(self._arms.names[slot] for slot in self._arms.slots)

    @property
    def rounds(self) -> int:
        """Rounds played so far: the paper's t - 1."""
        return self._rounds

    @property
    def pending(self) -> int:
        """Decisions whose reward has not come yet."""
        return len(self._ledger.entries) - self._ledger.early

    def __repr__(self) -> str:
        return f"Bandit({self._policy!r}, arms={list(self.arms)!r}, rounds={self._rounds})"

    # --- Events: every change is made by one of these, whether somebody calls a verb or a recorded event is applied -------

    def _note(self, event: str, **more: object) -> None:
        if self._listener is not None:
            self._events.append({"event": event, **more})

    def _listen(self, listener: Listener) -> None:
        """Let somebody keep a record of all that happens from now on."""
        self._listener, self._lock = listener, Gate()

    def _tell(self) -> None:
        """Tell the listener of what has happened since it was last told; if it fails, what it knows is not what is true."""
        events, self._events = self._events, []
        if self._listener is not None:
            try:
                self._listener(events)
            except BaseException as error:
                self._lock.shut(f"the bandit is ahead of its record, which could not be written: open it again ({error})")
                raise

    def _after_fork(self, is_whole: bool) -> None:
        """Become a bandit of this process, which was forked; `is_whole`: nobody was changing it."""
        self._ids = Ids()
        if self._listener is not None:
            self._lock = Gate("the bandit belongs to the process that opened it: open it again in this one")
        elif not is_whole:
            self._lock = Gate("the bandit was being changed when this process was forked: make it anew from its state")
        else:
            self._lock, self._key = threading.RLock(), own_stream()

    def _apply(self, event: Event) -> None:
        """Make the change that was recorded as an event, and check that a decision is the same."""
        kind, data = check_event(event)
        with self._lock:
            try:
                if kind == "decided":
                    self._repeat(data)
                elif kind in {"rewarded", "cancelled", "expired"}:
                    entry = self._ledger.entries.get(data["id"])
                    if entry is None or entry.reward is not None:
                        raise InvalidValueError("event", "be about a decision that is open", event)
                    if kind == "rewarded":
                        self._reward(entry.key, data["reward"])
                    else:
                        self._end(entry, kind, data.get("reward"))
                elif kind == "learned":
                    self._learn(restore_arm(data["arm"]), data["reward"])
                elif kind == "learned_many":
                    arms = [restore_arm(arm) for arm in data["arms"]]
                    propensities = None if data["propensities"] is None else np.array(data["propensities"], np.float64)
                    rewards = np.array(data["rewards"], np.float64)
                    self._learn_many(arms, np.array(data["which"], np.int64), rewards, propensities)
                elif kind == "added":
                    self._add(restore_arm(data["arm"]), data["prior"])
                else:
                    {"retired": self._retire, "revived": self._revive, "forgotten": self._forget, "ignored": self._ignore}[
                        kind
                    ](restore_arm(data["arm"]))
            finally:
                if self._events:
                    self._tell()

    def _repeat(self, data: Event) -> None:
        """Decide as recorded."""
        arms, without = (None if each is None else map(restore_arm, each) for each in (data["arms"], data["without"]))
        entry, _ = self._decide(self._arms.available(arms, without), data["id"], False)
        entry.propensity = data["propensity"]
        arm = self._arms.names[entry.slot]
        if arm != restore_arm(data["arm"]) or entry.round != data["round"]:
            raise InvalidValueError(
                "event",
                f"be the decision that follows from those before it, for {arm!r} in round {entry.round}",
                data["arm"],
                hint=f" in round {data['round']}",
            )

    # --- Deciding ---------------------------------------------------------------------------------------------------------

    def _refuse_round(self, rounds: int) -> NoReturn:
        raise InvalidValueError(
            "round",
            f"be at most {self._max_rounds}, the horizon that {self._policy!r} is tuned for",
            rounds,
            got=f"round {rounds}",
            hint="; rotting.doubling(policy) plays without a horizon",
        )

    def _make_place(self, page: Page | None) -> None:
        """Let the oldest decision expire, since there is no place for one more."""
        early = self._ledger.early
        while self._ledger.is_full:
            oldest: Entry = self._ledger.oldest()  # type: ignore[assignment]
            self._end(oldest, "expired", None)
            if page is not None:
                page.recount(oldest.slot)
        if not self._full_told:
            self._full_told = True
            order = f", {early} of them for that of an older one of the same arm" if early else ""
            self._warnings.append(
                f"{self._ledger.max_pending} decisions wait for a reward{order} (max_pending): from now on the oldest expires "
                f"with each new one"
            )

    def _decide(self, among: Ints | AllBut | Page, key: Key, wanted: bool) -> tuple[Entry, ArmExplanation | None]:
        """Choose one of the slots `among`; `wanted`: with its propensity and the reason."""
        ledger, t = self._ledger, self._rounds + 1
        if len(ledger.entries) >= ledger.max_pending:
            self._make_place(among if type(among) is Page else None)
        slot, propensity, reason = self._chooser.choose(t, self._key, among, wanted)
        entry = Entry(key, slot, t, propensity)
        self._rounds = t
        ledger.add(entry)
        self._under_way.decided(slot)
        if self._listener is not None:
            arms, without = among.describe(self._arms) if type(among) is Page else self._arms.describe(among)
            arm = self._arms.names[slot]
            self._note("decided", id=key, round=t, arm=arm, arms=arms, without=without, propensity=propensity)
        return entry, reason

    @overload
    def decide(
        self, arms: Iterable[Hashable] | None = None, count: None = None, *, without: Iterable[Hashable] | None = None
    ) -> Decision: ...

    @overload
    def decide(
        self, arms: Iterable[Hashable] | None = None, *, count: int, without: Iterable[Hashable] | None = None
    ) -> tuple[Decision, ...]: ...

    def decide(
        self,
        arms: Iterable[Hashable] | None = None,
        count: int | None = None,
        *,
        without: Iterable[Hashable] | None = None,
    ) -> Decision | tuple[Decision, ...]:
        """Choose an arm now, and wait for its reward.

        With a `count`, so many distinct arms for one page, best first: they are chosen one after the other, each without those
        before it. Each is a decision and a round of its own, with a reward of its own. Its propensity is the probability of
        that arm at that place, given those before it; the propensity of the page is their product.

        Args:
            arms: the arms available this time; all by default.
            count: how many arms to choose.
            without: arms that are not available this time, also if they are among `arms`. With many arms, to leave out a few
                takes much less time than to list all others. A tuple that is given again is not looked up again.

        Example:
            >>> from rotting.policies.uniform import Uniform
            >>> page = Bandit(Uniform(), arms=["a", "b", "c"]).decide(count=2)
            >>> [decision.propensity for decision in page], [decision.round for decision in page]
            ([0.3333333333333333, 0.5], [1, 2])
        """
        if count is None:
            with self._lock:
                among = self._arms.slots if arms is without is None else self._arms.available(arms, without)
                if self._rounds >= self._max_rounds:
                    self._refuse_round(self._rounds + 1)
                try:
                    entry, reason = self._decide(among, self._ids.new(), True)
                finally:
                    if self._events:
                        self._tell()
                arm = self._arms.names[entry.slot]
            if self._warnings:
                self._warn()
            return _decision(Decision, (entry.key, arm, entry.round, entry.propensity, reason))
        number = positive_int("count", count)
        made: list[Decision] = []
        with self._lock:
            page = Page(self._available_for(number, arms, without), self._under_way)
            try:
                for _ in range(number):
                    entry, reason = self._decide(page, self._ids.new(), True)
                    page.take(entry.slot)
                    arm = self._arms.names[entry.slot]
                    made.append(Decision(entry.key, arm, entry.round, entry.propensity, reason))  # type: ignore[arg-type]
            finally:
                if self._events:
                    self._tell()
        if self._warnings:
            self._warn()
        return tuple(made)

    def _available_for(self, count: int, arms: Iterable[Hashable] | None, without: Iterable[Hashable] | None) -> Ints | AllBut:
        """Return the slots to choose from, if `count` decisions can be made among them."""
        among = self._arms.available(arms, without)
        most = min(among.size, self._ledger.max_pending)
        if count > most:
            what = "the arms there are to choose from" if most == among.size else "max_pending"
            raise InvalidValueError("count", f"be at most {most}, {what}", count)
        if self._rounds + count > self._max_rounds:
            self._refuse_round(self._rounds + count)
        return among

    def preview(
        self, arms: Iterable[Hashable] | None = None, count: int = 1, *, without: Iterable[Hashable] | None = None
    ) -> tuple[Decision, ...]:
        """Return the decisions that `decide` would make now, without making them: nothing changes, and their ids are "".

        The preview is exact as long as nothing else happens to the bandit: also for a policy that draws, and also if
        `max_pending` is reached, where deciding would expire the oldest decisions. It works on a copy of what was learned, so
        its cost depends on the number of arms, and not on the number of pending decisions. Other threads wait only while that
        copy is made. Over HTTP, the bandits of a `Client` do the same with `decide(dry_run=True)`.

        Args:
            arms: the arms available this time; all by default.
            count: how many distinct arms to choose.
            without: arms that are not available this time, also if they are among `arms`.

        Example:
            >>> from rotting.policies.uniform import Uniform
            >>> bandit = Bandit(Uniform(), arms=["a", "b", "c"])
            >>> next_page = bandit.preview(count=2)
            >>> [decision.id for decision in next_page], bandit.rounds
            (['', ''], 0)
            >>> [decision.arm for decision in next_page] == [decision.arm for decision in bandit.decide(count=2)]
            True
        """
        number = positive_int("count", count)
        with self._lock:
            among, ledger = self._available_for(number, arms, without), self._ledger
            free = ledger.max_pending - len(ledger.entries)
            expiries = ledger.next_to_expire(number - free) if number > free else []
            names = self._arms.names.copy()
            copies = Preview(self._chooser.copy(), self._key, self._rounds, names, free, expiries)
        return copies.decisions(among, number)

    def pull(self, arms: Iterable[Hashable] | None = None, *, without: Iterable[Hashable] | None = None) -> Hashable:
        """Return the arm to play now: the simple form of `decide`, to be answered with `update`.

        **A reward of 0 must be reported too**, as for `decide`.

        Args:
            arms: the arms available this time; all by default.
            without: arms that are not available this time.
        """
        with self._lock:
            among = self._arms.slots if arms is without is None else self._arms.available(arms, without)
            if self._rounds >= self._max_rounds:
                self._refuse_round(self._rounds + 1)
            try:
                entry, _ = self._decide(among, self._rounds + 1, False)
            finally:
                if self._events:
                    self._tell()
            arm = self._arms.names[entry.slot]
        if self._warnings:
            self._warn()
        return arm

    def _warn(self) -> None:
        """Say what should be known, after the lock is released: a warning may be an error."""
        while self._warnings:
            with suppress(IndexError):  # another thread has said it meanwhile
                warnings.warn(self._warnings.pop(), RewardsWarning, stacklevel=3)

    # --- Learning ---------------------------------------------------------------------------------------------------------

    def _checked(self, reward: object, name: str = "reward") -> float:
        value = _check_reward(reward, name)
        low, high = self._range
        if not low <= value <= high:
            raise InvalidValueError(
                name,
                f"be in [{low!r}, {high!r}], the range that {self._policy!r} declares",
                reward,
                hint=how_to_accept(self._policy, value, value),
            )
        return value

    def _reward(self, key: Key, value: float) -> Outcome:
        """Learn the reward of a decision, if it is open: now, or when those before it have come."""
        ledger, learner = self._ledger, self._settled
        entry = ledger.entries.get(key)
        if entry is None or entry.reward is not None:
            return ledger.remembered(key, value)
        slot = entry.slot
        if slot in ledger.alone or learner.weighs or ledger.is_first(entry):
            learner.learn(self._rounds, slot, value, entry.propensity)
            ledger.close(entry, value)
        else:
            ledger.hold(entry, value, self._rounds)
        self._under_way.learned(slot, value, True)
        if self._listener is not None:
            self._note("rewarded", id=entry.key, reward=value)
        if ledger.early:
            self._settle(slot)
        reporting = self._reporting
        if not reporting.told:
            delay, by_id, waiting = self._rounds - entry.round, type(entry.key) is str, len(ledger.entries) - ledger.early
            if reporting.note(value, delay, by_id, waiting):
                self._doubt()
        return "applied"

    def _doubt(self) -> None:
        """Say that rewards of 0 seem not to be reported."""
        self._warnings.append(
            f"no reward was 0 so far, and {self.pending} decisions have none: a decision that paid nothing must be "
            f"rewarded with 0, else all arms look good"
        )

    def _settle(self, slot: int) -> None:
        """Learn the rewards of a slot whose turn has come."""
        ledger = self._ledger
        while ledger.early:
            entry = ledger.first(slot)
            if entry is None or entry.reward is None:
                return
            self._settled.learn(self._rounds, slot, entry.reward)
            ledger.close(entry, entry.answer)

    def _end(self, entry: Entry, event: str, value: float | None) -> None:
        """End an open decision without its reward; learn `value` at its place, if there is one."""
        slot = entry.slot
        if value is not None:
            if self._settled.weighs or self._ledger.is_first(entry):
                self._settled.learn(self._rounds, slot, value, entry.propensity)
                self._ledger.close(entry, None)
            else:
                self._ledger.hold(entry, value, self._rounds, lapsed=True)
            self._under_way.learned(slot, value, True)
            self._reporting.told = self._reporting.told or value == 0.0
        else:
            self._ledger.close(entry, None)
            self._under_way.ended(slot)
        if self._listener is not None:
            self._note(event, id=entry.key, **({"reward": value} if event == "expired" else {}))
        if self._ledger.early:
            self._settle(slot)

    def _learn(self, arm: Hashable, value: float) -> None:
        """Learn a reward that nobody decided on: a round of its own."""
        slot, rounds = self._arms.known(arm, retired=True), self._rounds + 1
        weighs = self._settled.weighs
        if weighs and arm not in self._arms.active:
            raise InvalidValueError("arm", "have been pulled, or be one that may be", arm, hint=", which was removed")
        if rounds > self._max_rounds:
            self._refuse_round(rounds)
        propensity = self.propensities()[arm] if weighs else None
        self._settled.learn(rounds, slot, value, propensity)
        self._rounds = rounds
        self._under_way.learned(slot, value, False)
        self._note("learned", arm=self._arms.names[slot], reward=value)

    def _ignore(self, arm: Hashable) -> None:
        """Learn nothing from the reward of a pull of an arm that was forgotten, and whose id is used again."""
        if arm not in self._orphans:
            raise InvalidValueError("event", "be about a pull of an arm that was forgotten", arm)
        self._orphans.take(arm)
        self._note("ignored", arm=arm)

    def _learn_many(self, arms: list[Hashable], which: Ints, rewards: Floats, propensities: Floats | None) -> None:
        """Learn rewards that nobody decided on: a round each, of the arms at these places."""
        places = [self._arms.known(arm, retired=True) for arm in arms]
        slots = np.array(places, np.int64)[which]
        last = self._rounds + which.size
        if last > self._max_rounds:
            self._refuse_round(last)
        self._settled.learn_rounds(self._rounds + 1, slots, rewards, propensities)
        self._rounds = last
        self._under_way.learned_all(slots, rewards)
        if self._listener is not None:
            self._events += learned_many([self._arms.names[slot] for slot in places], which, rewards, propensities)

    def reward(self, id: str | Decision, reward: float) -> Outcome:  # noqa: A002 - what decisions call it
        """Learn what a decision paid, and return what became of it.

        "applied": it counts. "duplicate": the same reward came before, and nothing happens. "conflict": another reward came
        before, which stays. "unknown": there is no such decision, or it was answered too long ago to be remembered. "expired":
        the decision was cancelled, or expired, or its arm was forgotten.

        **A reward of 0 must be reported too**: a decision without an answer is still waited for.

        Args:
            id: the decision, or its id.
            reward: a finite number; True and False are refused, since they are mostly the answer to another question.
        """
        value = reward if type(reward) is float and self._least <= reward <= self._most else self._checked(reward)
        key = id if type(id) is str else id_of(id)
        with self._lock:
            try:
                outcome = self._reward(key, value)
            finally:
                if self._events:
                    self._tell()
        if self._warnings:
            self._warn()
        return outcome

    def reward_many(self, rewards: Iterable[tuple[str | Decision, float]]) -> list[Outcome]:
        """Learn what many decisions paid, in this order, and return what became of each; all or, if one is refused, none.

        Args:
            rewards: pairs of a decision, or its id, and a reward, as for `reward`.

        Example:
            >>> from rotting.policies.uniform import Uniform
            >>> bandit = Bandit(Uniform(), arms=["a", "b", "c"])
            >>> bandit.reward_many([(decision, 1.0) for decision in bandit.decide(count=2)])
            ['applied', 'applied']
        """
        if not isinstance(rewards, Iterable):
            raise InvalidTypeError("rewards", "be pairs of a decision and a reward", rewards)
        pairs = [(id_of(id), self._checked(reward)) for id, reward in map(_check_pair, rewards)]  # noqa: A001
        with self._lock:
            try:
                outcomes = [self._reward(key, value) for key, value in pairs]
            finally:
                if self._events:
                    self._tell()
        if self._warnings:
            self._warn()
        return outcomes

    def update(self, arm: Hashable, reward: float) -> None:
        """Learn that `arm` paid `reward`: the simple form of `reward`.

        It is the reward of the arm's oldest decision that has none, or, if there is no such decision, a round of its own. An
        arm that was retired can still be updated. **A reward of 0 must be reported too.**

        If an id was forgotten and is used again, the rewards of pulls before that come first: they are those of the arm that
        was shown, which nobody can choose any more, and nothing is learned. `expire` ends the waiting for them. Where ids are
        used again and rewards get lost, `decide` and `reward` tell them apart.

        Args:
            arm: its id.
            reward: a finite number.
        """
        value = reward if type(reward) is float and self._least <= reward <= self._most else self._checked(reward)
        with self._lock:
            slot = self._arms.known(arm, retired=True)
            arm, entry = self._arms.names[slot], self._ledger.first(slot)
            try:
                if arm in self._orphans:
                    self._ignore(arm)
                elif entry is None:
                    self._learn(arm, value)
                else:
                    self._reward(entry.key, value)
            finally:
                if self._events:
                    self._tell()
        if self._warnings:
            self._warn()

    def learn(self, history: object, *, unknown: Unknown = "refuse", name: str | None = None) -> int:
        """Learn many past rewards at once: a warm start. All of them or, if one is refused, none; return how many.

        It is as if `update` were called for each, in this order, while no decision is open: each is a round of its own. No
        open decision is answered by it. A million rows take a second or less; other threads wait for the learning, but not
        for the reading.

        A policy that divides rewards by the probability of their draw, such as Exp3, must know that probability: the history
        needs a column `propensity`, which other policies do not look at.

        Args:
            history: a data frame of pandas or Polars, or a mapping, with the columns `arm` and `reward`; pairs of an arm and a
                reward, or triples with a propensity; the path of such a table in a `.csv` or `.parquet` file, also as
                `rotting log` exports it; or the path of a store, of which the rewards are learned in the order of their
                decisions, but for those of forgotten arms. The oldest come first; errors count rows from 0.
            unknown: what to do with arms that the bandit does not have: "refuse" the history, "add" them in the order in
                which they appear, or "skip" their rows.
            name: which bandit of a log; it may be left out if there is only one.

        Example:
            >>> from rotting.policies.ucb1 import UCB1
            >>> bandit = Bandit(UCB1(), arms=["a", "b"])
            >>> bandit.learn({"arm": ["a", "b", "a"], "reward": [1.0, 0.0, 0.5]})
            3
            >>> bandit.learn([("c", 1.0), ("a", 0.0)], unknown="add")
            2
            >>> bandit.explain()["a"].mean, bandit.arms, bandit.rounds
            (0.5, ('a', 'b', 'c'), 5)
        """
        rule = Numbers(self._checked, self._least, self._most)
        given = read(history, name, rule, repr(self._policy) if self._settled.weighs else "")
        with self._lock:
            rows, new = settle_arms(given, self._arms, unknown)
            if self._rounds + rows.which.size > self._max_rounds:
                self._refuse_round(self._rounds + rows.which.size)
            try:
                for arm in new:
                    self._add(arm, None)
                self._learn_many(rows.arms, rows.which, rows.rewards, rows.propensities)
            finally:
                if self._events:
                    self._tell()
        return int(rows.which.size)

    def cancel(self, id: str | Decision) -> Outcome:  # noqa: A002
        """End a decision that was never shown: all goes on as if it had not been made, but the number of its round is used.

        Returns "applied"; or "conflict" if it was rewarded, "expired" if it had ended before, "unknown" as `reward` does.

        Args:
            id: the decision, or its id.
        """
        with self._lock:
            return self._end_open(id_of(id), "cancelled", None)

    def _end_open(self, id: str, event: str, value: float | None) -> Outcome:  # noqa: A002
        entry = self._ledger.entries.get(id)
        if entry is None or entry.reward is not None:
            return self._ledger.remembered(id, math.nan)
        try:
            self._end(entry, event, value)
        finally:
            self._tell()
        return "applied"

    @overload
    def expire(self, id: str | Decision, *, missing: float | Literal["drop"] = "drop") -> Outcome: ...

    @overload
    def expire(self, *, older_than_rounds: int, missing: float | Literal["drop"] = "drop", limit: int | None = None) -> int: ...

    def expire(
        self,
        id: str | Decision | None = None,  # noqa: A002
        *,
        older_than_rounds: int | None = None,
        missing: float | Literal["drop"] = "drop",
        limit: int | None = None,
    ) -> Outcome | int:
        """End a decision that was shown and will have no answer, or all that are older than some rounds.

        A reward that comes afterwards is `expired`. An arm that wears out with its pulls has worn: what its next reward shows
        is one pull later, whether this one is learned or not.

        Returns what became of the decision, as `cancel` does; with `older_than_rounds`, how many decisions ended.

        Args:
            id: the decision, or its id; or
            older_than_rounds: end all decisions that were made more than so many rounds ago.
            missing: "drop": learn nothing; or the reward to learn in its place, such as 0.0 if no answer means no click.
            limit: with `older_than_rounds`, end at most this many decisions, the oldest first. To end many without keeping
                other threads waiting, repeat the call until fewer than `limit` have ended.

        Example:
            >>> from rotting.policies.ucb1 import UCB1
            >>> bandit = Bandit(UCB1(), arms=["a", "b"])
            >>> old, new = bandit.decide(), bandit.decide()
            >>> bandit.expire(older_than_rounds=0, missing=0.0), bandit.reward(old.id, 1.0), bandit.explain()["a"].mean
            (1, 'expired', 0.0)
        """
        if (id is None) == (older_than_rounds is None):
            both = f"id={brief(id)}, older_than_rounds={brief(older_than_rounds)}"
            raise InvalidTypeError("id or older_than_rounds", "be given, and not both", (id, older_than_rounds), got=both)
        if limit is not None and older_than_rounds is None:
            raise InvalidTypeError("limit", "be given with older_than_rounds only", limit, got=f"limit={brief(limit)}")
        most = None if limit is None else positive_int("limit", limit)
        value = None if isinstance(missing, str) and missing == "drop" else self._checked(missing, "missing")
        with self._lock:
            if id is not None:
                return self._end_open(id_of(id), "expired", value)
            last = self._rounds - nonnegative_int("older_than_rounds", older_than_rounds) - 1
            old = self._ledger.open_until(last, most)
            try:
                for entry in old:
                    self._end(entry, "expired", value)
                if most is None or len(old) < most:
                    for arm in self._orphans.until(last):
                        self._ignore(arm)
            finally:
                if self._events:
                    self._tell()
            return len(old)

    # --- Arms -------------------------------------------------------------------------------------------------------------

    def _add(self, arm: Hashable, prior: tuple[float, int] | None) -> None:
        if arm in self._arms.retired:
            self._forget(arm, told=False)
        if not self._arms.has_free:
            self._settled.add_slot()
            self._under_way.add_slot()
        slot = self._arms.add(arm)
        self._settled.forget(slot)
        self._settled.set_present(self._arms.slots)
        if prior is not None:
            mean, weight = prior
            for _ in range(weight):
                self._settled.learn(max(1, self._rounds), slot, mean)
                self._under_way.learned(slot, mean, False)
        self._note("added", arm=arm, prior=None if prior is None else list(prior))

    def _retire(self, arm: Hashable) -> None:
        self._arms.retire(arm)
        self._settled.set_present(self._arms.slots)
        self._note("retired", arm=arm)

    def _revive(self, arm: Hashable) -> None:
        self._arms.revive(arm)
        self._settled.set_present(self._arms.slots)
        self._note("revived", arm=arm)

    def _forget(self, arm: Hashable, told: bool = True) -> None:
        slot = self._arms.forget(arm)
        pulls = [each.key for each in self._ledger.of(slot) if isinstance(each.key, int) and each.reward is None]
        self._orphans.add(arm, pulls)
        for entry in self._ledger.of(slot):
            self._ledger.close(entry, None)
        self._settled.forget(slot)
        self._settled.set_present(self._arms.slots)
        self._under_way.forget(slot)
        if told:
            self._note("forgotten", arm=arm)

    def _checked_prior(self, prior: object) -> tuple[float, int]:
        """Return the mean and the weight that are meant."""
        if self._settled.weighs:
            raise InvalidValueError(
                "prior", f"be left out for {self._policy!r}, which starts a new arm level with the best", prior
            )
        if isinstance(prior, str) and prior == "like the others":
            if not self._under_way.number:
                raise InvalidValueError("prior", "be a mean and a weight as long as there are no rewards", prior)
            return self._under_way.total / self._under_way.number, 1
        if not isinstance(prior, tuple | list) or len(prior) != 2:
            raise InvalidValueError("prior", "be a mean and a weight, or 'like the others'", prior)
        return self._checked(prior[0], "mean"), int(_WEIGHT.check("weight", prior[1]))

    def add_arm(
        self,
        arm: Hashable,
        resume: bool = False,
        prior: tuple[float, int] | Literal["like the others"] | None = None,
    ) -> None:
        """Let `arm` be chosen from now on, as the paper treats a new arm: it is explored at the next decision.

        A tuning that depends on the number of arms is computed again; what was learned stays. Of an arm that was retired under
        this id, all is forgotten: rewards that are under way to it will not reach the new one.

        Args:
            arm: its id.
            resume: `revive` the arm, which was retired, instead of starting afresh.
            prior: what to assume of a new arm: a mean and a weight up to 10,000, as if it had paid that mean so many times; or
                "like the others", the mean of all rewards so far, once. It is not explored first then, and competes at once.
        """
        check_arm(arm)
        with self._lock:
            if resume and prior is not None:
                raise InvalidValueError("prior", "be left out with resume, which keeps what was learned", prior)
            assumed = None if prior is None else self._checked_prior(prior)
            if arm in self._arms.active:
                raise InvalidValueError("arm", "be new", arm, hint=", which is there already")
            if resume and arm not in self._arms.retired:
                raise InvalidValueError("arm", "be one that was retired, to be revived", arm)
            try:
                if resume:
                    self._revive(self._arms.names[self._arms.retired[arm]])
                else:
                    self._add(arm, assumed)
            finally:
                if self._events:
                    self._tell()

    def remove_arm(self, arm: Hashable, keep: bool = False) -> None:
        """Never choose `arm` again: `retire` it, or `forget` it.

        Args:
            arm: its id.
            keep: keep its statistics, for `add_arm(arm, resume=True)`.
        """
        with self._lock:
            self._arms.known(arm)
            if keep:
                self.retire(arm)
            else:
                self.forget(arm)

    def retire(self, arm: Hashable) -> None:
        """Do not choose `arm` any more, and keep what was learned, for `revive`; rewards under way still reach it.

        Args:
            arm: its id.
        """
        with self._lock:
            arm = self._arms.names[self._arms.known(arm)]
            self._arms.check_not_last(arm)
            try:
                self._retire(arm)
            finally:
                if self._events:
                    self._tell()

    def revive(self, arm: Hashable) -> None:
        """Let `arm`, which was retired, be chosen again, with what was learned of it.

        Args:
            arm: its id.
        """
        self.add_arm(arm, resume=True)

    def forget(self, arm: Hashable) -> None:
        """Forget all about `arm`, active or retired; a reward that is under way to it will be `expired`.

        The id may be used again, for a new arm, which such a reward does not reach: nobody can learn any more what the arm paid
        that was shown. To let rewards under way still count, `retire` the arm first.

        Args:
            arm: its id.
        """
        with self._lock:
            arm = self._arms.names[self._arms.known(arm, retired=True)]
            self._arms.check_not_last(arm)
            try:
                self._forget(arm)
            finally:
                if self._events:
                    self._tell()

    # --- Asking -----------------------------------------------------------------------------------------------------------

    def propensities(self, arms: Iterable[Hashable] | None = None) -> dict[Hashable, float]:
        """Return the probability with which the next decision would choose each arm.

        To log it with a decision, take `Decision.propensity`: between two calls, another thread may decide.

        Args:
            arms: the arms available; all by default.

        Example:
            >>> from rotting.policies.uniform import Uniform
            >>> Bandit(Uniform(), arms=["a", "b"]).propensities()
            {'a': 0.5, 'b': 0.5}
        """
        with self._lock:
            among, t = self._arms.available(arms), self._rounds + 1
            available = listed_slots(among)
            trial, under_way = self._chooser.trial(), self._under_way.copy()  # a choice changes the state
            names = [self._arms.names[slot] for slot in available]
        out = under_way.probabilities(trial, t, self._key, available)
        return dict(zip(names, out.tolist(), strict=True))

    def explain(self) -> Explanation:
        """Return for each arm what decides whether it is chosen next: index, mean, chosen window, width, rewards, pending.

        The index is the policy's own. With nothing pending, the arm with the largest is chosen next. What is pending narrows
        widths (`pending="young"`): the `reason` of a `Decision` has the index that counted.

        Example:
            >>> from rotting.policies.ucb1 import UCB1
            >>> bandit = Bandit(UCB1(), arms=["a", "b"])
            >>> bandit.update("a", 3.0)
            >>> bandit.explain()["a"].mean, bandit.explain()["b"].index
            (3.0, inf)
        """
        with self._lock:
            slots, t = self._arms.slots, self._rounds + 1
            trial = self._chooser.trial()  # explain may change the state
            rows = [(self._arms.names[i], int(i), self._under_way.rewards[i], self._under_way.pending[i]) for i in slots]
        explanation = Explanation()
        for arm, slot, pulls, pending in rows:
            index, mean, window, width = trial.explain(t, slots, slot)
            explanation[arm] = ArmExplanation(float(index), float(mean), int(window), float(width), pulls, pending)
        return explanation

    def warm_up(self) -> None:
        """Run all that decides and learns once, on a copy: the first users need not wait for anything to be compiled."""
        with self._lock:
            trial, under_way, t = self._settled.copy(), self._under_way.copy(), self._rounds + 1
            slots = self._arms.slots
        if t > self._max_rounds:
            return
        low, high = (each if math.isfinite(each) else 0.0 for each in self._range)
        slot = under_way.choose(trial, t, self._key, slots).slot
        trial.learn_all(np.full(1, t), np.full(1, slot), np.full(1, (low + high) / 2.0))
        trial.learn(t, slot, (low + high) / 2.0)
        trial.explain(t, slots, slot)
        under_way.probabilities(trial, t, self._key, slots)
        trial.forget(slot)
        trial.set_present(slots)

    def _parts(self) -> Parts:
        """Return copies of all that makes the bandit; called under the lock, for which nothing is quicker."""
        under_way, ledger = self._under_way, self._ledger
        return Parts(
            self._policy,
            self._key,
            self._rounds,
            self._pending,
            ledger.max_pending,
            self._settled.copy(),
            self._arms.active.copy(),
            self._arms.retired.copy(),
            under_way.rewards.copy(),
            list(ledger.entries.values()),
            {each.key: each.to_json() for each in ledger.entries.values() if each.reward is not None} if ledger.early else {},
            ledger.answers.copy(),
            self._orphans.to_json(),
            [under_way.total, under_way.number],
            self._reporting.to_json(),
        )

    def get_state(self) -> dict[str, Any]:
        """Return the policy, the arms, the statistics, the decisions and the randomness as JSON-able data, for `from_state`."""
        with self._lock:
            parts = self._parts()
        return parts.to_json()

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
        data = unseal(state)
        bandit = cls.__new__(cls)
        active: dict[Hashable, int] = {}
        retired: dict[Hashable, int] = {}
        for each in data["arms"]:
            (retired if each["retired"] else active)[restore_arm(each["arm"])] = each["slot"]
        bandit._arms = Arms.restored(data["slots"], active, retired)
        bandit._key, bandit._rounds = int(data["key"], 16), data["rounds"]
        bandit._reporting = Reporting(*data["reporting"])
        answers = ((id, None if value is None else float(value)) for id, value in data["answers"])  # noqa: A001
        bandit._ledger = Ledger(data["max_pending"], answers)
        bandit._orphans = Orphans(data["max_pending"], [(restore_arm(arm), rounds) for arm, rounds in data["orphans"]])
        policy, capacity = policy_from_json(data["policy"]), data["capacity"]
        arrays = states.from_json(policy, data["state"], data["slots"], capacity)
        bandit._set_up(Learner(policy, data["slots"], capacity, arrays), data["pending"])
        under_way = bandit._under_way
        for each in data["arms"]:
            under_way.restore(each["slot"], each["pulls"])
        under_way.total, under_way.number = float(data["rewards"][0]), data["rewards"][1]
        for each in data["decisions"]:
            entry = Entry.restored(each)
            bandit._ledger.add(entry)
            if entry.reward is None:
                under_way.decided(entry.slot)
        return bandit

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_state, (self.get_state(),)  # so a copy, also in another process, is a bandit of its own
