"""What docs/delays.md shows is so: the games, the tables, the picture and the claims, from the figures that were kept."""

from importlib.metadata import version

import numpy as np
import pytest

from docs import make_delays as maker
from docs.late_games import Chance, choices
from docs.page_tables import filled
from tests.conftest import STRESS
from tests.helpers.games import examples

PAGE = maker.PAGE.read_text("utf-8")
FOUND = maker.kept_figures()
STALE = "docs/delays.md or docs/delays.svg is stale: run `make delays` and commit it"
PLAYERS = maker.policies(0.3)


def chance(seed: int, delays: tuple[int, int], lost: float, rounds: int, n_arms: int, swapped: int) -> Chance:
    rng = np.random.default_rng(seed)
    rates, clicks = rng.uniform(0.0, 0.6, n_arms + rounds // swapped + 1), rng.uniform(size=rounds)
    late = rng.integers(delays[0], delays[1] + 1, rounds)
    return Chance(rates, clicks, np.where(rng.uniform(size=rounds) < lost, -1, late))


@pytest.mark.parametrize("rule", ["shrink", "ignore"])
@pytest.mark.parametrize("name", PLAYERS if STRESS else [*PLAYERS][:1])
def test_the_compiled_game_is_the_one_that_a_bandit_plays(name: str, rule: maker.Rule) -> None:
    policy = PLAYERS[name]
    assert rule in {"shrink", "ignore"}
    for seed, delays in enumerate([(0, 0), (20, 20), (3, 70)]):
        met = chance(seed, delays, 0.0, 240, 5, 40)
        slow = list(maker.bandit_game(policy, rule, met, 5, 40, seed))
        assert choices(policy, rule == "shrink", met, 5, 40, seed).tolist() == slow


@pytest.mark.parametrize("lost", [0.05, 0.5])
def test_the_compiled_game_loses_rewards_as_a_bandit_does(lost: float) -> None:
    met = chance(3, (0, 10), lost, 400, 5, 40)
    slow = list(maker.bandit_game(PLAYERS["Exp3S"], "shrink", met, 5, 40, 1))
    assert choices(PLAYERS["Exp3S"], True, met, 5, 40, 1).tolist() == slow


def test_a_game_without_the_lost_rounds_has_their_clicks_left_out() -> None:
    cell = maker.lost_cells(maker.PROBLEMS[0])[2]
    assert (cell.lost, cell.thinned) == (0.5, False)
    complete, part = maker.drawn(cell, 0), maker.drawn(cell._replace(thinned=True), 0)
    assert complete.clicks[complete.delays == 0].tolist() == part.clicks.tolist()
    assert part.clicks.size == maker.T // 2
    assert maker.interval_of_swaps(cell._replace(thinned=True)) == maker.SWAPPED // 2
    assert {np.count_nonzero(each < 0) for each in complete.delays.reshape(-1, maker.SWAPPED)} == {maker.SWAPPED // 2}


def test_a_run_is_the_same_for_all() -> None:
    for cell in maker.cells():
        met, base = (
            maker.drawn(cell, 1, 400, 40),
            maker.drawn(maker.cells()[0]._replace(problem=cell.problem, seed=cell.seed), 1, 400, 40),
        )
        assert met.rates.tolist() == base.rates.tolist()
        assert cell.thinned or met.clicks.tolist() == base.clicks.tolist()


def test_the_page_is_made_of_the_kept_figures() -> None:
    assert set(FOUND) == {cell.name for cell in maker.cells()}
    assert all(values.size == maker.RUNS for values in FOUND.values())
    assert filled(PAGE, maker.parts(FOUND)) == PAGE, STALE


def test_the_picture_is_fresh_and_in_the_page() -> None:
    assert f"]({maker.PICTURE.name})" in PAGE
    drawn = maker.PICTURE.read_text("utf-8")
    if f"Matplotlib v{version('matplotlib')}," not in drawn:
        pytest.skip("another Matplotlib draws other lines")
    assert maker.picture(FOUND).decode("utf-8") == drawn, STALE


@pytest.mark.parametrize("problem", maker.PROBLEMS, ids=lambda each: each.name)
def test_the_claims_about_delays_are_those_of_the_figures(problem: maker.Clicks) -> None:
    for policy in maker.policies(problem.sigma):
        for delay in maker.DELAYS[1:]:
            lost = maker.losses(problem, policy, delay, FOUND)
            change = lost.counted - lost.ignored
            assert change.mean() <= 0.0
    for policy in maker.ROTTING:
        lost = maker.losses(problem, policy, (500, 500), FOUND)
        assert lost.share < 0.2
        margin = lost.counted - 0.5 * lost.ignored
        assert margin.mean() + maker.error_bar(margin) < 0.0


@pytest.mark.parametrize("policy", maker.ROTTING)
@pytest.mark.parametrize("problem", maker.PROBLEMS, ids=lambda each: each.name)
def test_the_claims_about_other_rules_are_those_of_the_figures(problem: maker.Clicks, policy: str) -> None:
    for delay in maker.DELAYS[1:3]:
        cell = maker.Cell(problem, policy, delay, "shrink", seed=maker.OTHER_SEED)
        ours, everywhere, few = (FOUND[cell._replace(rule=rule).name] for rule in ("shrink", "everywhere", "few rewards"))
        assert abs((everywhere - ours).mean()) < 0.05 * ours.mean()
        none = FOUND[cell._replace(delay=(0, 0)).name]
        assert (few - ours).mean() > maker.error_bar(few - ours)
        assert (ours - none).mean() < 0.5 * (few - none).mean()


@pytest.mark.parametrize("problem", maker.PROBLEMS, ids=lambda each: each.name)
@pytest.mark.parametrize("share", maker.LOST)
def test_lost_rewards_cost_no_more_than_their_information(problem: maker.Clicks, share: float) -> None:
    cost, information = maker.lost(problem, share, FOUND)
    assert cost.mean() <= maker.error_bar(cost) + information.mean()
    assert abs((cost - information).mean()) <= maker.error_bar(cost - information)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["low RAWUCB 500-500 shrink", "high Exp3S 0-0 shrink lost 0.5"])
def test_the_figures_are_fresh(name: str) -> None:
    (cell,) = (each for each in maker.cells() if each.name == name)
    assert round(maker.played(cell, 0), 4) == FOUND[name][0], STALE


def test_the_page_names_the_policies_that_do_not_try_all_arms_first() -> None:
    learners = [each for each in examples() if not each.sees_means]
    drawing = {type(each).__name__ for each in learners if not each.first_pulls and each.kernel.explain is None}
    assert drawing == {"AdaILTCB", "Exp3", "Exp3S", "Rexp3", "Uniform"}
