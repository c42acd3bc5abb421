"""The socket through which commands use the library of a running service.

One process at a time can open a library with an embedded store. While a service has it open, commands of the
same user call it here: `octavo.cli.remote` sends the name of a method and its arguments, and gets the events
and the result. The socket lies in the library's folder, only its owner may open it, and the system is asked
who is calling. With a shared store there is no socket, since every process can open that.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from octavo import __version__
from octavo.errors import LibraryBusy, MachineError, OctavoError
from octavo.library import Library
from octavo.schemas.wire import pack, unpack
from octavo.store.service_socket import MESSAGE_MOST, NAME, is_own, locate_socket

log = logging.getLogger("octavo.server")
# The longest path that a socket can have everywhere.
PATH_MOST = 100
METHODS = frozenset(
    ("search", "stream", "ingest", "preview", "attach", "remove", "examine", "prepare", "compact")
)
WITH_EVENTS = frozenset(("ingest", "attach", "examine"))


@asynccontextmanager
async def serve_socket(library: Library) -> AsyncIterator[None]:
    """Listen on the socket of the library while the block runs."""
    if library.settings.store_url:
        yield
        return
    place = library.settings.data / NAME
    try:
        listening = _listen(place)
    except OSError as failed:
        log.warning("commands cannot use this service, its socket failed: %s", failed)
        yield
        return
    calls: set[asyncio.Task[None]] = set()
    server = await asyncio.start_unix_server(
        partial(_receive, library, calls), sock=listening, limit=MESSAGE_MOST
    )
    try:
        yield
    finally:
        server.close()
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        _remove(place)


def _listen(place: Path) -> socket.socket:
    """Make a socket that its owner alone can open. What is there was left by a service that was killed."""
    _remove(place)
    target = place
    if len(os.fsencode(place)) > PATH_MOST:
        target = Path(tempfile.mkdtemp(prefix="octavo-")) / NAME
        place.symlink_to(target)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.bind(str(target))
        # Nobody can connect before it listens.
        target.chmod(0o600)
        made.listen()
    except BaseException:
        made.close()
        raise
    return made


def _remove(place: Path) -> None:
    target = locate_socket(place.parent)
    place.unlink(missing_ok=True)
    if target != place:
        target.unlink(missing_ok=True)
        with suppress(OSError):
            target.parent.rmdir()


async def _receive(
    library: Library,
    calls: set[asyncio.Task[None]],
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    """Answer one call. It is cancelled when the caller goes away."""
    task = asyncio.current_task()
    assert task is not None
    calls.add(task)
    try:
        with socket.socket(fileno=os.dup(writer.get_extra_info("socket").fileno())) as peer:
            if not is_own(peer):
                return
        line = await reader.readline()
        if not line:
            # Somebody looked whether a service is here.
            return
        request = unpack(line)
        call = asyncio.create_task(_answer(library, request, writer))
        gone = asyncio.create_task(reader.read(1))
        try:
            await asyncio.wait((call, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in (call, gone):
                each.cancel()
            await asyncio.gather(call, gone, return_exceptions=True)
    except (ValueError, OSError) as wrong:
        log.warning("a call through the socket was not understood: %s", wrong)
    except asyncio.CancelledError:
        # The service stops. Nobody waits for this task, and asyncio would log it as a fault.
        log.debug("a call through the socket was cut short")
    finally:
        calls.discard(task)
        writer.close()


async def _answer(library: Library, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
    def send(kind: str, value: object) -> None:
        writer.write(pack({kind: value}))

    try:
        if request["version"] != __version__:
            raise MachineError(
                f"the running service is Octavo {__version__}, this is {request['version']}",
                hint="Restart the service.",
            )
        method, arguments = request["method"], request["arguments"]
        if method not in METHODS:
            raise LibraryBusy(f"the running service does not {method}", hint="Stop it first.")
        if method == "stream":
            async for event in library.stream(**arguments):
                send("event", event)
                await writer.drain()
            send("result", None)
        elif method in WITH_EVENTS:
            send("result", await getattr(library, method)(**arguments, on_event=partial(send, "event")))
        else:
            send("result", await getattr(library, method)(**arguments))
    except OctavoError as error:
        send("error", error)
    except Exception:
        log.exception("a call through the socket failed")
        send("error", MachineError("the running service failed", hint="Its log says why."))
    await writer.drain()
