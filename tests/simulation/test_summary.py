"""Tables of policies by problems and figures with panels, as papers have them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

import rotting
from rotting.common.statistics import what_runs_can_miss
from rotting.problems import two_arms
from rotting.simulation.study import Study

POLICIES: list[Any] = [
    rotting.Uniform(),
    rotting.RAWUCB(sigma=1.0),
    rotting.tuned(lambda T: rotting.SWUCB(tau=T // 2, sigma=1.0)),
]


@pytest.fixture(autouse=True)
def _no_picture_stays() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def study() -> Study:
    """Three policies on two problems with two horizons."""
    return rotting.sweep(POLICIES, [two_arms(L, horizon=T) for T in (60, 120) for L in (0.3, 4.0)], runs=15)


def test_a_summary_has_a_column_for_each_problem_and_a_row_for_each_policy_and_horizon(study: Study) -> None:
    table = study.summary()
    assert [column.head for column in table.columns] == ["horizon", "policy", "two-arms(L=0.3)", "two-arms(L=4)"]
    assert [(row["horizon"], row["policy"]) for row in table.rows] == [(T, p) for T in ("60", "120") for p in study.labels]
    for k, result in enumerate(study.results):
        for row, regret in zip(table.rows[3 * (k // 2) :], result.regret[:, :, -1], strict=False):
            assert row[result.problem_name].mean == pytest.approx(regret.mean())


def test_bold_is_the_best_and_a_sign_marks_what_compare_ties_with_it(study: Study) -> None:
    verdicts = {(row["problem"], row["policy"]): row["verdict"] for row in study.compare().rows}
    text, latex, page = str(study.summary()), study.summary().to_latex(), study.summary()._repr_html_()
    table = study.summary()
    for row in table.rows:
        for head in ("two-arms(L=0.3)", "two-arms(L=4)"):
            assert row[f"{head} verdict"] == verdicts[f"{head}, T = {row['horizon']}", row["policy"]]
    found = [*verdicts.values()]
    assert found.count("best") == text.count("**") / 2 == latex.count(r"\textbf{") == page.count("<strong>") == 4
    assert found.count("tied") == len(re.findall(r"= \d", text)) == len(re.findall(r"= \d", latex))
    assert 0 < found.count("tied") < 8
    assert "Holm's correction for 12 comparisons" in text


def test_a_table_for_a_paper_has_ones_own_columns_order_labels_and_decimals(study: Study) -> None:
    text = study.latex("horizon", decimals=0, order=["SW-UCB, sigma=1, tuned", 0], labels=["SW & co", "random"])
    head, *lines = text.splitlines()[2:]
    assert head == r"problem & policy & T = 60 & T = 120 \\"
    assert [line.split(" & ")[0] for line in lines[1:5]] == ["two-arms(L=0.3)"] * 2 + ["two-arms(L=4)"] * 2
    assert all(r"SW \& co" in lines[k] and "random" in lines[k + 1] for k in (1, 3))
    assert not re.search(r"\d\.\d", "".join(lines[1:5]).replace("L=0.3", ""))
    assert text.count(r"\textbf{") == 4  # the best of those that are shown
    assert {r"\toprule", r"\midrule", r"\bottomrule"} <= set(text.splitlines())


def test_a_data_frame_has_intervals_and_verdicts_beside_the_means(study: Study) -> None:
    frame = study.summary("horizon").to_pandas()
    assert [*frame.columns] == [
        *("problem", "policy"),
        *(f"T = {T}{more}" for T in (60, 120) for more in ("", "_low", "_high", " verdict")),
    ]


def test_a_summary_says_in_the_cell_where_the_reference_is_another_one(study: Study) -> None:
    from dataclasses import replace

    first, *others = study.results
    mixed = Study(study.parameters, [replace(first, reference="greedy (not optimal: why)"), *others])
    for text in (str(mixed.summary()), mixed.summary().to_latex()):
        assert text.count("(greedy)") == 3
        assert "cannot be compared" in text


def test_one_problem_and_one_policy_have_a_table(study: Study) -> None:
    alone = Study({"problem": ["it"]}, [study.results[0].select(0)])
    assert [column.head for column in alone.summary().columns] == ["policy", "two-arms(L=0.3)"]
    assert "Bold" not in str(alone.summary())


def test_panels_are_by_problem_or_horizon_and_a_policy_looks_the_same_in_all(study: Study) -> None:
    def titles(picture: Any) -> list[str]:
        return [ax.get_title(loc="left") for ax in picture.axes]

    def looks(ax: Any) -> dict[str, tuple[str, str]]:
        return {
            line.get_label(): (line.get_color(), line.get_linestyle()) for line in ax.get_lines() if line.get_label()[0] != "_"
        }

    assert titles(study.plot("horizon", by="problem")) == ["two-arms(L=0.3)", "two-arms(L=4)"]
    rounds: Any = study.plot("round")
    assert titles(rounds) == [f"two-arms(L={L}), T = {T}" for T in (60, 120) for L in ("0.3", "4")]
    assert [ax.get_lines()[0].get_xdata()[-1] for ax in rounds.axes] == [60, 60, 120, 120]
    assert all(looks(ax) == looks(rounds.axes[0]) for ax in rounds.axes)
    assert set(looks(rounds.axes[0])) == set(study.labels)
    by_horizon = study.plot("round", by="horizon")
    assert titles(by_horizon) == ["T = 60", "T = 120"]
    assert len(looks(by_horizon.axes[0])) == 6
    ends = [line.get_ydata()[-1] for line in rounds.axes[0].get_lines()]
    assert ends == pytest.approx(study.results[0].regret[:, :, -1].mean(axis=1))


def test_curves_have_ones_own_order_labels_colours_and_axes(study: Study) -> None:
    figure, axes = plt.subplots(1, 2)
    own: dict[str, Any] = {"order": [1, "uniform"], "labels": ["RAW", "random"], "colors": {"random": "#123456"}}
    assert study.plot("horizon", by="problem", ax=axes, **own) is figure
    for ax in axes:
        lines = [line for line in ax.get_lines() if not line.get_label().startswith("_")]
        assert [line.get_label() for line in lines] == ["RAW", "random"]
        assert lines[1].get_color() == "#123456"
    ax = study.results[0].plot(order=["RAW-UCB 1.4", 0], labels=["RAW", "random"], colors=["#123456", "red"])
    assert sorted((line.get_label(), line.get_color()) for line in ax.get_lines()) == [("RAW", "#123456"), ("random", "red")]


@pytest.mark.parametrize(
    ("draw", "count", "words"),
    [
        (lambda study, _, axes, path: study.plot("horizon", ax=axes, path=path), 1, what_runs_can_miss(15)),
        (lambda study, _, axes, path: study.heat_map(ax=axes[0], path=path), 1, "Mean of 15 runs."),
        (lambda _, game, axes, path: game.plot(ax=axes, path=path), 3, "Run 0, seed 0."),
    ],
)
def test_pictures_in_given_axes_have_a_title_a_caption_and_a_file(draw: Any, count: int, words: str, tmp_path: Path) -> None:
    problems = rotting.grid(two_arms, L=[0.3, 4.0], horizon=[60, 120])
    study, game = rotting.sweep(rotting.UCB1(sigma=1.0), problems, runs=15), rotting.play(rotting.UCB1(sigma=1.0), problems[0])
    figure, axes = plt.subplots(1, count, squeeze=False)
    path = tmp_path / "picture.png"
    assert draw(study, game, axes[0], path) is figure
    assert path.stat().st_size > 10_000
    assert axes[0, 0].get_title(loc="left") != ""
    assert any(words in " ".join(each.get_text().split()) for each in axes[0, 0].texts)
    with pytest.raises(ValueError, match=r"^path must be a new file"):
        draw(study, game, axes[0], path)


@pytest.mark.parametrize("legend", [True, "upper left"])
def test_of_many_policies_the_eight_best_are_drawn_and_the_caption_says_so(legend: Any, tmp_path: Path) -> None:
    policies = rotting.grid(rotting.RAWUCB, alpha=[*range(1, 11)], sigma=1.0)
    study = rotting.sweep(policies, two_arms(1.0, horizon=60), runs=4)
    result = study.results[0]
    least = {result.labels[k] for k in np.argsort(result.regret[:, :, -1].mean(axis=1), kind="stable")[:8]}
    ax = result.plot(legend=legend)
    assert {line.get_label() for line in ax.get_lines()} == least
    assert "The 8 of 10 policies with the least regret." in " ".join(ax.texts[0].get_text().split())
    assert len(result.plot(order=range(10), path=tmp_path / "all.png").get_lines()) == 10
    over = study.plot("round")
    assert {line.get_label() for line in over.axes[0].get_lines()} == least
    assert "The 8 of 10 curves with the least regret." in " ".join(" ".join(each.get_text() for each in over.texts).split())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda s: s.plot("horizon", by="L"), r"^by must be a parameter that varies \(problem, horizon\), got 'L'"),
        (lambda s: s.plot("horizon", ax=[plt.gca()], by="problem"), "^ax must be one pair of axes for each panel, 2, got 1$"),
        (lambda s: s.plot("horizon", by="problem", colors=["red"]), "^colors must be one colour for each of the 3 curves"),
        (lambda s: s.plot("horizon", by="problem", colors={"UCB": "red"}), "^colors must be for labels of curves, got 'UCB'"),
        (
            lambda s: s.plot("horizon", by="problem", colors={"uniform": "redd"}),
            "^colors must be colours that Matplotlib",
        ),
        (lambda s: s.summary(labels=["one"]), "^labels must be one text for each of 3 policies"),
        (lambda s: s.summary(decimals=-1), "^decimals must be a whole number, 0 or more, got -1$"),
        (lambda s: s.summary(order=["UCB"]), "^order must be a policy of this result, got 'UCB'"),
    ],
)
def test_what_cannot_be_shown_is_told(make: Any, message: str, study: Study) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        make(study)
