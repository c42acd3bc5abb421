"""Commands that look things up in books: search."""

from __future__ import annotations

import shutil
import textwrap
import time
from typing import TYPE_CHECKING

import click

from octavo.cli.frame import NOT_SAID, Command, Context, common, show_json, with_library
from octavo.types import Evidence, Scope, ScopeType
from octavo.wire import evidence_json

if TYPE_CHECKING:
    from octavo.library import Library


def scoped(command: Command) -> Command:
    """The options that narrow a search."""
    for option in (
        click.option("--up-to", help="Only what comes before: a section, a page ('p. 12') or a position."),
        click.option("--page", help="One page or a range: 12, xii, 12-15; #12 counts physical pages."),
        click.option("--section", help="A section and all under it, by id, title or address."),
        click.option("--book", "book_id", help="A book, by id or title."),
    ):
        command = option(command)
    return command


def scope_of(section: str | None, page: str | None, up_to: str | None) -> Scope | None:
    given = [(ScopeType.SECTION, section), (ScopeType.PAGE, page), (ScopeType.UP_TO, up_to)]
    chosen = [(kind, name) for kind, name in given if name is not None]
    if len(chosen) > 1:
        raise click.UsageError("--section, --page and --up-to exclude each other; choose one.")
    return Scope(type=chosen[0][0], identifier=chosen[0][1]) if chosen else None


@click.command()
@click.argument("query")
@scoped
@click.option("--top", "top_k", default=5, show_default=True, help="How many passages, 1 to 100.")
@click.option("--no-rerank", is_flag=True, help="Quicker: as found, without the local reader's opinion.")
@common
def search(
    context: Context,
    query: str,
    book_id: str | None,
    section: str | None,
    page: str | None,
    up_to: str | None,
    top_k: int,
    no_rerank: bool,
    data: str | None,
    as_json: bool,
) -> None:
    """Find the passages that fit QUERY best, by meaning and by words.

    \b
      octavo search "why is the whale white?"
      octavo search "interest rates" --book annual-report --page 40-60
      octavo search "who is Ishmael?" --up-to "Chapter 10"
    """
    within = scope_of(section, page, up_to)
    began = time.monotonic()

    async def work(library: Library) -> list[Evidence]:
        return await library.search(query, book_id=book_id, scope=within, top_k=top_k, rerank=not no_rerank)

    found = with_library(context, data, work)
    if as_json:
        took = max(1, round((time.monotonic() - began) * 1000))
        show_json({"results": [evidence_json(e) for e in found], "processing_time_ms": took})
    else:
        for evidence in found:
            show(evidence)
    if not found:
        click.echo("Nothing found. `octavo list` shows what is in the library.", err=True)
        raise click.exceptions.Exit(NOT_SAID)


def show(evidence: Evidence) -> None:
    chunk = evidence.chunk
    width = min(100, shutil.get_terminal_size().columns)
    click.secho(f"{evidence.rank}. {chunk.source_location}", bold=True, nl=False)
    click.secho(f"  {evidence.relevance_score:.0%}", dim=True)
    for line in chunk.content.splitlines():
        wrapped = textwrap.wrap(line, width - 3, break_long_words=False) or [""]
        click.echo("\n".join(f"   {w}" for w in wrapped))
    click.secho(f"   {chunk.url}\n", dim=True)
