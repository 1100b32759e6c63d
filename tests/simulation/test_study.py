"""Studies: results over parameters, as tables, pictures and files."""

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

import rotting
from rotting.common.display.tables import FormattedTable
from rotting.common.statistics import mean_interval, what_runs_can_miss
from rotting.problems.oracle import GREEDY_RISING, GREEDY_TWO_CLOCKS
from rotting.simulation.comparisons import mean_ratio
from rotting.simulation.study import Study
from tests.conftest import INTERPRETED

HORIZON, RUNS = 60 if INTERPRETED else 200, 12
ALPHAS, SIZES = [0.2, 1.4, 6.0], [0.5, 1.0, 4.0]


def curves(picture: Any) -> dict[str, Any]:
    """The lines of a picture by their labels, without the bars of intervals."""
    return {line.get_label(): line for line in picture.axes[0].get_lines() if not str(line.get_label()).startswith("_")}


def colours(picture: Any) -> Any:
    return picture.axes[0].get_images()[0].get_array()


@pytest.fixture(autouse=True)
def _no_picture_stays() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def study() -> Study:
    policies = [*rotting.grid(rotting.RAWUCB, alpha=ALPHAS), rotting.UCB1()]
    return rotting.sweep(policies, rotting.grid(rotting.problems.two_arms, L=SIZES, horizon=HORIZON), runs=RUNS)


def test_the_table_has_every_policy_on_every_problem(study: Study) -> None:
    rows = study.table().rows
    assert [(row["L"], row["policy"]) for row in rows] == [(L, label) for L in SIZES for label in study.results[0].labels]
    for row, regret in zip(rows, np.concatenate([each.regret[:, :, -1] for each in study.results]), strict=True):
        assert (row["mean"], row["low"], row["high"]) == tuple(mean_interval(regret))
    assert "RAW-UCB 1.4" in study._repr_html_()


@pytest.fixture(scope="module")
def mixed(study: Study) -> Study:
    """A study whose optimum is too expensive on the last of its problems."""
    *first, last = study.results
    return Study(study.parameters, [*first, replace(last, reference=GREEDY_RISING)])


def words(picture: Any) -> str:
    """The title and the caption of a picture."""
    return " ".join(" ".join(each.get_text() for each in picture.texts).split())


def test_references_that_differ_in_their_reasons_only_are_one(study: Study) -> None:
    first, *others = study.results
    greedy = [replace(first, reference=GREEDY_TWO_CLOCKS), *(replace(each, reference=GREEDY_RISING) for each in others)]
    one = Study(study.parameters, greedy)
    for table in (one.table(), one.best()):
        assert "reference" not in [column.head for column in table.columns]
        assert not any("cannot be compared" in note for note in table.notes)
    assert len(curves(one.plot())) == 4


def test_tables_name_the_problems_the_horizon_the_runs_and_the_seed(study: Study) -> None:
    assert study.table().lines == (f"two-arms over L, horizon {HORIZON}, {RUNS} runs, seed 0",)
    assert study.best().lines[0].endswith("seed 0: the best on each problem")
    two = [rotting.problems.two_arms(horizon=20), rotting.problems.stationary([0.5, 0.4])]
    mixed = rotting.sweep(rotting.UCB1(), two, horizon=20, runs=2)
    assert mixed.table().lines == ("2 problems, horizon 20, 2 runs, seed 0",)
    horizons = rotting.sweep(rotting.UCB1(), rotting.grid(rotting.problems.two_arms, horizon=[10, 20]), runs=2)
    assert horizons.table().lines == ("two-arms over horizon, 2 runs, seed 0",)


def test_regrets_that_are_not_above_zero_have_no_ratio(study: Study) -> None:
    first, *others = study.results
    below = Study(study.parameters, [replace(first, regret=first.regret - 1e6), *others])
    with pytest.raises(
        ValueError, match=r"^mean regrets must be above zero on every problem for best_overall, got -.* of raw-ucb$"
    ):
        below.best_overall()
    with pytest.raises(ValueError, match=r"^mean regrets must be above zero for heat_map to divide by, got -"):
        below.heat_map()


def test_a_plot_has_ticks_at_the_values_and_the_width_of_the_style(tmp_path: Path) -> None:
    study = rotting.sweep(rotting.UCB1(), rotting.grid(rotting.problems.two_arms, horizon=[10, 20, 40]), runs=3)
    ax = study.plot(log=True).axes[0]
    assert ax.get_xticks().tolist() == [10.0, 20.0, 40.0]
    low, high = ax.get_xlim()
    assert low < 9.5
    assert high > 42.0
    with rotting.display.style("column"):
        study.plot(path=tmp_path / "column.png")
    assert plt.imread(tmp_path / "column.png").shape[1] == 650


def test_tables_say_what_regret_is_measured_against(study: Study, mixed: Study) -> None:
    for make in (Study.table, Study.best, Study.best_overall):
        one, two = make(study), make(mixed)
        for each in (str, FormattedTable.to_markdown, FormattedTable.to_latex, FormattedTable._repr_html_):
            assert "Regret against the optimal policy." in each(one)
            assert "or, where the reference is greedy, against the greedy oracle." in each(two)
            assert "not optimal: some arms rise with their pulls." in each(two)
            assert "Regrets against different references cannot be compared." in each(two)
        assert "Regret against the optimal policy." in one.to_pandas().attrs["notes"]
    for make in (Study.table, Study.best):
        assert "reference" not in [column.head for column in make(study).columns]
        table = make(mixed)
        (place,) = (k for k, column in enumerate(table.columns) if column.head == "reference")
        assert place < table.left
        shown = [str(table.columns[place].write(row)) for row in table.rows]
        assert shown == ["greedy" if row["L"] == SIZES[-1] else "optimal" for row in table.rows]
        assert {row["reference"] for row in make(study).rows} == {"optimal"}
        assert table.to_pandas()["reference"].tolist() == [row["reference"] for row in table.rows]
        assert {row["reference"] for row in table.rows if row["L"] == SIZES[-1]} == {GREEDY_RISING}


def test_a_notebook_says_what_regret_is_measured_against(study: Study, mixed: Study) -> None:
    assert "Regret against the optimal policy." in study._repr_html_()
    assert "not optimal: some arms rise with their pulls." in mixed._repr_html_()
    assert "UCB1, against greedy" in mixed._repr_html_()


def test_no_curve_joins_regrets_against_different_references(study: Study, mixed: Study) -> None:
    drawn = curves(mixed.plot())
    for label, k in zip(study.results[0].labels, range(4), strict=True):
        means = [float(each.regret[k, :, -1].mean()) for each in study.results]
        assert drawn[f"{label}, against optimal"].get_ydata().tolist() == pytest.approx(means[:2])
        assert drawn[f"{label}, against greedy"].get_ydata().tolist() == pytest.approx(means[2:])
    assert len(drawn) == 2 * 4
    assert "Regret against the optimal policy." in words(study.plot())
    assert "some arms rise" in words(mixed.plot())


def test_panels_of_one_reference_name_it_in_their_titles_and_each_policy_once(mixed: Study) -> None:
    colors = dict(zip(mixed.labels, ("red", "green", "blue", "black"), strict=True))
    picture = mixed.plot("round", by="L", colors=colors)
    assert [each.get_title(loc="left") for each in picture.axes] == [
        *(f"L = {size:g}, against optimal" for size in SIZES[:-1]),
        f"L = {SIZES[-1]:g}, against greedy",
    ]
    for axes in picture.axes:
        drawn = {str(line.get_label()): line.get_color() for line in axes.get_lines()}
        assert {label: color for label, color in drawn.items() if not label.startswith("_")} == colors


def test_a_heat_map_is_of_regrets_against_one_reference_and_names_it(study: Study, mixed: Study) -> None:
    framed = "Framed: the smallest mean of each problem."
    assert f"Mean of {RUNS} runs. {framed} Regret against the optimal policy." in words(study.heat_map())
    with pytest.raises(ValueError, match=r"^regrets must be against one reference, .*got optimal and greedy \("):
        mixed.heat_map()


def test_a_data_frame_has_the_reference_of_every_regret(study: Study, mixed: Study) -> None:
    for each in (study, mixed):
        frame = each.to_pandas()
        found = dict(frame.groupby("L")["reference"].agg(set))
        assert found == {L: {result.reference} for L, result in zip(SIZES, each.results, strict=True)}


def test_plots_and_tables_say_what_the_intervals_rest_on(study: Study) -> None:
    for table in (study.table(), study.best(), study.best_overall()):
        assert what_runs_can_miss(RUNS) in table.notes
    assert what_runs_can_miss(RUNS) in words(study.plot())
    one = Study(study.parameters, [each.select(runs=slice(1)) for each in study.results])
    assert "* No 95 % interval: there is only one run." in str(one.table())
    assert f"A run of {HORIZON} rounds." in words(one.plot())
    assert "interval" not in words(one.plot())


def test_parameters_that_vary_are_known(study: Study) -> None:
    assert study.varying == ("L", "raw-ucb.alpha")
    one = Study({"L": [1.0], "kind": ["drop"]}, study.results[:1])
    assert one.varying == ("raw-ucb.alpha",)


def test_the_best_is_the_one_with_the_smallest_mean_against_the_next_run_by_run(study: Study) -> None:
    for row, result in zip(study.best().rows, study.results, strict=True):
        final = result.regret[:3, :, -1]
        first, second = np.argsort(final.mean(axis=1))[:2]
        assert row["kind"] == "raw-ucb"
        assert (row["policy"], row["next"]) == (result.labels[first], result.labels[second])
        assert row["regret"] == mean_interval(final[first])
        assert row["behind"] == mean_interval(final[second] - final[first])
        assert row["behind"].mean >= 0
    shown = str(study.best())
    for column in ("best", "regret", "next", "behind"):
        assert f" {column}" in shown


def test_the_best_overall_is_first_and_others_are_compared_with_it(study: Study) -> None:
    rows = study.best_overall().rows
    final = {
        label: np.stack([each.regret[k, :, -1] for each in study.results]) for k, label in enumerate(study.results[0].labels)
    }
    assert {row["policy"] for row in rows} == {*study.results[0].labels[:3]}
    assert rows[0]["ratio"].mean == 1
    for row in rows:
        assert row["ratio"] == mean_ratio(final[row["policy"]], final[rows[0]["policy"]])
    assert [row["ratio"].mean for row in rows] == sorted(row["ratio"].mean for row in rows)


def test_a_study_is_saved_and_loaded(study: Study, tmp_path: Path) -> None:
    study.save(tmp_path / "deep" / "study")
    assert Study.load(tmp_path / "deep" / "study") == study
    assert sorted(each.name for each in (tmp_path / "deep").iterdir()) == ["study"]
    with pytest.raises(FileExistsError, match="path must be a new folder, got"):
        study.save(tmp_path / "deep" / "study")


def edit(path: Path, **changes: Any) -> None:
    about = json.loads((path / "study.json").read_text())
    (path / "study.json").write_text(json.dumps(about | changes))


def test_what_is_no_study_is_not_loaded(study: Study, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="path must be a saved study, but"):
        Study.load(tmp_path / "study")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="cannot be read"):
        Study.load(tmp_path / "empty")
    study.save(tmp_path / "study")
    wrong: list[Any] = [{}, {"L": 3}, [], None]
    for parameters in wrong:
        edit(tmp_path / "study", parameters=parameters)
        with pytest.raises(ValueError, match=r"study.json', which is edited: its parameters are not lists of values"):
            Study.load(tmp_path / "study")
    edit(tmp_path / "study", format_version=7)
    with pytest.raises(ValueError, match="has format version 7, but this rotting reads 1"):
        Study.load(tmp_path / "study")
    edit(tmp_path / "study", format="other")
    with pytest.raises(
        ValueError, match="path must be a saved study, got '.*', which is of another format than 'rotting-study'"
    ):
        Study.load(tmp_path / "study")


def test_a_data_frame_has_the_parameters_first(study: Study) -> None:
    frame = study.to_pandas()
    assert list(frame.columns) == ["L", "policy", "run", "round", "regret", "reference"]
    assert len(frame) == sum(each.regret.size for each in study.results)
    end = frame[(frame["L"] == 1.0) & (frame["policy"] == "UCB1") & (frame["round"] == HORIZON)]
    assert end["regret"].tolist() == study.results[1].regret[3, :, -1].tolist()


def test_a_plot_has_a_curve_for_each_policy_or_each_problem(study: Study, tmp_path: Path) -> None:
    picture = study.plot(log=True)
    assert list(curves(picture)) == [*study.results[0].labels]
    means = [each.regret[0, :, -1].mean() for each in study.results]
    np.testing.assert_allclose(curves(picture)["RAW-UCB 0.2"].get_ydata(), means)
    assert (picture.axes[0].get_xscale(), picture.axes[0].get_xlabel()) == ("log", "L")
    drawn = curves(study.plot("raw-ucb.alpha", path=tmp_path / "alpha.png", log_y=True))
    assert list(drawn) == [f"RAW-UCB, L={L:g}" for L in SIZES]
    assert list(drawn["RAW-UCB, L=1"].get_xdata()) == ALPHAS
    assert (tmp_path / "alpha.png").stat().st_size > 10_000


def test_a_heat_map_shows_regret_over_the_best_of_each_problem(study: Study, tmp_path: Path) -> None:
    picture = study.heat_map(path=tmp_path / "map.png")
    means = np.array([each.regret[:3, :, -1].mean(axis=1) for each in study.results]).T
    np.testing.assert_allclose(colours(picture), means / means.min(axis=0))
    patches: Any = picture.axes[0].patches
    framed = [(each.get_x() + 0.5, each.get_y() + 0.5) for each in patches]
    assert framed == list(enumerate(means.argmin(axis=0)))
    np.testing.assert_allclose(colours(study.heat_map(x="raw-ucb.alpha", y="L")), (means / means.min(axis=0)).T)


def test_a_heat_map_of_two_parameters_of_the_problems_is_of_one_policy() -> None:
    problems = rotting.grid(rotting.problems.two_arms, L=[0.5, 1.0], horizon=[30, 60])
    both = rotting.sweep([rotting.UCB1(), rotting.EffRAWUCB()], problems, runs=3)
    means = [each.regret[0, :, -1].mean() for each in both.results]
    np.testing.assert_allclose(colours(both.heat_map(policy="ucb1")), np.reshape(means, (2, 2)).T)
    with pytest.raises(ValueError, match="policy must be one of ucb1, eff-raw-ucb, got None"):
        both.heat_map()
    assert list(curves(both.plot("horizon"))) == [f"{policy}, L={L}" for L in ("0.5", "1") for policy in both.results[0].labels]


def test_a_heat_map_of_the_problems_over_several_policies_of_a_kind_has_the_name_of_the_kind() -> None:
    problems = rotting.grid(rotting.problems.two_arms, L=[0.5, 1.0], horizon=[30, 60])
    study = rotting.sweep(rotting.grid(rotting.UCB1, sigma=[0.5, 1.0]), problems, runs=3)
    assert study.heat_map("L", "horizon", policy="ucb1").texts[0].get_text() == "UCB1: mean regret"


def test_a_heat_map_has_words_after_numbers() -> None:
    policies = rotting.grid(rotting.RAWUCB, sigma=["estimate", 2.0, 1.0])
    problems = rotting.grid(rotting.problems.two_arms, L=[0.5, 1.0], horizon=30)
    ax = rotting.sweep(policies, problems, runs=3).heat_map().axes[0]
    assert [each.get_text() for each in ax.get_yticklabels()] == ["1", "2", "estimate"]


def test_numbers_in_a_heat_map_have_as_many_digits_as_each_other(study: Study) -> None:
    written = [each.get_text() for each in study.heat_map().axes[0].texts]
    assert written.count("1.00") == len(SIZES)
    assert all(len(each.replace(".", "").lstrip("0")) == 3 for each in written)


def test_labels_are_short_and_no_two_curves_are_one() -> None:
    roots = [0.2**0.5, 0.2**0.5 + 1e-9]
    problems = rotting.grid(rotting.problems.two_arms, L=[1 / 3, 1.0], sigma=roots, horizon=20)
    study = rotting.sweep(rotting.grid(rotting.RAWUCB, alpha=[0.5, 1.4], sigma=roots), problems, runs=3)
    texts = "0.447213595", "0.447213596"
    picture = study.plot("L")
    policies = [f"RAW-UCB {alpha}, sigma={one}" for alpha in (0.5, 1.4) for one in texts]
    assert sorted(curves(picture)) == sorted(f"{each}, sigma={one}" for each in policies for one in texts)
    picture = study.plot("raw-ucb.alpha")
    of_problems = [f"L={size}, sigma={one}" for size in ("0.3333", "1") for one in texts]
    assert sorted(curves(picture)) == sorted(f"RAW-UCB, sigma={one}, {each}" for one in texts for each in of_problems)
    heat = study.heat_map("L", "sigma", policy="raw-ucb").axes[0]
    assert [each.get_text() for each in heat.get_xticklabels()] == ["0.3333", "1"]
    assert [each.get_text() for each in heat.get_yticklabels()] == list(texts)
    rows = [line.split()[:2] for line in str(study.table()).splitlines() if line.startswith("1 ")]
    assert rows == [["1", text] for text in texts for _ in range(4)]


def test_a_plot_says_how_long_the_games_are(study: Study) -> None:
    lengths = rotting.grid(rotting.problems.two_arms, horizon=[30, 60])
    assert f"runs of {HORIZON} rounds" in words(study.plot())
    assert "runs of 30 to 60 rounds" in words(rotting.sweep(rotting.UCB1(), lengths, runs=3).plot())


@pytest.mark.parametrize(
    ("runs", "of_a_plot", "of_a_map"), [(1, "A run of", "A single run."), (2, "Mean of 2 runs of", "Mean of 2 runs.")]
)
def test_pictures_of_one_problem_say_how_many_runs_they_show(runs: int, of_a_plot: str, of_a_map: str) -> None:
    policies = rotting.grid(rotting.RAWUCB, alpha=[0.5, 1.4], sigma=[0.5, 1.0])
    study = rotting.sweep(policies, rotting.problems.two_arms(horizon=30), runs=runs)
    assert f"{of_a_plot} 30 rounds" in words(study.plot())
    assert of_a_map in words(study.heat_map())


def test_a_plot_is_over_the_first_parameter_with_numbers() -> None:
    problems = [rotting.problems.two_arms(L=L, horizon=30) for L in (0.5, 1.0)]
    study = rotting.sweep(rotting.grid(rotting.UCB1, sigma=[0.5, 1.0]), problems, runs=3)
    picture = study.plot()
    assert picture.axes[0].get_xlabel() == "ucb1.sigma"
    assert list(curves(picture)) == ["UCB1, problem=two-arms(L=0.5)", "UCB1, problem=two-arms(L=1)"]


def test_a_logarithmic_axis_shows_regrets_below_zero() -> None:
    """Both policies have less regret than the reference on some problems; on a plain logarithmic axis, they have no points."""
    problems = rotting.grid(rotting.problems.two_arms, L=[0.5, 2.0], horizon=100)
    study = rotting.sweep([rotting.Uniform(), rotting.RAWUCB()], problems, runs=3)
    first, second = study.results
    mixed = Study(study.parameters, [replace(first, regret=first.regret - first.regret.max() - 1.0), second])
    below = Study(study.parameters, [replace(each, regret=each.regret - 1e3) for each in study.results])
    for each, scale in ((study, "log"), (mixed, "symlog"), (below, "linear")):
        ax = each.plot("L", log_y=True).axes[0]
        assert ax.get_yscale() == scale
        low, high = ax.get_ylim()
        for line in curves(ax.figure).values():
            assert all(low <= y <= high for y in np.asarray(line.get_ydata()))


def test_a_notebook_shows_what_the_study_is_once_with_its_table_and_a_drawing(study: Study) -> None:
    shown = study._repr_html_()
    assert shown.count(study.table().lines[0]) == 1
    assert 'aria-label="mean regret against L. At the right end: RAW-UCB 0.2' in shown
    words = Study({"size": ["small", "large", "huge"]}, [each.select("UCB1") for each in study.results])
    assert "<svg" not in words._repr_html_()


def test_a_folder_made_meanwhile_is_left_alone(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, save = tmp_path / "study", rotting.Result.save

    def made_by_another(self: rotting.Result, folder: Path) -> None:
        path.mkdir(exist_ok=True)
        save(self, folder)

    monkeypatch.setattr(rotting.Result, "save", made_by_another)
    with pytest.raises(FileExistsError, match="path must be a new folder, got"):
        study.save(path)
    assert [each.name for each in tmp_path.iterdir()] == ["study"]
    assert not list(path.iterdir())


def test_parameters_with_the_names_of_columns_are_told_apart_from_them(tmp_path: Path) -> None:
    """Random problems have a `low` and a `high`, and so has an interval."""
    families = rotting.grid(rotting.problems.RandomBreakpoints, n_arms=2, horizon=20, low=[0.0, 0.5])
    swept = rotting.sweep(rotting.UCB1(), families, runs=3)
    plain = swept.results[0].table().rows[0]
    row = swept.table().rows[0]
    assert (row["problem.low"], row["low"], row["high"]) == (0.0, plain["low"], plain["high"])
    assert swept.varying == ("problem.low",)
    assert swept.to_pandas().columns[0] == "problem.low"
    named = Study({"regret": [1.0, 2.0]}, swept.results)
    assert list(named.to_pandas().columns) == ["problem.regret", "policy", "run", "round", "regret", "reference"]
    assert Study({"reference": ["a", "b"]}, swept.results).table().rows[0]["problem.reference"] == "a"
    swept.save(tmp_path / "study")
    assert Study.load(tmp_path / "study") == swept


def results(study: Study) -> list[Any]:
    return list(study.results)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda s: Study({"L": []}, []), "results must hold at least one result, got none"),
        (lambda s: Study({}, results(s)), "parameters must name at least one parameter of the problems, got none"),
        (lambda s: Study({"L": [1]}, results(s)), "L must have one value for each result, 3, got 1"),
        (lambda s: Study({"L": [1, 2, None]}, results(s)), "L must have numbers or texts, got None"),  # type: ignore[list-item]
        (lambda s: Study({"L": [1, 2, math.nan]}, results(s)), "L must be a finite number, got nan"),
        (lambda s: Study({"L": [1, 2, 10**400]}, results(s)), "L must be a finite number, got 1"),
        (lambda s: Study({3: [1, 2, 3]}, results(s)), "parameters must have names, got 3"),  # type: ignore[dict-item]
        (lambda s: s.heat_map(x="L", y="L"), "y must be another parameter than x, got 'L' for both"),
        (
            lambda s: Study({"L": [1, 2]}, [s.results[0], s.results[1].select([0])]),
            "results must be of the same policies, got others in results[1] than in results[0]",
        ),
        (
            lambda s: Study({"L": [1, 2]}, [s.results[0], s.results[1].select(runs=[0])]),
            "results must have the same number of runs, got 1 in results[1]",
        ),
        (lambda s: s.plot("l"), "x must be a parameter that varies (L, raw-ucb.alpha), got 'l'"),
        (lambda s: s.heat_map(y="beta"), "y must be a parameter that varies (L, raw-ucb.alpha), got 'beta'"),
        (lambda s: s.heat_map(policy="fewa"), "policy must be one of raw-ucb, ucb1, got 'fewa'"),
        (
            lambda s: Study({"L": [1]}, [s.results[0].select("UCB1")]).best(),
            "policies must be two or more to find the best, got one",
        ),
        (
            lambda s: Study({"L": [1]}, [s.results[0].select("UCB1")]).best_overall(),
            "policies must be several of one kind to compare their parameters, got all different ones: use table()",
        ),
        (
            lambda s: Study({"L": [1]}, [s.results[0].select("UCB1")]).plot(),
            "x must be a parameter that varies (none), got None: use table()",
        ),
        (
            lambda s: Study({"size": ["small", "large", "huge"]}, results(s)).plot("size"),
            "x must be a parameter with numbers, got 'size', which has 'small': use table()",
        ),
    ],
)
def test_what_is_wrong_is_told_in_one_sentence(make: Any, message: str, study: Study) -> None:
    with pytest.raises((TypeError, ValueError)) as told:
        make(study)
    assert str(told.value).startswith(message)


def small(first_run: int = 0) -> rotting.Result:
    return rotting.simulate(rotting.UCB1(), rotting.problems.two_arms(horizon=20), runs=2, first_run=first_run)


@pytest.mark.parametrize(
    ("parameters", "results", "message"),
    [
        ({"a": [1]}, ["x"], r"results\[0\] must be a Result, got 'x'"),
        ({"a": [1]}, small(), "results must be a sequence of results, got Result"),
        ({"a": [1]}, 3, "results must be a sequence of results, got 3"),
        ({"a": 1}, [small()], "a must be a sequence with one value for each result, got 1"),
    ],
)
def test_a_study_of_something_else_is_refused(parameters: Any, results: Any, message: str) -> None:
    with pytest.raises(rotting.errors.InvalidTypeError, match=f"^{message}"):
        Study(parameters, results)


def test_a_result_merges_with_results_only() -> None:
    other: Any
    for other in ("x", [small(2)]):
        with pytest.raises(rotting.errors.InvalidTypeError, match=r"^others must be results, passed one by one"):
            small().merge(other)


def test_results_of_families_that_were_drawn_otherwise_do_not_merge() -> None:
    """As by an earlier version of the library, which had the same name for the family."""
    family = rotting.problems.FallingGaussianProcess(n_arms=2, horizon=20)
    early, late = (rotting.simulate(rotting.UCB1(), family, horizon=20, runs=2, first_run=first) for first in (0, 2))
    assert early.merge(late).runs == 4
    older = replace(early, problem={**early.problem, "drawn": "0" * 16})
    with pytest.raises(rotting.errors.InvalidValueError, match="results must have the same problem"):
        older.merge(late)
