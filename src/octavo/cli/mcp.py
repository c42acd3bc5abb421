"""The command that an assistant starts: the tools of `octavo.mcp` over standard input and output."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from octavo.cli.frame import Context, common, with_library

if TYPE_CHECKING:
    from octavo.library import Library


@click.command(short_help="Serve the library to an assistant over MCP.")
@click.option("--book", "names", multiple=True, help="Only this book, by id or title; may be repeated.")
@common
def mcp(context: Context, names: tuple[str, ...], data: str | None, as_json: bool) -> None:  # noqa: ARG001
    """Serve the library to an assistant over MCP, on standard input and output.

    An assistant starts this command by itself; docs/mcp.md shows the entry that each one needs. The same
    tools are at /mcp of `octavo serve`. What is said is JSON in any case; with --json, what goes wrong before
    is told as JSON too.

    \b
      claude mcp add octavo -- octavo mcp
      octavo mcp --book moby-dick
    """
    import logging

    logging.basicConfig(level=logging.WARNING, format="octavo: %(message)s")
    with_library(context, data, lambda library: _serve(library, names))


async def _serve(library: Library, names: tuple[str, ...]) -> None:
    from octavo.mcp import serve_stdio

    books = tuple([(await library.book(name)).id for name in names]) if names else None
    running = asyncio.ensure_future(serve_stdio(library, books=books))
    for stop in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(stop, running.cancel)
    with suppress(asyncio.CancelledError):
        await running
