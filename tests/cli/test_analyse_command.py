"""`rotting analyse`: tables, a page, and a sentence for every file that cannot be analysed."""

from pathlib import Path

import numpy as np
import pytest

from rotting import cli
from rotting.logs.log import Log
from rotting.logs.report import analyse
from rotting.registry import make
from tests.helpers.html_reader import Reader

ANALYSE = ("analyse", "clicks.csv", "--arm", "creative", "--reward", "clicked", "--policy", "uniform")


@pytest.fixture
def _clicks() -> None:
    """Write a small log of two creatives, one of which wears out."""
    rng = np.random.default_rng(0)
    creatives = rng.integers(0, 2, 60)
    rates = np.where(creatives == 0, np.linspace(1.0, 0.0, 60), 0.5)
    lines = [f"{'ab'[k]},{int(rng.random() < rate)},{row}" for row, (k, rate) in enumerate(zip(creatives, rates, strict=True))]
    Path("clicks.csv").write_text("\n".join(["creative,clicked,when", *lines, ""]), "utf-8")


@pytest.mark.usefixtures("_clicks")
def test_tables_are_what_the_library_finds(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*ANALYSE, "--time", "when", "--seed", "4"]) == 0
    out = capsys.readouterr().out
    log = Log("clicks.csv", arm="creative", reward="clicked", time="when")
    found = analyse(log, make("uniform"), 4)
    tables = (log.describe(), found.diagnosis.table(), found.advice.table(), found.replay.table())
    assert out == "\n\n".join(map(str, tables)) + "\n"
    assert [each.name for each in Path.cwd().iterdir()] == ["clicks.csv"]


def test_propensities_are_checked_and_used(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"{'ab'[k % 2]},{k % 3},0.5" for k in range(60)]
    Path("clicks.csv").write_text("\n".join(["creative,clicked,chance", *lines, ""]), "utf-8")
    assert cli.main([*ANALYSE, "--propensity", "chance"]) == 0
    out = capsys.readouterr().out
    assert "What one arm, or an arm at random, would have earned in every round" in out


@pytest.mark.usefixtures("_clicks")
def test_out_writes_one_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*ANALYSE, "--out", "deep/report"]) == 0
    assert capsys.readouterr().out == f"report: {Path('deep/report/report.html')}\n"
    assert [path.name for path in Path("deep/report").iterdir()] == ["report.html"]
    reader = Reader(Path("deep/report/report.html").read_text("utf-8"))
    words = " ".join(" ".join(reader.words).split())
    for expected in ("Do the arms in clicks.csv wear out?", "Reward column clicked", "uniform"):
        assert expected in words


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "data must be a table in CSV, with the names of its columns first, got 'clicks.csv'"),
        ("creative,clicked\n", "data must have at least one row, got none"),
        ("creativ,clicked\na,1\n", "arm must be the name of a column, got 'creative'; did you mean 'creativ'?"),
        ("creative,clicked\na,1\nb,maybe\n", "line 3, column 'clicked': clicked must be a finite number, got 'maybe'"),
        ("creative,clicked\na,1\nb,0,7\n", "line 3 of clicks.csv must have 2 values, got 3"),
        ("creative,clicked\n,1\nb,0\n", "line 2, column 'creative': creative must not be missing, got ''"),
        ("creative,clicked\na,1\na,0\n", "log must have at least two arms to compare, got only 'a'"),
        ("creative,clicked\na,1\nb,1\n", "log must have rewards that differ, got 1 in every row, so no arm wears out"),
        ("creative,clicked\na,\nb,\n", "log must have a row with a reward, got 2 rows whose rewards are all missing"),
    ],
    ids=[
        "empty",
        "no rows",
        "wrong columns",
        "mixed types",
        "uneven rows",
        "missing arms",
        "one arm",
        "constant rewards",
        "missing rewards",
    ],
)
def test_a_file_that_cannot_be_analysed_gets_a_sentence(content: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("clicks.csv").write_text(content, "utf-8")
    assert cli.main([*ANALYSE, "--out", "report"]) == 2
    out, err = capsys.readouterr()
    assert not out
    assert err.startswith(f"rotting: error: {message}")
    assert len(err.splitlines()) == 1
    assert [each.name for each in Path.cwd().iterdir()] == ["clicks.csv"]


def test_a_file_in_utf_16_is_refused_with_its_encoding(capsys: pytest.CaptureFixture[str]) -> None:
    Path("clicks.csv").write_text("creative,clicked\na,1\nb,0\n", "utf-16")
    assert cli.main(ANALYSE) == 2
    message = "data must be encoded in UTF-8, got 'clicks.csv', which seems to be UTF-16"
    assert message in capsys.readouterr().err


@pytest.mark.usefixtures("_clicks")
@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--out", "clicks.csv"], "out must be new, but 'clicks.csv' exists"),
        (["--policy", "ucb"], "policy must be one of"),
        (["--seed", "-1"], "seed must be"),
        (["--name", "songs"], "name must be left out"),
        (["--policy", "exp3-s:horizon=10"], "policy must be tuned to at least the 60 rounds of the log"),
    ],
)
def test_wrong_options_end_in_one_line(more: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*ANALYSE, *more]) == 2
    out, err = capsys.readouterr()
    assert not out
    assert err.startswith(f"rotting: error: {message}")


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(ANALYSE) == 2
    assert capsys.readouterr().err == "rotting: error: no such file: clicks.csv\n"
    assert not list(Path.cwd().iterdir())
