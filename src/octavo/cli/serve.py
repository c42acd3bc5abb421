"""Commands that serve the library: serve (HTTP) and mcp (standard input and output).

Before the HTTP service starts, its port, its keys and the library are checked.
"""

from __future__ import annotations

import asyncio
import signal
import socket
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from octavo.cli.common import (
    GroupOptions,
    add_common_options,
    report_unknown_variables,
    run_with_library,
)
from octavo.errors import AccessDenied, MachineError
from octavo.limits import require_files

if TYPE_CHECKING:
    from octavo.library import Library
    from octavo.settings import Settings

_FEW_FILES = """this process may open only a few files, enough for %d connections at once.
  Run `ulimit -n 1024` before you start it."""


@click.command(short_help="Serve the library to an assistant over MCP.")
@click.option("--book", "names", multiple=True, help="Only this book, by id or title. Can be repeated.")
@add_common_options
def mcp(context: GroupOptions, names: tuple[str, ...], data: str | None, as_json: bool) -> None:  # noqa: ARG001
    """Serve the library to an assistant over MCP, on standard input and output.

    The assistant starts this command itself; docs/mcp.md shows how to configure it. `octavo serve` offers the
    same tools at /mcp. The protocol is always JSON; with --json, errors at the start are JSON too.

    \b
      claude mcp add octavo -- octavo mcp
      octavo mcp --book moby-dick
    """
    import logging

    logging.basicConfig(level=logging.WARNING, format="octavo: %(message)s")
    run_with_library(context, data, lambda library: _serve_stdio(library, names))


async def _serve_stdio(library: Library, names: tuple[str, ...]) -> None:
    from octavo.mcp import serve_stdio

    books = tuple([(await library.book(name)).id for name in names]) if names else None
    running = asyncio.ensure_future(serve_stdio(library, books=books))
    for stop in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(stop, running.cancel)
    with suppress(asyncio.CancelledError):
        await running


@click.command(short_help="Serve the library over HTTP: the app and the API.")
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    envvar="OCTAVO_HOST",
    help="Address to listen on; else $OCTAVO_HOST.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8321,
    show_default=True,
    envvar=["OCTAVO_PORT", "PORT"],
    help="Port to listen on; else $OCTAVO_PORT or $PORT.",
)
@click.option(
    "--public-read",
    "public",
    multiple=True,
    metavar="BOOK",
    help="Let anyone ask and search this book without a key. Can be repeated; 'all' is every book.",
)
@add_common_options
def serve(
    context: GroupOptions, host: str, port: int, public: tuple[str, ...], data: str | None, as_json: bool
) -> None:
    """Serve the library over HTTP: the app at /, the API under /v1, its description at /docs.

    On the loopback address, no key is needed. On any other address every caller needs a key:
    `octavo keys create NAME` creates one. With --public-read, nobody needs one for /query, /v1/ask and
    /v1/search of these books; each address may send 30 requests a minute.

    \b
      octavo serve
      octavo serve --public-read moby-dick
      curl -s localhost:8321/v1/ask -H 'content-type: application/json' -d '{"question": "Who is Ahab?"}'
    """
    from octavo.server.run import FEW, find_connection_limit, run_in_loop
    from octavo.settings import Settings

    require_files()
    report_unknown_variables()
    given: dict[str, Any] = {"public_read": public} if public else {}
    chosen = data or context.data
    settings = Settings(data=Path(chosen), **given) if chosen else Settings(**given)
    if find_connection_limit() < FEW:
        click.echo(f"octavo: {_FEW_FILES % find_connection_limit()}", err=True)
    run_in_loop(_serve(settings, host, port, quiet=as_json))


async def _serve(settings: Settings, host: str, port: int, *, quiet: bool) -> None:
    """Open the library, check what is needed, and serve it until a signal comes."""
    import logging

    from octavo.library import Library
    from octavo.server.app import make_app
    from octavo.server.logs import configure_logging
    from octavo.server.run import DrainingServer, make_config

    async with Library.open(settings=settings) as library:
        await _prepare(library, host)
        _require_free_port(host, port)
        app = make_app(host=host, library=library)
        configure_logging(level=logging.CRITICAL if quiet else logging.INFO)
        config = make_config(app, host=host, port=port, per_address=settings.service.connections)
        shown = f"[{host}]" if ":" in host else host
        said = f"Octavo serves {settings.data} on http://{shown}:%d (API: /docs). Ctrl-C stops it."
        server = DrainingServer(
            config, app.state.load, announce=lambda real: click.echo(said % real, err=True)
        )
        await server.serve()


async def _prepare(library: Library, host: str) -> None:
    """Check keys and library, so that errors appear before the service starts."""
    from octavo.records.keys import Keyring
    from octavo.server.auth import find_public_books, is_loopback

    exposed = not is_loopback(host)
    public = await find_public_books(library)
    if exposed and library.settings.keys_required is False:
        raise AccessDenied(
            f"on {host} anyone who can reach this machine could read the library and change it",
            hint="Unset OCTAVO_KEYS_REQUIRED, or listen on 127.0.0.1 behind a proxy with passwords.",
        )
    if exposed and public == () and not await Keyring(library.database).has_valid_key():
        raise AccessDenied(
            f"on {host} every caller needs a key, and there is no valid key",
            hint="`octavo keys create NAME --scope admin` creates one; --host 127.0.0.1 needs none; "
            "--public-read BOOK lets anyone ask a book.",
        )
    await library.prepare()


def _require_free_port(host: str, port: int) -> None:
    """Try to listen on the port: the server itself would report a failure only in its log."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, _, _, _, address in found:
            socket.create_server(address, family=family).close()
    except OSError as failed:
        raise MachineError(
            f"cannot listen on {host}, port {port}: {failed.strerror or failed}",
            hint="Stop the program that uses it, or choose another port with --port; 0 picks a free one.",
        ) from failed
