"""Measure and draw what docs/hull.md shows: how many windows an arm keeps, and the hull of an arm whose mean falls.

`make docs` runs it (a minute). It writes the tables between their marks in the page, which is written by hand, and the picture.
Both depend on the code and on a fixed seed only.
"""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from docs.page_tables import fill
from rotting.common.arrays import Floats
from rotting.display.figures import Curve, Figure, Panel
from rotting.display.pictures import picture_bytes
from rotting.display.plots import draw_figure
from rotting.engines.compile import compiled
from rotting.kernels.binding import bind, slot
from rotting.kernels.random_numbers import derive_key
from rotting.parts.hull import push
from rotting.parts.stack_pool import Stacks, ensure_room, new_stacks
from rotting.policies.raw_ucb import RAWUCB, level_at
from rotting.problems.noise import Bernoulli, Gaussian, Noise, Noiseless
from rotting.theory import hull

PAGE = Path(__file__).parent / "hull.md"
PICTURE = Path(__file__).parent / "hull.svg"
SIZES = (10_000, 100_000, 1_000_000)
RUNS, SEED = 40, 0
CAPACITY = 2**16  # points; much more than any hull of the table takes

# --- How many windows an arm keeps --------------------------------------------------------------------------------------------


class Kind(NamedTuple):
    """Rewards of one kind: a mean for each pull, and the noise around it."""

    title: str
    means: Callable[[int], Floats]
    noise: Noise


def _level(mean: float) -> Callable[[int], Floats]:
    return lambda n: np.full(n, mean)


def _steady(n: int) -> Floats:
    return 1.0 - np.arange(n) / n


def _abrupt(n: int) -> Floats:
    return np.where(np.arange(n) < n // 2, 1.0, 0.0)


KINDS = (
    Kind("stationary", _level(0.0), Gaussian(1.0)),
    Kind("steady fall, sigma 1", _steady, Gaussian(1.0)),
    Kind("steady fall, sigma 0.1", _steady, Gaussian(0.1)),
    Kind("abrupt fall, sigma 1", _abrupt, Gaussian(1.0)),
    Kind("Bernoulli 0.3", _level(0.3), Bernoulli()),
    Kind("constant", _level(0.3), Noiseless()),
)


@slot
def _reward(mean: float, scale: float, key: int, run: int, arm: int, clock: int) -> float:
    """Stand for the kernel of a noise."""
    raise NotImplementedError


def _most(s: Stacks, means: Floats, scale: float, key: int, run: int) -> int:
    """Push a run of rewards, and return the largest number of starts on the way, or -1 if they did not fit."""
    most = 0
    for n in range(means.size):
        if not ensure_room(s, 0):
            return -1
        push(s, 0, _reward(means[n], scale, key, run, 0, n))
        most = max(most, s.size[0] - 1)  # from the newest point, no window starts
    return most


class Count(NamedTuple):
    """How many starts there were in all runs of one kind and size."""

    mean: float  # after the last reward, on average
    most: int  # at any time


def count(kind: Kind, n: int, runs: int) -> Count:
    """Return how many starts an arm keeps of n rewards."""
    play = compiled(bind(_most, {_reward: kind.noise.draw}))
    means, key = kind.means(n), derive_key(SEED, "noise")
    ends, most = [], 0
    for run in range(runs):
        stacks = new_stacks(1, CAPACITY)
        held = int(play(stacks, means, kind.noise.scale, key, run))
        assert held >= 0, "the hull outgrew its room"
        ends.append(int(stacks.size[0]) - 1)
        most = max(most, held)
    return Count(math.fsum(ends) / runs, most)


Counts = Mapping[int, Sequence[Count]]
"""By the number of rewards, for each of the kinds."""


def counts(sizes: Sequence[int], runs: int) -> Counts:
    """Measure all kinds of rewards in these sizes."""
    return {n: [count(kind, n, runs) for kind in KINDS] for n in sizes}


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["--:"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _harmonic(n: int) -> float:
    return math.fsum(1.0 / k for k in range(1, n + 1))


def mean_row(n: int, found: Sequence[Count]) -> list[str]:
    """Return a row of the table of means."""
    return [f"{n:,}", f"{_harmonic(n):.1f}", *(f"{each.mean:,.1f}" for each in found)]


def most_row(n: int, found: Sequence[Count]) -> list[str]:
    """Return a row of the table of largest numbers."""
    return [f"{n:,}", *(f"{each.most:,}" for each in found)]


def tables(found: Counts) -> dict[str, str]:
    """Return what the page holds between its marks, by their names."""
    titles = [kind.title for kind in KINDS]
    return {
        "runs": f"Measured in {RUNS} runs of each kind and size.",
        "mean": _table(["n", "1 + 1/2 + ... + 1/n", *titles], [mean_row(n, each) for n, each in found.items()]),
        "most": _table(["n", *titles], [most_row(n, each) for n, each in found.items()]),
    }


# --- The picture --------------------------------------------------------------------------------------------------------------

PULLS, FALL, SIGMA = 90, 50, 0.5
SHOWN = (50, 58, 90)
DRIFT = 0.5  # taken from every reward in the picture, so that one sees more than a rising line


def rewards() -> Floats:
    """Return the rewards of the picture: a mean of 1, from the fall on of 0."""
    noise, key = Gaussian(SIGMA), derive_key(SEED, "noise")
    return np.array([noise.draw(1.0 if n < FALL else 0.0, noise.scale, key, 0, 0, n) for n in range(PULLS)])


def chosen(seen: Floats) -> tuple[int, float]:
    """Return the start of the window with RAW-UCB's tightest bound after these rewards, and the bound; t is N + 1."""
    N = len(seen)
    level = level_at(RAWUCB(sigma=SIGMA).params, N + 1)
    bounds = {k: float(seen[k:].mean()) + level / math.sqrt(N - k) for k in hull(seen).tolist()}
    start = min(bounds, key=bounds.__getitem__)
    return start, bounds[start]


def _panel(N: int) -> Panel:
    seen = rewards()[:N]
    sums = np.concatenate([[0.0], (seen - DRIFT).cumsum()])
    vertices, (start, bound) = [*hull(seen).tolist(), N], chosen(seen)
    return Panel(
        title=f"after {N} pulls",
        x_label="pull k",
        y_label=f"P_k - {DRIFT:g} k",
        curves=(
            Curve("prefix sums", np.arange(N + 1), sums),
            Curve("upper hull, with its vertices", np.array(vertices), sums[vertices], points=True),
            Curve("the window chosen", np.array([start, N]), sums[[start, N]], points=True),
        ),
        note=f"{len(vertices) - 1} starts of {N}; chosen: the last {N - start}, bound {bound:.2f}",
    )


def figure() -> Figure:
    """Return the picture as data."""
    return Figure(
        name="hull",
        title="Few windows can have the tightest bound",
        caption=(
            f"Prefix sums of an arm whose mean falls from 1 to 0 after {FALL} pulls (noise {SIGMA:g}), less {DRIFT:g} a pull; "
            f"their upper hull; and the window with RAW-UCB's tightest bound: the slope of its line, plus {DRIFT:g}, is its "
            "mean."
        ),
        panels=tuple(map(_panel, SHOWN)),
    )


def picture() -> bytes:
    """Return the picture's file."""
    return picture_bytes(draw_figure(figure()), "svg")


def main() -> None:
    """Write the tables and the picture."""
    measured = tables(counts(SIZES, RUNS))
    fill(PAGE, measured)
    PICTURE.write_bytes(picture())
    sys.stdout.write(f"{PAGE} and {PICTURE} written\n")


if __name__ == "__main__":
    main()
