"""Checks that a removed arm leaves nothing behind, and takes nothing of other arms with it."""

import numpy as np

from rotting.common.arrays import Floats, Ints
from rotting.common.rules import ESTIMATE
from rotting.live.checked_games import ARMS, KEY, ROUNDS, require, reward_table
from rotting.live.learner import Learner
from rotting.policy import Policy

_FAR = 1_000  # rounds, so late that a short window has lost everything before
_SAME = 1e-9  # allowed difference of indices and means, since sums over arms may be taken in another order
_COUNT_RULE = (
    "slots without an arm must not count: a formula with the number of arms must read `s.presence.number[0]`, or the size of "
    "`arms`, not that of an array of the state"
)


def _behaviour(learner: Learner, t: int, arms: Ints, with_propensities: bool) -> Floats:
    """Return the choice, explanations and propensities of a policy as numbers that do not depend on the slots of `arms`."""
    chosen = learner.choose(t, KEY, arms)
    reasons = [value for arm in arms.tolist() for value in learner.explain(t, arms, arm)]
    if not learner.policy.randomised:
        return np.array([np.searchsorted(arms, chosen), *reasons])
    propensities = learner.copy().probabilities(t, arms) if with_propensities else None
    return np.array(reasons if propensities is None else [*reasons, *propensities])


def _later_rounds(policy: Policy) -> list[int]:
    """Return rounds after `ROUNDS`; the last ones are so late that windows have lost everything before."""
    last = min(_FAR, policy.max_rounds or _FAR)
    return [*range(ROUNDS + 1, ROUNDS + 31), *range(last - 15, last + 1)]


def _require_same(rule: str, one: Learner, arms: Ints, other: Learner, others: Ints) -> None:
    """Give `arms` of one learner and `others` of the other the same rewards for many rounds: both must behave alike."""
    rounds = _later_rounds(one.policy)
    table = reward_table(ARMS, len(rounds))
    for k, t in enumerate(rounds):
        found, expected = (_behaviour(*each, with_propensities=k % 20 == 0) for each in ((one, t, arms), (other, t, others)))
        _require_close(rule, t, found, expected)
        i = k % ARMS
        one.learn(t, int(arms[i]), table[i, k])
        other.learn(t, int(others[i]), table[i, k])


def _require_close(rule: str, t: int, found: Floats, expected: Floats) -> None:
    same = np.isclose(found, expected, rtol=_SAME, atol=_SAME, equal_nan=True)
    where = "" if same.all() else f"round {t}: {found[~same][0]:.6g} instead of {expected[~same][0]:.6g}"
    require(rule, not where, where)


def _means_and_windows(learner: Learner, t: int, arms: Ints) -> Floats:
    """Return the mean and the window in the explanation of each arm, `[arm, 2]`."""
    reasons = [learner.explain(t, arms, arm) for arm in arms.tolist()]
    return np.array([(reason.mean, reason.window) for reason in reasons], np.float64)


def _require_same_knowledge(rule: str, one: Learner, other: Learner, arms: Ints) -> None:
    """Give the arms of two learners the same rewards for many rounds: their means and windows must stay the same.

    An estimated sigma pools the noise of all arms. Without one of them, another window of an arm can be the tightest; then only
    arms with the same window are compared.
    """
    pools_noise = getattr(one.policy.params, "sigma", None) == ESTIMATE
    for k, t in enumerate(_later_rounds(one.policy)):
        if k % 3 == 0:
            found, expected = _means_and_windows(one, t, arms), _means_and_windows(other, t, arms)
            compared = found[:, 1] == expected[:, 1] if pools_noise else np.full(arms.size, fill_value=True)
            _require_close(rule, t, found[compared], expected[compared])
        for learner in (one, other):
            learner.learn(t, int(arms[k % arms.size]), 0.25 * (k % 4))


def _forget(learner: Learner, slot: int, here: Ints) -> None:
    learner.forget(slot)
    learner.set_present(here)


def _played(policy: Policy, here: Ints, removed: int, slots: int = ARMS + 1, factor: float = 1.0) -> Learner:
    """Return a learner with rewards of the arms `here`; the oldest and the newest are of the arm that will be removed.

    The rewards of that arm are multiplied by the factor.
    """
    learner = Learner.new(policy, slots)
    learner.set_present(here)
    table = reward_table(ARMS, ROUNDS)
    place = int(np.searchsorted(here, removed))
    table[place] *= factor
    for t in range(1, ROUNDS + 1):
        i = place if t in {1, ROUNDS} else t % ARMS
        learner.learn(t, int(here[i]), table[i, t - 1])
    return learner


def _require_no_trace(rule: str, policy: Policy, here: Ints, removed: int) -> None:
    """Remove an arm from two learners that differ in its rewards: the other arms must be alike.

    The rewards differ so little that no test for a change can raise its alarm for one learner only.
    """
    left = here[here != removed]
    one, other = (_played(policy, here, removed, factor=factor) for factor in (1.0, 1.0 - 2.0**-12))
    for learner in (one, other):
        _forget(learner, removed, left)
    for t in _later_rounds(policy)[:3]:
        found, expected = (_behaviour(each, t, left, with_propensities=False) for each in (one, other))
        _require_close(rule, t, found, expected)


def check_removal(policy: Policy) -> None:
    """Forget the first, a middle and the last arm, and use its slot again: nothing of it may be left, and nothing else lost."""
    for removed, unused in ((1, 2), (0, 1), (ARMS, ARMS - 1)):  # neighbours, so that the order of the other arms stays
        here = np.delete(np.arange(ARMS + 1), unused)
        learner = _played(policy, here, removed)
        if removed == 1:
            every = np.arange(ARMS)
            _require_same(_COUNT_RULE, learner.copy(), here, _played(policy, every, removed, slots=ARMS), every)
            forgetful, spared = learner.copy(), learner.copy()
            _forget(forgetful, unused, here)
            _require_same("to forget an arm that was never pulled must change nothing", forgetful, here, spared, here)

        left = here[here != removed]
        again, retired = learner.copy(), learner.copy()
        _forget(again, removed, left)
        retired.set_present(left)
        fresh, rest = again.copy(), again.copy()
        _require_same_knowledge("to forget an arm must change no mean and no window of another arm", rest, retired, left)

        others = np.sort(np.append(left, unused))
        _forget(again, removed, here)  # as a bandit does before it adds an arm
        _forget(fresh, unused, others)
        remedy = "if a state keeps anything about an arm outside the arm's own rows, the kernel's `forget` must remove it"
        _require_same(f"an arm in the slot of a removed one must be as new: {remedy}", again, here, fresh, others)
        _require_no_trace(f"nothing of a removed arm may change the others: {remedy}", policy, here, removed)
