"""What a file may cost its parser before it is refused.

Each limit is a setting: `max_pages` is `OCTAVO_LIMITS__MAX_PAGES`. The parser's child process gets them
along with the file, so this module imports nothing but the errors.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from octavo.errors import InvalidValue

MB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    max_file_mb: int = 100
    """Largest file that is taken in."""
    max_members: int = 20_000
    """Most files in an archive or a folder."""
    max_member_mb: int = 64
    """Largest single file inside an archive or a folder, unpacked."""
    max_expanded_mb: int = 512
    """Most that an archive may unpack to, or a PDF's streams."""
    max_ratio: int = 200
    """Most bytes out per byte in, after the first 10 MB out."""
    max_pages: int = 10_000
    max_page_chars: int = 200_000
    max_text_mb: int = 200
    """Most text in one book."""
    max_html_depth: int = 2_000
    max_html_attributes: int = 1_000
    """Most attributes of one tag."""
    max_html_tag_kb: int = 64
    """Longest single tag."""
    max_unbroken: int = 2_000
    """Longest run without a space before it is cut."""
    max_front_matter_kb: int = 64
    parser_memory_mb: int = 2_048
    """Address space of the parser's process."""
    parser_seconds: float = 60.0
    """CPU and wall seconds for a file; a PDF gets 0.05 more for each page."""

    def __post_init__(self) -> None:
        for limit in fields(self):
            if not getattr(self, limit.name) > 0:
                raise InvalidValue(f"Limits.{limit.name}", "must be more than 0", getattr(self, limit.name))
