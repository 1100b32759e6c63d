"""Rules: what keeps them comes back as it was, what breaks them is named with its parameter and its value."""

import math
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rotting
from rotting.common import rules
from rotting.common.rules import RANGE_SCALE, SCALE, NumberOrWord, Option, Rule, option, suggest
from rotting.errors import InvalidArgumentError, InvalidTypeError, InvalidValueError, brief

EVERY = [each for each in vars(rules).values() if isinstance(each, Rule)]
HOLDS: dict[str, Callable[[float], bool]] = {
    "a finite number": lambda x: True,
    "a number in (0, 1]": lambda x: 0 < x <= 1,
    "a probability above 0, at most 1": lambda x: 0 < x <= 1,
    "a positive finite number": lambda x: x > 0,
    "a positive finite number or 'estimate'": lambda x: x > 0,
    "a positive finite number, 'estimate' or 'range'": lambda x: x > 0,
    "a positive number of at most 1e+100": lambda x: 0 < x <= 1e100,
    "a finite number, zero or more": lambda x: x >= 0,
    "a finite number above 1": lambda x: x > 1,
    "a probability in [0, 1]": lambda x: 0 <= x <= 1,
    "a whole number, 1 or more": lambda x: x == int(x) and 1 <= x <= 2**53,
    "a whole number, 0 or more": lambda x: x == int(x) and x >= 0,
    "the number of a run, from 0 to 2^32 - 1": lambda x: x == int(x) and 0 <= x < 2**32,
}


def test_every_rule_is_tested_here() -> None:
    assert {rule.text for rule in EVERY} == set(HOLDS)


@pytest.mark.parametrize("rule", EVERY, ids=lambda rule: rule.text)
@given(
    value=st.one_of(st.floats(), st.integers(), st.text(), st.booleans(), st.none(), st.lists(st.integers())), name=st.text()
)
def test_an_error_carries_what_its_message_says(rule: Rule, value: Any, name: str) -> None:
    error: InvalidArgumentError | None = None
    try:
        rule.check(name, value)
    except InvalidArgumentError as caught:
        error = caught
    if error is not None:
        assert (error.field, error.rule) == (name, f"be {rule.text}")
        assert error.value is value
        assert str(error) == f"{name} must be {rule.text}, got {brief(value)}{error.hint}"
        found = pickle.loads(pickle.dumps(error))
        assert (type(found), str(found), found.field, found.rule) == (type(error), str(error), error.field, error.rule)


@pytest.mark.parametrize("rule", EVERY, ids=lambda rule: rule.text)
@given(value=st.one_of(st.sampled_from([0.0, -0.0, 1.0, 5e-324, 1e100, 2.0**53]), st.floats(allow_nan=False), st.integers()))
def test_a_number_is_accepted_as_the_rule_says(rule: Rule, value: float) -> None:
    try:
        finite = math.isfinite(float(value))
    except OverflowError:
        finite = rule.whole
    if finite and HOLDS[rule.text](value):
        checked = rule.check("x", value)
        assert checked == value
        assert type(checked) is (int if rule.whole else float)
    else:
        with pytest.raises(InvalidValueError) as caught:
            rule.check("x", value)
        assert str(caught.value).startswith(f"x must be {rule.text}, got ")


@pytest.mark.parametrize("rule", EVERY, ids=lambda rule: rule.text)
@pytest.mark.parametrize("value", [True, None, "1", [1.0], 1j])
def test_what_is_no_number_is_of_the_wrong_type(rule: Rule, value: object) -> None:
    takes_words = isinstance(rule, NumberOrWord) and isinstance(value, str)
    with pytest.raises(InvalidValueError if takes_words else InvalidTypeError, match="x must be"):
        rule.check("x", value)


def test_a_whole_number_keeps_all_its_digits() -> None:
    assert rules.INDEX.check("seed", 10**30 + 1) == 10**30 + 1
    assert rules.COUNT.check("runs", np.int32(3)) == 3


def test_a_long_value_is_shortened() -> None:
    with pytest.raises(InvalidValueError, match=r"got 1{40}\.\.\. \(100 characters\)$"):
        rules.COUNT.check("runs", int("1" * 100))


WORDS = ("local", "global", "none")


def test_options_are_words_for_people_and_numbers_for_kernels() -> None:
    rule = option(*WORDS)
    assert [rule.check("restart", word) for word in WORDS] == [0, 1, 2]
    assert [rule.show(rule.check("restart", place)) for place in range(3)] == list(WORDS)


@pytest.mark.parametrize(
    ("value", "error", "end"),
    [
        ("globl", InvalidValueError, "got 'globl'; did you mean 'global'?"),
        ("zzz", InvalidValueError, "got 'zzz'"),
        (3, InvalidTypeError, "got 3"),
        (True, InvalidTypeError, "got True"),
        (0.0, InvalidTypeError, "got 0.0"),
    ],
)
def test_another_option_is_refused(value: Any, error: type[Exception], end: str) -> None:
    rule: Option = option(*WORDS)
    with pytest.raises(error) as caught:
        rule.check("restart", value)
    assert str(caught.value) == f"restart must be one of 'local', 'global', 'none', {end}"


@pytest.mark.parametrize("rule", [SCALE, RANGE_SCALE], ids=lambda rule: rule.text)
def test_a_word_stands_for_a_number_that_passes(rule: NumberOrWord) -> None:
    for word, number in rule.words:
        assert rule.check("sigma", word) == rule.check("sigma", number) == number < -1e200  # what nobody would ask for
        assert rule.show(number) == word
        assert repr(word) in rule.text
    assert len({number for _, number in rule.words}) == len(rule.words)
    assert rule.show(0.5) == 0.5
    assert rule.show(1e-300) == 1e-300


@pytest.mark.parametrize(
    ("rule", "value", "end"),
    [
        (SCALE, "estimat", "a positive finite number or 'estimate', got 'estimat'; did you mean 'estimate'?"),
        (SCALE, "range", "a positive finite number or 'estimate', got 'range'"),
        (RANGE_SCALE, "Range", "a positive finite number, 'estimate' or 'range', got 'Range'; did you mean 'range'?"),
        (RANGE_SCALE, 0.0, "a positive finite number, 'estimate' or 'range', got 0.0"),
    ],
)
def test_another_word_or_number_is_refused(rule: NumberOrWord, value: object, end: str) -> None:
    with pytest.raises(InvalidValueError) as caught:
        rule.check("sigma", value)
    assert str(caught.value) == f"sigma must be {end}"


@given(st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=5))
def test_a_known_word_is_suggested_for_itself(known: list[str]) -> None:
    assert suggest(known[0], known) == f"; did you mean {known[0]!r}?"


@pytest.mark.parametrize(
    ("module", "wrong", "right"),
    [
        ("rotting", "RAWUBC", "RAWUCB"),
        ("rotting", "raw_ucb", "RAWUCB"),
        ("rotting", "Rawucb", "RAWUCB"),
        ("rotting.adapters", "agent_", "Agent"),
        ("rotting.kit", "byindex", "by_index"),
        ("rotting.paper.datasets", "battery", "batteries"),
        ("rotting.paper.theory", "HardFamilys", "HardFamily"),
        ("rotting.problems", "TwoArms", "two_arms"),
    ],
)
def test_a_wrong_name_in_a_public_module_gets_one_suggestion(module: str, wrong: str, right: str) -> None:
    code = f"import {module} as found; found.{wrong}"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stderr.splitlines()[-1]
    assert shown.startswith(f"AttributeError: module '{module}' has no attribute '{wrong}'")
    assert shown.lower().count("did you mean") == 1
    assert f"id you mean: '{right}'?" in shown.replace("mean '", "mean: '")


def test_no_private_name_is_suggested() -> None:
    name = "_RAWUCB"
    with pytest.raises(AttributeError, match=f"^module 'rotting' has no attribute '{name}'$"):
        getattr(rotting, name)
