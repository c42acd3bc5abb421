"""A book in another language answers where the question's words stand in it, and is silent otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.library import Library
from octavo.settings import Settings
from tests.search.test_groups import GERMAN, URDU

ANSWERED: dict[str, dict[str, str]] = {
    "german.md": {},
    "urdu.md": {"بادشاہ کا انتقال کب ہوا؟": "۱۵۴۷", "چاند کا قطر کتنا ہے؟": "۳۴۷۴"},
}
REFUSED = {
    "german.md": ["Wer erfand das Telefon?", "Who invented the telephone?"],
    "urdu.md": ["ٹیلیفون کس نے ایجاد کیا؟", "Who invented the telephone?"],
}


@pytest.mark.parametrize(("name", "text"), [("german.md", GERMAN), ("urdu.md", URDU)])
async def test_it_answers_with_its_own_sentences_and_refuses_what_it_does_not_tell(
    tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    async with Library.open(settings=Settings(data=tmp_path / "data")) as library:
        await library.add(tmp_path / name)
        for question, words in ANSWERED[name].items():
            answer = await library.ask(question)
            assert answer.refusal is None, question
            assert words in answer.content
            assert all(citation.content_snippet in text for citation in answer.citations)
        for question in REFUSED[name]:
            assert (await library.ask(question)).refusal is not None, question
