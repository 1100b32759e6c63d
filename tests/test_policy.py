"""Policies are values with checked parameters."""

import inspect
import pickle

import pytest

from rotting.errors import InvalidTypeError
from rotting.policy import Policy
from rotting.registry import make
from tests.helpers.games import examples


@pytest.mark.parametrize("policy", examples(), ids=lambda each: each.name)
def test_a_policy_is_a_value(policy: Policy) -> None:
    twin = type(policy)(**policy.shown_params())
    assert twin == policy == pickle.loads(pickle.dumps(policy))
    assert hash(twin) == hash(policy)
    assert repr(twin) == repr(policy)
    with pytest.raises(AttributeError, match="is a value and cannot be changed"):
        policy.alpha = 2.0


@pytest.mark.parametrize("policy", examples(), ids=lambda each: each.name)
def test_parameters_have_a_rule_a_meaning_and_a_place_in_the_signature(policy: Policy) -> None:
    parameters = policy.parameters()
    assert list(inspect.signature(type(policy)).parameters) == [each.name for each in parameters]
    for each in parameters:
        assert each.rule.text
        assert each.doc
        assert getattr(policy, each.name) == getattr(policy.params, each.name)


def test_wrong_parameters_are_named() -> None:
    raw_ucb = type(make("raw-ucb"))
    for arguments, named, words in (
        ((1.0, 2.0, 3.0), {}, "RAWUCB takes at most 2 parameters, got 3"),
        ((1.0,), {"alpha": 2.0}, "RAWUCB got parameter 'alpha' twice"),
        ((), {"alhpa": 2.0}, r"RAWUCB has no parameter 'alhpa' \(it has: alpha, sigma\); did you mean 'alpha'"),
    ):
        with pytest.raises(InvalidTypeError, match=words):
            raw_ucb(*arguments, **named)
    with pytest.raises(InvalidTypeError, match="AdSwitch needs the parameter 'horizon'"):
        make("ad-switch")
    with pytest.raises(AttributeError, match="RAWUCB has no attribute 'gamma'"):
        make("raw-ucb").gamma  # noqa: B018
