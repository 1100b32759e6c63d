"""The report of compiled policies."""

import pytest

from rotting.registry import make
from rotting.service.compiling import CompileReport


def test_each_compiled_policy_is_reported_once() -> None:
    lines: list[str] = []
    compiling = CompileReport(lines.append)
    with pytest.raises(RuntimeError, match="no memory"), compiling.timing(make("fewa")):
        raise RuntimeError("no memory")
    for name, sigma in (("ucb1", 1.0), ("raw-ucb", 1.0), ("ucb1", 2.0), ("fewa", 1.0)):
        with compiling.timing(make(name, sigma=sigma)):
            pass
    assert [line.split(" in ")[0] for line in lines] == ["compiled ucb1", "compiled raw-ucb", "compiled fewa"]
    assert all(line.endswith(" s") for line in lines)


def test_a_closed_output_does_not_disturb_compiling() -> None:
    def gone(line: str) -> None:
        raise BrokenPipeError(line)

    made = False
    with CompileReport(gone).timing(make("ucb1")):
        made = True
    assert made
