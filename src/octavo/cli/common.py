"""What the commands share: common options, opening the library, JSON output, errors and progress."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from octavo.errors import InvalidTransition, InvalidValue, NotFound, OctavoError
from octavo.events import Compared, Embedding, Fetched, IngestEvent, Parsed, Preparing, Published, Storing
from octavo.limits import require_files

if TYPE_CHECKING:
    from octavo.library import Library
    from octavo.schemas import Schema

T = TypeVar("T")
Command = TypeVar("Command", bound=Callable[..., Any])

# Exit codes.
FAILED, WRONG_CALL, NOT_SAID = 1, 2, 3
# How often a line of progress is printed where it cannot be overwritten.
LINE_SECONDS = 10.0
# The width of a progress line.
WIDTH = 78


@dataclass(frozen=True, slots=True)
class GroupOptions:
    """The options before the command's name."""

    data: str | None = None


def add_common_options(command: Command) -> Command:
    """Add `--json` and `--data`, which every command has."""
    command = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")(command)
    data = click.option("--data", type=click.Path(file_okay=False), help="Folder of the library.")(command)
    return click.pass_obj(data)  # type: ignore[return-value]


def run_with_library(
    context: GroupOptions, data: str | None, work: Callable[[Library], Coroutine[Any, Any, T]]
) -> T:
    """Open the library, run `work` with it, and close it. A library that is being served is used there."""
    require_files()
    report_unknown_variables()

    from octavo.library import Library
    from octavo.settings import Settings
    from octavo.store.service_socket import is_served

    chosen = data or context.data
    settings = Settings(data=Path(chosen)) if chosen else Settings()
    kind: type[Library] = Library
    if not settings.store_url and is_served(settings.data):
        from octavo.cli.remote import RemoteLibrary

        kind = RemoteLibrary

    async def run() -> T:
        async with kind.open(settings=settings) as library:
            return await work(library)

    return asyncio.run(run())


def report_unknown_variables() -> None:
    """Name variables that look like settings and are none: they are misspelt."""
    from octavo.settings import find_unknown_variables

    for name, near in find_unknown_variables():
        click.echo(f"octavo: {name} is no setting and is not used. Did you mean {near}?", err=True)


def show_json(shape: Schema) -> None:
    click.echo(json.dumps(shape.to_json(), ensure_ascii=False, indent=2))


def format_count(count: int, what: str) -> str:
    """Return `1 section` or `1,234 sections`."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def report_error(error: OctavoError, *, as_json: bool) -> int:
    """Print what went wrong and what to do; return the exit code."""
    if as_json:
        from octavo.schemas import ErrorJson

        show_json(ErrorJson.from_error(error))
    click.echo(f"octavo: {error.message}", err=True)
    if error.hint:
        click.echo(f"  {error.hint}", err=True)
    return choose_exit_code(error)


def choose_exit_code(error: OctavoError) -> int:
    wrong_call = isinstance(error, InvalidValue | NotFound | InvalidTransition)
    return WRONG_CALL if wrong_call else FAILED


def is_terminal() -> bool:
    return sys.stderr.isatty()


def format_seconds(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def draw_bar(done: int, total: int, *, width: int = 24) -> str:
    full = width * done // max(1, total)
    return "█" * full + "░" * (width - full)


class ProgressLine:
    """Shows the events of an ingest on one line of the terminal, which is overwritten.

    With `lines` it prints a line of its own every ten seconds instead, for a pipe or a log.
    """

    def __init__(
        self, name: str, *, live: bool, lines: bool = False, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._name, self._live, self._lines, self._now = name, live, lines and not live, now
        self._began: float | None = None
        self._first = 0
        self._printed = now()

    def __call__(self, event: IngestEvent) -> None:
        if isinstance(event, Parsed):
            for warning in event.warnings:
                self._print_note(f"  note: {warning}")
        line = self.describe(event)
        if line and self._live:
            click.echo(f"\r{line[:WIDTH]:<{WIDTH}}", nl=False, err=True)
        if line and self._lines and self._now() - self._printed >= LINE_SECONDS:
            self._printed = self._now()
            click.echo(line, err=True)
        if isinstance(event, Published) and self._live:
            click.echo(f"\r{'':<{WIDTH}}\r", nl=False, err=True)

    def describe(self, event: IngestEvent) -> str:
        match event:
            case Fetched():
                return f"{self._name}: fetched {event.done:,} of {format_count(event.known, 'page')}"
            case Preparing():
                return f"{self._name}: {self._describe_step(event)}"
            case Parsed():
                sections = format_count(event.sections, "section")
                return f"{self._name}: {sections}, {format_count(event.characters, 'character')}"
            case Compared():
                return f"{self._name}: +{event.added} ~{event.changed} −{event.removed} sections"
            case Embedding():
                counts = f"{event.done}/{event.total}{self._estimate(event)}"
                return f"{self._name}: {draw_bar(event.done, event.total)} {counts}"
            case Storing():
                return f"{self._name}: storing {event.done}/{event.total}"
            case Published():
                return ""

    def _describe_step(self, event: Preparing) -> str:
        """Say what is done for how long, and when all pages will be read at this pace."""
        seconds = format_seconds(event.seconds)
        if not event.total:
            return f"{event.step}, {seconds}"
        left = event.seconds / max(1, event.done) * (event.total - event.done)
        pages = f"{event.done:,} of {format_count(event.total, 'page')}"
        return f"{event.step} {pages}, {seconds}, {format_seconds(left)} left"

    def _estimate(self, event: Embedding) -> str:
        """Estimate the time left from the pace since the first batch."""
        now = self._now()
        if self._began is None:
            self._began, self._first = now, event.done
        fresh = event.done - self._first
        if fresh <= 0:
            return ""
        return f", {format_seconds((now - self._began) / fresh * (event.total - event.done))} left"

    def _print_note(self, line: str) -> None:
        click.echo(f"\r{line:<{WIDTH}}" if self._live else line, err=True)
