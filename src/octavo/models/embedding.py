"""Text to unit vectors: on this machine with ONNX Runtime, or at an OpenAI-compatible endpoint.

A text's vector depends on the text alone. The int8 weights scale their activations over everything that goes
through at once, so texts put through together would colour each other's vectors (cosine down to 0.988, see
`company` in `benchmarks/embedding.py`). Hence each text goes through by itself, without padding, on one
thread, and several texts go side by side. The same text gives the same vector, bit for bit, in any company
on the same machine.

`max_pieces` and `pieces` count a text's own word pieces, without the marks that the model puts around it: a
text of no more than `max_pieces` is read to its end.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import random
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from octavo.errors import InvalidValue, ModelError, WeightsError
from octavo.models import weights as models

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from octavo.protocols import Embedder
    from octavo.settings import Settings

_COUNTED_AT_ONCE = 1024
_OPENAI = "https://api.openai.com/v1"


def load(settings: Settings, *, download: bool = False) -> Embedder:
    """The embedder that the settings name. Weights come from the network only if `download` is true."""
    if settings.embedder.startswith("openai:"):
        return OpenAIEmbedder(
            settings.embedder.removeprefix("openai:"),
            url=settings.embedder_url or _OPENAI,
            key=settings.embedder_key,
            batch_pieces=settings.batch_tokens,
        )
    weights = models.find(settings.embedder, cache=settings.data / "models", download=download)
    return OnnxEmbedder(weights, threads=settings.threads)


class OnnxEmbedder:
    """Runs a graph of `octavo.models`, or any that takes `input_ids` and gives vectors of tokens or texts."""

    def __init__(self, weights: models.Weights, *, threads: int = 0) -> None:
        self._weights = weights
        self._threads = threads or cores()
        self._session = session(weights.onnx)
        self._feeds = _feeds(self._session, weights)
        outputs = {output.name: output for output in self._session.get_outputs()}
        whole = outputs.get("sentence_embedding")
        self._output = whole or next(iter(outputs.values()))
        self._encoder = tokenizer(weights.tokenizer)
        self._encoder.enable_truncation(weights.max_pieces)

    @cached_property
    def fingerprint(self) -> str:
        w = self._weights
        return f"{w.name}:{w.precision}:{w.sha256[:12]}:{w.max_pieces}:{self.dimension}"

    @cached_property
    def dimension(self) -> int:
        size = self._output.shape[-1]
        return size if isinstance(size, int) else len(self.embed(["size"])[0])

    @property
    def max_pieces(self) -> int:
        return self._weights.max_pieces - int(self._encoder.num_special_tokens_to_add(False))

    def count_pieces(self, texts: Sequence[str]) -> list[int]:
        counts: list[int] = []
        for first in range(0, len(texts), _COUNTED_AT_ONCE):
            batch = list(texts[first : first + _COUNTED_AT_ONCE])
            counts += [len(e) for e in self._counter.encode_batch_fast(batch, add_special_tokens=False)]
        return counts

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        encoded = [e.ids for e in self._encoder.encode_batch_fast(list(texts))]
        if len(encoded) < 2 or self._threads == 1:
            return [self._one(ids) for ids in encoded]
        longest_first = sorted(range(len(encoded)), key=lambda k: -len(encoded[k]))
        with ThreadPoolExecutor(min(self._threads, len(encoded))) as pool:
            made = dict(
                zip(longest_first, pool.map(lambda k: self._one(encoded[k]), longest_first), strict=True)
            )
        return [made[k] for k in range(len(encoded))]

    @cached_property
    def _counter(self) -> Any:
        """A tokenizer that cuts nothing off: chunks are measured with it."""
        return tokenizer(self._weights.tokenizer)

    def _one(self, ids: list[int]) -> tuple[float, ...]:
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
        return _unit(out, where=str(self._weights.onnx))


def session(onnx: Path) -> Any:
    """An ONNX file, ready to run on one thread; the engine may report nothing to its makers."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    onnxruntime.disable_telemetry_events()  # where the program has loaded the engine before us
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(str(onnx), options, providers=["CPUExecutionProvider"])
    except Exception as failed:
        raise WeightsError(
            f"ONNX Runtime cannot load {onnx}: {failed}", hint="Get the model file again."
        ) from failed


def _feeds(session: Any, weights: models.Weights) -> dict[str, str]:
    """The inputs that the graph asks for, with their types."""
    feeds = {i.name: "int32" if "int32" in i.type else "int64" for i in session.get_inputs()}
    strange = set(feeds) - {"input_ids", "attention_mask", "token_type_ids"}
    if strange or "input_ids" not in feeds:
        raise WeightsError(
            f"{weights.onnx} asks for {', '.join(sorted(feeds))}, which is not what a text embedder takes",
            hint="Choose a model of text embeddings.",
        )
    return feeds


def tokenizer(path: Path) -> Any:
    """A tokenizer that neither pads nor cuts."""
    from tokenizers import Tokenizer

    try:
        made = Tokenizer.from_file(str(path))
    except Exception as failed:
        raise WeightsError(
            f"{path} cannot be read: {failed}", hint="Get the model's files again."
        ) from failed
    made.no_padding()
    made.no_truncation()
    return made


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _unit(vector: Sequence[float] | NDArray[np.float32], *, where: str) -> tuple[float, ...]:
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
    """Any server that speaks `POST …/embeddings`. Sizes are counted in UTF-8 bytes, three to a piece."""

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
        served = hashlib.sha256(self._url.encode()).hexdigest()[:12]
        return f"{self._model}:endpoint:{served}:{self.max_pieces}:{self.dimension}"

    @cached_property
    def dimension(self) -> int:
        return len(self.embed(["How long is a vector?"])[0])

    def count_pieces(self, texts: Sequence[str]) -> list[int]:
        return [-(-len(text.encode("utf-8", "replace")) // 3) for text in texts]

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        vectors = [vector for batch in self._batches(texts) for vector in self._ask(batch)]
        if len({len(vector) for vector in vectors}) > 1:
            raise ModelError(f"{self._url} gave vectors of different sizes")
        return vectors

    def _batches(self, texts: Sequence[str]) -> Iterator[list[str]]:
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

    def _ask(self, batch: list[str]) -> list[tuple[float, ...]]:
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
        return [_unit(vector, where=self._url) for vector in vectors]

    def _post(self, body: bytes) -> bytes:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = Request(self._url, data=body, headers=headers, method="POST")  # noqa: S310
        trouble = ""
        for attempt in range(self._tries):
            wait = self._pause * 2**attempt * random.uniform(0.5, 1.0)
            try:
                with self._opener.open(request, timeout=self._timeout) as answer:
                    return bytes(answer.read())
            except HTTPError as refused:
                with refused:
                    trouble = self._said(refused)
                    if refused.code not in (408, 429) and refused.code < 500:
                        raise ModelError(trouble, hint=_advice(refused.code)) from refused
                    wait = max(wait, min(30.0, _seconds(refused.headers.get("Retry-After"))))
            except (OSError, HTTPException) as failed:
                trouble = f"{self._url} cannot be reached: {failed}"
            if attempt + 1 < self._tries:
                time.sleep(wait)
        raise ModelError(f"{trouble} (tried {self._tries} times)", hint="Check that the server is up.")

    def _said(self, refused: HTTPError) -> str:
        said = refused.read(2_000).decode("utf-8", "replace")
        if self._key:
            said = said.replace(self._key, "…")
        return f"{self._url} answered {refused.code}: {' '.join(said.split())[:200]}"


def _seconds(header: str | None) -> float:
    return float(header) if header and header.strip().isdigit() else 0.0


def _advice(status: int) -> str:
    if status in (401, 403):
        return "Check the key: OCTAVO_EMBEDDER_KEY."
    return "Check the model's name and the address: OCTAVO_EMBEDDER and OCTAVO_EMBEDDER_URL."
