"""The order of the pages that are run, which their names do not give."""

from pathlib import Path

PLAN = (
    # tutorials
    "simulate_and_compare",
    "your_own",
    "decide_live",
    "serve",
    "reproduce",
    "sweep",
    "from_log_to_policy",
    "news",
    "batteries",
    # concepts
    "rested_and_restless",
    "why_windows",
    "hull",
    "regret_and_oracles",
    "what_cannot_be_learned",
)


def by_plan(name: str) -> tuple[int, str]:
    """Return the place of a file: those of the plan in its order, and others after them, by name."""
    stem = Path(name).stem
    return (PLAN.index(stem) if stem in PLAN else len(PLAN), stem)
