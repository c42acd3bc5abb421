"""Commands for API keys: keys create, keys list, keys revoke."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from octavo.cli.common import GroupOptions, add_common_options, run_with_library, show_json

if TYPE_CHECKING:
    from octavo.library import Library
    from octavo.records.keys import Key


@click.group(short_help="Manage the keys of the HTTP service.")
def keys() -> None:
    """Manage the keys of the HTTP service: who may use it, for what, and which books.

    \b
      octavo keys create "my laptop" --scope ask --scope ingest
      octavo keys create "docs site" --public --origin https://docs.example.com --book handbook
      octavo keys list
      octavo keys revoke 3f2a9c0d11e4
    """


@keys.command()
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(["ask", "ingest", "gaps", "admin"]),
    help="What it may do: ask (search, ask, read), ingest (add and remove books), gaps (see what readers"
    " asked in vain), admin (everything). [ask]",
)
@click.option(
    "--book", "books", multiple=True, help="A book that the key may read; the default is all books."
)
@click.option(
    "--public", is_flag=True, help="For a public web page: only `ask`, only from the listed origins."
)
@click.option(
    "--origin", "origins", multiple=True, help="A site that may use the key, such as https://example.com."
)
@click.option(
    "--per-minute",
    type=click.IntRange(min=1),
    help="Requests per minute; the default is the service's limit.",
)
@click.option("--days", type=float, help="Days until the key expires; the default is never.")
@add_common_options
def create(
    context: GroupOptions,
    name: str,
    scopes: tuple[str, ...],
    books: tuple[str, ...],
    public: bool,
    origins: tuple[str, ...],
    per_minute: int | None,
    days: float | None,
    data: str | None,
    as_json: bool,
) -> None:
    """Create a key called NAME and show it once.

    A public key is part of a site's pages. It can only ask, only from the listed origins, and each visitor
    has a limit of their own.
    """

    async def work(library: Library) -> tuple[Key, str]:
        from octavo.records.keys import Keyring

        named = [(await library.book(book)).id for book in books]
        return await Keyring(library.database).create(
            name,
            scopes=scopes or ("ask",),
            books=named or None,
            origins=origins,
            public=public,
            per_minute=per_minute,
            days=days,
        )

    key, token = run_with_library(context, data, work)
    if as_json:
        from octavo.schemas import NewKeyJson

        show_json(NewKeyJson.from_value(key, state=_describe_state(key), key=token))
        return
    click.echo(token)
    click.echo("Save the key now: it is not stored and cannot be shown again.", err=True)


@keys.command("list")
@add_common_options
def list_(context: GroupOptions, data: str | None, as_json: bool) -> None:
    """List the keys, without their secrets."""

    async def work(library: Library) -> list[Key]:
        from octavo.records.keys import Keyring

        return await Keyring(library.database).list_keys()

    found = run_with_library(context, data, work)
    if as_json:
        from octavo.schemas import KeyJson, KeyListJson

        show_json(KeyListJson(keys=[KeyJson.from_value(key, state=_describe_state(key)) for key in found]))
    elif not found:
        click.echo("No keys yet. `octavo keys create NAME` creates one.")
    for key in () if as_json else found:
        where = "all books" if key.books is None else ", ".join(key.books)
        kind = "public, " if key.public else ""
        used = f"last used {key.used_at:%Y-%m-%d}" if key.used_at else "never used"
        click.echo(
            f"{key.id}  {key.name}  ({kind}{', '.join(key.scopes)}; {where}; {_describe_state(key)}; {used})"
        )


@keys.command()
@click.argument("key_id", metavar="ID")
@add_common_options
def revoke(context: GroupOptions, key_id: str, data: str | None, as_json: bool) -> None:
    """Revoke the key with this ID. Running services refuse it within a second."""

    async def work(library: Library) -> Key:
        from octavo.records.keys import Keyring

        shown = key_id.removeprefix("octv_").split("_")[0]
        return await Keyring(library.database).revoke(shown)

    key = run_with_library(context, data, work)
    if as_json:
        from octavo.schemas import KeyJson

        show_json(KeyJson.from_value(key, state=_describe_state(key)))
    else:
        click.echo(f"{key.name} ({key.id}) is revoked.")


def _describe_state(key: Key) -> str:
    if key.revoked_at is not None:
        return "revoked"
    if key.expires_at is None:
        return "works"
    return f"works until {key.expires_at:%Y-%m-%d}" if key.is_valid(datetime.now(UTC)) else "expired"
