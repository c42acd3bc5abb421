"""The database behind the records: how it is opened, how it is read and changed, and what its failures mean.

A change is one transaction: it is on the disk when the `writing` block ends, or it never was. Readers are
not held up by it. Whatever the database says goes wrong becomes one of our errors, with the place and what
to do about it.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Connection,
    Engine,
    Row,
    Select,
    StaticPool,
    column,
    create_engine,
    event,
    inspect,
    select,
    table,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from octavo.errors import LibraryBusy, OctavoError, RecordsError, StorageLow
from octavo.schema import HEAD

PRAGMAS = (
    "busy_timeout = 5000",
    "journal_mode = WAL",
    "synchronous = FULL",
    "foreign_keys = ON",
    "cell_size_check = ON",
)
RESTORE = "Restore the file from a backup, or move it away and add the books again."
_VERSION: Select[Any] = select(column("version_num")).select_from(table("alembic_version"))


class Database:
    """An open database. `place` is what messages call it."""

    def __init__(self, engine: AsyncEngine, *, place: str, file: Path | None) -> None:
        self.place = place
        self._engine = engine
        self._file = file
        self._begin = "BEGIN IMMEDIATE" if file is not None else "BEGIN"
        self._nearby = None if file is None else _nearby(file)

    @classmethod
    async def open(cls, where: Path | str) -> Database:
        """Opens a SQLite file, or the database at a URL, and brings its schema up to date."""
        url = _url(where)
        file = Path(url.database or "") if url.get_backend_name() == "sqlite" else None
        place = str(file) if file is not None else url.render_as_string(hide_password=True)
        with translated(place):
            if file is not None:
                file.parent.mkdir(parents=True, exist_ok=True)
            engine = create_async_engine(url, isolation_level="AUTOCOMMIT", skip_autocommit_rollback=True)
        if file is not None:
            event.listen(engine.sync_engine, "connect", _prepare)
            event.listen(engine.sync_engine, "invalidate", _let_go)
        opened = cls(engine, place=place, file=file)
        try:
            await opened._bring_up_to_date()
        except BaseException:
            await opened.close()
            raise
        return opened

    async def close(self) -> None:
        with translated(self.place):
            await self._engine.dispose()
            if self._nearby is not None:
                self._nearby.dispose()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """For one statement, which sees one state of the records. A row that makes no sense is damage."""
        with translated(self.place):
            async with self._engine.connect() as connection:
                with sense(self.place):
                    yield connection

    async def look_up(self, statement: Select[Any], parameters: Mapping[str, object]) -> Sequence[Row[Any]]:
        """A few rows by their keys: from a local file, sooner than a thread could be asked for them."""
        with translated(self.place):
            if self._nearby is not None:
                with self._nearby.connect() as connection:
                    near: Sequence[Row[Any]] = connection.execute(statement, parameters).all()
                    return near
            async with self._engine.connect() as distant:
                far: Sequence[Row[Any]] = (await distant.execute(statement, parameters)).all()
                return far

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection]:
        """A transaction: whole and on the disk when the block ends, undone when it raises."""
        with translated(self.place):
            async with self._engine.connect() as connection:
                try:
                    await connection.exec_driver_sql(self._begin)
                    with sense(self.place):
                        yield connection
                    await connection.exec_driver_sql("COMMIT")
                except BaseException:
                    await asyncio.shield(_roll_back(connection))
                    raise

    @property
    def is_sqlite(self) -> bool:
        return self._file is not None

    async def _bring_up_to_date(self) -> None:
        if await self._current() != HEAD:
            async with self.writing() as connection:  # whoever came first has done it when we get in
                await connection.run_sync(self._upgrade)

    async def _current(self) -> str | None:
        with translated(self.place):
            if self._nearby is not None:  # also finds out, without a thread, that a file cannot be opened
                with self._nearby.connect() as connection:
                    return _version(connection)
            async with self._engine.connect() as distant:
                return await distant.run_sync(_version)

    def _upgrade(self, connection: Connection) -> None:
        from octavo.migrations import upgrade

        if _version(connection) != HEAD:
            upgrade(connection, file=self._file)


async def _roll_back(connection: AsyncConnection) -> None:
    """Undoes what is open. A connection that was cut off in mid-call is thrown away, which undoes it too."""
    if not connection.invalidated and not connection.closed:
        try:
            await connection.exec_driver_sql("ROLLBACK")
        except SQLAlchemyError:
            await connection.invalidate()


def _url(where: Path | str) -> URL:
    if isinstance(where, Path) or "://" not in where:
        return URL.create("sqlite+aiosqlite", database=str(where))
    try:
        return make_url(where)
    except ArgumentError as error:
        raise RecordsError(
            "the address of the records is not a database URL",
            hint="It looks like postgresql+asyncpg://user:password@host/name, or is the path of a file.",
        ) from error


def _nearby(file: Path) -> Engine:
    url = URL.create("sqlite", database=str(file))
    engine = create_engine(
        url, isolation_level="AUTOCOMMIT", skip_autocommit_rollback=True, poolclass=StaticPool
    )
    event.listen(engine, "connect", _prepare)
    return engine


def _prepare(connection: Any, _: object) -> None:
    cursor = connection.cursor()
    for pragma in PRAGMAS:
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _let_go(connection: Any, _: object, __: object) -> None:
    """A call cancelled in mid-statement would keep the write lock long after its connection is gone."""
    with suppress(SQLAlchemyError, sqlite3.Error, ValueError):  # what is closed already holds nothing
        connection.rollback()


def _version(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(_VERSION).scalar()


@contextmanager
def sense(place: str) -> Iterator[None]:
    """Rows that break the rules of the types, or are no JSON, were not written by us."""
    try:
        yield
    except (ValueError, TypeError, KeyError) as error:
        raise RecordsError(f"the records at {place} are damaged: {error}", hint=RESTORE) from error


@contextmanager
def translated(place: str) -> Iterator[None]:
    """What the database raises inside, as one of our errors."""
    try:
        yield
    except OctavoError:
        raise
    except (SQLAlchemyError, sqlite3.Error, OSError, UnicodeDecodeError) as error:
        raise _ours(error, place) from error  # SQLite quotes a damaged schema as it finds it: not in UTF-8


def _ours(error: Exception, place: str) -> OctavoError:
    said = " ".join(str(getattr(error, "orig", None) or error).split())[:300]
    low = said.lower()
    if "is locked" in low or "is busy" in low:
        return LibraryBusy(
            f"the records at {place} are being changed by another process", hint="Try again in a moment."
        )
    if "disk is full" in low or "no space left" in low:
        return StorageLow(f"the disk of {place} is full", hint="Free some space and try again.")
    if any(
        words in low for words in ("readonly", "unable to open", "permission", "read-only", "is a directory")
    ):
        return RecordsError(
            f"the records at {place} cannot be opened for writing: {said}",
            hint="Check the rights and the owner of this file and of its directory.",
        )
    if any(words in low for words in ("malformed", "not a database", "decode", "corrupt")):
        return RecordsError(f"the records at {place} are damaged: {said}", hint=RESTORE)
    return RecordsError(f"the records at {place} failed: {said}", hint="`octavo doctor` checks the library.")
