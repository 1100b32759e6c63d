"""The verdicts on the mutants: appended to a file, so that a run can be resumed, and reported at its end."""

import json
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tools.mutants.edits import Mutant

GOAL = 0.95
"""The share of the mutants, but for the equivalent ones, that must die."""
DEAD = ("killed", "timeout")
STATUSES = (*DEAD, "survived", "broken", "equivalent")


Key = tuple[str, str, str]
"""Identifies a change wherever its line moves: its function, the line before, and after."""


class Verdict(NamedTuple):
    """The verdict on one mutant."""

    id: str
    status: str
    killer: str
    """The test that failed; of a survivor, one that failed once and not when it was repeated."""
    seconds: float
    tests: int
    """How many tests were run."""
    executing: int
    """How many of them execute it. If none does, only tests that are slow, or that start processes, can see it."""
    left_out: int = 0
    """How many tests of its folder were not run, since they take too long."""


def read(path: Path) -> dict[str, Verdict]:
    """Return the verdicts in a file by the ids of the mutants; the last one counts."""
    if not path.exists():
        return {}
    found = (Verdict(**json.loads(line)) for line in path.read_text().splitlines())
    return {each.id: each for each in found}


def append(path: Path, verdict: Verdict) -> None:
    """Append a verdict to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(verdict._asdict()) + "\n")


class Equivalent(NamedTuple):
    """A change that no test can distinguish from the original, wherever its line moves within its function."""

    scope: str
    before: str
    after: str
    why: str

    @property
    def key(self) -> Key:
        """The key of the mutants that make this change."""
        return self.scope, self.before, self.after


def equivalents(path: Path) -> dict[Key, Equivalent]:
    """Return the list of equivalent changes in a file."""
    entries = [Equivalent(**entry) for entry in tomllib.loads(path.read_text()).get("equivalent", [])]
    return {entry.key: entry for entry in entries}


def key(mutant: Mutant) -> Key:
    """Return the key of a mutant in the list of equivalent changes."""
    return mutant.scope, mutant.before, mutant.after


def rate(verdicts: Iterable[Verdict]) -> float:
    """Return the share of the mutants, but for the equivalent ones, that died."""
    counts = Counter(each.status for each in verdicts)
    judged = counts.total() - counts["equivalent"]
    return sum(counts[each] for each in DEAD) / judged if judged else 1.0


def report(mutants: Mapping[str, Mutant], verdicts: Sequence[Verdict], known: Mapping[Key, Equivalent]) -> str:
    """Return the table of the modules, the survivors and the equivalent mutants, as Markdown."""
    by_module: dict[str, Counter[str]] = defaultdict(Counter)
    for each in verdicts:
        by_module[mutants[each.id].path][each.status] += 1
    total: Counter[str] = sum(by_module.values(), Counter())
    lines = [
        f"# {total.total()} mutants: {rate(verdicts):.1%} of those that are not equivalent died",
        "",
        f"| module | {' | '.join(STATUSES)} |",
        f"|---|{'--:|' * len(STATUSES)}",
        *(f"| {name} | {' | '.join(str(counts[s]) for s in STATUSES)} |" for name, counts in sorted(by_module.items())),
        f"| all | {' | '.join(str(total[s]) for s in STATUSES)} |",
    ]
    for status in ("survived", "broken"):
        lines += ["", f"## {status.capitalize()}", ""]
        for each in verdicts:
            if each.status == status:
                mutant = mutants[each.id]
                met = f"{each.tests} tests, of which {each.executing or 'none'} execute it"
                met += f" ({each.left_out} longer ones left out)" if each.left_out else ""
                once = f"; {each.killer} failed once" if each.killer else ""
                lines += [
                    f"- `{each.id}` in {mutant.scope}, {met}{once}",
                    f"  - `{mutant.before}`",
                    f"  - `{mutant.after}`",
                ]
    lines += ["", "## Equivalent", ""]
    for each in verdicts:
        if each.status == "equivalent":
            mutant = mutants[each.id]
            lines += [f"- `{each.id}`: {known[key(mutant)].why}", f"  - `{mutant.before}`", f"  - `{mutant.after}`"]
    return "\n".join(lines) + "\n"
