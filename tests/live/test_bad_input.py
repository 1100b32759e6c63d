"""Bad input through every verb of a bandit: one sentence that names parameter, rule and value, and nothing has changed."""

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from rotting.errors import InvalidTypeError, InvalidValueError, RottingError
from rotting.live.bandit import Bandit
from rotting.live.values import RewardRule
from rotting.policy import Policy
from rotting.registry import make

Verb = Callable[[Any, str, Any], Any]
"""Calls a bandit, which has an open decision with this id, with something bad."""
LONG = "x" * 100_000

REWARDS: dict[str, Verb] = {
    "reward": lambda bandit, made, bad: bandit.reward(made, bad),
    "reward_many": lambda bandit, made, bad: bandit.reward_many([(made, 1.0), (made, bad)]),
    "update": lambda bandit, made, bad: bandit.update("a", bad),
    "expire": lambda bandit, made, bad: bandit.expire(made, missing=bad),
    "expire all": lambda bandit, made, bad: bandit.expire(older_than_rounds=0, missing=bad),
    "prior": lambda bandit, made, bad: bandit.add_arm("new", prior=(bad, 1)),
}
BAD_REWARDS: list[tuple[Any, type[RottingError], str]] = [
    (math.nan, InvalidValueError, "reward must be a finite number of at most 1e+100 in size, got nan"),
    (np.float64("nan"), InvalidValueError, "reward must be a finite number of at most 1e+100 in size, got np.float64(nan)"),
    (math.inf, InvalidValueError, "reward must be a finite number of at most 1e+100 in size, got inf"),
    (-math.inf, InvalidValueError, "reward must be a finite number of at most 1e+100 in size, got -inf"),
    (1e101, InvalidValueError, "reward must be a finite number of at most 1e+100 in size, got 1e+101"),
    (
        10**400,
        InvalidValueError,
        f"reward must be a finite number of at most 1e+100 in size, got 1{39 * '0'}... (401 characters)",
    ),
    (True, InvalidTypeError, "reward must be a finite number, got True; pass 1.0 or 0.0 if that is the reward"),
    (
        np.True_,
        InvalidTypeError,
        "reward must be a finite number, got np.True_; pass 1.0 or 0.0 if that is the reward",
    ),
    ("1", InvalidTypeError, "reward must be a finite number, got '1'"),
    ("zero", InvalidTypeError, "reward must be a finite number, got 'zero'"),
    (LONG, InvalidTypeError, f"reward must be a finite number, got '{39 * 'x'}... (100002 characters)"),
    (None, InvalidTypeError, "reward must be a finite number, got None"),
    (1j, InvalidTypeError, "reward must be a finite number, got 1j"),
    ([1.0], InvalidTypeError, "reward must be a finite number, got [1.0]"),
    (Decimal("0.5"), InvalidTypeError, "reward must be a finite number, got Decimal('0.5'); write float(reward)"),
    (np.array(0.5), InvalidTypeError, "reward must be a finite number, got array(0.5); write float(reward)"),
    (1.5, InvalidValueError, "reward must be in [0.0, 1.0], the range that KLUCB("),
    (-1, InvalidValueError, "reward must be in [0.0, 1.0], the range that KLUCB("),
]

IDS: dict[str, Verb] = {
    "reward": lambda bandit, made, bad: bandit.reward(bad, 1.0),
    "reward_many": lambda bandit, made, bad: bandit.reward_many([(made, 1.0), (bad, 1.0)]),
    "cancel": lambda bandit, made, bad: bandit.cancel(bad),
    "expire": lambda bandit, made, bad: bandit.expire(bad),
}
BAD_IDS = [1, 1.5, True, b"x", ["x"], ("x",), object(), np.int64(1)]

KNOWN_ARMS: dict[str, Verb] = {
    "update": lambda bandit, made, bad: bandit.update(bad, 1.0),
    "retire": lambda bandit, made, bad: bandit.retire(bad),
    "remove_arm": lambda bandit, made, bad: bandit.remove_arm(bad),
    "forget": lambda bandit, made, bad: bandit.forget(bad),
    "decide": lambda bandit, made, bad: bandit.decide(arms=["a", bad]),
    "pull": lambda bandit, made, bad: bandit.pull(arms=["a", bad]),
    "propensities": lambda bandit, made, bad: bandit.propensities(arms=["a", bad]),
}
UNKNOWN_ARMS = ["z", 1, True, None, math.nan, [], ["a"], {}, ("a",), b"a", LONG]
NO_ARMS = [math.nan, -math.inf, [], ["a"], {}, set(), b"a", object(), ("a", [1]), ("a", (b"b",)), np.int64(3), np.str_("a")]

MASKS: dict[str, Verb] = {
    "decide": lambda bandit, made, bad: bandit.decide(arms=bad),
    "pull": lambda bandit, made, bad: bandit.pull(arms=bad),
    "propensities": lambda bandit, made, bad: bandit.propensities(arms=bad),
}

OTHERS: list[tuple[Callable[[Any, str], Any], type[RottingError], str]] = [
    (lambda b, i: b.decide(count=0), InvalidValueError, "count must be a whole number, 1 or more, got 0"),
    (lambda b, i: b.decide(count=-1), InvalidValueError, "count must be a whole number, 1 or more, got -1"),
    (lambda b, i: b.decide(count=3), InvalidValueError, "count must be at most 2, the number of available arms, got 3"),
    (lambda b, i: b.decide(["a"], count=2), InvalidValueError, "count must be at most 1, the number of available arms"),
    (lambda b, i: b.decide(count=True), InvalidTypeError, "count must be a whole number, 1 or more, got True"),
    (lambda b, i: b.decide(count="2"), InvalidTypeError, "count must be a whole number, 1 or more, got '2'"),
    (lambda b, i: b.decide(count=1.5), InvalidValueError, "count must be a whole number, 1 or more, got 1.5"),
    (lambda b, i: b.decide(count=math.nan), InvalidValueError, "count must be a whole number, 1 or more, got nan"),
    (lambda b, i: b.expire(), InvalidTypeError, "id, older_than_rounds or older_than must be given, and only one, got id="),
    (
        lambda b, i: b.expire(i, older_than_rounds=1),
        InvalidTypeError,
        "id, older_than_rounds or older_than must be given, and only one, got id=",
    ),
    (
        lambda b, i: b.expire(older_than_rounds=-1),
        InvalidValueError,
        "older_than_rounds must be a whole number, 0 or more, got -1",
    ),
    (
        lambda b, i: b.expire(older_than_rounds=0.5),
        InvalidValueError,
        "older_than_rounds must be a whole number, 0 or more, got 0.5",
    ),
    (
        lambda b, i: b.expire(older_than_rounds=True),
        InvalidTypeError,
        "older_than_rounds must be a whole number, 0 or more, got True",
    ),
    (
        lambda b, i: b.expire(older_than_rounds="1"),
        InvalidTypeError,
        "older_than_rounds must be a whole number, 0 or more, got '1'",
    ),
    (lambda b, i: b.reward_many(None), InvalidTypeError, "rewards must be pairs of a decision and a reward, got None"),
    (lambda b, i: b.reward_many(1.0), InvalidTypeError, "rewards must be pairs of a decision and a reward, got 1.0"),
    (lambda b, i: b.reward_many(i), InvalidTypeError, "rewards must be pairs of a decision and a reward, got '"),
    (lambda b, i: b.reward_many([(i, 1.0), (i,)]), InvalidTypeError, "rewards must be pairs of a decision and a reward, got ("),
    (lambda b, i: b.reward_many({i: 1.0}), InvalidTypeError, "rewards must be pairs of a decision and a reward, got '"),
    (lambda b, i: b.reward_many([None]), InvalidTypeError, "rewards must be pairs of a decision and a reward, got None"),
    (lambda b, i: b.add_arm("a"), InvalidValueError, "arm must be new, got 'a', which is there already"),
    (lambda b, i: b.revive("a"), InvalidValueError, "arm must be one that was retired, to be revived, got 'a'"),
    (lambda b, i: b.revive("z"), InvalidValueError, "arm must be one that was retired, to be revived, got 'z'"),
    (lambda b, i: b.retire("kept"), InvalidValueError, "arm must be one of 'a', 'b', got 'kept'"),
    (lambda b, i: b.decide(arms=["kept"]), InvalidValueError, "arm must be one of 'a', 'b', got 'kept'"),
]

BAD_PRIORS: list[tuple[Any, type[RottingError], str]] = [
    ("like others", InvalidValueError, "prior must be a mean and a weight, or 'pooled', got 'like others'"),
    (
        LONG,
        InvalidValueError,
        f"prior must be a mean and a weight, or 'pooled', got '{39 * 'x'}... (100002 characters)",
    ),
    (0.5, InvalidValueError, "prior must be a mean and a weight, or 'pooled', got 0.5"),
    (True, InvalidValueError, "prior must be a mean and a weight, or 'pooled', got True"),
    ((0.5,), InvalidValueError, "prior must be a mean and a weight, or 'pooled', got (0.5,)"),
    ((0.5, 1, 2), InvalidValueError, "prior must be a mean and a weight, or 'pooled', got (0.5, 1, 2)"),
    ({"mean": 1}, InvalidValueError, "prior must be a mean and a weight, or 'pooled', got {'mean': 1}"),
    (np.array([0.5, 1]), InvalidValueError, "prior must be a mean and a weight, or 'pooled', got array([0.5, 1. ])"),
    ((0.5, 0), InvalidValueError, "weight must be a whole number from 1 to 10,000, got 0"),
    ((0.5, 10**9), InvalidValueError, "weight must be a whole number from 1 to 10,000, got 1000000000"),
    ((0.5, 1.5), InvalidValueError, "weight must be a whole number from 1 to 10,000, got 1.5"),
    ((0.5, True), InvalidTypeError, "weight must be a whole number from 1 to 10,000, got True"),
    ("pooled", InvalidValueError, "prior must be a mean and a weight as long as there are no rewards, got 'pooled'"),
]

BEGINNINGS: list[tuple[dict[str, Any], type[RottingError], str]] = [
    ({"policy": "ucb1"}, InvalidTypeError, "policy must be a policy such as EffRAWUCB(alpha=1.4), got 'ucb1'"),
    ({"policy": None}, InvalidTypeError, "policy must be a policy such as EffRAWUCB(alpha=1.4), got None"),
    ({"policy": type(make("ucb1"))}, InvalidTypeError, "policy must be a policy such as EffRAWUCB(alpha=1.4), got <class"),
    ({"policy": make("greedy-oracle")}, InvalidTypeError, "policy must be a learner, got GreedyOracle(), which needs the true"),
    ({"arms": []}, InvalidValueError, "arms must hold at least one arm, got none"),
    ({"arms": "abc"}, InvalidTypeError, "arms must be a list of arms, got 'abc'"),
    ({"arms": None}, InvalidTypeError, "arms must be a list of arms, got None"),
    ({"arms": ["a", "b", "a"]}, InvalidValueError, "arms must be distinct, got 'a' twice"),
    ({"arms": [LONG, LONG]}, InvalidValueError, f"arms must be distinct, got '{39 * 'x'}... (100002 characters) twice"),
    ({"arms": [1, True]}, InvalidValueError, "arms must be distinct, got 1 twice"),  # they are equal
    ({"arms": [("a", "\ud800")]}, InvalidValueError, "arm must be a string of whole characters, so that JSON can carry it"),
    ({"arms": [10**5_000]}, InvalidValueError, "arm must be a whole number of at most 4096 bits, got one of 16610 bits"),
    (
        {"arms": [["a"]]},
        InvalidTypeError,
        "arm must be a string, a number, None or a tuple of these, so that JSON can carry it",
    ),
    ({"seed": -1}, InvalidValueError, "seed must be a whole number, 0 or more, got -1"),
    ({"seed": True}, InvalidTypeError, "seed must be a whole number, 0 or more, got True"),
    ({"pending": "old"}, InvalidValueError, "pending must be 'shrink' or 'ignore', got 'old'"),
    ({"pending": []}, InvalidValueError, "pending must be 'shrink' or 'ignore', got []"),
    ({"max_pending": 0}, InvalidValueError, "max_pending must be a whole number, 1 or more, got 0"),
    ({"max_pending": True}, InvalidTypeError, "max_pending must be a whole number, 1 or more, got True"),
    ({"max_pending": math.inf}, InvalidValueError, "max_pending must be a whole number, 1 or more, got inf"),
]


def assert_refused(call: Callable[[Bandit, str], Any], error: type[RottingError], words: str) -> None:
    bandit = Bandit(make("kl-ucb"), arms=["a", "b", "kept"])
    made = bandit.decide().id
    bandit.retire("kept")
    before = bandit.get_state()
    with pytest.raises(error) as caught:
        call(bandit, made)
    message = str(caught.value)
    assert message.startswith(words)
    assert len(message) < 250
    assert "\n" not in message
    assert bandit.get_state() == before


@pytest.mark.parametrize("verb", REWARDS)
@pytest.mark.parametrize(("bad", "error", "words"), BAD_REWARDS, ids=[f"{each[0]!r:.12}" for each in BAD_REWARDS])
def test_invalid_rewards_are_refused(verb: str, bad: Any, error: type[RottingError], words: str) -> None:
    name = {"expire": "missing", "expire all": "missing", "prior": "mean"}.get(verb, "reward")
    assert_refused(lambda bandit, made: REWARDS[verb](bandit, made, bad), error, words.replace("reward must", f"{name} must"))


@pytest.mark.parametrize("verb", IDS)
@pytest.mark.parametrize("bad", BAD_IDS, ids=lambda each: type(each).__name__)
def test_invalid_ids_are_refused(verb: str, bad: Any) -> None:
    words = f"id must be a Decision or its id, a string, got {bad!r}"
    assert_refused(lambda bandit, made: IDS[verb](bandit, made, bad), InvalidTypeError, words)


@pytest.mark.parametrize("verb", IDS)
@pytest.mark.parametrize("kind", ["another bandit's", "empty", "long"])
def test_unknown_ids_have_the_outcome_unknown(verb: str, kind: str) -> None:
    bandit, other = (Bandit(make("kl-ucb"), arms=["a", "b"]) for _ in range(2))
    made = bandit.decide()
    bandit.reward(made.id, 1.0)
    before = bandit.get_state()
    bad = {"another bandit's": other.decide().id, "empty": "", "long": LONG}[kind]
    outcome = IDS[verb](bandit, made.id, bad)
    assert outcome == (["duplicate", "unknown"] if verb == "reward_many" else "unknown")
    assert bandit.get_state() == before


@pytest.mark.parametrize("verb", KNOWN_ARMS)
@pytest.mark.parametrize("bad", UNKNOWN_ARMS, ids=lambda each: f"{each!r:.12}")
def test_unknown_arms_are_refused(verb: str, bad: Any) -> None:
    shown = f"'{39 * 'x'}... (100002 characters)" if bad is LONG else repr(bad)
    words = f"arm must be one of 'a', 'b', got {shown}"
    assert_refused(lambda bandit, made: KNOWN_ARMS[verb](bandit, made, bad), InvalidValueError, words)


@pytest.mark.parametrize("verb", ["add_arm", "revive"])
@pytest.mark.parametrize("bad", NO_ARMS, ids=lambda each: type(each).__name__)
def test_arms_that_json_cannot_carry_are_refused(verb: str, bad: Any) -> None:
    words = "arm must be a string, a number, None or a tuple of these, so that JSON can carry it, got "
    assert_refused(lambda bandit, made: getattr(bandit, verb)(bad), InvalidTypeError, words)


@pytest.mark.parametrize("verb", MASKS)
@pytest.mark.parametrize("bad", ["a", b"a", 5, 1.5, True, LONG], ids=lambda each: f"{each!r:.12}")
def test_invalid_lists_of_arms_are_refused(verb: str, bad: Any) -> None:
    assert_refused(lambda bandit, made: MASKS[verb](bandit, made, bad), InvalidTypeError, "arms must be a list of arms, got ")


@pytest.mark.parametrize("verb", MASKS)
@pytest.mark.parametrize("bad", [[], (), {}, iter(())], ids=lambda each: type(each).__name__)
def test_empty_lists_of_arms_are_refused(verb: str, bad: Any) -> None:
    words = "arms must hold at least one arm, got none"
    assert_refused(lambda bandit, made: MASKS[verb](bandit, made, bad), InvalidValueError, words)


@pytest.mark.parametrize(("call", "error", "words"), OTHERS)
def test_other_invalid_arguments_are_refused(call: Callable[[Any, str], Any], error: type[RottingError], words: str) -> None:
    assert_refused(call, error, words)


@pytest.mark.parametrize(("prior", "error", "words"), BAD_PRIORS, ids=[f"{each[0]!r:.12}" for each in BAD_PRIORS])
def test_invalid_priors_are_refused(prior: Any, error: type[RottingError], words: str) -> None:
    assert_refused(lambda bandit, made: bandit.add_arm("new", prior=prior), error, words)


@pytest.mark.parametrize(("options", "error", "words"), BEGINNINGS)
def test_invalid_arguments_of_a_new_bandit_are_refused(options: dict[str, Any], error: type[RottingError], words: str) -> None:
    with pytest.raises(error) as caught:
        Bandit(**{"policy": make("ucb1"), "arms": ["a", "b"], **options})
    assert str(caught.value).startswith(words)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize("reward", [1, 0.5, np.float32(0.5), np.int64(1), np.float64(0.25), Fraction(1, 4)], ids=repr)
@pytest.mark.parametrize("verb", REWARDS)
def test_numbers_of_other_kinds_are_rewards(verb: str, reward: Any) -> None:
    bandit, plain = (Bandit(make("kl-ucb"), arms=["a", "b"]) for _ in range(2))
    for each, value in ((bandit, reward), (plain, float(reward))):
        REWARDS[verb](each, each.decide().id, value)
    assert repr(bandit.explain()) == repr(plain.explain())
    assert bandit.get_state()["state"] == plain.get_state()["state"]


@pytest.mark.parametrize(
    ("policy", "middle"),
    [(make("kl-ucb"), 0.5), (make("kl-ucb", low=10.0, high=10.125), 10.0625), (make("ucb1"), 0.0)],
    ids=repr,
)
def test_the_middle_of_a_range_is_accepted(policy: Policy, middle: float) -> None:
    rule = RewardRule(policy)
    assert rule.check(rule.middle) == middle


def test_whole_numbers_of_other_kinds_are_counts() -> None:
    bandit = Bandit(make("kl-ucb"), arms=["a", "b"])
    assert len(bandit.decide(count=np.int64(2))) == 2  # type: ignore[call-overload]
    assert bandit.expire(older_than_rounds=np.int64(0)) == 1  # type: ignore[call-overload]


def test_a_page_is_no_longer_than_what_is_waited_for() -> None:
    bandit = Bandit(make("ucb1"), arms=range(5), max_pending=3)
    with pytest.raises(InvalidValueError, match="count must be at most 3, max_pending, got 4"):
        bandit.decide(count=4)
    with pytest.raises(InvalidValueError, match="count must be at most 2, the number of available arms, got 4"):
        bandit.decide(arms=[0, 1], count=4)
