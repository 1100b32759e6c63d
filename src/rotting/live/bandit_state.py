"""The state of a bandit: a fold of its events, without locks, clocks or files.

Two states with the same beginning and the same events are equal bit for bit. Every bandit holds one: `Bandit` in memory, and
the bandits of `rotting.store` with a log of the events.
"""

import sys
from collections.abc import Hashable, Iterable
from typing import Generic, Literal, NamedTuple, TypedDict

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import nonnegative_int, positive_int
from rotting.engines.tiers import CompileMode
from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.kernels.random_numbers import derive_key
from rotting.live.arms import Arm, Arms, Complement, restore_arm
from rotting.live.chooser import Chooser
from rotting.live.decisions import Key, Outcome
from rotting.live.durations import Duration, seconds_in
from rotting.live.events import Event, check_event, learned_many
from rotting.live.explanations import ArmExplanation
from rotting.live.learner import Learner
from rotting.live.ledger import Entry, Ledger, Orphans
from rotting.live.missing_zeros import MissingZeros
from rotting.live.pages import Page
from rotting.live.pending_decisions import PendingDecisions
from rotting.live.probe import Probe
from rotting.live.reward_rule import RewardRule
from rotting.policy import Policy, horizon_error

PendingMode = Literal["shrink", "ignore"]
MAX_PENDING = 10_000
REVISION = 2
"""Changes whenever the same events make another state. 1: the rewards of an arm were learned in the order of its decisions."""


def check_learner(policy: object) -> None:
    """Check that `policy` is a policy that learns from rewards."""
    if not isinstance(policy, Policy):
        raise InvalidTypeError("policy", "be a policy such as EffRAWUCB(alpha=1.4)", policy)
    if policy.sees_means:
        raise InvalidTypeError("policy", "be a learner", policy, hint=", which needs the true means; use it in simulate")


class RewardWindow(NamedTuple):
    """How long a decision waits for its reward, and the reward that it gets if none comes."""

    seconds: float
    missing: float | None  # None: the decision does not count

    @classmethod
    def checked(cls, policy: Policy, reward_window: object, missing: object) -> "RewardWindow | None":
        """Return the reward window of these arguments of `Bandit`; None if there is none."""
        if reward_window is None:
            if missing != 0.0:
                raise InvalidValueError("missing", "be given with reward_window only", missing)
            return None
        value = None if missing is None else RewardRule(policy).check(missing, "missing")
        return cls(seconds_in("reward_window", reward_window), value)


class BanditOptions(TypedDict, total=False):
    """The arguments of `Bandit` that have a default and are saved with the bandit."""

    seed: int
    pending: PendingMode
    max_pending: int
    reward_window: Duration | None
    missing: float | None
    probe: float | None


class Redecision(NamedTuple):
    """The arm of a recorded decision, and the arm that the policy chooses today in its place."""

    recorded: Hashable
    chosen: Hashable

    @property
    def differs(self) -> bool:
        """Whether the policy chooses another arm today."""
        return self.recorded != self.chosen


class BanditState(Generic[Arm]):
    """The policy, its arms, what it learned, and the decisions without a reward.

    Each method that changes the state appends the event of the same verb (`rotting.live.events`) to `events`, unless that is
    None; `end` appends the event that it is given. `apply` makes the change that a recorded event describes.

    `new` makes a state; `rotting.live.saved_state` writes it as JSON and reads it back.
    """

    def __init__(
        self,
        learner: Learner,
        pending_rule: PendingMode,
        arms: Arms[Arm],
        random_key: int,
        rounds: int,
        ledger: Ledger,
        orphans: Orphans,
        window: RewardWindow | None = None,
        probe: Probe | None = None,
    ) -> None:
        self.policy, self.learner, self.pending_rule = learner.policy, learner, pending_rule
        self.arms, self.random_key, self.rounds, self.ledger, self.orphans = arms, random_key, rounds, ledger, orphans
        self.window, self.probe = window, probe
        self.latest = 0.0
        """With a reward window, the time of the latest decision."""
        self.pending = PendingDecisions(learner, pending_rule == "shrink")
        self.chooser = Chooser(learner, self.pending)
        self.max_rounds = sys.maxsize if self.policy.max_rounds is None else self.policy.max_rounds
        self.missing_zeros = MissingZeros()
        self.events: list[Event] | None = None
        """The events that the listener has not got yet; None if there is no listener."""
        self.warnings: list[str] = []
        """The warnings that were not issued yet."""
        self._warned_full = False

    @classmethod
    def new(
        cls,
        policy: Policy,
        arms: Iterable[Arm],
        seed: int = 0,
        pending: PendingMode = "shrink",
        max_pending: int = MAX_PENDING,
        reward_window: Duration | None = None,
        missing: float | None = 0.0,
        probe: float | None = None,
        compile: CompileMode = "auto",
    ) -> "BanditState[Arm]":
        """Return the state before the first event; the arguments are those of `Bandit`."""
        check_learner(policy)
        if pending not in ("shrink", "ignore"):
            raise InvalidValueError("pending", "be 'shrink' or 'ignore'", pending)
        names = Arms(arms)
        random_key = derive_key(nonnegative_int("seed", seed), "policy")
        ledger = Ledger(positive_int("max_pending", max_pending))
        learner = Learner.new(policy, len(names.names), compile)
        window = RewardWindow.checked(policy, reward_window, missing)
        pauses = None if probe is None else Probe(probe)
        state = cls(learner, pending, names, random_key, 0, ledger, Orphans(ledger.max_pending), window, pauses)
        state.missing_zeros.done = window is not None
        return state

    @property
    def n_pending(self) -> int:
        """The number of decisions that are not settled."""
        return len(self.ledger.entries)

    def apply(self, event: Event) -> Redecision | None:
        """Apply a recorded event. For a decision, return its arm and the one that the policy chooses today, for `verify`.

        The log is trusted, so that a store opens after an upgrade that changes decisions. The policy's `choose` is still
        called, with the arguments of that time, because it may write into the policy's state (a propensity, a counter, the arm
        of a batch). Its result is only reported: the recorded arm counts, with the recorded propensity. If the two arms differ,
        the policy must learn the reward of an arm that it did not choose last. Every policy can: the same happens when a
        pending decision overrules its choice, and when a reward comes without a decision. A policy that divides by propensities
        gets the recorded one with the reward, or 1 if none was recorded.
        """
        kind, data = check_event(event)
        if kind == "decided":
            return self._apply_decision(data)
        if kind in {"rewarded", "cancelled", "expired"}:
            entry = self.ledger.find_open(data["id"])
            if entry is None:
                raise InvalidValueError("event", "be about a pending decision without a reward", event)
            if kind == "rewarded":
                self.reward(entry.key, data["reward"])
            else:
                self.end(entry, kind, data.get("reward"))
        elif kind == "settled":
            self.settle(data["round"], data["missing"])
        elif kind == "learned_many":
            arms = [restore_arm(arm) for arm in data["arms"]]
            propensities = None if data["propensities"] is None else np.array(data["propensities"], np.float64)
            self.learn_many(arms, np.array(data["which"], np.int64), np.array(data["rewards"], np.float64), propensities)
        elif kind == "learned":
            self.learn(restore_arm(data["arm"]), data["reward"])
        elif kind == "added":
            self.add(restore_arm(data["arm"]), data["prior"])
        else:
            changes = {"retired": self.retire, "revived": self.revive, "forgotten": self.forget, "ignored": self.ignore}
            changes[kind](restore_arm(data["arm"]))
        return None

    def _apply_decision(self, data: Event) -> Redecision:
        t, arm, propensity = self.rounds + 1, restore_arm(data["arm"]), data["propensity"]
        if data["round"] != t:
            raise InvalidValueError("event", f"be the decision of round {t}", arm, hint=f" in round {data['round']}")
        arms, without = (None if each is None else map(restore_arm, each) for each in (data["arms"], data["without"]))
        among, slot = self.arms.available(arms, without), self.arms.known(arm)
        if len(self.ledger.entries) >= self.ledger.max_pending:
            self._end_oldest(None)
        chosen, _, _ = self.chooser.choose(t, self.random_key, among, False)
        if propensity is None and self.learner.uses_propensity:
            propensity = 1.0
        self.rounds = t
        if self.probe is not None:
            self.probe.pulled(slot, t)
        self.ledger.add(Entry(data["id"], slot, t, propensity, data.get("time")))
        self.latest = data.get("time", self.latest)
        self.pending.decided(slot)
        self._record("decided", **data)
        return Redecision(arm, self.arms.names[chosen])

    def _record(self, event: str, **more: object) -> None:
        if self.events is not None:
            self.events.append({"event": event, **more})

    # --- Decisions --------------------------------------------------------------------------------------------------------

    def available(
        self, arms: Iterable[Hashable] | None, without: Iterable[Hashable] | None = None, count: int = 1
    ) -> Ints | Complement:
        """Return the slots that `count` distinct arms can be chosen from; `arms` and `without` as for `Bandit.decide`."""
        among = self.arms.available(arms, without)
        if self.probe is None:
            return among
        return self.probe.unpaused(among, self.arms.slots, count, self.rounds + 1, self.random_key)

    def paused(self) -> list[Arm]:
        """Return the arms that the probe paused at the last call of `available`, in the order of their slots."""
        if self.probe is None:
            return []
        names, active = self.arms.names, self.arms.active
        return [names[slot] for slot in sorted(self.probe.in_effect) if active.get(names[slot]) == slot]

    def check_rounds(self, more: int) -> None:
        """Raise an error if the policy is not tuned for so many more rounds."""
        last = self.rounds + more
        if last > self.max_rounds:
            raise horizon_error(self.policy, "round", last, got=f"round {last}")

    def decide(
        self, among: Ints | Complement | Page, key: Key, explained: bool, now: float
    ) -> tuple[Entry, ArmExplanation | None]:
        """Choose one of the slots `among` at the time `now`; `explained`: with its propensity and the reason."""
        ledger, t = self.ledger, self.rounds + 1
        if t > self.max_rounds:  # first, to save every decision the call
            self.check_rounds(1)
        if len(ledger.entries) >= ledger.max_pending:
            self._end_oldest(among if type(among) is Page else None)
        slot, propensity, reason = self.chooser.choose(t, self.random_key, among, explained)
        entry = Entry(key, slot, t, propensity, now)
        self.rounds = t
        ledger.add(entry)
        self.pending.decided(slot)
        if self.window is not None:
            self.latest = now
        if self.probe is not None:
            self.probe.pulled(slot, t)
        if self.events is not None:
            arms, without = among.describe(self.arms) if type(among) is Page else self.arms.describe(among)
            made: Event = {"event": "decided", "id": key, "round": t, "arm": self.arms.names[slot]}
            made |= {"arms": arms, "without": without, "propensity": propensity}
            if paused := self.paused():
                made["paused"] = paused
            self.events.append(made if self.window is None else {**made, "time": now})
        return entry, reason

    def _end_oldest(self, page: Page | None) -> None:
        """Expire the oldest decision, to make room for a new one; with a reward window, close its window."""
        oldest: Entry = self.ledger.oldest()  # type: ignore[assignment]
        ended = [oldest.slot]
        if self.window is None:
            self.end(oldest, "expired", None)
        else:
            ended += self.settle(oldest.round, self.window.missing)
        if page is not None:
            for slot in ended:
                page.recount(slot)
        if not self._warned_full:
            self._warned_full = True
            self.warnings.append(
                f"max_pending reached: {self.ledger.max_pending} decisions have no reward yet; each new decision now expires "
                f"the oldest one"
            )

    def reward(self, key: Key, value: float) -> Outcome:
        """Learn the reward of a pending decision; with a reward window, keep it until the window closes."""
        ledger = self.ledger
        entry = ledger.entries.get(key)
        if entry is None or entry.reward is not None:
            return ledger.outcome_if_not_open(key, value)
        if self.window is None:
            self.learner.learn(self.rounds, entry.slot, value, entry.propensity)
            ledger.close(entry, value)
            self.pending.learned(entry.slot, value, True)
        else:
            ledger.hold(entry, value)
            self._settle_rewarded()
        if self.events is not None:
            self.events.append({"event": "rewarded", "id": key, "reward": value})
        if not self.missing_zeros.done:
            delay, by_id, n_pending = self.rounds - entry.round, type(key) is str, len(ledger.entries)
            if self.missing_zeros.add_reward(value, delay, by_id, n_pending):
                self.warnings.append(
                    f"no reward was 0 so far, and {n_pending} decisions have none: a decision that paid nothing must be "
                    f"rewarded with 0, else all arms look good"
                )
        return "applied"

    def end(self, entry: Entry, event: str, value: float | None) -> None:
        """End a pending decision (`event`: "cancelled" or "expired") without its reward; learn `value` instead unless None."""
        self.chooser.settle(entry, value, self.rounds)
        self.missing_zeros.done = self.missing_zeros.done or value == 0.0
        self.ledger.close(entry, None)
        self._record(event, id=entry.key, **({"reward": value} if event == "expired" else {}))
        self._settle_rewarded()

    def settle(self, last: int, missing: float | None) -> list[int]:
        """Settle all decisions up to round `last`: learn the reward that each of them has, or `missing` unless None.

        Returns the slots of the decisions after them that settle now, too.
        """
        for entry in list(self.ledger.until(last)):
            self.chooser.settle(entry, missing if entry.reward is None else entry.reward, self.rounds)
            self.ledger.close(entry, entry.reward)
        self._record("settled", round=last, missing=missing)
        return self._settle_rewarded()

    def _settle_rewarded(self) -> list[int]:
        """Settle the oldest decisions as long as they have a reward, and return their slots.

        So rewards that are reported at once are learned at once. No event is needed, since this follows from the others.
        """
        slots: list[int] = []
        while self.window is not None and (oldest := self.ledger.oldest()) is not None and oldest.reward is not None:
            self.chooser.settle(oldest, oldest.reward, self.rounds)
            self.ledger.close(oldest, oldest.reward)
            slots.append(oldest.slot)
        return slots

    def closed_by(self, now: float) -> list[Entry]:
        """Return the decisions whose reward window has closed, oldest first."""
        return [] if self.window is None else list(self.ledger.made_until(now - self.window.seconds, now))

    # --- Rewards without a decision ---------------------------------------------------------------------------------------

    def learn(self, arm: Hashable, value: float) -> None:
        """Learn a reward without a decision, in a round of its own."""
        slot, rounds = self.arms.known(arm, retired=True), self.rounds + 1
        uses_propensity = self.learner.uses_propensity
        if uses_propensity and arm not in self.arms.active:
            raise InvalidValueError("arm", "have been pulled, or be one that may be", arm, hint=", which was removed")
        self.check_rounds(1)
        propensity = None
        if uses_propensity:  # computed on copies, since a choice changes the state
            chances = self.pending.copy().probabilities(self.learner.copy(), rounds, self.random_key, self.arms.slots)
            propensity = float(chances[np.searchsorted(self.arms.slots, slot)])
        self.learner.learn(rounds, slot, value, propensity)
        self.rounds = rounds
        if self.probe is not None:
            self.probe.pulled(slot, rounds)
        self.pending.learned(slot, value, False)
        self._record("learned", arm=self.arms.names[slot], reward=value)

    def ignore(self, arm: Hashable) -> None:
        """Drop the reward of a pull of a forgotten arm, whose id another arm has now."""
        if arm not in self.orphans.rounds:
            raise InvalidValueError("event", "be about a pull of an arm that was forgotten", arm)
        self.orphans.take(arm)
        self._record("ignored", arm=arm)

    def learn_many(self, arms: list[Hashable], which: Ints, rewards: Floats, propensities: Floats | None) -> None:
        """Learn rewards without a decision, each in a round of its own; `which` has the positions of their arms in `arms`."""
        places = [self.arms.known(arm, retired=True) for arm in arms]
        slots = np.array(places, np.int64)[which]
        self.check_rounds(which.size)
        self.learner.learn_rounds(self.rounds + 1, slots, rewards, propensities)
        if self.probe is not None:
            for slot, row in zip(*np.unique(slots, return_index=True), strict=True):
                self.probe.pulled(int(slot), self.rounds + 1 + int(row))
        self.rounds += which.size
        self.pending.learned_all(slots, rewards)
        if self.events is not None:
            self.events += learned_many([self.arms.names[slot] for slot in places], which, rewards, propensities)

    # --- Arms -------------------------------------------------------------------------------------------------------------

    def add(self, arm: Arm, prior: tuple[float, int] | None) -> None:
        """Add an arm; the prior is a mean and a weight."""
        if arm in self.arms.retired:
            self._forget(arm)  # part of adding, without an event of its own
        if not self.arms.free:
            self.learner.add_slot()
            self.pending.add_slot()
        slot = self.arms.add(arm)
        self.learner.forget(slot)
        self.learner.set_present(self.arms.slots)
        if prior is not None:
            mean, weight = prior
            for _ in range(weight):
                self.learner.learn(max(1, self.rounds), slot, mean)
                self.pending.learned(slot, mean, False)
        self._record("added", arm=arm, prior=None if prior is None else list(prior))

    def retire(self, arm: Hashable) -> None:
        """Retire an active arm."""
        self.arms.retire(arm)
        self.learner.set_present(self.arms.slots)
        self._record("retired", arm=arm)

    def revive(self, arm: Hashable) -> None:
        """Make a retired arm active again."""
        self.arms.revive(arm)
        self.learner.set_present(self.arms.slots)
        self._record("revived", arm=arm)

    def forget(self, arm: Hashable) -> None:
        """Forget an arm, its decisions and everything learned about it."""
        self._forget(arm)
        self._record("forgotten", arm=arm)

    def _forget(self, arm: Hashable) -> None:
        slot = self.arms.forget(arm)
        entries = self.ledger.entries_of(slot)
        self.orphans.add(arm, [each.key for each in entries if isinstance(each.key, int) and each.reward is None])
        for entry in entries:
            self.ledger.close(entry, None)
        self.learner.forget(slot)
        self.learner.set_present(self.arms.slots)
        self.pending.forget(slot)
        if self.probe is not None:
            self.probe.forget(slot)
        self._settle_rewarded()
