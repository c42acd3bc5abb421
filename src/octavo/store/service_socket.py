"""Where the service that has a library open can be reached by other processes of the same user."""

from __future__ import annotations

import os
import socket
import struct
from pathlib import Path

NAME = "service.sock"
MESSAGE_MOST = 1 << 26
CONNECT_SECONDS = 2.0


def locate_socket(data: Path) -> Path:
    """Return where the socket of the service of a library is. It lies elsewhere if the path is too long."""
    place = data / NAME
    return Path(os.readlink(place)) if place.is_symlink() else place


def is_own(connection: socket.socket) -> bool:
    """Whether the process at the other end belongs to the same user, or to root."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        # Such systems check the permissions of the socket's file alone.
        return True
    _, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, option, struct.calcsize("3i")))
    return user in (os.getuid(), 0)


def is_served(data: Path) -> bool:
    """Whether a service of this user has the library in folder `data` open."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(CONNECT_SECONDS)
        try:
            probe.connect(str(locate_socket(data)))
            return is_own(probe)
        except OSError:
            return False
