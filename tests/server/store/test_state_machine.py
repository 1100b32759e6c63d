"""A bandit against a slow model of it, in any order of calls: decisions, rewards late, doubled, conflicting and unknown, arms
that come and go. Two users of the database take turns, as two processes do; one of them crashes now and then.

The model keeps every decision for ever in one list and looks through all of it. It shares the policy's state with the bandit
(`Learner`), and nothing of the bookkeeping. `make stress` plays 10,000 steps with each policy.
"""

import json
import math
import warnings
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from rotting.errors import RewardsWarning
from rotting.live.bandit import Bandit
from rotting.live.bandit_state import BanditState
from rotting.live.learner import Learner
from rotting.policy import Policy
from rotting.registry import make
from rotting.server.store.database import open_database
from rotting.server.store.durable import DurableBandit, open_in
from rotting.server.store.turns import Turns
from rotting.server.store.verify import verify
from tests.conftest import STRESS
from tests.helpers.clocks import HandClock

EXAMPLES, STEPS = (50, 200) if STRESS else (4, 40)
MAX_PENDING = 12
ARMS: list[Hashable] = ["a", "b", "c"]
POLICIES = [make("raw-ucb", sigma=0.5), make("eff-raw-ucb", sigma=0.5), make("fewa"), make("thompson-sampling")]
POLICIES += [make("exp3", gamma=0.2)]
REWARDS = st.sampled_from([0.0, 0.25, 0.5, 1.0])


@dataclass
class Made:
    """One decision, kept for ever."""

    id: object
    arm: Hashable
    slot: int
    round: int
    propensity: float | None
    time: float
    status: str = "open"  # rewarded, missing (a value was learned for it), or ended
    reward: float = math.nan
    settled: bool = False  # whether its window has closed; with no window, whether it is not open


@dataclass
class Model:
    """What a bandit should be, without any thought of speed."""

    policy: Policy
    key: int
    slots: list[Hashable]  # the arm of each; None: free
    learner: Learner
    retired: set[Hashable] = field(default_factory=set)
    made: list[Made] = field(default_factory=list)
    answered: list[object] = field(default_factory=list)  # ids, in the order in which they were closed
    rewards: list[tuple[int, float]] = field(default_factory=list)  # slot and reward, of all that are known
    rounds: int = 0
    window: tuple[float, float | None] | None = None  # seconds, and what is learned if no reward comes

    @property
    def arms(self) -> list[Hashable]:
        return [arm for arm in self.slots if arm is not None and arm not in self.retired]

    def slot_of(self, arm: Hashable) -> int:
        return self.slots.index(arm)

    def in_flight(self, slot: int | None = None) -> list[Made]:
        return [each for each in self.made if not each.settled and (slot is None or each.slot == slot)]

    def open(self, slot: int | None = None) -> list[Made]:
        return [each for each in self.in_flight(slot) if each.status == "open"]

    def pending(self, slot: int) -> int:
        return len(self.in_flight(slot))

    def known(self, slot: int) -> int:
        return sum(each == slot for each, _ in self.rewards)

    # Choosing

    def waits(self, slot: int) -> bool:
        """Whether the policy is not asked about a slot."""
        if self.policy.name == "exp3":
            return False
        by_index = self.policy.name in {"raw-ucb", "eff-raw-ucb"}
        return self.pending(slot) > 0 and (by_index or self.known(slot) == 0)

    def choose(self, arms: list[Hashable]) -> tuple[int, np.ndarray | None]:
        """Return the slot to choose, and the arms that the policy was asked about."""
        t, learner, slots = self.rounds + 1, self.learner.copy(), sorted(map(self.slot_of, arms))
        asked = np.array([slot for slot in slots if not self.waits(slot)], np.int64)
        fewest = min(slots, key=lambda slot: (self.pending(slot), slot))
        chosen = learner.choose(t, self.key, asked) if asked.size else -1
        if self.policy.name in {"exp3", "fewa", "thompson-sampling"}:
            return (chosen, asked) if asked.size else (fewest, None)
        if chosen >= 0 and not self.known(chosen):
            return chosen, asked
        every = np.array(slots, np.int64)
        reasons = {slot: learner.explain(t, every, slot) for slot in slots if self.known(slot)}
        entrants = [slot for slot in reasons if slot == chosen or self.waits(slot)]
        if not entrants:
            return fewest, None
        leader = max(entrants, key=lambda slot: (reasons[slot].mean, -slot))
        index = {}
        for slot in entrants:
            h, pending = reasons[slot].window, self.pending(slot)
            if pending == 0 or (slot == leader and self.known(slot) >= pending):
                index[slot] = reasons[slot].value
            else:
                index[slot] = reasons[slot].mean + reasons[slot].width * math.sqrt(h / (h + pending))
        best = max(index, key=lambda slot: (index[slot], -slot))
        level, total = reasons[best].width * math.sqrt(reasons[best].window), 0.0
        for each in reasons.values():
            total += each.mean
        for slot in (each for each in slots if self.waits(each) and not self.known(each)):
            index[slot] = total / len(reasons) + level / math.sqrt(self.pending(slot))
        best = max(index, key=lambda slot: (index[slot], -slot))
        return best, asked if best == chosen else every

    def decide(self, arms: list[Hashable], id: object, propensity: float | None, now: float) -> Hashable:
        if len(self.in_flight()) >= MAX_PENDING:
            oldest = self.in_flight()[0]
            self.end(oldest) if self.window is None else self.settle(oldest)
        slot, asked = self.choose(arms)
        self.rounds += 1
        if asked is not None:
            seen = asked[[not self.waits(each) for each in asked]]
            if seen.size:
                self.learner.choose(self.rounds, self.key, seen)
        self.made.append(Made(id, self.slots[slot], slot, self.rounds, propensity, now))
        return self.slots[slot]

    # Learning

    def learn(self, made: Made, reward: float) -> None:
        self.rewards.append((made.slot, reward))
        self.learner.learn(self.rounds, made.slot, reward, made.propensity if self.policy.name == "exp3" else None)

    def close(self, made: Made) -> None:
        made.settled = True
        if isinstance(made.id, str):
            self.answered.append(made.id)

    def answer(self, made: Made, reward: float, status: str) -> None:
        made.reward, made.status = reward, status
        if self.window is None or status == "missing":
            self.learn(made, reward)
            self.close(made)
        self.settle_rewarded()

    def end(self, made: Made) -> None:
        made.status = "ended"
        self.close(made)
        self.settle_rewarded()

    def settle_rewarded(self) -> None:
        """Settle the oldest decisions as long as they have a reward."""
        while self.in_flight() and self.in_flight()[0].status == "rewarded":
            self.settle(self.in_flight()[0])

    def settle(self, made: Made) -> None:
        """Close the window of a decision."""
        assert self.window is not None
        if made.status == "open":
            made.status, made.reward = ("ended", math.nan) if self.window[1] is None else ("missing", self.window[1])
        if made.status != "ended":
            self.learn(made, made.reward)
        self.close(made)
        self.settle_rewarded()

    def pass_time(self, now: float) -> None:
        while self.window is not None and self.in_flight() and self.in_flight()[0].time <= now - self.window[0]:
            self.settle(self.in_flight()[0])

    def outcome(self, id: object, reward: float) -> str:
        found = [each for each in self.made if each.id == id and isinstance(id, str)]
        if not found:
            return "unknown"
        made = found[0]
        if made.status == "open":
            return "applied"
        if made.settled and made.id not in self.answered[-MAX_PENDING:]:
            return "unknown"
        if made.status != "rewarded":
            return "expired"
        return "duplicate" if made.reward == reward else "conflict"

    # Arms

    def present(self) -> None:
        self.learner.set_present(np.array(sorted(map(self.slot_of, self.arms)), np.int64))

    def forget(self, arm: Hashable) -> None:
        slot = self.slot_of(arm)
        for each in self.in_flight(slot):
            each.status = "ended"
            self.close(each)
        self.slots[slot] = None
        self.retired.discard(arm)
        self.rewards = [each for each in self.rewards if each[0] != slot]
        self.learner.forget(slot)
        self.present()
        self.settle_rewarded()

    def add(self, arm: Hashable) -> None:
        if arm in self.retired:
            self.forget(arm)
        if None not in self.slots:
            self.slots.append(None)
            self.learner.add_slot()
        slot = self.slots.index(None)
        self.slots[slot] = arm
        self.learner.forget(slot)
        self.present()


class BanditMachine(RuleBasedStateMachine):
    """Drives both, and compares every answer."""

    policy: Policy
    window: tuple[float, float | None] | None = None

    place: str
    number = 0

    def __init__(self) -> None:
        super().__init__()
        self.clock = HandClock()
        BanditMachine.number += 1
        self.name = f"bandit {BanditMachine.number}"
        self.users = [self.opened(), self.opened()]
        self.calls = 0
        self.model = Model(self.policy, self.state.random_key, list(ARMS), Learner.new(self.policy, len(ARMS)))
        self.model.window = self.window

    def opened(self) -> DurableBandit:
        window: dict[str, Any] = {}
        if self.window is not None:
            window = {"reward_window": self.window[0], "missing": self.window[1]}
        turns = Turns(open_database(self.place, "os"), clock=self.clock)
        return open_in(turns, self.name, self.policy, ARMS, seed=5, max_pending=MAX_PENDING, **window)

    @property
    def bandit(self) -> DurableBandit:
        """One user after the other."""
        self.calls += 1
        return self.users[self.calls % 2]

    @property
    def state(self) -> BanditState:
        """The state after all events."""
        user = self.users[0]
        return user._turns.read(self.name, lambda folded: folded.bandit.state)

    @rule(seconds=st.sampled_from([0.0, 1.0, 5.0, 20.0]))
    def pass_time(self, seconds: float) -> None:
        self.clock.now += seconds
        assert self.bandit.expire(older_than="1d") == 0  # so that the bandit looks at its clock
        self.model.pass_time(self.clock.now)

    def teardown(self) -> None:
        database = open_database(self.place, readonly=True)
        found = verify(database, self.name)
        database.close()
        for user in self.users:
            user.close()
        assert (found.problems, found.notes) == ((), ())

    def some(self, data: st.DataObject) -> list[Hashable]:
        arms = self.model.arms
        return arms if data.draw(st.booleans()) else data.draw(st.lists(st.sampled_from(arms), min_size=1, unique=True))

    @rule(data=st.data(), count=st.integers(1, 2))
    def decide(self, data: st.DataObject, count: int) -> None:
        arms = self.some(data)
        for decision in self.bandit.decide(arms=arms, count=min(count, len(arms))):
            assert self.model.decide(arms, decision.id, decision.propensity, self.clock.now) == decision.arm
            assert decision.round == self.model.rounds
            arms = [arm for arm in arms if arm != decision.arm]

    @rule(data=st.data())
    def pull(self, data: st.DataObject) -> None:
        arms = self.some(data)
        arm = self.bandit.pull(arms=arms)
        entry = self.state.ledger.entries[self.bandit.rounds]
        assert self.model.decide(arms, self.bandit.rounds, entry.propensity, self.clock.now) == arm

    def pick(self, data: st.DataObject) -> Made | None:
        named = [each for each in self.model.made if isinstance(each.id, str)]
        return data.draw(st.sampled_from(named[-20:])) if named else None

    @rule(data=st.data(), reward=REWARDS, times=st.integers(1, 3))
    def reward(self, data: st.DataObject, reward: float, times: int) -> None:
        made = self.pick(data)
        for _ in range(times):
            id = "?" if made is None else made.id
            expected = self.model.outcome(id, reward)
            assert self.bandit.reward(id, reward) == expected  # type: ignore[arg-type]
            if expected == "applied" and made is not None:
                self.model.answer(made, reward, "rewarded")

    @rule(data=st.data(), reward=REWARDS)
    def update(self, data: st.DataObject, reward: float) -> None:
        arm = data.draw(st.sampled_from(self.model.arms))
        slot = self.model.slot_of(arm)
        waiting = self.model.open(slot)
        propensity = self.bandit.propensities()[arm] if self.policy.name == "exp3" else None
        self.bandit.update(arm, reward)
        if waiting:
            self.model.answer(waiting[0], reward, "rewarded")
            return
        self.model.rounds += 1
        self.model.learner.learn(self.model.rounds, slot, reward, propensity)
        self.model.rewards.append((slot, reward))

    @rule(data=st.data(), missing=st.sampled_from([None, None, 0.0, 0.5]), cancel=st.booleans())
    def end(self, data: st.DataObject, missing: float | None, cancel: bool) -> None:
        made = self.pick(data)
        if made is None:
            return
        expected = self.model.outcome(made.id, math.nan)
        id = str(made.id)
        if cancel:
            assert self.bandit.cancel(id) == expected
        else:
            assert self.bandit.expire(id, missing="drop" if missing is None else missing) == expected
        if expected == "applied":
            if missing is None or cancel:
                self.model.end(made)
            else:
                self.model.answer(made, missing, "missing")

    @rule(age=st.integers(0, 15), missing=st.sampled_from([None, 0.0]))
    def expire(self, age: int, missing: float | None) -> None:
        old = [each for each in self.model.open() if self.model.rounds - each.round > age]
        assert self.bandit.expire(older_than_rounds=age, missing="drop" if missing is None else missing) == len(old)
        for each in old:
            if missing is None:
                self.model.end(each)
            else:
                self.model.answer(each, missing, "missing")

    @rule(name=st.sampled_from("abcdef"))
    def add(self, name: str) -> None:
        if name not in self.model.arms:
            self.bandit.add_arm(name)
            self.model.add(name)

    @precondition(lambda self: len(self.model.arms) > 1)
    @rule(data=st.data())
    def retire(self, data: st.DataObject) -> None:
        arm = data.draw(st.sampled_from(self.model.arms))
        self.bandit.retire(arm)
        self.model.retired.add(arm)
        self.model.present()

    @precondition(lambda self: bool(self.model.retired))
    @rule(data=st.data())
    def revive(self, data: st.DataObject) -> None:
        arm = data.draw(st.sampled_from(sorted(map(str, self.model.retired))))
        self.bandit.revive(arm)
        self.model.retired.discard(arm)
        self.model.present()

    @precondition(lambda self: len(self.model.arms) > 1)
    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        arm = data.draw(st.sampled_from([arm for arm in self.model.slots if arm is not None]))
        self.bandit.forget(arm)
        self.model.forget(arm)

    @rule()
    def states_agree(self) -> None:
        """Both users have the same state, which alone makes the same bandit, too."""
        states = [user.get_state() for user in self.users]
        assert states[0] == states[1] == Bandit.from_state(json.loads(json.dumps(states[0]))).get_state()

    @rule()
    def crash(self) -> None:
        """One user begins again with what the database has."""
        before, lost = self.users[0].get_state(), self.users.pop(0)
        self.users.append(self.opened())
        assert self.users[-1].get_state() == before
        lost._turns.close()

    @invariant()
    def counts_agree(self) -> None:
        assert (self.bandit.rounds, list(self.bandit.arms)) == (self.model.rounds, self.model.arms)
        assert self.bandit.pending == len(self.model.in_flight()) <= MAX_PENDING
        assert len(self.state.ledger.closed) <= MAX_PENDING
        for arm, reason in self.bandit.explain().items():
            slot = self.model.slot_of(arm)
            assert (reason.pulls, reason.pending) == (self.model.known(slot), self.model.pending(slot))


@pytest.mark.parametrize("window", [None, (10.0, 0.0), (10.0, None)], ids=["no window", "missing 0", "missing none"])
@pytest.mark.parametrize("policy", POLICIES, ids=lambda each: each.name)
def test_a_bandit_is_what_the_model_says(policy: Policy, window: tuple[float, float | None] | None, place: str) -> None:
    machine: Any = type("Machine", (BanditMachine,), {"policy": policy, "window": window, "place": place})
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RewardsWarning)
        run_state_machine_as_test(
            machine,
            settings=settings(max_examples=EXAMPLES, stateful_step_count=STEPS, deadline=None, suppress_health_check=checks),
        )
