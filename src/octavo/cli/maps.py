"""The command that shows the map of a book: who and what it speaks of, and what each chapter says."""

from __future__ import annotations

import shutil
import textwrap
from typing import TYPE_CHECKING

import click

from octavo.cli.common import (
    GroupOptions,
    add_common_options,
    format_count,
    run_with_library,
    show_json,
)

if TYPE_CHECKING:
    from octavo.library import Library
    from octavo.text.bookmap.model import BookMap, EntityDetails, MapPlace, MapQuote

_KINDS = {"person": "People", "place": "Places", "thing": "Things", "term": "Terms"}
SHOWN, MENTIONS_SHOWN = 20, 20


@click.command("map", short_help="Show who and what a book speaks of, and what each chapter says.")
@click.argument("book", required=False)
@click.argument("name", required=False)
@click.option("--up-to", help="Only the text before the end of this section, page ('p. 12') or position.")
@click.option("--top", default=SHOWN, show_default=True, help="Number of entries of each kind, 1 to 500.")
@click.option("--mentions", default=MENTIONS_SHOWN, show_default=True, help="Number of mentions of NAME.")
@click.option("--build", is_flag=True, help="Prepare the maps of BOOK, or of all books, and show none.")
@add_common_options
def map_(
    context: GroupOptions,
    book: str | None,
    name: str | None,
    up_to: str | None,
    top: int,
    mentions: int,
    build: bool,
    data: str | None,
    as_json: bool,
) -> None:
    """Show the map of BOOK: people, places, things and terms, and the gist of each chapter.

    With NAME, show where a name or a term is introduced, defined and mentioned, and who it occurs with.
    Every word is cut from the book. With --up-to, nothing from beyond is told.

    \b
      octavo map moby-dick
      octavo map moby-dick "Queequeg" --up-to "Chapter 12. Biographical."
      octavo map --build
    """
    if build:
        _build(context, data, book, as_json=as_json)
    elif book is None:
        raise click.UsageError("Name a BOOK; `octavo list` shows the books. --build works without one.")
    elif name is None:
        found = run_with_library(context, data, lambda library: library.map(book, up_to=up_to, limit=top))
        _show_map(found, as_json=as_json)
    else:
        details = run_with_library(
            context, data, lambda library: library.look_up(book, name, up_to=up_to, mentions=mentions)
        )
        _show_details(details, as_json=as_json)


def _build(context: GroupOptions, data: str | None, book: str | None, *, as_json: bool) -> None:
    async def work(library: Library) -> dict[str, int]:
        names = [(await library.book(book)).id] if book else [b.id for b in await library.books()]
        return {name: await library.build_map(name) for name in names}

    built = run_with_library(context, data, work)
    if as_json:
        from octavo.schemas import BuiltMapJson, BuiltMapsJson

        books = [BuiltMapJson(book_id=name, sections=count) for name, count in built.items()]
        show_json(BuiltMapsJson(books=books))
        return
    for name, count in built.items():
        click.echo(f"{name}: {format_count(count, 'section')} marked" if count else f"{name}: ready")


def _show_map(found: BookMap, *, as_json: bool) -> None:
    if as_json:
        from octavo.schemas import BookMapJson

        show_json(BookMapJson.from_value(found))
        return
    for kind, heading in _KINDS.items():
        entities = [entity for entity in found.entities if entity.kind == kind]
        if entities:
            click.secho(heading, bold=True)
        for entity in entities:
            also = f" ({', '.join(entity.aliases[:4])})" if entity.aliases else ""
            count = click.style(f"  {format_count(entity.mention_count, 'mention')}", dim=True)
            click.echo(f"  {_flatten(entity.name + also)}{count}")
    click.secho("Chapters", bold=True)
    for chapter in found.chapters:
        click.echo(f"  {chapter.title}" + click.style(f"  [{chapter.section_id}]", dim=True))
        for quote in chapter.gist:
            _show_text(quote.text, indent=4)


def _show_details(found: EntityDetails, *, as_json: bool) -> None:
    if as_json:
        from octavo.schemas import EntityDetailsJson

        show_json(EntityDetailsJson.from_value(found))
        return
    click.secho(_flatten(found.name), bold=True, nl=False)
    places = (
        f"{format_count(found.mention_count, 'mention')} in {format_count(found.section_count, 'section')}"
    )
    click.secho(f"  {found.kind}, {places}", dim=True)
    if found.aliases:
        click.echo(f"also {_flatten(', '.join(found.aliases))}")
    _show_quotes("Introduced", [found.introduction])
    _show_quotes("Defined", [found.definition] if found.definition else [])
    known = {(q.section_id, q.start) for q in (found.introduction, found.definition) if q}
    _show_quotes("What it is", [q for q in found.statements if (q.section_id, q.start) not in known])
    if found.companions:
        with_ = ", ".join(f"{_flatten(other.name)} ({other.count})" for other in found.companions)
        click.secho("Occurs with", bold=True)
        _show_text(with_, indent=2)
    click.secho("Mentions", bold=True)
    for mention in found.mentions:
        click.echo(f"  {_describe_place(mention)}")
        _show_text(mention.sentence, indent=4)
    more = found.mention_count - len(found.mentions)
    if more:
        click.secho(f"  and {more:,} more; --mentions shows more of them", dim=True)


def _show_quotes(heading: str, quotes: list[MapQuote]) -> None:
    if quotes:
        click.secho(heading, bold=True)
    for quote in quotes:
        click.echo(f"  {_describe_place(quote)}")
        _show_text(quote.text, indent=4)


def _describe_place(place: MapPlace) -> str:
    page = f", p. {place.page}" if place.page else ""
    return click.style(
        f"{_flatten(place.section)}{page} [{place.section_id} {place.start}–{place.end}]", dim=True
    )


def _show_text(text: str, *, indent: int) -> None:
    width = min(100, shutil.get_terminal_size().columns)
    for line in textwrap.wrap(_flatten(text), max(20, width - indent), break_long_words=False):
        click.echo(" " * indent + line)


def _flatten(text: str) -> str:
    return " ".join(text.split())
