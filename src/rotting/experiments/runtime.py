"""The paper's table of running times: seconds per night and policy, ours beside the authors'."""

from collections.abc import Mapping, Sequence

from rotting.datasets import Nights
from rotting.experiments import Experiment, Plan, Results, restless_nights
from rotting.experiments.restless_nights import LABELS, SIZES, Settings
from rotting.sections import Findings
from rotting.tables import Column, Table

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


def prepare(settings: Settings) -> Plan:
    """Play the nights; their own section plays the same games, once for both."""
    return restless_nights.prepare(settings)


def findings(settings: Settings, plan: Plan, results: Results) -> Findings:
    """Return the table, the paper's, and the same per round."""
    nights: Nights = plan.data
    speed = {number: results[f"night-{number}"].us_per_round for number in nights}
    kind = "synthetic nights" if nights.synthetic else "nights"
    return Findings(
        paragraphs=(
            (
                "CPU time of one game of a night on one core: a policy and all it needs, the drawing of rewards included, "
                "compiling left out. The paper prints the average seconds of each policy in each experiment, in Python on "
                "other machines, and does not say T; ours are those of the nights above."
            ),
        ),
        tables={
            "seconds-per-night": _table(
                f"Seconds per night (rotting, {kind})",
                nights,
                {number: (us * nights[number].horizon / 1e6).tolist() for number, us in speed.items()},
                ".3f",
            ),
            "seconds-per-night-paper": _table("Seconds per night, as printed in the paper", nights, PAPER, ",.0f", " (paper)"),
            "us-per-round": _table(
                f"Microseconds per round (rotting, {kind})",
                nights,
                {number: us.tolist() for number, us in speed.items()},
                ".3f",
            ),
        },
    )


def _table(line: str, nights: Nights, values: Mapping[int, Sequence[float]], style: str, mark: str = "") -> Table:
    rows = [
        {
            "night": number,
            **({} if mark else {"T": night.horizon}),
            **{label + mark: float(value) for label, value in zip(LABELS, values[number], strict=True)},
        }
        for number, night in nights.items()
    ]

    def column(label: str) -> Column:
        return Column(label + mark, lambda row: format(row[label + mark], style))

    length = [] if mark else [Column("T", lambda row: f"{row['T']:,}")]
    return Table((line,), (Column("night", lambda row: str(row["night"])), *length, *map(column, LABELS)), rows)


EXPERIMENT = Experiment(
    id="runtime",
    title="Running times",
    reference="Seznec, Ménard, Lazaric, Valko, AISTATS 2020, appendix: average computational time in seconds",
    sizes=SIZES,
    prepare=prepare,
    findings=findings,
    order=4,
)
