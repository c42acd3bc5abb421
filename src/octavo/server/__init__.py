"""The HTTP service: one library, asked over the network. Errors are RFC 9457 problem documents.

`make_app` opens the library when the server starts and closes it when it stops. The shapes of requests are in
`bodies`, those of responses in `octavo.wire`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from octavo import __version__
from octavo.library import Library
from octavo.protocols import Embedder
from octavo.reading import Answerer
from octavo.server import problems, routes
from octavo.settings import Settings


def make_app(
    settings: Settings, *, embedder: Embedder | None = None, answerer: Answerer | None = None
) -> FastAPI:
    """The application for the library that the settings name."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with Library.open(settings=settings, embedder=embedder, answerer=answerer) as library:
            await library.ready()
            app.state.library = library
            yield

    app = FastAPI(
        title="Octavo",
        version=__version__,
        description="Ask your books: every sentence of every answer carries a citation to the exact passage.",
        lifespan=lifespan,
    )
    problems.install(app)
    app.include_router(routes.router)
    return app
