"""The report of compiled policies."""

import pytest

from rotting.live.bandit import Bandit
from rotting.registry import make
from rotting.service.compile_report import CompileReport


def test_each_compiled_policy_is_reported_once() -> None:
    lines: list[str] = []
    compiling = CompileReport(lines.append)
    with pytest.raises(RuntimeError, match="no memory"), compiling.timing():
        raise RuntimeError("no memory")
    for name, sigma in (("ucb1", 1.0), ("raw-ucb", 1.0), ("ucb1", 2.0), ("fewa", 1.0)):
        with compiling.timing() as report:
            report(Bandit(make(name, sigma=sigma), arms=[1, 2], compile="now"))
    assert [line.split(" in ")[0] for line in lines] == ["compiled ucb1", "compiled raw-ucb", "compiled fewa"]
    assert all(line.endswith(" s") for line in lines)


def test_a_policy_that_is_not_compiled_is_not_reported_as_compiled() -> None:
    lines: list[str] = []
    with CompileReport(lines.append).timing() as report:
        report(Bandit(make("ucb1"), arms=[1, 2], compile="never"))
    assert lines == ["ucb1 decides interpreted until it is compiled"]


def test_a_closed_output_does_not_disturb_compiling() -> None:
    def gone(line: str) -> None:
        raise BrokenPipeError(line)

    with CompileReport(gone).timing() as report:
        report(Bandit(make("ucb1"), arms=[1, 2], compile="never"))
