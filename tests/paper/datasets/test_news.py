"""News: rates of sharing."""

import csv
import io

import numpy as np
import pytest

from rotting.paper.datasets import news
from rotting.paper.datasets.news import SOURCE as SHARES
from rotting.paper.datasets.news import share_rates
from rotting.problems.noise import Bernoulli
from tests.helpers.data_files import requires_data_file


def shares_text(items: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["IDLink", *(f"TS{k}" for k in range(1, 145))])
    writer.writerows([k, *row] for k, row in enumerate(items.tolist()))
    return text.getvalue()


def some_items() -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """24 usable items, three per group: in group g each gains a share at every (g + 2)-th slice."""
    slices = np.arange(144)
    items = np.array([100 + slices // (g + 2) for g in range(8) for _ in range(3)])
    unseen = np.where(slices < 4, -1, 50)  # after the first hour
    few = np.full(144, 9)
    return np.vstack([unseen, items[:10], few, items[10:], unseen])


def test_rates_are_counted_by_hand() -> None:
    items = some_items()
    rates = share_rates(shares_text(items))
    assert rates.shape == (8, 140)
    played = [row for row in items.tolist() if row[3] >= 0 and row[-1] >= 10]
    for g in range(8):
        for s in range(140):
            around = range(max(0, s - 4), min(139, s + 4) + 1)
            gains = [row[4 + k] > row[3 + k] for row in played[3 * g : 3 * g + 3] for k in around]
            assert rates[g, s] == pytest.approx(sum(gains) / len(gains), abs=1e-15)


def test_a_table_of_shares_is_checked() -> None:
    for right, wrong, words in (
        ("TS144", "TS145", "must have the columns IDLink, TS1, ..., TS144"),
        ("109,109", "109,109,109", "must have 145 fields on each line, got 146 on line"),
        (",100,", ",1e2,", "must hold whole numbers"),
        (",100,", ",x,", "must hold whole numbers"),
        (",102,", ",1,", "must hold cumulative shares, got shares that fall on line 3"),
    ):
        with pytest.raises(ValueError, match=words):
            share_rates(shares_text(some_items()).replace(right, wrong, 1))


def test_too_few_items_are_refused() -> None:
    with pytest.raises(ValueError, match="must hold at least 8 usable items, got 7"):
        share_rates(shares_text(some_items()[1:8]))
    with pytest.raises(ValueError, match="must have the columns"):
        share_rates("")


@requires_data_file(SHARES)
def test_real_news() -> None:
    problem = news(rounds_per_slice=50)
    assert (problem.kind, problem.n_arms, problem.horizon, problem.name) == ("restless", 8, 140 * 50, "news")
    assert problem.noise == Bernoulli()
    means = np.array([[problem.mean(i, t, 0) for t in range(1, 7_001, 50)] for i in range(8)])
    assert [problem.mean(0, t, 0) for t in (50, 51)] == means[0, :2].tolist()
    # Every group falls to less than half over the two days; the best one changes.
    assert np.all(means[:, -9:].mean(axis=1) < 0.5 * means[:, :9].mean(axis=1))
    assert len(set(means.argmax(axis=0).tolist())) > 2
    assert not problem.is_rotting()
