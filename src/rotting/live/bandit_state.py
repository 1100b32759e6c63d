"""The state of a bandit: a fold of its events, without locks, clocks or files.

Two states with the same beginning and the same events are equal bit for bit. Every bandit holds one: `Bandit` in memory, and
the bandits of `rotting.server.store` with a log of the events.
"""

import copy
import sys
from collections.abc import Hashable, Iterable
from typing import Generic, Literal, NamedTuple, Self

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import nonnegative_int, positive_int
from rotting.errors import InvalidTypeError, InvalidValueError
from rotting.live.arms import Arm, Arms, restore_arm
from rotting.live.events import Event, check_event, learned_many
from rotting.live.holdout import SHARE, Comparison, is_held_out, uniform_slot
from rotting.live.learner import Learner
from rotting.live.ledger import Entry, Ledger
from rotting.live.limits import Limits
from rotting.live.pending import Chooser
from rotting.live.values import ArmExplanation, Duration, Key, Outcome, RewardRule, seconds_in
from rotting.policies.kernels.random_numbers import derive_key
from rotting.policy import Policy, horizon_error
from rotting.simulation.engines.tiers import CompileMode

PendingMode = Literal["shrink", "ignore"]
MAX_PENDING = 10_000
"""How many decisions of a bandit without a reward window may be pending, unless it is told."""
REVISION = 5
"""Changes whenever the same events make another state."""


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


class _Overruled(NamedTuple):
    """What overrules the policy in a decision, and the slot that is chosen in place of the policy's; None if nothing does."""

    rule: str = ""
    slot: int | None = None
    due: int | None = None  # the slot that is below its floor, which is chosen unless the decision is held out


class Redecision(NamedTuple):
    """A recorded decision, and the arm that the policy chooses today in its place."""

    entry: Entry
    recorded: Hashable
    chosen: Hashable
    reason: ArmExplanation | None
    """Why the recorded arm was chosen, if that was asked for."""

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
        window: RewardWindow | None = None,
        max_pending: int | None = None,
        holdout: float = 0.0,
    ) -> None:
        self.policy, self.pending_rule = learner.policy, pending_rule
        self.arms, self.random_key, self.rounds, self.ledger = arms, random_key, rounds, ledger
        self.window, self.max_pending, self.holdout = window, max_pending, holdout
        self.comparison = Comparison() if holdout else None
        """The rewards of held out decisions and of the others."""
        self.limits: Limits | None = None
        """What is paused, and the caps and floors; None as long as there never was any."""
        self.latest = 0.0
        """The time of the latest decision."""
        self.chooser = Chooser(learner, pending_rule == "shrink")
        self.max_rounds = sys.maxsize if self.policy.max_rounds is None else self.policy.max_rounds
        self.events: list[Event] | None = None
        """The events of the changes since they were last taken; None if they are not recorded."""
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
        max_pending: int | None = None,
        reward_window: Duration | None = None,
        missing: float | None = 0.0,
        holdout: float = 0.0,
        compile: CompileMode = "auto",
    ) -> "BanditState[Arm]":
        """Return the state before the first event; the arguments are those of `Bandit`."""
        check_learner(policy)
        if pending not in ("shrink", "ignore"):
            raise InvalidValueError("pending", "be 'shrink' or 'ignore'", pending)
        names = Arms(arms)
        random_key = derive_key(nonnegative_int("seed", seed), "policy")
        most = None if max_pending is None else positive_int("max_pending", max_pending)
        share = SHARE.check("holdout", holdout)
        window = RewardWindow.checked(policy, reward_window, missing)
        learner, ledger = Learner.new(policy, len(names.names), compile), Ledger(most or MAX_PENDING)
        return cls(learner, pending, names, random_key, 0, ledger, window, most, share)

    def copy(self) -> Self:
        """Return an independent copy that records no events."""
        twin = copy.copy(self)
        twin.chooser, twin.arms, twin.ledger = self.chooser.copy(), self.arms.copy(), self.ledger.copy()
        twin.limits = None if self.limits is None else self.limits.copy()
        twin.comparison = None if self.comparison is None else self.comparison.copy()
        twin.events, twin.warnings = None, []
        return twin

    @property
    def learner(self) -> Learner:
        """The policy with what it learned."""
        return self.chooser.learner

    @property
    def n_pending(self) -> int:
        """The number of decisions that are not settled."""
        return len(self.ledger.entries)

    @property
    def most_pending(self) -> int:
        """How many decisions can be pending; a reward window ends all of them, and needs no such number."""
        if self.max_pending is not None:
            return self.max_pending
        return MAX_PENDING if self.window is None else sys.maxsize

    def apply(self, event: Event, explained: bool = False) -> Redecision | None:
        """Apply a recorded event. For a decision, return its arm and the one that the policy chooses today, for `verify`.

        With `explained`, the decision has its reason.

        The log is trusted, so that a store opens after an upgrade that changes decisions. The policy's `choose` is still
        called, with the arguments of that time, because it may write into the policy's state (a propensity, a counter, the arm
        of a batch). Its result is only reported: the recorded arm counts, with the recorded propensity. If the two arms differ,
        the policy must learn the reward of an arm that it did not choose last. Every policy can: the same happens when a
        pending decision overrules its choice, and when a reward comes without a decision. A policy that divides by propensities
        gets the recorded one with the reward, or 1 if none was recorded.
        """
        kind, data = check_event(event)
        if kind == "decided":
            return self._apply_decision(data, explained)
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
        elif kind == "changed":
            self.change(event)
        else:
            changes = {"retired": self.retire, "revived": self.revive, "forgotten": self.forget}
            changes[kind](restore_arm(data["arm"]))
        return None

    def _apply_decision(self, data: Event, explained: bool) -> Redecision:
        t, arm, propensity = self.rounds + 1, restore_arm(data["arm"]), data["propensity"]
        if data["round"] != t:
            raise InvalidValueError("event", f"be the decision of round {t}", arm, hint=f" in round {data['round']}")
        arms, without = (None if each is None else map(restore_arm, each) for each in (data["arms"], data["without"]))
        among, slot = self.arms.available(arms, without), self.arms.known(arm)
        if len(self.ledger.entries) >= self.most_pending:
            self._end_oldest()
        self.latest = data.get("time", self.latest)
        overruled = self._overruled(t, among, data.get("unit"), self.latest) if self._may_overrule else _Overruled()
        chosen, _, reason = self.chooser.choose(t, self.random_key, among, explained)
        if explained:
            if chosen != slot or reason is None:
                reason = self.chooser.explanation(slot, self.learner.explain(t, among, slot))
            reason = reason._replace(rule=data.get("rule", ""))
        if propensity is None and self.learner.uses_propensity:
            propensity = 1.0
        self.rounds = t
        entry = Entry(data["id"], slot, t, propensity, data.get("rule") == "holdout", self.latest)
        self.ledger.add(entry)
        self.chooser.decided(slot)
        if self.limits is not None:
            self.limits.decided(slot, self.latest)
        self._record("decided", **data)
        return Redecision(entry, arm, self.arms.names[chosen if overruled.slot is None else overruled.slot], reason)

    def _record(self, event: str, **more: object) -> None:
        if self.events is not None:
            self.events.append({"event": event, **more})

    # --- Decisions --------------------------------------------------------------------------------------------------------

    def check_rounds(self, more: int) -> None:
        """Raise an error if the policy is not tuned for so many more rounds."""
        last = self.rounds + more
        if last > self.max_rounds:
            raise horizon_error(self.policy, "round", last, got=f"round {last}")

    def decide(
        self, among: Ints, key: Key, explained: bool, now: float, unit: str | None = None
    ) -> tuple[Entry, ArmExplanation | None]:
        """Choose one of the slots `among` at the time `now`; `explained`: with its propensity and the reason.

        The caller has called `check_rounds`.
        """
        ledger, t = self.ledger, self.rounds + 1
        if len(ledger.entries) >= self.most_pending:
            self._end_oldest()
        rule, offered = "", among
        if self._may_overrule:
            slot, propensity, reason, rule, offered = self._choose(t, among, explained, unit, now)
        else:
            slot, propensity, reason = self.chooser.choose(t, self.random_key, among, explained)
        entry = Entry(key, slot, t, propensity, rule == "holdout", now)
        self.rounds = t
        ledger.add(entry)
        self.chooser.decided(slot)
        if self.limits is not None:
            self.limits.decided(slot, now)
        self.latest = now
        if self.events is not None:
            arms, without = self.arms.describe(offered)
            made: Event = {"event": "decided", "id": key, "round": t, "arm": self.arms.names[slot]}
            made |= {"arms": arms, "without": without, "propensity": propensity}
            if unit is not None:
                made["unit"] = unit
            if rule:
                made["rule"] = rule
            self.events.append({**made, "time": now})
        return entry, reason

    def _choose(
        self, t: int, among: Ints, explained: bool, unit: str | None, now: float
    ) -> tuple[int, float | None, ArmExplanation | None, str, Ints]:
        """Return the slot that is chosen, its propensity and reason, what overruled the policy, and the slots below their caps.

        The policy chooses in every round, as when the log is replayed, even if its choice does not count.
        """
        chooser, key, offered = self.chooser, self.random_key, self._below_caps(among, now)
        rule, slot, due = self._overruled(t, offered, unit, now)
        if rule == "" and offered.size < among.size:
            wanted, _, _ = chooser.copy().choose(t, key, among, False)
            rule = "" if wanted in offered else "cap"
        chances = None
        if rule == "holdout" and due is None and self.policy.randomised:
            chances = chooser.copy().probabilities(t, key, offered)
        own, propensity, reason = chooser.choose(t, key, offered, explained or self.holdout > 0.0)
        if due is not None:
            propensity = float(slot == due)
        elif slot is not None:
            propensity = float(slot == own) if chances is None else float(chances[np.searchsorted(offered, slot)])
        if self.holdout:
            propensity = (1.0 - self.holdout) * propensity + self.holdout / offered.size  # type: ignore[operator]  # explained
        chosen = own if slot is None else slot
        if reason is not None and chosen != own:
            reason = chooser.explanation(chosen, self.learner.explain(t, offered, chosen))
        return chosen, propensity, reason if reason is None else reason._replace(rule=rule), rule, offered

    def _overruled(self, t: int, offered: Ints, unit: str | None, now: float) -> _Overruled:
        """Return what overrules the policy in round t: the holdout, or the floor of an arm."""
        due = None if self.limits is None else self.limits.due(offered, now)
        if is_held_out(self.holdout, self.random_key, t, unit):
            return _Overruled("holdout", uniform_slot(self.random_key, t, offered), due)
        return _Overruled() if due is None else _Overruled("floor", due, due)

    @property
    def _may_overrule(self) -> bool:
        return self.limits is not None or self.holdout > 0.0

    def _below_caps(self, among: Ints, now: float) -> Ints:
        return among if self.limits is None else self.limits.without_capped(among, now)

    def propensities(self, among: Ints, now: float) -> tuple[Ints, Floats]:
        """Return the slots that can be chosen next, and the probability of each. This changes the state of the policy."""
        offered, t = self._below_caps(among, now), self.rounds + 1
        due = None if self.limits is None else self.limits.due(offered, now)
        own = self.chooser.probabilities(t, self.random_key, offered) if due is None else (offered == due).astype(np.float64)
        return offered, (1.0 - self.holdout) * own + self.holdout / offered.size

    def _end_oldest(self) -> None:
        """Expire the oldest decision, to make room for a new one; with a reward window, close its window."""
        oldest: Entry = self.ledger.oldest()  # type: ignore[assignment]
        if self.window is None:
            self.end(oldest, "expired", None)
        else:
            self.settle(oldest.round, self.window.missing)
        if not self._warned_full:
            self._warned_full = True
            self.warnings.append(
                f"max_pending reached: {self.most_pending} decisions have no reward yet; each new decision now expires "
                f"the oldest one. Decisions that paid nothing need a reward of 0"
            )

    def reward(self, key: Key, value: float) -> Outcome:
        """Learn the reward of a pending decision; with a reward window, keep it until the window closes."""
        ledger = self.ledger
        entry = ledger.find_open(key)
        if entry is None:
            return ledger.outcome_if_not_open(key, value)
        if self.window is None:
            self._close(entry, value, value)
        else:
            ledger.hold(entry, value)
            self._settle_rewarded()
        self._record("rewarded", id=key, reward=value)
        return "applied"

    def end(self, entry: Entry, event: str, value: float | None) -> None:
        """End a pending decision (`event`: "cancelled" or "expired") without its reward; learn `value` instead unless None."""
        self._close(entry, value, None)
        self._record(event, id=entry.key, **({"reward": value} if event == "expired" else {}))
        self._settle_rewarded()

    def _close(self, entry: Entry, learned: float | None, reported: float | None) -> None:
        """Close a pending decision: learn a reward unless it is None, and remember the one that was reported."""
        if self.comparison is not None and learned is not None:
            self.comparison.add(entry.round, entry.held_out, learned)
        self.chooser.settle(entry, learned, self.rounds)
        self.ledger.close(entry, reported)

    def settle(self, last: int, missing: float | None) -> None:
        """Settle all decisions up to round `last`: learn the reward that each of them has, or `missing` unless None."""
        for entry in list(self.ledger.until(last)):
            self._close(entry, missing if entry.reward is None else entry.reward, entry.reward)
        self._record("settled", round=last, missing=missing)
        self._settle_rewarded()

    def _settle_rewarded(self) -> None:
        """With a reward window, settle the oldest decisions as long as they have a reward.

        So rewards that are reported at once are learned at once. No event is needed, since this follows from the others.
        """
        while self.window is not None and (oldest := self.ledger.oldest()) is not None and oldest.reward is not None:
            self._close(oldest, oldest.reward, oldest.reward)

    def settle_closed(self, now: float) -> None:
        """Settle the decisions whose reward window has closed."""
        closed = [] if self.window is None else list(self.ledger.made_until(now - self.window.seconds))
        if self.window is not None and closed:
            self.settle(closed[-1].round, self.window.missing)

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
            chances = self.chooser.copy().probabilities(rounds, self.random_key, self.arms.slots)
            propensity = float(chances[np.searchsorted(self.arms.slots, slot)])
        self.chooser.learn(rounds, slot, value, propensity)
        self.rounds = rounds
        self._record("learned", arm=self.arms.names[slot], reward=value)

    def learn_many(self, arms: list[Hashable], which: Ints, rewards: Floats, propensities: Floats | None) -> None:
        """Learn rewards without a decision, each in a round of its own; `which` has the positions of their arms in `arms`."""
        places = [self.arms.known(arm, retired=True) for arm in arms]
        slots = np.array(places, np.int64)[which]
        self.check_rounds(which.size)
        self.chooser.learn_many(self.rounds + 1, slots, rewards, propensities)
        self.rounds += which.size
        if self.events is not None:
            self.events += learned_many([self.arms.names[slot] for slot in places], which, rewards, propensities)

    # --- Arms -------------------------------------------------------------------------------------------------------------

    def add(self, arm: Arm, prior: tuple[float, int] | None) -> None:
        """Add an arm; the prior is a mean and a weight."""
        if arm in self.arms.retired:
            self._forget(arm)  # part of adding, without an event of its own
        if not self.arms.free:
            self.chooser.add_slot()
        slot = self.arms.add(arm)
        self.learner.forget(slot)
        self.learner.set_present(self.arms.slots)
        if prior is not None:
            mean, weight = prior
            for _ in range(weight):
                self.chooser.learn(max(1, self.rounds), slot, mean)
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
        for entry in entries:
            self.ledger.close(entry, None)
        self.chooser.forget(slot)
        if self.limits is not None:
            self.limits.forget(slot)
        self.learner.set_present(self.arms.slots)
        self._settle_rewarded()

    # --- Settings ---------------------------------------------------------------------------------------------------------

    def change(self, event: Event) -> None:
        """Change the settings that an event names (`rotting.live.settings`), except for the policy: see `with_policy`."""
        limits = self.limits or Limits()
        if not {"paused", "caps", "floors"}.isdisjoint(event):
            self.limits = limits

        def slot(arm: object) -> int:
            return self.arms.known(restore_arm(arm))

        if "reward_window" in event:
            seconds, missing = event["reward_window"], event["missing"]
            self.window = None if seconds is None else RewardWindow(seconds, missing)
        if self.window is None:
            for entry in [each for each in self.ledger.entries.values() if each.reward is not None]:
                self._close(entry, entry.reward, entry.reward)
        if "max_pending" in event:
            self.max_pending, self._warned_full = event["max_pending"], False
            self.ledger.remembered = self.max_pending or MAX_PENDING
        self.holdout = event.get("holdout", self.holdout)
        if "paused" in event:
            limits.paused = {slot(arm) for arm in event["paused"]}
        if "caps" in event:
            limits.caps = {slot(arm): share for arm, share in event["caps"]}
        if "floors" in event:
            limits.floors = {slot(arm): share for arm, share in event["floors"]}
        if not {"policy", "reward_window", "holdout"}.isdisjoint(event):
            self.comparison = Comparison(self.rounds) if self.holdout else None
        self._record(**event)

    def with_policy(self, policy: Policy, compile: CompileMode = "auto") -> "BanditState[Arm]":
        """Return a copy with another policy, which has learned nothing yet: `apply` the events that it can learn from."""
        twin = self.copy()
        learner = Learner.new(policy, self.learner.n_slots, compile)
        twin.policy, twin.chooser = policy, Chooser(learner, self.pending_rule == "shrink")
        twin.max_rounds = sys.maxsize if policy.max_rounds is None else policy.max_rounds
        twin.check_rounds(0)
        if self.rounds or self.arms.slots.size < self.learner.n_slots:
            learner.set_present(self.arms.slots)
        rule = RewardRule(policy)
        for entry in twin.ledger.entries.values():
            twin.chooser.decided(entry.slot)
            if entry.reward is not None:
                rule.check(entry.reward)
        return twin
