"""Constants of problems against their definitions, spelled out; which theorem applies, and what it promises round by round."""

import json
import math
from collections.abc import Callable, Sequence
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rotting import cli, theory
from rotting.policy import Policy
from rotting.problems import Abrupt, General, Linear, Piecewise, Problem, Product, Rested, Restless, Sum, stationary, two_arms
from rotting.problems.noise import Bernoulli, Gaussian, Noiseless, Poisson
from rotting.problems.oracle import OPTIMAL, optimal_rewards
from rotting.registry import make
from rotting.simulation.simulate import simulate
from rotting.theory.theorems import why_no_bounds

FOUR = ("raw-ucb", "eff-raw-ucb", "fewa", "eff-fewa")
levels = st.integers(-8, 8).map(lambda k: k / 8)


@st.composite
def tables(draw: st.DrawFn, fall: bool) -> np.ndarray:
    K, T = draw(st.integers(1, 4)), draw(st.integers(1, 30))
    rows = [draw(st.lists(levels, min_size=T, max_size=T)) for _ in range(K)]
    return np.array([sorted(row, reverse=True) if fall else row for row in rows])


def restless(problem: Problem, T: int | None = None) -> theory.RestlessConstants:
    known = theory.constants(problem, T).restless
    assert known is not None
    return known


def rested(problem: Problem, T: int | None = None) -> theory.RestedConstants:
    known = theory.constants(problem, T).rested
    assert known is not None
    return known


# --- Restless constants -------------------------------------------------------------------------------------


@given(means=tables(fall=False), data=st.data())
def test_restless_constants_are_what_they_are_defined_as(means: np.ndarray, data: st.DataObject) -> None:
    K, T = means.shape
    t = data.draw(st.integers(1, T))
    known, seen = restless(Problem.restless(means)), means[:, :t]
    columns = [tuple(column) for column in seen.T]
    changes = [k for k in range(1, t) if columns[k] != columns[k - 1]]
    assert known.pieces(t) == len(changes) + 1
    assert known.variation(t) == sum(max(abs(a - b) for a, b in zip(x, y, strict=True)) for x, y in pairwise(columns))
    assert known.spread(t) == seen.max() - seen.min()
    assert known.budget(t) == max(known.variation(t), known.spread(t))
    gaps = [[max(columns[k]) - mean for mean in columns[k]] for k in [0, *changes]]
    assert known.gaps(t).tolist() == gaps
    positive = [gap for row in gaps for gap in row if gap > 0]
    assert known.gap_range(t) == ((min(positive), max(positive)) if positive else None)
    assert known.lengths(t).tolist() == [b - a for a, b in pairwise([0, *changes, t])]
    assert known.largest_regret(t) == pytest.approx(sum(max(column) - min(column) for column in columns))
    assert known.n_arms == K


@given(means=tables(fall=True))
def test_the_budget_of_falling_means_is_that_of_the_paper(means: np.ndarray) -> None:
    """Means in [-V, 0] once the largest is subtracted, and Remark 1: V <= budget <= K V, V <= first gaps + variation."""
    known = restless(Problem.restless(means))
    V = means[:, 0].max() - means[:, -1].min()
    assert known.spread() == V
    assert known.spread() <= known.budget() <= len(means) * V or V == 0
    assert known.spread() <= means[:, 0].max() - means[:, 0].min() + known.variation()


# --- Rested constants ---------------------------------------------------------------------------------------


@given(means=tables(fall=True), data=st.data())
def test_rested_constants_are_what_they_are_defined_as(means: np.ndarray, data: st.DataObject) -> None:
    K, T = means.shape
    t = data.draw(st.integers(1, T))
    known = rested(Problem.rested(means))
    # Slip 2: mu(n - 1) - mu(n), with the best first mean before the first.
    falls = [x - y for row in means for x, y in pairwise([means[:, 0].max(), *row[:t]])]
    assert known.largest_fall(t) == max(falls)
    collected = sorted((-means[i, n], i, n) for i in range(K) for n in range(t))[:t]
    pulls = [sum(i == arm for _, i, _ in collected) for arm in range(K)]
    assert known.optimal_pulls(t) == pulls
    assert known.limits(t) == [t - each for each in pulls]
    assert known.smallest_reward(t) == -collected[-1][0]
    assert known.smallest_reward(t) == min(means[i, pulls[i] - 1] for i in range(K) if pulls[i])
    best = optimal_rewards(Problem.rested(means), t)
    assert best.how == OPTIMAL
    assert best.cumulative[-1] == sum(means[i, : pulls[i]].sum() for i in range(K))
    assert known.largest_regret(t) == best.cumulative[-1] - means[:, :t].sum(axis=1).min()

    policy = make(data.draw(st.sampled_from(FOUR)), alpha=data.draw(st.sampled_from([0.01, 0.1, 1.0])), sigma=0.25)
    level = theory.constant(policy) ** 2 * policy.sigma**2 * math.log(t)
    for i in range(K):
        # Slip 3: the h first overpulls have the means mu(N*), ..., mu(N* + h - 1).
        overpulls = means[i, pulls[i] : t]
        gap = [math.nan, *(known.smallest_reward(t) - overpulls[:h].mean() for h in range(1, len(overpulls) + 1))]
        for h in range(1, len(overpulls) + 1):
            assert known.pseudo_gap(i, h, t) == pytest.approx(gap[h], abs=1e-15)
        allowed = [h for h in range(1, len(overpulls) + 1) if h == 1 or (h - 1) * gap[h - 1] ** 2 <= level]
        assume(not any(math.isclose((h - 1) * gap[h - 1] ** 2, level) for h in range(2, len(overpulls) + 1)))
        most = max(allowed, default=0)
        assert known.overpulls(policy, t)[i] == most
        assert known.pseudo_gaps(policy, t)[i] == pytest.approx(gap[most - 1] if most > 1 else math.inf, abs=1e-15)


def test_pseudo_gaps_by_hand() -> None:
    """Arm 1 is worth 1, 1, 1/2, 0, 0, ... and arm 0 always 1/4, T = 10: N* = 7, 3 and the smallest optimal reward is 1/4.

    Overpulls of arm 1 are worth 0, so Delta_{1,h} = 1/4; of arm 0, 1/4, so Delta_{0,h} = 0. RAW-UCB with alpha = 1/8 has C = 1;
    with sigma = 1/4, C^2 sigma^2 ln 10 = 0.143912: (h - 1) / 16 <= 0.143912 up to h = 3. All 3 overpulls of arm 0 are allowed.
    """
    problem = Problem.rested([0.25, Piecewise([1.0, 0.5, 0.0], starts=[0, 2, 3])], horizon=10)
    known, policy = rested(problem), make("raw-ucb", alpha=0.125, sigma=0.25)
    assert (known.optimal_pulls(), known.smallest_reward(), known.largest_fall()) == ([7, 3], 0.25, 0.75)
    assert known.limits() == [3, 7]
    assert known.overpulls(policy) == [3, 3]
    assert known.pseudo_gaps(policy) == [0.0, 0.25]
    with pytest.raises(ValueError, match="h must be a number of overpulls of arm 0, from 1 to 3, got 4"):
        known.pseudo_gap(0, 4)
    with pytest.raises(ValueError, match="t must be at most the horizon 10, got 11"):
        known.largest_fall(11)


def test_stationary_arms_have_their_gaps_in_both_settings() -> None:
    """Remark 1 of the FEWA paper: Delta_{i,h} = Delta_i, and the rested bound is nearly Theorem 3 with one piece."""
    problem = stationary([0.9, 0.4, 0.65], horizon=100_000)
    policy = make("raw-ucb", alpha=5)
    known = rested(problem)
    assert known.optimal_pulls() == [100_000, 0, 0]
    assert known.pseudo_gaps(policy) == pytest.approx([math.inf, 0.5, 0.25], rel=1e-12)
    values = {each.name: float(each.values[-1]) for each in theory.bounds(problem, policy)}
    L = V = 0.5
    assert values["rested gap-dependent"] == pytest.approx(values["piecewise gap-dependent"] + 18 * L - 18 * V, rel=1e-12)


# --- Which theorem applies ----------------------------------------------------------------------------------

LINEAR = Linear(1.0, slope=-1e-3)
PROBLEMS: dict[str, tuple[Problem, str, tuple[str, str]]] = {
    # what, its kind, and why the restless and the rested results do not apply
    "rested": (two_arms(horizon=100), "rested", ("means follow the pulls", "")),
    "restless": (Problem.restless([LINEAR, 0.5], horizon=100), "restless", ("", "means follow the rounds")),
    "stationary": (stationary([0.5, 0.2], horizon=100), "stationary", ("", "")),
    "both": (Problem([Rested(LINEAR), Restless(LINEAR)], horizon=100), "both", ("Proposition 1", "Proposition 1")),
    "sum": (Problem([Sum(LINEAR, LINEAR), Rested(0.5)], horizon=100), "both", ("Proposition 1", "Proposition 1")),
    "general": (Problem([General(lambda t, n: 1 / (t + n))], horizon=10), "both", ("Proposition 1", "Proposition 1")),
    "rising": (Problem.rested([Linear(0.0, slope=0.01), 0.5], horizon=100), "rested", ("not rotting", "not rotting")),
    "counts": (Problem.rested([2.0, 1.0], Poisson(), 100), "stationary", ("not sub-Gaussian", "not sub-Gaussian")),
    # The clocks that matter are those up to the horizon.
    "not yet": (Problem([Rested(Abrupt(1, 0, at=200)), Restless(LINEAR)], horizon=100), "restless", ("", "the rounds")),
    # A product with zero has steps, but its mean never changes.
    "zero": (Problem([Product(0.0, LINEAR), Rested(0.5)], horizon=100), "stationary", ("", "")),
    "zero for ever": (Problem([Product(LINEAR, 0.0), Rested(0.5)], horizon=100), "stationary", ("", "")),
    "zero at last": (Problem([Product(1.0, [1.0, 0.0]), Rested(0.5)], horizon=2), "restless", ("", "the rounds")),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_table_says_what_applies_and_why_not(name: str) -> None:
    problem, kind, reasons = PROBLEMS[name]
    table = theory.applicable(problem)
    assert theory.constants(problem).kind == kind
    assert [row["reference"].split(" (")[0] for row in table.rows] == [
        "Theorem 1", "Theorem 2", "Theorem 3", "Proposition 6", "Proposition 7"
    ]  # fmt: skip
    for row, why in zip(table.rows, [reasons[0]] * 3 + [reasons[1]] * 2, strict=True):
        assert row["applies"] == (why == "")
        assert (why or f"{kind} and rotting") in row["why"]
        assert row["why"] in str(table)
    shown = theory.table(problem)
    for row, other in zip(shown.rows, table.rows, strict=True):
        assert {name: row[name] for name in other} == other
        assert set(row) == {*other, "bounds", "why_not", "arms"}
        for key in ("bounds", "why_not", "arms"):
            assert list(row[key]) == ["RAW-UCB", "EFF-RAW-UCB", "FEWA", "EFF-FEWA"]
        assert all((value is not None) == row["applies"] for value in row["bounds"].values())
        assert all(no == (None if row["applies"] else row["why"]) for no in row["why_not"].values())
        dependent = row["applies"] and row["theorem"] == "rested gap-dependent"
        assert all((arms is not None) == dependent for arms in row["arms"].values())
    written = json.loads(json.dumps([shown.rows, theory.constants(problem).to_json()], allow_nan=False))
    assert [written[1][setting] is not None for setting in ("restless", "rested")] == [
        each is not None for each in (theory.constants(problem).restless, theory.constants(problem).rested)
    ]
    assert str(shown)
    assert shown.to_markdown()


def test_pieces_of_a_mean_that_never_changes_are_one() -> None:
    assert restless(PROBLEMS["zero"][0]).pieces() == restless(PROBLEMS["zero for ever"][0]).pieces() == 1


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        (make("ucb1"), "policy must be one of RAW-UCB, EFF-RAW-UCB, FEWA, EFF-FEWA"),
        (make("raw-ucb"), r"alpha must be in [4, inf) for RAW-UCB in Theorems 1 to 3 (restless), got 1.4"),
        (make("eff-raw-ucb", alpha=3, m=1.5), "m must be 2"),
        (make("fewa", alpha=4, sigma=0.25), "sigma must be at least 0.5, the sub-Gaussian scale of Bernoulli(), got 0.25"),
    ],
)
def test_a_policy_without_a_guarantee_is_told_why(policy: Policy, why: str) -> None:
    problem = Problem.restless([Linear(1.0, slope=-1e-3), 0.5], Bernoulli(), horizon=100)
    table = theory.applicable(problem, policy)
    assert not any(row["applies"] for row in table.rows)
    assert why in table.rows[0]["why"]
    assert repr(policy) in str(table)
    assert theory.bounds(problem, policy) == ()
    shown = theory.table(problem, [policy])
    assert shown.rows[0]["bounds"] == {repr(policy): None}
    assert why in shown.rows[0]["why_not"][repr(policy)]
    assert f"{policy!r}: {shown.rows[0]['why_not'][repr(policy)]}" in shown.lines
    assert [why in reason for reason in why_no_bounds(problem, policy)] == [True]
    assert theory.applicable(problem, make("fewa", alpha=4, sigma=0.5)).rows[0]["applies"]


def test_a_bound_that_equals_the_largest_regret_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no news that regret is at most what the worst play has; a trifle less is news."""
    problem, policy = two_arms(L=0.5, horizon=1000), make("raw-ucb", alpha=5.0)
    bound = theory.bounds(problem, policy, checkpoints=[1000])[0]
    value = float(bound.values[-1])
    for most, mark in ((value, "*"), (math.nextafter(value, math.inf), "")):
        monkeypatch.setattr(theory.Constants, "largest_regret", lambda *_, most=most: most)
        (line,) = (line for line in str(theory.table(problem, [policy])).splitlines() if line.startswith(bound.name))
        assert f" {value:,.1f}{mark} " in line


def test_the_table_shows_the_constants_of_every_arm_and_piece() -> None:
    """Two pieces of 60 and 40 rounds with the gaps 1/2, 0 and 0, 1/4; the worst play loses 60 / 2 + 40 / 4 = 40."""
    problem = Problem.restless([0.5, Abrupt(1.0, 0.25, at=60)], Gaussian(0.001), horizon=100)
    text = str(theory.table(problem))
    assert "gaps in rounds 1 to 60: 0.5, 0\n" in text
    assert "gaps in rounds 61 to 100: 0, 0.25\n" in text
    assert "largest regret of any play: 40;" in text
    known = theory.constants(problem)
    assert known.largest_regret() == 40.0
    written = known.to_json()["restless"]
    assert (written["gaps"], written["gap_range"]) == ([[0.5, 0.0], [0.0, 0.25]], (0.25, 0.5))
    drift = theory.constants(Problem.restless([LINEAR, 0.5], horizon=100)).to_json()["restless"]
    assert drift["pieces"] > 12
    assert drift["gaps"] is None

    problem, policy = two_arms(L=1.0, horizon=100, sigma=0.05), make("raw-ucb", alpha=5, sigma=0.05)
    used = rested(problem)
    row = theory.table(problem, [policy]).rows[4]
    assert row["arms"][repr(policy)] == {"overpulls": used.overpulls(policy), "pseudo_gaps": used.pseudo_gaps(policy)}
    assert f"{policy!r}: most overpulls of each arm h+ = 25, 2, with pseudo-gaps 0, 0.5" in str(theory.table(problem, [policy]))


def test_a_bound_that_no_play_can_reach_is_marked() -> None:
    """Of `two_arms` with L = 1 and T = 100, the worst play gets -25 where the best gets 12.5."""
    for sigma, marked in ((1.0, True), (1e-6, False)):
        problem = two_arms(L=1.0, horizon=100, sigma=sigma)
        shown = theory.table(problem)
        most = theory.constants(problem).largest_regret()
        assert most == 37.5
        values = [value for row in shown.rows for value in row["bounds"].values() if value is not None]
        assert all((value >= most) == marked for value in values)
        assert [f"{value:,.1f}*" in str(shown) for value in values] == [marked] * len(values)
    assert theory.constants(PROBLEMS["both"][0]).largest_regret() is None


@pytest.mark.parametrize("clock", [Problem.rested, Problem.restless])
@given(data=st.data())
def test_no_play_has_more_than_the_largest_regret(clock: Callable[..., Problem], data: st.DataObject) -> None:
    means = data.draw(tables(fall=True))[:3, :6]
    K, T = means.shape
    problem = clock(means)

    def total(arms: Sequence[int]) -> float:
        pulls, collected = [0] * K, 0.0
        for t, i in enumerate(arms, start=1):
            collected += problem.mean(i, t, pulls[i])
            pulls[i] += 1
        return collected

    totals = [total(arms) for arms in product(range(K), repeat=T)]
    assert theory.constants(problem).largest_regret() == max(totals) - min(totals)


def test_without_noise_the_bounds_are_those_of_another_sigma_and_say_so() -> None:
    problem = stationary([0.5, 0.25], Noiseless(), 100)
    shown = theory.table(problem)
    assert any("the bounds are those of sigma = 1" in line for line in shown.lines)
    assert shown.rows[0]["bounds"] == theory.table(stationary([0.5, 0.25], Gaussian(1.0), 100)).rows[0]["bounds"]


# --- Round by round -----------------------------------------------------------------------------------------

NAMES = {
    "restless": ["variation budget", "piecewise minimax", "piecewise gap-dependent"],
    "rested": ["rested gap-free", "rested gap-dependent"],
}
GAMES: dict[str, Problem] = {
    "rested": Problem.rested([Piecewise([1.0, 0.25], starts=[0, 20]), Linear(0.9, slope=-0.01)], Gaussian(0.5), 100),
    "restless": Problem.restless([Piecewise([1.0, 0.25], starts=[0, 20]), Linear(0.9, slope=-0.01)], Gaussian(0.5), 100),
}


@pytest.mark.parametrize("name", FOUR)
@pytest.mark.parametrize("game", GAMES)
def test_a_bound_at_round_t_is_the_theorem_of_horizon_t(game: str, name: str) -> None:
    policy, problem = make(name, alpha=5, sigma=0.5), GAMES[game]
    rounds = [1, 2, 19, 20, 21, 50, 100]
    found = theory.bounds(problem, policy, checkpoints=rounds)
    assert [each.name for each in found] == NAMES[game]
    for each in found:
        assert each.checkpoints.tolist() == rounds
        assert each.policy == policy
        assert each.reference in {theorem.reference for theorem in theory.THEOREMS}
        shorter = [
            next(bound.values[-1] for bound in theory.bounds(problem, policy, horizon=t) if bound.name == each.name)
            for t in rounds
        ]
        assert each.values.tolist() == pytest.approx(shorter, rel=1e-12)


def test_bounds_are_the_functions_of_the_constants() -> None:
    policy, rest = make("eff-fewa", alpha=4, sigma=0.5), restless(GAMES["restless"])
    variation, minimax, gaps = (float(each.values[-1]) for each in theory.bounds(GAMES["restless"], policy))
    assert variation == theory.variation_budget(policy, 100, 2, rest.budget())
    assert minimax == theory.piecewise_minimax(policy, 100, 2, rest.pieces(), rest.spread())
    assert gaps == theory.piecewise_gap_dependent(policy, 100, rest.gaps(), rest.spread(), rest.lengths())
    used = rested(GAMES["rested"])
    free, dependent = (float(each.values[-1]) for each in theory.bounds(GAMES["rested"], policy))
    assert free == theory.rested_gap_free(policy, 100, 2, used.largest_fall())
    assert dependent == theory.rested_gap_dependent(policy, 100, used.pseudo_gaps(policy), used.largest_fall(), used.limits())


def test_the_tables_default_to_the_smallest_alphas() -> None:
    shown = theory.table(GAMES["restless"])
    for policy, title in zip(theory.theoretical_policies("restless", 0.5), shown.rows[0]["bounds"], strict=True):
        assert policy.alpha == {"RAW-UCB": 4, "FEWA": 4, "EFF-RAW-UCB": 3, "EFF-FEWA": 3}[title]
        values = [float(each.values[-1]) for each in theory.bounds(GAMES["restless"], policy)]
        assert [row["bounds"][title] for row in shown.rows[:3]] == values
    rested_alphas: list[Any] = [each.alpha for each in theory.theoretical_policies("rested")]
    assert rested_alphas == [5, 4, 5, 4]
    with pytest.raises(ValueError, match="setting must be 'restless' or 'rested', got 'both'"):
        theory.theoretical_policies("both")


def test_an_offset_of_all_means_changes_nothing() -> None:
    policy = make("raw-ucb", alpha=5, sigma=0.5)
    for kind, arms in (("rested", Problem.rested), ("restless", Problem.restless)):
        values = []
        for offset in (0.0, 1024.0):
            shifted = [Piecewise([offset + 1.0, offset + 0.25], starts=[0, 20]), offset + 0.5]
            values.append([each.values.tolist() for each in theory.bounds(arms(shifted, Gaussian(0.5), 100), policy)])
        assert values[0] == values[1], kind


# --- Plots and the command line -----------------------------------------------------------------------------


def test_a_plot_without_bounds_says_why() -> None:
    pytest.importorskip("matplotlib")
    policies = [make("raw-ucb", alpha=1.4), make("ucb1")]
    title = simulate(policies, two_arms(horizon=20), runs=2).plot(bounds=True).get_title(loc="left").replace("\n", " ")
    assert "no theorem applies alpha must be in [5, inf) for RAW-UCB in Propositions 6 and 7 (rested), got 1.4 policy" in title
    assert "means follow the pulls" not in title  # the problem is fit for the propositions
    both = Problem([Rested(LINEAR), Restless(LINEAR)], horizon=10)
    title = simulate(policies, both, runs=2).plot(bounds=True).get_title(loc="left")
    assert title.count("Proposition 1") == 1
    title = (
        simulate([*policies, make("raw-ucb", alpha=5)], two_arms(horizon=20), runs=2).plot(bounds=True).get_title(loc="left")
    )
    assert title.endswith("and what is proved of it")


@pytest.mark.parametrize("means", [[0.5], [0.5, 0.5], [0.5, 0.25]])
def test_a_plot_of_a_game_without_regret_is_drawn(means: list[float]) -> None:
    """One round, of one arm or of arms that are alike: no regret, and bounds of zero, have no place on a logarithmic axis."""
    pytest.importorskip("matplotlib")
    problem = stationary(means, horizon=1)
    ax = simulate(make("raw-ucb", alpha=5), problem, runs=2).plot(bounds=True)
    assert len(ax.get_lines()) == 1 + len(theory.THEOREMS)
    assert ax.get_yscale() == ("log" if len(set(means)) > 1 else "linear")


def test_the_command_says_why_a_policy_has_no_bound(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["theory", "two-arms:L=0.5", "--horizon", "100", "--policy", "raw-ucb", "raw-ucb:alpha=5"]
    why = "alpha must be in [5, inf) for RAW-UCB in Propositions 6 and 7 (rested), got 1.4"
    assert cli.main(asked) == 0
    assert f"RAWUCB(alpha=1.4, sigma=1.0): {why}\n" in capsys.readouterr().out
    assert cli.main([*asked, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    row = shown["theorems"][4]
    assert row["why_not"] == {"RAWUCB(alpha=1.4, sigma=1.0)": why, "RAWUCB(alpha=5.0, sigma=1.0)": None}
    assert row["arms"]["RAWUCB(alpha=5.0, sigma=1.0)"] == {"overpulls": [25, 75], "pseudo_gaps": [0.0, 0.25]}
    assert shown["constants"]["largest_regret"] == 18.75
