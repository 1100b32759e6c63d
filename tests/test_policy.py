"""Policies are values with checked parameters."""

import inspect
import math
import pickle
from typing import Any

import numpy as np
import pytest

from rotting.common.rules import COUNT, POSITIVE
from rotting.errors import InvalidTypeError, InvalidValueError, KernelError
from rotting.live.learner import Learner
from rotting.policies import ucb1
from rotting.policies.glr_ucb import GLRUCB
from rotting.policies.parts.doubling import doubling
from rotting.policies.raw_ucb import RAWUCB
from rotting.policies.sw_ucb import SWUCB
from rotting.policy import Kernel, Policy, defined_policies, parameter
from rotting.registry import from_json, make
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
        assert each.rule.check(each.name, getattr(policy, each.name)) == getattr(policy.params, each.name)


def test_wrong_parameters_are_named() -> None:
    raw_ucb = type(make("raw-ucb"))
    for arguments, named, words in (
        ((1.0, 2.0, 3.0), {}, "parameters of RAWUCB must be at most 2, got 3"),
        ((1.0,), {"alpha": 2.0}, "alpha must be given to RAWUCB once, got it twice"),
        ((), {"alhpa": 2.0}, "parameters of RAWUCB must be among: alpha, sigma, got 'alhpa'; did you mean 'alpha'"),
    ):
        with pytest.raises(InvalidTypeError, match=words):
            raw_ucb(*arguments, **named)
    with pytest.raises(InvalidTypeError, match="horizon must be given to AdSwitch, a whole number, 2 or more, got nothing"):
        make("ad-switch")


KERNEL = ucb1.UCB1.kernel
UPDATE = "update(p, s, t, arm, reward) must be a plain Python function, got None"


@pytest.mark.parametrize(
    ("attributes", "error", "message"),
    [
        ({"kernel": KERNEL}, InvalidTypeError, "Mine must have a `name`, a text such as 'my-policy', got None"),
        ({"name": 3, "kernel": KERNEL}, InvalidTypeError, "Mine must have a `name`, a text such as 'my-policy', got 3"),
        ({"name": "mine"}, InvalidTypeError, "Mine must have a `kernel`, the Kernel of its functions, got None"),
        ({"name": "mine", "kernel": Kernel(KERNEL.init, KERNEL.choose)}, KernelError, f"Mine: {UPDATE}"),
    ],
)
def test_an_incomplete_class_makes_no_policy(attributes: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        type("Mine", (Policy,), attributes)()
    assert str(caught.value) == message
    defined_policies.pop("mine", None)


def test_a_subclass_without_a_name_of_its_own_makes_no_policy() -> None:
    with pytest.raises(InvalidTypeError, match="^Mine must have a `name`, a text such as 'my-policy', got None$"):
        type("Mine", (ucb1.UCB1,), {})()


def test_a_parameter_cannot_take_the_place_of_an_attribute_of_every_policy() -> None:
    for taken in ("cost", "name", "params"):
        with pytest.raises(InvalidValueError, match=f"^parameters of Mine must not be called .*, got '{taken}'"):
            type("Mine", (Policy,), {taken: parameter(POSITIVE, "of something", default=1.0)})


def test_a_subclass_adds_its_parameters_to_the_inherited_ones() -> None:
    class MyRAWUCB(RAWUCB):
        extra: int = parameter(COUNT, "one more", default=3)
        alpha: float = parameter(POSITIVE, "confidence level", default=2.0)

        name = "my-raw-ucb"

    del defined_policies["my-raw-ucb"]
    assert repr(MyRAWUCB(4, "estimate")) == "MyRAWUCB(alpha=4.0, sigma='estimate', extra=3)"
    assert repr(MyRAWUCB()) == "MyRAWUCB(alpha=2.0, sigma=1.0, extra=3)"
    assert repr(RAWUCB()) == "RAWUCB(alpha=1.4, sigma=1.0)"


def test_words_read_back_as_words_and_kernels_get_numbers() -> None:
    policy = make("ad-switch", horizon=100, outside="clip")
    assert (policy.outside, policy.params.outside) == ("clip", 1)  # type: ignore[attr-defined]
    assert RAWUCB(sigma="estimate").sigma == "estimate"
    assert all(isinstance(each, int | float) for each in RAWUCB(sigma="estimate").params)


@pytest.mark.parametrize("policy", [each for each in examples() if not each.sees_means], ids=lambda each: each.name)
def test_a_policy_says_whether_it_has_an_index(policy: Policy) -> None:
    """`explain` has one after the first reward, and nothing else decides."""
    learner = Learner.new(policy, 1)
    low, high = policy.reward_range or (0.0, 1.0)
    learner.learn(1, 0, (low + high) / 2.0)
    explained = learner.explains and not math.isnan(learner.explain(1, np.zeros(1, np.int64), 0).value)
    assert policy.has_index == (explained and not policy.randomised)


def test_help_describes_every_attribute_that_a_class_sets() -> None:
    annotated = inspect.get_annotations(Policy)
    names = {name for name in annotated if not name.startswith("_")} - {"params", "params_class"}
    assert names >= {"rested", "restless", "needs_horizon", "randomised", "has_index", "first_pulls", "title", "cost", "memory"}
    described = str(inspect.getdoc(Policy)).partition("Attributes:\n")[2]
    assert {name for name in names if f"\n    {name}: " in f"\n{described}"} == names


def test_two_classes_of_one_name_are_refused_and_a_new_definition_of_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def define(qualname: str, module: str = "__main__") -> type[Policy]:
        attributes = {"name": "one-name", "kernel": KERNEL, "__qualname__": qualname, "__module__": module}
        return type("Mine", (Policy,), attributes)

    monkeypatch.setitem(defined_policies, "one-name", define("Mine"))
    for other in (("Other",), ("Mine", "elsewhere")):
        with pytest.raises(
            InvalidValueError, match="^name must be unique among policies, got 'one-name' for Mine of __main__ and "
        ):
            define(*other)
    again = define("Mine")
    assert type(from_json(again().to_json())) is again


def test_a_signature_shows_defaults_as_people_write_them() -> None:
    assert inspect.signature(SWUCB).parameters["sigma"].default == "range"
    assert inspect.signature(GLRUCB).parameters["restart"].default == "local"


# Labels


def test_labels_of_the_library_are_short_and_differ() -> None:
    labels = {policy.label: policy for policy in examples()}
    assert len(labels) == len(examples())
    assert max(map(len, labels)) <= 24
    for policy in examples():
        assert policy.title in policy.label
        assert "title" in vars(type(policy)), policy  # as papers write it, not the name of the class


@pytest.mark.parametrize(
    ("policy", "label"),
    [
        (make("raw-ucb"), "RAW-UCB 1.4"),
        (make("raw-ucb", alpha=4, sigma=0.5), "RAW-UCB 4, sigma=0.5"),
        (make("raw-ucb", sigma="estimate"), "RAW-UCB 1.4, sigma=estimate"),
        (make("raw-ucb", alpha=1.4 + 1e-9, sigma=0.2**0.5), "RAW-UCB 1.4, sigma=0.4472"),
        (make("exp3-s", alpha=0.5), "Exp3.S, alpha=0.5"),
        (make("swa", horizon=100), "SWA, horizon=100"),
        (doubling(make("sw-ucb", horizon=100, breakpoints=2)), "doubling SW-UCB, horizon=100, breakpoints=2"),
        (make("greedy-oracle"), "greedy oracle"),
    ],
)
def test_a_label_has_alpha_and_what_differs_from_the_defaults(policy: Policy, label: str) -> None:
    assert policy.label == label


def test_a_title_is_not_inherited() -> None:
    class MyUCB(ucb1.UCB1):
        name = "my-ucb"

    del defined_policies["my-ucb"]
    assert MyUCB().label == "MyUCB"
