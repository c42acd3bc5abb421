"""Books, editions, sections, chunks, texts, vectors, and what the store has still to drop."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    _independent_tables()
    _editions_and_books()
    _sections()
    _chunks()


def _independent_tables() -> None:
    op.create_table("meta", _key("key", 200), sa.Column("value", sa.Text, nullable=False))
    op.create_table("texts", _key("hash", 64), sa.Column("text", sa.Text, nullable=False))
    op.create_table("vectors", _key("key", 64), sa.Column("vector", sa.LargeBinary, nullable=False))
    op.create_table("removals", _key("id", 36), sa.Column("book_id", sa.String(200), nullable=False))
    op.create_index("ix_removals_book_id", "removals", ["book_id"])


def _editions_and_books() -> None:
    op.create_table(
        "editions",
        sa.Column("book_id", sa.String(200), primary_key=True),
        sa.Column("edition", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        *_catalogue_entry(),
    )
    op.create_table(
        "books",
        _key("id", 200),
        *_required(sa.Integer, "edition", "settled"),
        *_catalogue_entry(),
        sa.ForeignKeyConstraint(
            ["id", "edition"], ["editions.book_id", "editions.edition"], name="fk_books_editions"
        ),
    )
    op.create_index("ix_books_content_hash", "books", ["content_hash"])
    op.create_index("ix_books_words_hash", "books", ["words_hash"])


def _sections() -> None:
    op.create_table(
        "sections",
        sa.Column("book_id", sa.String(200), primary_key=True),
        sa.Column("edition", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("id", sa.Text, primary_key=True),
        *_required(sa.Integer, "position", "level"),
        *_required(sa.Text, "title", "url", "anchor", "source_file"),
        *_required(sa.JSON, "heading_path", "pages", "blocks", "ancestors"),
        sa.Column("text_hash", sa.String(64), nullable=False),
        sa.ForeignKeyConstraint(["text_hash"], ["texts.hash"], name="fk_sections_texts"),
        sa.ForeignKeyConstraint(
            ["book_id", "edition"], ["editions.book_id", "editions.edition"], name="fk_sections_editions"
        ),
    )
    op.create_index("ix_sections_text_hash", "sections", ["text_hash"])


def _chunks() -> None:
    op.create_table(
        "chunks",
        sa.Column("book_id", sa.String(200), primary_key=True),
        sa.Column("edition", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("id", sa.String(36), primary_key=True),
        *_required(sa.BigInteger, "chunk_id", "created_at"),
        *_required(sa.Integer, "start", "end", "document_position", "chunk_index"),
        *_required(sa.String(64), "content_hash", "vector_key"),
        *_required(sa.Text, "section_id", "chapter", "section", "url", "source_title", "source_location"),
        sa.Column("metadata", sa.JSON, nullable=False),
        sa.Column("digest", sa.String(32)),
        sa.Column("page_number", sa.Integer),
        sa.Column("page_end", sa.Integer),
        sa.Column("page_label", sa.Text),
        sa.ForeignKeyConstraint(
            ["book_id", "edition", "section_id"],
            ["sections.book_id", "sections.edition", "sections.id"],
            name="fk_chunks_sections",
        ),
    )
    op.create_index("ix_chunks_id", "chunks", ["id"])
    op.create_index("ix_chunks_vector_key", "chunks", ["vector_key"])


def _catalogue_entry() -> tuple[sa.Column[object], ...]:
    texts = ("title", "language", "source_file", "content_hash", "words_hash", "index_fingerprint")
    return (
        *_required(sa.Text, *texts),
        *_required(sa.JSON, "authors"),
        *_required(sa.String(32), "format"),
        sa.Column("base_url", sa.Text),
        *_required(sa.Integer, "section_count", "chunk_count", "page_count"),
        *_required(sa.BigInteger, "added_at", "updated_at"),
    )


def _key(name: str, size: int) -> sa.Column[str]:
    return sa.Column(name, sa.String(size), primary_key=True)


def _required(kind: Any, *names: str) -> tuple[sa.Column[object], ...]:
    return tuple(sa.Column(name, kind, nullable=False) for name in names)
