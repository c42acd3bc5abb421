"""A real PostgreSQL for the tests: started when the first test wants it, stopped when the last is done.

The server belongs to one test process, listens on 127.0.0.1 and on a socket in a folder of its own, and does
not wait for the disk. PostgreSQL refuses to run as root, so root's tests run it as the user `postgres`. It
dies with the process that started it, however that ends.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import asyncpg

from tests.support.patience import PATIENCE

USER, PASSWORD = "octavo", "ninety nine sheep"
SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "shared_buffers": "32MB",
    "max_connections": "60",
    "autovacuum": "off",
    "log_min_messages": "fatal",
    "timezone": "UTC",
}
INSTALL = (
    "The tests need PostgreSQL: install Debian's package `postgresql`, or put initdb and postgres on PATH."
)
T = TypeVar("T")


def find_program(name: str) -> str:
    """The newest of what Debian installed beside PATH, or what is on it."""
    versions = Path("/usr/lib/postgresql").glob(f"*/bin/{name}")
    newest = sorted(versions, key=lambda path: float(path.parts[-3]))
    found = shutil.which(name) or (str(newest[-1]) if newest else None)
    assert found is not None, INSTALL
    return found


class PostgresServer:
    """One cluster with its server, which can be stopped and started again."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="octavo-pg-"))
        self.port = 0
        self._account = pwd.getpwnam("postgres") if os.geteuid() == 0 else None
        self._process: subprocess.Popen[bytes] | None = None
        self._databases = 0
        try:
            if self._account is not None:
                os.chown(self.folder, self._account.pw_uid, self._account.pw_gid)
            self._make()
            self.start()
            run_in_thread(lambda: self._run("CREATE DATABASE waiting"))
        except BaseException:
            self.close()
            raise

    def url(self, database: str) -> str:
        """By the socket, where no password is asked for."""
        return f"postgresql://{USER}@/{database}?host={self.folder}&port={self.port}"

    def network_url(self, database: str, *, password: str = PASSWORD) -> str:
        return f"postgresql://{USER}:{password.replace(' ', '%20')}@127.0.0.1:{self.port}/{database}"

    def database(self) -> str:
        """The name of a new, empty database."""
        self._databases += 1
        name = f"library_{self._databases}"
        run_in_thread(lambda: self._run(f"CREATE DATABASE {name}"))
        return name

    def start(self) -> None:
        """Starts the server, on a port that is free; after a stop, on the same one.

        To be called in the main thread: the server ends with the thread that started it.
        """
        for _ in range(5):
            self.port = self.port or find_free_port()
            options = {**SETTINGS, "port": self.port, "unix_socket_directories": self.folder}
            options |= {"listen_addresses": "127.0.0.1"}
            given = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
            self._process = self._popen(find_program("postgres"), "-D", str(self.folder / "data"), *given)
            if self._answers():
                return
            self.port = 0
        raise AssertionError(f"PostgreSQL does not start: {(self.folder / 'log').read_text()}")

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT cuts every connection and stops; SIGQUIT stops at once, like a crash."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(PATIENCE)
            self._process = None

    def close(self) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _make(self) -> None:
        (self.folder / "password").write_text(PASSWORD)
        (self.folder / "password").chmod(0o644)
        made = self._popen(
            *(
                find_program("initdb"),
                "-D",
                str(self.folder / "data"),
                "-U",
                USER,
                "-E",
                "UTF8",
                "--locale=C",
            ),
            *("--no-sync", "--auth-local=trust", "--auth-host=scram-sha-256"),
            f"--pwfile={self.folder / 'password'}",
        )
        assert made.wait(PATIENCE) == 0, (self.folder / "log").read_text()

    def _popen(self, *command: str) -> subprocess.Popen[bytes]:
        account = self._account
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                command,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                user=None if account is None else account.pw_uid,
                group=None if account is None else account.pw_gid,
                extra_groups=None if account is None else [],
                env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"},
                preexec_fn=_die_with_parent,
            )

    def _answers(self) -> bool:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self._process is None or self._process.poll() is not None:
                return False
            try:
                run_in_thread(lambda: self._run("SELECT 1"))
                return True
            except (OSError, asyncpg.PostgresError):
                time.sleep(0.05)
        return False

    async def _run(self, statement: str) -> None:
        there = await asyncpg.connect(self.url("postgres"))
        try:
            await there.execute(statement)
        finally:
            await there.close()


class PostgresDatabase:
    """A database on the server, to be looked into and meddled with from outside."""

    def __init__(self, server: PostgresServer, name: str) -> None:
        self.server, self.name = server, name
        self.url = server.url(name)

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        async def fetched() -> list[tuple[Any, ...]]:
            there = await asyncpg.connect(self.url)
            try:
                return [tuple(row) for row in await there.fetch(statement)]
            finally:
                await there.close()

        return run_in_thread(fetched)

    def empty(self) -> None:
        """Throws out everybody who is still there, and every row."""
        self.rows(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        named = self.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        tables = ", ".join(f'"{name}"' for (name,) in named if name != "alembic_version")
        if tables:
            self.rows(f"TRUNCATE {tables} CASCADE")


def find_free_port() -> int:
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return int(trial.getsockname()[1])


def run_in_thread(work: Callable[[], Awaitable[T]]) -> T:
    """Runs a coroutine to its end from anywhere, also from inside another loop."""
    results: list[T] = []
    failures: list[BaseException] = []

    async def awaited() -> T:
        return await work()

    def run() -> None:
        try:
            results.append(asyncio.run(awaited()))
        except BaseException as failure:
            failures.append(failure)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
    return results[0]


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGQUIT)
