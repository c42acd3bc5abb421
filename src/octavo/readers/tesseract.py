"""Read the words of a page's picture with Tesseract, an OCR program that the system has or has not.

`find_engine` finds the program and its languages, `recognize` reads one picture. The program runs in a
process of its own (`ocr_child`), confined and limited as the parser is: a hostile picture can spoil only its
own reading. Its answer is hOCR, which gives the box, the certainty and the line of each word.
"""

from __future__ import annotations

import asyncio
import html
import os
import re
import shutil
import statistics
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from octavo.concurrency import run_blocking
from octavo.errors import BadBook, InvalidValue
from octavo.limits import MB
from octavo.readers.sandbox import run_child
from octavo.readers.scans import MOST_WORDS, ScannedLine, ScannedPage, ScannedWord
from octavo.text.clean import clean, collapse

if TYPE_CHECKING:
    from octavo.limits import Limits

HOW_TO_GET_IT = "`apt install tesseract-ocr` on Debian and Ubuntu, `brew install tesseract` on a Mac"
"""How to install the program."""

_PROGRAM = "tesseract"
_COMMAND = (sys.executable, "-I", "-B", "-X", "utf8", "-m", "octavo.readers.ocr_child")
# It goes up when the same picture is read in another way, so that pages in the records are read again.
_VERSION = 1
_ENGLISH = "eng"
_ANSWER_MOST_MB = 16
_SECONDS_TO_START = 20
# Tesseract's names of languages, by their two letters, or by three where libraries use others.
_LANGUAGES = dict(
    re.findall(
        r"(\w+):(\w+)",
        """
    en:eng de:deu fr:fra es:spa it:ita pt:por nl:nld ru:rus pl:pol cs:ces sk:slk sl:slv hr:hrv sr:srp bg:bul
    uk:ukr be:bel ro:ron hu:hun fi:fin sv:swe da:dan no:nor nb:nor et:est lv:lav lt:lit el:ell tr:tur he:heb
    ar:ara fa:fas hi:hin bn:ben ta:tam te:tel th:tha vi:vie id:ind ms:msa ja:jpn ko:kor zh:chi_sim ca:cat
    eu:eus gl:glg la:lat is:isl ga:gle cy:cym sq:sqi mk:mkd ka:kat hy:hye ur:urd eo:epo af:afr am:amh as:asm
    az:aze bo:bod br:bre bs:bos co:cos dv:div dz:dzo fo:fao fy:fry gd:gla gu:guj ht:hat iu:iku iw:heb jv:jav
    kk:kaz km:khm kn:kan ku:kmr ky:kir lb:ltz lo:lao mi:mri ml:mal mn:mon mr:mar mt:mlt my:mya ne:nep nn:nor
    oc:oci or:ori pa:pan ps:pus qu:que sa:san sd:snd si:sin su:sun sw:swa tg:tgk ti:tir tl:fil to:ton tt:tat
    ug:uig uz:uzb yi:yid yo:yor alb:sqi arm:hye baq:eus bur:mya chi:chi_sim cmn:chi_sim cze:ces dut:nld
    fre:fra geo:kat ger:deu gre:ell ice:isl mac:mkd mao:mri may:msa nno:nor nob:nor per:fas rum:ron slo:slk
    tib:bod wel:cym zho:chi_sim
    """,
    )
)
_SIMPLIFIED, _TRADITIONAL = "chi_sim", "chi_tra"
_TRADITIONAL_IN = frozenset(("hant", "tw", "hk", "mo"))
_CODE = re.compile(r"[a-z]{2,3}(?:_[a-z]+)?")
_LISTED_IN = re.compile(r'languages in "([^"]+)"')
# Nothing runs past the next tag, so that a hostile answer takes no longer than another of its length.
_PAGE = re.compile(r"<div class='ocr_page'[^<>]*? title='[^<>']*?bbox 0 0 (\d{1,6}) (\d{1,6})")
_LINE = re.compile(
    r"<span class='ocr_(?:line|header|caption|textfloat)'[^<>]*? title=\"bbox (\d{1,6}) (\d{1,6}) (\d{1,6}) "
    r"(\d{1,6})(?:; textangle [\d.-]{1,20})?(?:; baseline (-?[\d.]{1,20}) (-?[\d.]{1,20}))?"
    r"; x_size ([\d.]{1,20})"
)
_WORD = re.compile(
    r"<span class='ocrx_word'[^<>]*? title='bbox (\d{1,6}) (\d{1,6}) (\d{1,6}) (\d{1,6}); x_wconf (\d{1,3})'"
    r"[^<>]*+>((?:[^<]++|<(?!/?span))*+)</span>"
)
_TAG = re.compile(r"<[^<>]{0,80}>")
_LONGEST_WORD = 1_000
# `x_size` goes from the foot of a "g" to the head of a "d"; type is a little larger.
_TYPE_SIZE = 1.12
_DIGITS = 5
# Below it a mark without letters is a speck or a rule, a line is a picture, and a page has no text.
_SPECK, _PICTURE_LINE, _PICTURE_PAGE = 60, 40, 50


class Engine(NamedTuple):
    """The program, the folder with its languages, and which of them it is to read."""

    program: str
    data: str
    languages: str
    missing: str = ""
    """The language of the book, if the program does not have it and reads in another."""

    @property
    def name(self) -> str:
        """What a page must have been read by to be the same again."""
        return f"tesseract {self.languages} {_VERSION}"


async def find_engine(languages: tuple[str, ...] = (), *, language: str = "") -> Engine | None:
    """Find the program; None where it is not installed.

    `languages` are those of the settings, by Tesseract's names. Without them, it reads in the `language` of
    the book if it has that, else in English, else in the first that it has.
    """
    program = shutil.which(_PROGRAM)
    if program is None:
        return None
    data, installed = await _list_languages(program)
    for name in languages:
        if name not in installed:
            raise InvalidValue(
                "setting ocr_languages", f"must be of those that Tesseract has: {', '.join(installed)}", name
            )
    if languages:
        return Engine(program, data, "+".join(languages))
    wanted = language if language in installed else _name_language(language)
    if wanted in installed:
        return Engine(program, data, wanted)
    likely = (_SIMPLIFIED, _ENGLISH) if wanted == _TRADITIONAL else (_ENGLISH,)
    other = next((name for name in (*likely, *installed) if name in installed), "")
    return Engine(program, data, other, missing=wanted) if other else None


def _name_language(tag: str) -> str:
    """Return Tesseract's name of a language; "" for what is none, as a book may state anything."""
    first, *rest = tag.lower().replace("_", "-").split("-")
    name = _LANGUAGES.get(first, first)
    if name == _SIMPLIFIED and "hans" not in rest and not _TRADITIONAL_IN.isdisjoint(rest):
        return _TRADITIONAL
    return name if _CODE.fullmatch(name) else ""


async def _list_languages(program: str) -> tuple[str, tuple[str, ...]]:
    """Return the folder with the languages, and their names; "osd" finds out scripts and is none."""
    process = await asyncio.create_subprocess_exec(
        program,
        "--list-langs",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=_get_environment(),
    )
    try:
        said, _ = await asyncio.wait_for(process.communicate(), _SECONDS_TO_START)
    except TimeoutError:
        process.kill()
        await process.wait()
        return "", ()
    head, _, rest = said.decode("utf-8", "replace").partition("\n")
    found = _LISTED_IN.search(head)
    names = tuple(line.strip() for line in rest.splitlines() if line.strip() not in ("", "osd"))
    return (found[1], names) if found else ("", ())


def _get_environment() -> dict[str, str]:
    known = {"LANG": "C.UTF-8", "PATH": os.defpath, "OMP_THREAD_LIMIT": "1"}
    prefix = os.environ.get("TESSDATA_PREFIX")
    return {**known, "TESSDATA_PREFIX": prefix} if prefix else known


async def recognize(picture: bytes, number: int, engine: Engine, limits: Limits) -> ScannedPage:
    """Return the words of page `number`, given as a PNG. Raise `BadBook` when it cannot be read."""
    name = f"page {number}"
    limits = replace(limits, parser_seconds=limits.ocr_seconds)
    command = [*_COMMAND, engine.program, engine.data, engine.languages]
    command += [str(limits.parser_memory_mb), str(limits.ocr_seconds)]
    answer = await run_child(picture, name, limits, most=_ANSWER_MOST_MB * MB, command=command)
    try:
        return await run_blocking(lambda: read_hocr(answer.decode("utf-8")))
    except ValueError:
        raise BadBook("parser_crash", f"Tesseract answered nonsense for {name}") from None


def read_hocr(text: str) -> ScannedPage:
    """Read Tesseract's answer. What is most likely a picture or a speck is left out."""
    page = _PAGE.search(text)
    if page is None or min(wide := int(page[1]), high := int(page[2])) < 1:
        raise ValueError("not hOCR")
    lines: list[ScannedLine] = []
    sure: list[int] = []
    starts = [*_LINE.finditer(text)]
    ends = [found.start() for found in starts[1:]] + [len(text)]
    for found, end in zip(starts, ends, strict=False):
        words = list(islice(_read_words(text[found.end() : end], wide, high), MOST_WORDS + 1))
        if not words or statistics.fmean(chance for _, chance in words) < _PICTURE_LINE:
            continue
        slope, foot = float(found[5] or 0), float(found[6] or 0)
        # Where the middle of the line stands, if the page is not quite straight.
        base = int(found[4]) + foot + slope * (int(found[3]) - int(found[1])) / 2
        size = _TYPE_SIZE * float(found[7])
        lines.append(ScannedLine(_share(base, high), _share(size, high), tuple(word for word, _ in words)))
        sure += (chance for _, chance in words)
        if len(sure) > MOST_WORDS:
            raise ValueError("too many words")
    confidence = statistics.fmean(sure) if sure else 0.0
    if confidence < _PICTURE_PAGE:
        return ScannedPage(round(confidence / 100, 4), ())
    return ScannedPage(round(confidence / 100, 4), tuple(lines))


def _read_words(text: str, wide: int, high: int) -> Iterator[tuple[ScannedWord, int]]:
    for found in _WORD.finditer(text):
        left, top, right, bottom, chance = (int(number) for number in found.groups()[:5])
        box = (_share(left, wide), _share(top, high), _share(right, wide), _share(bottom, high))
        if len(found[6]) > _LONGEST_WORD:
            raise ValueError("a word that is too long")
        for part in collapse(clean(html.unescape(_TAG.sub("", found[6])))).split():
            if chance >= _SPECK or any(map(str.isalnum, part)):
                yield ScannedWord(part, *box), min(100, chance)


def _share(place: float, whole: int) -> float:
    return round(min(1.0, max(0.0, place / whole)), _DIGITS)
