"""The database behind the records: how it is opened, how it is read and changed, and who waits for whom.

A change is one transaction: it is on the disk when the `writing` block ends, or it never was. Readers are
not held up by it. A SQLite file has one writer at a time; in PostgreSQL only changes that name the same turn
wait for each other. A server that is away is waited for, five seconds at most. Whatever the database says
goes wrong becomes one of our errors, with the place and what to do about it.

Where the records are: the path of a SQLite file, or the address of a PostgreSQL database.

Locks that several instances of Octavo agree on, kept by the PostgreSQL server that they share.

Each lock is held by a connection of its own for as long as the block runs. Whoever dies, or loses the
connection, has let go of it at that moment: nothing has to be cleaned up, and no clock is asked.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import (
    Connection,
    Engine,
    NullPool,
    Row,
    Select,
    StaticPool,
    column,
    create_engine,
    event,
    inspect,
    select,
    table,
    text,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from octavo.errors import LibraryBusy, RecordsError, require_extra
from octavo.records.errors import is_lost, report_damage, translate_errors
from octavo.records.tables import HEAD

_HINT = "It looks like postgresql://user:password@host/name, or is the path of a file."
_POSTGRES = ("postgresql", "postgres", "postgresql+asyncpg", "postgres+asyncpg")
_KNOWN = {"host", "port", "ssl"}
_WITHOUT_MEANING = {"channel_binding", "application_name", "connect_timeout", "target_session_attrs"}


def parse_address(where: Path | str) -> URL:
    """The address as SQLAlchemy takes it, however it was spelled."""
    if isinstance(where, Path) or "://" not in where:
        return URL.create("sqlite+aiosqlite", database=str(where))
    try:
        given = make_url(where)
    except (ArgumentError, ValueError) as error:  # of which neither is told: it may quote the password
        raise RecordsError("the address of the records is not a database URL", hint=_HINT) from error
    if given.drivername in ("sqlite", "sqlite+aiosqlite") and given.database:
        return URL.create("sqlite+aiosqlite", database=given.database)
    if given.drivername not in _POSTGRES or not given.database:
        raise RecordsError("the records can be in SQLite or in a PostgreSQL database", hint=_HINT)
    return given.set(drivername="postgresql+asyncpg", query=_options(given))


def format_address(url: URL) -> str:
    """The address for people: no password, nothing after the name."""
    if url.get_backend_name() == "sqlite":
        return url.database or ""
    return URL.create(
        "postgresql", url.username, host=url.host, port=url.port, database=url.database
    ).render_as_string()


def _options(given: URL) -> dict[str, str | tuple[str, ...]]:
    """What stands after `?`, in the words of the driver; what other drivers know is left out."""
    options = {key: value for key, value in given.query.items() if key not in _WITHOUT_MEANING}
    if "sslmode" in options:
        options["ssl"] = options.pop("sslmode")
    unknown = sorted(options.keys() - _KNOWN)
    if unknown:
        raise RecordsError(
            f"the address of the records has an option that is not known: {', '.join(unknown)}",
            hint="Known are host, port and sslmode.",
        )
    return options


_TRY = {
    False: text("SELECT pg_try_advisory_lock(:number)"),
    True: text("SELECT pg_try_advisory_lock_shared(:number)"),
}
_OFTEN = 0.1


class Locks:
    """The locks of one database."""

    def __init__(self, url: URL, *, place: str, seconds: float) -> None:
        self._place = place
        self._engine = create_async_engine(
            url, isolation_level="AUTOCOMMIT", poolclass=NullPool, connect_args={"timeout": seconds}
        )

    @asynccontextmanager
    async def acquire(self, name: str, *, shared: bool, wait: float) -> AsyncIterator[bool]:
        """Says whether the lock could be had in time. Those who share it keep out only who does not."""
        connection = self._engine.connect()
        try:
            with translate_errors(self._place):
                await connection.start()
                granted = await _granted(connection, name, shared=shared, wait=wait)
            yield granted
        finally:
            with suppress(SQLAlchemyError, OSError):  # a connection that is gone holds nothing
                await asyncio.shield(connection.close())


async def _granted(connection: AsyncConnection, name: str, *, shared: bool, wait: float) -> bool:
    until = time.monotonic() + wait
    while not await connection.scalar(_TRY[shared], {"number": hash_lock_name(name)}):
        if time.monotonic() >= until:
            return False
        await asyncio.sleep(_OFTEN)
    return True


def hash_lock_name(name: str) -> int:
    """The number by which the server knows a lock."""
    return int.from_bytes(sha256(f"octavo {name}".encode()).digest()[:8], "big", signed=True)


__all__ = ["Database", "report_damage", "translate_errors"]

PRAGMAS = (
    "busy_timeout = 5000",
    "journal_mode = WAL",
    "synchronous = FULL",
    "foreign_keys = ON",
    "cell_size_check = ON",
)
SERVER = {
    "application_name": "octavo",
    "statement_timeout": "60000",
    "lock_timeout": "5000",
    "idle_in_transaction_session_timeout": "120000",
    "jit": "off",
}
PATIENCE, OFTEN = 5.0, 0.1  # seconds for which a server that is away is asked again, and how often
TURN_SECONDS = 60  # a turn may have to wait until another instance has written a whole book
CONNECTIONS = 10
_TURN = text("SELECT pg_advisory_xact_lock(:number)")
_VERSION: Select[Any] = select(column("version_num")).select_from(table("alembic_version"))
T = TypeVar("T")


class Database:
    """An open database. `place` is what messages call it."""

    def __init__(self, engine: AsyncEngine, *, place: str, file: Path | None, locks: Locks | None) -> None:
        self.place = place
        self._engine = engine
        self._file = file
        self._locks = locks
        self._nearby = None if file is None else _nearby(file)
        self._pen = asyncio.Lock() if file else nullcontext()

    @classmethod
    async def open(cls, where: Path | str, *, connections: int = CONNECTIONS) -> Database:
        """Opens a SQLite file, or the database at a URL, and brings its schema up to date."""
        url = parse_address(where)
        place = format_address(url)
        if url.get_backend_name() == "sqlite":
            opened = cls(_local(url), place=place, file=Path(url.database or ""), locks=None)
        else:
            require_extra("postgres")
            locks = Locks(url, place=place, seconds=PATIENCE)
            opened = cls(_distant(url, connections), place=place, file=None, locks=locks)
        try:
            await opened._bring_up_to_date()
        except BaseException:
            await opened.close()
            raise
        return opened

    async def close(self) -> None:
        with translate_errors(self.place):
            await self._engine.dispose()
            if self._nearby is not None:
                self._nearby.dispose()

    @property
    def is_sqlite(self) -> bool:
        return self._file is not None

    @property
    def is_shared(self) -> bool:
        """Whether other instances, on this machine or elsewhere, may be reading and changing it as well."""
        return self._locks is not None

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[AsyncConnection]:
        """For one statement, which sees one state of the records. A row that makes no sense is damage."""
        with translate_errors(self.place):
            async with self._connect("" if self.is_sqlite else "SELECT 1") as connection:
                with report_damage(self.place):
                    yield connection

    async def look_up(self, statement: Select[Any], parameters: Mapping[str, object]) -> Sequence[Row[Any]]:
        """A few rows by their keys: from a local file, sooner than a thread could be asked for them."""
        with translate_errors(self.place):
            if self._nearby is not None:
                with self._nearby.connect() as connection:
                    near: Sequence[Row[Any]] = connection.execute(statement, parameters).all()
                    return near

            async def fetched() -> Sequence[Row[Any]]:
                distant = self._engine.connect()
                try:
                    await _started(distant)
                    far: Sequence[Row[Any]] = (await distant.execute(statement, parameters)).all()
                    return far
                finally:
                    await _closed(distant)

            return await _patiently(fetched)

    @asynccontextmanager
    async def begin(self, turn: str = "") -> AsyncIterator[AsyncConnection]:
        """A transaction: whole and on the disk when the block ends, undone when it raises.

        Those with the same `turn` come one after the other, whichever process they are in. A file has one
        writer at a time: those of this process wait for each other however long that takes.
        """
        first = "BEGIN IMMEDIATE" if self.is_sqlite else "BEGIN"
        with translate_errors(self.place):
            async with self._pen, self._connect(first) as connection:
                try:
                    if turn and not self.is_sqlite:
                        await connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{TURN_SECONDS}s'")
                        await connection.execute(_TURN, {"number": hash_lock_name(turn)})
                    with report_damage(self.place):
                        yield connection
                    await connection.exec_driver_sql("COMMIT")
                except BaseException:
                    await asyncio.shield(_roll_back(connection))
                    raise

    @asynccontextmanager
    async def lock(self, name: str, *, wait: float = PATIENCE) -> AsyncIterator[None]:
        """Keeps other instances from what is called `name`, for longer than one transaction may last.

        `LibraryBusy` when one of them keeps it for longer than we would wait. Nobody shares a file with us.
        """
        async with self.try_lock(name, wait=wait) as granted:
            if not granted:
                raise LibraryBusy(
                    f"another instance is working on {name} in the records at {self.place}",
                    hint="Try again when it is done.",
                )
            yield

    @asynccontextmanager
    async def try_lock(self, name: str, *, shared: bool = False, wait: float = 0) -> AsyncIterator[bool]:
        """Keeps others from what is called `name`, if that can be had in time; says whether it could.

        Those who share it keep out only those who would not.
        """
        if self._locks is None:
            yield True
            return
        async with self._locks.acquire(name, shared=shared, wait=wait) as granted:
            yield granted

    @asynccontextmanager
    async def _connect(self, first: str) -> AsyncIterator[AsyncConnection]:
        """A connection on which `first` went well: a server that is away is asked again for a while."""

        async def begun() -> AsyncConnection:
            connection = self._engine.connect()
            try:
                await (connection.start() if self.is_sqlite else _started(connection))
                if first:
                    await connection.exec_driver_sql(first)
            except BaseException:
                await _closed(connection)
                raise
            return connection

        connection = await (begun() if self.is_sqlite else _patiently(begun))
        try:
            yield connection
        finally:
            await _closed(connection)

    async def _bring_up_to_date(self) -> None:
        if await self._read_version() != HEAD:
            async with self.begin("the tables") as connection:  # whoever came first has done it by then
                if not self.is_sqlite:
                    await connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
                await connection.run_sync(self._upgrade)

    async def _read_version(self) -> str | None:
        if self._nearby is not None:  # also finds out, without a thread, that a file cannot be opened
            with translate_errors(self.place), self._nearby.connect() as connection:
                return _version(connection)
        async with self.connect() as distant:
            return await distant.run_sync(_version)

    def _upgrade(self, connection: Connection) -> None:
        from octavo.records.migrations import upgrade

        if _version(connection) != HEAD:
            upgrade(connection, file=self._file)


async def _patiently(work: Callable[[], Awaitable[T]]) -> T:
    """Tries again what failed because the server is away. `work` must change nothing before it fails so."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return await work()
        except Exception as error:
            if not is_lost(error) or time.monotonic() >= until:
                raise
        await asyncio.sleep(OFTEN)


async def _started(connection: AsyncConnection) -> None:
    """Connects. Who is cancelled meanwhile waits for that to end: half a connection could not be closed."""
    starting = asyncio.ensure_future(connection.start())
    try:
        await asyncio.shield(starting)
    except asyncio.CancelledError:
        await asyncio.wait([starting])
        raise


async def _closed(connection: AsyncConnection) -> None:
    """Given back, or thrown away if it was cut off, even while the caller is being cancelled."""
    with suppress(SQLAlchemyError, OSError):
        await asyncio.shield(asyncio.ensure_future(connection.close()))


async def _roll_back(connection: AsyncConnection) -> None:
    """Undoes what is open. A connection that was cut off in mid-call is thrown away, which undoes it too."""
    if not connection.invalidated and not connection.closed:
        try:
            await connection.exec_driver_sql("ROLLBACK")
        except SQLAlchemyError:
            await connection.invalidate()


def _local(url: URL) -> AsyncEngine:
    file = Path(url.database or "")
    with translate_errors(str(file)):
        file.parent.mkdir(parents=True, exist_ok=True)
        engine = create_async_engine(url, isolation_level="AUTOCOMMIT", skip_autocommit_rollback=True)
    event.listen(engine.sync_engine, "connect", _prepare)
    event.listen(engine.sync_engine, "invalidate", _let_go)
    return engine


def _distant(url: URL, connections: int) -> AsyncEngine:
    return create_async_engine(
        url,
        isolation_level="AUTOCOMMIT",
        skip_autocommit_rollback=True,
        pool_size=connections,
        max_overflow=0,
        pool_timeout=PATIENCE,
        pool_recycle=1800,
        connect_args={"timeout": PATIENCE, "server_settings": SERVER},
    )


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
