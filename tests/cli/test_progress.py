"""The line says what, how far, how long: to a person who waits, and to nobody else."""

import io

import pytest

from socsim.commands.progress import ProgressLine, duration_text, progress_text


class Screen(io.StringIO):
    def __init__(self, terminal=True):
        super().__init__()
        self.terminal = terminal

    def isatty(self):
        return self.terminal


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def drawn(steps, *, terminal=True, quiet=False):
    """The screen after (time, what, fraction) steps."""
    screen, clock = Screen(terminal), Clock()
    with ProgressLine(quiet=quiet, stream=screen, clock=clock) as line:
        for time, what, fraction in steps:
            clock.now = 100 + time
            line(what, fraction)
    return screen.getvalue()


LONG = [(0.0, "npu", 0.0), (0.5, "npu", 0.1), (2.0, "npu", 0.25), (2.01, "npu", 0.26), (4.0, "npu", 0.5)]


@pytest.fixture(autouse=True)
def terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")


def test_a_long_run_is_told_from_the_first_second_on():
    texts = drawn(LONG).split("\r\x1b[K")
    # at 2.0 s a quarter is done: 6 s left; 10 ms later nothing is drawn; at 4.0 s half is done; at the end it is wiped
    assert texts == [
        "",
        "npu: 25 %, 6 s left",
        "npu: 50 %, 4 s left",
        "",
    ]


def test_a_short_run_shows_nothing():
    assert drawn([(0.0, "npu", 0.0), (0.9, "npu", 0.9)]) == ""


@pytest.mark.parametrize("how", [{"terminal": False}, {"quiet": True}])
def test_nobody_looks(how):
    assert drawn(LONG, **how) == ""


def test_a_dumb_terminal_shows_nothing(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    assert drawn(LONG) == ""


def test_every_device_has_its_own_time():
    texts = drawn([(0.0, "cpu", 0.5), (10.0, "npu", 0.0), (11.0, "npu", 0.5)])
    assert "npu: 0 %\r" in texts
    assert texts.split("\r\x1b[K")[2] == "npu: 50 %, 1 s left"


def test_work_of_unknown_length_is_named():
    assert progress_text("writing reports/x", None, 3.0) == "writing reports/x"


def test_the_line_never_wraps(monkeypatch):
    monkeypatch.setenv("COLUMNS", "12")
    assert max(map(len, drawn(LONG).split("\r\x1b[K"))) == 11


def test_an_error_wipes_the_line_too():
    screen, clock = Screen(), Clock()

    def interrupted():
        with ProgressLine(stream=screen, clock=clock) as line:
            clock.now += 2
            line("npu", 0.5)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert screen.getvalue().endswith("\r\x1b[K")


def test_a_name_cannot_move_the_cursor():
    assert progress_text("a\x1b[2Jb", 2.0, 1.0) == "a\\x1b[2Jb: 100 %"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "1 s"), (59.4, "59 s"), (60, "1 min 0 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")]
)
def test_durations(seconds, text):
    assert duration_text(seconds) == text
