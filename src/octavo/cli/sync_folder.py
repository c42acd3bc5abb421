"""The command that keeps the library like a folder of books."""

from __future__ import annotations

import stat
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from octavo.cli.books import add_book, run_each
from octavo.cli.common import (
    GroupOptions,
    add_common_options,
    choose_exit_code,
    format_count,
    is_terminal,
    report_error,
    run_with_library,
    show_json,
)
from octavo.cli.shelves import AddSummary, SourceBook
from octavo.errors import OctavoError

if TYPE_CHECKING:
    from octavo.ingest.shelves import FoundBook, SyncPlan
    from octavo.library import Library
    from octavo.schemas import AddedBookJson, SyncJson

Stamps = dict["FoundBook", str]
STILL_THERE = "its book is kept, for the file is still there or cannot be looked at"


@click.command(short_help="Make the library follow a folder of books.")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--delete", is_flag=True, help="Remove the books whose files are gone from the folder.")
@click.option("--dry-run", is_flag=True, help="Show what would change, but change nothing.")
@click.option("--watch", is_flag=True, help="Go on until Ctrl-C, and sync whenever the folder changes.")
@click.option(
    "--every",
    type=click.FloatRange(min=0.1),
    default=5.0,
    show_default=True,
    help="Seconds between two looks at the folder with --watch.",
)
@add_common_options
def sync(
    context: GroupOptions,
    folder: Path,
    delete: bool,
    dry_run: bool,
    watch: bool,
    every: float,
    data: str | None,
    as_json: bool,
) -> None:
    """Add the books of FOLDER that are new or have changed; with --delete, remove those that are gone.

    FOLDER is a folder of books or a Calibre library. Only books that a sync took from FOLDER are removed.
    Files that did not change are not read again. A book that fails is tried again at the next sync.

    \b
      octavo sync ~/Books --dry-run
      octavo sync ~/Books --delete
      octavo sync ~/"Calibre Library" --watch
    """
    if watch and dry_run:
        raise click.UsageError("--watch and --dry-run do not go together.")
    place = folder.absolute()

    def run_once(stamps: Stamps) -> AddSummary:
        result, summary = run_with_library(
            context, data, lambda library: _sync(library, place, stamps, delete, dry_run, quiet=as_json)
        )
        if as_json:
            show_json(result)
        return summary

    seen = _look(place)
    summary = run_once(seen)
    while watch:
        seen = _wait_for_change(place, seen, every)
        try:
            summary = run_once(seen)
        except OctavoError as error:
            # A library in use or a disk that is not mounted passes; the next change is another try.
            report_error(error, as_json=as_json)
    if summary.failed:
        raise click.exceptions.Exit(max(choose_exit_code(error) for _, error in summary.failed))


def _look(folder: Path) -> Stamps:
    """Return the books of the folder, each with the stamp of its files."""
    from octavo.ingest.shelves import compute_stamp, find_shelf
    from octavo.limits import Limits

    return {found: compute_stamp(found) for found in find_shelf(folder, Limits())}


def _wait_for_change(folder: Path, before: Stamps, seconds: float) -> Stamps:
    """Wait until the folder differs from `before`, and then until nothing is written to it any more."""
    last = before
    while True:
        time.sleep(seconds)
        now = _look(folder)
        if now != before and now == last:
            return now
        last = now


async def _sync(
    library: Library, folder: Path, stamps: Stamps, delete: bool, dry_run: bool, *, quiet: bool
) -> tuple[SyncJson, AddSummary]:
    """Do one round, or only say what it would do."""
    from octavo.ingest.shelves import plan_sync, require_books
    from octavo.records.sources import list_sources

    known = await list_sources(library.database, folder)
    require_books(stamps, known, folder)
    plan = plan_sync(stamps, known)
    summary = AddSummary(total=len(plan.new) + len(plan.changed))
    if dry_run:
        gone, ids = await _list_removable(library, plan, folder)
        _show_plan(plan, gone, ids if delete else [], quiet)
        return _describe(folder, plan, [], [], summary, dry_run=True), summary
    added = await _add_all(library, plan, stamps, summary, quiet=quiet)
    removed = await _remove_gone(library, plan, folder, quiet=quiet) if delete else []
    if not quiet:
        _show_result(plan, added, removed, delete, summary)
    return _describe(folder, plan, added, removed, summary, dry_run=False), summary


async def _add_all(
    library: Library, plan: SyncPlan, stamps: Stamps, summary: AddSummary, *, quiet: bool
) -> list[AddedBookJson]:
    from octavo.records.sources import BookSource, save_source

    live = not quiet and is_terminal()

    async def one(work: tuple[FoundBook, str | None]) -> AddedBookJson:
        found, book_id = work
        source = SourceBook.from_found(found)
        with summary.watch(source):
            options = replace(source.options, book_id=book_id)
            book = await add_book(library, source, options, quiet=quiet, live=live)
        await save_source(library.database, BookSource(found.path, book.id, stamps[found]))
        return book

    waiting: list[tuple[FoundBook, str | None]] = [(found, None) for found in plan.new]
    waiting += plan.changed
    done, _ = await run_each(waiting, one, workers=1)
    return done


async def _remove_gone(library: Library, plan: SyncPlan, folder: Path, *, quiet: bool) -> list[str]:
    """Remove the books whose files are gone."""
    from octavo.records.sources import delete_sources

    gone, ids = await _list_removable(library, plan, folder)
    present = {book.id for book in await library.books()}
    for book_id in ids:
        if book_id in present:
            book = await library.remove(book_id)
            if not quiet:
                click.echo(f"{book.title}: removed, its file is gone")
    await delete_sources(library.database, gone)
    if not quiet:
        for path in sorted({source.path for source in plan.gone} - gone):
            click.echo(f"{path}: {STILL_THERE}")
    return ids


async def _list_removable(library: Library, plan: SyncPlan, folder: Path) -> tuple[set[Path], list[str]]:
    """List the files that are surely gone, and their books, unless another file that was synced is the same
    book.
    """
    from octavo.records.sources import list_sources

    gone = {source.path for source in plan.gone if _is_gone(source.path)}
    synced = await list_sources(library.database, Path(folder.anchor))
    kept = {source.book_id for source in synced if source.path not in gone}
    return gone, list(dict.fromkeys(s.book_id for s in plan.gone if s.path in gone and s.book_id not in kept))


def _is_gone(path: Path) -> bool:
    """Whether a book is surely not there: its file is not, or its folder holds other things now."""
    try:
        return stat.S_ISDIR(path.stat().st_mode) and any(path.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        # A disk that fails, or a folder that may not be read.
        return False


def _show_plan(plan: SyncPlan, gone: set[Path], removable: list[str], quiet: bool) -> None:
    lines = [f"new: {found.path}" for found in plan.new]
    lines += [f"changed: {found.path} ({book_id})" for found, book_id in plan.changed]
    # Only reading a new file tells whether it is a book that was moved.
    unless = ", unless a new file is the same book" if plan.new else ""
    removed = dict.fromkeys(removable, f" would be removed{unless}")
    lines += [
        f"gone: {source.path} ({source.book_id}{removed.get(source.book_id, '')})"
        for source in plan.gone
        if source.path in gone
    ]
    lines += [f"{source.path}: {STILL_THERE}" for source in plan.gone if source.path not in gone]
    lines.append(f"{format_count(len(plan.same), 'book')} unchanged. Nothing was done.")
    if not quiet:
        click.echo("\n".join(lines))


def _show_result(
    plan: SyncPlan, added: list[AddedBookJson], removed: list[str], delete: bool, summary: AddSummary
) -> None:
    already = sum(book.unchanged for book in added)
    parts = [f"{len(added) - already} added or updated", f"{len(plan.same) + already} unchanged"]
    parts += [f"{len(removed)} removed"] if delete else []
    parts += [f"{len(plan.gone)} gone (--delete removes them)"] if plan.gone and not delete else []
    parts += [f"{len(summary.failed)} failed"] if summary.failed else []
    click.echo(", ".join(parts))
    for path, error in summary.failed:
        click.echo(f"  {path}: {error.message}")


def _describe(
    folder: Path,
    plan: SyncPlan,
    added: list[AddedBookJson],
    removed: list[str],
    summary: AddSummary,
    *,
    dry_run: bool,
) -> SyncJson:
    from octavo.schemas import SyncJson

    return SyncJson(
        folder=str(folder),
        dry_run=dry_run,
        new=[str(found.path) for found in plan.new],
        changed=[str(found.path) for found, _ in plan.changed],
        same=[str(found.path) for found in plan.same],
        gone=list(dict.fromkeys(source.book_id for source in plan.gone)),
        removed=removed,
        books=added,
        errors=summary.describe_failures(),
    )
