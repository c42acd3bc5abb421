"""Commands for servers: attach a collection that another program filled, and migrate a library."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from octavo.cli.common import (
    WIDTH,
    GroupOptions,
    ProgressLine,
    add_common_options,
    draw_bar,
    format_count,
    is_terminal,
    run_with_library,
    show_json,
)
from octavo.events import IngestEvent, Published
from octavo.types import COLLECTION, Book

if TYPE_CHECKING:
    from octavo.library import Library
    from octavo.maintenance.migrate import Migration


@click.command(short_help="Add a Qdrant collection of another program as a book.")
@click.argument("url")
@click.option(
    "--collection", default=COLLECTION, show_default=True, help="Name of the collection on the server."
)
@click.option(
    "--title", help="Title to show; the default is the points' common title, or the collection's name."
)
@click.option("--id", "book_id", help="Id of the book in the library; the default is made from the title.")
@click.option("--base-url", help="Web address to which the points' addresses are relative.")
@click.option("--vector", help="Name of the dense vector to read, if the points have several.")
@click.option("--text-key", help="Key of the payload with the text, like content or metadata.text.")
@click.option("--url-key", help="Key with the address or file of a point; '' for none.")
@click.option("--title-key", help="Key with the title of its page or section; '' for none.")
@click.option("--order-key", help="Key with its place in the page; '' for none.")
@click.option(
    "--key-file", type=click.File(), help="File with the server's key; '-' reads it from standard input."
)
@add_common_options
def attach(
    context: GroupOptions,
    url: str,
    collection: str,
    title: str | None,
    book_id: str | None,
    base_url: str | None,
    vector: str | None,
    text_key: str | None,
    url_key: str | None,
    title_key: str | None,
    order_key: str | None,
    key_file: TextIO | None,
    data: str | None,
    as_json: bool,
) -> None:
    """Add a Qdrant collection that another program filled as a book. Nothing is written to it.

    The points are copied: attach it again to update what changed. Text, address, title and order are looked
    for under the usual keys (url, text, content, LangChain's page_content, LlamaIndex's _node_content, …).
    The options name other keys; a dot leads into an object.

    \b
      octavo attach http://localhost:6333
      octavo attach https://name.cloud.qdrant.io:6333 --collection handbook --key-file key.txt
      octavo attach http://localhost:6333 --text-key body --url-key metadata.page
    """
    from octavo.records.options import BookOptions
    from octavo.store.qdrant_import import Source
    from octavo.store.qdrant_payloads import PayloadKeys

    given = "" if key_file is None else key_file.read().strip()
    options = BookOptions(title=title, book_id=book_id, base_url=base_url)
    unchanged = False

    async def work(library: Library) -> Book:
        known = library.settings.store_key if library.settings.store_url == url.rstrip("/") else ""
        keys = PayloadKeys(text=text_key, url=url_key, title=title_key, order=order_key)
        source = Source(url=url, collection=collection, key=given or known, vector=vector, keys=keys)
        progress = ProgressLine(collection, live=is_terminal())

        def on_event(event: IngestEvent) -> None:
            nonlocal unchanged
            unchanged = isinstance(event, Published) and event.unchanged
            progress(event)

        return await library.attach(source, options=options, on_event=on_event)

    book = run_with_library(context, data, work)
    if as_json:
        from octavo.schemas import AttachedBookJson, BookJson

        show_json(AttachedBookJson(book=BookJson.from_value(book), unchanged=unchanged))
    else:
        count = f"{format_count(book.section_count, 'section')}, {format_count(book.chunk_count, 'passage')}"
        said = "unchanged" if unchanged else "attached as a copy"
        click.echo(f"{book.id}: {said} ({count}). Attach it again to update it.")


@click.command(short_help="Copy the library to a Qdrant server and PostgreSQL, or back.")
@click.option("--to", required=True, metavar="URL|embedded", help="Qdrant server that gets the chunks.")
@click.option("--records", metavar="URL|embedded", help="PostgreSQL database that gets the records too.")
@click.option("--collection", help="Collection on that server; the default is the one in the settings.")
@add_common_options
def migrate(
    context: GroupOptions,
    to: str,
    records: str | None,
    collection: str | None,
    data: str | None,
    as_json: bool,
) -> None:
    """Copy the library to a Qdrant server and PostgreSQL, or back into its folder.

    The old library is only read, and it is locked meanwhile. At the end counts and hashes are compared, and
    the settings for the new place are shown. If the copy is interrupted, run the command again.

    \b
      octavo migrate --to http://localhost:6333
      octavo migrate --to http://qdrant:6333 --records postgresql://octavo:secret@db/octavo
      octavo migrate --to embedded --records embedded
    """
    from octavo.maintenance.migrate import migrate_library
    from octavo.settings import Settings

    chosen = data or context.data
    settings = Settings(data=Path(chosen)) if chosen else Settings()
    on_step = _show_step if is_terminal() else None
    moved = asyncio.run(
        migrate_library(settings, to=to, records=records, collection=collection, on_step=on_step)
    )
    if is_terminal():
        click.echo(f"\r{'':<{WIDTH}}\r", nl=False, err=True)
    if as_json:
        from octavo.schemas import MigrationJson

        show_json(MigrationJson.from_value(moved))
    else:
        _show_migration(moved)


def _show_step(what: str, done: int, total: int) -> None:
    line = f"{what}: {draw_bar(done, total)} {done:,}/{total:,}"
    sys.stderr.write(f"\r{line[:WIDTH]:<{WIDTH}}")
    sys.stderr.flush()


def _show_migration(moved: Migration) -> None:
    click.echo(
        f"{moved.chunks:,} passages are in {moved.store} ({moved.written:,} written now), all verified."
    )
    if moved.tables:
        rows = sum(moved.tables.values())
        click.echo(f"{rows:,} records in {len(moved.tables)} tables are in {moved.records}, all verified.")
    if moved.source_differs:
        click.echo(f"  note: the old store differs from the records ({moved.source_differs}).", err=True)
    click.echo("Use these settings from now on:")
    for name, value in moved.settings.items():
        click.echo(f"  {name}={value}" if value else f"  {name} not set")
