"""Print pytest's arguments for the tests that matter for a change, the closest first, as `make check` runs them.

    python -m tools.changed_tests [COMMIT]

The change is what differs from a commit (by default the last one), files that are not committed yet included. A module is
tested by its own examples and by its test file, a policy also by the tests that run for every policy; after these come the
test files of the modules that import it.
"""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

import grimp

from tests.helpers.order_of_tests import COMMON
from tests.test_layout import NO_BEHAVIOUR, TESTED_WITH, file_of

ROOT = Path(__file__).parent.parent
SOURCE = "src/rotting/"
ALWAYS = ("tests/test_layout.py", "tests/test_package.py")
"""They are quick, and any change of the library can break them."""


def changed_files(commit: str) -> list[str]:
    """Return the files that differ from a commit or are new."""
    commands = (("git", "diff", "--name-only", commit, "--"), ("git", "ls-files", "--others", "--exclude-standard"))
    outputs = [subprocess.run(each, cwd=ROOT, check=True, capture_output=True, text=True).stdout for each in commands]
    return [path for path in "".join(outputs).splitlines() if (ROOT / path).is_file()]


def _importers(path: str, graph: grimp.ImportGraph) -> list[str]:
    """Return the files of the modules that import a module of the library."""
    name = ".".join(PurePosixPath(path).relative_to("src").with_suffix("").parts).removesuffix(".__init__")
    found = (each.replace(".", "/") for each in sorted(graph.find_modules_that_directly_import(name)))
    return [f"src/{each}.py" if (ROOT / f"src/{each}.py").exists() else f"src/{each}/__init__.py" for each in found]


def _test_file(path: str) -> Iterator[str]:
    """Yield the test file of a module of the library, if it has one."""
    module = path.removeprefix(SOURCE)
    file = "tests/" + TESTED_WITH.get(module, file_of(module))
    if module not in NO_BEHAVIOUR and (ROOT / file).exists():
        yield file


def arguments_for(changed: Sequence[str]) -> list[str]:
    """Return pytest's arguments for the tests that matter for these changed files, in the order in which they are to be run."""
    tests = [path for path in changed if PurePosixPath(path).match("tests/**/test_*.py")]
    modules = [path for path in changed if path.startswith(SOURCE) and path.endswith(".py")]
    own = [each for path in modules for each in (*_test_file(path), path)]
    policies = [PurePosixPath(path).stem for path in modules if PurePosixPath(path).match(f"{SOURCE}policies/[!_]*.py")]
    common = COMMON if policies else ()
    # If a common test has changed, or what it tests, then it is run for all policies.
    options = [f"--policies={','.join(policies)}"] if policies and not {*tests, *own} & {*COMMON} else []
    graph = grimp.build_graph("rotting")
    others = [each for path in modules for importer in _importers(path, graph) for each in _test_file(importer)]
    return [*options, *dict.fromkeys((*tests, *own, *common, *ALWAYS, *others))]


def main(arguments: Sequence[str]) -> None:
    """Run from the command line."""
    commit = arguments[0] if arguments else "HEAD"
    print(*arguments_for(changed_files(commit)), sep="\n")  # noqa: T201 - for the shell


if __name__ == "__main__":
    main(sys.argv[1:])
