"""Decisions and their rewards: late, lost, doubled, conflicting, unknown; many at once; never shown; never answered."""

import json
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, SupportsIndex

import numpy as np
import pytest

from rotting.errors import InvalidTypeError, InvalidValueError, RewardsWarning
from rotting.live import policy_state as states
from rotting.live.bandit import Bandit
from rotting.live.ledger import Entry
from rotting.live.values import Key
from rotting.policy import Policy
from rotting.registry import make
from rotting.server.store.durable import DurableBandit
from rotting.server.store.durable import open as open_bandit
from tests.helpers.games import affordable, learners
from tests.helpers.rewards import reward_at

if TYPE_CHECKING:
    from rotting.live.values import Decision

LEARNERS = learners()
WEIGHERS = [make("exp3", gamma=0.1), make("exp3-s", gamma=0.1), make("rexp3", horizon=500)]


@pytest.mark.parametrize("policy", LEARNERS, ids=lambda each: each.name)
def test_to_decide_and_reward_at_once_is_to_pull_and_update(policy: Policy) -> None:
    """Asking for a propensity and a reason changes nothing, bit for bit."""
    simple, full = Bandit(policy, arms=[0, 1, 2], seed=4), Bandit(policy, arms=[0, 1, 2], seed=4)
    rounds = affordable(policy, 60)

    def same() -> bool:
        one, other = (states.to_json(each._state.learner.state) for each in (simple, full))
        return one == other

    for k in range(rounds):
        arm, decision = simple.pull(), full.decide()
        assert (decision.arm, decision.round) == (arm, k + 1)
        assert same()
        simple.update(arm, reward_at(arm, k))
        assert full.reward(decision.id, reward_at(arm, k)) == "applied"
        assert same()
    assert (simple.rounds, simple.pending) == (full.rounds, full.pending) == (rounds, 0)
    assert simple.get_state()["state"] == full.get_state()["state"]


@pytest.mark.parametrize("policy", LEARNERS, ids=lambda each: each.name)
def test_a_decision_has_the_propensity_and_the_reason_that_were_asked_before(policy: Policy) -> None:
    bandit = Bandit(policy, arms=[0, 1, 2], seed=4)
    owed: list[Decision] = []
    for k in range(affordable(policy, 30)):
        propensities, reasons = bandit.propensities(), bandit.explain()
        decision = bandit.decide()
        assert decision.propensity == propensities[decision.arm]
        expected = reasons[decision.arm]
        assert (decision.reason.pulls, decision.reason.pending) == (expected.pulls, expected.pending)
        if not owed:
            assert repr(decision.reason) == repr(expected)
        owed.append(decision)
        if k % 4 == 3:
            for each in owed:
                bandit.reward(each.id, reward_at(each.arm, each.round))
            owed = []


def test_each_reward_is_answered() -> None:
    bandit = Bandit(make("ucb1"), arms=["a", "b"])
    one, two, three = (bandit.decide() for _ in range(3))
    assert bandit.reward(one.id, 0.5) == "applied"
    before = bandit.get_state()
    assert bandit.reward(one.id, 0.5) == "duplicate"
    assert bandit.reward(one.id, 0.25) == "conflict"
    assert bandit.reward("another store's", 0.5) == "unknown"
    assert bandit.get_state() == before
    assert bandit.cancel(two.id) == "applied"
    assert bandit.expire(three.id) == "applied"
    before = bandit.get_state()
    for decision in (two, three):
        assert bandit.reward(decision.id, 0.5) == "expired"
        assert bandit.cancel(decision.id) == bandit.expire(decision.id, missing=1.0) == "expired"
    assert bandit.cancel(one.id) == bandit.expire(one.id) == "conflict"
    assert bandit.cancel("?") == bandit.expire("?") == "unknown"
    assert bandit.get_state() == before
    assert (bandit.pending, bandit.rounds) == (0, 3)


def outcomes_of(bandit: Bandit, pages: "Sequence[Decision | str]") -> list[object]:
    """Return the outcomes of all methods that take the id of a decision, for five, given as such or by their ids."""
    one, two, three, four, five = pages
    results: list[object] = [bandit.reward(one, 0.5), bandit.reward(one, 0.25), bandit.cancel(two), bandit.expire(three)]
    return [*results, bandit.expire(four, missing=0.5), bandit.reward_many([(five, 1.0), (four, 1.0)])]


@pytest.mark.parametrize("durable", [False, True], ids=["in memory", "durable"])
def test_a_decision_is_accepted_in_place_of_its_id(durable: bool, tmp_path: Path) -> None:
    def new(name: str) -> Bandit:
        policy, arms = make("ucb1"), ["a", "b", "c", "d", "e"]
        return open_bandit(tmp_path / f"{name}.rot", policy, arms) if durable else Bandit(policy, arms)

    by_decision, by_id = new("decision"), new("id")
    outcomes = outcomes_of(by_decision, by_decision.decide(count=5))
    assert outcomes == ["applied", "conflict", "applied", "applied", "applied", ["applied", "expired"]]
    assert outcomes == outcomes_of(by_id, [each.id for each in by_id.decide(count=5)])
    assert (str(by_decision.explain()), by_decision.pending) == (str(by_id.explain()), 0)  # as text: an untried mean is NaN
    assert by_decision.reward(by_id.decide(), 1.0) == "unknown"
    for bandit in (by_decision, by_id):
        if isinstance(bandit, DurableBandit):
            bandit.close()


def test_a_batch_is_answered_item_by_item() -> None:
    bandit = Bandit(make("ucb1"), arms=["a", "b"])
    one, two = bandit.decide(), bandit.decide()
    outcomes = bandit.reward_many([(one.id, 1.0), (one.id, 1.0), (two.id, 0.0), (two.id, 1.0), ("?", 1.0)])
    assert outcomes == ["applied", "duplicate", "applied", "conflict", "unknown"]
    assert bandit.reward_many([]) == []


@pytest.mark.parametrize("policy", LEARNERS, ids=lambda each: each.name)
def test_a_page_is_chosen_place_by_place(policy: Policy) -> None:
    """Each without those before it, as so many single decisions would be."""
    page_by_page, one_by_one = (Bandit(policy, arms=range(5), seed=1) for _ in range(2))
    for k in range(6):
        page, left, places = page_by_page.decide(count=3), list(range(5)), []
        for decision in page:
            expected = one_by_one.decide(arms=left)
            assert (decision.arm, decision.round) == (expected.arm, expected.round)
            assert decision.propensity == expected.propensity
            left.remove(int(str(decision.arm)))
            places.append((expected, decision))
        assert len(left) == 2
        for expected, decision in places:
            one_by_one.reward(expected.id, reward_at(expected.arm, k))
            page_by_page.reward(decision.id, reward_at(decision.arm, k))
    assert page_by_page.rounds == 18


def test_ids_are_never_the_same() -> None:
    first, again = (Bandit(make("uniform"), arms=["a", "b"], seed=0) for _ in range(2))
    copy = Bandit.from_state(first.get_state())
    ids = {bandit.decide().id for bandit in (first, again, copy) for _ in range(100)}
    assert len(ids) == 300
    assert set(map(len, ids)) == {16}  # 96 bits


@pytest.mark.parametrize("policy", WEIGHERS, ids=lambda each: each.name)
def test_a_lost_reward_leaves_the_propensities_of_the_others(policy: Policy) -> None:
    """By id, each reward is divided by the probability of its own decision, whatever became of those before."""
    bandit = Bandit(policy, arms=[0, 1], seed=3)
    decisions = [bandit.decide() for _ in range(9)]
    twin = bandit._state.learner.copy()
    for decision in decisions[::-2]:
        bandit.reward(decision.id, 1.0)
        twin.learn(bandit.rounds, int(str(decision.arm)), 1.0, decision.propensity)
    assert np.array_equal(bandit._state.learner.state.log_weights, twin.state.log_weights)
    assert bandit.pending == 4


def test_a_decision_that_was_never_shown_leaves_no_trace_but_its_round() -> None:
    bandit, twin = (Bandit(make("raw-ucb"), arms=["a", "b"]) for _ in range(2))
    for k in range(20):
        for each in (bandit, twin):
            decision = each.decide()
            each.reward(decision.id, reward_at(decision.arm, k))
    bandit.cancel(bandit.decide().id)
    assert bandit.rounds == twin.rounds + 1
    assert bandit.pending == 0
    assert {arm: each.pulls for arm, each in bandit.explain().items()} == {
        arm: each.pulls for arm, each in twin.explain().items()
    }


def test_missing_rewards_are_dropped_or_replaced() -> None:
    dropped, replaced, zero = (Bandit(make("ucb1"), arms=["a"]) for _ in range(3))
    for each in (dropped, replaced, zero):
        decisions = [each.decide() for _ in range(3)]
        each.reward(decisions[0].id, 1.0)
        each.reward(decisions[2].id, 1.0)
    assert dropped.expire(older_than_rounds=0) == replaced.expire(older_than_rounds=0, missing=0.25) == 1
    assert zero.expire(older_than_rounds=1) == 0  # that of round 2 is one round old
    assert dropped.explain()["a"].mean == 1.0
    assert replaced.explain()["a"].mean == 0.75
    assert (dropped.explain()["a"].pulls, replaced.explain()["a"].pulls, zero.explain()["a"].pulls) == (2, 3, 2)
    assert (dropped.pending, replaced.pending, zero.pending) == (0, 0, 1)


@pytest.mark.parametrize("age", range(6))
def test_a_decision_that_is_exactly_as_old_does_not_expire(age: int) -> None:
    """Only decisions that were made more than so many rounds ago."""
    bandit = Bandit(make("ucb1"), arms=["a", "b"])
    made = [bandit.decide(["b"]) for _ in range(5)]
    old = [each for each in made if bandit.rounds - each.round > age]
    assert bandit.expire(older_than_rounds=age) == len(old) == max(0, 4 - age)
    outcomes = [bandit.reward(each.id, 1.0) for each in made]
    assert outcomes == ["expired"] * len(old) + ["applied"] * (5 - len(old))


def test_a_replaced_reward_waits_for_its_turn_and_is_expired() -> None:
    bandit = Bandit(make("raw-ucb"), arms=["a"])
    one, two = bandit.decide(), bandit.decide()
    bandit.expire(two.id, missing=0.5)
    assert bandit.reward(two.id, 0.5) == "expired"
    assert bandit.explain()["a"].mean == 0.5
    bandit.reward(one.id, 1.0)
    assert bandit.reward(two.id, 0.5) == "expired"
    assert bandit.explain()["a"].pulls == 2


def test_the_number_of_pending_decisions_is_bounded() -> None:
    bandit = Bandit(make("eff-raw-ucb"), arms=["a", "b"], max_pending=10)
    decisions = [bandit.decide() for _ in range(10)]
    with pytest.warns(
        RewardsWarning, match="max_pending reached: 10 decisions have no reward yet; each new decision now expires"
    ):
        decisions.append(bandit.decide())
    decisions += [bandit.decide() for _ in range(14)]  # told once
    assert bandit.pending == 10
    assert [bandit.reward(each.id, 0.0) for each in decisions] == ["unknown"] * 5 + ["expired"] * 10 + ["applied"] * 10
    # The last ten answers are remembered.
    assert [bandit.reward(each.id, 0.0) for each in decisions] == ["unknown"] * 15 + ["duplicate"] * 10
    assert bandit.pending == 0


@pytest.mark.parametrize("verb", [Bandit.decide, Bandit.pull, lambda bandit: bandit.decide(count=1)])
def test_the_call_that_expires_a_decision_warns(verb: Callable[[Bandit], object]) -> None:
    bandit = Bandit(make("ucb1"), arms=["a"], max_pending=2)
    for _ in range(2):
        verb(bandit)
    with pytest.warns(RewardsWarning, match="max_pending reached"):
        verb(bandit)


@pytest.mark.filterwarnings("ignore:max_pending reached")
def test_decisions_that_are_never_answered_do_not_make_the_state_grow() -> None:
    """Half of the rewards are lost."""
    bandit, sizes = Bandit(WEIGHERS[1], arms=["a", "b"], max_pending=20), []
    for k in range(400):
        decision = bandit.decide()
        if k % 2:
            bandit.reward(decision.id, reward_at(decision.arm, k))
        state = bandit.get_state()
        sizes.append((len(state["decisions"]), len(state["answers"]), bandit.pending))
    assert set(sizes[50:]) == {(19, 20, 19), (20, 20, 20)}


def test_an_update_answers_the_oldest_decision_of_the_arm() -> None:
    bandit = Bandit(make("ucb1"), arms=["a", "b"])
    one, _, three = bandit.decide(arms=["a"]), bandit.pull(arms=["a"]), bandit.decide(arms=["a"])
    bandit.update("a", 0.1)
    assert bandit.reward(one.id, 0.1) == "duplicate"
    bandit.update("a", 0.2)
    assert bandit.reward(three.id, 0.3) == "applied"
    assert (bandit.rounds, bandit.pending) == (3, 0)
    bandit.update("a", 0.4)
    assert bandit.rounds == 4


def test_states_carry_decisions_and_answers() -> None:
    bandit = Bandit(make("raw-ucb"), arms=["a", ("b", 1)], pending="ignore", max_pending=7)
    decisions = [bandit.decide() for _ in range(6)]
    bandit.reward(decisions[0].id, 0.5)
    bandit.reward(decisions[3].id, 0.5)
    bandit.cancel(decisions[4].id)
    twin = Bandit.from_state(json.loads(json.dumps(bandit.get_state())))
    assert twin.get_state() == bandit.get_state()
    for each in decisions:
        assert twin.reward(each.id, 0.5) == bandit.reward(each.id, 0.5)
    assert twin.get_state() == bandit.get_state()
    assert twin.pull() == bandit.pull()


def test_a_limit_expires_the_oldest_open_decisions() -> None:
    bandit = Bandit(make("ucb1"), arms=["a", "b"])
    made = [bandit.decide(arms=["a"]) for _ in range(6)]
    bandit.reward(made[1].id, 0.5)
    bandit.decide(arms=["b"])
    assert bandit.expire(older_than_rounds=0, limit=2) == 2
    outcomes = [bandit.reward(each.id, 1.0) for each in made[:4]]
    assert outcomes == ["expired", "conflict", "expired", "applied"]
    assert bandit.expire(older_than_rounds=0, limit=5) == 2
    assert bandit.pending == 1  # that of the last round


def test_expiring_looks_at_the_oldest_decisions_only() -> None:
    bandit = Bandit(make("ucb1"), arms=["a", "b"])
    for _ in range(1_000):
        bandit.decide()
    looked: list[int] = []

    class Watched(OrderedDict[Key, Entry]):
        def values(self) -> Iterator[Entry]:  # type: ignore[override]
            for entry in super().values():
                looked.append(entry.round)
                yield entry

    bandit._state.ledger.entries = Watched(bandit._state.ledger.entries)
    assert bandit.expire(older_than_rounds=0, limit=10) == 10
    assert looked == list(range(1, 11))
    looked.clear()
    assert bandit.expire(older_than_rounds=979) == 10
    assert looked == list(range(11, 22))


def test_a_limit_is_for_many_decisions() -> None:
    bandit = Bandit(make("ucb1"), arms=["a", "b"])
    with pytest.raises(InvalidTypeError, match="limit must be given with an age only, got limit=1"):
        bandit.expire("id", limit=1)  # type: ignore[call-overload]
    with pytest.raises(InvalidValueError, match="limit must be"):
        bandit.expire(older_than_rounds=0, limit=0)


def test_a_warning_of_another_thread_is_not_repeated() -> None:
    class StolenWarnings(list[str]):
        """Warnings of which another thread takes the last one just before this one does."""

        def pop(self, index: SupportsIndex = -1) -> str:
            self.clear()
            return super().pop(index)

    bandit = Bandit(make("ucb1"), arms=["a"])
    bandit._state.warnings = StolenWarnings(["a warning"])
    bandit.decide()
