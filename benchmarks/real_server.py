"""llama.cpp's OpenAI-compatible server in a process of its own, on a loopback address, for real models.

    python benchmarks/real_server.py CODE MODEL.gguf THREADS

is that process: it prints its address and serves until its input ends. `serving` starts and stops it. Nothing
of Octavo is imported there, and nothing of the server here.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

CONTEXT, LONGEST_REPLY = 8_192, 300  # tokens


class NotServing(RuntimeError):
    """The server ended before it had an address."""


@contextmanager
def run_server(code: Path, model: Path, *, threads: int) -> Iterator[str]:
    """The base URL of a server with this model, for as long as the block runs."""
    command = [sys.executable, __file__, str(code), str(model), str(threads)]
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True
        )
        try:
            yield f"{_address(process, said)}/v1"
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
            process.communicate()


def _address(process: subprocess.Popen[str], said: IO[str]) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("http://"):
            return line.strip()
    said.seek(0)
    raise NotServing(said.read()[-2_000:])


def serve(code: str, model: str, threads: int) -> None:
    sys.path.insert(0, code)
    server = importlib.import_module("xllamacpp")
    wanted = server.CommonParams()
    wanted.model.path = model
    wanted.n_ctx, wanted.n_parallel, wanted.n_predict = CONTEXT, 1, LONGEST_REPLY
    wanted.cpuparams.n_threads = wanted.cpuparams_batch.n_threads = threads
    wanted.hostnames, wanted.port = ["127.0.0.1"], 0
    wanted.use_jinja, wanted.ui, wanted.warmup, wanted.verbosity = True, False, False, 1
    running = server.Server(wanted)
    print(running.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], int(sys.argv[3]))
