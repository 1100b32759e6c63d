"""Entry points: what identifies their machine code, and how they run without it."""

import math
from pathlib import Path

import numpy as np
import pytest

from rotting.errors import KernelError
from rotting.policies.kernels.policy_functions import new_state
from rotting.registry import make
from rotting.simulation.engines.entry_points import EntryPoint, interpreted, mark_cached
from tests.helpers.bad_policy import Bad


def double(x: float) -> float:
    return 2 * x


def triple(x: float) -> float:
    return 3 * x


def shout(x: float) -> float:
    print(x)
    return x


def root(x: float) -> float:
    return math.sqrt(x)


def test_the_key_depends_on_types_and_code_but_not_on_sizes_and_values() -> None:
    policy = make("raw-ucb")
    choose = policy.kernel.choose

    def key(n_arms: int, arms: object) -> str:
        return EntryPoint(choose, policy, (policy.params, new_state(policy, n_arms, 10 * n_arms), 1, 7, arms)).key

    same = {key(1, np.arange(1)), key(2, np.arange(1)), key(3, np.arange(5))}
    frozen = np.arange(1)
    frozen.setflags(write=False)
    others = [key(1, each) for each in (np.zeros(1), np.arange(4)[::2], np.zeros((1, 1), np.int64), frozen)]
    assert len(same) == 1
    assert len({*same, *others}) == 1 + len(others)
    keys = [EntryPoint(each, None, (1.0,), allocates).key for each in (double, triple) for allocates in (False, True)]
    assert len(set(keys)) == len(keys)


def test_code_that_could_not_be_compiled_is_refused_when_it_is_interpreted_too() -> None:
    assert interpreted(EntryPoint(double, None, (1.0,)))(4.0) == 8.0
    with pytest.raises(KernelError, match=r"shout .* must not print"):
        interpreted(EntryPoint(shout, None, (1.0,)))


def test_errors_of_code_from_outside_the_library_name_owner_and_line() -> None:
    with pytest.raises(KernelError, match=r"^Bad\(.*\): root \(test_entry_points.py, line \d+"):
        interpreted(EntryPoint(root, Bad(), (1.0,)))(-1.0)


def test_code_is_cached_as_long_as_the_file_of_numba_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after the folder was copied elsewhere, as an image that is built in stages does."""
    entry, cache = EntryPoint(double, None, (1.0,)), tmp_path / "cache"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(cache))
    index = cache / "policies" / "double.nbi"
    index.parent.mkdir(parents=True)
    assert not entry.is_cached
    index.write_bytes(b"")
    mark_cached(entry.key, index)
    assert entry.is_cached
    assert not entry._replace(allocates=True).is_cached
    cache.rename(tmp_path / "copied")
    assert not entry.is_cached
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "copied"))
    assert entry.is_cached
    (tmp_path / "copied" / "policies" / "double.nbi").unlink()
    assert not entry.is_cached


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry, cache = EntryPoint(double, None, (1.0,)), tmp_path / "a file where the folder should be"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(cache))
    cache.touch()
    mark_cached(entry.key, tmp_path / "double.nbi")
    assert not entry.is_cached
