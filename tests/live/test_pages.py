"""Pages of many arms: the same decisions as one by one, at a cost that does not grow with the arms."""

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotting.live.admitted_arms import AdmittedArms
from rotting.live.bandit import Bandit
from rotting.live.decisions import Decision
from rotting.live.locks import Guard
from rotting.live.pages import SortedSlots
from rotting.policy import Policy
from rotting.registry import make

if TYPE_CHECKING:
    from collections.abc import Callable

POLICIES = [make(name) for name in ("raw-ucb", "eff-raw-ucb", "ucb1", "exp3", "uniform", "thompson-sampling")]
POLICIES += [make("raw-ucb", sigma="estimate"), make("sw-ucb", tau=50), make("swa", horizon=10_000)]


def plain(decisions: tuple[Decision, ...]) -> list[str]:
    """Return everything but the ids; NaN equals NaN in text."""
    return [repr(each._replace(id="")) for each in decisions]


def one_by_one(bandit: Bandit[int], count: int, arms: list[int] | None, without: list[int]) -> tuple[Decision[int], ...]:
    """Decide for each place of a page, without the arms before it: the definition of a page."""
    made: list[Decision] = []
    for _ in range(count):
        made.append(bandit.decide(arms, without=[*without, *(each.arm for each in made)]))
    return tuple(made)


def listed(bandit: Bandit[int], count: int, arms: list[int] | None, without: list[int]) -> tuple[Decision[int], ...]:
    """Do the same, and list the arms that are left each time."""
    left = [arm for arm in (bandit.arms if arms is None else arms) if arm not in set(without)]
    made: list[Decision] = []
    for _ in range(count):
        made.append(bandit.decide(left))
        left.remove(made[-1].arm)
    return tuple(made)


def play(data: st.DataObject, bandit: Bandit, steps: int) -> None:
    """Do anything that a page could depend on: decisions and rewards in any order, arms that come and go."""
    owed: list[Decision] = []
    for step in range(steps):
        verb = data.draw(st.sampled_from(["page", "page", "reward", "reward", "learn", "retire", "add", "expire"]))
        number = data.draw(st.integers(0, 30))
        if verb == "page":
            owed += bandit.decide(count=min(1 + number, len(bandit.arms), bandit._state.ledger.max_pending))
        elif verb == "reward" and owed:
            pairs = [(owed.pop(number % len(owed)).id, (number % 5) / 4) for _ in range(min(number, len(owed)))]
            bandit.reward_many(pairs)
        elif verb == "learn" and not bandit._state.learner.uses_propensity:
            bandit.learn([(arm, (k % 7) / 8) for k, arm in enumerate(bandit.arms)])
        elif verb == "retire" and len(bandit.arms) > 40:
            bandit.retire(bandit.arms[number % len(bandit.arms)])
        elif verb == "add":
            bandit.add_arm(("new", bandit.rounds, len(bandit.arms), step))
        elif verb == "expire":
            bandit.expire(older_than_rounds=number)


def played(data: st.DataObject, policy: Policy, sizes: list[int]) -> Bandit:
    """A bandit after any calls, with a small or a large `max_pending`."""
    n_arms = 5 if policy.name == "thompson-sampling" else data.draw(st.sampled_from(sizes))
    max_pending = data.draw(st.sampled_from([n_arms, 3 * n_arms, 10_000]))
    pending: Any = data.draw(st.sampled_from(["shrink", "shrink", "ignore"]))
    bandit = Bandit(policy, range(n_arms), seed=2, pending=pending, max_pending=max_pending)
    play(data, bandit, data.draw(st.integers(0, 6)))
    return bandit


def some_arms(rng: np.random.Generator, bandit: Bandit) -> list[Any] | None:
    """Most arms of a bandit, or None for all."""
    return None if rng.uniform() < 0.5 else [arm for arm in bandit.arms if rng.uniform() < 0.8] or list(bandit.arms)


@pytest.mark.filterwarnings("ignore::rotting.errors.RewardsWarning")
@pytest.mark.parametrize("policy", POLICIES, ids=repr)
@settings(max_examples=8)
@given(data=st.data())
def test_a_page_is_decided_as_one_by_one(policy: Policy, data: st.DataObject) -> None:
    bandit, rng = played(data, policy, [3, 33, 50]), np.random.default_rng(data.draw(st.integers(0, 9)))
    arms = some_arms(rng, bandit)
    without = [arm for arm in bandit.arms[1:] if rng.uniform() < 0.1] if rng.uniform() < 0.5 else []
    left = [arm for arm in (bandit.arms if arms is None else arms) if arm not in set(without)]
    if not left:
        return
    count = min(len(left), bandit._state.ledger.max_pending, data.draw(st.integers(1, 20)))
    page, slow, slower = bandit, copy.copy(bandit), copy.copy(bandit)
    found = plain(page.decide(arms, count=count, without=without))
    assert found == plain(one_by_one(slow, count, arms, without))
    assert found == plain(listed(slower, count, arms, without))
    assert plain(page.decide(count=2)) == plain(slow.decide(count=2)) == plain(slower.decide(count=2))


@pytest.mark.filterwarnings("ignore:max_pending reached")
@pytest.mark.parametrize("n_arms", [3, 5, 40])
@pytest.mark.parametrize("count", [2, 3])
def test_an_arm_whose_decision_expires_while_a_page_is_decided_is_on_it_once(n_arms: int, count: int) -> None:
    """Each place expires the oldest decision, of the best arm first, which then waits no more and may be chosen again."""
    page, slow = (Bandit(make("raw-ucb"), range(n_arms), max_pending=count) for _ in range(2))
    for each in (page, slow):
        each.learn([(arm, 1.0 - arm / 64) for arm in range(n_arms)])
        each.decide(count=count)
    found = page.decide(count=count)
    assert len({each.arm for each in found}) == count
    assert plain(found) == plain(one_by_one(slow, count, None, []))


@pytest.mark.parametrize("arms", [None, list(range(0, 100, 3)), list(range(90))])
def test_a_page_is_recorded_as_one_by_one(arms: list[int] | None) -> None:
    page, slow = (Bandit(make("raw-ucb"), range(100)) for _ in range(2))
    events: list[list[dict[str, Any]]] = [[], []]
    page = Bandit.holding(Guard(page._state, events[0].extend))
    slow = Bandit.holding(Guard(slow._state, events[1].extend))
    page.decide(arms, count=30, without=[0, 6, 80])
    one_by_one(slow, 30, arms, [0, 6, 80])
    assert [{**each, "id": ""} for each in events[0]] == [{**each, "id": ""} for each in events[1]]


def counted(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[None]:
    """Return a list that has an item for each call of a function."""
    calls: list[None] = []
    function: Callable[..., Any] = getattr(owner, name)

    def counting(*args: Any, **more: Any) -> Any:
        calls.append(None)
        return function(*args, **more)

    monkeypatch.setattr(owner, name, counting)
    return calls


@pytest.mark.parametrize("known", [False, True])
def test_a_page_does_not_look_at_all_arms_for_each_place(known: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    bandit = Bandit(make("raw-ucb"), range(300))
    if known:
        bandit.learn([(arm, (arm % 7) / 8) for arm in range(300)])
        bandit.decide(count=20)  # these wait, and join
    admitted, subtracted = counted(monkeypatch, AdmittedArms, "admit"), counted(monkeypatch, np, "setdiff1d")
    bandit = Bandit.holding(Guard(bandit._state, lambda events: None))
    bandit.decide(count=200)
    assert len(admitted) <= 3
    assert len(subtracted) == 1


@given(st.sets(st.integers(0, 40), min_size=1), st.data())
def test_sorted_slots_are_a_sorted_set(slots: set[int], data: st.DataObject) -> None:
    found = SortedSlots(np.array(sorted(slots), np.int64))
    for _ in range(data.draw(st.integers(0, 30))):
        slot = data.draw(st.integers(0, 40))
        if slot in slots:
            slots.remove(slot)
            found.remove(slot)
        else:
            slots.add(slot)
            found.insert(slot)
        assert found.array.tolist() == sorted(slots)
