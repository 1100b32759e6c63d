import dataclasses
import hashlib
import json
import math
import os
import pickle
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rotting import errors, policy, problems, registry, theory
from rotting.common.statistics import mean_interval, what_runs_can_miss
from rotting.policy import Policy
from rotting.problems.arms import Tabulated
from rotting.problems.oracle import GREEDY_TWO_CLOCKS, OPTIMAL
from rotting.simulation.rerun import rerun
from rotting.simulation.result import Result, _settings_digest
from rotting.simulation.simulate import simulate
from tests.helpers.missing_tools import hide_package

RAWUCB = registry.make("raw-ucb", alpha=1.4)
UCB1 = registry.make("ucb1")


def fields(policies: int = 2, runs: int = 20, checkpoints: int = 5, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    horizon = 100 * checkpoints
    pulls = rng.integers(0, horizon, size=(policies, runs, 1))
    growth = rng.gamma(20.0, 1.0, size=(policies, runs, checkpoints)) * np.arange(1, policies + 1)[:, None, None]
    return {
        "policies": (RAWUCB, UCB1, *(registry.make("eff-raw-ucb", alpha=2.0 + k) for k in range(policies)))[:policies],
        "problem": {"name": "two-arms", "kind": "rested", "n_arms": 2, "arms": ("a", "b"), "horizon": None},
        "horizon": horizon,
        "runs": runs,
        "seed": 7,
        "checkpoints": 100 * np.arange(1, checkpoints + 1),
        "regret": np.cumsum(growth, axis=2),
        "pulls": np.concatenate([pulls, horizon - pulls], axis=2),
        "us_per_round": np.linspace(0.06, 1.0, policies),
        "reference": OPTIMAL,
    }


def make(**sizes: int) -> Result:
    return Result(**fields(**sizes))


def changed(result: Result, **values: Any) -> Result:
    return dataclasses.replace(result, **values)


# What a result is


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("policies", (), "policies must hold at least one policy, got none"),
        ("horizon", 0, "horizon must be a whole number, 1 or more, got 0"),
        ("runs", 0, "runs must be a whole number, 1 or more, got 0"),
        (
            "runs",
            3,
            r"regret must have the shape \[policies, runs, checkpoints\] = \[2, 3, 5\], got \[2, 20, 5\]",
        ),
        ("seed", -1, "seed must be a whole number, 0 or more, got -1"),
        ("problem", {"x": float("nan")}, "problem must be a description that JSON can represent"),
        ("problem", {"x": object()}, "problem must be a description that JSON can represent"),
        ("reference", "", "reference must say what regret is measured against, got ''"),
        ("checkpoints", np.arange(0), "checkpoints must have the shape"),
        (
            "checkpoints",
            np.array([100, 200, 300, 400, 499]),
            "checkpoints must increase .* to the horizon 500",
        ),
        ("checkpoints", np.array([100, 300, 200, 400, 500]), "checkpoints must increase"),
        ("checkpoints", np.array([0, 200, 300, 400, 500]), "checkpoints must increase from 1 or more"),
        ("regret", np.zeros((2, 20)), "regret must have the shape"),
        ("regret", np.full((2, 20, 5), np.nan), "regret must be finite, got NaN"),
        ("pulls", np.zeros((2, 20, 0), dtype=int), "pulls must have the shape"),
        ("pulls", np.zeros((2, 19, 2), dtype=int), "pulls must have the shape"),
        ("pulls", np.ones((2, 20, 2), dtype=int), "pulls must be .* add up to the horizon 500 in every run"),
        ("us_per_round", np.zeros(3), r"us_per_round must have the shape \[policies\] = \[2\], got \[3\]"),
        ("us_per_round", np.array([1.0, np.inf]), "us_per_round must be finite"),
        ("problem", "two-arms", r"problem must be a description \(a dict\)"),
        ("runs", "20", "runs must be a whole number"),
        ("pulls", np.zeros((2, 20, 2)), "pulls must be an array of int64, got one of float64"),
        ("regret", np.full((2, 20, 5), "1"), "regret must be an array of float64, got one of <U1"),
        ("regret", np.zeros((2, 20, 5), dtype=complex), "regret must be an array of float64, got one of complex128"),
    ],
)
def test_a_bad_field_is_refused(name: str, value: object, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        Result(**{**fields(), name: value})


NUMBERS = [3, -1, 1.5, math.nan, True]
WRONG: list[Any] = [None, "x", b"x", *NUMBERS, [], {}, ("x", "x"), [[1], [1, 2]], np.array("x"), object(), UCB1, make]


@pytest.mark.parametrize("name", [each.name for each in dataclasses.fields(Result)])
@pytest.mark.parametrize("wrong", WRONG, ids=lambda each: f"{each!r:.12}")
def test_a_wrong_field_is_refused_in_a_sentence_or_does_no_harm(name: str, wrong: Any) -> None:
    refusal = ""
    try:
        result = Result(**{**fields(), name: wrong})
    except errors.RottingError as error:
        refusal = str(error)
    if refusal:
        assert refusal.partition(" must ")[0] in {each.name for each in dataclasses.fields(Result)}
    else:
        assert repr(result).startswith("Result(")
        assert len(result.table().rows) == len(result.policies)
        assert Result(**{**fields(), name: wrong}) == result


def test_it_cannot_be_changed_through_what_it_was_made_from() -> None:
    given_fields = fields()
    result = Result(**given_fields)
    twin = Result(**fields())
    given_fields["regret"][:] = 0
    given_fields["problem"]["name"] = "another"
    assert result == twin
    with pytest.raises(ValueError, match="read-only"):
        result.regret[0, 0, 0] = 1.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.seed = 3  # type: ignore[misc]


def test_equality_is_bit_for_bit_and_leaves_out_the_speed() -> None:
    result = make()
    regret = result.regret.copy()
    regret[1, 2, 3] = np.nextafter(regret[1, 2, 3], np.inf)
    assert result == make()
    assert result == changed(result, us_per_round=np.zeros(2))
    assert result != changed(result, regret=regret)
    assert result != changed(result, seed=8)
    assert result != changed(result, policies=(UCB1, RAWUCB))
    assert result != changed(result, pulls=result.pulls[:, :, ::-1])
    assert result != "a result"


def test_labels_are_short_and_tell_policies_apart() -> None:
    close = [registry.make("raw-ucb", sigma=sigma) for sigma in (0.2**0.5, 0.2**0.5 + 1e-9, 1 / 3, 0.2**0.5)]
    result = changed(make(policies=4), policies=tuple(close))
    assert result.labels == (
        "RAW-UCB 1.4, sigma=0.447213595",
        "RAW-UCB 1.4, sigma=0.447213596",
        "RAW-UCB 1.4, sigma=0.3333",
        "RAW-UCB 1.4, sigma=0.447213595 (2)",
    )
    assert [row["policy"] for row in result.table().rows] == list(result.labels)
    assert changed(make(policies=1), policies=(close[0],)).labels == ("RAW-UCB 1.4, sigma=0.4472",)


def test_labels_are_unique() -> None:
    result = changed(make(policies=4), policies=(UCB1, RAWUCB, UCB1, UCB1))
    assert result.labels == ("UCB1", "RAW-UCB 1.4", "UCB1 (2)", "UCB1 (3)")


def test_labels_of_tables_may_be_ones_own() -> None:
    result = make()
    for labels, shown in ((None, result.labels), (["a", "b"], ("a", "b"))):
        assert tuple(row["policy"] for row in result.table(labels).rows) == shown
        assert result.compare(labels=labels).rows[1]["policy"] == shown[1]
    assert [row["policy"] for row in result.table(["a", "a"]).rows] == ["a", "a (2)"]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a"], "labels must be one text per policy, 2, got 1"),
        ("short", "labels must be one text per policy, got 'short'"),
        ([1, 2], r"labels must be one text per policy, got \[1, 2\]"),
    ],
)
def test_labels_that_do_not_fit_are_refused(labels: Any, message: str) -> None:
    for show in (make().table, make().plot):
        with pytest.raises(errors.RottingError, match=f"^{message}$"):
            show(labels=labels)


# Tables


def test_table_rows() -> None:
    result = make()
    rows = result.table().rows
    final = result.regret[1, :, -1]
    assert [row["policy"] for row in rows] == list(result.labels)
    assert (rows[1]["mean"], rows[1]["low"], rows[1]["high"]) == mean_interval(final)
    assert rows[1]["q10"] == pytest.approx(np.quantile(final, 0.1))
    assert rows[1]["q90"] == pytest.approx(np.quantile(final, 0.9))
    assert rows[1]["us_per_round"] == 1.0


def test_table_text_is_aligned_and_names_everything() -> None:
    text = str(make(policies=4).table())
    head, blank, *lines = text.splitlines()
    assert head == "two-arms: horizon 500, 20 runs, seed 7; regret against the optimal policy"
    assert blank == ""
    assert lines[0].split("  ")[0] == "policy"
    for name in ("mean regret", "95 % interval", "10 %", "90 %", "us per round"):
        assert name in lines[0]
    *lines, blank, note = lines
    assert blank == ""
    assert note == what_runs_can_miss(20)
    assert len(lines) == 6
    assert len({len(line) for line in lines}) == 1
    points = [line.rindex(".") for line in lines[2:]]
    assert len(set(points)) == 1


def test_table_says_when_the_reference_is_not_optimal() -> None:
    result = changed(make(), reference=GREEDY_TWO_CLOCKS)
    for table in (result.table(), result.compare(against=0)):
        written = table.to_latex().split(r"\end{tabular}")[1]  # a comment above would be invisible
        for text in (str(table), table.to_markdown(), table._repr_html_(), written):
            assert GREEDY_TWO_CLOCKS.removeprefix("greedy ") in text
            assert "unless the reference is optimal, regret is underestimated" in text


def test_a_reference_has_a_line_of_its_own_that_fits_a_page() -> None:
    result = changed(make(), reference=GREEDY_TWO_CLOCKS)
    for table in (result.table(), result.compare()):
        assert table.lines[0] == "two-arms: horizon 500, 20 runs, seed 7"
        assert f"Regret against the {GREEDY_TWO_CLOCKS.replace('greedy', 'greedy oracle')}." in table.notes
        assert max(map(len, (*table.lines, *table.notes))) <= 110


def test_a_problem_without_a_name_is_described() -> None:
    result = changed(make(), problem={"name": None, "kind": "restless"})
    assert str(result.table()).startswith("restless problem, 2 arms: horizon 500")


def test_markdown_and_html_escape_names() -> None:
    table = dataclasses.replace(make().table(), lines=("a < b",))
    table.rows[0]["policy"] = "<b>|x|"
    assert r"| <b>\|x\| |" in table.to_markdown()
    assert "&lt;b&gt;|x|" in table._repr_html_()
    assert "a &lt; b" in table._repr_html_()


@pytest.mark.parametrize("scale", [1e-100, 1e-9, 1e-3, 1.0, 1e6, 1e15, 1e100])
def test_tables_of_every_scale_are_narrow_and_keep_digits(scale: float) -> None:
    result = make()
    result = changed(result, regret=result.regret * scale)
    for table in (result.table(), result.compare(against=0)):
        assert max(map(len, str(table).splitlines())) < 130
    written = str(result.table()).splitlines()[-3].split()[-6].replace(",", "")
    assert float(written) == pytest.approx(result.table().rows[1]["mean"], rel=1e-2)


@pytest.mark.parametrize(
    ("against", "message"),
    [
        (2, "against must be an index from 0 to 1, a label or a policy, got 2"),
        (-1, "against must be an index from 0 to 1, a label or a policy, got -1"),
        ("RAW-UCB 1.5", "did you mean 'RAW-UCB 1.4'"),
        ("zzz", "got 'zzz'; known: RAW-UCB 1.4, UCB1"),
        (registry.make("raw-ucb", alpha=3.0), "against must be a policy of this result, got RAWUCB"),
        (True, "against must be a policy of this result, got True"),
    ],
)
def test_an_unknown_policy_is_refused(against: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make().compare(against)
    with pytest.raises(ValueError, match="policies must be two or more to be compared, got 1"):
        make(policies=1).compare()


# One run


def test_one_run_works_everywhere(tmp_path: Path) -> None:
    result = make(runs=1)
    assert result.table().rows[0]["low"] is None
    assert "1 run," in str(result.table())
    assert result.compare().rows[0]["difference_high"] is None
    for table in (result.table(), result.compare(against=0)):
        assert str(table).endswith("\n* No 95 % interval: there is only one run.")
        assert " * " in str(table)
        assert {row["reason"] for row in table.rows} == {"there is only one run"}
        assert table.to_pandas()["reason"].tolist() == [row["reason"] for row in table.rows]
    assert json.loads(json.dumps(result.to_json(), allow_nan=False))["policies"][0]["low"] is None
    assert len(result.to_pandas()) == 2 * 5
    result.plot(path=tmp_path / "one.png")
    result.save(tmp_path / "one")
    assert Result.load(tmp_path / "one") == result


# JSON and pandas


def test_to_json_is_strict_and_names_the_policies() -> None:
    result = make()
    data = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert data["horizon"] == 500
    assert data["reference"] == OPTIMAL
    assert data["optimal"] is True
    assert data["notes"] == [what_runs_can_miss(20)]
    first = data["policies"][0]
    assert registry.from_json({key: first[key] for key in ("policy", "params")}) == RAWUCB
    assert first["label"] == result.labels[0]
    assert first["mean"] == result.table().rows[0]["mean"]
    assert changed(result, reference=GREEDY_TWO_CLOCKS).to_json()["optimal"] is False


def test_to_pandas_is_long() -> None:
    result = make()
    frame = result.to_pandas()
    assert list(frame.columns) == ["policy", "run", "round", "regret", "reference"]
    assert frame["reference"].unique().tolist() == [OPTIMAL]
    assert len(frame) == 2 * 20 * 5
    one = frame[(frame["policy"] == result.labels[1]) & (frame["run"] == 3) & (frame["round"] == 200)]
    assert one["regret"].tolist() == [result.regret[1, 3, 1]]
    means = frame[frame["round"] == 500].groupby("policy", observed=True)["regret"].mean()
    assert means.tolist() == pytest.approx([row["mean"] for row in result.table().rows])


@pytest.mark.parametrize(
    ("package", "call", "extra"),
    [("pandas", "to_pandas", "rotting[pandas]"), ("matplotlib", "plot", "rotting[plot]")],
)
def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, package: str, call: str, extra: str) -> None:
    hide_package(monkeypatch, package)
    with pytest.raises(ImportError) as caught:
        getattr(make(), call)()
    assert extra in str(caught.value)


# Pictures


@pytest.fixture(autouse=True)
def _headless(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def test_plot_draws_mean_and_band() -> None:
    result = make(policies=3)
    ax = result.plot()
    line = ax.get_lines()[2]
    assert line.get_label() == result.labels[2]
    np.testing.assert_array_equal(line.get_xdata(), result.checkpoints)
    np.testing.assert_allclose(np.asarray(line.get_ydata()), result.regret[2].mean(axis=0))
    assert len(ax.collections) == 3
    assert ax.get_title(loc="left") == "two-arms, horizon 500"
    assert caption(ax) == "Mean of 20 runs, band from 10 % to 90 % of them. Regret against the optimal policy."


def test_plot_says_when_the_reference_is_not_optimal() -> None:
    against = caption(changed(make(), reference=GREEDY_TWO_CLOCKS).plot())
    assert GREEDY_TWO_CLOCKS.removeprefix("greedy ") in against
    assert "regret is underestimated" in against


def test_plot_on_given_axes_leaves_other_curves_alone() -> None:
    from matplotlib.figure import Figure

    ax = Figure().add_subplot()
    ax.plot([0, 500], [0, 0], label="mine")
    assert make().plot(ax=ax) is ax
    legend = ax.get_legend()
    assert legend is not None
    assert len(legend.get_texts()) == 2
    assert len(ax.get_lines()) == 3


@pytest.mark.parametrize("policies", [1, 2, 8])
def test_legend_of_a_figure_of_its_own_covers_no_curve_and_stands_in_the_picture(policies: int) -> None:
    result = make(policies=policies)
    ax = result.plot(labels=[repr(each) for each in result.policies])
    figure = ax.figure.figure
    figure.canvas.draw()
    box = figure.legends[0].get_window_extent()
    assert not box.overlaps(ax.get_window_extent())
    assert figure.bbox.contains(box.x0, box.y0)
    assert figure.bbox.contains(box.x1, box.y1)


@pytest.mark.parametrize("layout", ["constrained", None])
@pytest.mark.parametrize("width", [2.2, 3.25, 6.4])
@pytest.mark.parametrize(("policies", "long"), [(1, False), (2, True), (8, False)])
def test_legend_of_given_axes_stays_inside_them(policies: int, long: bool, width: float, layout: Any) -> None:
    from matplotlib.figure import Figure

    ax = Figure((width, 0.7 * width), layout=layout).add_subplot()
    result = make(policies=policies)
    result.plot(ax=ax, labels=[repr(each) for each in result.policies] if long else None, title="")
    ax.figure.figure.canvas.draw()
    legend = ax.get_legend()
    assert legend is not None
    box, frame = legend.get_window_extent(), ax.get_window_extent()
    assert frame.contains(box.x0, box.y0)
    assert frame.contains(box.x1, box.y1)
    assert len(legend.get_texts()) == policies


def test_legend_may_be_left_out_or_placed() -> None:
    ax = make().plot(legend=False)
    assert (ax.get_legend(), ax.figure.figure.legends) == (None, [])
    placed = make().plot(legend="lower right")
    placed.figure.figure.canvas.draw()
    legend = placed.get_legend()
    assert legend is not None
    assert placed.get_window_extent().contains(*legend.get_window_extent().p1)
    assert placed.figure.figure.legends == []


def caption(ax: Any) -> str:
    """The small print below the title."""
    return " ".join(ax.texts[0].get_text().split())


def test_title_and_labels_may_be_ones_own() -> None:
    ax = make().plot(title="Mine", labels=["one", "two"])
    assert ax.get_title(loc="left") == "Mine"
    assert [text.get_text() for text in ax.figure.figure.legends[0].get_texts()] == ["two", "one"]
    assert make().plot(title="").get_title(loc="left") == caption(make().plot(title="")) == ""


def test_bands() -> None:
    result = make()
    assert len(result.plot(band=None).collections) == 0
    ax = result.plot(band="interval")
    assert "95 % interval of the mean" in caption(ax)
    assert what_runs_can_miss(20) in caption(ax)
    ends = ax.collections[1].get_paths()[0].vertices
    _, low, high = mean_interval(result.regret[1, :, -1])
    assert {low, high} <= {*np.asarray(ends)[:, 1]}
    assert caption(result.plot(band="quantiles")) == caption(result.plot())


def test_a_logarithmic_axis_shows_regret_that_is_positive_zero_or_negative() -> None:
    result = make(policies=3)
    positive = result.plot(log_y=True)
    assert positive.get_yscale() == "log"
    assert positive.get_ylim()[0] > 0
    regret = result.regret.copy()
    regret[1], regret[2] = 0.0, -regret[2]
    mixed = changed(result, regret=regret).plot(log_y=True)
    assert mixed.get_yscale() == "symlog"
    low, high = mixed.get_ylim()
    for line in mixed.get_lines()[:3]:
        values = np.asarray(line.get_ydata(), float)
        assert low < values.min() <= values.max() < high
    nothing = changed(result, regret=0 * regret).plot(log_y=True)
    assert nothing.get_yscale() == "linear"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"band": "quantile"}, "band must be 'quantiles', 'interval' or None, got 'quantile'"),
        (
            {"legend": "uper left"},
            "legend must be True, False or a location such as 'upper left', got 'uper left'; did you mean",
        ),
        ({"legend": 3}, "legend must be True, False or a location such as 'upper left', got 3"),
    ],
)
def test_a_look_that_there_is_not_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.InvalidValueError, match=f"^{message}"):
        make().plot(**changes)


def test_plot_of_one_checkpoint_and_of_logarithmic_rounds() -> None:
    assert make(checkpoints=1).plot().get_lines()[0].get_marker() == "o"
    assert make().plot(log=True).get_xscale() == "log"


@pytest.mark.parametrize("suffix", ["png", "pdf", "svg"])
def test_plot_writes_a_new_file_only(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "new" / f"regret.{suffix}"
    make().plot(path=path)
    content = path.read_bytes()
    assert len(content) > 1_000
    with pytest.raises(FileExistsError, match=rf"'.*regret\.{suffix}', which exists"):
        make(policies=3).plot(path=str(path))
    assert path.read_bytes() == content


@pytest.mark.parametrize("name", ["regret", "regret.nonsense"])
def test_plot_refuses_an_unknown_kind_of_picture_and_writes_nothing(tmp_path: Path, name: str) -> None:
    with pytest.raises(errors.InvalidValueError, match=rf"^path must end in one of \..*, \.pdf, .*\.svg, .*, got '.*{name}'$"):
        make().plot(path=tmp_path / name)
    assert list(tmp_path.iterdir()) == []


# Files


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20, deadline=None)
@given(
    policies=st.integers(1, 4),
    runs=st.integers(1, 4),
    checkpoints=st.integers(1, 4),
    seed=st.integers(0, 2**32),
)
def test_load_gives_back_what_save_wrote(tmp_path: Path, policies: int, runs: int, checkpoints: int, seed: int) -> None:
    result = make(policies=policies, runs=runs, checkpoints=checkpoints, seed=seed)
    shutil.rmtree(tmp_path / "result", ignore_errors=True)
    result.save(tmp_path / "result")
    back = Result.load(str(tmp_path / "result"))
    assert back == result
    assert back.policies == result.policies
    assert back.us_per_round.tobytes() == result.us_per_round.tobytes()
    assert str(back.table()) == str(result.table())


def test_save_writes_two_files_and_leaves_nothing_else(tmp_path: Path) -> None:
    make().save(tmp_path / "deep" / "result")
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["result"]
    assert sorted(path.name for path in (tmp_path / "deep" / "result").iterdir()) == [
        "arrays.npz",
        "result.json",
    ]
    data = json.loads((tmp_path / "deep" / "result" / "result.json").read_text())
    assert (data["format"], data["format_version"]) == ("rotting-result", 1)
    arrays = (tmp_path / "deep" / "result" / "arrays.npz").read_bytes()
    assert data["arrays_sha256"] == hashlib.sha256(arrays).hexdigest()


def test_save_is_repeatable(tmp_path: Path) -> None:
    make().save(tmp_path / "one")
    make().save(tmp_path / "two")
    for name in ("result.json", "arrays.npz"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@pytest.mark.parametrize("kind", ["folder", "result", "file", "link"])
def test_save_refuses_what_exists(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "result"
    if kind == "folder":
        path.mkdir()
    elif kind == "result":
        make(seed=1).save(path)
    elif kind == "file":
        path.write_text("mine")
    else:
        path.symlink_to(tmp_path / "nowhere")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(FileExistsError, match=r"path must be a new folder, got '.*result', which exists"):
        make().save(path)
    assert sorted(tmp_path.rglob("*")) == before


def test_save_loses_a_race_with_grace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(seed=1).save(tmp_path / "result")
    answers = iter([False, True])
    monkeypatch.setattr(os.path, "lexists", lambda _: next(answers))
    with pytest.raises(FileExistsError, match="exists"):
        make().save(tmp_path / "result")
    assert [path.name for path in tmp_path.iterdir()] == ["result"]
    assert Result.load(tmp_path / "result") == make(seed=1)


def test_a_failing_save_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(json, "dump", interrupted)
    with pytest.raises(KeyboardInterrupt):
        make().save(tmp_path / "result")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    make().save(tmp_path / "result")
    return tmp_path / "result"


@pytest.mark.parametrize("name", ["result.json", "arrays.npz"])
def test_load_refuses_a_missing_file(saved: Path, name: str) -> None:
    (saved / name).unlink()
    with pytest.raises(ValueError, match=f"has no {name}"):
        Result.load(saved)


@pytest.mark.parametrize("name", ["result.json", "arrays.npz"])
@pytest.mark.parametrize("keep", [0.0, 0.3, 0.9])
def test_load_refuses_a_truncated_file(saved: Path, name: str, keep: float) -> None:
    content = (saved / name).read_bytes()
    (saved / name).write_bytes(content[: int(keep * len(content))])
    with pytest.raises(ValueError, match=f"{name}', which is truncated or edited"):
        Result.load(saved)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.99])
def test_load_refuses_an_edited_array(saved: Path, share: float) -> None:
    content = bytearray((saved / "arrays.npz").read_bytes())
    content[int(share * len(content))] ^= 1
    (saved / "arrays.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"arrays\.npz', which is truncated or edited: its checksum differs"):
        Result.load(saved)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"seed": 7', '"seed": 8', "edited: its checksum differs"),
        ('"alpha": 1.4', '"alpha": 1.5', "edited: its checksum differs"),
        ('"seed": 7', '"seed": NaN', "edited: numbers must be finite, got NaN"),
        ('"format": "rotting-result"', '"format": "other"', "is of another format than 'rotting-result'"),
        ('"format_version": 1', '"format_version": 2', "has format version 2, but this rotting reads 1"),
    ],
)
def test_load_refuses_edited_settings(saved: Path, old: str, new: str, message: str) -> None:
    text = (saved / "result.json").read_text()
    assert old in text
    (saved / "result.json").write_text(text.replace(old, new))
    with pytest.raises(ValueError, match=message):
        Result.load(saved)


@pytest.mark.parametrize("text", ["[]", "3", "null", "{}"])
def test_load_refuses_other_json(saved: Path, text: str) -> None:
    (saved / "result.json").write_text(text)
    with pytest.raises(ValueError, match="path must be a saved result, got '.*', which is of another format"):
        Result.load(saved)


@pytest.mark.parametrize(
    ("name", "value"),
    [("policies", [{"policy": "raw-ubc", "params": {}}]), ("runs", 3), ("seed", None), ("horizon", ...)],
)
def test_load_refuses_what_no_result_holds_even_with_its_checksum(saved: Path, name: str, value: Any) -> None:
    data = json.loads((saved / "result.json").read_text())
    del data["settings_sha256"]
    if value is ...:
        del data[name]
    else:
        data[name] = value
    data["settings_sha256"] = _settings_digest(data)
    (saved / "result.json").write_text(json.dumps(data))
    with pytest.raises(ValueError, match="path must be a saved result, got '.*', which cannot be read: "):
        Result.load(saved)


def test_bounds_that_apply_are_drawn_also_of_a_loaded_result(tmp_path: Path) -> None:
    problem = problems.two_arms(L=1.0, horizon=50)
    policies = [registry.make("raw-ucb", alpha=5), registry.make("ucb1")]
    played = simulate(policies, problem, runs=3)
    ax = played.plot(bounds=True)
    labels = [bound.label for bound in theory.bounds(problem, policies[0])]
    assert [line.get_label() for line in ax.get_lines()] == [*played.labels, *labels]
    assert (ax.get_yscale(), played.plot().get_yscale()) == ("log", "linear")
    assert "Thin: proved bounds." in caption(ax)
    assert "No bound applies (see `rotting theory`)." in caption(simulate(policies[1], problem, runs=1).plot(bounds=True))
    played.save(tmp_path / "result")
    loaded = Result.load(tmp_path / "result")
    assert loaded == played
    assert len(loaded.plot(bounds=True).get_lines()) == 4
    with pytest.raises(ValueError, match="bounds must be False, as this result does not know its problem, got True"):
        dataclasses.replace(loaded, played=None).plot(bounds=True)


def test_a_result_pickles_and_stays_read_only() -> None:
    problem = problems.two_arms(horizon=30)
    result = simulate(registry.make("ucb1"), problem, runs=2)
    again = pickle.loads(pickle.dumps(result))
    assert again == result
    assert again.played == problem
    assert not again.regret.flags.writeable


def test_a_result_of_a_function_problem_pickles_without_its_problem() -> None:
    problem = problems.Problem.rested([lambda n: 1.0 - 0.01 * n, 0.5], horizon=30)
    result = simulate(registry.make("ucb1"), problem, runs=2)
    again = pickle.loads(pickle.dumps(result))
    assert again == result
    assert (result.played, again.played) == (problem, None)


def test_a_result_is_read_without_the_code_of_its_policies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Own(Policy):
        name = "own-ucb"
        kernel = UCB1.kernel

    result = Result(**{**fields(), "policies": (UCB1, Own())})
    result.save(tmp_path / "result")
    assert Result.load(tmp_path / "result") == result
    monkeypatch.delitem(policy.defined_policies, "own-ucb")
    read = Result.load(tmp_path / "result")
    assert (read.labels, read.table().rows) == (result.labels, result.table().rows)
    assert read.regret.tobytes() == result.regret.tobytes()
    assert "Loaded without its code: Own." in str(read.table())
    assert pickle.loads(pickle.dumps(read)) == read
    read.save(tmp_path / "again")
    assert (tmp_path / "again" / "result.json").read_bytes() == (tmp_path / "result" / "result.json").read_bytes()
    with pytest.raises(ValueError, match=r"got 'own-ucb' \(if it is your own, import the module that defines it\)"):
        rerun(
            dataclasses.replace(read, problem=problems.two_arms(horizon=100).describe(), played=problems.two_arms(horizon=100))
        )


def _shard(first_run: int, runs: int, **more: Any) -> Result:
    two = (registry.make("ucb1"), registry.make("uniform"))
    given: Any = {"policies": two, "problem": problems.two_arms(horizon=40), "seed": 2, **more}
    return simulate(first_run=first_run, runs=runs, **given)


def test_shards_merge_to_the_whole() -> None:
    complete = _shard(0, 30)
    shards = [_shard(17, 13), _shard(0, 5), _shard(5, 12)]
    assert Result.merge(*shards) == complete
    assert shards[0].merge(*shards[1:]) == complete
    assert Result.merge(complete) == complete
    part = Result.merge(shards[0], shards[2])
    assert (part.first_run, part.runs) == (5, 25)
    assert np.array_equal(part.regret, complete.regret[:, 5:])


def test_the_time_of_a_round_is_that_of_all_merged_runs() -> None:
    shards = [
        changed(_shard(0, 5), us_per_round=np.array([1.0, 8.0])),
        changed(_shard(5, 15), us_per_round=np.array([5.0, 0.0])),
    ]
    assert Result.merge(*shards).us_per_round.tolist() == Result.merge(*shards[::-1]).us_per_round.tolist() == [4.0, 2.0]


def test_a_single_run_that_was_timed_gives_the_time_of_a_round() -> None:
    untimed = changed(_shard(0, 5), us_per_round=np.full(2, np.nan))
    timed = changed(_shard(5, 1), us_per_round=np.array([5.0, np.nan]))
    np.testing.assert_array_equal(Result.merge(untimed, timed).us_per_round, [5.0, np.nan])


def test_policies_and_runs_merge_to_the_whole() -> None:
    problem = problems.two_arms(horizon=40)
    records: tuple[Literal["arms"], Literal["rewards"]] = ("arms", "rewards")
    one, two, three = (registry.make(name) for name in ("ucb1", "uniform", "raw-ucb"))
    complete = simulate([one, two, three], problem, runs=7, record=records)
    shards = [
        simulate(three, problem, runs=7, record=records),
        simulate([one, two], problem, runs=3, first_run=4, record=records),
        simulate([one, two], problem, runs=4, record=records),
    ]
    assert Result.merge(*shards[1:], shards[0]) == complete
    assert Result.merge(*shards).policies == (three, one, two)


def test_functions_of_one_name_are_not_taken_for_one_problem(tmp_path: Path) -> None:
    def falling(slope: float) -> problems.Problem:
        return problems.Problem.rested([lambda n: 1.0 - slope * n, 0.5], horizon=30)

    first, same, other = (simulate(UCB1, falling(slope), runs=4, first_run=k) for slope, k in ((0.01, 0), (0.01, 4), (0.02, 4)))
    assert first.problem == other.problem
    first.save(tmp_path / "result")
    for one in (first, Result.load(tmp_path / "result")):
        assert one.merge(same) == simulate(UCB1, falling(0.01), runs=8)
        with pytest.raises(
            errors.InvalidValueError, match="results must have the same problem, got other means of rested problem"
        ):
            one.merge(other)


SAME_NAME: Any = {
    "a family": (
        lambda L: problems.ProblemFamily(lambda rng: problems.two_arms(L=rng.choice([L, 0.1]), horizon=30), name="two"),
        "two",
    ),
    "a function": (
        lambda L: problems.Problem.by_function(
            (lambda i, t, n: 0.5 - 0.01 * n) if L < 1 else (lambda i, t, n: 0.0), n_arms=2, horizon=30
        ),
        "both problem, 2 arms",
    ),
    "arms that leave": (
        lambda L: problems.Problem([problems.Rested(0.5), problems.Visiting(problems.Rested(lambda n: L - n))], horizon=30),
        "rested problem, 2 arms",
    ),
}


@pytest.mark.parametrize(("make", "name"), SAME_NAME.values(), ids=SAME_NAME)
def test_what_functions_draw_and_compute_is_not_taken_for_one_problem(make: Any, name: str) -> None:
    first, same, other = (simulate(UCB1, make(L), runs=4, first_run=k) for L, k in ((0.5, 0), (0.5, 4), (2.0, 4)))
    assert first.merge(same) == simulate(UCB1, make(0.5), runs=8)
    with pytest.raises(errors.InvalidValueError, match=f"results must have the same problem, got other means of {name}"):
        first.merge(other)
    with pytest.raises(errors.InvalidValueError, match="results must have the same seed, got 0 and 1"):
        first.merge(simulate(UCB1, make(0.5), runs=4, first_run=4, seed=1))


def test_what_was_selected_merges_to_the_whole() -> None:
    complete = _shard(3, 9)
    parts = [complete.select(runs=slice(7, None)), complete.select(runs=range(3, 5)), complete.select(runs=slice(5, 7))]
    assert [(each.first_run, each.runs) for each in parts] == [(7, 5), (3, 2), (5, 2)]
    assert parts[0] == _shard(7, 5)
    assert Result.merge(*parts) == complete
    assert parts[0].to_pandas()["run"].unique().tolist() == [7, 8, 9, 10, 11]
    with pytest.raises(errors.InvalidValueError, match="runs must be one or more consecutive numbers from 3 to 11"):
        complete.select(runs=range(3))


def test_parts_of_late_runs_are_found_without_counting_up_to_them() -> None:
    first = 2**32 - 4
    shard = _shard(first, 4)
    for runs, found in [
        (None, (first, 4)),
        (slice(None), (first, 4)),
        (slice(-3, -1), (first + 1, 2)),
        (slice(first + 2, None), (first + 2, 2)),
        (slice(first, None, 10), (first, 1)),
        (range(first + 1, first + 3), (first + 1, 2)),
    ]:
        part = shard.select(runs=runs)
        assert (part.first_run, part.runs) == found
    for wrong in (slice(3), slice(first, None, 2), slice(None, None, -1), [first + 1, first], [first, first + 2]):
        with pytest.raises(
            errors.InvalidValueError, match=r"runs must be one or more consecutive numbers from \d+ to 4294967295"
        ):
            shard.select(runs=wrong)


def test_a_shard_is_not_the_first_runs_and_says_so(tmp_path: Path) -> None:
    shard = _shard(5, 12)
    assert shard != _shard(0, 12)
    assert "12 runs from run 5 on" in str(shard.table())
    shard.save(tmp_path / "shard")
    assert Result.load(tmp_path / "shard") == shard


@pytest.mark.parametrize(
    ("first_run", "more", "why"),
    [
        (4, {}, "results must hold consecutive runs, got runs 0 to 4 and runs 4 to 8"),
        (6, {}, "results must hold consecutive runs, got runs 0 to 4 and runs 6 to 10"),
        (5, {"seed": 3}, "results must have the same seed, got 2 and 3"),
        (5, {"checkpoints": [7]}, "results must have the same checkpoints, got others"),
        (5, {"problem": problems.two_arms(L=2.0, horizon=40)}, "results must have the same problem, got one of arms "),
        (5, {"horizon": 30}, "results must have the same horizon, got 40 and 30"),
        (5, {"record": "arms"}, "results must have the same records, got nothing and arms"),
        (5, {"policies": registry.make("swa")}, "results of different policies must hold the same runs, got runs 0 to 4 and "),
        (0, {"policies": registry.make("ucb1")}, "results must have equal policies or none in common, got UCB1"),
    ],
)
def test_results_that_do_not_fit_are_not_merged(first_run: int, more: dict[str, Any], why: str) -> None:
    with pytest.raises(errors.InvalidValueError, match=why):
        Result.merge(_shard(0, 5), _shard(first_run, 5, **more))


FUNCTIONS = [
    problems.Problem.rested([lambda n: 1.0 - 0.01 * n, 0.5], horizon=30),
    problems.Problem([problems.General(lambda t, n: 1 / (t + n)), problems.Restless(lambda x: 0.5 - 0.01 * x)], horizon=20),
    problems.Problem([problems.Product(lambda n: 0.9**n, problems.Abrupt(1.0, 0.5, at=9)), problems.Rested(0.3)], horizon=25),
]


@pytest.mark.parametrize("problem", FUNCTIONS, ids=repr)
def test_a_problem_made_from_a_function_is_whole_after_loading(problem: problems.Problem, tmp_path: Path) -> None:
    result = simulate([UCB1, RAWUCB], problem, runs=4)
    result.save(tmp_path / "result")
    loaded = Result.load(tmp_path / "result").played
    assert loaded is not None
    assert (loaded.noise, loaded.horizon, loaded.name) == (problem.noise, problem.horizon, problem.name)
    for ours, theirs in zip(loaded.means(), problem.means(), strict=True):
        assert ours.tobytes() == theirs.tobytes()
    assert loaded.kind == problem.kind
    again = simulate([UCB1, RAWUCB], loaded, runs=4)
    assert again.regret.tobytes() == result.regret.tobytes()
    shorter = simulate(UCB1, loaded, horizon=11, runs=4)
    assert shorter.regret.tobytes() == simulate(UCB1, problem, horizon=11, runs=4).regret.tobytes()
    with pytest.raises(ValueError, match="horizon must be at most"):
        loaded.means(31)


def test_the_means_of_a_loaded_problem_cannot_be_changed(tmp_path: Path) -> None:
    simulate(UCB1, problems.two_arms(horizon=20), runs=2).save(tmp_path / "result")
    loaded = Result.load(tmp_path / "result").played
    assert loaded is not None
    tables = [arm.table for arm in loaded.arms if isinstance(arm, Tabulated)]
    assert len(tables) == 2
    for table in (loaded.means(), *tables):
        assert not any(array.flags.writeable for array in (table.round_values, table.pull_starts, table.pull_values))


def test_a_result_that_was_saved_without_means_has_no_problem(tmp_path: Path) -> None:
    make().save(tmp_path / "result")
    assert Result.load(tmp_path / "result").played is None


def test_a_selection_is_the_part_that_was_asked_for() -> None:
    problem = problems.two_arms(horizon=60)
    complete = simulate([UCB1, RAWUCB], problem, runs=9, checkpoints=[10, 20, 60], record=("arms", "rewards"))
    part = complete.select(policies=[RAWUCB, 0], runs=[2, 3], checkpoints=[20])
    assert part.policies == (RAWUCB, UCB1)
    assert part.checkpoints.tolist() == [20, 60]
    assert part.regret.tolist() == complete.regret[::-1][:, 2:4][:, :, 1:].tolist()
    for name in ("pulls", "arms", "rewards"):
        assert getattr(part, name).tolist() == getattr(complete, name)[::-1][:, 2:4].tolist()
    assert part.played is problem
    assert complete.select() == complete
    assert complete.select("UCB1", slice(4)) == simulate(
        UCB1, problem, runs=4, checkpoints=[10, 20, 60], record=("arms", "rewards")
    )
    assert complete.select(runs=range(3)) == complete.select(runs=slice(3))
    assert complete.select(policies=np.int64(1)) == complete.select(policies=1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"policies": "UCB2"}, "policies must be a policy of this result, got 'UCB2'; did you mean 'UCB1'?"),
        ({"policies": 5}, "policies must be an index from 0 to 1, a label or a policy, got 5"),
        ({"policies": []}, "policies must hold at least one policy, got none"),
        ({"runs": 3}, "runs must be a slice or run numbers such as range(10), got 3"),
        ({"runs": []}, "runs must be one or more consecutive numbers from 0 to 19, got []"),
        ({"runs": [1, 1]}, "runs must be one or more consecutive numbers from 0 to 19, got [1, 1]"),
        ({"runs": [2, 0]}, "runs must be one or more consecutive numbers from 0 to 19, got [2, 0]"),
        ({"runs": [20]}, "runs must be one or more consecutive numbers from 0 to 19, got [20]"),
        ({"checkpoints": [7]}, "checkpoints must be among those of this result, got 7"),
        ({"checkpoints": 5}, "checkpoints must be a list of rounds, got 5"),
    ],
)
def test_what_cannot_be_selected_is_told(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError)) as told:
        make().select(**arguments)
    assert str(told.value) == message


def test_a_result_is_on_disk_before_its_folder_appears(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sync, synced = os.fsync, dict[int, int]()

    def fsync(handle: int) -> None:
        sync(handle)
        if not (tmp_path / "kept").exists():
            synced[os.fstat(handle).st_ino] = os.fstat(handle).st_size

    monkeypatch.setattr(os, "fsync", fsync)
    simulate(registry.make("ucb1"), problems.two_arms(horizon=5), runs=2).save(tmp_path / "kept")
    for path in (tmp_path / "kept").iterdir():
        assert synced[path.stat().st_ino] == path.stat().st_size, path
