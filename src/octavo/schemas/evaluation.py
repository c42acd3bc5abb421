"""The JSON shape of an evaluation. `octavo eval --compare` and `--questions` read it back."""

from __future__ import annotations

from octavo.schemas.base import Schema


class EvaluatedQuestionJson(Schema):
    """A question, what was expected, and what came of it."""

    question: str
    source: str
    answerable: bool
    sections: list[str]
    accepted: list[str]
    right: bool
    answered: bool
    rank: int | None
    confidence: float
    answer: str
    cited: list[str]
    nearest: list[str]


class ConfidenceBinJson(Schema):
    """Answers with about the same confidence: how many, what they claimed, how many were right."""

    low: float
    high: float
    count: int
    confidence: float
    right: float


class ComparisonJson(Schema):
    """What changed since an earlier evaluation, for the questions that both have."""

    shared: int
    gained: list[str]
    lost: list[str]


class EvaluationJson(Schema):
    """The result of `octavo eval`."""

    book_id: str
    title: str
    content_hash: str
    settings: dict[str, str]
    hits: dict[str, float | None]
    answered: float | None
    right: float | None
    right_of_answered: float | None
    refused: float | None
    calibration_error: float | None
    calibration: list[ConfidenceBinJson]
    comparison: ComparisonJson | None
    results: list[EvaluatedQuestionJson]
