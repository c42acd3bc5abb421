"""Progress on standard error, with counts and the time that is left; silent when nobody is watching."""

from __future__ import annotations

import time
from collections.abc import Callable

import click

from octavo.cli.frame import counted
from octavo.events import Compared, Embedding, IngestEvent, Parsed, Published, Storing

WIDTH = 78


def clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def bar(done: int, total: int, *, width: int = 24) -> str:
    full = width * done // max(1, total)
    return "█" * full + "░" * (width - full)


class Progress:
    """Turns the events of an ingest into one line that is written over."""

    def __init__(self, name: str, *, live: bool, now: Callable[[], float] = time.monotonic) -> None:
        self._name, self._live, self._now = name, live, now
        self._began: float | None = None
        self._first = 0

    def __call__(self, event: IngestEvent) -> None:
        if isinstance(event, Parsed):
            for warning in event.warnings:
                self._keep(f"  note: {warning}")
        line = self.line(event)
        if line and self._live:
            click.echo(f"\r{line[:WIDTH]:<{WIDTH}}", nl=False, err=True)
        if isinstance(event, Published) and self._live:
            click.echo(f"\r{'':<{WIDTH}}\r", nl=False, err=True)

    def line(self, event: IngestEvent) -> str:
        match event:
            case Parsed():
                size = f"{counted(event.sections, 'section')}, {counted(event.characters, 'character')}"
                return f"{self._name}: {size}"
            case Compared():
                return f"{self._name}: +{event.added} ~{event.changed} −{event.removed} sections"
            case Embedding():
                counts = f"{event.done}/{event.total}{self._left(event)}"
                return f"{self._name}: {bar(event.done, event.total)} {counts}"
            case Storing():
                return f"{self._name}: storing {event.done}/{event.total}"
            case Published():
                return ""

    def _left(self, event: Embedding) -> str:
        """Time left at the pace since the first batch; the first says nothing yet."""
        now = self._now()
        if self._began is None:
            self._began, self._first = now, event.done
        fresh = event.done - self._first
        if fresh <= 0:
            return ""
        return f", {clock((now - self._began) / fresh * (event.total - event.done))} left"

    def _keep(self, line: str) -> None:
        click.echo(f"\r{line:<{WIDTH}}" if self._live else line, err=True)
