"""What a report says about itself: versions, and the games it rests on."""

import dataclasses
from datetime import date

import numpy as np
import pytest

from rotting import report
from tests.helpers.sections import ABOUT

DAY = date(2026, 11, 17)


def test_versions() -> None:
    assert report.versions()["NumPy"] == np.__version__


@pytest.mark.parametrize(
    ("games", "kept", "text"),
    [
        (9_760, {}, "All 9,760 games were played for this report."),
        (1, {}, "The only game was played for this report."),
        (40, {(DAY, "A"): 40}, "All 40 games were kept from earlier runs; none was played now: 40 of 17 November 2026 (A)."),
        (1, {(DAY, "A"): 1}, "The only game was kept from earlier runs; none was played now: 1 of 17 November 2026 (A)."),
        (
            9,
            {(DAY, "A"): 1},
            "Of 9 games, 8 were played for this report, and 1 was kept from earlier runs: 1 of 17 November 2026 (A).",
        ),
    ],
)
def test_the_games_of_a_report(games: int, kept: dict[tuple[date, str], int], text: str) -> None:
    about = dataclasses.replace(ABOUT, games=games, kept=kept)
    assert about.games_text == f"{text} A game is one run of one policy on one problem."
