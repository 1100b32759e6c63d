"""A small report for tests: every kind of curve, table, note and claim, and text that must be escaped in HTML."""

from datetime import UTC, datetime

import numpy as np

from rotting.common.display.figures import Curve, Figure, Panel
from rotting.common.display.pages import PlainSection
from rotting.common.display.tables import Column, FormattedTable
from rotting.common.statistics import Interval
from rotting.paper.report.claims import Claim
from rotting.paper.report.model import Findings, ReportAbout, Section

EVIL = "<script>window.escaped = 1</script> & \"quotes\" </script> <a href='x'>%{y}</a>"


def line(label: str, slope: float) -> Curve:
    x = np.arange(1, 41) * 25
    y = slope * np.sqrt(x)
    return Curve(label, x, y, 0.8 * y, 1.3 * y)


def points(label: str, height: float) -> Curve:
    x = np.array([0.02, 0.2, 2.0])
    y = np.array([1.0, 3.0, 2.0]) * height
    return Curve(label, x, y, y - 0.5 * height, y + 0.5 * height, points=True)


LABELS = ("RAW-UCB 1.4", "FEWA 4", "GLR-UCB", "Exp3.S", "UCB1")


def figure() -> Figure:
    over = tuple(line(label, k + 1.0) for k, label in enumerate(LABELS))
    against = tuple(points(label, k + 1.0) for k, label in enumerate(LABELS[:3]))
    return Figure(
        "regret",
        "Regret on a test",
        "Left: mean and 95 % interval. Right: mean and band.",
        (
            Panel("Every L", "drop L", "regret at the horizon", against, x_log=True, y_log=True),
            Panel("L = 0.2", "round t", "regret", over, y_max=100.0, note="Outside, at the end: UCB1 at 158."),
            Panel("L = 2", "round t", "regret", over),
        ),
    )


def table() -> FormattedTable:
    rows = [
        {"policy": label, "runs": 10 * k, "regret": Interval(k + 1 / 3, k - 0.1, k + 0.7), "won": 0.1 * k, "paper": 1.5 * k}
        for k, label in enumerate(LABELS)
    ]
    rows.append({"policy": EVIL, "runs": 7, "regret": Interval(float("nan"), None, None), "won": None, "paper": None})
    columns = (
        Column("policy", lambda row: str(row["policy"])),
        Column("runs", lambda row: str(row["runs"])),
        Column("mean regret", lambda row: f"{row['regret'].mean:.3f}"),
        Column("won", lambda row: "-" if row["won"] is None else f"{row['won']:.1%}"),
        Column("regret (paper)", lambda row: "-" if row["paper"] is None else f"{row['paper']:.2f}"),
    )
    return FormattedTable(("Regret at the horizon", "10 runs, seed 3"), columns, rows)


def sections() -> list[Section]:
    below = Curve(EVIL, np.array([1.0, 2.0]), np.array([-1.0, -2.0]))
    unknown = Curve("unknown", np.array([1.0, 2.0]), np.array([np.nan, np.nan]))
    evil_panels = (
        Panel(EVIL, EVIL, EVIL, (below,), note=EVIL),
        Panel("", "", "", ()),
        Panel("", "", "", (unknown,), y_log=True),
    )
    evil_figure = Figure("evil", EVIL, EVIL, evil_panels)
    claims = (
        Claim("four", "appendix", "about four times better", "ratio of regrets", Interval(3.9, 3.7, 4.1), low=2.0, high=8.0),
        Claim("better", "section 5", "is better", "difference", Interval(1.1, 0.9, 1.3), low=1.0),
        Claim("log", "section 5", EVIL, "slope", Interval(0.5, 0.4, 0.6), high=0.1),
        Claim(
            "fast",
            "table",
            "fast",
            "time",
            Interval(2.0, 1.9, 2.1),
            low=5.0,
            not_comparable="other code",
            remark="For comparison: 2.5.",
        ),
    )
    return [
        Section(
            "rested-test",
            "A rested test",
            "appendix, figure 4",
            Findings(
                ("What was done.", "What the reader sees."),
                (figure(),),
                {"regret-at-horizon": table()},
                claims,
                ("These data are synthetic.",),
                {"figure 4": "regret", "table 2": "regret-at-horizon"},
            ),
            {"horizon": 1000, "drops": [0.02, 0.2]},
        ),
        Section("evil", EVIL, EVIL, Findings((EVIL,), (evil_figure,), notes=(EVIL,)), {"name": EVIL}),
    ]


def plain_sections() -> list[PlainSection]:
    """The same sections for a plain page."""
    return [
        PlainSection(each.id, each.title, found.paragraphs, found.figures, found.tables, found.notes)
        for each in sections()
        for found in [each.findings]
    ]


ABOUT = ReportAbout(
    "Rotting bandits: a test",
    ("A small report.",),
    3,
    datetime(2025, 1, 2, 3, 4, tzinfo=UTC),
    3723.0,
    {"rotting": "0.1.0", "Python": "3.11.9", "NumPy": "2.4.6", "Numba": "0.68.1"},
    {"processor": "A Processor", "cores": "2", "system": "Linux"},
    "rested-test",
    games=1_200,
    kept=1_050,
)
