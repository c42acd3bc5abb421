"""Commands that keep the shelf: add, list, contents, remove, doctor.

Many books: several at once from the command line, and a worker that reads what waits in the queue.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from octavo.cli.common import (
    FAILED,
    Context,
    Progress,
    common,
    complain,
    counted,
    exit_code,
    on_terminal,
    show_json,
    with_library,
)
from octavo.errors import BadBook, OctavoError
from octavo.events import Compared, IngestEvent, Published
from octavo.records.options import BookOptions

if TYPE_CHECKING:
    from octavo.library import Library
    from octavo.schemas import AddedBookJson, PlannedBookJson
    from octavo.types import Book, Section

T = TypeVar("T")


async def each(
    paths: Sequence[Path], one: Callable[[Path], Awaitable[T]], *, workers: int
) -> tuple[list[T], list[OctavoError]]:
    """Does `one` for every path, `workers` at a time: what was done, in order, and what failed.

    A bad book fails alone; anything else would fail for the next one too, so nothing new is begun.
    """
    done: dict[int, T] = {}
    failed: dict[int, OctavoError] = {}
    waiting = iter(enumerate(paths))

    async def go() -> None:
        for number, path in waiting:
            if any(not isinstance(error, BadBook) for error in failed.values()):
                return
            try:
                done[number] = await one(path)
            except OctavoError as error:
                failed[number] = error
                complain(error, as_json=False)

    async with asyncio.TaskGroup() as group:
        for _ in range(min(workers, len(paths))):
            group.create_task(go())
    return [done[n] for n in sorted(done)], [failed[n] for n in sorted(failed)]


@click.command(short_help="Read the books that wait in the queue of uploads.")
@click.option("--until-empty", is_flag=True, help="Stop when no book waits that it can read.")
@common
def work(context: Context, until_empty: bool, data: str | None, as_json: bool) -> None:
    """Read the books that wait in the queue, beside a server that takes uploads.

    `octavo serve` has a worker of its own. More of them, here or on other machines, need the store and the
    records on servers (OCTAVO_STORE_URL, OCTAVO_RECORDS_URL) and the data folder of the server whose uploads
    they read.

    \b
      octavo work
      octavo work --until-empty
    """
    count = with_library(context, data, lambda library: _work(library, until_empty=until_empty))
    if as_json:
        from octavo.schemas import FinishedJobsJson

        show_json(FinishedJobsJson(jobs=count))
    else:
        click.echo(f"{counted(count, 'job')} done.")


async def _work(library: Library, *, until_empty: bool) -> int:
    from octavo.ingest.worker import IDLE_SECONDS, Worker
    from octavo.records.jobs import JobQueue

    await library.ready()
    settings = library.settings
    queue = JobQueue(library.database, capacity=settings.service.queue)
    alone = not settings.store_url  # an embedded store has one process: the one before this is gone
    worker = Worker(queue, library.ingest, data=settings.data, alone=alone)
    if alone:
        await queue.reclaim()
    count = 0

    async def run() -> None:
        nonlocal count
        while True:
            if await worker.run_once():
                count += 1
            elif until_empty:
                return
            else:
                await asyncio.sleep(IDLE_SECONDS)

    running = asyncio.ensure_future(run())
    for stop in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(stop, running.cancel)
    with suppress(asyncio.CancelledError):  # the book that was being read waits again
        await running
    return count


@click.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
@click.option("--title", help="Title to show; else the book's own.")
@click.option("--id", "book_id", help="Name of the book in the library; else made from the title.")
@click.option("--base-url", help="Web address of the published book, so that results link there.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option(
    "--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Books to read at once."
)
@common
def add(
    context: Context,
    paths: tuple[str, ...],
    title: str | None,
    book_id: str | None,
    base_url: str | None,
    dry_run: bool,
    workers: int,
    data: str | None,
    as_json: bool,
) -> None:
    """Add books, or new editions of them.

    A PATH is a file (.md .html .epub .pdf .txt) or the folder of a book (Docusaurus, mdBook, Markdown or
    HTML files). Adding the same book again does nothing; a new edition changes only what changed.

    \b
      octavo add moby-dick.epub
      octavo add ./website --base-url https://example.org/
      octavo add manual.pdf --title "The Manual" --dry-run
      octavo add shelf/*.epub --workers 4
    """
    if len(paths) > 1 and (title or book_id):
        raise click.UsageError("--title and --id name one book; add the others separately.")

    if "" in paths:
        raise click.UsageError("A PATH is empty; '.' names this folder.")

    async def work(
        library: Library,
    ) -> tuple[list[AddedBookJson | PlannedBookJson], list[OctavoError]]:
        async def one(path: Path) -> AddedBookJson | PlannedBookJson:
            options = BookOptions(title=title, base_url=base_url, book_id=book_id)
            if dry_run:
                return await _preview_book(library, path, options, quiet=as_json)
            # Two progress lines would overwrite each other.
            live = workers == 1 and not as_json and on_terminal()
            return await _add_book(library, path, options, quiet=as_json, live=live)

        return await each([Path(path) for path in paths], one, workers=workers)

    done, failed = with_library(context, data, work)
    if as_json:
        from octavo.schemas import AddedBooksJson, FailureJson

        show_json(AddedBooksJson(books=done, errors=[FailureJson.from_value(error) for error in failed]))
    if failed:
        raise click.exceptions.Exit(max(map(exit_code, failed)))


async def _preview_book(
    library: Library, path: Path, options: BookOptions, *, quiet: bool
) -> PlannedBookJson:
    """Print what adding the book would change."""
    from octavo.schemas import PlannedBookJson

    change = await library.preview(path, **asdict(options))
    _print_line(f"{change.title}: {summary(change)} (nothing was changed)", quiet)
    return PlannedBookJson.from_change(change)


async def _add_book(
    library: Library, path: Path, options: BookOptions, *, quiet: bool, live: bool
) -> AddedBookJson:
    """Add the book; with `live`, show the progress."""
    from octavo.schemas import AddedBookJson, ChangeJson

    seen: dict[str, IngestEvent] = {}
    progress = Progress(path.name, live=live)

    def watch(event: IngestEvent) -> None:
        seen[event.kind] = event
        progress(event)

    book = await library.ingest(path, options, watch)
    compared, published = seen.get("compared"), seen["published"]
    change = compared if isinstance(compared, Compared) else Compared.unchanged(book)
    unchanged = isinstance(published, Published) and published.unchanged
    _print_line(_describe_added(book, change, unchanged=unchanged), quiet)
    return AddedBookJson.from_value(book, unchanged=unchanged, change=ChangeJson.from_value(change))


def _print_line(line: str, quiet: bool) -> None:
    if not quiet:
        click.echo(line)


def summary(change: Compared) -> str:
    sections = f"+{change.added} ~{change.changed} −{change.removed} sections"
    return f"{sections}, +{change.chunks_new} −{change.chunks_gone} passages"


def _describe_added(book: Book, change: Compared, *, unchanged: bool) -> str:
    if unchanged:
        return f"{book.title}: already here as {book.id!r}, nothing to do"
    pages = f", {counted(book.page_count, 'page')}" if book.page_count else ""
    return f"{book.title}: added as {book.id!r} ({_size(book)}{pages}); {summary(change)}"


def _size(book: Book) -> str:
    return f"{counted(book.section_count, 'section')}, {counted(book.chunk_count, 'passage')}"


@click.command("list")
@common
def list_(context: Context, data: str | None, as_json: bool) -> None:
    """Show the books of the library."""
    books = with_library(context, data, lambda library: library.books())
    if as_json:
        from octavo.schemas import BookListJson

        show_json(BookListJson.from_books(books))
    elif not books:
        click.echo("No books yet. `octavo add PATH` takes one in.")
    else:
        wide = max(len(b.id) for b in books)
        for book in books:
            authors = f" by {', '.join(book.authors)}" if book.authors else ""
            click.echo(f"{book.id:<{wide}}  {book.title}{authors} [{book.format}, {_size(book)}]")


@click.command(short_help="Show the table of contents of a book.")
@click.argument("book")
@common
def contents(context: Context, book: str, data: str | None, as_json: bool) -> None:
    """Show the table of contents of BOOK, with the ids that --section takes.

    \b
      octavo contents moby-dick
    """
    sections = with_library(context, data, lambda library: library.contents(book))
    if as_json:
        from octavo.schemas import ContentsJson

        show_json(ContentsJson.from_sections(sections))
        return
    for section in sections:
        click.echo(_contents_line(section))


def _contents_line(section: Section) -> str:
    page = f"  p. {section.pages[0].label or section.pages[0].number}" if section.pages else ""
    name = click.style(f"  [{section.id}]", dim=True)
    return f"{'  ' * (section.level - 1)}{section.title}{page}{name}"


@click.command()
@click.argument("book")
@click.option("--yes", is_flag=True, help="Do not ask.")
@common
def remove(context: Context, book: str, yes: bool, data: str | None, as_json: bool) -> None:
    """Take BOOK out of the library, with everything stored of it. The file itself stays where it is."""

    async def work(library: Library) -> Book:
        found = await library.book(book)
        if not yes and on_terminal():
            click.confirm(
                f"Remove {found.title!r} ({counted(found.chunk_count, 'passage')})?", abort=True, err=True
            )
        return await library.remove(found.id)

    gone = with_library(context, data, work)
    if as_json:
        from octavo.schemas import BookJson, RemovedBookJson

        show_json(RemovedBookJson(removed=BookJson.from_value(gone)))
    else:
        click.echo(f"Removed {gone.title!r}.")


@click.command(short_help="Check the library: files, space, model, store and records.")
@click.option("--repair", is_flag=True, help="Make the store what the records say, embedding anew if needed.")
@common
def doctor(context: Context, repair: bool, data: str | None, as_json: bool) -> None:
    """Check the library: files, space, model, and that the store holds what the records say.

    \b
      octavo doctor
      octavo doctor --repair
    """
    progress = Progress("repair", live=on_terminal() and not as_json)
    findings = with_library(context, data, lambda library: library.examine(repair=repair, on_event=progress))
    sound = all(f.sound for f in findings)
    if as_json:
        from octavo.schemas import ExaminationJson, FindingJson

        shown = [FindingJson.from_value(finding) for finding in findings]
        show_json(ExaminationJson(sound=sound, findings=shown))
    else:
        for finding in findings:
            click.echo(f"{'✓' if finding.sound else '✗'} {finding.what}: {finding.said}")
            if finding.hint and not finding.sound:
                click.echo(f"    {finding.hint}")
    if not sound:
        raise click.exceptions.Exit(FAILED)
