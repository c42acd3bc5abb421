"""The models that come with Octavo: checked before use, the same in any company, exact to the letter."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.errors import ModelError, WeightsError
from octavo.models import weights
from octavo.models.cross_encoders import (
    CLAIM_MOST,
    LONGEST,
    NOWHERE,
    READ_MOST,
    HeadedText,
    LocalModels,
    PassageScore,
    Reader,
    Verifier,
    split_long,
)
from octavo.models.embedding import load_tokenizer, open_session
from octavo.models.weights import INT8_FILE, INT8_SHA256, find_shipped
from octavo.settings import Settings

NOVEL = HeadedText(
    "Herman Melville wrote the novel at Arrowhead. Moby-Dick was published in 1851 in London and New York. "
    "It sold badly.",
    "Moby-Dick › History",
)
PUBLISHED = "When was Moby-Dick published?"
STORM = HeadedText(
    "A storm broke the northern pier in a single night. Seven boats were lost with all their nets."
)
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def reader() -> Reader:
    return Reader(threads=1)


@pytest.fixture(scope="module")
def verifier() -> Verifier:
    return Verifier(threads=1)


def found(score: PassageScore, text: str, start: int = 0, end: int | None = None) -> str:
    words = score.find_answer(start, len(text) if end is None else end)
    return text[words.start : words.end]


# What they make of texts


def test_the_reader_finds_the_year_in_the_sentence_about_it(reader: Reader) -> None:
    (score,) = reader.read(PUBLISHED, [NOVEL])
    assert found(score, NOVEL.text) == "1851"
    assert score.find_answer(0, len(NOVEL.text)).margin > 2
    assert score.answerable > 2


@pytest.mark.parametrize(
    ("question", "less"),
    [
        ("How many sons did William have?", 5.0),
        ("What did the harbour master write?", 5.0),
        ("When was Moby-Dick filmed?", 1.5),
        ("When was Moby-Dick translated into Latin?", 1.5),
    ],
)
def test_a_question_that_the_passage_does_not_answer_looks_far_less_answerable(
    reader: Reader, question: str, less: float
) -> None:
    (right,), (other,) = reader.read(PUBLISHED, [NOVEL]), reader.read(question, [NOVEL])
    assert other.answerable < right.answerable - less
    assert other.find_answer(0, len(NOVEL.text)).margin < right.find_answer(0, len(NOVEL.text)).margin - less


def test_the_passage_that_answers_ranks_before_those_that_do_not(reader: Reader) -> None:
    near = HeadedText("Moby-Dick is a novel about a whale and the captain who hunts it.", "Moby-Dick › Plot")
    right, plot, storm = reader.read(PUBLISHED, [NOVEL, near, STORM])
    assert right.rank > plot.rank > storm.rank


def test_headings_tell_the_reader_what_a_passage_is_about(reader: Reader) -> None:
    bare = "It was published in 1851 in London."
    told, other = reader.read(
        PUBLISHED, [HeadedText(bare, "Moby-Dick"), HeadedText(bare, "Tariffs of Norway")]
    )
    assert told.rank > other.rank
    assert found(told, bare) == found(other, bare) == "1851"


@pytest.mark.parametrize(
    ("true", "false"),
    [
        ("Moby-Dick was published in 1851.", "Moby-Dick was published in 1861."),
        ("Herman Melville wrote the novel.", "Nathaniel Hawthorne wrote the novel."),
        ("The novel sold badly.", "The novel sold very well."),
    ],
)
def test_the_verifier_prefers_the_true_sentence_to_one_with_a_thing_changed(
    verifier: Verifier, true: str, false: str
) -> None:
    ((good,), (bad,)) = (
        verifier.score_support(true, [NOVEL.text]),
        verifier.score_support(false, [NOVEL.text]),
    )
    assert good > bad + 1


def test_the_end_of_a_long_claim_is_read_too(verifier: Verifier) -> None:
    rooms = "The inn has a hall, a kitchen, a cellar with forty barrels and nine rooms above the stable. " * 6
    passage = f"{rooms}The keeper locks the gate at night."
    true, lie = (f"{rooms}The keeper {does} the gate at night." for does in ("locks", "never locks"))
    assert len(true.split()) > CLAIM_MOST
    (right,), (wrong,) = verifier.score_support(true, [passage]), verifier.score_support(lie, [passage])
    assert right > wrong + 1


def test_long_claims_are_split_into_parts_that_overlap() -> None:
    assert split_long([1, 2, 3], most=4) == [[1, 2, 3]]
    assert split_long([1, 2, 3, 4, 5, 6, 7], most=4) == [[1, 2, 3, 4], [3, 4, 5, 6], [5, 6, 7]]


def test_the_verifier_looks_at_the_passage_and_not_only_at_the_claim(verifier: Verifier) -> None:
    there, elsewhere = verifier.score_support("Seven boats were lost.", [STORM.text, NOVEL.text])
    assert there > elsewhere + 1
    assert verifier.score_support("Seven boats were lost.", []) == []


# The same in any company


def numbers(score: PassageScore) -> tuple[object, ...]:
    return score.rank, score.answerable, score.find_answer(0, 10_000)


def test_a_pair_has_the_same_scores_in_any_company_and_on_any_number_of_threads(reader: Reader) -> None:
    long = HeadedText(" ".join([NOVEL.text] * 6))
    company = [STORM, NOVEL, long, HeadedText("Short."), NOVEL]
    alone = numbers(reader.read(PUBLISHED, [NOVEL])[0])
    assert numbers(reader.read(PUBLISHED, company)[1]) == alone
    for threads in (2, 5):
        read = Reader(threads=threads).read(PUBLISHED, company)
        assert [numbers(g) for g in read] == [numbers(g) for g in reader.read(PUBLISHED, company)]
        assert numbers(read[4]) == alone


def test_a_claim_has_the_same_support_in_any_company(verifier: Verifier) -> None:
    texts = [NOVEL.text, STORM.text, NOVEL.text * 5]
    together = Verifier(threads=3).score_support("Seven boats were lost.", texts)
    assert together == [verifier.score_support("Seven boats were lost.", [text])[0] for text in texts]


# Exact to the letter


@pytest.mark.parametrize("heading", ["", "Zoë’s 🏠", "A › B: c"])
@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("🐳🐳 The house was built by Zoe in 1901. 👩‍👩‍👧 It closed.", "1901"),
        ("Cafe\u0301s closed late. The house was built in 1901.", "1901"),
        ("Ünder the İstanbul sun, the house\u00a0was built in\u20091901 — so they say.", "1901"),
        ("The house\n\n\twas built in 1901\u200b.", "1901"),
    ],
)
def test_the_place_of_the_answer_is_exact_whatever_stands_before_it(
    reader: Reader, text: str, answer: str, heading: str
) -> None:
    (score,) = reader.read("When was the house built?", [HeadedText(text, heading)])
    assert found(score, text) == answer


def test_an_accent_that_is_a_sign_of_its_own_belongs_to_its_letter(reader: Reader) -> None:
    text = "The house was built by Zoe\u0308, and it closed in 1901."
    (score,) = reader.read("Who built the house?", [HeadedText(text)])
    assert found(score, text) == "Zoe\u0308"


@given(st.text(alphabet="ab .é🐳\u0301\u200d中İß\n", max_size=60), st.sampled_from(["", "Head", "É🐳 x"]))
@settings(max_examples=40, deadline=None)
def test_words_lie_within_the_stretch_and_are_whole_signs(reader: Reader, text: str, heading: str) -> None:
    (score,) = reader.read("Who is it?", [HeadedText(text, heading)])
    for start in range(0, len(text), 7):
        words = score.find_answer(start, start + 15)
        if words.margin > NOWHERE:
            assert start <= words.start < words.end <= min(start + 15, len(text))
            assert words.end == len(text) or text[words.end] != "\u0301"


def by_hand(
    begins: list[float], ends: list[float], *, silence: float = 0.0, first: int = 0, wide: int = 5
) -> PassageScore:
    """A score at pieces of `wide` characters each, of which the first stands at `first`."""
    places = [(first + wide * n, first + wide * (n + 1)) for n in range(len(begins))]
    starts, stops = (np.array(values, np.float32) for values in (begins, ends))
    return PassageScore(1.0, 2.0, silence, starts, stops, np.array(places, np.int32).reshape(-1, 2))


def test_the_best_words_are_those_whose_beginning_and_end_together_score_most() -> None:
    score = by_hand([0, 4, 1, 0], [3, 0, 2, 1], silence=1.5)
    assert (score.find_answer(0, 20).start, score.find_answer(0, 20).end) == (5, 15)
    assert score.find_answer(0, 20).margin == 4.5


def test_words_never_end_before_they_begin() -> None:
    score = by_hand([0, 0, 9], [9, 0, 1])
    words = score.find_answer(0, 15)
    assert (words.start, words.end, words.margin) == (10, 15, 10.0)


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [(5, 15, (5, 15)), (4, 16, (5, 15)), (6, 20, (10, 20)), (5, 14, (5, 10)), (0, 5, (0, 5))],
)
def test_only_pieces_that_lie_whole_within_the_stretch_count(
    start: int, end: int, expected: tuple[int, int]
) -> None:
    words = by_hand([3, 2, 1, 0], [0, 1, 2, 3]).find_answer(start, end)
    assert (words.start, words.end) == expected


def test_a_stretch_without_a_whole_piece_holds_no_answer() -> None:
    score = by_hand([3, 2], [1, 1])
    for start, end in ((6, 9), (10, 90), (0, 0), (2, 7)):
        assert score.find_answer(start, end).margin == NOWHERE


def test_pieces_of_the_heading_are_never_an_answer() -> None:
    words = by_hand([9, 9, 1, 0], [9, 9, 0, 1], first=-10).find_answer(0, 10)
    assert (words.start, words.end) == (0, 10)


def test_an_answer_is_no_longer_than_it_may_be() -> None:
    many = LONGEST + 10
    score = by_hand([9.0] + [0.0] * (many - 1), [0.0] * (many - 1) + [9.0], wide=1)
    words = score.find_answer(0, many)
    assert words.end - words.start <= LONGEST
    assert words.margin == 9.0


def test_what_lies_beyond_the_model_is_not_guessed_at(reader: Reader) -> None:
    text = "The sea was calm and the ship went slowly on her way home. " * 60 + "The captain was called Ahab."
    (score,) = reader.read("Who was the captain?", [HeadedText(text)])
    pieces = len(load_tokenizer(weights.find_tokenizer()).encode(text, add_special_tokens=False).ids)
    assert pieces > READ_MOST
    assert score.find_answer(len(text) - 28, len(text)).margin == NOWHERE
    early = score.find_answer(0, len(text))
    assert 0 <= early.start < early.end < 2_000


def test_a_question_of_any_length_leaves_room_for_the_passage(reader: Reader) -> None:
    (score,) = reader.read(f"{PUBLISHED} {'Please tell me. ' * 200}", [NOVEL])
    assert found(score, NOVEL.text) == "1851"


@pytest.mark.parametrize("text", ["", " ", "\u200b"])
def test_an_empty_text_answers_nothing(reader: Reader, text: str) -> None:
    empty, whole = reader.read(PUBLISHED, [HeadedText(text, "Moby-Dick"), NOVEL])
    assert empty.find_answer(0, len(text)).margin == NOWHERE
    assert empty.answerable < whole.answerable
    assert reader.read(PUBLISHED, []) == []
    assert len(reader.read("", [NOVEL])) == 1


def test_the_sentences_of_a_passage_are_searched_one_by_one(reader: Reader) -> None:
    (score,) = reader.read("Who wrote the novel?", [NOVEL])
    stops = [0, *(n + 1 for n, sign in enumerate(NOVEL.text) if sign == ".")]
    margins = [score.find_answer(a, b).margin for a, b in pairwise(stops)]
    assert margins[0] == max(margins)
    assert found(score, NOVEL.text, 0, stops[1]) == "Herman Melville"


# Checked, and loaded when they are needed


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An `octavo-models` that is found before the installed one, with whatever files a test puts in."""
    info = tmp_path / "octavo_models-9.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: octavo-models\nVersion: 9\n")
    files = ("tokenizer.json", weights.READER.file, weights.VERIFIER.file)
    (info / "RECORD").write_text("".join(f"{name},,\n" for name in files))
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_a_file_that_is_another_is_refused_with_what_was_expected(elsewhere: Path) -> None:
    (elsewhere / weights.READER.file).write_bytes(b"not the model")
    with pytest.raises(WeightsError, match=f"expected SHA-256 {weights.READER.sha256}") as refused:
        weights.READER.find()
    assert "again" in refused.value.hint
    assert weights.INSTALL in refused.value.hint


def test_a_file_that_is_missing_is_refused_with_what_was_expected(elsewhere: Path) -> None:
    tokenizer_json = ROOT / "packages/octavo-models/octavo_models/tokenizer.json"
    (elsewhere / "tokenizer.json").write_bytes(tokenizer_json.read_bytes())
    with pytest.raises(WeightsError, match=weights.VERIFIER.sha256) as refused:
        Verifier().score_support("A claim.", ["A passage."])
    assert weights.INSTALL in refused.value.hint


def test_a_tokenizer_that_is_another_is_refused(elsewhere: Path) -> None:
    (elsewhere / "tokenizer.json").write_text("{}")
    with pytest.raises(WeightsError, match=weights.TOKENIZER_SHA256):
        Reader().read("Who?", [NOVEL])


def test_nothing_is_read_before_it_is_used(elsewhere: Path) -> None:
    both = LocalModels(Settings(data=elsewhere, threads=1))
    assert (both.reader.name, both.verifier.name) == (weights.READER.name, weights.VERIFIER.name)


def test_a_model_that_fails_says_so_in_our_words() -> None:
    broken = Reader(threads=1)
    broken._model._session = open_session(find_shipped(INT8_FILE, INT8_SHA256))  # it takes no second text
    with pytest.raises(ModelError, match=r"reader-int8\.onnx failed on"):
        broken.read("Who?", [NOVEL])


@pytest.mark.parametrize("shipped", [weights.READER, weights.VERIFIER], ids=lambda s: s.name)
def test_a_shipped_model_is_small_and_is_the_file_that_is_named(shipped: weights.ShippedModel) -> None:
    path = shipped.find()
    assert path.stat().st_size <= 25_000_000
    assert path.with_name(f"{shipped.name.split('-')[0].upper()}.md").is_file()


def test_torch_is_needed_for_training_alone() -> None:
    importing = ("import torch", "from torch", "import safetensors", "from safetensors")
    folders = (ROOT / name for name in ("src", "tests", "benchmarks", "examples"))
    files = [path for folder in folders for path in folder.rglob("*.py")]
    assert len(files) > 100
    for path in files:
        lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
        assert not [line for line in lines if line.startswith(importing)], path


def test_reading_needs_no_torch_at_run_time() -> None:
    code = (
        "import sys\nsys.modules['torch'] = None\n"
        "from octavo.models.cross_encoders import HeadedText, Reader\n"
        "print(Reader(threads=1).read('When?', [HeadedText('In 1851.')])[0].find_answer(0, 8).end)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "7"
