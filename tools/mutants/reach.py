"""Which test executes which line: the suite is run once, without the compiler, and every test's lines are recorded."""

import functools
import hashlib
import importlib
import itertools
import json
import math
import sys
import time
from collections import defaultdict
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import coverage
import pytest

from tools.mutants.edits import Mutant
from tools.mutants.trial import IMPORTS, OPTIONS, Deadline, Job, run

LIMIT = 1_800.0
"""Seconds for the tests of one file."""


class Test(NamedTuple):
    """A test and what it reaches."""

    id: str
    seconds: float
    slow: bool
    """It runs only when compiled."""
    lines: dict[str, frozenset[int]]
    """By path, the lines it executes."""

    @property
    def file(self) -> str:
        """The file it is in."""
        return self.id.partition("::")[0]


class _Recorder:
    """A plugin of pytest that tells `coverage` which test executes the lines.

    The lines of a fixture with a wider scope belong to all tests that use it, not only to the first one.
    """

    def __init__(self, cover: coverage.Coverage) -> None:
        self._cover = cover
        self._current = ""
        self.seconds: dict[str, float] = {}
        self.contexts: dict[str, list[str]] = {}
        self.outcomes: dict[str, set[str]] = defaultdict(set)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        shared = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
        wide = [name for name, found in shared.items() if found[-1].scope != "function"]
        self.contexts[item.nodeid] = [item.nodeid, *(f"fixture {name}" for name in wide)]
        self._current = item.nodeid
        self._cover.switch_context(item.nodeid)
        start = time.perf_counter()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = time.perf_counter() - start
            self._cover.switch_context("between tests")

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: "pytest.FixtureDef[Any]") -> Generator[None, object, object]:
        if fixturedef.scope == "function":
            return (yield)
        self._cover.switch_context(f"fixture {fixturedef.argname}")
        try:
            return (yield)
        finally:
            self._cover.switch_context(self._current)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.outcomes[report.nodeid].add(report.outcome)


def _record(slot: Path, deadline: Deadline, arguments: Sequence[str], out: Path) -> int:
    """Run the tests of one file in this process and write what each of them reaches."""
    deadline.set(LIMIT)
    cover = coverage.Coverage(data_file=None, source=[str(slot / "src/rotting")], config_file=False, messages=False)
    recorder = _Recorder(cover)
    cover.start()
    status = int(pytest.main([*OPTIONS, "--maxfail=0", *arguments], plugins=[recorder]))
    cover.stop()
    lines: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    data = cover.get_data()
    for path in sorted(data.measured_files()):
        for line, contexts in sorted(data.contexts_by_lineno(path).items()):
            for context in contexts:
                lines[context][str(Path(path).relative_to(slot))].append(line)
    tests = []
    for name, seconds in recorder.seconds.items():
        outcomes = recorder.outcomes[name]
        if "failed" in outcomes:
            print(f"fails without a mutant: {name}", flush=True)  # noqa: T201 - into the file's own log
            continue
        reached: dict[str, set[int]] = defaultdict(set)
        for context in recorder.contexts[name]:
            for path, numbers in lines[context].items():
                reached[path].update(numbers)
        found = {path: sorted(numbers) for path, numbers in reached.items()}
        tests.append({"id": name, "seconds": seconds, "slow": "skipped" in outcomes, "lines": found})
    out.write_text(json.dumps(tests))
    return 0 if status in {0, 1, 5} else 3


def _record_imports(slot: Path, deadline: Deadline, out: Path) -> int:
    """Import every module in this process, and write which lines that executes."""
    deadline.set(LIMIT)
    cover = coverage.Coverage(data_file=None, source=[str(slot / "src/rotting")], config_file=False, messages=False)
    cover.start()
    for path in sorted((slot / "src/rotting").glob("**/*.py")):
        if path.name != "__main__.py":
            importlib.import_module(".".join(path.relative_to(slot / "src").with_suffix("").parts).removesuffix(".__init__"))
    cover.stop()
    data = cover.get_data()
    out.write_text(json.dumps({str(Path(path).relative_to(slot)): data.lines(path) for path in data.measured_files()}))
    return 0


def digest(root: Path, paths: Iterable[str]) -> str:
    """Return a digest of the files at `paths`, and of the interpreter."""
    every = "".join(f"{path}\n{hashlib.sha256((root / path).read_bytes()).hexdigest()}\n" for path in sorted(paths))
    return hashlib.sha256(f"{sys.version}\n{every}".encode()).hexdigest()[:16]


def _affordable(tests: Iterable[Test], budget: float, first: Collection[str] = ()) -> list[Test]:
    """Return the quickest tests up to `budget` seconds, at least one; those whose ids are in `first` come first."""
    ordered = sorted((test for test in tests if not test.slow), key=lambda each: (each.id not in first, each.seconds))
    spent = itertools.accumulate(test.seconds for test in ordered)
    return [test for test, so_far in zip(ordered, spent, strict=True) if so_far <= max(budget, ordered[0].seconds)]


def mirrors(path: str) -> tuple[str, ...]:
    """Return how the names of a module's own tests begin: those of its package's folder, or of a file beside the packages.

    Example:
        >>> mirrors("src/rotting/live/arms.py"), mirrors("src/rotting/policy.py")
        (('tests/live/', 'src/rotting/live/'), ('tests/test_policy.py', 'src/rotting/policy.py'))
    """
    _, _, name, *inner = PurePath(path).parts
    return (f"tests/{name}/", f"src/rotting/{name}/") if inner else (f"tests/test_{name}", path)


class ChosenTests(NamedTuple):
    """The tests to run on a mutant, in this order."""

    executing: list[Test]
    """Tests that execute it."""
    others: list[Test]
    """The other tests of its folder, and those that execute it but take too long for the first budget."""
    left_out: int = 0
    """How many tests of its folder are not run, since they take too long."""


class Reach:
    """The tests of the repository, with what each of them executes."""

    def __init__(self, tests: Iterable[Test], imported: Mapping[str, Iterable[int]]) -> None:
        self.tests = list(tests)
        self._imported = {(path, line) for path, lines in imported.items() for line in lines}
        self._by_line: dict[tuple[str, int], list[Test]] = defaultdict(list)
        lines: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
        for test in self.tests:
            for path, numbers in test.lines.items():
                lines[test.file][path] |= numbers
                for line in numbers:
                    self._by_line[path, line].append(test)
        self._lines = lines

    def _devotion(self, file: str, path: str) -> float:
        """The share of the lines a test file executes that lie in one module: tests written for it come first."""
        return len(self._lines[file][path]) / sum(map(len, self._lines[file].values()))

    def tests_of(self, mutant: Mutant, budget: float, rest: float = math.inf) -> ChosenTests:
        """Return the tests to run on a mutant.

        Args:
            mutant: the mutant.
            budget: seconds of tests that execute it, the quickest of them.
            rest: seconds of all other tests of the folder that mirrors its package, the quickest of them.
        """
        lines = {(mutant.path, line) for line in range(mutant.first, mutant.last + 1)}
        imported = not self._imported.isdisjoint(lines)
        if imported:  # what an import computes is there for every test of the module
            lines = {place for place in self._by_line if place[0] == mutant.path}
        found = {test.id: test for place in lines for test in self._by_line.get(place, ())}
        executing = _affordable(found.values(), budget)
        executing.sort(key=lambda each: (-self._devotion(each.file, mutant.path), each.file, each.seconds))
        met = {test.id for test in executing}
        own = [test for test in self.tests if test.file.startswith(mirrors(mutant.path)) and test.id not in met]
        chosen = {test.id: test for test in _affordable(own, rest, found)}
        left_out = sum(not test.slow for test in own) - len(chosen)
        if imported:  # a default or a flag may be read by tests of any folder that execute nothing there
            chosen.update((test.id, test) for test in _affordable((t for t in self.tests if t.id not in found), budget))
        others = sorted(chosen.values(), key=lambda each: (each.id not in found, each.file, each.seconds))
        return ChosenTests(executing, others, left_out)

    def slow_tests_of(self, mutant: Mutant) -> list[Test]:
        """Return the tests that only run when compiled, of the files in which a test executes the mutant."""
        files = {test.file for test in self.tests_of(mutant, math.inf).executing}
        return [test for test in self.tests if test.slow and test.file in files]


def suites_of(files: Iterable[str], packages: Sequence[str] | None = None) -> dict[str, list[str]]:
    """Return what is recorded together, by a name that a file can have: each file of tests, and all the doctests.

    With `packages`, the tests of their folders only, and their doctests.
    """
    folders = ("tests/",) if packages is None else tuple(f"tests/{each}/" for each in packages)
    tests = (file for file in files if file.startswith(folders) and Path(file).match("test_*.py"))
    doctests = {"doctests": ["src", "README.md"]}
    if packages is not None:
        doctests = {f"doctests.{each}": [f"src/rotting/{each}"] for each in packages}
    return {**{file.removesuffix(".py").replace("/", "."): [file] for file in tests}, **doctests}


def reach(
    root: Path,
    files: Sequence[str],
    slots: Sequence[Path],
    folder: Path,
    packages: Sequence[str] | None = None,
    may_run: bool = True,
) -> Reach:
    """Record the suite, or that of some packages, file by file; what was recorded for this very code is not run again.

    Unless it `may_run`, as when this process compiles, all must have been recorded before.
    """
    folder.mkdir(parents=True, exist_ok=True)
    suites = suites_of(files, packages)
    own = {file for paths in suites_of(files).values() for file in paths}
    common = digest(root, (file for file in files if file not in own and file.startswith(("src/", "tests/"))))
    outputs, jobs = [], []
    for name, arguments in suites.items():
        mark = hashlib.sha256((common + digest(root, (each for each in arguments if each in files))).encode()).hexdigest()[:16]
        out = folder / f"{name}-{mark}.json"
        outputs.append(out)
        if not out.exists():
            jobs.append(Job(name, functools.partial(_record, arguments=arguments, out=out), IMPORTS))
    imports = folder / f"imports-{common}.json"
    if not imports.exists():
        jobs.append(Job("imports", functools.partial(_record_imports, out=imports), IMPORTS))
    if jobs and not may_run:
        raise RuntimeError(f"the lines of {jobs[0].name} must have been recorded without the compiler first")
    for job, status, seconds in run(jobs, slots, folder):
        if status != 0:
            raise RuntimeError(f"{job.name}: the tests could not be recorded ({status}); see {folder / job.name}.log")
        sys.stderr.write(f"recorded {job.name} in {seconds:.0f} s\n")
    records = (record for out in outputs for record in json.loads(out.read_text()))
    tests = (
        Test(each["id"], each["seconds"], each["slow"], {path: frozenset(n) for path, n in each["lines"].items()})
        for each in records
    )
    return Reach(tests, json.loads(imports.read_text()))
