"""A book in another language answers in its own sentences, whatever language it is asked in, or is silent."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.library import Library
from octavo.models.weights import MULTILINGUAL_READER
from octavo.settings import Settings
from tests.search.test_groups import ENGLISH, GERMAN, URDU

ANSWERED: dict[str, dict[str, str]] = {
    "german.md": {
        "Wie lange wird das Brot gebacken?": "vierzig Minuten",
        "Wo schläft die Katze?": "auf dem Dach",
        "How long is the bread baked?": "vierzig Minuten",
    },
    "urdu.md": {
        "بادشاہ کا انتقال کب ہوا؟": "۱۵۴۷",
        "چاند کا قطر کتنا ہے؟": "۳۴۷۴",
        "When did the king die?": "۱۵۴۷",
    },
}
REFUSED = {
    "german.md": ["Wer erfand das Telefon?", "Who invented the telephone?", "Wie heißt die Katze?"],
    "urdu.md": ["ٹیلیفون کس نے ایجاد کیا؟", "Who invented the telephone?"],
}


@pytest.mark.usefixtures("local_models")
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


@pytest.mark.usefixtures("local_models")
async def test_who_reads_depends_on_the_language(tmp_path: Path) -> None:
    for name, text in {"english.md": ENGLISH, "german.md": GERMAN}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    async with Library.open(settings=Settings(data=tmp_path / "data")) as library:
        for name in ("english.md", "german.md"):
            await library.add(tmp_path / name, book_id=name.removesuffix(".md"))

        async def list_readers(question: str, book_id: str | None) -> list[str]:
            answer = await library.ask(question, book_id=book_id)
            local = (await library.conversations.find_exchange(answer.id)).receipt["local"]
            assert isinstance(local, list)
            return local

        assert MULTILINGUAL_READER.name not in await list_readers("How is the kernel built?", "english")
        assert MULTILINGUAL_READER.name in await list_readers("Wie wird der Kernel gebaut?", "english")
        assert MULTILINGUAL_READER.name in await list_readers("Wo schläft die Katze?", "german")
        assert MULTILINGUAL_READER.name in await list_readers("Where does the cat sleep?", "german")


async def test_without_a_reader_nobody_can_tell_so_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "german.md").write_text(GERMAN, encoding="utf-8")
    async with Library.open(settings=Settings(data=tmp_path / "data")) as library:
        await library.add(tmp_path / "german.md")
        assert (await library.ask("Wo schläft die Katze?")).refusal is not None
