"""A bandit is the fold of its events: applied again, they make the same state, bit for bit."""

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotting.errors import RottingError
from rotting.live.bandit import Bandit
from rotting.live.events import Event
from rotting.policy import Policy
from rotting.registry import make
from tests.helpers.games import learners

if TYPE_CHECKING:
    from rotting.live.values import Decision

LEARNERS = learners()
STEPS = ["decide", "page", "mask", "pull", "reward", "late", "again", "update", "cancel", "expire", "missing", "old"]
STEPS += ["add", "retire", "revive", "forget"]


def played(policy: Policy, steps: list[str], max_pending: int = 6) -> tuple[Bandit, list[Event]]:
    """Drive a bandit, and return it with its events."""
    bandit = Bandit(policy, arms=["a", ("b", 1), 3], seed=8, max_pending=max_pending)
    events: list[Event] = []
    bandit._state.events = events
    owed: list[Decision] = []
    for k, step in enumerate(steps):
        retired = list(bandit._state.arms.retired)
        if step == "decide":
            owed.append(bandit.decide())
        elif step == "page":
            owed += bandit.decide(count=min(2, len(bandit.arms)))
        elif step == "mask":
            owed.append(bandit.decide(arms=bandit.arms[1:] or bandit.arms))
        elif step == "pull":
            bandit.pull()
        elif step == "update":
            bandit.update(bandit.arms[k % len(bandit.arms)], (k % 5) / 4)
        elif step == "old":
            bandit.expire(older_than_rounds=3, missing=0.0)
        elif step == "add":
            bandit.add_arm(f"arm {k}")
        elif step == "retire" and len(bandit.arms) > 1:
            bandit.retire(bandit.arms[0])
        elif step == "revive" and retired:
            bandit.revive(retired[0])
        elif step == "forget" and len(bandit.arms) > 1:
            bandit.forget(retired[0] if retired else bandit.arms[-1])
        elif owed:
            decision = owed[0] if step == "reward" else owed[-1]
            if step == "cancel":
                bandit.cancel(decision.id)
            elif step == "expire":
                bandit.expire(decision.id)
            elif step == "missing":
                bandit.expire(decision.id, missing=1.0)
            else:
                bandit.reward(decision.id, (k % 5) / 4)
            if step != "again":
                owed.remove(decision)
    return bandit, events


def folded(policy: Policy, events: list[Any], max_pending: int = 6) -> Bandit:
    bandit = Bandit(policy, arms=["a", ("b", 1), 3], seed=8, max_pending=max_pending)
    for event in events:
        bandit._state.apply(event)
    return bandit


@pytest.mark.filterwarnings("ignore::rotting.errors.RewardsWarning")
@pytest.mark.parametrize("policy", LEARNERS, ids=lambda each: each.name)
@settings(max_examples=8)
@given(st.lists(st.sampled_from(STEPS), min_size=10, max_size=50))
def test_the_state_is_the_fold_of_the_events(policy: Policy, steps: list[str]) -> None:
    bandit, recorded = played(policy, steps)
    events = json.loads(json.dumps(recorded))
    assert folded(policy, events).get_state() == bandit.get_state()


@pytest.mark.filterwarnings("ignore::rotting.errors.RewardsWarning")
def test_a_snapshot_and_the_events_after_it_restore_the_state() -> None:
    policy = make("thompson-sampling")
    uninterrupted, events = played(policy, STEPS * 4)
    half = folded(policy, events[: len(events) // 2])
    resumed = Bandit.from_state(half.get_state())
    for event in events[len(events) // 2 :]:
        resumed._state.apply(event)
    assert resumed.get_state() == uninterrupted.get_state()


def test_a_call_adds_the_events_of_what_it_changes() -> None:
    bandit, events = Bandit(make("ucb1"), arms=["a", "b", "c"], max_pending=2), []  # type: tuple[Bandit, list[Event]]
    bandit._state.events = events
    page = bandit.decide(count=2)
    assert [each["event"] for each in events] == ["decided", "decided"]
    with pytest.warns(match="2 decisions have no reward yet"):
        bandit.decide()
    assert [each["event"] for each in events[2:]] == ["expired", "decided"]
    bandit.reward_many([(page[0].id, 1.0), (page[1].id, 1.0), (page[1].id, 1.0)])
    assert events[4:] == [{"event": "rewarded", "id": page[1].id, "reward": 1.0}]
    before = len(events)
    bandit.reward(page[1].id, 1.0)
    bandit.reward("?", 1.0)
    bandit.explain()
    bandit.propensities()
    assert len(events) == before  # what changes nothing is no event


def test_a_decision_event_lists_the_allowed_or_the_excluded_arms() -> None:
    bandit, events = Bandit(make("ucb1"), arms=range(10)), []  # type: tuple[Bandit, list[Event]]
    bandit._state.events = events
    bandit.decide()
    bandit.decide(arms=[4, 2])
    bandit.decide(arms=range(9))
    bandit.decide(arms=range(10))
    assert [(event["arms"], event["without"]) for event in events] == [
        (None, None),
        ([2, 4], None),
        (None, [9]),
        (None, None),
    ]


ANY: Event = {"event": "decided", "arms": None, "without": None, "propensity": 1.0}
WRONG: list[tuple[Any, str]] = [
    (
        {"event": "decided", "id": 1, "round": 1, "arm": "z", "arms": None, "without": None, "propensity": 1.0},
        "arm must be one of .*, got 'z'",
    ),
    (
        {"event": "decided", "id": 2, "round": 2, "arm": "a", "arms": None, "without": None, "propensity": 1.0},
        "got 'a' in round 2",
    ),
    ({"event": "rewarded", "id": "?", "reward": 1.0}, "event must be about a pending decision"),
    ({"event": "rewarded", "id": "?"}, "event must be one of decided, rewarded"),
    ({"event": "restarted"}, "event must be one of decided, rewarded"),
    ("rewarded", "event must be one of decided, rewarded"),
]


@pytest.mark.parametrize(("event", "words"), WRONG)
def test_an_event_that_cannot_have_happened_is_refused(event: Any, words: str) -> None:
    with pytest.raises(RottingError, match=words):
        folded(make("ucb1"), [event])
