"""The report of compiled policies."""

from rotting.live.bandit import Bandit
from rotting.registry import make
from rotting.service.compile_report import CompileReport


def test_each_compiled_policy_is_reported_once() -> None:
    lines: list[str] = []
    compiling = CompileReport(lines.append)
    for name, sigma in (("ucb1", 1.0), ("raw-ucb", 1.0), ("ucb1", 2.0), ("fewa", 1.0)):
        compiling.report(Bandit(make(name, sigma=sigma), arms=[1, 2], compile="now"), 0.5)
    assert lines == [f"compiled {name} in 0.50 s" for name in ("ucb1", "raw-ucb", "fewa")]


def test_a_policy_that_is_not_compiled_is_not_reported_as_compiled() -> None:
    lines: list[str] = []
    CompileReport(lines.append).report(Bandit(make("ucb1"), arms=[1, 2], compile="never"), 0.5)
    assert lines == ["ucb1 decides interpreted"]


def test_a_closed_output_does_not_disturb_compiling() -> None:
    def gone(line: str) -> None:
        raise BrokenPipeError(line)

    CompileReport(gone).report(Bandit(make("ucb1"), arms=[1, 2], compile="never"), 0.5)
