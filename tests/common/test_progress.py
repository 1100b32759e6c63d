import io
import sys
import threading
import types

import pytest

from rotting.common import progress
from rotting.common.progress import Progress, clock_text


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "monotonic", clock)
    return clock


def work(bar: Progress, clock: Clock, pieces: int, seconds: float) -> None:
    for _ in range(pieces):
        clock.now += seconds
        bar.advance()


def test_a_terminal_gets_one_line_painted_over(clock: Clock) -> None:
    stream = Terminal()
    with Progress(10, "runs", stream=stream) as bar:
        work(bar, clock, 10, 6.0)
    text = stream.getvalue()
    assert text.count("\n") == 1
    assert text.endswith("\n")
    painted = text.strip().split("\r")
    assert painted[0].startswith("runs [##......................]  10 %  1/10  0:06, about 0:54 left")
    assert painted[4].startswith("runs [############............]  50 %  5/10  0:30, about 0:30 left")
    assert painted[-1] == "runs [########################] 100 %  10/10  1:00".ljust(len(painted[-1]))


def test_a_shorter_line_wipes_the_longer_one(clock: Clock) -> None:
    stream = Terminal()
    with Progress(2, stream=stream) as bar:
        work(bar, clock, 2, 1.0)
    first, *_, last = stream.getvalue().rstrip("\n").split("\r")[1:]
    assert len(last) <= len(first)
    assert not last.endswith("left")


def test_painting_is_throttled(clock: Clock) -> None:
    stream = Terminal()
    with Progress(1_000, stream=stream) as bar:
        work(bar, clock, 1_000, 0.001)
    assert 5 <= stream.getvalue().count("\r") <= 11


def test_a_file_gets_nothing(clock: Clock) -> None:
    stream = io.StringIO()
    with Progress(3, stream=stream) as bar:
        work(bar, clock, 3, 60.0)
    assert stream.getvalue() == ""


def test_a_file_gets_few_whole_lines_when_forced(clock: Clock) -> None:
    stream = io.StringIO()
    with Progress(100, "runs", show=True, stream=stream) as bar:
        work(bar, clock, 100, 0.25)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 6
    assert "\r" not in stream.getvalue()
    assert lines[0].endswith("20/100  0:05, about 0:20 left")
    assert lines[-1].endswith("100 %  100/100  0:25")


def test_a_terminal_gets_nothing_when_forced_off_or_for_work_of_no_time(clock: Clock) -> None:
    stream = Terminal()
    with Progress(3, show=False, stream=stream) as bar:
        work(bar, clock, 3, 60.0)
    with Progress(3, stream=stream) as bar:
        work(bar, clock, 3, 0.01)
    assert stream.getvalue() == ""


def test_an_interrupt_leaves_a_whole_line_and_goes_up(clock: Clock) -> None:
    stream = Terminal()

    def interrupted() -> None:
        with Progress(10, stream=stream) as bar:
            work(bar, clock, 4, 1.0)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert stream.getvalue().endswith("4/10  0:04, about 0:06 left\n")


def test_closing_twice_writes_once(clock: Clock) -> None:
    stream = io.StringIO()
    bar = Progress(1, show=True, stream=stream)
    bar.advance()
    bar.close()
    bar.close()
    bar.advance()
    assert len(stream.getvalue().splitlines()) == 1


def test_it_writes_to_the_standard_error_of_the_moment(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(1, "runs", show=True) as bar:
        bar.advance()
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "runs [########################] 100 %  1/1  0:00\n"


class Broken(Terminal):
    def write(self, text: str) -> int:
        raise BrokenPipeError


def closed() -> io.StringIO:
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.mark.parametrize("show", [True, None])
@pytest.mark.parametrize("stream", [Broken(), closed()])
def test_a_bad_stream_never_stops_the_work(clock: Clock, stream: io.StringIO, show: bool | None) -> None:
    with Progress(3, show=show, stream=stream) as bar:
        work(bar, clock, 3, 60.0)
    assert bar.done == 3


def test_no_standard_error_never_stops_the_work(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    with Progress(3, show=True) as bar:
        work(bar, clock, 3, 60.0)
    assert bar.done == 3


@pytest.mark.parametrize("total", [0, -1, 2])
def test_odd_totals_never_stop_the_work(clock: Clock, total: int) -> None:
    stream = io.StringIO()
    with Progress(total, show=True, stream=stream) as bar:
        work(bar, clock, 5, 60.0)
    assert "100 %" in stream.getvalue()


def test_a_narrow_terminal_keeps_one_line(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(Progress, "_columns", lambda _: 30)
    with Progress(10, "a long label", stream=stream) as bar:
        work(bar, clock, 10, 1.0)
    assert all(len(line) < 30 for line in stream.getvalue().strip().split("\r"))


def test_threads_share_a_bar() -> None:
    bar = Progress(4_000, show=False)

    def many() -> None:
        for _ in range(1_000):
            bar.advance()

    threads = [threading.Thread(target=many) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert bar.done == 4_000


def test_clock_text_never_goes_below_zero() -> None:
    assert clock_text(-1) == "0:00"


def test_what_was_found_does_not_hasten_the_rest() -> None:
    bar = Progress(100, show=True, stream=io.StringIO())
    bar.resumed = 80
    bar.advance(80)
    assert "left" not in bar._line(bar._start + 10)
    bar.advance(10)
    assert bar._line(bar._start + 10).endswith("90 %  90/100  0:10, about 0:10 left")
    bar.status = "compiling fewa"
    assert bar._line(bar._start + 10).endswith("90/100  0:10, compiling fewa")


@pytest.mark.parametrize("columns", [79, 70, 60, 50])
def test_a_bar_is_shorter_if_its_words_need_the_room(columns: int) -> None:
    """The default terminal of 80 columns must show what is being compiled, and how many are left."""
    bar = Progress(1_600_000, "rounds", show=False)
    bar.advance(166_000)
    bar.status = "compiling EFF-RAW-UCB (2 of 4)"
    line = bar._line(bar._start + 5, columns)
    assert len(line) <= columns
    words = "10 %  166,000/1,600,000  0:05, compiling EFF-RAW-UCB (2 of 4)"
    assert line == (f"rounds [.......]  {words}" if columns == 79 else f"rounds {words}"[:columns])
    bar.status = ""
    assert bar._line(bar._start + 5, columns + 40).startswith("rounds [##......................]  10 %")


class Handle:
    """What `display` returns in a notebook."""

    def __init__(self, first: str) -> None:
        self.shown = [first]

    def update(self, content: str) -> None:
        self.shown.append(content)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> list[Handle]:
    """The parts of IPython that a bar uses."""
    handles: list[Handle] = []

    def display(content: str, display_id: bool) -> Handle:
        assert display_id
        handles.append(Handle(content))
        return handles[-1]

    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    page = types.SimpleNamespace(display=display, HTML=str)
    monkeypatch.setitem(sys.modules, "IPython.display", page)
    monkeypatch.setattr(progress, "TERMINAL_SECONDS", 0.0)
    return handles


def test_a_notebook_has_one_bar_that_is_updated(notebook: list[Handle], capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(4, "<runs>") as bar:
        for _ in range(4):
            bar.advance()
    (handle,) = notebook
    assert '<progress value="0.2500" max="1">' in handle.shown[0]
    assert '<progress value="1.0000" max="1">' in handle.shown[-1]
    assert "&lt;runs&gt; 100 %  4/4" in handle.shown[-1]
    assert capsys.readouterr() == ("", "")


def test_a_notebook_bar_can_be_left_out_and_never_stops_the_work(notebook: list[Handle]) -> None:
    with Progress(2, show=False) as bar:
        bar.advance()
    assert notebook == []

    def fails(*_: object, **__: object) -> None:
        raise RuntimeError

    sys.modules["IPython.display"].display = fails  # type: ignore[attr-defined]
    with Progress(2) as bar:
        bar.advance()
        bar.advance()
    assert bar.done == 2


def test_ipython_without_a_notebook_is_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = types.SimpleNamespace(get_ipython=object)
    monkeypatch.setitem(sys.modules, "IPython", shell)
    assert progress._notebook() is None
