"""The paper's table of running times: seconds per night and policy, ours and the authors'."""

from rotting.common.display.tables import FormattedTable, interval_column, value_column
from rotting.common.statistics import mean_interval
from rotting.paper.experiments import CITATION, Experiment, Prepared, Results, restless_nights
from rotting.paper.experiments.restless_nights import LABELS, PAPER_SECONDS, SIZES, Settings, game_name
from rotting.paper.report.model import Findings


def findings(settings: Settings, prepared: Prepared, results: Results) -> Findings:
    """Return the table with our times and the paper's, and our times per round."""
    nights = {number: night for number, night in prepared.data.items() if game_name(number) in prepared.times}
    us = {number: dict(zip(LABELS, prepared.times[game_name(number)].T, strict=True)) for number in nights}  # [repeat]
    rows = [
        {
            "night": number,
            "T": night.horizon,
            **{label: mean_interval(us[number][label] * night.horizon / 1e6) for label in LABELS},
            **{label + MARK: float(value) for label, value in zip(LABELS, PAPER_SECONDS[number], strict=True)},
        }
        for number, night in nights.items()
    ]
    pairs = [column for label in LABELS for column in (interval_column(label, ".3f"), value_column(label + MARK, ",.0f"))]
    kind = "synthetic nights" if prepared.data.synthetic else "nights"
    return Findings(
        paragraphs=(
            (
                "CPU time of one game of a night on one core, with the drawing of rewards and without compiling. "
                f"Each game is played {prepared.repeats} times for this table: the mean, and its 95 % interval. In another "
                "process, code and data are at other addresses, and times differ by some per cent."
            ),
            (
                "The paper prints the average seconds of each policy in each experiment, in Python on other machines, and does "
                "not say T."
            ),
            (
                "The third column of the paper's table is headed EFF-FEWA (alpha = 4, m = 1.1). In the authors' script it is "
                "EFF-RAW-UCB with these parameters, and its times are those of the first column: that is how it is read here."
            ),
        ),
        covers={"Appendix, table: average computational time in seconds": "seconds-per-night"},
        tables={
            "seconds-per-night": FormattedTable(
                (f"Seconds per night ({kind}), and those that the paper prints",), (*_FIRST, *pairs), rows
            ),
            "us-per-round": FormattedTable(
                (f"Microseconds per round ({kind})",),
                (*_FIRST, *(interval_column(label, ".3f") for label in LABELS)),
                [
                    {"night": number, "T": night.horizon, **{label: mean_interval(us[number][label]) for label in LABELS}}
                    for number, night in nights.items()
                ],
            ),
        },
    )


MARK = " (paper)"
_FIRST = (value_column("night"), value_column("T", ","))


REFERENCE = f"{CITATION}, appendix: average computational time in seconds"
# The games are those of the nights.
EXPERIMENT = Experiment("runtime", "Running times", REFERENCE, SIZES, restless_nights.prepare, findings, 6)
