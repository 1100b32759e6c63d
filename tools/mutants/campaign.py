"""From the choice of the mutants to the report."""

import fnmatch
import functools
import hashlib
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from tools.mutants import edits, verdicts
from tools.mutants.edits import Mutant
from tools.mutants.reach import ChosenTests, Test, digest, reach
from tools.mutants.trial import IMPORTS, KILLED, SURVIVED, Job, attempt, make_slot
from tools.mutants.trial import run as run_jobs
from tools.mutants.verdicts import Equivalent, Key, Verdict

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build/mutants"
EQUIVALENT = Path(__file__).with_name("equivalent.toml")
TARGETS = "src/rotting/*.py"  # of all folders: `*` matches slashes
EXCLUDED = (
    # Plots, files, reports and the command line.
    *("*/__main__.py", "*/cli/*", "*/display/*", "*/datasets/*", "*/experiments/*"),
    *(f"*/report/{name}.py" for name in ("about", "charts", "frames", "model", "page", "writer")),
    *(f"*/common/{name}.py" for name in ("atomic_files", "folders", "progress", "version")),
    # The compiler, which the tests run without, and modules that only name things.
    *(f"*/engines/{name}.py" for name in ("compile", "cuda_device")),
    *("*/kernels/binding.py", "*/registry.py", "src/rotting/__init__.py"),
)
FEWEST = 3
"""Mutants drawn from every module that has as many."""
COMPILED = 60.0
"""Usual seconds of a slow test: they are not measured, and include compiling."""


def repository() -> list[str]:
    """Return the paths of the repository's files, those not yet committed included."""
    command = ("git", "ls-files", "--cached", "--others", "--exclude-standard")
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    return [path for path in listed if (ROOT / path).is_file()]


def is_target(path: str) -> bool:
    """Return whether mutants are made of a file."""
    return fnmatch.fnmatch(path, TARGETS) and not any(fnmatch.fnmatch(path, pattern) for pattern in EXCLUDED)


def _rank(mutant: Mutant, seed: str) -> str:
    """Return the key by which mutants are drawn; it does not change when lines move."""
    return hashlib.sha256(f"{seed}|{verdicts.key(mutant)}|{mutant.column}".encode()).hexdigest()


def sample(mutants: Iterable[Mutant], count: int, seed: str) -> list[Mutant]:
    """Return a random sample of mutants: a few from every file, and the rest with equal probability."""
    by_path = defaultdict(list)
    for mutant in sorted(mutants, key=lambda each: _rank(each, seed)):
        by_path[mutant.path].append(mutant)
    first = [mutant for found in by_path.values() for mutant in found[:FEWEST]]
    rest = sorted((each for found in by_path.values() for each in found[FEWEST:]), key=lambda each: _rank(each, seed))
    return sorted([*first, *rest][:count], key=lambda each: (each.path, each.line, each.column))


def _killer(mutant: Mutant) -> Path:
    """Return the file with the name of the test that is running, or that failed."""
    return FOLDER / f"logs/{_name(mutant)}.killer"


def _name(mutant: Mutant) -> str:
    return mutant.id.replace("/", ".")


def _job(mutant: Mutant, tests: Iterable[Test]) -> Job:
    chosen = [
        (file, {test.id: COMPILED if test.slow else test.seconds for test in found})
        for file, found in groupby(tests, lambda each: each.file)
    ]
    work = functools.partial(attempt, chosen=chosen, killer=_killer(mutant))
    return Job(_name(mutant), work, IMPORTS, mutant.path, mutant.applied((ROOT / mutant.path).read_text()))


def _tried(met: dict[str, tuple[Mutant, ChosenTests]], slots: Sequence[Path]) -> Iterator[tuple[Mutant, Verdict]]:
    """Run the tests of each mutant, and yield the mutants with their verdicts."""
    jobs = [_job(mutant, [*tests.executing, *tests.others]) for mutant, tests in met.values()]
    for k, (job, status, seconds) in enumerate(run_jobs(jobs, slots, FOLDER / "logs"), 1):
        mutant, tests = met[job.name]
        if status is None:
            word = "timeout"
        elif status == SURVIVED:
            word = "survived"
        elif status == KILLED or status < 0:  # a signal: the process crashed
            word = "killed"
        else:
            word = "broken"
        killer, executing = _killer(mutant), len(tests.executing)
        who = killer.read_text() if killer.exists() and word != "survived" else ""
        killer.unlink(missing_ok=True)
        sys.stderr.write(f"{k}/{len(jobs)} {word:<9} {seconds:5.1f} s  {mutant.id}  {mutant.after}\n")
        yield mutant, Verdict(mutant.id, word, who, round(seconds, 2), executing + len(tests.others), executing, tests.left_out)


def judge(met: dict[str, tuple[Mutant, ChosenTests]], slots: Sequence[Path]) -> Iterator[Verdict]:
    """Run the tests of each mutant, and yield the verdicts.

    A test that fails without executing the mutant may have failed by chance. It is repeated, and counts if it fails again.
    """
    doubtful: dict[str, tuple[Mutant, ChosenTests]] = {}
    first: dict[str, Verdict] = {}
    for mutant, verdict in _tried(met, slots):
        killers = [test for test in met[_name(mutant)][1].others if test.id == verdict.killer]
        if killers:
            doubtful[_name(mutant)], first[mutant.id] = (mutant, ChosenTests([], killers)), verdict
        else:
            yield verdict
    for mutant, verdict in _tried(doubtful, slots):
        yield first[mutant.id]._replace(status=verdict.status)


def results_file(code: str, package: Sequence[str] | None, budget: float, rest: float) -> Path:
    """Return the file of the verdicts for this code. Which tests a mutant meets depends on the other arguments, too."""
    tests = hashlib.sha256(f"{sorted(package or ())}|{budget}|{rest}".encode()).hexdigest()[:8]
    return FOLDER / f"results-{code}-{tests}.jsonl"


def _possible(files: Sequence[str], patterns: Sequence[str], known: Mapping[Key, Equivalent]) -> list[Mutant]:
    """Return every mutant of the target files that match one of the patterns, or of all target files without patterns."""
    found = [
        mutant
        for path in filter(is_target, files)
        if not patterns or any(fnmatch.fnmatch(path, pattern) for pattern in patterns)
        for mutant in edits.mutants(path, (ROOT / path).read_text())
    ]
    unknown = set(known) - {verdicts.key(mutant) for mutant in found}
    if not patterns and unknown:
        raise ValueError(f"{EQUIVALENT.name} must list changes that are possible, got {sorted(unknown)}")
    return found


def _counted(mutants: Iterable[Mutant], found: Mapping[str, Verdict], known: Mapping[Key, Equivalent]) -> list[Verdict]:
    """Return the verdicts of those mutants that have one; those listed as equivalent must not have been killed."""
    counted = []
    for mutant in mutants:
        verdict = found.get(mutant.id)
        if verdicts.key(mutant) in known:
            if verdict and verdict.status in verdicts.DEAD:
                raise ValueError(
                    f"{EQUIVALENT.name} must list changes that no test can tell, got {mutant.id}: {verdict.killer}"
                )
            counted.append(Verdict(mutant.id, "equivalent", "", 0.0, 0, 0))
        elif verdict:
            counted.append(verdict)
    return counted


def run(
    *,
    count: int,
    seed: str,
    module: Sequence[str] | None,
    package: Sequence[str] | None,
    only: Sequence[str] | None,
    workers: int,
    budget: float,
    rest: float,
    equivalent: bool,
    compiled: bool,
) -> int:
    """Run a campaign as the command line describes it; return the exit status, 0 if enough of the mutants died."""
    files = repository()
    known = verdicts.equivalents(EQUIVALENT)
    every = _possible(files, [*(module or ()), *(f"src/rotting/{each}/*" for each in package or ())], known)
    chosen = [each for each in every if each.id in only] if only else sample(every, count, seed)

    slots = [FOLDER / f"slot-{k}" for k in range(workers)]
    for slot in slots:
        make_slot(ROOT, files, slot)
    reached = reach(ROOT, files, slots, FOLDER / "reach", package, may_run=not compiled)
    code = digest(ROOT, (path for path in files if path.startswith(("src/", "tests/"))))
    results = results_file(code, package, budget, rest)
    found = verdicts.read(results)

    met: dict[str, tuple[Mutant, ChosenTests]] = {}
    for mutant in sorted(chosen, key=lambda each: _rank(each, seed)):  # an interrupted run has judged a random sample, too
        before = found.get(mutant.id)
        if compiled:
            slow = reached.slow_tests_of(mutant) if before and before.status == "survived" else []
            tests = ChosenTests(slow, [])
        elif not only and (before or (verdicts.key(mutant) in known and not equivalent)):
            continue
        else:
            tests = reached.tests_of(mutant, budget, rest)
            if not (tests.executing or tests.others):
                verdicts.append(results, Verdict(mutant.id, "survived", "", 0.0, 0, 0, tests.left_out))
        if tests.executing or tests.others:
            met[_name(mutant)] = mutant, tests
    for verdict in judge(met, slots):
        verdicts.append(results, verdict)

    counted = _counted(chosen, verdicts.read(results), known)
    text = verdicts.report({each.id: each for each in chosen}, counted, known)
    (FOLDER / "report.md").write_text(text)
    sys.stdout.write(text)
    return 0 if verdicts.rate(counted) >= verdicts.GOAL else 1
