"""The markup of sections, and the pictures that it names."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.create_table(
        "markup",
        sa.Column("book_id", sa.String(200), nullable=False),
        sa.Column("edition", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("section_id", sa.Text, nullable=False),
        sa.Column("markup", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("book_id", "edition", "section_id", name="pk_markup"),
        sa.ForeignKeyConstraint(
            ["book_id", "edition", "section_id"],
            ["sections.book_id", "sections.edition", "sections.id"],
            name="fk_markup_sections",
        ),
    )
    op.create_table(
        "images",
        sa.Column("hash", sa.String(64), primary_key=True),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "edition_images",
        sa.Column("book_id", sa.String(200), nullable=False),
        sa.Column("edition", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("book_id", "edition", "hash", name="pk_edition_images"),
        sa.ForeignKeyConstraint(["hash"], ["images.hash"], name="fk_edition_images_images"),
        sa.ForeignKeyConstraint(
            ["book_id", "edition"],
            ["editions.book_id", "editions.edition"],
            name="fk_edition_images_editions",
        ),
    )
    op.create_index("ix_edition_images_hash", "edition_images", ["hash"])
