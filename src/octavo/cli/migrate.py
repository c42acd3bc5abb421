"""Commands about other places: attach a collection that somebody else filled, migrate a library."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from octavo.cli.common import (
    WIDTH,
    Context,
    Progress,
    bar,
    common,
    counted,
    on_terminal,
    show_json,
    with_library,
)
from octavo.events import IngestEvent, Published
from octavo.types import COLLECTION, Book

if TYPE_CHECKING:
    from octavo.library import Library
    from octavo.maintenance.migrate import Migration


@click.command(short_help="Make a book of a Qdrant collection that another program filled.")
@click.argument("url")
@click.option("--collection", default=COLLECTION, show_default=True, help="Its name on that server.")
@click.option("--title", help="Title to show; else the one that all points have, or the collection's name.")
@click.option("--id", "book_id", help="Name of the book in the library; else made from the title.")
@click.option("--base-url", help="Web address that the points' addresses are relative to.")
@click.option("--vector", help="Name of the dense vector to read, where the points have several.")
@click.option("--key-file", type=click.File(), help="File with the server's key; - reads it from stdin.")
@common
def attach(
    context: Context,
    url: str,
    collection: str,
    title: str | None,
    book_id: str | None,
    base_url: str | None,
    vector: str | None,
    key_file: TextIO | None,
    data: str | None,
    as_json: bool,
) -> None:
    """Make a book of a Qdrant collection that somebody else filled; nothing is written to it.

    Its points have at least url, text, chunk_id and source_title. Attach it again to take over what changed.

    \b
      octavo attach http://localhost:6333
      octavo attach https://name.cloud.qdrant.io:6333 --collection handbook --key-file key.txt
    """
    from octavo.records.options import BookOptions
    from octavo.store.qdrant_import import Source

    given = "" if key_file is None else key_file.read().strip()
    options = BookOptions(title=title, book_id=book_id, base_url=base_url)
    unchanged = False

    async def work(library: Library) -> Book:
        known = library.settings.store_key if library.settings.store_url == url.rstrip("/") else ""
        source = Source(url=url, collection=collection, key=given or known, vector=vector)
        progress = Progress(collection, live=on_terminal())

        def on_event(event: IngestEvent) -> None:
            nonlocal unchanged
            unchanged = isinstance(event, Published) and event.unchanged
            progress(event)

        return await library.attach(source, options=options, on_event=on_event)

    book = with_library(context, data, work)
    if as_json:
        from octavo.schemas import AttachedBookJson, BookJson

        show_json(AttachedBookJson(book=BookJson.from_value(book), unchanged=unchanged))
    else:
        count = f"{counted(book.section_count, 'section')}, {counted(book.chunk_count, 'passage')}"
        click.echo(f"{book.id}: {'unchanged' if unchanged else 'attached'} ({count}).")


@click.command(short_help="Copy the library to a Qdrant server and PostgreSQL, or back.")
@click.option("--to", required=True, metavar="URL|embedded", help="Qdrant server to move the chunks to.")
@click.option("--records", metavar="URL|embedded", help="Move the records too: a PostgreSQL database.")
@click.option("--collection", help="Collection there; else the one in the settings.")
@common
def migrate(
    context: Context, to: str, records: str | None, collection: str | None, data: str | None, as_json: bool
) -> None:
    """Copy the library to a Qdrant server and PostgreSQL, or back into its folder.

    The library as it is stays untouched, and nothing may change it meanwhile. Counts and hashes are compared
    at the end; the settings to use from then on are shown. A move that was cut off can be run again.

    \b
      octavo migrate --to http://localhost:6333
      octavo migrate --to http://qdrant:6333 --records postgresql://octavo:secret@db/octavo
      octavo migrate --to embedded --records embedded
    """
    from octavo.maintenance.migrate import migrate_library
    from octavo.settings import Settings

    chosen = data or context.data
    settings = Settings(data=Path(chosen)) if chosen else Settings()
    on_step = _shown if on_terminal() else None
    moved = asyncio.run(
        migrate_library(settings, to=to, records=records, collection=collection, on_step=on_step)
    )
    if on_terminal():
        click.echo(f"\r{'':<{WIDTH}}\r", nl=False, err=True)
    if as_json:
        from octavo.schemas import MigrationJson

        show_json(MigrationJson.from_value(moved))
    else:
        _report(moved)


def _shown(what: str, done: int, total: int) -> None:
    line = f"{what}: {bar(done, total)} {done:,}/{total:,}"
    sys.stderr.write(f"\r{line[:WIDTH]:<{WIDTH}}")
    sys.stderr.flush()


def _report(moved: Migration) -> None:
    click.echo(
        f"{moved.chunks:,} passages are in {moved.store} ({moved.written:,} written now), all verified."
    )
    if moved.tables:
        rows = sum(moved.tables.values())
        click.echo(f"{rows:,} records in {len(moved.tables)} tables are in {moved.records}, all verified.")
    if moved.source_differs:
        click.echo(f"  note: the old store differs from the records ({moved.source_differs}).", err=True)
    click.echo("From now on use:")
    for name, value in moved.settings.items():
        click.echo(f"  {name}={value}" if value else f"  {name} not set")
