"""The doctor says what is wrong in words, and repairs a library without any file of the user's."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Literal

import pytest

from octavo.errors import EmbedderMismatch, OctavoError, StoreError
from octavo.events import IngestEvent
from octavo.library import Library
from octavo.maintenance.doctor import Finding
from octavo.maintenance.repair import EMBEDDER
from octavo.models import weights
from octavo.models.weights import LARGE, MULTILINGUAL_READER, READER, VERIFIER
from octavo.records import conversations
from octavo.schemas import FindingJson
from octavo.settings import Settings
from octavo.store import locate_store
from octavo.testing import Call, Fault, FaultKind, ModelRequest, Reply, Say, ScriptedModel, TinyEmbedder
from tests.support import small_books
from tests.support.copies import copy_library
from tests.support.model_package import TOKENIZER, install_models, make_tiny_large


@pytest.fixture
async def data(tmp_path: Path) -> Path:
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:
        await library.add(small_books.write_markdown(tmp_path / "tides.md"))
    (tmp_path / "tides.md").unlink()
    return tmp_path / "library"


async def examine(data: Path, embedder: TinyEmbedder, *, repair: bool = False) -> dict[str, Finding]:
    async with Library.open(data, embedder=embedder) as library:
        return {f.what: f for f in await library.examine(repair=repair)}


async def passages(data: Path, embedder: TinyEmbedder) -> list[str]:
    async with Library.open(data, embedder=embedder) as library:
        return [e.chunk.content for e in await library.search("the harbour master", top_k=100)]


async def test_a_sound_library_is_called_so_and_left_alone(data: Path) -> None:
    seen = await examine(data, TinyEmbedder())
    before = "check before this one"
    assert list(seen) == ["folder", "records", "answers", "model", "store", "second copy", before]
    assert seen[before].said == "no full pass yet"
    assert all(f.sound and not f.hint for f in seen.values())
    assert seen["records"].said == "1 books, 4 passages"
    shown = FindingJson.from_value(seen["model"]).to_json()
    assert shown == {"what": "model", "said": "tiny-384", "sound": True, "hint": ""}


async def test_a_store_that_is_gone_is_an_error_and_rebuilt_without_embedding(data: Path) -> None:
    before = await passages(data, TinyEmbedder())
    shutil.rmtree(locate_store(data))
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        with pytest.raises(StoreError, match="missing") as refused:
            await library.search("ships")
        assert "doctor --repair" in refused.value.hint
    embedder = TinyEmbedder()
    assert not (await examine(data, embedder))["store"].sound
    seen = await examine(data, embedder, repair=True)
    assert "4 missing" in seen["repair"].said
    assert seen["store"].sound
    assert embedder.embedded == 2  # one question to the model for each examination
    assert await passages(data, TinyEmbedder()) == before


async def test_a_store_that_opens_and_cannot_be_read_is_rebuilt(data: Path) -> None:
    before = await passages(data, TinyEmbedder())
    pages = [f for f in locate_store(data).rglob("payload_storage/page_*.dat") if f.stat().st_size]
    assert pages
    for page in pages:
        page.write_bytes(b"\0" * page.stat().st_size)
    assert not (await examine(data, TinyEmbedder()))["store"].sound
    seen = await examine(data, TinyEmbedder(), repair=True)
    assert seen["store"].sound, seen
    assert await passages(data, TinyEmbedder()) == before


async def test_every_damaged_file_of_the_store_is_noticed_and_repaired(data: Path, tmp_path: Path) -> None:
    before = await passages(data, TinyEmbedder())
    files = sorted(f for f in locate_store(data).rglob("*") if f.is_file() and "vector" in str(f))
    files = [f for f in files if f.stat().st_size and any(f.read_bytes())]
    assert files
    for number, file in enumerate(files[:4]):
        copy = tmp_path / f"damaged-{number}"
        copy_library(data, copy)
        hurt = copy / file.relative_to(data)
        hurt.write_bytes(bytes(b ^ 0xFF for b in file.read_bytes()[:65_536]) + file.read_bytes()[65_536:])
        try:
            assert await passages(copy, TinyEmbedder()) == before
        except OctavoError:
            embedder = TinyEmbedder()
            assert (await examine(copy, embedder, repair=True))["store"].sound
            assert embedder.embedded == 1
            assert await passages(copy, TinyEmbedder()) == before


@pytest.mark.parametrize("other", [TinyEmbedder(name="other"), TinyEmbedder(32)])
async def test_another_embedder_is_refused_and_then_taken_by_repair(data: Path, other: TinyEmbedder) -> None:
    before = await passages(data, TinyEmbedder())
    other.embedded = 0
    seen = await examine(data, other)
    assert not seen["store"].sound
    assert "tiny-384" in seen["store"].said
    seen = await examine(data, other, repair=True)
    assert "embedded 1 books again" in seen["repair"].said
    assert seen["store"].sound
    assert other.embedded == 2 + 4
    assert sorted(await passages(data, other)) == sorted(before)
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        with pytest.raises(EmbedderMismatch):
            await library.search("ships")


async def test_a_repair_that_is_cut_off_leaves_no_library_of_two_minds(data: Path) -> None:
    other = TinyEmbedder(name="other")

    def cut_off(event: IngestEvent) -> None:
        raise RuntimeError("the power is gone")

    async with Library.open(data, embedder=other) as library:
        with pytest.raises(RuntimeError):
            await library.examine(repair=True, on_event=cut_off)
    for embedder in (other, TinyEmbedder()):
        async with Library.open(data, embedder=embedder) as library:
            with pytest.raises(EmbedderMismatch, match="interrupted"):
                await library.search("ships")
    assert (await examine(data, other, repair=True))["store"].sound
    async with Library.open(data, embedder=other) as library:
        assert await library._records.get_meta(EMBEDDER) == other.fingerprint
        assert await library.search("ships")


async def test_damaged_records_are_found_by_reading_everything(data: Path) -> None:
    with sqlite3.connect(data / "records.sqlite") as database:
        database.execute("UPDATE texts SET text = replace(text, 'ships', 'sheep')")
    database.close()
    seen = await examine(data, TinyEmbedder())
    assert not seen["records"].sound
    assert "damaged" in seen["records"].said
    assert "backup" in seen["records"].hint


async def test_stored_answers_are_checked_and_the_damaged_ones_named(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversations, "ANSWERS_AT_ONCE", 2)
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        given = [await library.ask("Who keeps the harbour?") for _ in range(5)]
    seen = (await examine(data, TinyEmbedder()))["answers"]
    assert (seen.sound, seen.said) == (
        True,
        f"{sum(len(a.citations) for a in given)} citations, as they were stored",
    )
    with sqlite3.connect(data / "records.sqlite") as database:
        database.execute("UPDATE answers SET content = 'Nobody.' WHERE id = ?", [given[3].id])
    database.close()
    seen = (await examine(data, TinyEmbedder()))["answers"]
    assert not seen.sound
    assert seen.said == f"1 answers are damaged: the stored answer was changed afterwards ({given[3].id})"
    assert "octavo verify" in seen.hint


async def test_a_full_disk_is_said(data: Path) -> None:
    settings = Settings(data=data, free_space_mb=10**9)
    async with Library.open(settings=settings, embedder=TinyEmbedder()) as library:
        folder, *_, store, _ = await library.examine()
    assert not folder.sound
    assert store.sound


@pytest.mark.parametrize(("mode", "left"), [(0o755, 0o750), (0o2775, 0o2770)])
async def test_repair_takes_the_rights_of_everyone_else_away_and_leaves_those_of_the_group(
    data: Path, mode: int, left: int
) -> None:
    data.chmod(mode)
    folder = (await examine(data, TinyEmbedder()))["folder"]
    assert not folder.sound
    assert folder.said.endswith("; other users of this machine may open it")
    assert "doctor --repair" in folder.hint
    assert data.stat().st_mode & 0o7777 == mode
    assert (await examine(data, TinyEmbedder(), repair=True))["folder"].sound
    assert data.stat().st_mode & 0o7777 == left


async def test_a_folder_that_is_shared_with_a_group_alone_stays_so(data: Path) -> None:
    data.chmod(0o750)
    assert (await examine(data, TinyEmbedder(), repair=True))["folder"].sound
    assert data.stat().st_mode & 0o777 == 0o750


async def test_a_folder_whose_rights_cannot_be_changed_is_told_and_nothing_else_fails(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError("the volume does not allow it")

    data.chmod(0o755)
    monkeypatch.setattr(Path, "chmod", refuse)
    seen = await examine(data, TinyEmbedder(), repair=True)
    assert [name for name, finding in seen.items() if not finding.sound] == ["folder"]
    assert "chmod o-rwx" in seen["folder"].hint


async def test_a_model_that_is_not_there_ends_the_examination(data: Path) -> None:
    async with Library.open(settings=Settings(data=data, embedder="/no/such/model")) as library:
        findings = await library.examine()
    assert [f.what for f in findings] == ["folder", "records", "answers", "model"]
    assert not findings[-1].sound


# The language model


def capable(request: ModelRequest) -> Reply:
    if request.tools and not request.tool_results:
        return Call("search_book", {"query": "boats", "top_k": 3})
    return Say('{"claims": [{"text": "Seven boats were lost.", "sentences": ["s1"], "gloss": ""}]}')


async def language_model(data: Path, model: ScriptedModel, *, mode: str = "auto") -> Finding:
    settings = Settings(data=data, model="some-model", model_url=model.url, model_mode=mode)
    async with Library.open(settings=settings, embedder=TinyEmbedder()) as library:
        return {f.what: f for f in await library.examine()}["language model"]


async def test_a_language_model_is_tried_out(data: Path) -> None:
    async with ScriptedModel(capable) as model:
        found = await language_model(data, model)
    assert found.sound
    assert found.said == "some-model: structured output works, tools work, streaming works"
    assert "Seven boats were lost in the storm." in model.requests[0].question


async def test_a_language_model_without_tools_is_good_for_answers_in_one_go(data: Path) -> None:
    async with ScriptedModel(capable, tools=False) as model:
        found = await language_model(data, model)
        assert found.sound
        assert "tools do not work" in found.said
        assert "OCTAVO_MODEL_MODE=single" in found.said
        found = await language_model(data, model, mode="agent")
        assert not found.sound
        assert "auto or single" in found.hint


async def test_a_language_model_that_does_not_keep_to_the_form_is_no_use(data: Path) -> None:
    async with ScriptedModel(Say("Certainly! Seven.")) as model:
        found = await language_model(data, model)
    assert not found.sound
    assert "another model" in found.hint


@pytest.mark.parametrize(
    ("fault", "said"), [(FaultKind.UNAUTHORIZED, "refuses the key"), (FaultKind.UNKNOWN_MODEL, "status 404")]
)
async def test_a_language_model_that_does_not_answer_is_told_with_what_to_do(
    data: Path, fault: FaultKind, said: str
) -> None:
    async with ScriptedModel(Fault(fault)) as model:
        found = await language_model(data, model)
    assert not found.sound
    assert said in found.said
    assert "OCTAVO_MODEL_KEY" in found.hint


SMALL_FILES = (TOKENIZER, READER.file, VERIFIER.file)


async def examine_models(
    data: Path, reader: Literal["large", "small", "off"], embedder: str = "english"
) -> Finding:
    settings = Settings(data=data, local_models=True, reader=reader, embedder=embedder, threads=1)
    async with Library.open(settings=settings, embedder=TinyEmbedder()) as library:
        return next(f for f in await library.examine() if f.what == "local models")


async def test_the_doctor_names_the_models_that_read_and_verify(data: Path) -> None:
    seen = await examine_models(data, "small")
    assert (seen.said, seen.sound) == (f"{READER.name}, {VERIFIER.name}", True)


async def test_the_doctor_asks_the_multilingual_reader_unless_the_library_is_english(data: Path) -> None:
    seen = await examine_models(data, "small", embedder="auto")
    assert (seen.said, seen.sound) == (f"{READER.name}, {MULTILINGUAL_READER.name}, {VERIFIER.name}", True)


async def test_the_doctor_misses_the_large_model_only_where_it_is_used(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_models(tmp_path / "site", monkeypatch, shipped=SMALL_FILES)
    assert (await examine_models(data, "small")).sound
    seen = await examine_models(data, "large")
    assert not seen.sound
    assert f"{LARGE.file} is missing" in seen.said
    assert "OCTAVO_READER=small" in seen.hint


async def test_the_doctor_names_the_large_model_where_it_is_used(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny, files = make_tiny_large()
    install_models(tmp_path / "site", monkeypatch, shipped=SMALL_FILES, made=files)
    monkeypatch.setattr(weights, "LARGE", tiny)
    seen = await examine_models(data, "large")
    assert (seen.said, seen.sound) == (f"{READER.name}, {tiny.name}, {VERIFIER.name}", True)
