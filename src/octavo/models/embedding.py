"""Text to unit vectors: on this machine with ONNX Runtime, or at an OpenAI-compatible endpoint.

A text's vector depends on the text alone. The int8 weights scale their activations over the whole batch, so
texts in one batch would change each other's vectors (cosine down to 0.988, see `company` in
`benchmarks/embedding.py`). Hence each text is a batch of its own, without padding, on one thread, and several
texts run in parallel. On one machine the same text always gives the same vector, bit for bit.

`max_pieces` and `count_pieces` count a text's own word pieces, without the marks that the model puts around
it: a text of no more than `max_pieces` is read to its end.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import random
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from octavo.errors import InvalidValue, ModelError, WeightsError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from octavo.models.weights import Weights


_COUNT_BATCH = 1024


class OnnxEmbedder:
    """Runs a graph of `octavo.models`, or any that takes `input_ids` and gives vectors of tokens or texts."""

    def __init__(self, weights: Weights, *, threads: int = 0) -> None:
        self._weights = weights
        self._threads = threads or count_cores()
        self._session = open_session(weights.onnx)
        self._feeds = _list_inputs(self._session, weights)
        outputs = {output.name: output for output in self._session.get_outputs()}
        whole = outputs.get("sentence_embedding")
        self._output = whole or next(iter(outputs.values()))
        self._encoder = load_tokenizer(weights.tokenizer)
        self._encoder.enable_truncation(weights.max_pieces)

    @cached_property
    def fingerprint(self) -> str:
        w = self._weights
        return f"{w.name}:{w.precision}:{w.sha256[:12]}:{w.max_pieces}:{self.dimension}"

    @property
    def replaces(self) -> Collection[str]:
        return self._weights.replaces

    @cached_property
    def dimension(self) -> int:
        size = self._output.shape[-1]
        return size if isinstance(size, int) else len(self.embed(["size"])[0])

    @property
    def max_pieces(self) -> int:
        return self._weights.max_pieces - int(self._encoder.num_special_tokens_to_add(False))

    def count_pieces(self, texts: Sequence[str]) -> list[int]:
        counts: list[int] = []
        for first in range(0, len(texts), _COUNT_BATCH):
            batch = list(texts[first : first + _COUNT_BATCH])
            counts += [len(e) for e in self._counter.encode_batch_fast(batch, add_special_tokens=False)]
        return counts

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        encoded = [e.ids for e in self._encoder.encode_batch_fast(list(texts))]
        return embed_each(self._embed_one, encoded, threads=self._threads)

    @cached_property
    def _counter(self) -> Any:
        """A tokenizer that cuts nothing off: it measures chunks."""
        return load_tokenizer(self._weights.tokenizer)

    def _embed_one(self, ids: list[int]) -> tuple[float, ...]:
        import numpy as np

        values = {"input_ids": ids, "attention_mask": [1] * len(ids), "token_type_ids": [0] * len(ids)}
        feeds = {name: np.array([values[name]], dtype=kind) for name, kind in self._feeds.items()}
        try:
            out = self._session.run([self._output.name], feeds)[0][0]
        except Exception as failed:
            raise ModelError(
                f"{self._weights.onnx} failed on a text of {len(ids)} pieces: {failed}"
            ) from failed
        if out.ndim == 2:
            out = out[0] if self._weights.pooling == "cls" else out.mean(axis=0)
        return normalise(out, where=str(self._weights.onnx))


def open_session(onnx: Path, *, fuse: bool = True) -> Any:
    """Load an ONNX file to run on one thread, with the telemetry of the engine turned off.

    Without `fuse`, the engine runs the operators of the file as they are and puts none together.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    # The variable comes too late where the program has loaded the engine before us.
    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    if not fuse:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    try:
        return onnxruntime.InferenceSession(str(onnx), options, providers=["CPUExecutionProvider"])
    except Exception as failed:
        raise WeightsError(
            f"ONNX Runtime cannot load {onnx}: {failed}", hint="Get the model file again."
        ) from failed


def _list_inputs(session: Any, weights: Weights) -> dict[str, str]:
    """List the inputs that the graph asks for, with their types."""
    feeds = {i.name: "int32" if "int32" in i.type else "int64" for i in session.get_inputs()}
    strange = set(feeds) - {"input_ids", "attention_mask", "token_type_ids"}
    if strange or "input_ids" not in feeds:
        raise WeightsError(
            f"{weights.onnx} asks for {', '.join(sorted(feeds))}, which is not what a text embedder takes",
            hint="Choose a model of text embeddings.",
        )
    return feeds


def load_tokenizer(path: Path) -> Any:
    """Load a tokenizer that neither pads nor cuts."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as failed:
        raise WeightsError(
            f"{path} cannot be read: {failed}", hint="Get the model's files again."
        ) from failed
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def count_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def embed_each(
    embed_one: Callable[[list[int]], tuple[float, ...]], encoded: Sequence[list[int]], *, threads: int
) -> list[tuple[float, ...]]:
    """Embed each text by itself, several in parallel and the longest first, and keep their order."""
    if len(encoded) < 2 or threads == 1:
        return [embed_one(ids) for ids in encoded]
    longest_first = sorted(range(len(encoded)), key=lambda k: -len(encoded[k]))
    with ThreadPoolExecutor(min(threads, len(encoded))) as pool:
        vectors = pool.map(lambda k: embed_one(encoded[k]), longest_first)
        by_place = dict(zip(longest_first, vectors, strict=True))
    return [by_place[k] for k in range(len(encoded))]


def normalise(vector: Sequence[float] | NDArray[np.float32], *, where: str) -> tuple[float, ...]:
    import numpy as np

    try:
        values = np.asarray(vector, dtype=np.float64)
        length = float(np.linalg.norm(values))
    except (TypeError, ValueError) as wrong:
        raise ModelError(f"{where} gave a vector that is not a list of numbers") from wrong
    if values.ndim != 1 or not length > 0 or not math.isfinite(length):
        raise ModelError(f"{where} gave a vector without a direction (length {length})")
    return tuple((values / length).tolist())


class _NoRedirect(HTTPRedirectHandler):
    """A redirect would carry the key to another host."""

    def redirect_request(self, *_: Any) -> None:
        return None


class OpenAIEmbedder:
    """Any server that speaks `POST …/embeddings`. Sizes are counted in UTF-8 bytes, three to a piece.

    The client is urllib's: the core needs no HTTP package for it. It follows no redirect, keeps the key out
    of messages, and obeys Retry-After for up to 30 seconds.
    """

    max_pieces = 512

    def __init__(
        self,
        model: str,
        *,
        url: str,
        key: str = "",
        batch_pieces: int = 4_096,
        timeout: float = 60.0,
        tries: int = 5,
        pause: float = 0.5,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise InvalidValue("embedder_url", "must be an http or https address", url)
        base = url.rstrip("/") if parts.path.strip("/") else f"{url.rstrip('/')}/v1"
        self._url, self._model, self._key = f"{base}/embeddings", model, key
        self._batch_pieces, self._timeout, self._tries, self._pause = batch_pieces, timeout, tries, pause
        self._opener = build_opener(_NoRedirect())

    @cached_property
    def fingerprint(self) -> str:
        endpoint = hashlib.sha256(self._url.encode()).hexdigest()[:12]
        return f"{self._model}:endpoint:{endpoint}:{self.max_pieces}:{self.dimension}"

    @cached_property
    def dimension(self) -> int:
        return len(self.embed(["How long is a vector?"])[0])

    def count_pieces(self, texts: Sequence[str]) -> list[int]:
        return [-(-len(text.encode("utf-8", "replace")) // 3) for text in texts]

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        vectors = [vector for batch in self._split(texts) for vector in self._embed_batch(batch)]
        if len({len(vector) for vector in vectors}) > 1:
            raise ModelError(f"{self._url} gave vectors of different sizes")
        return vectors

    def _split(self, texts: Sequence[str]) -> Iterator[list[str]]:
        batch: list[str] = []
        size = 0
        for text, pieces in zip(texts, self.count_pieces(texts), strict=True):
            if batch and (size + pieces > self._batch_pieces or len(batch) == 64):
                yield batch
                batch, size = [], 0
            batch.append(text)
            size += pieces
        if batch:
            yield batch

    def _embed_batch(self, batch: list[str]) -> list[tuple[float, ...]]:
        raw = self._post(json.dumps({"model": self._model, "input": batch}).encode())
        try:
            rows = sorted(json.loads(raw)["data"], key=lambda row: row["index"])
            vectors = [row["embedding"] for row in rows]
        except (ValueError, KeyError, TypeError) as wrong:
            raise ModelError(
                f"{self._url} gave something other than embeddings: {raw[:200]!r}",
                hint="Check the address: it should end in /v1, before /embeddings.",
            ) from wrong
        if len(vectors) != len(batch):
            raise ModelError(f"{self._url} gave {len(vectors)} vectors for {len(batch)} texts")
        return [normalise(vector, where=self._url) for vector in vectors]

    def _post(self, body: bytes) -> bytes:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = Request(self._url, data=body, headers=headers, method="POST")  # noqa: S310
        problem = ""
        for attempt in range(self._tries):
            wait = self._pause * 2**attempt * random.uniform(0.5, 1.0)
            try:
                with self._opener.open(request, timeout=self._timeout) as response:
                    return bytes(response.read())
            except HTTPError as refused:
                with refused:
                    problem = self._describe_refusal(refused)
                    if refused.code not in (408, 429) and refused.code < 500:
                        raise ModelError(problem, hint=_advise(refused.code)) from refused
                    wait = max(wait, min(30.0, _parse_seconds(refused.headers.get("Retry-After"))))
            except (OSError, HTTPException) as failed:
                problem = f"{self._url} cannot be reached: {failed}"
            if attempt + 1 < self._tries:
                time.sleep(wait)
        raise ModelError(f"{problem} (tried {self._tries} times)", hint="Check that the server is up.")

    def _describe_refusal(self, refused: HTTPError) -> str:
        body = refused.read(2_000).decode("utf-8", "replace")
        if self._key:
            body = body.replace(self._key, "…")
        return f"{self._url} answered {refused.code}: {' '.join(body.split())[:200]}"


def _parse_seconds(header: str | None) -> float:
    return float(header) if header and header.strip().isdigit() else 0.0


def _advise(status: int) -> str:
    if status in (401, 403):
        return "Check the key: OCTAVO_EMBEDDER_KEY."
    return "Check the model's name and the address: OCTAVO_EMBEDDER and OCTAVO_EMBEDDER_URL."
