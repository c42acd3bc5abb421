"""Tesseract is found with its languages, reads a picture confined and limited, and its answer is checked."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from octavo.errors import BadBook, InvalidValue
from octavo.limits import Limits
from octavo.readers.pdf.page import draw_scans
from octavo.readers.scans import ScannedPage
from octavo.readers.tesseract import Engine, find_engine, read_hocr, recognize
from tests.readers.test_sandbox import has_landlock
from tests.support import pdf_files
from tests.support.patience import PATIENCE

PATIENT = Limits(ocr_seconds=PATIENCE)
HEAD = "<div class='ocr_page' id='page_1' title='image \"stdin\"; bbox 0 0 1000 2000; ppageno 0'>"


def line(words: str, *, box: str = "100 180 500 220", more: str = "baseline 0.01 -8; x_size 40") -> str:
    return f"<span class='ocr_line' id='l' title=\"bbox {box}; {more}; x_descenders 9\">{words}</span>"


def word(text: str, chance: int = 95, box: str = "100 180 200 220") -> str:
    return f"<span class='ocrx_word' id='w' title='bbox {box}; x_wconf {chance}'>{text}</span>"


async def get_engine() -> Engine:
    engine = await find_engine()
    assert engine is not None, "the tests need tesseract-ocr: see .ci/system-packages"
    return engine


async def test_without_the_program_there_is_no_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert await find_engine() is None


async def test_languages_come_from_the_settings_or_the_book_or_are_english() -> None:
    assert (await get_engine()).languages == "eng"
    english = await find_engine(language="en-GB")
    assert english is not None
    assert (english.languages, english.missing) == ("eng", "")
    other = await find_engine(language="tlh")
    assert other is not None
    assert (other.languages, other.missing) == ("eng", "tlh")
    chosen = await find_engine(("eng",), language="tlh")
    assert chosen is not None
    assert (chosen.languages, chosen.missing) == ("eng", "")
    with pytest.raises(InvalidValue, match=r"eng.*got 'klingon'"):
        await find_engine(("klingon",))


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where languages are installed, by the names of empty files; English is."""
    monkeypatch.setenv("TESSDATA_PREFIX", str(tmp_path))
    (tmp_path / "eng.traineddata").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("language", "name"),
    [
        *(("ur", "urd"), ("eo", "epo"), ("ger", "deu"), ("deu", "deu"), ("de_AT", "deu"), ("zh", "chi_sim")),
        *(("zh-CN", "chi_sim"), ("zh-TW", "chi_tra"), ("zh-Hant-HK", "chi_tra"), ("zh-Hans-HK", "chi_sim")),
        ("chi_tra", "chi_tra"),
    ],
)
async def test_a_language_is_found_by_its_codes(installed: Path, language: str, name: str) -> None:
    (installed / f"{name}.traineddata").touch()
    engine = await find_engine(language=language)
    assert engine is not None
    assert (engine.languages, engine.missing) == (name, "")


async def test_traditional_chinese_is_read_as_simplified_rather_than_english(installed: Path) -> None:
    (installed / "chi_sim.traineddata").touch()
    engine = await find_engine(language="zh-TW")
    assert engine is not None
    assert (engine.languages, engine.missing) == ("chi_sim", "chi_tra")


@pytest.mark.parametrize("language", ["x; rm", "`id`", "deu`", "eng\n", "$(id)", "English", "de;id-AT"])
async def test_what_is_no_language_is_not_said_to_be_missing(installed: Path, language: str) -> None:
    engine = await find_engine(language=language)
    assert engine is not None
    assert (engine.languages, engine.missing) == ("eng", "")


def test_words_lines_and_certainty_are_read_from_the_answer() -> None:
    page = read_hocr(
        HEAD
        + line(word("The") + word("<strong>R&amp;D</strong>", 85, "210 180 500 230"))
        + line(word("next"), box="100 280 500 320")
    )
    assert page.text == "The R&D\nnext"
    assert page.confidence == pytest.approx(0.9167, abs=0.0001)
    first = page.lines[0]
    assert first.words[1][1:] == (0.21, 0.09, 0.5, 0.115)
    # The foot of the box, 8 up, and half of the slope over 400 pixels.
    assert first.base == pytest.approx((220 - 8 + 2) / 2000)
    assert first.size == pytest.approx(1.12 * 40 / 2000)


def test_specks_pictures_and_pages_without_text_are_left_out() -> None:
    assert read_hocr(HEAD + line(word("Fog") + word("|", 30) + word(" ", 95))).text == "Fog"
    assert read_hocr(HEAD + line(word("Fog")) + line(word("eyy", 20))).text == "Fog"
    assert read_hocr(HEAD + line(word("eyy", 45))).lines == ()
    assert read_hocr(HEAD).lines == ()


@pytest.mark.parametrize("answer", ["", "{}", "<div class='ocr_page' title='bbox 0 0 0 0'>", HEAD[:40]])
def test_nonsense_is_refused(answer: str) -> None:
    with pytest.raises(ValueError):
        read_hocr(answer)


@pytest.mark.parametrize(
    "piece",
    [
        "<div class='ocr_page' title='",
        "<span class='ocr_line' ",
        line("")[:-7].replace("x_size", "x"),
        word("")[:-7],
        word("")[:-8] + " ",
    ],
)
def test_a_hostile_answer_is_read_in_a_time_of_its_length(piece: str) -> None:
    # A pattern that went on to the end from each of these would take hours.
    assert read_hocr(HEAD + line("") + piece * (2_000_000 // len(piece))).lines == ()


@pytest.mark.parametrize("words", [word("a " * 5_000), word("a") * 20_001])
def test_more_words_than_a_page_has_are_refused(words: str) -> None:
    with pytest.raises(ValueError):
        read_hocr(HEAD + line(words))


async def test_the_answer_is_read_off_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []

    def read(text: str) -> ScannedPage:
        threads.append(threading.get_ident())
        return read_hocr(text)

    monkeypatch.setattr("octavo.readers.tesseract.read_hocr", read)
    (picture,) = draw_scans(pdf_files.make_book([[]]), [1], Limits())
    assert (await recognize(picture, 1, await get_engine(), PATIENT)).lines == ()
    assert threads
    assert threading.get_ident() not in threads


async def test_a_picture_that_is_none_is_a_bad_page() -> None:
    with pytest.raises(BadBook):
        await recognize(b"\x89PNG\r\n\x1a\nnot a picture", 7, await get_engine(), PATIENT)


async def test_a_page_that_takes_too_long_or_too_much_memory_is_given_up() -> None:
    lines = [f"Line {n} has many words, and each takes its time to be read by a machine." for n in range(55)]
    data = pdf_files.make_book([pdf_files.column(lines, size=10, top=800)])
    (picture,) = draw_scans(data, [1], Limits())
    with pytest.raises(BadBook) as slow:
        await recognize(picture, 1, await get_engine(), Limits(ocr_seconds=0.5))
    assert slow.value.code in ("parser_timeout", "parser_limit")
    with pytest.raises(BadBook):
        await recognize(picture, 1, await get_engine(), replace(PATIENT, parser_memory_mb=60))


def test_the_process_can_become_no_other_program() -> None:
    if not has_landlock():
        pytest.skip("this kernel has no Landlock")
    other, program = shutil.which("ls"), shutil.which("true")
    assert other
    assert program
    code = f"""
import os
from octavo.readers.confine import confine
program, other = {os.path.realpath(program)!r}, {os.path.realpath(other)!r}
confine((program,), run=program)
for path, command in ((other, "execv"), ("/etc/passwd", "open")):
    try:
        os.execv(path, [path]) if command == "execv" else open(path)
        raise SystemExit(7)
    except PermissionError:
        pass
os.execv(program, [program])
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
