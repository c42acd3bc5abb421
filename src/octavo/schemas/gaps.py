"""The JSON shape of the gap report: what readers asked a book and did not get."""

from __future__ import annotations

from datetime import date

from octavo.schemas.base import Schema, Time


class NearSectionJson(Schema):
    """A section that came near to answering, and for how many of the questions."""

    section_id: str
    title: str
    heading_path: list[str]
    url: str
    count: int


class WeekCountJson(Schema):
    """How many questions were asked in the week that begins on this Monday."""

    week: date
    count: int


class GapJson(Schema):
    """Something that readers asked for. `topic` are words that its questions share."""

    topic: list[str]
    question: str
    questions: list[str]
    count: int
    refused: int
    unsure: int
    disliked: int
    weeks: list[WeekCountJson]
    last_asked: Time
    sections: list[NearSectionJson]


class GapReportJson(Schema):
    """The gaps of a book since a day, the most wanted first. `gap_count` may be more than are listed."""

    book_id: str
    title: str
    since: date
    question_count: int
    open_count: int
    gap_count: int
    weeks: list[WeekCountJson]
    gaps: list[GapJson]


class GapReportsJson(Schema):
    """The result of `octavo gaps`."""

    books: list[GapReportJson]
