"""Scaling: time per round against the horizon, the number of arms, and the number of workers."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import rotting
from benchmarks import limit, numpy_style, ours
from benchmarks.measure import Contestant, Size, UnavailableError
from benchmarks.rows import after_first_pulls
from rotting.problems import two_arms
from rotting.simulation.simulate import default_workers


class Curve(NamedTuple):
    """One line of a plot: `build(x)` sets up the contestant at x; `ours` marks the project's own."""

    name: str
    build: Callable[[int], Contestant]
    ours: bool


class Plot(NamedTuple):
    """One plot."""

    name: str
    label: str
    title: str
    xs: tuple[int, ...]
    curves: tuple[Curve, ...]
    speedup: bool = False  # show how many times the first point's speed, not the time


def plots(size: Size) -> tuple[Plot, ...]:
    """Return the three plots at a size."""

    def horizon(policy: rotting.Policy) -> Callable[[int], Contestant]:
        return lambda T: ours.game(policy, two_arms(horizon=T), T, max(T, size.rounds // 2))

    def in_c(loop: str, rounds: int) -> Callable[[int], Contestant]:
        return lambda T: limit.game(loop, two_arms(horizon=T), T, max(T, rounds))

    def in_numpy(name: str, alpha: float) -> Callable[[int], Contestant]:
        return lambda T: numpy_style.game(name, two_arms(horizon=T), T, alpha)

    def arms(policy: rotting.Policy) -> Callable[[int], Contestant]:
        return lambda K: after_first_pulls(policy, K, max(size.rounds // 100, 100))

    rounds, long = 4 * size.rounds, min(10_000, size.rounds)
    problem = two_arms(horizon=long)
    return (
        Plot(
            "horizon",
            "horizon T",
            "Time per round against the horizon (K = 2, one core)",
            tuple(T for T in (10**3, 10**4, 10**5, 10**6, 10**7) if size.longest >= T),
            (
                Curve("RAWUCB, exact", horizon(rotting.RAWUCB()), True),
                Curve("EffRAWUCB", horizon(rotting.EffRAWUCB()), True),
                Curve("FEWA, exact", horizon(rotting.FEWA()), True),
                Curve("EffFEWA", horizon(rotting.EffFEWA()), True),
                Curve("RAW-UCB, NumPy style", in_numpy("raw-ucb", 1.4), False),
                Curve("EFF-RAW-UCB, NumPy style", in_numpy("eff-raw-ucb", 1.4), False),
                Curve("FEWA, NumPy style", in_numpy("fewa", 0.06), False),
                Curve("EFF-FEWA, NumPy style", in_numpy("eff-fewa", 0.06), False),
                Curve("RAW-UCB, scan in C", in_c("raw_ucb_scan", size.rounds // 20), False),
                Curve("EFF-RAW-UCB in C", in_c("eff_raw_ucb_plain", size.rounds // 2), False),
            ),
        ),
        Plot(
            "arms",
            "arms K",
            "Time per round after the first pulls against the arms (one core)",
            (2, 10, 100, 1_000, 10_000) if size.rounds >= 100_000 else (2, 10),
            (
                Curve("RAWUCB, exact", arms(rotting.RAWUCB()), True),
                Curve("EffRAWUCB", arms(rotting.EffRAWUCB()), True),
                Curve("FEWA, exact", arms(rotting.FEWA()), True),
                Curve("EffFEWA", arms(rotting.EffFEWA()), True),
            ),
        ),
        Plot(
            "workers",
            "workers",
            "Speed against the workers (EffRAWUCB, K = 2, T = 1e4)",
            tuple(sorted({1, 2, default_workers(), 2 * default_workers()})),
            (
                Curve(
                    "rotting",
                    lambda n: ours.whole_call(rotting.EffRAWUCB(), problem, long, max(1, rounds // long), n),
                    True,
                ),
                Curve("EFF-RAW-UCB in C", lambda n: limit.game("eff_raw_ucb_plain", problem, long, rounds, threads=n), False),
            ),
            speedup=True,
        ),
    )


Points = dict[str, list[tuple[int, float]]]


def _growth(line: list[tuple[int, float]], x: int, plot: Plot) -> float:
    """Return how many times as long as the last sample the one at x will take, if the curve continues as before."""
    if not line:
        return 0.0
    steeper = max(1.0, line[-1][1] / line[-2][1]) if len(line) > 1 else 1.0
    return steeper * (x / line[-1][0] if plot.name == "horizon" else 1.0)


def measure(plot: Plot, size: Size, say: Callable[[str], None]) -> tuple[Points, list[str]]:
    """Return the points of every curve, and why a curve ends early."""
    points: Points = {curve.name: [] for curve in plot.curves}
    ended: dict[str, str] = {}
    seconds = dict.fromkeys(points, 0.0)  # of the last point's sample
    # By x first: the curves take turns, so that a busy minute hits all of them.
    for x in plot.xs:
        for curve in plot.curves:
            name = curve.name
            if name not in ended and seconds[name] * _growth(points[name], x, plot) > size.seconds:
                last = points[name][-1][0]
                ended[name] = f"{name} ends at {last:,}: its next point would take more than {size.seconds:g} s"
            if name in ended:
                continue
            say(f"{plot.name} {x:,}: {name}")
            try:
                turn = curve.build(x)
                samples = [turn()]
            except UnavailableError as why:
                ended[name] = f"{name}: {why}"
                continue
            seconds[name] = samples[0].seconds
            if seconds[name] * size.repeats < size.seconds:
                samples += [turn() for _ in range(size.repeats - 1)]
            points[name].append((x, min(sample.us for sample in samples)))
    return points, list(ended.values())


def draw(plot: Plot, points: Points, path: Path) -> None:
    """Write the plot: ours in solid lines, peers dashed."""
    import matplotlib as mpl  # noqa: PLC0415 - only when something is drawn

    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplots(figsize=(8.5, 5), layout="constrained")
    markers = "osD^vP*Xhd"
    shown = [(curve, points[curve.name]) for curve in plot.curves if points[curve.name]]
    for number, (curve, line) in enumerate(shown):
        xs, us = zip(*line, strict=True)
        ys = [us[0] / each for each in us] if plot.speedup else list(us)
        marker, dashes, width = markers[number % len(markers)], "-" if curve.ours else "--", 2.0 if curve.ours else 1.2
        axes.plot(xs, ys, marker=marker, markersize=5, label=curve.name, color=f"C{number}", linestyle=dashes, linewidth=width)
    if plot.speedup:
        axes.plot(plot.xs, plot.xs, color="0.7", linewidth=1, label="one core per worker")
        axes.set_xticks(plot.xs)
        axes.set_ylim(bottom=0)
        axes.set_ylabel("times the speed of one worker")
    else:
        axes.set(xscale="log", yscale="log", ylabel="microseconds per round (log scale)")
    axes.set_xlabel(plot.label + ("" if plot.speedup else " (log scale)"))
    axes.set_title(plot.title, loc="left")
    axes.grid(visible=True, which="major", color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(path, dpi=140)
    plt.close(figure)
