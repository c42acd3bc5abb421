"""Everything that Octavo raises on purpose.

    OctavoError
    ├── CallerError             the caller's mistake: correct the call and try again
    │   ├── InvalidValue            a field breaks a rule of the data model
    │   ├── InvalidTransition       a state machine was asked for a step it does not have
    │   ├── NotFound                a book, section, page or answer that is not there
    │   ├── EmbedderMismatch        the library was indexed by another embedder
    │   ├── AccessDenied            no key, a wrong one, or one that may not do this
    │   ├── TooMany                 more requests than one client may make; `retry_after` says till when
    │   ├── Conflict                the same thing is being done already, or was done differently before
    │   └── BadBook                 a file that cannot be read as a book; `code` says why
    ├── MachineError            the machine's state: the same call may work later or elsewhere
    │   ├── LibraryBusy             another process holds the library
    │   ├── Overloaded              more work than this machine can do now; `retry_after` says till when
    │   ├── StorageLow              too little free space to write safely
    │   ├── StoreError              the chunk store failed or is damaged
    │   ├── RecordsError            the records database failed
    │   ├── MissingExtra            a feature needs packages that are not installed
    │   └── WeightsError            model files are missing, damaged or not the expected ones
    ├── ModelError              an embedding or language model answered wrongly or not at all
    └── Cancelled               the caller asked to stop

Each error has a stable `code` for programs, a sentence for people that says what happened and where, and
a `hint` that says what to do.
"""

from __future__ import annotations

from importlib.util import find_spec


class OctavoError(Exception):
    """The root: `code` for programs, `str(error)` for people, `hint` for what to do next."""

    code = "error"

    def __init__(self, message: str, *, hint: str = "", code: str = "") -> None:
        super().__init__(message)
        self.hint = hint
        if code:
            self.code = code

    @property
    def message(self) -> str:
        return str(self.args[0])


class CallerError(OctavoError):
    code = "caller_error"


class InvalidValue(CallerError, ValueError):
    """A field breaks a rule: the message names the field, the rule and the value."""

    code = "invalid_value"

    def __init__(self, field: str, rule: str, value: object) -> None:
        try:
            shown = repr(value)
        except (ValueError, RecursionError):  # too large or too deep to be written down
            shown = f"a {type(value).__name__}"
        if len(shown) > 80:
            shown = f"{shown[:77]}..."
        super().__init__(f"{field} {rule}; got {shown}")
        self.field, self.rule, self.value = field, rule, value


class InvalidTransition(CallerError):
    code = "invalid_transition"


class NotFound(CallerError, LookupError):
    """Names what was asked for, and the nearest things that do exist."""

    code = "not_found"

    def __init__(self, what: str, name: str, *, nearest: tuple[str, ...] = (), hint: str = "") -> None:
        near = f"; the nearest are: {', '.join(nearest)}" if nearest else ""
        super().__init__(f"no {what} {name!r} here{near}", hint=hint)
        self.what, self.name, self.nearest = what, name, nearest


class EmbedderMismatch(CallerError):
    code = "embedder_mismatch"


class AccessDenied(CallerError):
    """`code` is `unauthorized` where no valid key came, `forbidden` where a valid one is not enough."""

    code = "unauthorized"


class TooMany(CallerError):
    code = "too_many_requests"

    def __init__(self, message: str, *, retry_after: float, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class Conflict(CallerError):
    code = "conflict"


class BadBook(CallerError):
    """A file that cannot be taken in. `code` is one of `BAD_BOOK_CODES`."""

    code = "bad_book"

    def __init__(self, code: str, message: str, *, hint: str = "") -> None:
        if code not in BAD_BOOK_CODES:
            raise ValueError(f"unknown bad-book code {code!r}")
        super().__init__(message, hint=hint or BAD_BOOK_CODES[code], code=code)


BAD_BOOK_CODES = {
    "archive_overlap": "The archive's entries overlap, as only hand-made archives do. Get a clean copy.",
    "bad_epub": "The EPUB's own index is broken. Try to repair it with an EPUB editor, or get another copy.",
    "damaged_archive": "The archive is cut off or damaged. Download or copy it again.",
    "damaged_pdf": "The PDF is cut off or damaged. Download or copy it again.",
    "drm": "The publisher locked this book. Octavo does not break locks; get a copy without DRM.",
    "empty_file": "Download or copy it again.",
    "encoding": "Too much of the text cannot be decoded. Save it as UTF-8 and add it again.",
    "encrypted": "The PDF needs a password. Save a copy without one and add that.",
    "html_limit": "The HTML is not a page that people read. Check where it came from.",
    "html_too_deep": "The HTML is nested too deeply to be a book. Check where it came from.",
    "no_text": "There is no text in it. If it is a scan, it needs OCR first.",
    "not_found": "Check the path; quote it if it has spaces.",
    "parser_crash": "The file broke its parser. Octavo is unharmed; get another copy of the book.",
    "parser_limit": "It needs too much memory. Raise OCTAVO_LIMITS__PARSER_MEMORY_MB to trust it.",
    "parser_timeout": "The file takes too long to read. Raise OCTAVO_LIMITS__PARSER_SECONDS to trust it.",
    "too_large": "The file is larger than Octavo takes. Raise OCTAVO_LIMITS__MAX_FILE_MB to trust it.",
    "too_large_expanded": "The file unpacks to far more than a book. Check where it came from.",
    "too_many_members": "The archive or folder holds more files than a book has. Check where it came from.",
    "type_mismatch": "The name says one thing and the content another. Get the file that the name says.",
    "unsafe_path": "The file points outside itself. Get a clean copy.",
    "unsupported_format": "Octavo reads Markdown, Docusaurus, mdBook, HTML, EPUB, PDF and plain text.",
}


class MachineError(OctavoError):
    code = "environment"


class LibraryBusy(MachineError):
    code = "library_busy"


class Overloaded(MachineError):
    code = "overloaded"

    def __init__(self, message: str, *, retry_after: float, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class StorageLow(MachineError):
    code = "storage_low"


class StoreError(MachineError):
    code = "store_error"


class RecordsError(MachineError):
    code = "records_error"


class WeightsError(MachineError):
    code = "weights"


EXTRAS = {
    "build": ("building a model file", ("onnx",)),
    "litellm": ("a model whose name begins with `litellm/`", ("agents", "litellm")),
    "llm": ("answering with a language model", ("agents",)),
    "mcp": ("the Model Context Protocol", ("mcp",)),
    "postgres": ("keeping records in PostgreSQL", ("asyncpg",)),
    "qdrant": ("a Qdrant server", ("qdrant_client",)),
    "service": (
        "the HTTP service",
        ("fastapi", "prometheus_client", "python_multipart", "uvicorn"),
    ),
    "tracing": ("tracing", ("opentelemetry.trace",)),
}
"""Each extra of the package: the feature that needs it, and the modules that come with it."""


class MissingExtra(MachineError):
    """A feature was asked for whose packages are not installed. The message names the command to run."""

    code = "missing_extra"

    def __init__(self, extra: str, *, hint: str = "") -> None:
        feature, _ = EXTRAS[extra]
        super().__init__(f"{feature} needs an extra: pip install 'octavo[{extra}]'", hint=hint)
        self.extra = extra


def require_extra(extra: str, *, hint: str = "") -> None:
    """Raise `MissingExtra` unless the packages of the extra are installed. Nothing is imported."""
    _, modules = EXTRAS[extra]
    if not all(map(_is_installed, modules)):
        raise MissingExtra(extra, hint=hint)


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        # The package that should hold the module is missing.
        return False


class ModelError(OctavoError):
    code = "model_error"


class Cancelled(OctavoError):
    code = "cancelled"
