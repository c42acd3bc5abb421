"""A real PgBouncer in transaction mode before the PostgreSQL of the tests, with few connections to share."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.patience import PATIENCE
from tests.support.postgres import USER, PostgresServer, find_free_port

INSTALL = "This test needs PgBouncer: install Debian's package `pgbouncer`, or put pgbouncer on PATH."
CONFIG = """
[databases]
* = host={server.folder} port={server.port} user={user}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {connections}
{more}
"""


@contextmanager
def start_pgbouncer(server: PostgresServer, *, connections: int = 6, more: str = "") -> Iterator[int]:
    """Yield its port. `more` are lines of its configuration."""
    program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    assert program is not None, INSTALL
    folder, port = Path(tempfile.mkdtemp(prefix="octavo-pgbouncer-")), find_free_port()
    config = folder / "pgbouncer.ini"
    config.write_text(CONFIG.format(server=server, user=USER, port=port, connections=connections, more=more))
    # Like PostgreSQL, it refuses to run as root.
    account = pwd.getpwnam("postgres").pw_uid if os.geteuid() == 0 else None
    folder.chmod(0o755)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([program, "-q", str(config)], stdout=log, stderr=log, user=account)
    try:
        _wait_until_it_listens(port, process, folder / "log")
        yield port
    finally:
        process.terminate()
        process.wait(PATIENCE)
        shutil.rmtree(folder)


def _wait_until_it_listens(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text()
        with socket.socket() as trial:
            if trial.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise AssertionError(f"PgBouncer does not listen: {log.read_text()}")
