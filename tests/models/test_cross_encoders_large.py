"""The large model reads and verifies with one session, from files that are checked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from octavo.errors import ModelError, WeightsError
from octavo.models import weights
from octavo.models.cross_encoders import (
    CHECKED_MOST,
    CLAIM_MOST,
    LARGE_READ_MOST,
    NOWHERE,
    HeadedText,
    LargeModel,
    LocalModels,
    PassageScore,
)
from octavo.models.embedding import load_tokenizer, open_session
from octavo.settings import Settings
from tests.support.model_package import SHIPPED, TOKENIZER, install_models, make_tiny_large
from tests.support.tiny_bert import Array
from tests.support.tiny_mpnet import WORDS, make_heads, make_published, run_forward

NOVEL = HeadedText("Moby-Dick was published in 1851 in London. It sold badly.", "Moby-Dick › History")
STORM = HeadedText("A storm broke the northern pier in a single night.")
PUBLISHED = "When was Moby-Dick published?"
TINY, FILES = make_tiny_large()


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return install_models(tmp_path / "site", monkeypatch, shipped=[TOKENIZER], made=FILES)


@pytest.fixture
def large(site: Path) -> LargeModel:
    return LargeModel(threads=1, shipped=TINY)


def numbers(score: PassageScore) -> tuple[Any, ...]:
    return (score.rank, score.answerable, score._silence, score._begins.tolist(), score._ends.tolist())


def by_hand(first: str, second: str) -> dict[str, Array]:
    """What the weights say of two texts, with the ids of BERT in MPNet's own table."""
    tokenizer = load_tokenizer(weights.find_tokenizer())
    one, two = (tokenizer.encode(text, add_special_tokens=False).ids for text in (first, second))
    published = make_published(words=30_522 + 5)
    rows = [0, *(n + 4 for n in one), 2, *(n + 4 for n in two), 2]
    kinds = [0] * (len(one) + 2) + [1] * (len(two) + 1)
    return run_forward(published | make_heads(), published[WORDS][rows], kinds)


# One model, two tasks


def test_it_reads_what_its_weights_say_of_question_and_passage(large: LargeModel) -> None:
    (score,) = large.read(PUBLISHED, [NOVEL])
    meant = by_hand(PUBLISHED, NOVEL.with_heading)
    spread = np.abs(meant["span"]).max()
    assert abs(score.rank - meant["rank"][0, 0]) < 0.15 * spread
    assert abs(score.answerable - meant["answerable"][0, 0]) < 0.15 * spread
    asked = len(meant["span"]) - 1 - len(score._begins)
    errors = np.abs(np.stack([score._begins, score._ends], axis=1) - meant["span"][asked:-1])
    assert errors.max() < 0.15 * spread


def test_it_verifies_what_its_weights_say_of_claim_and_passage(large: LargeModel) -> None:
    claim = "Seven boats were lost."
    for passage, support in zip(
        (NOVEL.text, STORM.text), large.score_support(claim, [NOVEL.text, STORM.text]), strict=True
    ):
        meant = by_hand(claim, passage)
        assert abs(support - meant["support"][0, 0]) < 0.15 * np.abs(meant["span"]).max()
    assert large.score_support(claim, []) == []


def test_one_session_serves_reading_and_verifying(large: LargeModel) -> None:
    large.read(PUBLISHED, [NOVEL])
    session = large._model._session
    large.score_support("A claim.", [NOVEL.text])
    assert large._model._session is session


def test_the_table_of_words_stays_on_the_disk(large: LargeModel) -> None:
    large.read(PUBLISHED, [NOVEL])
    assert isinstance(vars(large._model)["_words"], np.memmap)


def test_the_same_pair_has_the_same_scores_in_any_company_on_any_number_of_threads(site: Path) -> None:
    company = [STORM, NOVEL, HeadedText(STORM.text * 9), NOVEL]
    alone = numbers(LargeModel(threads=1, shipped=TINY).read(PUBLISHED, [NOVEL])[0])
    for threads in (1, 2, 5):
        model = LargeModel(threads=threads, shipped=TINY)
        read = model.read(PUBLISHED, company)
        assert numbers(read[1]) == numbers(read[3]) == alone
        support = model.score_support(PUBLISHED, [passage.text for passage in company])
        assert support[1] == support[3] == model.score_support(PUBLISHED, [NOVEL.text])[0]


# Limits


def test_a_passage_is_read_up_to_the_limit_and_no_further(large: LargeModel) -> None:
    long = HeadedText("sea " * 400)
    (score,) = large.read("Where? " * 60, [long])
    assert len(score._begins) == LARGE_READ_MOST - 48 - 3
    assert score.find_answer(4 * len(score._begins), len(long.text)).margin == NOWHERE
    assert score.find_answer(0, 4 * len(score._begins)).margin > NOWHERE


def test_a_passage_is_read_up_to_the_limit_and_a_claim_to_its_end(large: LargeModel) -> None:
    claim, passage = "sea " * CLAIM_MOST, "tide " * (CHECKED_MOST - CLAIM_MOST)
    (whole,) = large.score_support(claim, [passage])
    assert large.score_support(claim, [f"{passage} and more"]) == [whole]
    assert large.score_support(claim, [passage.removesuffix("tide ")]) != [whole]
    half = "sea " * (CLAIM_MOST // 2)
    (end,) = large.score_support(f"{half}{'rope ' * (CLAIM_MOST // 2)}", [passage])
    assert large.score_support(f"{claim}{'rope ' * (CLAIM_MOST // 2)}", [passage]) == [min(whole, end)]


@pytest.mark.parametrize("words", [1, 100, 266, 400])
def test_pieces_are_counted_as_they_are_read(large: LargeModel, words: int) -> None:
    passage = HeadedText("sea " * words, "Tides")
    seen: list[int] = []
    run = large._model.run

    def count(first: list[int], second: list[int]) -> dict[str, Array]:
        seen.append(len(first) + len(second) + 3)
        return run(first, second)

    large._model.run = count  # type: ignore[method-assign]
    large.read("Where? " * words, [passage])
    assert [large.count_pieces("Where? " * words, passage)] == seen


def test_an_empty_text_answers_nothing(large: LargeModel) -> None:
    (empty,) = large.read("", [HeadedText("")])
    assert empty.find_answer(0, 10).margin == NOWHERE
    assert large.read(PUBLISHED, []) == []


# Checked, and loaded when it is needed


def test_nothing_is_read_before_it_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_models(tmp_path / "site", monkeypatch)
    models = LocalModels(Settings(data=tmp_path, threads=1))
    assert models.large.name == weights.LARGE.name
    assert not {"_session", "_words", "_encoder"} & vars(models.large._model).keys()


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_damaged_file_is_refused_with_both_digests_and_what_to_do(site: Path, name: str) -> None:
    (site / name).write_bytes(FILES[name][:-1])
    expected = TINY.sha256 if name == TINY.file else TINY.words_sha256
    with pytest.raises(WeightsError, match=f"{name} is damaged.*expected SHA-256 {expected}") as refused:
        LargeModel(shipped=TINY).read(PUBLISHED, [NOVEL])
    assert weights.INSTALL in refused.value.hint
    assert "again" in refused.value.hint


@pytest.mark.parametrize("missing", sorted(FILES))
def test_a_package_without_the_large_files_says_what_to_install_and_how_to_do_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    kept = {name: data for name, data in FILES.items() if name != missing}
    install_models(tmp_path / "site", monkeypatch, shipped=[TOKENIZER], made=kept)
    with pytest.raises(WeightsError, match=f"{missing} is missing.*octavo-models.*SHA-256") as refused:
        LargeModel(shipped=TINY).score_support("A claim.", [NOVEL.text])
    assert weights.INSTALL in refused.value.hint
    assert "OCTAVO_READER=small" in refused.value.hint


def test_a_failure_of_the_large_model_leaves_the_small_reader_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_models(tmp_path / "site", monkeypatch, shipped=[TOKENIZER, weights.READER.file])
    models = LocalModels(Settings(data=tmp_path, threads=1))
    with pytest.raises(WeightsError):
        models.large.read(PUBLISHED, [NOVEL])
    assert len(models.reader.read(PUBLISHED, [NOVEL])) == 1


def test_a_model_that_fails_says_so_in_our_words(large: LargeModel) -> None:
    large._model._session = open_session(SHIPPED / weights.READER.file)  # it takes ids, not vectors
    with pytest.raises(ModelError, match=r"large-int8\.onnx failed on"):
        large.read("Who?", [NOVEL])


def test_it_needs_no_torch_at_run_time(site: Path) -> None:
    code = (
        f"import sys\nsys.modules['torch'] = None\nsys.path.insert(0, {str(site)!r})\n"
        "from octavo.models.cross_encoders import HeadedText, LargeModel\n"
        "from octavo.models.weights import LargeShippedModel\n"
        f"tiny = {TINY!r}\n"
        "print(len(LargeModel(threads=1, shipped=tiny).read('When?', [HeadedText('In 1851.')])))\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "1"
