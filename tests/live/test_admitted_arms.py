"""What a tournament is told is what was asked for, and it is told no more than needed."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rotting.common.arrays import Ints
from rotting.live.admitted_arms import AdmittedArms
from rotting.live.bandit import Bandit
from rotting.parts.tournament import MANY, HasTournament
from rotting.registry import make

N = MANY + 20


class Told:
    """The available arms as a tournament knows them from what it is told, and how often it was told."""

    def __init__(self) -> None:
        self.arms: set[int] = set()
        self.calls = 0

    def admit(self, p: object, s: object, arms: Ints) -> None:
        self.arms = set(arms.tolist())
        self.calls += 1

    def readmit(self, p: object, s: object, come: Ints, go: Ints) -> None:
        assert self.arms.isdisjoint(come.tolist())
        assert self.arms.issuperset(go.tolist())
        self.arms = (self.arms | set(come.tolist())) - set(go.tolist())
        self.calls += 1


def played_state() -> HasTournament:
    bandit = Bandit(make("raw-ucb"), range(N))
    bandit.learn([(arm, 0.5) for arm in range(N)])
    bandit.pull()
    state: HasTournament = bandit._state.learner.state
    return state


STATE = played_state()
SOME = st.frozensets(st.integers(0, N - 1), max_size=20)


@given(st.lists(st.tuples(st.sampled_from(["admit", "hide", "change", "reset", "copy"]), SOME), max_size=20))
def test_the_tournament_knows_the_arms_that_were_asked_for(steps: list[tuple[str, frozenset[int]]]) -> None:
    told, every = Told(), np.arange(N)
    admitted, hidden = AdmittedArms(told, can_hide=True), frozenset[int]()
    for step, some in steps:
        ready: Ints | None = every
        if step == "reset":
            admitted.reset()
            continue
        if step == "copy":
            admitted = admitted.copy()
            continue
        if step == "admit":
            admitted.admit(None, STATE, N, every)
            hidden = frozenset()
        elif step == "hide":
            ready, hidden = admitted.hide(None, STATE, N, every, some), some
        elif admitted.ready_for is not None:
            ready, hidden = admitted.change_hidden(None, STATE, sorted(hidden - some), sorted(some - hidden)), some
        else:
            assert admitted.change_hidden(None, STATE, [], sorted(some)) is None
            continue
        assert ready is not None
        assert ready is admitted.ready_for
        assert ready.size == N - len(hidden)
        assert told.arms == set(range(N)) - hidden


def test_the_same_arms_are_told_once() -> None:
    told, every, hidden = Told(), np.arange(N), frozenset({3, 4})
    admitted = AdmittedArms(told, can_hide=True)
    ready = admitted.hide(None, STATE, N, every, hidden)
    calls = told.calls
    assert admitted.hide(None, STATE, N, every, hidden) is ready
    assert told.calls == calls == 2


def test_few_arms_are_listed() -> None:
    told, every = Told(), np.arange(N)
    admitted = AdmittedArms(told, can_hide=True)
    assert admitted.hide(None, STATE, N, every, frozenset(range(21))) is None
    assert AdmittedArms(told, can_hide=False).hide(None, STATE, N, every, frozenset({3})) is None
    admitted.admit(None, STATE, N, every[: MANY - 1])
    assert told.calls == 0
