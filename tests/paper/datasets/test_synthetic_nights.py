"""The nights that are drawn."""

import hashlib
import json

import numpy as np
import pytest

from rotting.paper.datasets import Night, synthetic_nights
from rotting.paper.datasets.nights import NIGHTS, VARIANCE
from rotting.problems.noise import Binomial

ALL = synthetic_nights()


def switches(night: Night) -> int:
    return int(np.count_nonzero(np.diff(night.probabilities.argmax(axis=0))))


def test_they_are_always_the_same() -> None:
    content = json.dumps([night.to_json() for night in ALL.values()])
    # Of the nights that published figures show: another digest is other nights.
    assert hashlib.sha256(content.encode()).hexdigest() == "4ba6ecaed7ce6551e5e741b137870631d45b568fd690adce5ca6a55967bbc8fd"


@pytest.mark.parametrize("number", NIGHTS)
def test_they_resemble_the_real_ones(number: int) -> None:
    night = ALL[number]
    assert night.synthetic
    assert night.label == f"night {number} (synthetic)"
    assert 8 <= night.n_arms <= 16
    assert 150_000 <= night.horizon <= 250_000
    assert night.traffic.sum() == 10 * night.horizon
    assert night.probabilities.min() >= 0.02
    assert night.probabilities.max() <= 0.07
    # Every article falls through the night, hour by hour on the whole, but not at every step: nothing is enforced.
    hours = night.probabilities.reshape(night.n_arms, 12, 12).mean(axis=2)
    assert np.all(hours[:, -1] < 0.9 * hours[:, 0])
    assert np.mean(np.diff(night.probabilities) > 0) > 0.1
    assert not night.problem().is_rotting()
    assert np.diff(night.timestamps).tolist() == [300] * 143
    assert night.timestamps[0] % 86_400 == 22 * 3_600


def test_night_2_is_hard_and_night_7_is_easy() -> None:
    assert switches(ALL[2]) >= 4
    best = ALL[2].probabilities.max(axis=0)
    assert np.mean(np.count_nonzero(best - ALL[2].probabilities < 0.003, axis=0)) > 4
    assert switches(ALL[7]) == 0
    second, first = np.sort(ALL[7].probabilities, axis=0)[-2:]
    assert np.min(first - second) > 0.005


def test_they_are_problems_of_ten_clicks() -> None:
    problem = ALL[2].problem()
    assert problem.kind == "restless"
    assert problem.name == "synthetic-night-2"
    assert problem.noise == Binomial(10)
    assert problem.mean(3, problem.horizon or 0, 0) == 10 * ALL[2].probabilities[3, -1]
    assert pytest.approx(10 * 0.03 * 0.97, abs=0.005) == VARIANCE


def test_they_are_a_mapping() -> None:
    assert list(ALL) == list(NIGHTS)
    assert ALL.synthetic
    assert ALL.notes == []
    assert [night.number for night in ALL.values()] == list(NIGHTS)
    assert Night.from_json(json.loads(json.dumps(ALL[9].to_json()))).to_json() == ALL[9].to_json()
