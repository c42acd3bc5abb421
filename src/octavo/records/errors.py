"""What a database says when something goes wrong, as one of our errors.

SQLite says it in words, PostgreSQL by five characters (`sqlstate`). A password is in no message. `is_lost`
tells whether the server is away, or has dropped the connection: then the same thing may be tried again.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from octavo.errors import InvalidValue, LibraryBusy, OctavoError, Overloaded, RecordsError, StorageLow

RESTORE = "Restore the file from a backup, or move it away and add the books again."
_AWAY = ("08", "57P01", "57P02", "57P03", "57P05", "25P03")
_CLASS = re.compile(r"^<class '[^']*'>: ")
_WRITABLE = ("readonly", "unable to open", "permission", "read-only", "is a directory")
_DAMAGED = ("malformed", "not a database", "decode", "corrupt")


@contextmanager
def report_damage(place: str) -> Iterator[None]:
    """Rows that break the rules of the types, or are no JSON, were not written by us."""
    try:
        yield
    except (ValueError, TypeError, KeyError) as error:
        raise RecordsError(f"the records at {place} are damaged: {error}", hint=RESTORE) from error


@contextmanager
def translate_errors(place: str) -> Iterator[None]:
    """What the database raises inside, as one of our errors."""
    try:
        yield
    except OctavoError:
        raise
    except Exception as error:
        if not _is_foreign(error):
            raise
        raise _ours(error, place) from error


def is_lost(error: Exception) -> bool:
    """Whether the connection is gone, or none could be made, and the next try may fare better."""
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    state = sqlstate(error)
    return state.startswith(_AWAY) if state else isinstance(error, OSError)


def sqlstate(error: BaseException) -> str:
    """PostgreSQL's five characters for what went wrong; "" where there are none."""
    for said in (error, getattr(error, "orig", None)):
        state = getattr(said, "sqlstate", None)
        if isinstance(state, str):
            return state
    return ""


def _is_foreign(error: Exception) -> bool:
    """From the database or on the way to it. SQLite quotes a damaged schema as it finds it: not in UTF-8."""
    kinds = (SQLAlchemyError, sqlite3.Error, OSError, UnicodeDecodeError)
    return isinstance(error, kinds) or type(error).__module__.partition(".")[0] == "asyncpg"


def _ours(error: Exception, place: str) -> OctavoError:
    said = " ".join(_CLASS.sub("", str(getattr(error, "orig", None) or error)).split())[:300]
    if isinstance(error, PoolTimeout):
        return Overloaded(
            f"all connections to the records at {place} are in use",
            retry_after=1.0,
            hint="Try again in a moment, or raise OCTAVO_RECORDS_POOL.",
        )
    if place.startswith("postgresql:"):
        return _of_a_server(error, said, place)
    return _of_a_file(said, place)


def _of_a_file(said: str, place: str) -> OctavoError:
    low = said.lower()
    if "is locked" in low or "is busy" in low:
        return _busy(place)
    if "disk is full" in low or "no space left" in low:
        return StorageLow(f"the disk of {place} is full", hint="Free some space and try again.")
    if any(words in low for words in _WRITABLE):
        return RecordsError(
            f"the records at {place} cannot be opened for writing: {said}",
            hint="Check the rights and the owner of this file and of its directory.",
        )
    if any(words in low for words in _DAMAGED):
        return RecordsError(f"the records at {place} are damaged: {said}", hint=RESTORE)
    return _failed(said, place)


def _of_a_server(error: Exception, said: str, place: str) -> OctavoError:
    match sqlstate(error):
        case "55P03" | "40P01" | "40001":
            return _busy(place)
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
                f"the records at {place} may not be changed: {said}",
                hint="The user must own the database, and the server must not be a standby.",
            )
        case "22021":
            return InvalidValue("text", "must hold no NUL", "a text with one")
    if is_lost(error):
        return LibraryBusy(
            f"the records at {place} cannot be reached: {said or type(error).__name__}",
            hint="Check that the database server runs; what was being done can be done again.",
        )
    return _failed(said, place)


def _busy(place: str) -> LibraryBusy:
    return LibraryBusy(
        f"the records at {place} are being changed by another process", hint="Try again in a moment."
    )


def _failed(said: str, place: str) -> RecordsError:
    return RecordsError(f"the records at {place} failed: {said}", hint="`octavo doctor` checks the library.")
