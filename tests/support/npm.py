"""What tests need of Node.js and npm: why they cannot be used here, and packages of one day."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping

RELEASED = "2026-07-20"
"""Packages are taken as they were on this day, so that every run gets the same ones."""
ASKING_SECONDS = 60.0
# npm itself waits five minutes for each answer, and asks three times.
_IMPATIENT = {"npm_config_fetch_retries": "0", "npm_config_fetch_timeout": "30000"}
_UNREACHED = re.compile(
    r"npm (?:ERR!|error) (?:code|errno) (?:ERR_SOCKET_TIMEOUT|FETCH_ERROR"
    r"|E(?:5\d\d|429|AI_AGAIN|TIMEDOUT|CONN\w+|NOTFOUND|NETUNREACH|HOSTUNREACH))\b"
)


def find_obstacle(
    environment: Mapping[str, str] = os.environ, *, seconds: float = ASKING_SECONDS
) -> str | None:
    """Say why npm cannot install anything here: Node.js is missing or old, or no registry answers in time."""
    node = shutil.which("node")
    if node is None or shutil.which("npx") is None:
        return "needs Node.js and npm"
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if int(version[1:].split(".")[0]) < 20:
        return f"needs Node.js 20, and found {version}"
    try:
        asked = subprocess.run(
            ["npm", "view", "create-docusaurus@3", "version"],
            capture_output=True,
            text=True,
            check=False,
            env={**environment, **_IMPATIENT},
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return f"needs npm's registry, which did not answer in {seconds:.0f} seconds"
    return None if asked.returncode == 0 else f"needs npm's registry: {asked.stderr[-300:]}"


def lost_registry(said: str) -> bool:
    """Whether npm gave up because its registry was not reached, and not because of what it was asked for."""
    return _UNREACHED.search(said) is not None
