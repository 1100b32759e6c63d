"""The paper's table of running times: seconds per night and policy, ours and the authors'."""

from rotting.display.tables import Column, Table
from rotting.experiments import Experiment, Plan, Results, restless_nights
from rotting.experiments.restless_nights import LABELS, SIZES, Settings
from rotting.report.model import Findings

# The paper's last table, in the order of LABELS, which is that of its columns. Its third column is headed EFF-FEWA
# (alpha = 4, m = 1.1), but is EFF-RAW-UCB's in the authors' script, and its times are those of the first.
PAPER = {
    2: (67, 35, 65, 143, 337, 56, 560),
    3: (66, 33, 65, 175, 308, 53, 613),
    4: (90, 43, 90, 223, 391, 67, 683),
    5: (86, 47, 88, 159, 473, 77, 2421),
    6: (91, 46, 91, 183, 487, 75, 707),
    7: (74, 41, 74, 115, 380, 69, 1529),
    8: (88, 44, 89, 193, 428, 71, 957),
    9: (64, 34, 63, 116, 341, 55, 971),
}


def findings(settings: Settings, plan: Plan, results: Results) -> Findings:
    """Return the table with our times and the paper's, and our times per round."""
    nights = plan.data
    us = {number: dict(zip(LABELS, results[f"night-{number}"].us_per_round.tolist(), strict=True)) for number in nights}
    rows = [
        {
            "night": number,
            "T": night.horizon,
            **{label: us[number][label] * night.horizon / 1e6 for label in LABELS},
            **{label + MARK: float(value) for label, value in zip(LABELS, PAPER[number], strict=True)},
        }
        for number, night in nights.items()
    ]
    pairs = [column for label in LABELS for column in (_column(label, ".3f"), _column(label + MARK, ",.0f"))]
    kind = "synthetic nights" if nights.synthetic else "nights"
    return Findings(
        paragraphs=(
            (
                "CPU time of one game of a night on one core, with the drawing of rewards and without "
                "compiling. Simulation from the cache count with the time they took when they were played. "
                "The paper prints the average seconds of each policy in each experiment, in Python on other machines, and does "
                "not say T."
            ),
            (
                "The third column of the paper's table is headed EFF-FEWA (alpha = 4, m = 1.1). In the authors' script it is "
                "EFF-RAW-UCB with these parameters, and its times are those of the first column: that is how it is read here."
            ),
        ),
        tables={
            "seconds-per-night": Table(
                (f"Seconds per night ({kind}), and those that the paper prints",), (*_FIRST, *pairs), rows
            ),
            "us-per-round": Table(
                (f"Microseconds per round ({kind})",),
                (*_FIRST, *(_column(label, ".3f") for label in LABELS)),
                [{"night": number, "T": night.horizon, **us[number]} for number, night in nights.items()],
            ),
        },
    )


MARK = " (paper)"
_FIRST = (Column("night", lambda row: str(row["night"])), Column("T", lambda row: f"{row['T']:,}"))


def _column(head: str, style: str) -> Column:
    return Column(head, lambda row: format(row[head], style))


EXPERIMENT = Experiment(
    id="runtime",
    title="Running times",
    reference="Seznec, Ménard, Lazaric, Valko, AISTATS 2020, appendix: average computational time in seconds",
    sizes=SIZES,
    prepare=restless_nights.prepare,  # the same games
    findings=findings,
    order=4,
)
