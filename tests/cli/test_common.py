"""Progress is one line that is written over, with counts and the time that is left."""

from __future__ import annotations

import itertools

import pytest

from octavo.cli.common import WIDTH, ProgressLine, draw_bar, format_seconds
from octavo.events import Compared, Embedding, IngestEvent, Parsed, Preparing, Published, Storing
from tests.support.builders import make_book


def ticking(step: float) -> ProgressLine:
    ticks = itertools.count(step=step)
    return ProgressLine("moby.epub", live=True, now=lambda: float(next(ticks)))


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0, "0:00"), (59.9, "0:59"), (61, "1:01"), (3600, "1:00:00"), (36_062, "10:01:02")]
)
def test_time_is_shown_as_a_clock_shows_it(seconds: float, shown: str) -> None:
    assert format_seconds(seconds) == shown


@pytest.mark.parametrize(("done", "total", "full"), [(0, 10, 0), (5, 10, 12), (10, 10, 24), (0, 0, 0)])
def test_the_bar_fills_with_the_work(done: int, total: int, full: int) -> None:
    assert draw_bar(done, total) == "█" * full + "░" * (24 - full)


def test_the_time_left_follows_from_the_pace_since_the_first_batch() -> None:
    progress = ticking(10.0)
    lines = [progress.describe(Embedding(done, 1000)) for done in (500, 600, 700)]
    assert lines[0].endswith(" 500/1000")
    assert lines[1].endswith(" 600/1000, 0:40 left")
    assert lines[2].endswith(" 700/1000, 0:30 left")


def test_every_event_has_its_line() -> None:
    progress = ticking(1.0)
    assert progress.describe(Parsed("M", 3, 12_345, 0)) == "moby.epub: 3 sections, 12,345 characters"
    assert progress.describe(Parsed("M", 1, 1, 0)) == "moby.epub: 1 section, 1 character"
    assert progress.describe(Compared("m", "M", 1, 2, 3, 4, 5, 6)) == "moby.epub: +1 ~2 −3 sections"
    assert progress.describe(Preparing("cutting", 0, 0, 75.0)) == "moby.epub: cutting, 1:15"
    reading = progress.describe(Preparing("reading", 300, 1_200, 20.0))
    assert reading == "moby.epub: reading 300 of 1,200 pages, 0:20, 1:00 left"
    assert progress.describe(Storing(5, 9)) == "moby.epub: storing 5/9"
    assert progress.describe(Published(make_book())) == ""


EVENTS: list[IngestEvent] = [
    Parsed("M", 3, 99, 0, warnings=("page 3 is a picture",)),
    Embedding(1, 2),
    Published(make_book()),
]


def test_somebody_who_watches_sees_one_line_written_over(capsys: pytest.CaptureFixture[str]) -> None:
    progress = ProgressLine("a name that is very long " * 9, live=True)
    for event in EVENTS:
        progress(event)
    said = capsys.readouterr()
    assert said.out == ""
    assert "  note: page 3 is a picture" in said.err
    assert "\n" not in said.err.replace("picture", "").rstrip("\n").split("note:")[0]
    assert all(len(line) <= WIDTH + 1 for line in said.err.replace("\n", "\r").split("\r"))
    assert said.err.endswith("\r")


def test_nobody_who_does_not_watch_sees_more_than_the_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    progress = ProgressLine("moby.epub", live=False)
    for event in EVENTS:
        progress(event)
    assert capsys.readouterr().err == "  note: page 3 is a picture\n"


def test_a_pipe_gets_a_line_every_ten_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    clock = iter((0.0, 9.0, 10.0, 10.0, 19.0, 20.0, 20.0))
    progress = ProgressLine("moby.epub", live=False, lines=True, now=lambda: next(clock))
    for second in (9, 10, 19, 20):
        progress(Preparing("reading", 0, 0, second))
    assert capsys.readouterr().err == "moby.epub: reading, 0:10\nmoby.epub: reading, 0:20\n"
