"""Exact windows: the scan is the definition, states are looked into truly, and both costs are told."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from rotting.common.statistics import mean_interval
from rotting.live import policy_state as states
from rotting.paper.experiments import Prepared
from rotting.paper.experiments import exact_windows as experiment
from rotting.paper.report.claims import Verdict
from rotting.paper.report.model import Findings
from rotting.policies.kernels.random_numbers import derive_key
from rotting.policies.raw_ucb import RAWUCB
from rotting.problems import Problem
from rotting.problems.noise import Gaussian
from rotting.simulation.result import Result
from rotting.simulation.simulate import simulate
from tests.conftest import INTERPRETED
from tests.helpers import games
from tests.helpers.tiny_experiments import time_prepared
from tests.reference.hull import vertices

SHORT, LONG = (20, 60) if INTERPRETED else (100, 400)
SMALL = experiment.Settings(((SHORT, 3), (LONG, 2)), scanned=SHORT, timed=SHORT, timed_rounds=LONG, traced=2, marks=8)
RISES = 700  # pulls, of which each pays less than the one before: as many vertices


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return time_prepared(experiment.prepare(SMALL, 1, progress=False))


@pytest.fixture(scope="module")
def found(prepared: Prepared, played: dict[str, Result]) -> Findings:
    return experiment.findings(SMALL, prepared, played)


@pytest.mark.parametrize("name", games.tables(3, 5))
def test_the_scan_chooses_by_the_definition(name: str) -> None:
    table = games.tables(3, LONG)[name].tolist()
    assert games.play(experiment.RAWUCBScan(), table, LONG) == games.play_naive(RAWUCB(), table, LONG)


def hull_size(rewards: list[float]) -> int:
    """Count the vertices of the least concave majorant of the prefix sums, but for the newest: no window starts there."""
    return len(vertices(rewards)) - 1


def test_vertices_are_counted_as_the_definition_says() -> None:
    problem = experiment.problems(SHORT)["falling"]
    traced = experiment.trace(SMALL, problem, SHORT)
    assert traced.rounds[0] == 1
    assert traced.rounds[-1] == SHORT
    assert all(a < b for a, b in pairwise(traced.rounds.tolist()))
    policy, noise = experiment.policies(problem)[experiment.EXACT], problem.noise
    key = derive_key(SMALL.seed, "noise")
    for run in range(SMALL.traced):
        for k, t in enumerate(traced.rounds.tolist()):
            pulls = simulate(policy, problem, t, runs=run + 1, seed=SMALL.seed, workers=1, progress=False).pulls[0, run]
            rewards = [
                [noise.draw(problem.mean(i, t, n), noise.scale, key, run, i, n) for n in range(pulls[i])] for i in range(2)
            ]
            assert traced.vertices[run, k] == sum(map(hull_size, rewards))


def test_hulls_that_outgrow_their_room_are_looked_at_too() -> None:
    table = -np.arange(RISES, dtype=float) * np.arange(1, RISES + 1)  # each reward is below the one before, exactly
    problem = Problem.rested([table], noise=Gaussian(1e-9))
    settings = replace(SMALL, traced=1)
    traced = experiment.trace(settings, problem, RISES)
    assert traced.vertices[0].tolist() == traced.rounds.tolist()
    policy = experiment.policies(problem)[experiment.EXACT]
    first = states.new_state(policy, 1, states.first_capacity(policy, 1, RISES))
    assert traced.kilobytes[experiment.EXACT] * 1e3 > sum(array.nbytes for array in states.arrays(first))


def test_the_scan_is_played_as_far_as_the_settings_say(prepared: Prepared, found: Findings) -> None:
    scanned = [name for name in prepared.games if name.endswith("-scan")]
    assert scanned == [f"{name}-{SHORT}-scan" for name in experiment.NAMES]
    assert f"up to T = {SHORT:,}" in found.notes[0]
    times = {figure.name: figure for figure in found.figures}["time"]
    for panel in times.panels:
        ends = {curve.label: curve.x[-1] for curve in panel.curves}
        assert ends == {**dict.fromkeys(experiment.LEARNERS, LONG), experiment.SCAN: SHORT}


def test_the_report_says_where_the_scan_agrees(prepared: Prepared, played: dict[str, Result], found: Findings) -> None:
    assert "in the games that both played, 3, the pulls are equal in 3." in found.paragraphs[1]
    name = f"abrupt-{SHORT}-scan"
    other = replace(played[name], pulls=played[name].pulls[:, :, ::-1] + np.array([1, -1]))
    paragraph = experiment.findings(SMALL, prepared, {**played, name: other}).paragraphs[1]
    assert "in the games that both played, 3, the pulls are equal in 2." in paragraph


def test_the_table_holds_what_was_played(prepared: Prepared, played: dict[str, Result], found: Findings) -> None:
    rows = found.tables["cost"].rows
    assert len(rows) == 3 * (2 * len(experiment.LEARNERS) + 1)
    for row in rows:
        scan = row["policy"] == experiment.SCAN
        result = played[experiment.game_name(row["problem"], row["T"], scan)]
        place = 0 if scan else experiment.LEARNERS.index(row["policy"])
        times = prepared.times[experiment.game_name(row["problem"], row["T"], scan)]
        assert row["us"].mean == pytest.approx(times[:, place].mean())
        assert row["regret"].mean == pytest.approx(result.regret[place, :, -1].mean())
        if scan:
            assert row["kB"] == (2 + 3 * (SHORT + 1)) * 8 / 1e3  # two counts, two arms' sums, the roots


def test_cost_is_told_against_the_scan_and_against_the_hull(prepared: Prepared, played: dict[str, Result]) -> None:
    """The scan takes 40 us on the first problem, 50 and 60 on the others; the hull 2, 3 and 4; the efficient version 1.

    In a second process everything takes twice as long, but for the scan, which takes three times as long.
    """
    times = dict(prepared.times)
    for k, name in enumerate(experiment.NAMES):
        game, scan = (experiment.game_name(name, SHORT, scanned) for scanned in (False, True))
        of_game, of_scan = np.array([2.0 + k, 1.0, 5.0]), np.array([40.0 + 10.0 * k])
        times |= {game: np.stack([of_game, 2 * of_game]), scan: np.stack([of_scan, 3 * of_scan])}
    found = experiment.findings(SMALL, replace(prepared, times=times), played)
    claims = {claim.id: claim for claim in found.claims}
    against_scan, against_hull = (claims[f"windows-eff-cheaper-than-{exact}"] for exact in ("scan", "hull"))
    assert against_scan.estimate == mean_interval(np.array([50.0, 75.0]))
    assert against_scan.verdict == Verdict.NOT_COMPARABLE
    assert (against_hull.estimate.mean, against_hull.verdict) == (3.0, Verdict.NOT_COMPARABLE)
    # Other code than the paper's decides nothing: each stands beside the other.
    assert against_scan.remark == f"Over RAW-UCB on hulls: {against_hull.measured}."
    assert against_hull.remark == f"Over the scan of all windows: {against_scan.measured}."
