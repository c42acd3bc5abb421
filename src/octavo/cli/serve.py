"""The command that an assistant starts: the tools of `octavo.mcp` over standard input and output.

The command that serves: what would go wrong, or would let strangers in, is told before anything starts.
"""

from __future__ import annotations

import asyncio
import signal
import socket
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from octavo.cli.common import Context, common, with_library
from octavo.errors import AccessDenied, MachineError

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


_FEW_FILES = """this process may open so few files that it can hold %d connections at once.
  `ulimit -n 1024` before it starts gives it more."""


@click.command(short_help="Serve the library over HTTP: the app and the API.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8321, show_default=True, help="Port to listen on."
)
@common
def serve(context: Context, host: str, port: int, data: str | None, as_json: bool) -> None:
    """Serve the library over HTTP: the app on /, the API under /v1, its description on /docs.

    On this machine's own address everyone may use it. On any other, every caller needs a key:
    `octavo keys create NAME` makes one.

    \b
      octavo serve
      curl -s localhost:8321/v1/ask -H 'content-type: application/json' -d '{"question": "Who is Ahab?"}'
    """
    import logging

    from octavo.server.app import make_app
    from octavo.server.auth import is_loopback
    from octavo.server.logs import configure_logging
    from octavo.server.run import FEW, DrainingServer, find_connection_limit, make_config
    from octavo.settings import Settings

    chosen = data or context.data
    settings = Settings(data=Path(chosen)) if chosen else Settings()
    exposed = not is_loopback(host)
    with_library(context, data, lambda library: _prepared(library, host, exposed=exposed))
    _require_free(host, port)
    if find_connection_limit() < FEW:
        click.echo(f"octavo: {_FEW_FILES % find_connection_limit()}", err=True)
    app = make_app(settings, host=host)
    configure_logging(level=logging.CRITICAL if as_json else logging.INFO)
    config = make_config(app, host=host, port=port)
    shown = f"[{host}]" if ":" in host else host
    said = f"Octavo serves {settings.data} on http://{shown}:%d (API: /docs). Ctrl-C stops it."
    DrainingServer(config, app.state.load, announce=lambda real: click.echo(said % real, err=True)).run()


async def _prepared(library: Library, host: str, *, exposed: bool) -> None:
    """Whatever is wrong is told before the service starts."""
    from octavo.records.keys import Keyring

    if exposed and library.settings.keys_required is False:
        raise AccessDenied(
            f"on {host} anyone who can reach this machine could read the library and change it",
            hint="Unset OCTAVO_KEYS_REQUIRED, or listen on 127.0.0.1 behind a proxy that asks for passwords.",
        )
    if exposed and not await Keyring(library.database).has_valid_key():
        raise AccessDenied(
            f"on {host} every caller needs a key, and there is none that works",
            hint="`octavo keys create NAME --scope admin` makes one; --host 127.0.0.1 needs none.",
        )
    await library.ready()


def _require_free(host: str, port: int) -> None:
    """Listens there for a moment: what the server itself would say about it goes to the log."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, _, _, _, address in found:
            socket.create_server(address, family=family).close()
    except OSError as failed:
        raise MachineError(
            f"cannot listen on {host}, port {port}: {failed.strerror or failed}",
            hint="Stop what listens there, or choose another with --port; 0 takes any that is free.",
        ) from failed
