"""The mutation tester changes what it says, leaves all else alone, and notices a test that fails."""

import ast
import fnmatch
import functools
import time
from pathlib import Path

import pytest

from tools.mutants import campaign, reach, verdicts
from tools.mutants.campaign import EQUIVALENT, EXCLUDED, FEWEST, is_target, judge, repository, sample
from tools.mutants.edits import Mutant, mutants
from tools.mutants.reach import ChosenTests, Reach, suites_of
from tools.mutants.trial import Deadline, Job, attempt, run
from tools.mutants.verdicts import Verdict

ROOT = Path(__file__).resolve().parents[2]
FORKS = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")  # of pytest's own threads


def after(*lines: str) -> set[tuple[str, str]]:
    source = "def f(a, b, c):\n" + "".join(f"    {line}\n" for line in lines)
    return {(each.operator, each.after) for each in mutants("some/module.py", source)}


@pytest.mark.parametrize(
    ("line", "changes"),
    [
        ("return a < b", {("compare", "return a <= b")}),
        ("return a <= b < c", {("compare", "return a < b < c"), ("compare", "return a <= b <= c")}),
        ("return a is not b", {("compare", "return a is b")}),
        ("return a not in b", {("compare", "return a in b")}),
        ("return (a) + (b)", {("arithmetic", "return (a) - (b)")}),
        ("return a / b ** c", {("arithmetic", "return a * b ** c"), ("arithmetic", "return a / (b * c)")}),
        ("return a and b or c", {("boolean", "return (a and b and c)"), ("boolean", "return (a or b) or c")}),
        ("return not a", {("unary", "return (a)")}),
        ("return -a", {("unary", "return (a)")}),
        ("return True, 3, 0.5, 0.0", {("constant", f"return {each}") for each in
         ("False, 3, 0.5, 0.0", "True, 4, 0.5, 0.0", "True, 3, 0.505, 0.0", "True, 3, 0.5, 1.0")}),
        ("return min(a, b)", {("twin", "return max(a, b)")}),
        ("return a.argmax()", {("twin", "return a.argmin()")}),
        ("return a[b:c]", {("slice", "return a[(b + 1):c]"), ("slice", "return a[b:(c + 1)]")}),
        ("return range(a)", {("range", "return range((a - 1))")}),
        ("return range(a, b)", {("range", "return range(a, (b - 1))")}),
        ("a.b = c", {("drop", "pass")}),
        ("a[b] += c", {("drop", "pass"), ("augmented", "a[b] -= c")}),
        ("a(b)", {("drop", "pass")}),
        ("return b if a else c", {("negate", "return b if (not (a)) else c")}),
        ("return b if a == c else c", {("compare", "return b if a != c else c")}),
        ("return [a for a in b if c]", {("negate", "return [a for a in b if (not (c))]")}),
    ],
)  # fmt: skip
def test_each_operator_makes_its_changes_and_no_others(line: str, changes: set[tuple[str, str]]) -> None:
    assert after(line) == changes


def test_statements_change() -> None:
    assert after("for a in b:", "    if c: break", "    continue") == {
        ("negate", "if (not (c)): break"),
        ("break", "if c: continue"),
        ("continue", "break"),
    }
    assert after("while a:", "    b()") == {("negate", "while (not (a)):"), ("drop", "pass")}


@pytest.mark.parametrize(
    "line",
    [
        "'''2 + 2'''",
        "raise ValueError(1 + 1)",
        "return f'{a + 1}'",
        "assert a > 1",
        "x: Rule[1]",
        "isinstance(a, b | c)",
        "x = a",
    ],
)
def test_text_and_types_stay(line: str) -> None:
    assert after(line) in (set(), {("drop", "pass")})


def test_only_the_named_lines_change_and_the_file_keeps_its_length() -> None:
    (path,) = (ROOT / "src").glob("**/sliding_window.py")
    source = path.read_text()
    found = mutants(str(path), source)
    assert len(found) > 50
    assert len({each.id for each in found}) == len(found)
    old, tree = source.splitlines(), ast.dump(ast.parse(source))
    for each in found:
        new = each.applied(source).splitlines()
        assert len(new) == len(old)
        changed = [k for k, pair in enumerate(zip(old, new, strict=True), 1) if pair[0] != pair[1]]
        assert changed
        assert changed[0] == each.line
        assert each.first <= each.line <= each.last
        assert ast.dump(ast.parse(each.applied(source))) != tree


def test_letters_of_two_bytes_shift_nothing() -> None:
    (mutant,) = mutants("m.py", "def f(a):\n    return 'Ménard', -a  # é\n")
    assert mutant.applied("def f(a):\n    return 'Ménard', -a  # é\n") == "def f(a):\n    return 'Ménard', (a)  # é\n"
    assert (mutant.id, mutant.scope) == ("m.py:2:22:unary", "m.f")


def verdict(status: str, name: str = "m.py:2:11:unary") -> Verdict:
    return Verdict(name, status, "", 0.0, 2, 1)


def test_equivalent_mutants_are_not_counted() -> None:
    assert verdicts.rate(map(verdict, ("killed", "timeout", "survived", "broken", "equivalent"))) == 2 / 4
    assert verdicts.rate([]) == 1.0


def test_the_last_verdict_counts(tmp_path: Path) -> None:
    file = tmp_path / "new/results.jsonl"
    assert verdicts.read(file) == {}
    for status in ("survived", "killed"):
        verdicts.append(file, verdict(status))
    assert verdicts.read(file) == {"m.py:2:11:unary": verdict("killed")}


def test_the_report_names_survivors_and_reasons() -> None:
    one, other = mutants("m.py", "def f(a):\n    return -a\ndef g(a):\n    return not a\n")
    known = verdicts.Equivalent(*verdicts.key(other), why="nobody calls it")
    text = verdicts.report(
        {one.id: one, other.id: other},
        [
            verdict("survived"),
            verdict("equivalent", other.id),
            verdict("survived")._replace(executing=0, killer="test_f", left_out=3),
        ],
        {known.key: known},
    )
    assert "3 mutants: 0.0% of those that are not equivalent died" in text
    assert f"`{one.id}` in m.f, 2 tests, of which 1 execute it\n  - `return -a`\n  - `return (a)`" in text
    assert f"`{one.id}` in m.f, 2 tests, of which none execute it (3 longer ones left out); test_f failed once\n" in text
    assert f"`{other.id}`: nobody calls it" in text


SOURCE = "def twice(x):\n    return x + x\n"


def repository_of(folder: Path, test: str) -> Mutant:
    """Make a repository of one function and one test, and return its mutant."""
    (folder / "src").mkdir()
    (folder / "src/two.py").write_text(SOURCE)
    (folder / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    (folder / "test_two.py").write_text(f"from pathlib import Path\nfrom two import twice\ndef test_two():\n    {test}\n")
    (mutant,) = mutants("src/two.py", SOURCE)
    return mutant


@FORKS
@pytest.mark.parametrize(("test", "status"), [("assert twice(2) == 4", 1), ("assert twice(0) == 0", 0)])
def test_a_mutant_dies_by_the_test_that_sees_it(tmp_path: Path, test: str, status: int) -> None:
    mutant = repository_of(tmp_path, test)
    work = functools.partial(attempt, chosen=[("test_two.py", {"test_two.py::test_two": 0.1})], killer=tmp_path / "killer")
    job = Job("two", work, 60.0, mutant.path, mutant.applied(SOURCE))
    ((_, found, _),) = run([job], [tmp_path], tmp_path / "logs")
    assert found == status, (tmp_path / "logs/two.log").read_text()
    assert (tmp_path / "src/two.py").read_text() == SOURCE


COUNTED = "n = len(list(Path().glob('run-*'))); Path(f'run-{n}').touch()"  # n: how often the test was run before


@FORKS
@pytest.mark.parametrize(
    ("test", "executes", "status", "runs"),
    [
        ("assert twice(2) == 4", False, "killed", 2),
        ("assert twice(2) == 4", True, "killed", 1),
        ("assert n > 0", False, "survived", 2),
        ("assert twice(0) == 0", False, "survived", 1),
        ("import os; os.abort()", True, "killed", 1),
    ],
)
def test_a_failure_without_the_mutant_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, test: str, executes: bool, status: str, runs: int
) -> None:
    monkeypatch.setattr(campaign, "ROOT", tmp_path)
    monkeypatch.setattr(campaign, "FOLDER", tmp_path)
    mutant = repository_of(tmp_path, f"{COUNTED}; {test}")
    tests = [reach.Test("test_two.py::test_two", 0.1, False, {})]
    name = mutant.id.replace("/", ".")
    (found,) = judge({name: (mutant, ChosenTests(tests, []) if executes else ChosenTests([], tests))}, [tmp_path])
    assert (found.status, found.tests, found.executing) == (status, 1, int(executes))
    assert len(list(tmp_path.glob("run-*"))) == runs
    assert found.killer == ("" if test == "assert twice(0) == 0" else "test_two.py::test_two")


def test_a_mutant_meets_the_tests_that_execute_it_and_then_all_others_of_its_folder() -> None:
    path = "src/rotting/live/arms.py"

    def test(name: str, seconds: float, line: int | None = None, slow: bool = False) -> reach.Test:
        return reach.Test(f"tests/{name}", seconds, slow, {} if line is None else {path: frozenset({line})})

    tests = [
        test("live/test_a.py::quick", 1.0),
        test("live/test_a.py::slow", 1.0, slow=True),
        test("live/test_a.py::elsewhere", 0.5, line=8),
        test("live/test_b.py::executes", 5.0, line=7),
        test("live/test_b.py::too long", 50.0, line=7),
        test("store/test_c.py::executes", 2.0, line=7),
        test("store/test_c.py::other", 2.0),
        test("test_live.py::other", 2.0),
        reach.Test("src/rotting/live/arms.py::rotting.live.arms", 0.1, False, {}),
    ]
    chosen = Reach(tests, {}).tests_of(mutant_of(path, 7), budget=10.0)
    assert {each.id.rpartition("/")[2] for each in chosen.executing} == {"test_b.py::executes", "test_c.py::executes"}
    assert [each.id.rpartition("/")[2] for each in chosen.others] == [
        "test_b.py::too long",
        "arms.py::rotting.live.arms",
        "test_a.py::elsewhere",
        "test_a.py::quick",
    ]
    assert chosen.left_out == 0
    short = Reach(tests, {}).tests_of(mutant_of(path, 7), budget=10.0, rest=50.5)
    assert [each.seconds for each in short.others] == [50.0, 0.1]  # those that execute it first, then the quickest
    assert short.left_out == 2
    at_import = Reach(tests, {path: [7]}).tests_of(mutant_of(path, 7), budget=10.0)
    assert {each.id for each in tests} - {each.id for group in at_import[:2] for each in group} == {
        "tests/live/test_a.py::slow"
    }
    beside = Reach([test("test_policy.py::a", 1.0), test("policies/test_a.py::b", 1.0)], {})
    assert [each.id for each in beside.tests_of(mutant_of("src/rotting/policy.py", 1), 1.0).others] == [
        "tests/test_policy.py::a"
    ]


@FORKS
def test_a_mutant_that_hangs_is_ended_and_undone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("original")

    def work(slot: Path, deadline: Deadline) -> int:
        deadline.set(0.2)
        time.sleep(600.0)
        return 0

    ((_, status, _),) = run([Job("hangs", work, 600.0, "file", "mutant")], [tmp_path], tmp_path / "logs")
    assert status is None
    assert (tmp_path / "file").read_text() == "original"


def mutant_of(path: str, line: int) -> Mutant:
    return Mutant(path, line, 0, "drop", "m.f", "a()", "pass", 0, 1, "pass", line, line)


def test_a_sample_has_some_of_every_file_and_does_not_depend_on_lines() -> None:
    def many(shift: int) -> list[Mutant]:
        return [
            mutant_of(f"{name}.py", k + shift)._replace(before=f"a({k})")
            for name, n in (("one", 2), ("two", 500))
            for k in range(n)
        ]

    first, shifted = (sample(many(shift), 20, "0") for shift in (1, 8))
    assert [each.before for each in first] == [each.before for each in shifted]
    assert sum(each.path == "one.py" for each in first) == 2
    assert sum(each.path == "two.py" for each in first) == 18 > FEWEST
    assert first != sample(many(1), 20, "1")


def test_verdicts_are_kept_apart_for_every_choice_of_tests() -> None:
    files = [
        campaign.results_file(code, package, budget, rest)
        for code in ("a", "b")
        for package in (None, ["live"])
        for budget in (10.0, 30.0)
        for rest in (30.0, 300.0)
    ]
    assert len(set(files)) == len(files)
    assert campaign.results_file("a", ["live", "store"], 1.0, 2.0) == campaign.results_file("a", ["store", "live"], 1.0, 2.0)


def test_the_targets_are_what_decides_and_judges() -> None:
    judges = ("policies/fewa", "parts/tournament", "kernels/random_numbers", "live/bandit", "theory/upper", "report/claims")
    more = ("problems/oracle", "problems/presets", "simulation/result", "store/host", "service/rates", "engines/game")
    talk = ("report/page", "cli/parsers", "display/plots", "engines/compile")
    assert all(is_target(f"src/rotting/{name}.py") for name in (*judges, *more, "deep/down/new"))
    assert not any(is_target(f"src/rotting/{name}.py") for name in talk)
    assert not is_target("tests/reference/windows.py")


def test_every_pattern_excludes_something() -> None:
    files = repository()
    assert [pattern for pattern in EXCLUDED if not fnmatch.filter(files, pattern)] == []


def test_every_file_of_tests_is_recorded_alone() -> None:
    suites = suites_of(repository())
    assert suites["tests.parts.test_tournament"] == ["tests/parts/test_tournament.py"]
    recorded = [file for name, files in suites.items() if name != "doctests" for file in files]
    assert sorted(recorded) == sorted(str(file.relative_to(ROOT)) for file in (ROOT / "tests").rglob("test_*.py"))
    some = suites_of(repository(), ["live", "store"])
    assert {name: files for name, files in suites.items() if name.startswith(("tests.live.", "tests.store."))} == {
        name: files for name, files in some.items() if not name.startswith("doctests")
    }
    assert (some["doctests.live"], some["doctests.store"]) == (["src/rotting/live"], ["src/rotting/store"])


def test_every_exclusion_names_a_file() -> None:
    files = [str(path.relative_to(ROOT)) for path in (ROOT / "src").glob("**/*.py")]
    assert [pattern for pattern in EXCLUDED if not any(fnmatch.fnmatch(file, pattern) for file in files)] == []


@pytest.mark.slow
def test_the_list_of_equivalent_changes_names_changes_that_are_possible() -> None:
    listed = verdicts.equivalents(EQUIVALENT)
    modules = {scope.split(".")[0] for scope, _, _ in listed}
    files = [path.relative_to(ROOT) for path in (ROOT / "src").glob("**/*.py") if path.stem in modules]
    targets = [file for file in files if is_target(str(file))]
    possible = {verdicts.key(each) for file in targets for each in mutants(str(file), (ROOT / file).read_text())}
    assert set(listed) - possible == set()
    assert all(entry.why for entry in listed.values())
