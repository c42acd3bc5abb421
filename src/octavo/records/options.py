"""What a caller says about a book when adding it: one shape for all who add books."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from octavo import validation
from octavo.errors import InvalidValue
from octavo.text.clean import clean, collapse, make_slug
from octavo.types import NO_METADATA, BookMetadata


@dataclass(frozen=True, slots=True, kw_only=True)
class BookOptions:
    """What is None or empty is taken from the book itself."""

    title: str | None = None
    base_url: str | None = None
    book_id: str | None = None
    authors: tuple[str, ...] = ()
    language: str = ""
    metadata: BookMetadata = NO_METADATA

    def __post_init__(self) -> None:
        if self.title is not None and not collapse(clean(self.title)):
            raise InvalidValue("title", "must not be empty or only whitespace", self.title)
        if self.base_url is not None:
            validation.check_url("base_url", self.base_url)
            if validation.remove_credentials(self.base_url) != self.base_url:
                raise InvalidValue("base_url", "must hold no user and no password", "***")
        if self.book_id is not None and make_slug(self.book_id, most=200) != self.book_id:
            example = make_slug(self.book_id, most=200)
            rule = f"must be lower-case letters, digits and hyphens, such as {example!r}"
            raise InvalidValue("book_id", rule, self.book_id)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> BookOptions:
        """Build them from JSON, as a job keeps them; one of an earlier version has fewer fields."""
        metadata = BookMetadata.from_json(values.get("metadata", {}))
        said = {key: value for key, value in values.items() if key not in ("metadata", "authors")}
        return cls(**said, authors=tuple(values.get("authors", ())), metadata=metadata)
