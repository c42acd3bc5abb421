"""The HTTP service of one library. Errors are RFC 9457 problem documents.

`make_app` opens the library when the server starts and closes it when it stops. A request passes the
`middleware`, is authenticated by `auth`, and reaches its route. The shapes of requests are in
`server.schemas`, those of responses in `octavo.schemas`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from datetime import UTC, datetime
from urllib.parse import urlsplit

from fastapi import FastAPI

from octavo import __version__
from octavo.answers.replies import Answerer
from octavo.concurrency import run_blocking
from octavo.errors import LibraryBusy, OctavoError
from octavo.library import Library
from octavo.limits import MB
from octavo.maintenance.background_check import read_last_check
from octavo.protocols import Embedder
from octavo.server import errors
from octavo.server.auth import AccessControl, find_public_books, is_loopback
from octavo.server.head import HeadMiddleware
from octavo.server.ingest_queue import IngestQueue
from octavo.server.load import Load
from octavo.server.local_socket import serve_socket
from octavo.server.logs import RequestLogMiddleware
from octavo.server.metrics import Metrics
from octavo.server.middleware import HeadersMiddleware, LimitsMiddleware
from octavo.server.routes import (
    answers,
    ask,
    books,
    gaps,
    health,
    jobs,
    maps,
    mcp,
    metrics,
    notes,
    pages,
    reference,
    sessions,
    widget,
)
from octavo.settings import Settings
from octavo.text.sentences import split_sentences

log = logging.getLogger("octavo.server")
PRUNE_SECONDS = 3600.0
# How long after its start a service begins to check the store, at the earliest.
CHECK_SECONDS = 60.0


def make_app(
    settings: Settings | None = None,
    *,
    embedder: Embedder | None = None,
    answerer: Answerer | None = None,
    host: str = "127.0.0.1",
    library: Library | None = None,
) -> FastAPI:
    """Make the application for the library that the settings name, to listen on the address `host`.

    A `library` that is open already is used and not closed.
    """
    settings = settings or (library.settings if library else Settings())
    required = settings.keys_required if settings.keys_required is not None else not is_loopback(host)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        opening = (
            nullcontext(library)
            if library
            else Library.open(settings=settings, embedder=embedder, answerer=answerer)
        )
        async with opening as opened, _run_service(app, opened, required=required):
            yield

    app = FastAPI(
        title="Octavo",
        version=__version__,
        description="Ask your books: every sentence of every answer carries a citation to the exact passage.",
        lifespan=lifespan,
        redirect_slashes=False,
        docs_url=None,
        redoc_url=None,
    )
    app.state.load = Load()
    app.state.metrics = Metrics()
    errors.install_handlers(app)
    app.include_router(health.router)
    app.include_router(ask.router)
    app.include_router(sessions.router)
    app.include_router(answers.router)
    app.include_router(books.router)
    app.include_router(maps.router)
    app.include_router(gaps.router)
    app.include_router(notes.router)
    app.include_router(jobs.router)
    app.include_router(metrics.router)
    app.include_router(mcp.router)
    app.include_router(pages.router())
    app.include_router(widget.router())
    app.include_router(reference.router)
    _add_middleware(app, settings, required=required)
    return app


@asynccontextmanager
async def _run_service(app: FastAPI, library: Library, *, required: bool) -> AsyncIterator[None]:
    """Put the parts of a running service into the state of the app, and keep them running."""
    await _prepare(library)
    # Load the sentence model now: later, the first question would wait for it.
    await run_blocking(split_sentences, "One. Two.")
    app.state.library = library
    app.state.access = AccessControl(
        library, is_open=not required, public_books=await find_public_books(library)
    )
    queue = IngestQueue(library, on_event=app.state.metrics.make_ingest_counter())
    async with (
        queue.run() as app.state.ingest_queue,
        mcp.run_endpoint(library) as app.state.mcp,
        serve_socket(library),
        _run_upkeep(library),
    ):
        yield


async def _prepare(library: Library) -> None:
    try:
        await library.prepare()
    except LibraryBusy as busy:
        # A server that starts several workers shows only a traceback.
        log.critical("%s. %s", busy.message, busy.hint)
        raise


@asynccontextmanager
async def _run_upkeep(library: Library) -> AsyncIterator[None]:
    """Delete old conversations, and rewrite and check the store while the service runs."""
    tasks = [
        # A change begins it too; this is for what an earlier process did not get done.
        asyncio.create_task(library.compact()),
        asyncio.create_task(_prune_hourly(library)),
        asyncio.create_task(_check_store_daily(library)),
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _prune_hourly(library: Library) -> None:
    """Delete what is older than the settings allow, for as long as the service runs."""
    while True:
        await asyncio.sleep(PRUNE_SECONDS)
        try:
            await library.prune()
        except OctavoError as error:
            log.error("old conversations were not deleted: %s", error.code)


async def _check_store_daily(library: Library) -> None:
    """Compare the store with the records once a day, slowly, for as long as the service runs."""
    pace = library.settings.check_per_minute
    while pace:
        try:
            last = await read_last_check(library.database)
            wait = (last.due_at - datetime.now(UTC)).total_seconds() if last else CHECK_SECONDS
            # Look again now and then: another instance may have made the pass meanwhile.
            await asyncio.sleep(min(max(wait, CHECK_SECONDS), PRUNE_SECONDS))
            if wait <= PRUNE_SECONDS:
                async with library.database.try_lock("the check of the store") as alone:
                    if alone:
                        await library.check_store(per_minute=pace)
        except OctavoError as error:
            log.error("the store was not checked: %s", error.code)
            await asyncio.sleep(PRUNE_SECONDS)


def _add_middleware(app: FastAPI, settings: Settings, *, required: bool) -> None:
    """Add the layers around the routes; the last one added is the outermost."""
    app.add_middleware(HeadMiddleware)
    app.add_middleware(
        LimitsMiddleware,
        limits=settings.service,
        upload_bytes=(settings.limits.max_file_mb + 1) * MB,
        load=app.state.load,
        cover_bytes=books.CHANGE_MOST_BYTES,
    )
    names = {*settings.hosts, *(urlsplit(origin).hostname or "" for origin in settings.origins)}
    any_host = required and not settings.hosts
    app.add_middleware(HeadersMiddleware, state=app.state, hosts=None if any_host else frozenset(names))
    app.add_middleware(RequestLogMiddleware, metrics=app.state.metrics)
