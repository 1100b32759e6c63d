"""The bar: what a terminal and a file get, and that it never stops the work."""

import io
import sys
import threading
import types

import pytest

from rotting.common import progress
from rotting.common.progress import Progress


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


@pytest.fixture
def every_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)


def work(bar: Progress, pieces: int) -> None:
    for _ in range(pieces):
        bar.advance()


def test_a_terminal_gets_one_line_painted_over(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    with Progress(10, "runs") as bar:
        bar.status = "compiling RAW-UCB (3 of 8)"
        work(bar, 10)
        bar.status = ""
    text = terminal.getvalue()
    assert text.count("\n") == 1
    first, second, *_, last = text.strip().split("\r")
    assert first.startswith("runs:   0 %|")  # at once, before any work is done
    assert "compiling RAW-UCB (3 of 8)" in second
    assert last.startswith("runs: 100 %|")
    assert "| 10/10 [" in last
    assert "compiling" not in last


@pytest.mark.parametrize("show", [None, False])
def test_a_file_gets_nothing(every_line: None, show: bool | None, capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(3, show=show) as bar:
        work(bar, 3)
    assert capsys.readouterr() == ("", "")


def test_a_file_gets_whole_lines_when_forced(every_line: None, capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(1_600_000, "rounds", show=True) as bar:
        bar.status = "compiling EFF-RAW-UCB (2 of 4)"
        bar.advance(800_000)
        bar.status = ""
        bar.advance(800_000)
    out, err = capsys.readouterr()
    assert out == ""
    assert "\r" not in err
    lines = err.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert any(line.startswith("rounds:  50 %|") and line.endswith(", compiling EFF-RAW-UCB (2 of 4)]") for line in lines)
    assert "| 1.60M/1.60M [" in lines[-1]


def test_short_work_writes_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(3, show=True) as bar:
        work(bar, 3)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_gets_nothing_when_forced_off(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    with Progress(3, show=False) as bar:
        work(bar, 3)
    assert terminal.getvalue() == ""


def test_an_interrupt_leaves_a_whole_line_and_goes_up(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)

    def interrupted() -> None:
        with Progress(10) as bar:
            work(bar, 4)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert "| 4/10 [" in terminal.getvalue()
    assert terminal.getvalue().endswith("\n")


def test_closing_twice_writes_once(every_line: None, capsys: pytest.CaptureFixture[str]) -> None:
    bar = Progress(1, show=True)
    bar.advance()
    bar.close()
    written = capsys.readouterr().err
    bar.close()
    bar.advance()
    bar.status = "late"
    assert written.endswith("]\n")
    assert capsys.readouterr().err == ""


class Broken(Terminal):
    def write(self, text: str) -> int:
        raise BrokenPipeError


def closed() -> io.StringIO:
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.mark.parametrize("show", [True, None])
@pytest.mark.parametrize("stream", [Broken(), closed(), None])
def test_a_bad_stream_never_stops_the_work(
    every_line: None, monkeypatch: pytest.MonkeyPatch, stream: io.StringIO | None, show: bool | None
) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress(3, show=show) as bar:
        work(bar, 3)
    assert bar.done == 3


@pytest.mark.parametrize("total", [0, -1, 2])
def test_odd_totals_never_stop_the_work(every_line: None, total: int, capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(total, show=True) as bar:
        work(bar, 5)
    assert bar.done == 5
    assert "5/" in capsys.readouterr().err


def test_threads_share_a_bar() -> None:
    bar = Progress(4_000, show=False)
    threads = [threading.Thread(target=work, args=(bar, 1_000)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert bar.done == 4_000


def test_what_was_found_does_not_hasten_the_rest(every_line: None, capsys: pytest.CaptureFixture[str]) -> None:
    """Without what was found, there is no rate yet, so the time left is not known."""
    with Progress(100, show=True) as bar:
        bar.resume(80)
    assert (bar.done, bar.resumed) == (80, 80)
    assert capsys.readouterr().err.splitlines()[-1].endswith("| 80/100 [00:00<?]")


def test_a_notebook_has_a_bar_though_it_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    with Progress(4, "runs") as bar:
        work(bar, 4)
    assert "runs: 100 %|" in capsys.readouterr().err  # tqdm's plain bar, as there are no widgets here
