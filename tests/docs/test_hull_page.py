"""What docs/hull.md shows is so: its example, its counterexample, its tables and its picture."""

import doctest
import math
import re
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

from docs import make_hull as maker
from docs.page_tables import filled
from rotting import theory
from rotting.kernels.random_numbers import derive_key
from rotting.policies import raw_ucb
from rotting.policies.raw_ucb_pp import RAWUCBpp, width

PAGE = maker.PAGE.read_text("utf-8")
STALE = "docs/hull.md or docs/hull.svg is stale: run `make docs` and commit it"


def rows(page: str, name: str) -> list[list[str]]:
    """The cells of a measured table, without its head."""
    found = re.search(rf"<!-- measured: {name} -->\n(.*?)<!-- end -->", page, re.DOTALL)
    assert found is not None
    return [line.strip("| ").split(" | ") for line in found[1].splitlines()[2:]]


def test_the_example_runs() -> None:
    failed, tried = doctest.testfile(str(maker.PAGE), module_relative=False, encoding="utf-8")
    assert (failed, tried) == (0, 5)


def test_the_counterexample_is_one() -> None:
    policy, rewards, t, K = RAWUCBpp(), [0.8, 1.0, 0.0], 6, 3
    shown = re.findall(r"^\| (\d) \| ([^|]+) \| (\S+) \| (\S+) \| \**([\d.]+)\** \| (yes|no)", PAGE, re.MULTILINE)
    bounds = {}
    for k, (start, window, *numbers, vertex) in enumerate(shown):
        mean, h = sum(rewards[k:]) / (3 - k), 3 - k
        wide = width(policy.params, t / K, h, math.sqrt(h))
        bounds[k] = mean + wide
        assert (int(start), [float(each) for each in window.split(",")]) == (k, rewards[k:])
        assert [float(each) for each in numbers] == [round(each, 3) for each in (mean, wide, mean + wide)]
        assert (vertex == "yes") == (k in theory.hull(rewards))
    assert min(bounds, key=bounds.__getitem__) == 1
    assert 1 not in theory.hull(rewards)


def test_the_policy_takes_the_window_of_the_counterexample() -> None:
    policy = RAWUCBpp()
    kernel, p = policy.kernel, policy.params
    state = kernel.init(p, 3, 5)
    for t, (arm, reward) in enumerate([(0, 0.8), (1, 0.0), (2, 0.0), (0, 1.0), (0, 0.0)], start=1):
        kernel.update(p, state, t, arm, reward)
    assert kernel.explain is not None
    reason = kernel.explain(p, state, 6, np.arange(3), 0)
    assert (reason.window, reason.value) == (2, 0.5)


def test_ordinary_sums_of_a_constant_are_not_on_a_line() -> None:
    sums = np.cumsum([0.1] * 1_000)
    steps = np.diff(sums, prepend=0.0)  # without rounding errors of their own: neighbours are close
    assert len(theory.hull(steps)) > 1
    assert theory.hull([0.1] * 1_000).tolist() == [0]


@pytest.mark.parametrize("kind", maker.KINDS, ids=lambda kind: kind.title)
def test_starts_are_counted(kind: maker.Kind) -> None:
    n, runs, key = 40, 3, derive_key(maker.SEED, "noise")
    tables = [[kind.noise.draw(m, kind.noise.scale, key, r, 0, k) for k, m in enumerate(kind.means(n))] for r in range(runs)]
    sizes = [[len(theory.hull(table[: N + 1])) for N in range(n)] for table in tables]
    found = maker.count(kind, n, runs)
    assert found == (sum(each[-1] for each in sizes) / runs, max(map(max, sizes)))


def test_means_are_what_the_kinds_say() -> None:
    drops = {kind.title: np.diff(kind.means(10)) for kind in maker.KINDS}
    assert {title for title, each in drops.items() if not each.any()} == {"stationary", "Bernoulli 0.3", "constant"}
    assert np.count_nonzero(drops["abrupt fall, sigma 1"]) == 1
    for title in ("steady fall, sigma 1", "steady fall, sigma 0.1"):
        assert drops[title] == pytest.approx([-0.1] * 9)


@pytest.mark.slow
def test_the_first_row_of_the_tables_is_fresh() -> None:
    n = maker.SIZES[0]
    found = maker.counts([n], maker.RUNS)[n]
    assert maker.mean_row(n, found) == rows(PAGE, "mean")[0], STALE
    assert maker.most_row(n, found) == rows(PAGE, "most")[0], STALE


def test_the_tables_are_those_of_the_script() -> None:
    for name in ("mean", "most"):
        assert [cells[0] for cells in rows(PAGE, name)] == [f"{n:,}" for n in maker.SIZES], STALE
    stationary = [[float(cell) for cell in cells[1:3]] for cells in rows(PAGE, "mean")]
    for harmonic, mean in stationary:  # the variance of the number is below its mean: five standard errors
        assert abs(mean - harmonic) < 5 * math.sqrt(harmonic / maker.RUNS)


def test_the_script_writes_tables_and_picture(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page, picture = tmp_path / "hull.md", tmp_path / "hull.svg"
    page.write_text(PAGE, "utf-8")
    for name, value in {"SIZES": (20, 60), "RUNS": 2, "PAGE": page, "PICTURE": picture}.items():
        monkeypatch.setattr(maker, name, value)
    maker.main()
    written = page.read_text("utf-8")
    assert [cells[0] for cells in rows(written, "mean")] == [cells[0] for cells in rows(written, "most")] == ["20", "60"]
    assert "in 2 runs" in written
    monkeypatch.undo()
    measured = {
        name: PAGE.split(f"<!-- measured: {name} -->\n")[1].split("\n<!-- end -->")[0] for name in ("runs", "mean", "most")
    }
    assert filled(written, measured) == PAGE  # all else is as it was
    assert picture.read_bytes() == maker.picture()


def test_the_picture_shows_the_tightest_of_all_windows() -> None:
    rewards = maker.rewards()
    lengths = []
    for N, panel in zip(maker.SHOWN, maker.figure().panels, strict=True):
        sums, hull, window = panel.curves
        starts = hull.x.tolist()
        assert starts == [*theory.hull(rewards[:N]).tolist(), N]
        assert (np.interp(sums.x, hull.x, hull.y) >= sums.y - 1e-9).all()
        level = raw_ucb.level_at(raw_ucb.RAWUCB(sigma=maker.SIGMA).params, N + 1)
        bounds = [rewards[k:N].mean() + level / math.sqrt(N - k) for k in range(N)]
        assert window.x.tolist() == [int(np.argmin(bounds)), N]
        assert f"bound {min(bounds):.2f}" in panel.note
        slope = (window.y[1] - window.y[0]) / (window.x[1] - window.x[0])
        assert slope + maker.DRIFT == pytest.approx(rewards[int(window.x[0]) : N].mean())
        lengths.append(N - int(window.x[0]))
    assert maker.SHOWN[0] == maker.FALL
    assert lengths[1] < lengths[2] < lengths[0]  # long before the fall, short right after it, then longer again


def test_the_picture_is_fresh_and_in_the_page() -> None:
    assert f"]({maker.PICTURE.name})" in PAGE
    drawn = maker.PICTURE.read_text("utf-8")
    if f"Matplotlib v{version('matplotlib')}," not in drawn:
        pytest.skip("another Matplotlib draws other lines")
    assert maker.picture().decode("utf-8") == drawn, STALE
