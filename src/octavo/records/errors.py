"""Translates the errors of the database into ours.

SQLite reports them in words, PostgreSQL by five characters (`sqlstate`). No message contains a password.
`is_lost` tells whether the server is away or has dropped the connection, so that a retry may succeed.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from octavo.errors import InvalidValue, LibraryBusy, OctavoError, Overloaded, RecordsError, StorageLow

# What PgBouncer says to settings at the start of a connection, and PostgreSQL to a statement that was
# prepared on another one.
_POOLED = ("unsupported startup parameter", "prepared statement")
RESTORE = (
    "Restore a backup with `octavo restore`; or move this file away and run `octavo doctor --rebuild`, which "
    "reads the books back from the store."
)
REBUILD = (
    "`octavo doctor --rebuild` reads the books back from the store; or restore a backup with "
    "`octavo restore`."
)
_AWAY_STATES = ("08", "57P01", "57P02", "57P03", "57P05", "25P03")
_CLASS = re.compile(r"^<class '[^']*'>: ")
_UNWRITABLE = ("readonly", "unable to open", "permission", "read-only", "is a directory")
_DAMAGED = ("malformed", "not a database", "decode", "corrupt")


@contextmanager
def report_damage(place: str) -> Iterator[None]:
    """Reports rows that are invalid for our types, or not JSON, as damage: we did not write them."""
    try:
        yield
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise RecordsError(f"the records at {place} are damaged: {error}", hint=REBUILD) from error


@contextmanager
def translate_errors(place: str) -> Iterator[None]:
    """Turns what the database raises inside into one of our errors."""
    try:
        yield
    except OctavoError:
        raise
    except Exception as error:
        if not _is_database_error(error):
            raise
        raise _translate(error, place) from error


def is_lost(error: Exception) -> bool:
    """Whether the connection is gone, or none could be made, and a retry may succeed."""
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    state = read_sqlstate(error)
    # The text of a `DBAPIError` has the parameters too, and they may be anybody's words.
    said = str(getattr(error, "orig", None) or error)
    if any(words in said for words in _POOLED):
        return False
    return state.startswith(_AWAY_STATES) if state else isinstance(error, OSError)


def read_sqlstate(error: BaseException) -> str:
    """Returns PostgreSQL's five characters for an error; "" where there are none."""
    for raised in (error, getattr(error, "orig", None)):
        state = getattr(raised, "sqlstate", None)
        if isinstance(state, str):
            return state
    return ""


def _is_database_error(error: Exception) -> bool:
    """Whether the database or its connection raised this.

    SQLite quotes a damaged schema as it is, which may not be UTF-8.
    """
    kinds = (SQLAlchemyError, sqlite3.Error, OSError, UnicodeDecodeError)
    return isinstance(error, kinds) or type(error).__module__.partition(".")[0] == "asyncpg"


def _translate(error: Exception, place: str) -> OctavoError:
    message = " ".join(_CLASS.sub("", str(getattr(error, "orig", None) or error)).split())[:300]
    if isinstance(error, PoolTimeout):
        return Overloaded(
            f"all connections to the records at {place} are in use",
            retry_after=1.0,
            hint="Try again in a moment, or raise OCTAVO_RECORDS_POOL.",
        )
    if place.startswith("postgresql:"):
        return _translate_postgres(error, message, place)
    return _translate_sqlite(message, place)


def _translate_sqlite(message: str, place: str) -> OctavoError:
    low = message.lower()
    if "is locked" in low or "is busy" in low:
        return _make_busy(place)
    if "disk is full" in low or "no space left" in low:
        return StorageLow(f"the disk of {place} is full", hint="Free some space and try again.")
    if any(words in low for words in _UNWRITABLE):
        return RecordsError(
            f"the records at {place} cannot be opened for writing: {message}",
            hint="Check the rights and the owner of this file and of its directory.",
        )
    if any(words in low for words in _DAMAGED):
        return RecordsError(f"the records at {place} are damaged: {message}", hint=RESTORE)
    return _make_failed(message, place)


def _translate_postgres(error: Exception, message: str, place: str) -> OctavoError:
    if any(words in message for words in _POOLED):
        return RecordsError(
            f"between Octavo and the records at {place} is a pooler in transaction mode, like PgBouncer",
            hint="Add ?pgbouncer=true to OCTAVO_RECORDS_URL, or connect to PostgreSQL itself.",
        )
    match read_sqlstate(error):
        case "55P03" | "40P01" | "40001":
            return _make_busy(place)
        case "57014":
            return LibraryBusy(
                f"the records at {place} took too long to answer", hint="Try again in a moment."
            )
        case "53100":
            return StorageLow(f"the disk of {place} is full", hint="Free some space there and try again.")
        case "53300" | "53400":
            return Overloaded(
                f"the records at {place} take no more connections",
                retry_after=1.0,
                hint="Lower OCTAVO_RECORDS_POOL, or raise max_connections of the server.",
            )
        case "28P01" | "28000":
            return RecordsError(
                f"the records at {place} refuse this user or password",
                hint="Check the user and the password in OCTAVO_RECORDS_URL.",
            )
        case "3D000":
            return RecordsError(
                f"there is no database at {place}", hint="Make it with `createdb`, or correct the address."
            )
        case "42501" | "25006":
            return RecordsError(
                f"the records at {place} may not be changed: {message}",
                hint="The user must own the database, and the server must not be a standby.",
            )
        case "22021":
            return InvalidValue("text", "must hold no NUL", "a text with one")
    if is_lost(error):
        return LibraryBusy(
            f"the records at {place} cannot be reached: {message or type(error).__name__}",
            hint="Check that the database server runs, and try again.",
        )
    return _make_failed(message, place)


def _make_busy(place: str) -> LibraryBusy:
    return LibraryBusy(
        f"the records at {place} are being changed by another process", hint="Try again in a moment."
    )


def _make_failed(message: str, place: str) -> RecordsError:
    return RecordsError(
        f"the records at {place} failed: {message}", hint="`octavo doctor` checks the library."
    )
