"""Policies by name."""

import json
import pkgutil
import subprocess
import sys
from typing import Any

import pytest

from rotting import policies
from rotting.errors import InvalidValueError
from rotting.policies.parts.doubling import doubling
from rotting.policy import Policy, _library_names
from rotting.registry import find, from_json, list_policies, make
from tests.helpers.games import examples


def test_names_are_sorted_and_found() -> None:
    names = [each.name for each in list_policies()]
    assert names == sorted(names)
    assert [find(name) for name in names] == list_policies()


@pytest.mark.parametrize("policy", [*examples(), doubling(make("exp3", horizon=8))], ids=repr)
def test_json_gives_back_the_policy(policy: Policy) -> None:
    assert from_json(json.loads(json.dumps(policy.to_json()))) == policy


def test_the_files_of_the_library_tell_the_names_of_its_policies() -> None:
    modules = [f"{policies.__name__}.{each.name}" for each in pkgutil.iter_modules(policies.__path__) if not each.ispkg]
    assert {each.name: each.__module__ for each in list_policies() if each.__module__ in modules} == _library_names()


UNLOADED = """
import sys
from rotting.policy import Kernel, Policy

def init(p, n_arms, capacity):
    return None

def choose(p, s, t, key, arms):
    return arms[0]

def update(p, s, t, arm, reward):
    pass

try:
    type("Mine", (Policy,), {"name": "raw-ucb", "kernel": Kernel(init, choose, update)})
except ValueError as error:
    print(error)
print("rotting.policies.raw_ucb" in sys.modules)
"""


def test_a_name_of_the_library_is_taken_before_its_policy_is_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", UNLOADED], capture_output=True, text=True, check=True, timeout=120)
    message = (
        "name must be unique among policies, got 'raw-ucb' for the policy of rotting.policies.raw_ucb and Mine of __main__"
    )
    assert done.stdout.splitlines() == [message, "False"]


def test_a_wrong_name_gets_a_suggestion() -> None:
    with pytest.raises(InvalidValueError, match=r"^policy must be one of ad-switch, .*got 'fwea'; did you mean 'fewa'\?$"):
        make("fwea")


@pytest.mark.parametrize("data", [None, [], {}, {"policy": "fewa"}, {"policy": "fewa", "params": [], "more": 1}])
def test_other_json_is_refused(data: Any) -> None:
    with pytest.raises(InvalidValueError, match="a policy in JSON must be an object with 'policy' and 'params', got"):
        from_json(data)
