"""Measure what docs/diagnosis.md shows: how often sentences about a log are right and wrong, world by world.

`log_worlds` has the worlds. A verdict on the clock is wrong if it is none of those that are true of the world; "cannot tell" is
never wrong, and one clock of two that wear arms out is half right. An arm that is said to wear out must have lost 5 % of its
own level, one that rises must have gained 5 %, and a steady one must not have changed by a quarter, with seasons or without. A
gain is wrong if the policy, played in the world that made the log, gains less or more than the sentence says.
"""

import argparse
import math
import os
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import rotting
from docs.page_tables import fill, show, table
from rotting.common.progress import Progress
from studies.log_worlds import WORLDS, Truth, make_log, make_world

PAGE = Path(__file__).parent.parent / "docs" / "diagnosis.md"
SEEDS = 60
FIRST_SEED = 10_000  # the rules were set on smaller seeds
TRUE_CHANGE, STEADY = 0.05, 0.25
GAIN_SEEDS = 4  # logs of each world whose gains are judged: a policy that is recommended plays in the world
LIVE_RUNS = 2  # games of a recommended policy in the world
ROUNDING = 1.0  # percentage points beyond which the true gain lies outside of what a sentence says
SHOWN = {
    *("steady", "pulls", "time", "both", "weekend", "falling audience", "ages", "all age alike"),
    *("counts, pulls", "counts, time", "Thompson, pulls", "Thompson, time"),
}  # the worlds in the table of the page
HALF, EVENTS = 0.5, 100  # an arm that has lost so much, and has so many rewards other than 0, should be found


def judge(name: str, seed: int, gains: bool) -> Counter[str]:
    """Return what is right and wrong in the sentences about one log."""
    log, truth = make_log(make_world(name, seed), seed)
    found = rotting.diagnose(log)
    counts = Counter({"logs": 1, found.decay: 1})
    counts["right clock"] = found.decay in truth.clocks
    half = truth.clocks == {"both"} and found.decay in {"pulls", "time"}
    counts["half right clock"] = half
    counts["wrong clock"] = found.decay != "cannot tell" and found.decay not in truth.clocks and not half
    wrong = 0
    for place, arm in enumerate(found.arms):
        if arm.name not in truth.own:
            continue
        own, total = truth.own[arm.name], truth.total[arm.name]
        wrong += {
            "wears out": own > 1 - TRUE_CHANGE,
            "rises": own < 1 + TRUE_CHANGE,
            "steady": max(abs(own - 1), abs(total - 1)) > STEADY,
        }.get(arm.verdict, False)
        if own <= HALF and (log.reward[log.known & (log.arm == place)] != 0).sum() >= EVENTS:
            counts["worn"] += 1
            counts["worn found"] += arm.verdict == "wears out"
    counts["wrong arm"] = wrong > 0
    if gains:
        counts["judged gain"] = 1
        counts.update(_judge_gain(log, truth, found))
    counts["wrong"] = bool(counts["wrong clock"] or counts["wrong arm"] or counts["wrong gain"])
    return counts


def _judge_gain(log: rotting.Log, truth: Truth, diagnosis: rotting.Diagnosis) -> Counter[str]:
    advice = rotting.advise(log, progress=False)
    if advice.policy is None:
        return Counter()
    mine = [each.gain for each in advice.gains if each.policy == advice.policy]
    low = min(-math.inf if each.low is None else each.low for each in mine)
    high = max(math.inf if each.high is None else each.high for each in mine)
    true = 100 * (sum(truth.play(advice.policy, run) for run in range(LIVE_RUNS)) / LIVE_RUNS / truth.mean - 1)
    return Counter({"advised": 1, "wrong gain": not low - ROUNDING <= true <= high + ROUNDING})


def _measure(task: tuple[str, int, bool]) -> tuple[str, Counter[str]]:
    os.nice(10)
    return task[0], judge(*task)


def measure(seeds: range, gains: int, names: list[str]) -> dict[str, dict[str, int]]:
    """Return the counts of each world."""
    tasks = [(name, seed, k < gains) for k, seed in enumerate(seeds) for name in names]
    found: dict[str, Counter[str]] = {name: Counter() for name in names}
    bar = Progress(len(tasks), "logs", show=True)
    with ProcessPoolExecutor() as pool:
        for name, counts in pool.map(_measure, tasks):
            found[name].update(counts)
            bar.advance(1)
    return {name: dict(sorted(counts.items())) for name, counts in found.items()}


def pages(figures: Mapping[str, Mapping[str, int]]) -> dict[str, str]:
    """Return the table of all worlds, and by the names of their marks what the page shows."""
    rows = []
    for name, counts in figures.items():
        logs = counts["logs"]
        shares = [
            f"{counts.get(what, 0) / logs:.0%}" for what in ("right clock", "half right clock", "wrong clock", "wrong arm")
        ]
        worn = f"{counts['worn found'] / counts['worn']:.0%}" if counts.get("worn") else "-"
        gains = [str(counts.get(what, 0)) if counts.get("judged gain") else "-" for what in ("advised", "wrong gain")]
        rows.append([name, *shares, worn, *gains])
    total: Counter[str] = Counter()
    for each in figures.values():
        total.update(each)
    heads = ["world", "clock right", "half right", "wrong", "an arm wrong", "worn arms found", "advised", "wrong gains"]
    line = (
        f"{total['logs']} logs: {total['wrong clock']} with a wrong clock, {total['wrong arm']} with a wrong arm, "
        f"{total['wrong gain']} with a wrong gain, {total['wrong']} ({total['wrong'] / total['logs']:.1%}) with any of them."
    )
    shown = [row[:6] for row in rows if row[0] in SHOWN]
    return {"worlds": table(heads, rows, "lrrrrrrr"), "shown": table(heads[:6], shown, "lrrrrr"), "together": line}


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Measure what docs/diagnosis.md shows.")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="logs of each world (default: %(default)s)")
    parser.add_argument("--first", type=int, default=FIRST_SEED, help="the first seed (default: %(default)s)")
    parser.add_argument("--world", action="extend", nargs="+", help="only these worlds")
    parser.add_argument("--gains", type=int, default=GAIN_SEEDS, help="logs of each world with gains (default: %(default)s)")
    parser.add_argument("--write", action="store_true", help="write the tables of the page anew")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.seeds)
    figures = measure(seeds, options.gains, options.world or list(WORLDS))
    show(pages(figures))
    if options.write:
        fill(PAGE, pages(figures))


if __name__ == "__main__":
    main()
