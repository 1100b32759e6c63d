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
from rotting.logs.clocks import Decay
from rotting.logs.diagnosis import FEWEST_REWARDS, Diagnosis, diagnose
from rotting.logs.log import Log
from rotting.logs.replay import replay
from rotting.logs.report import MOST_PICTURED, Analysis, analyse, headline, next_steps, sections, write_report
from tests.helpers.html_reader import Reader

POLICY = rotting.Uniform()
REASON = "Whichever way your arms wear out, uniform would have earned 3 to 9 % more."


def worn_log(rows: int = 3_000, **columns: object) -> Log:
    """Return a log in which `a` wears out, `b` is steady, and `c` has too few rewards."""
    rng = np.random.default_rng(0)
    arm = np.array(["a", "b"])[rng.integers(0, 2, rows)]
    arm[: FEWEST_REWARDS - 1] = "c"
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
    first = "1 of 3 arms wears out: a. The log cannot tell whether use or time wears them out."
    assert headline(analysis) == (first, REASON)
    assert "with use:" in headline(decided(analysis, "pulls"))[0]
    assert "with time, however often" in headline(decided(analysis, "time"))[0]
    assert "with use and with time" in headline(decided(analysis, "both"))[0]


def test_the_headline_of_a_log_without_wear() -> None:
    rng = np.random.default_rng(0)
    steady = analysis_of(Log({"arm": rng.integers(0, 2, 4_000), "reward": rng.normal(1.0, 0.2, 4_000)}))
    assert steady.diagnosis.decay == "none"
    assert headline(steady)[0] == "None of the 2 arms wears out, as far as the log shows."
    assert text_of(steady)["clock"].startswith("Arms do not wear out along any clock.")
    assert "Wear is no reason to replace arms." in next_steps(steady)


def test_many_worn_arms_are_counted_and_the_first_are_named() -> None:
    rows = [(f"arm {k}", 1.0 - 0.01 * n) for n in range(80) for k in range(7)]
    assert headline(analysis_of(Log(rows)))[0].startswith("7 of 7 arms wear out: arm 0, arm 1, arm 2, arm 3, arm 4 and 2 more.")


def test_a_single_worn_arm_more_is_named() -> None:
    rows = [(f"arm {k}", 1.0 - 0.01 * n) for n in range(80) for k in range(6)]
    assert headline(analysis_of(Log(rows)))[0].startswith("6 of 6 arms wear out: arm 0, arm 1, arm 2, arm 3, arm 4 and arm 5.")


def test_the_sections_say_what_the_log_lacks(analysis: Analysis) -> None:
    text = text_of(analysis)
    assert list(text) == ["holds", "wear", "clock", "replay", "advice", "next"]
    assert "2 of 3 arms have at least 40 rewards" in text["holds"]
    assert "Of 3 arms, 1 wear out, 1 are steady, 1 have too few" in text["wear"]
    assert "at least 8 are needed, some with much traffic" in text["clock"]
    assert "who saw the arm" in text["next"]
    assert "the time of every decision" in text["next"]


def test_units_that_do_not_tell_are_not_asked_for_again() -> None:
    rng = np.random.default_rng(1)
    log = worn_log(unit=rng.integers(0, 10, 3_000), time=np.arange(3_000))
    text = text_of(decided(analysis_of(log), "cannot tell"))
    assert "units whose traffic differs more" in text["clock"]
    assert "Let the next log hold" not in text["next"]


@pytest.mark.parametrize(
    ("decay", "step"),
    [("pulls", "Spread the pulls"), ("time", "by their age"), ("both", "and by their age"), ("cannot tell", "Before you plan")],
)
def test_what_to_do_follows_from_the_clock(analysis: Analysis, decay: Decay, step: str) -> None:
    assert sum(step in each for each in next_steps(decided(analysis, decay))) == 1


def test_what_to_do_follows_from_the_advice(analysis: Analysis) -> None:
    assert next_steps(analysis)[0] == f"Let uniform choose the arms: rotting.Uniform(). {REASON}"
    without = dataclasses.replace(analysis, advice=dataclasses.replace(analysis.advice, policy=None))
    assert next_steps(without)[0].startswith("Keep the present way")


def test_missing_rewards_are_a_step() -> None:
    log = worn_log()
    reward = log.reward.copy()
    reward[:30] = np.nan
    missing = Log({"arm": [log.arms[k] for k in log.arm], "reward": reward})
    assert any("why 1.0 % of the rewards are missing" in each for each in next_steps(analysis_of(missing)))


def test_every_arm_has_two_pictures_with_bands_the_most_pulled_first() -> None:
    rows = [(f"arm {k}", float(n % 7)) for k in range(MOST_PICTURED + 3) for n in range(60 + k)]
    wear = next(each for each in sections(analysis_of(Log(rows))) if each.id == "wear")
    (figure,) = wear.figures
    assert len(figure.panels) == 2 * MOST_PICTURED
    assert figure.panels[0].title == f"arm {MOST_PICTURED + 2}: over its pulls"
    assert "arm 2, arm 1 and arm 0 have fewer pulls, or no known rewards, and no picture." in figure.caption
    assert all(curve.low is not None for panel in figure.panels for curve in panel.curves)
    assert all("95 % interval" in panel.note for panel in figure.panels[::2])
    (table,) = wear.tables.values()
    pulls = [row["pulls"] for row in table.rows]
    assert len(pulls) == MOST_PICTURED + 3
    assert pulls == sorted(pulls, reverse=True)


def test_no_arm_is_left_without_a_picture_alone() -> None:
    rows = [(f"arm {k}", float(n % 7)) for k in range(MOST_PICTURED + 1) for n in range(60)]
    (figure,) = next(each for each in sections(analysis_of(Log(rows))) if each.id == "wear").figures
    assert len(figure.panels) == 2 * (MOST_PICTURED + 1)
    assert "no picture" not in figure.caption


def test_the_page_says_how_the_policy_is_chosen(analysis: Analysis) -> None:
    rule = "The recommended policy is the one whose smallest gain is the largest, if that gain is at least 1 %."
    assert text_of(analysis)["advice"].startswith(rule)


def test_the_page_has_it_all(page: str, analysis: Analysis) -> None:
    reader = Reader(page)
    assert reader.open == []
    words = " ".join(" ".join(reader.words).split())
    for expected in ("Do the arms in clicks.csv wear out?", "Arm column", "creative", REASON, *next_steps(analysis)):
        assert " ".join(expected.split()) in words, expected
    for table in (analysis.diagnosis.table(), analysis.replay.table(), analysis.advice.table()):
        for row in table.rows:
            for column in table.columns:
                assert column.write(row) in words
    assert not [each for _, each in reader.elements if "src" in each or (each.get("href") or "#")[0] not in "#d"]


def test_numbers_without_an_interval_say_why(page: str) -> None:
    words = " ".join("".join(Reader(page).words).split())
    for reason in (
        "They are exact, and need no intervals",
        "has no interval (-)",
        "so it has no interval",
        "needs no interval",
    ):
        assert reason in words
    assert f"and for an interval: fewer than {FEWEST_REWARDS}" in words  # the arm without an interval


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
