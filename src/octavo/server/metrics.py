"""Metrics of the service in the text format of Prometheus.

Requests by route and status, the time of each stage of a question, refusals by reason, tokens, the queue, and
what was embedded. Labels are names of routes, states, stages and codes, never a book, a key or a user's text;
so there are few of them, however large the library is.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from datetime import datetime

from fastapi import Request
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import generate_latest

from octavo.errors import ModelError, OctavoError
from octavo.events import Answered, Asked, AskEvent, Embedding, IngestEvent, Published, Retrieved, Scoped
from octavo.records.conversations import Conversations
from octavo.records.jobs import JobState
from octavo.server.load import Load

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
STAGES = ("scope", "retrieve", "answer", "verify", "record")


class Metrics:
    """The counters of one running service, since it started."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = self._make_counter("requests", "Requests.", "method", "route", "status")
        self._seconds = self._make_histogram("request_seconds", "Time to the end of a response.", "route")
        self._stages = self._make_histogram("stage_seconds", "Time of a question's stages.", "stage")
        self._answers = self._make_counter("answers", "Questions, by how they ended.", "status")
        self._refusals = self._make_counter("refusals", "Questions that the books do not answer.", "reason")
        self._failures = self._make_counter("model_failures", "Questions that a model did not answer.")
        self._errors = self._make_counter("errors", "Questions that failed.", "code")
        self._tokens = self._make_counter("tokens", "Tokens of language models.", "direction")
        self._jobs = self._make_gauge("jobs", "Books in the queue and through it, by state.", "state")
        self._working = self._make_gauge("working_requests", "Requests that are being worked on.")
        self._checked = self._make_gauge(
            "store_checked_timestamp_seconds", "When the store was last compared with the records."
        )
        self._passages = self._make_counter("ingested_passages", "Passages that got their vector.")
        self._books = self._make_counter("ingested_books", "Books taken in.", "result")
        for stage in STAGES:
            self._stages.labels(stage)

    def _make_counter(self, name: str, said: str, *labels: str) -> Counter:
        return Counter(name, said, labels, namespace="octavo", registry=self.registry)

    def _make_gauge(self, name: str, said: str, *labels: str) -> Gauge:
        return Gauge(name, said, labels, namespace="octavo", registry=self.registry)

    def _make_histogram(self, name: str, said: str, *labels: str) -> Histogram:
        return Histogram(name, said, labels, namespace="octavo", registry=self.registry, buckets=SECONDS)

    def count_request(self, *, method: str, route: str, status: int, seconds: float) -> None:
        known = method if method in ("GET", "HEAD", "POST", "DELETE", "OPTIONS", "PUT", "PATCH") else "other"
        self._requests.labels(known, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def _count_tokens(self, receipt: Mapping[str, object]) -> None:
        model = receipt.get("model")
        if isinstance(model, dict):
            for direction in ("in", "out"):
                self._tokens.labels(direction).inc(int(model.get(f"tokens_{direction}", 0)))

    def make_ingest_counter(self) -> IngestCounter:
        """Make a counter for the events of a worker."""
        return IngestCounter(self._passages, self._books)

    def set_jobs(self, counts: dict[JobState, int]) -> None:
        for state, count in counts.items():
            self._jobs.labels(str(state)).set(count)

    def set_store_checked(self, finished_at: datetime) -> None:
        self._checked.set(finished_at.timestamp())

    def set_working(self, load: Load) -> None:
        self._working.set(load.working)

    async def watch(
        self, events: AsyncGenerator[AskEvent, None], conversations: Conversations
    ) -> AsyncGenerator[AskEvent, None]:
        """Yield the same events and count them. The tokens of a model are in the answer's receipt."""
        began = time.monotonic()
        try:
            async with aclosing(events):
                async for event in events:
                    now = time.monotonic()
                    self._count_event(event, now - began)
                    began = now if isinstance(event, Asked | Scoped | Retrieved) else began
                    if isinstance(event, Answered) and event.answerer != "offline":
                        self._count_tokens((await conversations.find_exchange(event.answer.id)).receipt)
                    yield event
        except OctavoError as error:
            self._errors.labels(error.code).inc()
            if isinstance(error, ModelError):
                self._failures.inc()
            raise

    def _count_event(self, event: AskEvent, seconds: float) -> None:
        if isinstance(event, Scoped):
            self._stages.labels("scope").observe(seconds)
        elif isinstance(event, Retrieved):
            self._stages.labels("retrieve").observe(seconds)
        elif isinstance(event, Answered):
            self._count_answer(event)

    def _count_answer(self, event: Answered) -> None:
        # The first two stages are counted before, because a question may fail after them.
        for stage in STAGES[2:]:
            self._stages.labels(stage).observe(event.stages.get(stage, 0.0) / 1000)
        refusal = event.answer.refusal
        self._answers.labels("refused" if refusal else "answered").inc()
        if refusal:
            self._refusals.labels(str(refusal.reason)).inc()
        if event.answerer.startswith("offline, because"):
            self._failures.inc()

    def render(self) -> bytes:
        return generate_latest(self.registry)


class IngestCounter:
    """Counts the events of one worker's books."""

    def __init__(self, passages: Counter, books: Counter) -> None:
        self._passages, self._books, self._seen = passages, books, 0

    def __call__(self, event: IngestEvent) -> None:
        if isinstance(event, Embedding):
            self._passages.inc(max(0, event.done - self._seen))
            self._seen = event.done
        else:
            self._seen = 0
        if isinstance(event, Published):
            self._books.labels("unchanged" if event.unchanged else "published").inc()


def get_metrics(request: Request) -> Metrics:
    metrics: Metrics = request.app.state.metrics
    return metrics
