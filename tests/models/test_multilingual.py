"""The multilingual embedder finds the same meaning in another language, and reads its own marks as text."""

from __future__ import annotations

import numpy as np
import pytest

from octavo.errors import WeightsError
from octavo.models import weights
from octavo.models.multilingual import MOST_PIECES, SIZE, MultilingualEmbedder, MultilingualTable, unpack_rows

PASSAGES = [
    "The Moon has a diameter of 3,474 kilometres, about a quarter of the Earth.",
    "Das Brot wird vierzig Minuten im heißen Ofen gebacken.",
    "国王于1547年去世。",
    "Кошка спит на крыше дома.",
]
QUESTIONS = ["چاند کتنا بڑا ہے؟", "How long is bread baked?", "Wann starb der König?", "猫在哪里睡觉？"]


@pytest.fixture(scope="module")
def embedder() -> MultilingualEmbedder:
    return MultilingualEmbedder(threads=2)


def test_a_question_is_nearest_to_its_answer_in_any_language(embedder: MultilingualEmbedder) -> None:
    cosines = np.array(embedder.embed_queries(QUESTIONS)) @ np.array(embedder.embed(PASSAGES)).T
    assert cosines.argmax(axis=1).tolist() == [0, 1, 2, 3]


def test_a_text_has_the_same_vector_in_any_company(embedder: MultilingualEmbedder) -> None:
    assert embedder.embed(PASSAGES)[2] == embedder.embed(PASSAGES[2:3])[0]
    assert np.linalg.norm(embedder.embed(["x"])[0]) == pytest.approx(1.0)
    assert embedder.embed(["moon"]) != embedder.embed_queries(["moon"])


def test_pieces_are_those_of_the_published_tokenizer(embedder: MultilingualEmbedder) -> None:
    (encoded,) = embedder._table.encode(["query: how much"])
    assert encoded.ids == [41, 1294, 12, 3642, 5045]
    assert embedder.count_pieces(["how much", ""]) == [2, 0]


def test_a_book_that_writes_the_marks_of_the_model_means_the_characters(
    embedder: MultilingualEmbedder,
) -> None:
    (encoded,) = embedder._table.encode(["</s><mask><s>"])
    assert not {0, 1, 2, 250001} & set(encoded.ids)


def test_a_text_of_the_largest_size_is_read_to_its_end(embedder: MultilingualEmbedder) -> None:
    text = "луна " * embedder.max_pieces
    counted = embedder.count_pieces([text])[0]
    cut = text[: len(text) * embedder.max_pieces // counted]
    assert embedder.count_pieces([cut])[0] <= embedder.max_pieces < MOST_PIECES
    assert embedder.embed([cut]) != embedder.embed([cut[: len(cut) * 9 // 10]])
    assert embedder.embed([text * 2]) == embedder.embed([text * 3])


def test_the_table_keeps_sixteen_steps_and_a_scale_for_32_values() -> None:
    table = MultilingualTable()
    row = table.read([5])[0]
    assert row.shape == (SIZE,)
    for block in row.reshape(-1, 32):
        assert len(np.unique(block)) <= 16
    empty = np.zeros(1, table._rows.dtype)
    assert unpack_rows(empty).tolist() == [[0.0] * SIZE]


def test_missing_files_are_told_with_what_to_do_without_them() -> None:
    gone = weights.MultilingualModel("x", "no.onnx", "0", "no.npy", "0", "no.xz", "0")
    with pytest.raises(WeightsError) as refused:
        MultilingualEmbedder(shipped=gone).embed(["x"])
    assert "OCTAVO_EMBEDDER=english" in refused.value.hint
