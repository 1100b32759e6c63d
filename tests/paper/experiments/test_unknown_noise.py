"""RAW-UCB with sigmas that are wrong: the sigmas, the problems, the line of the estimate, and the claims."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rotting.paper import experiments
from rotting.paper.experiments import unknown_noise
from rotting.paper.experiments.unknown_noise import FACTORS, STATEMENTS, TRUE, _Measured
from rotting.paper.report.claims import Verdict


def measured(estimated: float, given: dict[int, float]) -> _Measured:
    """Regrets near 1, but for these, in 40 runs of every problem."""
    rng = np.random.default_rng(0)
    regret = 1.0 + 0.01 * rng.normal(size=(5, len(FACTORS) + 1, 40, 1))
    regret[:, -1] *= estimated
    for place, factor in given.items():
        regret[:, place] *= factor
    drawn: Any = {name: SimpleNamespace(regret=each) for name, each in zip(unknown_noise.cases(100), regret, strict=True)}
    return _Measured(drawn)


def verdicts(data: _Measured) -> dict[str, str]:
    return {each.id: each.decide(data).verdict for each in STATEMENTS}


def test_sigma_goes_from_a_tenth_to_ten_times_the_true_one() -> None:
    assert (FACTORS[0], FACTORS[TRUE], FACTORS[-1]) == (0.1, 1.0, 10.0)
    sigmas = [policy.sigma for policy in unknown_noise.policies(0.5)]
    assert sigmas == [*(0.5 * factor for factor in FACTORS), "estimate"]


def test_the_problems_rot_as_the_report_says() -> None:
    T = 20_000
    found = unknown_noise.cases(T)
    assert all(case.problem.is_rotting() for case in found.values())
    clicks, counts = found["clicks"].problem, found["counts"].problem
    rates = [clicks.mean(i, 1, 0) for i in range(10)]
    assert np.mean(rates) == pytest.approx(0.02)
    assert (rates[0], rates[-1]) == pytest.approx((0.002, 0.038))
    assert clicks.mean(9, 1 + T // 10, 0) == pytest.approx(0.019)
    assert clicks.mean(0, T, 0) == pytest.approx(0.001, rel=1e-3)
    assert [counts.mean(i, 1, 0) for i in (0, 9)] == pytest.approx([4.5, 9.0])
    assert counts.mean(9, T, T // 20) == pytest.approx(6.5)
    steady = found["steady-clicks"].problem
    assert {steady.mean(i, 1, 0) for i in range(10)} == {0.02}
    assert [steady.mean(i, T, (i + 1) * T // 20) for i in (0, 9)] == pytest.approx([0.01, 0.01])
    assert steady.mean(9, T, T // 4) == pytest.approx(0.015)
    assert found["clicks"].sigma == pytest.approx(np.sqrt(0.02 * 0.98), abs=1e-4)


def test_claims_are_decided_by_the_regrets_that_they_name() -> None:
    dear = {0: 5.0, len(FACTORS) - 1: 5.0}
    assert set(verdicts(measured(0.7, dear)).values()) == {Verdict.HOLDS}
    costly = verdicts(measured(1.3, dear))
    assert {name for name, found in costly.items() if found == Verdict.HOLDS} == {"noise-too-large", "noise-too-small"}
    assert set(costly.values()) == {Verdict.HOLDS, Verdict.FAILS}
    cheap = verdicts(measured(0.7, {}))
    assert {name for name, found in cheap.items() if found == Verdict.FAILS} == {"noise-too-large", "noise-too-small"}
    better = verdicts(measured(1.0, {**dear, TRUE - 1: 0.5}))
    assert {name for name, found in better.items() if found == Verdict.FAILS} == {
        "noise-estimated-clicks",
        "noise-no-better-sigma",
    }


@pytest.mark.usefixtures("tiny")
def test_the_estimate_is_a_line_across_all_sigmas() -> None:
    (finished,) = experiments.run(["unknown-noise"], workers=1, progress=False)
    (figure,) = finished.section.findings.figures
    assert len(figure.panels) == len(finished.results) == 5
    for panel, result in zip(figure.panels, finished.results.values(), strict=True):
        given, line = panel.curves
        assert given.x.tolist() == line.x.tolist() == list(FACTORS)
        assert given.y.tolist() == pytest.approx(result.regret[:-1, :, -1].mean(axis=1))
        assert line.y.tolist() == [pytest.approx(result.regret[-1, :, -1].mean())] * len(FACTORS)
        assert line.low is not None
        assert line.high is not None
        assert (line.low <= line.y).all()
        assert (line.y <= line.high).all()
        assert (given.points, line.points) == (True, False)
