"""The tables of the records, in types that SQLite and PostgreSQL share.

A book has editions; an edition has sections and, while it is pending or ready, chunks. The text of a section
is stored once, under its hash, for every edition that has it. A vector is stored under the hash of the
embedder and of the text it was made from, so nothing is ever embedded twice. `removals` are the points that
the store must still delete.

A session has questions, and a question one answer, stored as the reader got it, with its evidence, its
citations and a receipt of how it was made; `feedback` has the readers' ratings. A question that was copied
into another session, where its answer is continued, is a `copy_of` the one that was asked.

A key is stored as a hash and found by its public id. A job is a book that waits to be added; the process that
takes it renews `seen_at`, so that a job whose worker died can be taken by another. `requests` are those that
may be sent twice. `hits` count requests in moving windows for all instances together. A cover is a small
picture that the book's file had, or one that a person has chosen. The marks of a text are what the map of a
book is made from: they are stored once, under the hash of the text, and swept with it. `gaps` are the
questions that got no good answer, for the author of the book. `sources` says which file or folder on disk a
synced book was read from. `tags` are the collections that a reader put a book into.

`words` has for each word, by its number in BM25, how many passages of the ready editions have it, and under
`-1` how many passages have any word. `edition_words` has the same for each pending or ready edition, packed,
so that publishing and removing can add and subtract exactly.

A reading place is where a reader stopped in a book, one for each reader and book. A note is a bookmark, a
highlight or a note on a passage: its place by offsets, and the words that stood there.

`markup` has how the sections of a pending or ready edition are drawn, packed; `images` has pictures by the
hash of their bytes, and `edition_images` says which edition shows which. `files` has PDFs by their hash, in
parts, and `edition_files` says which edition was read from which; the `lines` of a section's markup say where
on the pages of that file its text is printed. `scans` has what OCR has read on the pages of a file, packed,
page by page as it is done, so that a book that is added again need not be read again.

`migrations` create these tables; a test checks that both agree.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Dialect,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    false,
)

HEAD = "0019"
"""The newest revision under `migrations/versions`."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def count_microseconds(value: datetime) -> int:
    """Count the microseconds since 1970, as times are stored."""
    return (value - _EPOCH) // _MICROSECOND


class Moment(TypeDecorator[datetime]):
    """A time as microseconds since 1970: exact, ordered, and the same in every database and time zone."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:  # noqa: ARG002
        return None if value is None else count_microseconds(value)

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        try:
            return None if value is None else _EPOCH + value * _MICROSECOND
        except (TypeError, OverflowError) as error:
            raise ValueError(f"a stored time cannot be read: {value!r}") from error


metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _build_catalogue_columns() -> tuple[Column[object], ...]:
    """Builds the columns that a pending edition and a book share."""
    return (
        Column("title", Text, nullable=False),
        Column("authors", JSON, nullable=False),
        Column("language", Text, nullable=False),
        Column("format", String(32), nullable=False),
        Column("source_file", Text, nullable=False),
        Column("base_url", Text),
        Column("content_hash", Text, nullable=False),
        Column("words_hash", Text, nullable=False),
        Column("index_fingerprint", Text, nullable=False),
        Column("section_count", Integer, nullable=False),
        Column("chunk_count", Integer, nullable=False),
        Column("page_count", Integer, nullable=False),
        Column("added_at", Moment, nullable=False),
        Column("updated_at", Moment, nullable=False),
        Column("metadata", JSON(none_as_null=True)),
    )


meta = Table(
    "meta",
    metadata,
    Column("key", String(200), primary_key=True),
    Column("value", Text, nullable=False),
)

texts = Table(
    "texts",
    metadata,
    Column("hash", String(64), primary_key=True),
    Column("text", Text, nullable=False),
)

editions = Table(
    "editions",
    metadata,
    Column("book_id", String(200), primary_key=True),
    Column("edition", Integer, primary_key=True, autoincrement=False),
    Column("state", String(16), nullable=False),
    Column("created_at", Moment, nullable=False),
    *_build_catalogue_columns(),
    Column("sections_digest", String(32)),
    Column("chunks_digest", String(80)),
    Column("looks_digest", String(32)),
)

books = Table(
    "books",
    metadata,
    Column("id", String(200), primary_key=True),
    Column("edition", Integer, nullable=False),
    Column("settled", Integer, nullable=False),
    *_build_catalogue_columns(),
    ForeignKeyConstraint(["id", "edition"], ["editions.book_id", "editions.edition"]),
    Index(None, "content_hash"),
    Index(None, "words_hash"),
)

sections = Table(
    "sections",
    metadata,
    Column("book_id", String(200), primary_key=True),
    Column("edition", Integer, primary_key=True, autoincrement=False),
    Column("id", Text, primary_key=True),
    Column("position", Integer, nullable=False),
    Column("title", Text, nullable=False),
    Column("heading_path", JSON, nullable=False),
    Column("level", Integer, nullable=False),
    Column("url", Text, nullable=False),
    Column("anchor", Text, nullable=False),
    Column("source_file", Text, nullable=False),
    Column("text_hash", String(64), ForeignKey("texts.hash"), nullable=False),
    Column("pages", JSON, nullable=False),
    Column("blocks", JSON, nullable=False),
    Column("ancestors", JSON, nullable=False),
    ForeignKeyConstraint(["book_id", "edition"], ["editions.book_id", "editions.edition"]),
    Index(None, "text_hash"),
)

chunks = Table(
    "chunks",
    metadata,
    Column("book_id", String(200), primary_key=True),
    Column("edition", Integer, primary_key=True, autoincrement=False),
    Column("id", String(36), primary_key=True),
    Column("chunk_id", BigInteger, nullable=False),
    Column("section_id", Text, nullable=False),
    Column("start", Integer, nullable=False),
    Column("end", Integer, nullable=False),
    Column("content_hash", String(64), nullable=False),
    Column("digest", String(32)),
    Column("vector_key", String(64), nullable=False),
    Column("document_position", Integer, nullable=False),
    Column("chunk_index", Integer, nullable=False),
    Column("page_number", Integer),
    Column("page_end", Integer),
    Column("page_label", Text),
    Column("chapter", Text, nullable=False),
    Column("section", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("source_title", Text, nullable=False),
    Column("source_location", Text, nullable=False),
    Column("metadata", JSON, nullable=False),
    Column("created_at", Moment, nullable=False),
    ForeignKeyConstraint(
        ["book_id", "edition", "section_id"], ["sections.book_id", "sections.edition", "sections.id"]
    ),
    Index(None, "id"),
    Index(None, "vector_key"),
    Index(None, "book_id", "edition", "section_id"),
)

vectors = Table(
    "vectors",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("vector", LargeBinary, nullable=False),
)

removals = Table(
    "removals",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("book_id", String(200), nullable=False, index=True),
)


sessions = Table(
    "sessions",
    metadata,
    Column("session_id", String(64), primary_key=True),
    Column("start_time", Moment, nullable=False),
    Column("end_time", Moment),
    Column("query_count", Integer, nullable=False),
    Column("owner", String(64)),
    Column("title", Text),
)

questions = Table(
    "questions",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("number", Integer, nullable=False),
    Column("session_id", String(64), ForeignKey("sessions.session_id")),
    Column("content", Text, nullable=False),
    Column("interpreted", Text, nullable=False),
    Column("book_id", String(200)),
    Column("selected_text", Text),
    Column("scope", JSON, nullable=False),
    Column("top_k", Integer, nullable=False),
    Column("user_id", Text),
    Column("user_context", JSON, nullable=False),
    Column("user_preferences", JSON, nullable=False),
    Column("filters", JSON, nullable=False),
    Column("timestamp", Moment, nullable=False),
    Column("status", String(32), nullable=False),
    Column("error", Text),
    Column("copy_of", String(64)),
    Index(None, "session_id"),
    Index(None, "number", unique=True),
)

answers = Table(
    "answers",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("question_id", String(64), ForeignKey("questions.id"), nullable=False),
    Column("state", String(16), nullable=False),
    Column("content", Text, nullable=False),
    Column("confidence", Float, nullable=False),
    Column("processing_time_ms", Integer, nullable=False),
    Column("timestamp", Moment, nullable=False),
    Column("citations", JSON, nullable=False),
    Column("evidence", JSON, nullable=False),
    Column("refusal", JSON),
    Column("trace", JSON, nullable=False),
    Column("receipt", JSON, nullable=False),
    Index(None, "question_id", unique=True),
)


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
    Column("is_chosen", Boolean, nullable=False, server_default=false()),
)

text_marks = Table(
    "text_marks",
    metadata,
    Column("hash", String(64), primary_key=True),
    Column("version", Integer, nullable=False),
    Column("marks", LargeBinary, nullable=False),
)

gaps = Table(
    "gaps",
    metadata,
    Column("question_id", String(64), ForeignKey("questions.id"), primary_key=True),
    Column("book_id", String(200), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("confidence", Float, nullable=False),
    Column("sections", JSON, nullable=False),
    Column("timestamp", Moment, nullable=False),
    Index(None, "book_id", "timestamp"),
)

words = Table(
    "words",
    metadata,
    Column("word", BigInteger, primary_key=True, autoincrement=False),
    Column("passages", Integer, nullable=False),
)

edition_words = Table(
    "edition_words",
    metadata,
    Column("book_id", String(200), primary_key=True),
    Column("edition", Integer, primary_key=True, autoincrement=False),
    Column("counts", LargeBinary, nullable=False),
    ForeignKeyConstraint(["book_id", "edition"], ["editions.book_id", "editions.edition"]),
)

reading_places = Table(
    "reading_places",
    metadata,
    Column("owner", String(64), primary_key=True),
    Column("book_id", String(200), primary_key=True),
    Column("section_id", Text, nullable=False),
    Column("offset", Integer, nullable=False),
    Column("share", Float, nullable=False),
    Column("updated_at", Moment, nullable=False),
)

notes = Table(
    "notes",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("owner", String(64), nullable=False),
    Column("book_id", String(200), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("section_id", Text, nullable=False),
    Column("start", Integer, nullable=False),
    Column("end", Integer, nullable=False),
    Column("text", Text, nullable=False),
    Column("comment", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    Index(None, "owner", "book_id"),
)

sources = Table(
    "sources",
    metadata,
    Column("path_hash", String(64), primary_key=True),
    Column("path", Text, nullable=False),
    Column("book_id", String(200), nullable=False),
    Column("stamp", Text, nullable=False),
    Index(None, "book_id"),
)

tags = Table(
    "tags",
    metadata,
    Column("book_id", String(200), primary_key=True),
    Column("tag", String(200), primary_key=True),
)

markup = Table(
    "markup",
    metadata,
    Column("book_id", String(200), primary_key=True),
    Column("edition", Integer, primary_key=True, autoincrement=False),
    Column("section_id", Text, primary_key=True),
    Column("markup", LargeBinary, nullable=False),
    Column("lines", LargeBinary),
    ForeignKeyConstraint(
        ["book_id", "edition", "section_id"], ["sections.book_id", "sections.edition", "sections.id"]
    ),
)

images = Table(
    "images",
    metadata,
    Column("hash", String(64), primary_key=True),
    Column("data", LargeBinary, nullable=False),
)

edition_images = Table(
    "edition_images",
    metadata,
    Column("book_id", String(200), primary_key=True),
    Column("edition", Integer, primary_key=True, autoincrement=False),
    Column("hash", String(64), ForeignKey("images.hash"), primary_key=True),
    ForeignKeyConstraint(["book_id", "edition"], ["editions.book_id", "editions.edition"]),
    Index(None, "hash"),
)

files = Table(
    "files",
    metadata,
    Column("hash", String(64), primary_key=True),
    Column("part", Integer, primary_key=True, autoincrement=False),
    Column("data", LargeBinary, nullable=False),
)

edition_files = Table(
    "edition_files",
    metadata,
    Column("book_id", String(200), primary_key=True),
    Column("edition", Integer, primary_key=True, autoincrement=False),
    Column("hash", String(64), nullable=False),
    Column("engine", Text, nullable=False, server_default=""),
    ForeignKeyConstraint(["book_id", "edition"], ["editions.book_id", "editions.edition"]),
    Index(None, "hash"),
)

scans = Table(
    "scans",
    metadata,
    Column("file", String(64), primary_key=True),
    Column("page", Integer, primary_key=True, autoincrement=False),
    Column("engine", String(200), primary_key=True),
    Column("confidence", Float, nullable=False),
    Column("words", LargeBinary, nullable=False),
    Column("read_at", Moment, nullable=False),
)
