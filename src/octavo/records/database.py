"""The database behind the records, in SQLite or PostgreSQL: how it is opened, read, changed and locked.

A change is one transaction: it is on the disk when the `begin` block ends, or it never was. Readers are not
held up by it. A SQLite file has one writer at a time; in PostgreSQL only changes with the same `turn` wait
for each other. A server that is away is waited for, five seconds at most. Every failure of the database
becomes one of our errors, with the place and what to do about it.

Locks that several instances agree on are advisory locks of the PostgreSQL server. Each is held by a
connection of its own while the block runs. A process that dies, or loses the connection, has released it at
that moment: nothing has to be cleaned up, and no clock is involved.

PgBouncer in transaction mode gives each transaction another connection to the server. So with
`?pgbouncer=true` everything is in a transaction, reading and waiting under a lock too, no statement stays
prepared, and the server's settings are set in each transaction.
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
    TextClause,
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

from octavo.concurrency import RetryPolicy, complete, retry, run_writing
from octavo.errors import LibraryBusy, RecordsError, require_extra
from octavo.records.errors import is_lost, report_damage, translate_errors
from octavo.records.tables import HEAD

SERVER_SECONDS, RETRY_PAUSE = 5.0, 0.1
"""For how long a server that is away is tried again, and the pause between two tries."""
TURN_SECONDS = 60
"""How long a transaction waits for its turn: another instance may be writing a whole book."""
CONNECTIONS = 10
PRAGMAS = (
    "busy_timeout = 5000",
    "journal_mode = WAL",
    "synchronous = FULL",
    "foreign_keys = ON",
    "cell_size_check = ON",
    "secure_delete = ON",
)
SERVER_SETTINGS = {
    "application_name": "octavo",
    "statement_timeout": "60000",
    "lock_timeout": "5000",
    "idle_in_transaction_session_timeout": "120000",
    "jit": "off",
}
_CLOSE_SECONDS = 5.0
_LOCK_PAUSE = 0.1
# A lock of the session, or of the transaction; exclusive, or shared.
_TRY_LOCK = {
    (False, False): text("SELECT pg_try_advisory_lock(:number)"),
    (False, True): text("SELECT pg_try_advisory_lock_shared(:number)"),
    (True, False): text("SELECT pg_try_advisory_xact_lock(:number)"),
    (True, True): text("SELECT pg_try_advisory_xact_lock_shared(:number)"),
}
_WAIT_TURN = text("SELECT pg_advisory_xact_lock(:number)")
_REVISION: Select[Any] = select(column("version_num")).select_from(table("alembic_version"))
_ADDRESS_HINT = "It looks like postgresql://user:password@host/name, or is the path of a file."
_POSTGRES_DRIVERS = ("postgresql", "postgres", "postgresql+asyncpg", "postgres+asyncpg")
_KNOWN_OPTIONS = {"host", "port", "ssl"}
_POOLER = "pgbouncer"
# Statements that stay prepared on one connection to the server cannot be found on the next.
_UNPREPARED: Mapping[str, Any] = {
    "statement_cache_size": 0,
    "prepared_statement_cache_size": 0,
    "prepared_statement_name_func": lambda: "",
}
_IGNORED_OPTIONS = {"channel_binding", "application_name", "connect_timeout", "target_session_attrs"}
T = TypeVar("T")


class Database:
    """An open database. `place` is what messages call it."""

    def __init__(
        self,
        engine: AsyncEngine,
        *,
        place: str,
        file: Path | None,
        locks: Locks | None,
        pooled: bool = False,
    ) -> None:
        self.place = place
        self._pooled = pooled
        self._engine = engine
        self._file = file
        self._locks = locks
        self._sync_engine = None if file is None else _create_sync_engine(file)
        # Under the write lock only. Reading has a connection of its own, in another thread.
        self._write_engine = None if file is None else _create_sync_engine(file)
        self._write_lock = asyncio.Lock() if file else nullcontext()

    @classmethod
    async def open(cls, where: Path | str, *, connections: int = CONNECTIONS) -> Database:
        """Opens a SQLite file, or the database at a URL, and brings its schema up to date."""
        url = parse_address(where)
        place = format_address(url)
        if url.get_backend_name() == "sqlite":
            database = cls(_create_sqlite_engine(url), place=place, file=Path(url.database or ""), locks=None)
        else:
            require_extra("postgres")
            pooled = is_pooled(where)
            locks = Locks(url, place=place, seconds=SERVER_SECONDS, pooled=pooled)
            engine = _create_postgres_engine(url, connections, pooled=pooled)
            database = cls(engine, place=place, file=None, locks=locks, pooled=pooled)
        try:
            await database._migrate()
        except BaseException:
            await database.close()
            raise
        return database

    async def close(self) -> None:
        with translate_errors(self.place):
            await self._engine.dispose()
            for engine in (self._sync_engine, self._write_engine):
                if engine is not None:
                    engine.dispose()

    @property
    def is_sqlite(self) -> bool:
        return self._file is not None

    @property
    def is_shared(self) -> bool:
        """Whether other instances, on this machine or elsewhere, may read and change it too."""
        return self._locks is not None

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[AsyncConnection]:
        """Opens a connection for one statement, which sees one state of the records."""
        with translate_errors(self.place):
            async with self._connect("" if self.is_sqlite else "SELECT 1") as connection:
                with report_damage(self.place):
                    yield connection

    async def look_up(self, statement: Select[Any], parameters: Mapping[str, object]) -> Sequence[Row[Any]]:
        """Fetches a few rows by their keys. A local file is read at once, which is faster than a thread."""
        with translate_errors(self.place):
            if self._sync_engine is not None:
                with self._sync_engine.connect() as connection:
                    local: Sequence[Row[Any]] = connection.execute(statement, parameters).all()
                    return local

            async def fetch() -> Sequence[Row[Any]]:
                remote = self._engine.connect()
                try:
                    await _start(remote)
                    if self._pooled:
                        await _apply_settings(remote)
                    found: Sequence[Row[Any]] = (await remote.execute(statement, parameters)).all()
                    return found
                finally:
                    await _close(remote)

            return await _retry_lost(fetch)

    @asynccontextmanager
    async def begin(self, turn: str = "") -> AsyncIterator[AsyncConnection]:
        """Opens a transaction: it is whole and on the disk when the block ends, and undone when it raises.

        Transactions with the same `turn` run one after the other, in all processes. A file has one writer at
        a time: those of this process wait for each other however long that takes.
        """
        first = "BEGIN IMMEDIATE" if self.is_sqlite else "BEGIN"
        with translate_errors(self.place):
            async with self._write_lock, self._connect(first) as connection:
                try:
                    if turn and not self.is_sqlite:
                        await connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{TURN_SECONDS}s'")
                        await connection.execute(_WAIT_TURN, {"number": hash_lock_name(turn)})
                    with report_damage(self.place):
                        yield connection
                    await (connection.commit() if self._pooled else connection.exec_driver_sql("COMMIT"))
                except BaseException:
                    await complete(_roll_back(connection, pooled=self._pooled))
                    raise

    async def change(self, work: Callable[[Connection], T], *, turn: str = "") -> T:
        """Runs `work` in a transaction, as the block of `begin`, and returns what it returns.

        In a local file all of it runs in one thread. With `begin` each statement is handed to a thread and
        back, which takes longer than most statements do.
        """
        engine = self._write_engine
        if engine is None:
            async with self.begin(turn) as connection:
                return await connection.run_sync(work)
        with translate_errors(self.place):
            async with self._write_lock:
                return await run_writing(self._change_file, engine, work)

    def _change_file(self, engine: Engine, work: Callable[[Connection], T]) -> T:
        with engine.connect() as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            try:
                with report_damage(self.place):
                    result = work(connection)
                connection.exec_driver_sql("COMMIT")
            except BaseException:
                # Some errors, like that of a full disk, have ended the transaction already.
                if getattr(connection.connection.driver_connection, "in_transaction", False):
                    connection.exec_driver_sql("ROLLBACK")
                raise
        return result

    @asynccontextmanager
    async def lock(self, name: str, *, wait: float = SERVER_SECONDS) -> AsyncIterator[None]:
        """Locks `name` against other instances, for longer than one transaction may last.

        Raises `LibraryBusy` when another holds it for longer than `wait`. A SQLite file has no other
        instances.
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
        """Tries to lock `name` against other instances; yields whether that worked in time.

        Shared locks exclude only exclusive ones.
        """
        if self._locks is None:
            yield True
            return
        async with self._locks.acquire(name, shared=shared, wait=wait) as granted:
            yield granted

    @asynccontextmanager
    async def _connect(self, first: str) -> AsyncIterator[AsyncConnection]:
        """Opens a connection and runs `first` on it, retrying for a while when the server is away."""

        async def start() -> AsyncConnection:
            connection = self._engine.connect()
            try:
                await (connection.start() if self.is_sqlite else _start(connection))
                if self._pooled:
                    # This begins the transaction.
                    await _apply_settings(connection)
                elif first:
                    await connection.exec_driver_sql(first)
            except BaseException:
                await _close(connection)
                raise
            return connection

        connection = await (start() if self.is_sqlite else _retry_lost(start))
        try:
            yield connection
        finally:
            await _close(connection)

    async def _migrate(self) -> None:
        if await self._read_current_revision() != HEAD:
            # Another instance may have migrated it while this one waited for its turn.
            async with self.begin("the tables") as connection:
                if not self.is_sqlite:
                    await connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
                await connection.run_sync(self._upgrade)

    async def _read_current_revision(self) -> str | None:
        if self._sync_engine is not None:
            # This also reports, without a thread, that a file cannot be opened.
            with translate_errors(self.place), self._sync_engine.connect() as connection:
                return _read_revision(connection)
        async with self.connect() as remote:
            return await remote.run_sync(_read_revision)

    def _upgrade(self, connection: Connection) -> None:
        from octavo.records.migrations import upgrade

        if _read_revision(connection) != HEAD:
            upgrade(connection, file=self._file)


class Locks:
    """The advisory locks of one PostgreSQL database."""

    def __init__(self, url: URL, *, place: str, seconds: float, pooled: bool = False) -> None:
        self._place, self._pooled = place, pooled
        arguments = {"timeout": seconds, **(_UNPREPARED if pooled else {})}
        level: dict[str, Any] = {} if pooled else {"isolation_level": "AUTOCOMMIT"}
        self._engine = create_async_engine(url, poolclass=NullPool, connect_args=arguments, **level)

    @asynccontextmanager
    async def acquire(self, name: str, *, shared: bool, wait: float) -> AsyncIterator[bool]:
        """Yields whether the lock was granted in time. Shared locks exclude only exclusive ones."""
        connection = self._engine.connect()
        try:
            with translate_errors(self._place):
                await _start(connection)
                if self._pooled:
                    # The transaction is open as long as the lock is held.
                    await connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
                statement = _TRY_LOCK[self._pooled, shared]
                granted = await _wait_for_lock(connection, statement, name, wait=wait)
            yield granted
        finally:
            # A connection that is gone holds no lock.
            await _close(connection)


async def _wait_for_lock(
    connection: AsyncConnection, statement: TextClause, name: str, *, wait: float
) -> bool:
    until = time.monotonic() + wait
    while not await connection.scalar(statement, {"number": hash_lock_name(name)}):
        if time.monotonic() >= until:
            return False
        await asyncio.sleep(_LOCK_PAUSE)
    return True


def hash_lock_name(name: str) -> int:
    """Computes the number by which the server knows a lock."""
    return int.from_bytes(sha256(f"octavo {name}".encode()).digest()[:8], "big", signed=True)


async def _retry_lost(work: Callable[[], Awaitable[T]]) -> T:
    """Retries what failed because the server is away. `work` must change nothing before it fails so."""
    policy = RetryPolicy(seconds=SERVER_SECONDS, pause=RETRY_PAUSE)
    return await retry(work, policy, wait_after=lambda error: 0.0 if is_lost(error) else None)


async def _start(connection: AsyncConnection) -> None:
    """Connects. If cancelled, waits for the connection first: half a connection could not be closed."""
    await complete(connection.start())


async def _close(connection: AsyncConnection) -> None:
    """Returns a connection to the pool, or drops it if it was cut off, even if the caller is cancelled."""

    async def close() -> None:
        async with asyncio.timeout(_CLOSE_SECONDS):
            await connection.close()

    with suppress(SQLAlchemyError, OSError):
        # The program may end right after this, and half a closing would leave the connection open.
        await complete(close())


async def _apply_settings(connection: AsyncConnection) -> None:
    """Sets for one transaction what a connection of our own has been given at its start."""
    values = {name: value for name, value in SERVER_SETTINGS.items() if name != "application_name"}
    calls = ", ".join(f"set_config('{name}', '{value}', true)" for name, value in values.items())
    await connection.exec_driver_sql(f"SELECT {calls}")


async def _roll_back(connection: AsyncConnection, *, pooled: bool) -> None:
    """Rolls back. A connection that was cut off is dropped, which rolls back too."""
    if not connection.invalidated and not connection.closed:
        try:
            await (connection.rollback() if pooled else connection.exec_driver_sql("ROLLBACK"))
        except SQLAlchemyError:
            await connection.invalidate()


def _create_sqlite_engine(url: URL) -> AsyncEngine:
    file = Path(url.database or "")
    with translate_errors(str(file)):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        engine = create_async_engine(url, isolation_level="AUTOCOMMIT", skip_autocommit_rollback=True)
    event.listen(engine.sync_engine, "connect", _set_pragmas)
    event.listen(engine.sync_engine, "invalidate", _release_write_lock)
    return engine


def _create_postgres_engine(url: URL, connections: int, *, pooled: bool) -> AsyncEngine:
    settings = {"server_settings": {"application_name": "octavo"} if pooled else SERVER_SETTINGS}
    level: dict[str, Any] = (
        {} if pooled else {"isolation_level": "AUTOCOMMIT", "skip_autocommit_rollback": True}
    )
    return create_async_engine(
        url,
        **level,
        pool_size=connections,
        max_overflow=0,
        pool_timeout=SERVER_SECONDS,
        pool_recycle=1800,
        connect_args={"timeout": SERVER_SECONDS, **settings, **(_UNPREPARED if pooled else {})},
    )


def _create_sync_engine(file: Path) -> Engine:
    url = URL.create("sqlite", database=str(file))
    engine = create_engine(
        url, isolation_level="AUTOCOMMIT", skip_autocommit_rollback=True, poolclass=StaticPool
    )
    event.listen(engine, "connect", _set_pragmas)
    return engine


def _set_pragmas(connection: Any, _: object) -> None:
    cursor = connection.cursor()
    for pragma in PRAGMAS:
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _release_write_lock(connection: Any, _: object, __: object) -> None:
    """Rolls back a dropped connection: a call cancelled in mid-statement would keep the write lock."""
    # A closed connection holds nothing.
    with suppress(SQLAlchemyError, sqlite3.Error, ValueError):
        connection.rollback()


def _read_revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(_REVISION).scalar()


def parse_address(where: Path | str) -> URL:
    """Parses a path or a URL into the address that SQLAlchemy takes."""
    if isinstance(where, Path) or "://" not in where:
        return URL.create("sqlite+aiosqlite", database=str(where))
    try:
        given = make_url(where)
    except (ArgumentError, ValueError) as error:
        # The message does not quote the error, which may quote the password.
        raise RecordsError("the address of the records is not a database URL", hint=_ADDRESS_HINT) from error
    if given.drivername in ("sqlite", "sqlite+aiosqlite") and given.database:
        return URL.create("sqlite+aiosqlite", database=given.database)
    if given.drivername not in _POSTGRES_DRIVERS or not given.database:
        raise RecordsError("the records can be in SQLite or in a PostgreSQL database", hint=_ADDRESS_HINT)
    return given.set(drivername="postgresql+asyncpg", query=_read_options(given))


def is_pooled(where: Path | str) -> bool:
    """Whether an address says that PgBouncer, or a pooler like it, stands before the server."""
    if isinstance(where, Path) or "://" not in where:
        return False
    return make_url(where).query.get(_POOLER) == "true"


def format_address(url: URL) -> str:
    """Formats an address for messages: without password and options."""
    if url.get_backend_name() == "sqlite":
        return url.database or ""
    return URL.create(
        "postgresql", url.username, host=url.host, port=url.port, database=url.database
    ).render_as_string()


def _read_options(given: URL) -> dict[str, str | tuple[str, ...]]:
    """Returns the options after `?` under the driver's names, without those that only other drivers know."""
    options = {key: value for key, value in given.query.items() if key not in _IGNORED_OPTIONS}
    if options.pop(_POOLER, "true") not in ("true", "false"):
        raise RecordsError(
            f"the address of the records has a wrong value for {_POOLER}", hint="It is true or false."
        )
    if "sslmode" in options:
        options["ssl"] = options.pop("sslmode")
    unknown = sorted(options.keys() - _KNOWN_OPTIONS)
    if unknown:
        raise RecordsError(
            f"the address of the records has an unknown option: {', '.join(unknown)}",
            hint="Use host, port, sslmode or pgbouncer.",
        )
    return options
