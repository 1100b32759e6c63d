"""The page about a log: what it says follows from the verdicts, and every number has an interval or a reason."""

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import rotting
from rotting.common.statistics import Interval
from rotting.errors import InvalidTypeError, InvalidValueError, PathExistsError
from rotting.logs.advice import Advice, Gain
from rotting.logs.cells import Decay
from rotting.logs.diagnosis import PICTURED, Diagnosis, diagnose
from rotting.logs.log import Log
from rotting.logs.replay import replay
from rotting.logs.report import Analysis, analyse, headline, next_steps, sections, write_report
from tests.helpers.html_reader import Reader

POLICY = rotting.Uniform()
REASON = "Whether arms wear out with their pulls or with time, uniform would have earned 3 to 9 % more."


def worn_log(rows: int = 3_000, **columns: object) -> Log:
    """Return a log in which `a` wears out, `b` is steady, and `c` has too few rewards."""
    rng = np.random.default_rng(0)
    arm = np.array(["a", "b"])[rng.integers(0, 2, rows)]
    arm[:20] = "c"
    means = np.where(arm == "a", np.linspace(1.0, 0.2, rows), 0.5)
    return Log({"arm": arm, "reward": means + rng.normal(0.0, 0.2, rows), **columns}, **{name: name for name in columns})


def analysis_of(log: Log, recommended: bool = True) -> Analysis:
    """Return an analysis whose advice was written by hand: games of many problems are the tests' of `advise`."""
    diagnosis = diagnose(log)
    gains = tuple(Gain(POLICY, clock, Interval(100.0, 90.0, 110.0), Interval(6.0, 3.0, 9.0)) for clock in ("pulls", "time"))
    advice = Advice(log, diagnosis, gains, POLICY if recommended else None, REASON, 200)
    return Analysis(log, diagnosis, replay(log, POLICY), advice)


def decided(analysis: Analysis, decay: Decay) -> Analysis:
    diagnosis = dataclasses.replace(analysis.diagnosis, decay=decay)
    return dataclasses.replace(analysis, diagnosis=diagnosis)


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return analysis_of(worn_log())


@pytest.fixture(scope="module")
def page(analysis: Analysis, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("page") / "report"
    path = write_report(analysis, folder, "clicks.csv", {"Arm column": "creative"}, seed=3, seconds=1.5)
    assert [each.name for each in folder.iterdir()] == [path.name] == ["report.html"]
    return path.read_text("utf-8")


def text_of(analysis: Analysis) -> Mapping[str, str]:
    return {each.id: " ".join(each.paragraphs) for each in sections(analysis)}


def test_the_headline_is_the_answer(analysis: Analysis) -> None:
    reason = analysis.diagnosis.reason
    assert headline(analysis) == (f"a wears out; 2 of the 3 arms had enough rewards to be tested. {reason}", REASON)
    assert "without 4 units the log cannot tell whether with pulls or with time" in reason
    assert "a wears out with use;" in headline(decided(analysis, "pulls"))[0]
    assert "a wears out with time;" in headline(decided(analysis, "time"))[0]
    assert "a wears out with use and with time;" in headline(decided(analysis, "both"))[0]


def test_the_headline_of_a_log_without_wear() -> None:
    rng = np.random.default_rng(0)
    steady = analysis_of(Log({"arm": rng.integers(0, 2, 4_000), "reward": rng.normal(1.0, 0.2, 4_000)}))
    assert steady.diagnosis.decay == "none"
    assert headline(steady)[0].startswith("Nothing wears out, as far as the log can show; 2 of the 2 arms")
    assert "Wear is no reason to replace arms." in next_steps(steady)


def test_arms_that_fall_together_are_not_said_to_wear_out() -> None:
    rows = [(f"arm {k}", 1.0 - 0.01 * n + 0.001 * (k * n % 7)) for n in range(80) for k in range(7)]
    words = headline(analysis_of(Log(rows)))[0]
    assert words.startswith("The log shows no single arm that wears out")
    assert "All arms fall together" in words


def test_the_page_begins_with_the_answer_and_says_what_is_not_known(analysis: Analysis) -> None:
    text = text_of(analysis)
    assert list(text) == ["picture", "next", "unknown", "arms", "policies", "log"]
    assert "A column that says who sees the arm" in text["unknown"]
    assert "The time of every decision" in text["unknown"]


def test_units_that_do_not_tell_are_not_asked_for_again() -> None:
    rng = np.random.default_rng(1)
    log = worn_log(unit=rng.integers(0, 10, 3_000), time=np.arange(3_000))
    assert "A column that says" not in text_of(analysis_of(log))["unknown"]


@pytest.mark.parametrize(
    ("decay", "step"),
    [
        ("pulls", "Spread the pulls"),
        ("time", "by their age"),
        ("both", "and by their age"),
        ("cannot tell", "Plan no replacements"),
    ],
)
def test_what_to_do_follows_from_the_clock(analysis: Analysis, decay: Decay, step: str) -> None:
    assert sum(step in each for each in next_steps(decided(analysis, decay))) == 1


def test_what_to_do_follows_from_the_advice(analysis: Analysis) -> None:
    assert next_steps(analysis)[0] == "Let uniform choose the arms: rotting.Uniform()."
    without = dataclasses.replace(analysis, advice=dataclasses.replace(analysis.advice, policy=None))
    assert next_steps(without)[0].startswith("Keep the present way")


def test_missing_rewards_are_a_step() -> None:
    log = worn_log()
    reward = log.reward.copy()
    reward[:30] = np.nan
    missing = Log({"arm": [log.arms[k] for k in log.arm], "reward": reward})
    assert any("why 1.0% of the rewards are missing" in each for each in next_steps(analysis_of(missing)))


def test_the_arms_that_matter_have_a_picture_and_all_have_a_row() -> None:
    rng = np.random.default_rng(0)
    n = 6_000
    arm = rng.integers(0, 15, n)
    mean = np.where(arm == 3, np.linspace(1.0, 0.2, n), 0.6)
    found = sections(analysis_of(Log({"arm": arm, "reward": mean + rng.normal(0.0, 0.1, n)})))
    (figure,) = found[0].figures
    assert len(figure.panels) == 1 + PICTURED
    assert [panel.title for panel in figure.panels[:2]] == ["all arms together", "3"]
    assert figure.panels[1].note.startswith("wears out: change -0.")
    assert "5 more arms have no picture." in figure.caption
    assert all(curve.low is not None for panel in figure.panels for curve in panel.curves)
    (table,) = found[3].tables.values()
    assert table.rows[0]["name"] == 3
    assert len(table.rows) == 15


def test_the_page_has_it_all(page: str, analysis: Analysis) -> None:
    reader = Reader(page)
    assert reader.open == []
    words = " ".join(" ".join(reader.words).split())
    for expected in ("Do the arms in clicks.csv wear out?", "Arm column", "creative", REASON, *next_steps(analysis)):
        assert " ".join(expected.split()) in words, expected
    for table in (analysis.diagnosis.table(), analysis.advice.table()):
        for row in table.rows:
            for column in table.columns:
                assert column.write(row) in words
    assert not [each for _, each in reader.elements if "src" in each or (each.get("href") or "#")[0] not in "#d"]


def test_nothing_is_overwritten(analysis: Analysis, tmp_path: Path) -> None:
    with pytest.raises(PathExistsError):
        write_report(analysis, tmp_path, "clicks.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("a", 1.0), ("a", 0.0)], "log must have at least two arms to compare, got only 'a'"),
        ([("a", 2.0), ("b", 2.0)], "log must have rewards that differ, got 2 in every row, so no arm wears out"),
        ([("a", None), ("b", None)], "log must have a row with a reward, got 2 rows whose rewards are all missing"),
    ],
)
def test_a_log_with_nothing_to_compare_is_refused(rows: list[tuple[str, float | None]], message: str) -> None:
    with pytest.raises(InvalidValueError, match=re.escape(message)):
        analyse(Log(rows))


def test_only_a_log_can_be_analysed() -> None:
    wrong: Log = None  # type: ignore[assignment]
    with pytest.raises(InvalidTypeError, match="log must be a Log"):
        analyse(wrong)


def test_an_analysis_asks_the_same_policies_everywhere() -> None:
    log = worn_log(60)
    found = analyse(log, POLICY, 5)
    assert isinstance(found.diagnosis, Diagnosis)
    assert [each.policy for each in found.replay] == list(dict.fromkeys(each.policy for each in found.advice.gains)) == [POLICY]
    assert found.replay.choices == replay(log, POLICY, 5).choices
