"""Policies are values with checked parameters."""

import dataclasses
import inspect
import pickle
from typing import Any

import pytest

from rotting.errors import InvalidTypeError, InvalidValueError, KernelError
from rotting.parts.doubling import doubling
from rotting.policies import ucb1
from rotting.policies.glr_ucb import GLRUCB
from rotting.policies.sw_ucb import SWUCB
from rotting.policy import Kernel, Policy, defined
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
    with pytest.raises(AttributeError, match="RAWUCB has no attribute 'gamma'"):
        make("raw-ucb").gamma  # noqa: B018


KERNEL = ucb1.UCB1.kernel
UPDATE = "update(p, s, t, arm, reward) must be a plain Python function, got None"


@pytest.mark.parametrize(
    ("attributes", "error", "message"),
    [
        ({"kernel": KERNEL}, InvalidTypeError, "Mine must have a `name`, a text such as 'my-policy', got None"),
        ({"name": 3, "kernel": KERNEL}, InvalidTypeError, "Mine must have a `name`, a text such as 'my-policy', got 3"),
        ({"name": "mine"}, InvalidTypeError, "Mine must have a `kernel`, the Kernel of its functions, got None"),
        ({"name": "mine", "kernel": Kernel(KERNEL.params, KERNEL.init, KERNEL.choose)}, KernelError, f"Mine: {UPDATE}"),
        (
            {"name": "mine", "kernel": dataclasses.replace(KERNEL, params=dict)},
            KernelError,
            "Mine: params must be a NamedTuple class, got <class 'dict'>",
        ),
    ],
)
def test_what_is_no_policy_is_told_by_its_class(attributes: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        type("Mine", (Policy,), attributes)
    assert str(caught.value) == message
    assert "mine" not in defined


def test_a_base_of_policies_needs_neither_name_nor_kernel_and_is_no_policy() -> None:
    base = type("Base", (Policy,), {})
    with pytest.raises(InvalidTypeError, match="^Base must have a `name` and a `kernel`, got neither$"):
        base()


def test_two_classes_of_one_name_are_refused_and_a_new_definition_of_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def define(qualname: str, module: str = "__main__") -> type[Policy]:
        attributes = {"name": "one-name", "kernel": KERNEL, "__qualname__": qualname, "__module__": module}
        return type("Mine", (Policy,), attributes)

    monkeypatch.setitem(defined, "one-name", define("Mine"))
    for other in (("Other",), ("Mine", "elsewhere")):
        with pytest.raises(
            InvalidValueError, match="^name must be that of one policy, got 'one-name' for Mine of __main__ and "
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

    del defined["my-ucb"]
    assert MyUCB().label == "MyUCB"
