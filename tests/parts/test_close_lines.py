"""Lines that tie, or that rounding makes tie: the tournament's champion is that of comparing all values as computed."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rotting.kernels.binding import bind_all
from rotting.parts import tournament
from rotting.parts.tournament import enter, height, hold

ULP = 2.0**-52
OFFSETS = {"ties": [0.0, 0.25, 0.5], "one unit apart": [1.0, 1.0 + ULP, 1.0 + 2 * ULP], "large": [2.0**53, 2.0**53 + 2]}
LEVELS = [0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 3.5, 8.0, 20.0, 100.0]


def intercept(s: Any, i: int) -> float:
    return float(s.intercepts[i])


def root(s: Any, i: int) -> float:
    return float(s.roots[i])


bound = bind_all({"hold": hold, "height": height, "enter": enter}, {tournament.intercept: intercept, tournament.root: root})


def lines(rng: np.random.Generator, n: int, intercepts: list[float]) -> Any:
    return SimpleNamespace(
        intercepts=rng.choice(intercepts, n),
        roots=rng.choice([1.0, 2.0, 3.0], n),
        winner=np.zeros(n, int),
        certain=np.zeros(n),
        entrants=np.zeros(1, int),
    )


def highest(s: Any, level: float) -> int:
    """The lowest of the arms whose line is highest."""
    return int(np.argmax([bound["height"](s, level, i) for i in range(s.winner.size)]))


@pytest.mark.parametrize("intercepts", OFFSETS.values(), ids=OFFSETS)
@pytest.mark.parametrize("seed", range(40))
def test_the_champion_is_the_highest_line_at_every_level(intercepts: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    s = lines(rng, int(rng.integers(2, 70)), intercepts)
    for level in LEVELS:
        assert bound["hold"](s, level) == highest(s, level), level


@pytest.mark.parametrize("seed", range(40))
def test_a_few_steep_lines_overtake_many(seed: int) -> None:
    """Each pair of lines crosses at a level of its own: after a match is played anew, so are all above it."""
    rng = np.random.default_rng(seed)
    s = lines(rng, int(rng.integers(30, 70)), [0.0])
    s.intercepts[:] = -rng.random(s.winner.size)
    s.roots[:] = 1.0 / rng.random(s.winner.size)
    for level in np.linspace(0.0, 4.0, 60):
        assert bound["hold"](s, level) == highest(s, level), level


@pytest.mark.parametrize("seed", range(20))
def test_an_arm_with_a_new_line_enters(seed: int) -> None:
    rng = np.random.default_rng(seed)
    s = lines(rng, 40, OFFSETS["one unit apart"])
    for level in LEVELS:
        for i in rng.integers(0, 40, 3):
            s.intercepts[i] = rng.choice(OFFSETS["one unit apart"])
            if s.entrants[0]:
                bound["enter"](s, level, i)
        assert bound["hold"](s, level) == highest(s, level), level
