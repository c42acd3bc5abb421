"""Reads manuals of Debian that exist in many languages, section by section.

    apt-get download debian-faq debian-faq-{de,fr,it,ja,ko,nl,pt,ru,zh-cn} debian-handbook harden-doc \\
        installation-guide-amd64 debian-reference-{en,de,es,fr,it,ja,pt,zh-cn} gnucash-docs
    for package in *.deb; do dpkg -x "$package" MANUALS; done

A section is known by its number, which is the same in all languages; one of the GnuCash guide, whose editions
number their chapters in different ways, by its anchor. Sections that were not translated are left out.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from pathlib import Path

from octavo.text.languages import get_base_code, identify_language

DOCUMENTS = {
    "faq": ("usr/share/doc/debian/FAQ", "*.{}.html"),
    "handbook": ("usr/share/doc/debian-handbook/html/{}", "*.html"),
    "securing": ("usr/share/doc/harden-doc/html/{}", "*.html"),
    "installation": ("usr/share/doc/installation-guide-amd64/{}", "*.html"),
    "reference": ("usr/share/debian-reference", "*.{}.html"),
    "gnucash": ("usr/share/doc/gnucash-docs/gnucash-guide-{}", "*.html"),
}
"""Where each manual lies, and how its pages of one language are called."""
SHORTEST, LONGEST = 120, 4_000
"""How many characters a section has that is asked for."""
_TITLE = re.compile(r"<h([2-4])[^>]*>(.*?)</h\1>", re.DOTALL)
_NUMBER = re.compile(r"^\s*((?:[A-Z]|\d+)(?:\.\d+)+)\.?[\s\xa0]+")
_ANCHORED = re.compile(r'<h([1-5]) class="title"[^>]*><a name="([^"]+)"></a>(.*?)</h\1>', re.DOTALL)
_LABEL = re.compile(r"^(?:(?:\w+\s)?(?:[A-Z]|\d+)(?:\.\d+)*\.|第\d+章|付録[A-Z])\s+")
# DocBook counts anchors that nobody named, and each edition counts its own.
_MADE_UP = re.compile(r"id[a-z]?\d+")
_LINKS = re.compile(r'<div class="toc">.*?</div>|<div [^>]*class="navfooter">.*', re.DOTALL)
_PRE = re.compile(r"<pre[^>]*>(.*?)</pre>", re.DOTALL)
_END = re.compile(r'<div class="navfooter">.*|<ul class="docnav">.*?</ul>', re.DOTALL)
_BLOCK = re.compile(r"</?(?:p|div|li|ul|ol|dl|dt|dd|table|tr|h\d)\b[^>]*>")


@dataclass(frozen=True, slots=True)
class Entry:
    """A section: its number or anchor in all languages, its title, and its own text."""

    place: str
    question: str
    text: str


def read_entries(root: Path, document: str, language: str) -> dict[str, Entry]:
    """Read the sections of one manual in one language that were translated, by their numbers."""
    folder, pattern = DOCUMENTS[document]
    found: dict[str, Entry] = {}
    for path in sorted((root / folder.format(language)).rglob(pattern.format(language))):
        page = _END.sub("", path.read_text(encoding="utf-8"))
        titles = list(_TITLE.finditer(page))
        for title, following in zip(titles, [*titles[1:], None], strict=False):
            heading = " ".join(strip_tags(title[2]).split())
            number = _NUMBER.match(heading)
            text = strip_tags(page[title.end() : following.start() if following else len(page)])
            if number and SHORTEST <= len(text) <= LONGEST and _is_in(text, language):
                entry = Entry(number[1], heading[number.end() :], text)
                found.setdefault(entry.place, entry)
    return found


def read_anchored(root: Path, document: str, language: str) -> dict[str, Entry]:
    """Read the sections of one manual in one language that were translated, by their anchors."""
    folder, pattern = DOCUMENTS[document]
    found: dict[str, Entry] = {}
    for path in sorted((root / folder.format(language)).rglob(pattern)):
        page = _LINKS.sub("", path.read_text(encoding="utf-8"))
        # A listing is one paragraph: half of one that was left in English would never end.
        page = _PRE.sub(lambda listing: re.sub(r"\n\s*\n", "\n", listing[0]), page)
        titles = list(_ANCHORED.finditer(page))
        for title, following in zip(titles, [*titles[1:], None], strict=False):
            text = strip_tags(page[title.end() : following.start() if following else len(page)])
            fits = SHORTEST <= len(text) <= LONGEST and _is_in(text, language)
            if fits and not _MADE_UP.fullmatch(title[2]):
                heading = " ".join(_LABEL.sub("", strip_tags(title[3])).split())
                found.setdefault(title[2], Entry(title[2], heading, text))
    return found


def _is_in(text: str, language: str) -> bool:
    code = get_base_code(language)
    return identify_language([text], declared=code) == ("" if code == "en" else code)


def strip_tags(page: str) -> str:
    page = _PRE.sub(lambda found: f"\n\n```\n{found[1].strip()}\n```\n\n", page)
    plain = html.unescape(re.sub(r"<[^>]+>", "", _BLOCK.sub("\n\n", page)))
    lines = "\n".join(line.strip(" \xa0") for line in plain.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", lines).strip()
