"""An `octavo-models` of a test's own, which is found before the installed one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pytest
from training.pair_graph import build_large_graph, order_words, pack_words

from octavo.models import weights
from octavo.models.weights import LargeShippedModel
from tests.support.tiny_mpnet import AT_FIRST, WORDS, make_heads, make_published

SHIPPED = Path(__file__).parents[2] / "packages" / "octavo-models" / "octavo_models"
BERT_WORDS = 30_522
TOKENIZER = weights.TOKENIZER_FILE


def install_models(
    site: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    shipped: Iterable[str] = (),
    made: Mapping[str, bytes] | None = None,
) -> Path:
    """Install a package that has these files of the real one, and these made for the test."""
    info = site / "octavo_models-9.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: octavo-models\nVersion: 9\n")
    files = {name: (SHIPPED / name).read_bytes() for name in shipped} | dict(made or {})
    for name, data in files.items():
        (site / name).write_bytes(data)
    (info / "RECORD").write_text("".join(f"{name},,\n" for name in files))
    monkeypatch.syspath_prepend(str(site))
    return site


def make_tiny_large() -> tuple[LargeShippedModel, dict[str, bytes]]:
    """A large model with random weights and a real vocabulary, and its two files."""
    published = make_published(words=BERT_WORDS + 5)
    table = order_words(published[WORDS])
    graph = build_large_graph(published | make_heads(), at_first=AT_FIRST, precision="int8")
    files = {"large-int8.onnx": graph, "large-words.npy": pack_words(np.asarray(table))}
    (file, sha256), (words_file, words_sha256) = (
        (name, hashlib.sha256(data).hexdigest()) for name, data in files.items()
    )
    return LargeShippedModel("tiny-1", file, sha256, words_file, words_sha256), files
