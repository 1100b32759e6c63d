"""The report of compiled policies."""

import pytest

from rotting.registry import make
from rotting.service.compiling import CompileReport


def test_each_kind_of_policy_is_told_once_and_only_if_it_was_made() -> None:
    said: list[str] = []
    compiling = CompileReport(said.append)
    with pytest.raises(RuntimeError, match="no memory"), compiling.timing(make("fewa")):
        raise RuntimeError("no memory")
    for name, sigma in (("ucb1", 1.0), ("raw-ucb", 1.0), ("ucb1", 2.0), ("fewa", 1.0)):
        with compiling.timing(make(name, sigma=sigma)):
            pass
    assert [line.split(" in ")[0] for line in said] == ["compiled ucb1", "compiled raw-ucb", "compiled fewa"]
    assert all(line.endswith(" s") for line in said)


def test_it_does_not_matter_whether_somebody_listens() -> None:
    def gone(line: str) -> None:
        raise BrokenPipeError(line)

    made = False
    with CompileReport(gone).timing(make("ucb1")):
        made = True
    assert made
