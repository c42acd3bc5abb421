"""How well the shipped reader reads when the right paragraph is given, and what the verifier adds.

    python -m benchmarks.reading SUITE [--limit 2400]

SUITE holds `squad2_book`. For answerable questions: F1 and exact match of the words that the reader marks.
For all of them: AUROC of "answerable" by the reader, by the verifier's opinion of question and answer as one
statement, shown the sentence around the words and the one before it, and by both.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.answering_fit import auroc
from benchmarks.reader_fit import read_questions
from benchmarks.suite import bare, rows
from octavo.answers.features import state_answer
from octavo.models.cross_encoders import AnswerSpan, HeadedText, Reader, Verifier
from octavo.text.sentences import split_sentences

OPINION = 0.5  # what the verifier's log odds count beside the reader's


def score_overlap(said: str, golds: Sequence[str]) -> float:
    """F1 of the words, articles aside, with the gold answer that is nearest."""
    best = 0.0
    mine = bare(said)
    for gold in golds:
        words = bare(gold)
        same = sum((Counter(mine) & Counter(words)).values())
        best = max(best, 2 * same / (len(mine) + len(words)) if same else 0.0)
    return best


def find_context(text: str, words: AnswerSpan) -> str:
    found = list(split_sentences(text))
    here = next((n for n, s in enumerate(found) if s.start <= words.start < s.end), 0)
    return text[found[max(0, here - 1)].start : found[here].end]


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("suite", type=Path)
    options.add_argument("--limit", type=int, default=2400)
    said = options.parse_args()
    texts = {r["context_id"]: r["text"] for r in rows(said.suite / "squad2_book" / "contexts.jsonl")}
    _, items = read_questions(said.suite, "squad2_book", said.limit)
    reader, verifier = Reader(), Verifier()
    marked, able, borne = [], [], []
    for item in items:
        text = texts[item["context_id"]]
        (score,) = reader.read(item["question"], [HeadedText(text)])
        words = score.find_answer(0, len(text))
        answer = text[words.start : words.end]
        able.append(score.answerable)
        borne += verifier.score_support(state_answer(item["question"], answer), [find_context(text, words)])
        if item["answerable"]:
            marked.append(score_overlap(answer, item["answers"]))
    can = np.array([item["answerable"] for item in items])
    reads, adds = np.array(able), np.array(borne)
    print(
        f"{len(items)} questions; F1 {np.mean(marked):.3f}, exact {np.mean(np.array(marked) == 1):.3f}; ",
        end="",
    )
    print(f"answerable or not, AUROC: reader {auroc(reads, can):.3f}, ", end="")
    print(f"verifier {auroc(adds, can):.3f}, both {auroc(reads + OPINION * adds, can):.3f}")


if __name__ == "__main__":
    main()
