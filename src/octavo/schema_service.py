"""The tables of the service: keys, what readers thought of answers, work that waits, requests seen before.

A key is stored as a hash and found by its public id. A job is a book that waits to be taken in; whichever
process takes it renews `seen_at`, so that a job whose worker died can be taken by another. `hits` count
requests in moving windows for all instances together. A cover is a small picture that the book's file had.
"""

from __future__ import annotations

from sqlalchemy import JSON, Column, Float, ForeignKey, Index, Integer, LargeBinary, String, Table, Text

from octavo.schema import Moment, metadata

__all__ = ["api_keys", "covers", "feedback", "hits", "jobs", "metadata", "requests"]

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("hash", String(64), nullable=False),
    Column("name", Text, nullable=False),
    Column("scopes", JSON, nullable=False),
    Column("books", JSON),
    Column("origins", JSON, nullable=False),
    Column("public", Integer, nullable=False),
    Column("per_minute", Integer),
    Column("created_at", Moment, nullable=False),
    Column("expires_at", Moment),
    Column("revoked_at", Moment),
    Column("used_at", Moment),
)

feedback = Table(
    "feedback",
    metadata,
    Column("answer_id", String(64), ForeignKey("answers.id"), primary_key=True),
    Column("owner", String(64), primary_key=True),
    Column("vote", String(8), nullable=False),
    Column("reasons", JSON, nullable=False),
    Column("comment", Text, nullable=False),
    Column("timestamp", Moment, nullable=False),
)

jobs = Table(
    "jobs",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("number", Integer, nullable=False),
    Column("owner", String(64), nullable=False),
    Column("state", String(16), nullable=False),
    Column("name", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("wishes", JSON, nullable=False),
    Column("progress", JSON, nullable=False),
    Column("book_id", String(200)),
    Column("error", JSON),
    Column("worker", String(64)),
    Column("tries", Integer, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("seen_at", Moment),
    Column("finished_at", Moment),
    Index(None, "number", unique=True),
    Index(None, "state"),
)

requests = Table(
    "requests",
    metadata,
    Column("owner", String(64), primary_key=True),
    Column("key", String(200), primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("status", Integer),
    Column("response", JSON),
    Column("created_at", Moment, nullable=False),
)

hits = Table(
    "hits",
    metadata,
    Column("key", String(200), primary_key=True),
    Column("begins", Float, primary_key=True),
    Column("count", Integer, nullable=False),
    Column("expires", Float, nullable=False, index=True),
)

covers = Table(
    "covers",
    metadata,
    Column("book_id", String(200), primary_key=True),
    Column("media_type", String(64), nullable=False),
    Column("data", LargeBinary, nullable=False),
)
