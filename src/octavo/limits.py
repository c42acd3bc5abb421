"""The limits beyond which work is refused or cut short: of a file, of a question to a language model, of a
client of the service, of a web site.

Each limit is a setting: `Limits.max_pages` is `OCTAVO_LIMITS__MAX_PAGES`, `AgentLimits.turns` is
`OCTAVO_AGENT__TURNS`, `ServiceLimits.streams` is `OCTAVO_SERVICE__STREAMS`, `SiteLimits.page_mb` is
`OCTAVO_SITES__PAGE_MB`. The parser's child process gets its own along with the file, so this module imports
nothing but the errors.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from octavo.errors import InvalidValue, MachineError

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
    max_front_matter_kb: int = 64
    max_image_mb: int = 4
    """Largest picture that is shown."""
    max_images_mb: int = 64
    """Most that the pictures of one book take together."""
    max_page_pixels: int = 8_000_000
    """Most pixels of a PDF's page that is drawn."""
    page_seconds: float = 10.0
    """CPU seconds for drawing a page."""
    ocr_seconds: float = 60.0
    """CPU seconds for reading a scanned page."""
    ocr_pages: int = 2_000
    """Most scanned pages that OCR reads in one book."""
    parser_memory_mb: int = 2_048
    """Address space of the parser's process."""
    parser_seconds: float = 60.0
    """CPU seconds for a file, and one more for each MB; a PDF gets 0.05 more for each page.

    By the clock a parser is given up when it has used no processor for four times as long.
    """

    def __post_init__(self) -> None:
        _require_positive(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLimits:
    """The limits of one question to a language model."""

    turns: int = 6
    """Most calls of the model, corrections included."""
    tool_calls: int = 12
    tokens: int = 60_000
    """Most tokens in and out together."""
    seconds: float = 60.0
    tool_seconds: float = 20.0
    call_seconds: float = 30.0
    """Most that one call of the model may take."""
    dollars: float = 1.0
    """Most that it may cost, where the prices are set."""
    retries: int = 2
    """How often a call is repeated after 429 or 5xx, with jitter."""
    failures: int = 5
    """After so many failed questions in a row the model is not called for a while."""
    rest_seconds: float = 30.0
    """How long it is not called."""

    def __post_init__(self) -> None:
        _require_positive(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceLimits:
    """The limits of a client of the service."""

    max_body_kb: int = 1_024
    """Largest request body that is not an upload or a cover."""
    request_seconds: float = 120.0
    stream_seconds: float = 300.0
    heartbeat_seconds: float = 15.0
    send_seconds: float = 30.0
    """A stream is cut when its client has read nothing for so long."""
    streams: int = 4
    """Streams at once for one key, or one address where no key is used."""
    uploads: int = 4
    """Uploads arriving at once for one key, or one address where no key is used."""
    bodies: int = 16
    """Bodies of other requests arriving at once from one address. This machine is not counted."""
    upload_kb_per_second: float = 8.0
    """An upload that is slower on average, after ten seconds, is refused."""
    queue: int = 16
    """Uploads waiting to be read."""
    requests_per_minute: int = 600
    """For one key. Callers of an open service on the same machine are not counted."""
    public_per_minute: int = 30
    """For one address that uses a public key."""
    wrong_keys_per_minute: int = 20
    """Wrong keys from one address before it has to wait."""
    connections: int = 64
    """Connections at once from one address. This machine and trusted proxies are not counted."""
    working: int = 64
    """Requests that are worked on at once; the others get 503."""

    def __post_init__(self) -> None:
        _require_positive(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteLimits:
    """The limits of a web site that is fetched to be read as a book."""

    site_pages: int = 2_000
    """Most pages of one site."""
    page_mb: int = 8
    """Largest page or sitemap."""
    pause_seconds: float = 0.5
    """Between two requests; a longer `Crawl-delay` in the site's robots.txt counts."""
    page_seconds: float = 30.0
    """Most that one request may take."""

    def __post_init__(self) -> None:
        _require_positive(self)


def _require_positive(limits: Limits | AgentLimits | ServiceLimits | SiteLimits) -> None:
    for limit in fields(limits):
        value = getattr(limits, limit.name)
        if not value > 0:
            raise InvalidValue(f"{type(limits).__name__}.{limit.name}", "must be more than 0", value)


LEAST_FILES = 48


def count_allowed_files() -> int:
    """Return how many files and connections this process may have open at a time."""
    import resource

    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1_000_000 if most == resource.RLIM_INFINITY else most


def require_files() -> None:
    """Raise when the process may open fewer files than a library needs.

    Otherwise something would fail later without saying why.
    """
    if (most := count_allowed_files()) < LEAST_FILES:
        raise MachineError(
            f"this process may open only {most} files at a time, and a library needs {LEAST_FILES}",
            hint="`ulimit -n 1024` before it starts gives it more.",
        )
