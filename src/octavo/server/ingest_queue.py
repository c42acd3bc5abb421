"""The queue of uploaded books of one running service, and the worker in its process that adds them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import Depends, Request

from octavo.events import IngestEvent
from octavo.ingest.worker import Worker
from octavo.library import Library
from octavo.records.jobs import JobQueue


class IngestQueue:
    """The jobs that wait, and the worker that takes from them."""

    def __init__(self, library: Library, *, on_event: Callable[[IngestEvent], None]) -> None:
        settings = library.settings
        self.jobs = JobQueue(library.database, capacity=settings.service.queue)
        # An embedded store has one process.
        alone = not settings.store_url
        self.worker = Worker(self.jobs, library.ingest, data=settings.data, alone=alone, on_event=on_event)

    @asynccontextmanager
    async def run(self) -> AsyncIterator[IngestQueue]:
        async with self.worker.run_in_background():
            yield self


async def get_ingest_queue(request: Request) -> IngestQueue:
    queue: IngestQueue = request.app.state.ingest_queue
    return queue


CurrentIngestQueue = Annotated[IngestQueue, Depends(get_ingest_queue)]
