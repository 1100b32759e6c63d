"""Compiling: the disk cache is hit by the next process, never stale, and not needed."""

import functools
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

import pytest

from rotting.policies.eff_fewa import EffFEWA
from rotting.policies.eff_raw_ucb import EffRAWUCB
from rotting.policies.kernels.binding import bind
from rotting.policies.parts.delayed_windows import eff_update
from rotting.policies.ucb1 import UCB1
from rotting.problems import two_arms
from rotting.problems.noise import Gaussian
from rotting.simulation.engines.compile import compiled
from rotting.simulation.engines.game import bind_game
from rotting.simulation.simulate import simulate
from tests.conftest import INTERPRETED
from tests.helpers.compiler_programs import compiled_only, run

if TYPE_CHECKING:
    from collections.abc import Callable

# --- The disk cache, seen from one process after the other --------------------------------------------------------------------

SOURCES = {
    "__init__": "",
    "kernels": """
from plain.helpers import by_constant, by_default, deep, same


def through_two_files(x):
    return deep(x) + 0


def through_a_default(x):
    return by_default(x) + 0


def through_a_constant(x):
    return by_constant(x) + 0


def in_its_own_file(x):
    return same(x) + 4


def untouched(x):
    return same(x) + 5
""",
    "helpers": """
from plain.deeper import deeper

FACTOR = 30


def deep(x):
    return deeper(x)


def by_default(x, by=20):
    return x + by


def by_constant(x):
    return x + FACTOR


def same(x):
    return x
""",
    "deeper": """
def deeper(x):
    return x + 10
""",
}
EDITS = [
    ("deeper", "x + 10", "x + 11"),
    ("helpers", "by=20", "by=22"),
    ("helpers", "FACTOR = 30", "FACTOR = 33"),
    ("kernels", "same(x) + 4", "same(x) + 8"),
]
BEFORE = {"through_two_files": 10, "through_a_default": 20, "through_a_constant": 30, "in_its_own_file": 4, "untouched": 5}
AFTER = {"through_two_files": 11, "through_a_default": 22, "through_a_constant": 33, "in_its_own_file": 8, "untouched": 5}

PLAY = """
import json

from plain import kernels
from rotting.simulation.engines.compile import compiled
from rotting.policies.kernels.binding import digest

found = {"value": {}, "hits": {}, "misses": {}, "digest": {}}
for name in sorted(name for name in vars(kernels) if getattr(vars(kernels)[name], "__module__", "") == kernels.__name__):
    kernel = vars(kernels)[name]
    fast = compiled(kernel)
    found["value"][name] = fast(0)
    found["hits"][name] = sum(fast.stats.cache_hits.values())
    found["misses"][name] = sum(fast.stats.cache_misses.values())
    found["digest"][name] = digest(kernel)
print(json.dumps(found))
"""
FEW = """
import json
import warnings

from plain import few
from rotting.simulation.engines.compile import compiled_for
from rotting.simulation.engines.tiers import EntryPoint

values = {}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for name in [name for name in vars(few) if not name.startswith("__")]:
        values[name] = compiled_for(EntryPoint(vars(few)[name], None, (2.0,)))(2.0)
print(json.dumps({"values": values, "warnings": [f"{each.category.__name__}: {each.message}" for each in caught]}))
"""
RARE = 1234.56789
GAME = """
import json
import warnings

import rotting

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    result = rotting.simulate(rotting.UCB1(), rotting.problems.two_arms(horizon=20), runs=40, keep="kept")
print(json.dumps({"regret": result.regret.tolist(), "warnings": [str(each.message) for each in caught]}))
"""
FILE_LIMIT = """
import resource

resource.setrlimit(resource.RLIMIT_FSIZE, ({0}, {0}))  # writes beyond it fail as on a full disk
"""


class Package:
    """A small package of kernels in a folder of its own, and processes that compile it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cache = folder / "cache"
        (folder / "plain").mkdir()
        for name, text in SOURCES.items():
            self.file(name).write_text(text)

    def file(self, name: str) -> Path:
        return self.folder / "plain" / f"{name}.py"

    def edit(self, name: str, old: str, new: str) -> None:
        """Change a file and keep its size and time, so that these do not tell."""
        assert len(old) == len(new)
        text, before = self.file(name).read_text(), self.file(name).stat()
        assert text.count(old) == 1
        self.file(name).write_text(text.replace(old, new))
        os.utime(self.file(name), ns=(before.st_atime_ns, before.st_mtime_ns))
        after = self.file(name).stat()
        assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)

    def start(self, script: str = PLAY, **env: str) -> "subprocess.Popen[str]":
        path = [str(self.folder), os.environ.get("PYTHONPATH", "")]
        # Python's own bytecode cache goes by size and time.
        fixed = {"PYTHONPATH": os.pathsep.join(filter(None, path)), "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.Popen(
            [sys.executable, "-c", script],
            cwd=self.folder,
            env=os.environ | fixed | {"NUMBA_CACHE_DIR": str(self.cache)} | env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def play(self, script: str = PLAY, **env: str) -> Any:
        return result(self.start(script, **env))

    def few(self, *names: str) -> None:
        """Add a file of functions of these names."""
        self.file("few").write_text("\n".join(f"def {name}(x):\n    return x * {RARE}\n" for name in names))

    def files(self, pattern: str) -> list[Path]:
        return sorted(self.cache.rglob(pattern))

    def stamps(self) -> dict[str, int]:
        return {path.name: path.stat().st_mtime_ns for path in self.cache.rglob("*.nb*")}


def result(process: "subprocess.Popen[str]") -> Any:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return json.loads(out)


@pytest.fixture
def package(tmp_path: Path) -> Package:
    return Package(tmp_path)


@compiled_only
def test_the_cache_is_hit_by_the_next_process_and_never_stale(package: Package) -> None:
    first = package.play()
    assert first["value"] == BEFORE
    assert first["misses"] == dict.fromkeys(BEFORE, 1)
    stamps = package.stamps()
    assert stamps

    second = package.play()
    assert second["value"] == BEFORE
    assert second["hits"] == dict.fromkeys(BEFORE, 1)
    assert second["misses"] == dict.fromkeys(BEFORE, 0)
    assert second["digest"] == first["digest"]  # whatever the hash seed of the process
    assert package.stamps() == stamps  # nothing was written anew

    for name, old, new in EDITS:
        package.edit(name, old, new)
    third = package.play()
    assert third["value"] == AFTER
    # Whether a function that was not edited is compiled anew beside others that were is Numba's affair.
    edited = BEFORE.keys() - {"untouched"}
    assert {third["hits"][name] for name in edited} == {0}
    assert {name for name in BEFORE if third["digest"][name] == first["digest"][name]} == {"untouched"}

    for name, old, new in EDITS:
        package.edit(name, new, old)
    fourth = package.play()
    assert fourth["value"] == BEFORE
    assert {fourth["hits"][name] for name in edited} == {1}
    assert fourth["digest"] == first["digest"]


@compiled_only
def test_without_a_folder_to_write_to_it_compiles_anew(package: Package) -> None:
    """Files stand where Numba would make its folders: a wall that even an administrator's process respects."""
    wall = package.folder / "wall"
    wall.touch()
    (package.folder / "plain" / "__pycache__").touch()
    walls = {name: str(wall) for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "LOCALAPPDATA", "USERPROFILE")}
    package.few("one", "two")
    found = package.play(FEW, **walls)
    assert found["values"] == {"one": 2 * RARE, "two": 2 * RARE}
    assert not package.stamps()
    (warning,) = found["warnings"]
    assert "RuntimeWarning: compiled code is not kept for the next process: cannot cache function" in warning


ENTRY = """
from rotting.policies.kernels.binding import slot


@slot
def part(x):
    raise NotImplementedError


def entry(x):
    return part(x) + 1
"""
BOUND = """
import importlib, json, os, sys

from plain import entry
from rotting.simulation.engines.compile import compiled
from rotting.policies.kernels.binding import bind

module = importlib.import_module(os.environ["PART"])
fast = compiled(bind(entry.entry, {entry.part: module.part}))
value = fast(1)
print(json.dumps([value, sum(fast.stats.cache_hits.values()), sorted(name for name in sys.modules if name.endswith("_part"))]))
"""


@compiled_only
def test_code_that_was_copied_does_not_bring_in_its_old_module(package: Package) -> None:
    package.file("entry").write_text(ENTRY)
    for name in ("old_part", "new_part"):
        package.file(name).write_text("def part(x):\n    return 2 * x\n")
    assert package.play(BOUND, PART="plain.old_part") == [3, 0, ["plain.old_part"]]
    for hits in (0, 1):
        assert package.play(BOUND, PART="plain.new_part") == [3, hits, ["plain.new_part"]]


@compiled_only
def test_a_cache_that_cannot_be_written_costs_one_warning(package: Package) -> None:
    package.few("without_index", "without_data")
    values = package.play(FEW)["values"]
    for path in package.files("*.without_index_*.nbi") + package.files("*.without_data_*.nbc"):
        path.unlink()
        path.mkdir()
    found = package.play(FEW)
    assert found["values"] == values
    (warning,) = found["warnings"]
    assert warning.startswith("RuntimeWarning: compiled code is not kept for the next process: ")


@compiled_only
def test_a_full_disk_leaves_nothing_that_disturbs(package: Package) -> None:
    """There is room for the indexes, not for what they refer to."""
    package.few("one", "two")
    found = package.play(FILE_LIMIT.format(4_000) + FEW)
    (warning,) = found["warnings"]
    assert warning.startswith("RuntimeWarning: compiled code is not kept for the next process: ")
    assert {path.suffix for path in package.files("*.nb*")} == {".nbi"}
    assert package.play(FEW) == found | {"warnings": []}


@pytest.mark.skipif(os.name == "nt", reason="no limit of file sizes")
def test_a_full_disk_costs_no_games(package: Package) -> None:
    found = package.play(FILE_LIMIT.format(0) + GAME)
    assert found["regret"] == simulate(UCB1(), two_arms(horizon=20), runs=40).regret.tolist()
    starts = (
        ["finished games are not kept: "] if INTERPRETED else ["compiled code is not kept", "finished games are not kept: "]
    )
    assert [text.startswith(start) for text, start in zip(sorted(found["warnings"]), starts, strict=True)] == [True] * len(
        starts
    )


@compiled_only
def test_processes_that_compile_at_once_do_not_disturb_each_other(package: Package) -> None:
    both = [package.start(), package.start()]
    assert [result(process)["value"] for process in both] == [BEFORE, BEFORE]
    assert package.play()["hits"] == dict.fromkeys(BEFORE, 1)


# --- Compiled functions in one process ----------------------------------------------------------------------------------------


def base(x: int) -> int:
    return x + 1


def other(x: int) -> int:
    return x + 2


def twice(x: int) -> int:
    return 2 * base(x)


def test_equal_functions_are_compiled_once() -> None:
    assert compiled(twice) is compiled(twice)
    assert compiled(bind(twice, {base: base})) is compiled(twice)
    assert compiled(bind(twice, {base: other})) is not compiled(twice)


def test_types_of_a_policy_are_part_of_what_is_compiled() -> None:
    """Numba's index of a function names the types it was called with, so each pair of types has an index of its own."""
    one, two = EffRAWUCB(), EffFEWA()
    assert compiled(eff_update, one) is compiled(eff_update, EffRAWUCB(alpha=3))
    assert compiled(eff_update, one) is not compiled(eff_update, two)
    assert compiled(eff_update, one) is not compiled(eff_update)


def test_compiled_functions_compute_the_same() -> None:
    for x in range(5):
        assert compiled(twice)(x) == twice(x) == 2 * x + 2
        assert compiled(bind(twice, {base: other}))(x) == 2 * x + 4
    # Compiling changed nothing of the plain functions.
    assert type(base) is FunctionType
    assert type(twice) is FunctionType
    assert twice.__globals__["base"] is base


def test_parts_are_compiled_all_the_way_down() -> None:
    sums = compiled(eff_update)
    s = EffRAWUCB.kernel.init(EffRAWUCB().params, 1, 8)
    for reward in (0.1, 0.2, 0.3, 0.4):
        sums(s, 0, reward)
    assert s.grid.mean[0, :3].tolist() == [0.4, 0.7 / 2, 1.0 / 4]


def test_threads_of_one_process_get_one_function() -> None:
    barrier = threading.Barrier(8)

    def work(_: int) -> tuple[Any, int]:
        barrier.wait()
        fast = compiled(bind(twice, {base: other}))
        return fast, fast(3)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(8)))
    assert all(fast is found[0][0] and value == 10 for fast, value in found)


def test_without_the_compiler_plain_functions_run() -> None:
    assert isinstance(compiled(twice), FunctionType) == INTERPRETED


@pytest.mark.parametrize("wrong", [len, functools.partial(base, 1), "base", None, print], ids=lambda each: type(each).__name__)
def test_only_plain_functions_can_be_compiled_or_bound(wrong: Any) -> None:
    actions: dict[str, Callable[[], object]] = {
        "function": lambda: compiled(wrong),
        "root": lambda: bind(wrong, {}),
        "base": lambda: bind(twice, {base: wrong}),
        "a replaced function": lambda: bind(twice, {wrong: base}),
    }
    for name, action in actions.items():
        with pytest.raises(TypeError) as caught:
            action()
        assert str(caught.value) == f"{name} must be a plain Python function, got {wrong!r}"


@compiled_only
def test_the_loop_allocates_nothing_though_what_sets_it_up_does() -> None:
    """A function that both reach is compiled twice: with references counted, and without."""
    policy = UCB1()
    fast: Any = compiled(bind_game(policy, Gaussian()), policy, allocates=True)
    inner = fast.py_func.__globals__
    assert fast.targetoptions["_nrt"]
    assert inner["init"].targetoptions["_nrt"]
    assert not inner["play"].targetoptions["_nrt"]
    observe = inner["play"].py_func.__globals__["observe"]
    assert not observe.py_func.__globals__["update"].targetoptions["_nrt"]


FORK = """
import os, signal, sys, threading, time
import rotting

thread = threading.Thread(target=rotting.Bandit, args=(rotting.EffRAWUCB(), [1, 2]), kwargs={"compile": "now"})
thread.start()
while not hasattr(sys.modules.get("rotting.simulation.engines.compile"), "guarded_for"):  # else it is being imported
    time.sleep(0.001)
time.sleep(1.0)  # so that it compiles
child = os.fork()
if child == 0:
    signal.alarm(60)  # ends the child if it waits for a lock
    bandit = rotting.Bandit(rotting.Uniform(), arms=[1, 2], compile="now")
    bandit.update(bandit.pull(), 1.0)
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
thread.join()
"""


@compiled_only
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
def test_a_process_that_was_forked_while_a_thread_compiled_can_compile(tmp_path: Path) -> None:
    run(FORK, tmp_path)
