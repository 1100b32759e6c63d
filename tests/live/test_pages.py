"""Pages are the same decisions as one by one, and previews are what a copy of the bandit decides."""

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotting.errors import InvalidValueError
from rotting.live.bandit import Bandit
from rotting.live.bandit_state import BanditState
from rotting.live.locks import Guard
from rotting.live.pending import Chooser
from rotting.live.values import Decision
from rotting.policy import Policy
from rotting.registry import make

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
            owed += bandit.decide(count=min(1 + number, len(bandit.arms), bandit._state.most_pending))
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
    count = min(len(left), bandit._state.most_pending, data.draw(st.integers(1, 20)))
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
    page._state.events = events[0]
    slow._state.events = events[1]
    page.decide(arms, count=30, without=[0, 6, 80])
    one_by_one(slow, 30, arms, [0, 6, 80])
    same = [[{**each, "id": "", "time": 0.0} for each in made] for made in events]
    assert same[0] == same[1]


@pytest.mark.parametrize("policy", POLICIES, ids=lambda each: each.name)
def test_pages_of_waiting_arms_make_room_for_their_rounds_as_their_events_do(policy: Policy) -> None:
    """When all arms wait, a page does not call the policy; the events of its decisions are applied one by one, and do."""
    recorded: list[dict[str, object]] = []
    state, twin = (BanditState.new(policy, ["a", "b", "c"]) for _ in range(2))
    state.events = recorded
    bandit = Bandit.holding(Guard(state))
    for _ in range(40):
        bandit.decide(count=2)
    for event in recorded:
        twin.apply(event)
    assert twin.rounds == 80
    assert Bandit.holding(Guard(twin)).get_state() == bandit.get_state()


# --- Previews -----------------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::rotting.errors.RewardsWarning")
@pytest.mark.parametrize("policy", [*POLICIES, make("m-ucb", horizon=1_000)], ids=repr)
@settings(max_examples=8)
@given(data=st.data())
def test_a_preview_is_what_a_copy_decides(policy: Policy, data: st.DataObject) -> None:
    bandit = played(data, policy, [2, 8, 40])
    arms = some_arms(np.random.default_rng(data.draw(st.integers(0, 9))), bandit)
    available = len(bandit.arms if arms is None else arms)
    count = min(available, bandit._state.most_pending, data.draw(st.integers(1, 20)))
    before = bandit.get_state()
    preview = bandit.preview(arms, count)
    assert bandit.get_state() == before
    assert plain(preview) == plain(copy.copy(bandit).decide(arms, count=count))
    assert plain(preview) == plain(bandit.preview(arms, count)) == plain(bandit.decide(arms, count=count))
    assert {each.id for each in preview} == {""}


def test_a_preview_is_refused_as_a_decision_is() -> None:
    bandit = Bandit(make("ucb1"), ["a", "b"])
    with pytest.raises(InvalidValueError, match="count must be at most 2, the number of available arms, got 3"):
        bandit.preview(count=3)
    with pytest.raises(InvalidValueError, match="without must leave at least one arm"):
        bandit.preview(without=["a", "b"])


def test_a_preview_settles_each_closed_decision_once() -> None:
    """A closes without a reward, B with one, and C is open: a preview must not settle C."""
    now = [1_000.0]
    state = BanditState.new(make("ucb1"), ["a", "b", "c"], reward_window=10)
    bandit = Bandit.holding(Guard(state, clock=lambda: now[0]))
    first, second = bandit.decide(["a"]), bandit.decide(["b"])
    now[0] += 8.0
    bandit.decide(["b"])
    bandit.reward(second, 1.0)
    now[0] += 5.0
    preview = bandit.preview(["b"])
    assert bandit.pending == 3
    assert plain(preview) == plain((bandit.decide(["b"]),))
    assert preview[0].reason.pending == 1
    assert bandit.reward(first, 1.0) == "expired"


def test_the_bandit_can_be_used_while_a_preview_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    bandit = Bandit(make("ucb1"), range(3))
    held, choose = [], Chooser.choose

    def look(*args: Any) -> Any:
        lock: Any = bandit._guard.lock
        held.append(lock._is_owned())
        return choose(*args)

    monkeypatch.setattr(Chooser, "choose", look)
    bandit.preview(count=2)
    assert held == [False, False]
