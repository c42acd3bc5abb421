"""Commands that manage the books: add, list, contents, remove, work, doctor."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from octavo.cli.common import (
    FAILED,
    GroupOptions,
    ProgressLine,
    add_common_options,
    choose_exit_code,
    format_count,
    is_terminal,
    report_error,
    run_with_library,
    show_json,
)
from octavo.cli.shelves import AddSummary, SourceBook, expand_paths
from octavo.errors import BadBook, LibraryBusy, OctavoError
from octavo.events import Compared, IngestEvent, Published
from octavo.records.options import BookOptions
from octavo.types.books import matches_metadata

if TYPE_CHECKING:
    from octavo.library import Library
    from octavo.records.scans import ScanSummary
    from octavo.schemas import AddedBookJson, PlannedBookJson
    from octavo.types import Book, Section

S = TypeVar("S")
T = TypeVar("T")


async def run_each(
    paths: Sequence[S], one: Callable[[S], Awaitable[T]], *, workers: int
) -> tuple[list[T], list[OctavoError]]:
    """Call `one` for every path, `workers` at a time; return the results in order, and the errors.

    After a bad book the others continue. Any other error would hit the next book too, so nothing new starts.
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
                report_error(error, as_json=False)

    async with asyncio.TaskGroup() as group:
        for _ in range(min(workers, len(paths))):
            group.create_task(go())
    return [done[n] for n in sorted(done)], [failed[n] for n in sorted(failed)]


@click.command(short_help="Add the books that wait in the upload queue.")
@click.option("--until-empty", is_flag=True, help="Stop when no book is waiting.")
@add_common_options
def work(context: GroupOptions, until_empty: bool, data: str | None, as_json: bool) -> None:
    """Add the books that wait in the upload queue, beside a server.

    `octavo serve` has a worker of its own. More workers, here or on other machines, need the store and the
    records on servers (OCTAVO_STORE_URL, OCTAVO_RECORDS_URL), and the data folder of the server that takes
    the uploads.

    \b
      octavo work
      octavo work --until-empty
    """
    count = run_with_library(context, data, lambda library: _work(library, until_empty=until_empty))
    if as_json:
        from octavo.schemas import FinishedJobsJson

        show_json(FinishedJobsJson(jobs=count))
    else:
        click.echo(f"{format_count(count, 'job')} done.")


async def _work(library: Library, *, until_empty: bool) -> int:
    from octavo.ingest.worker import IDLE_SECONDS, Worker
    from octavo.records.jobs import JobQueue
    from octavo.store.service_socket import is_served

    settings = library.settings
    if not settings.store_url and is_served(settings.data):
        raise LibraryBusy(
            f"the library at {settings.data} is open in a running service, which adds the books that wait",
            hint="Nothing has to be done. A second worker needs OCTAVO_STORE_URL.",
        )
    await library.prepare()
    queue = JobQueue(library.database, capacity=settings.service.queue)
    # An embedded store has one process: an earlier one is gone.
    alone = not settings.store_url
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
                await library.compact()
                return
            else:
                await asyncio.sleep(IDLE_SECONDS)

    running = asyncio.ensure_future(run())
    for stop in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(stop, running.cancel)
    if not until_empty:
        click.echo("Waiting for books. Ctrl-C stops.", err=True)
    # The book that was being added goes back into the queue.
    with suppress(asyncio.CancelledError):
        await running
    return count


@click.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
@click.option("--title", help="Title to show; the default is the book's own.")
@click.option("--id", "book_id", help="Id of the book in the library; the default is made from the title.")
@click.option("--base-url", help="Web address of the published book; results link to it.")
@click.option("--dry-run", is_flag=True, help="Show what would change, but change nothing.")
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="Number of books to read at once.",
)
@add_common_options
def add(
    context: GroupOptions,
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

    A PATH is a file (.epub .pdf .mobi .azw3 .docx .odt .fb2 .html .md .rst .adoc .txt), the folder of a book
    (Docusaurus, mdBook, MkDocs, Sphinx …, or pages), or the address of a web site or of its sitemap.
    A folder with several books and a Calibre library are added book by book, each once, in its best format.
    `-` reads paths from standard input, one a line. A book that fails does not stop the others.
    Adding the same book again does nothing; a new edition changes only what changed.

    \b
      octavo add moby-dick.epub
      octavo add https://example.org/docs/
      octavo add ./website --base-url https://example.org/
      octavo add manual.pdf --title "The Manual" --dry-run
      octavo add books/*.epub --workers 4
      octavo add ~/Books
      find . -name '*.epub' | octavo add -
    """
    if "" in paths:
        raise click.UsageError("A PATH is empty; use '.' for the current folder.")
    found = expand_paths(paths)
    if len(found) > 1 and (title or book_id):
        raise click.UsageError("--title and --id are for a single book; add the others separately.")
    asked = BookOptions(title=title, base_url=base_url, book_id=book_id)
    summary = AddSummary(total=len(found))
    # Two progress lines would overwrite each other.
    live = workers == 1 and not as_json and is_terminal()

    async def work(library: Library) -> list[AddedBookJson | PlannedBookJson]:
        async def one(book: SourceBook) -> AddedBookJson | PlannedBookJson:
            options = book.choose_options(asked)
            with summary.watch(book):
                if dry_run:
                    return await _preview_book(library, book, options, quiet=as_json)
                return await add_book(library, book, options, quiet=as_json, live=live)

        done, _ = await run_each(found, one, workers=workers)
        if done and not dry_run and await library.compact():
            _print_line("The store is large: it was rewritten, so that searching stays quick.", as_json)
        return done

    done = run_with_library(context, data, work)
    if as_json:
        from octavo.schemas import AddedBooksJson

        show_json(AddedBooksJson(books=done, errors=summary.describe_failures()))
    elif len(found) > 1:
        summary.show(done)
    if summary.failed:
        raise click.exceptions.Exit(max(choose_exit_code(error) for _, error in summary.failed))


async def _preview_book(
    library: Library, source: SourceBook, options: BookOptions, *, quiet: bool
) -> PlannedBookJson:
    """Print what adding the book would change."""
    from octavo.schemas import PlannedBookJson

    async def preview(path: str) -> Compared:
        return await library.preview(
            path, title=options.title, base_url=options.base_url, book_id=options.book_id
        )

    change = await source.try_formats(preview)
    _print_line(f"{change.title}: {summarise_change(change)} (nothing was changed)", quiet)
    return PlannedBookJson.from_change(change)


async def add_book(
    library: Library, source: SourceBook, options: BookOptions, *, quiet: bool, live: bool
) -> AddedBookJson:
    """Add the book; with `live`, show the progress."""
    from octavo.schemas import AddedBookJson, ChangeJson

    seen: dict[str, IngestEvent] = {}

    async def ingest(path: str) -> Book:
        # The last part names a file, and a site too.
        progress = ProgressLine(Path(path).name or path, live=live, lines=not quiet)

        def watch(event: IngestEvent) -> None:
            seen[event.kind] = event
            progress(event)

        seen.clear()
        return await library.ingest(path, options, watch)

    book = await source.try_formats(ingest)
    compared, published = seen.get("compared"), seen["published"]
    change = compared if isinstance(compared, Compared) else Compared.unchanged(book)
    unchanged = isinstance(published, Published) and published.unchanged
    _print_line(_describe_added(book, change, unchanged=unchanged), quiet)
    return AddedBookJson.from_value(book, unchanged=unchanged, change=ChangeJson.from_value(change))


def _print_line(line: str, quiet: bool) -> None:
    if not quiet:
        click.echo(line)


def summarise_change(change: Compared) -> str:
    sections = f"+{change.added} ~{change.changed} −{change.removed} sections"
    return f"{sections}, +{change.chunks_new} −{change.chunks_gone} passages"


def _describe_added(book: Book, change: Compared, *, unchanged: bool) -> str:
    if unchanged:
        return f"{book.title}: already in the library as {book.id!r}, nothing to do"
    pages = f", {format_count(book.page_count, 'page')}" if book.page_count else ""
    size = f"({_describe_size(book)}{pages}); {summarise_change(change)}"
    if not change.replaces:
        return f"{book.title}: added as {book.id!r} {size}"
    if change.replaces == book.format:
        return f"{book.title}: new edition of {book.id!r} {size}"
    keep = "To keep both, add one of them with --id."
    return (
        f"{book.title}: replaced the {change.replaces} of {book.id!r} with this {book.format} {size}. {keep}"
    )


def _describe_size(book: Book) -> str:
    return f"{format_count(book.section_count, 'section')}, {format_count(book.chunk_count, 'passage')}"


@click.command("list")
@click.option("--author", default="", help="Only books by an author with these words in the name.")
@click.option("--subject", default="", help="Only books with these words in a subject or in the series.")
@click.option("--language", default="", help="Only books in this language, such as `en`.")
@click.option("--tag", "wanted", multiple=True, help="Only books with this tag. Can be repeated.")
@add_common_options
def list_(
    context: GroupOptions,
    author: str,
    subject: str,
    language: str,
    wanted: tuple[str, ...],
    data: str | None,
    as_json: bool,
) -> None:
    """Show the books of the library, or those that fit.

    \b
      octavo list
      octavo list --author melville --language en
      octavo list --subject whaling --json
    """

    async def work(
        library: Library,
    ) -> tuple[list[Book], dict[str, tuple[str, ...]], dict[str, ScanSummary], set[str] | None, str]:
        from octavo.maintenance.repair import describe_lost_records
        from octavo.records.scans import list_scans

        chosen = set(await library.tagged(wanted)) if wanted else None
        lost = await describe_lost_records(library.settings, library.database)
        scans = await list_scans(library.database)
        return await library.books(), await library.tags(), scans, chosen, lost

    found, tags, scans, chosen, lost = run_with_library(context, data, work)
    if lost:
        click.echo(lost, err=True)
    books = [b for b in found if matches_metadata(b, author=author, subject=subject, language=language)]
    books = [b for b in books if chosen is None or b.id in chosen]
    if as_json:
        from octavo.schemas import BookListJson

        show_json(BookListJson.from_books(books, tags, scans))
    elif not found:
        click.echo("No books yet. `octavo add PATH` adds one.")
    elif not books:
        click.echo(f"None of the {format_count(len(found), 'book')} fits. `octavo list` shows all.")
    else:
        wide = max(len(b.id) for b in books)
        for book in books:
            authors = f" by {', '.join(book.authors)}" if book.authors else ""
            words = "".join(f" #{tag}" for tag in tags.get(book.id, ()))
            size = _describe_size(book)
            scan = _describe_scan(scans.get(book.id))
            click.echo(f"{book.id:<{wide}}  {book.title}{authors} [{book.format}, {size}{scan}]{words}")


def _describe_scan(scan: ScanSummary | None) -> str:
    return f", OCR of {format_count(scan.pages, 'page')}, {scan.confidence:.0%} sure" if scan else ""


@click.command(short_help="Put a book into collections.")
@click.argument("book")
@click.argument("tags", metavar="[TAG]...", nargs=-1)
@click.option(
    "--remove", "removed", multiple=True, metavar="TAG", help="Take this tag away. Can be repeated."
)
@add_common_options
def tag(
    context: GroupOptions,
    book: str,
    tags: tuple[str, ...],
    removed: tuple[str, ...],
    data: str | None,
    as_json: bool,
) -> None:
    """Give BOOK each TAG, and show the tags that it has. Upper and lower case are the same.

    Books with the same tag are a collection: ask, search, chat and list take --tag. Tags stay with the book
    in new editions.

    \b
      octavo tag moby-dick sea whaling
      octavo list --tag sea
      octavo search "storms" --tag sea
      octavo tag moby-dick --remove whaling
    """

    async def work(library: Library) -> tuple[Book, tuple[str, ...]]:
        found = await library.book(book)
        return found, await library.tag(found.id, add=tags, remove=removed)

    found, now = run_with_library(context, data, work)
    if as_json:
        from octavo.schemas import TagsJson

        show_json(TagsJson(book_id=found.id, tags=list(now)))
    else:
        click.echo(f"{found.title}: {', '.join(now) or 'no tags'}")


@click.command(short_help="Show the table of contents of a book.")
@click.argument("book")
@click.option("--depth", type=click.IntRange(min=1), help="Only so many levels: 1 shows the chapters.")
@add_common_options
def contents(context: GroupOptions, book: str, depth: int | None, data: str | None, as_json: bool) -> None:
    """Show the table of contents of BOOK, with the ids for --section.

    \b
      octavo contents moby-dick
      octavo contents moby-dick --depth 1
    """
    sections = run_with_library(context, data, lambda library: library.contents(book))
    if depth is not None:
        sections = [section for section in sections if section.level <= depth]
    if as_json:
        from octavo.schemas import ContentsJson

        show_json(ContentsJson.from_sections(sections))
        return
    for section in sections:
        click.echo(_format_section(section))


def _format_section(section: Section) -> str:
    page = f"  p. {section.pages[0].label or section.pages[0].number}" if section.pages else ""
    name = click.style(f"  [{section.id}]", dim=True)
    return f"{'  ' * (section.level - 1)}{section.title}{page}{name}"


@click.command(short_help="Remove a book from the library.")
@click.argument("book")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@add_common_options
def remove(context: GroupOptions, book: str, yes: bool, data: str | None, as_json: bool) -> None:
    """Remove BOOK from the library, with everything that is stored about it. Your own file stays.

    \b
      octavo remove typhoon --yes
    """

    async def work(library: Library) -> Book:
        found = await library.book(book)
        if not yes:
            if not is_terminal():
                raise click.UsageError("Nobody can be asked here: confirm the removal with --yes.")
            click.confirm(
                f"Remove {found.title!r} ({format_count(found.chunk_count, 'passage')})?",
                abort=True,
                err=True,
            )
        return await library.remove(found.id)

    gone = run_with_library(context, data, work)
    if as_json:
        from octavo.schemas import BookJson, RemovedBookJson

        show_json(RemovedBookJson(removed=BookJson.from_value(gone)))
    else:
        click.echo(f"Removed {gone.title!r}.")


@click.command(short_help="Check the library: files, disk space, models, store and records.")
@click.option("--repair", is_flag=True, help="Make the store match the records; embed again where needed.")
@click.option(
    "--rebuild", is_flag=True, help="Read books that only the store still has back into the records."
)
@click.option("--drop-unknown", is_flag=True, help="Delete passages that the records have never heard of.")
@add_common_options
def doctor(
    context: GroupOptions, repair: bool, rebuild: bool, drop_unknown: bool, data: str | None, as_json: bool
) -> None:
    """Check the library: files, disk space, models, and whether the store matches the records.

    \b
      octavo doctor
      octavo doctor --repair
      octavo doctor --rebuild
    """
    wanted = {"repair": repair, "rebuild": rebuild, "drop-unknown": drop_unknown}
    chosen = [name for name, flag in wanted.items() if flag]
    if len(chosen) > 1:
        raise click.UsageError("Use one of --repair, --rebuild and --drop-unknown at a time.")
    progress = ProgressLine("repair", live=is_terminal() and not as_json)
    findings = run_with_library(
        context, data, lambda library: library.examine(treatment="".join(chosen), on_event=progress)
    )
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
