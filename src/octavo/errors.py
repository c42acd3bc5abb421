"""Everything that Octavo raises on purpose.

    OctavoError
    ├── CallerError             the caller's mistake: correct the call and try again
    │   ├── InvalidValue            a field breaks a rule of the data model
    │   ├── InvalidTransition       a step that a state machine does not have
    │   ├── NotFound                a book, section, page or answer that does not exist
    │   ├── EmbedderMismatch        the library was indexed by another embedder
    │   ├── AccessDenied            no key, a wrong one, or one that may not do this
    │   ├── TooMany                 too many requests from one client; `retry_after` says when to retry
    │   ├── Conflict                the same request is running already, or was made before with other content
    │   └── BadBook                 a file that cannot be read as a book; `code` says why
    ├── MachineError            the machine's fault: the same call may work later or elsewhere
    │   ├── LibraryBusy             another process holds the library
    │   ├── Overloaded              more work than this machine can do now; `retry_after` says when to retry
    │   ├── StorageLow              too little free space to write safely
    │   ├── StoreError              the chunk store failed or is damaged
    │   ├── RecordsError            the records database failed
    │   ├── MissingExtra            a feature needs packages that are not installed
    │   └── WeightsError            model files are missing, damaged or not the expected ones
    └── ModelError              an embedding or language model answered wrongly or not at all

Each error has a stable `code` for programs, a message that says what happened and where, and a `hint` that
says what to do.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# An absolute path, and no part of a web address and no route of the service.
_ROUTE = r"(?!/v1(?![\w.-]))"
_END = r"[^\s:;,'\"`)\]]*"
_PATH = re.compile(rf"(?<![\w.:/-]){_ROUTE}/(?:[^\s/:;,'\"`)\]]+/)*[^\s/:;,'\"`)\]]+")
# A path in quotation marks is whole, spaces and all.
_QUOTED = re.compile(rf"(?<!\w)(['\"`]){_ROUTE}/(?:(?!\1).)+\1")


class OctavoError(Exception):
    """The base class: `code` for programs, `message` for people, `hint` for what to do next."""

    code = "error"

    def __init__(self, message: str, *, hint: str = "", code: str = "") -> None:
        super().__init__(message)
        self.hint = hint
        if code:
            self.code = code

    @property
    def message(self) -> str:
        return str(self.args[0])


def hide_paths(error: OctavoError, *, folder: Path | None = None) -> tuple[str, str]:
    """Return the message and the hint for strangers: without paths, where the machine is at fault.

    A path with spaces and without quotation marks is known only if it is in the `folder` of the library.
    """
    if not isinstance(error, MachineError):
        return error.message, error.hint
    return _hide(error.message, folder, "the data folder"), _hide(error.hint, folder, "[path]")


def _hide(text: str, folder: Path | None, mark: str) -> str:
    if folder is not None and len(folder.parts) > 1:
        place = rf"{re.escape(str(folder))}(?![\w.-])"
        text = re.sub(rf"(['\"`]){place}(?:(?!\1).)*\1", rf"\1{mark}\1", text)
        text = re.sub(rf"{place}{_END}", mark, text)
    return _PATH.sub(mark, _QUOTED.sub(rf"\1{mark}\1", text))


class CallerError(OctavoError):
    code = "caller_error"


class InvalidValue(CallerError, ValueError):
    """A field breaks a rule: the message names the field, the rule and the value."""

    code = "invalid_value"

    def __init__(self, field: str, rule: str, value: object, *, hint: str = "") -> None:
        try:
            shown = repr(value)
        except (ValueError, RecursionError):
            # Too large or too deeply nested for repr().
            shown = f"a {type(value).__name__}"
        if len(shown) > 80:
            shown = f"{shown[:77]}..."
        super().__init__(f"{field} {rule}; got {shown}", hint=hint)
        self.field, self.rule, self.value = field, rule, value


class InvalidTransition(CallerError):
    code = "invalid_transition"


class NotFound(CallerError, LookupError):
    """Something that does not exist. The message names what is close to it, or all of a few."""

    code = "not_found"

    def __init__(
        self,
        what: str,
        name: str,
        *,
        nearest: tuple[str, ...] = (),
        known: tuple[str, ...] = (),
        hint: str = "",
    ) -> None:
        """`nearest` are names like this one; `known` are all there are, where they can be listed."""
        near = f"; the nearest are: {', '.join(nearest)}" if nearest else ""
        all_ = f"; there are: {', '.join(known)}" if known and not nearest else ""
        super().__init__(f"no {what} {name!r} here{near or all_}", hint=hint)
        self.what, self.name, self.nearest = what, name, nearest


class EmbedderMismatch(CallerError):
    code = "embedder_mismatch"


class AccessDenied(CallerError):
    """`code` is `unauthorized` without a valid key, and `forbidden` if a valid key is not enough."""

    code = "unauthorized"


class TooMany(CallerError):
    code = "too_many_requests"

    def __init__(self, message: str, *, retry_after: float, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class Conflict(CallerError):
    code = "conflict"


class BadBook(CallerError):
    """A file that cannot be read as a book. `code` is one of `BAD_BOOK_CODES`."""

    code = "bad_book"

    def __init__(self, code: str, message: str, *, hint: str = "") -> None:
        if code not in BAD_BOOK_CODES:
            raise ValueError(f"unknown bad-book code {code!r}")
        super().__init__(message, hint=hint or BAD_BOOK_CODES[code], code=code)


BAD_BOOK_CODES = {
    "archive_overlap": "The archive's entries overlap, as in no ordinary archive. Get another copy.",
    "bad_document": "The document is broken. Open it in the program that made it, and save it again.",
    "bad_epub": "The EPUB's own index is broken. Repair it with an EPUB editor, or get another copy.",
    "damaged_archive": "The archive is incomplete or damaged. Download or copy it again.",
    "damaged_pdf": "The PDF is incomplete or damaged. Download or copy it again.",
    "drm": "The publisher locked this book. Octavo does not remove DRM; get a copy without it.",
    "empty_file": "Download or copy it again.",
    "encoding": "Too much of the text cannot be decoded. Save it as UTF-8 and add it again.",
    "encrypted": "The PDF needs a password. Save a copy without one, and add the copy.",
    "html_limit": "The HTML is not a page that people read. Check where it comes from.",
    "html_too_deep": "The HTML is nested too deeply to be a book. Check where it comes from.",
    "no_text": "It contains no text. Octavo reads scanned pages of PDFs if Tesseract is installed.",
    "not_found": "Check the path; quote it if it has spaces.",
    "parser_crash": "The file crashed its parser. The library is unchanged; get another copy of the book.",
    "parser_limit": "It needs too much memory. If you trust it, raise OCTAVO_LIMITS__PARSER_MEMORY_MB.",
    "parser_timeout": "It takes too long to read. If you trust it, raise OCTAVO_LIMITS__PARSER_SECONDS.",
    "private_address": "If it is a site of your own, set OCTAVO_PRIVATE_SITES=true and add it again.",
    "robots": "The site asks programs to stay away. Ask its owner for the files, and add those.",
    "site_unreachable": "Check the address in a browser, then run it again: it continues where it stopped.",
    "too_large": "The file is too large. If you trust it, raise OCTAVO_LIMITS__MAX_FILE_MB.",
    "too_large_expanded": "The file unpacks to far more than a book. Check where it comes from.",
    "too_many_members": "The archive or folder has more files than a book. Check where it comes from.",
    "type_mismatch": "The name says one format and the content is another. Get the right file, or rename it.",
    "unsafe_path": "The file refers to files outside itself. Get another copy.",
    "unsupported_format": (
        "Octavo reads EPUB, PDF, HTML, Markdown, Docusaurus, mdBook, MkDocs, GitBook, Sphinx, AsciiDoc, "
        "Word, OpenDocument, FictionBook, Kindle books without DRM and plain text."
    ),
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
