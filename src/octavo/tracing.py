"""Writes an OpenTelemetry span for each question, if the settings ask for it: ids, numbers, times, no text.

A span is written when a question has ended, from the numbers of its receipt, with one span below it for each
stage. It goes to the tracer provider that the program has set up; `opentelemetry-instrument` sets one up for
programs that do not. Neither the text of the question nor that of the book is in it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from octavo.errors import require_extra

_NUMBERS = ("answerable", "confidence", "threshold", "milliseconds", "calibration")
_MODEL = ("name", "mode", "turns", "calls", "tool_calls", "tokens_in", "tokens_out", "dollars", "mended")


def check_installed() -> None:
    """Raise if OpenTelemetry is not installed."""
    require_extra("tracing", hint="Or leave OCTAVO_TRACING unset.")


def record(
    receipt: Mapping[str, object],
    *,
    ids: Mapping[str, str],
    stages: Mapping[str, float],
    failed: str = "",
) -> None:
    """Write the span of a question that has just ended. `failed` is the class of its error, if it failed."""
    from opentelemetry import trace

    tracer = trace.get_tracer("octavo")
    end = time.time_ns()
    start = end - sum(map(_nanoseconds, stages.values()))
    span = tracer.start_span("octavo.ask", start_time=start)
    for name, value in select_attributes(receipt, ids).items():
        span.set_attribute(name, value)
    if failed:
        span.set_status(trace.StatusCode.ERROR, failed)
    inside, at = trace.set_span_in_context(span), start
    for stage, milliseconds in stages.items():
        part = tracer.start_span(f"octavo.{stage}", context=inside, start_time=at)
        at += _nanoseconds(milliseconds)
        part.end(end_time=at)
    span.end(end_time=end)


def select_attributes(receipt: Mapping[str, object], ids: Mapping[str, str]) -> dict[str, str | int | float]:
    """Select what of a receipt may go into a span: ids and numbers."""
    model = receipt.get("model")
    selected = {f"octavo.{name}": receipt.get(name) for name in _NUMBERS}
    selected |= {f"octavo.{name}": _count(receipt.get(name)) for name in ("evidence", "claims", "dropped")}
    if isinstance(model, Mapping):
        selected |= {f"octavo.model.{name}": model.get(name) for name in _MODEL}
        selected["octavo.model.failed"] = "failed" in model
    selected |= {f"octavo.{name}": value for name, value in ids.items() if value}
    return {name: value for name, value in selected.items() if isinstance(value, str | int | float)}


def _nanoseconds(milliseconds: float) -> int:
    return round(milliseconds * 1_000_000)


def _count(value: object) -> int | None:
    return len(value) if isinstance(value, list) else None
