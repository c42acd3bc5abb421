"""What a book of pages and each of its pages are called.

A page is called by its heading, or by what its head says without the site's name. The book is called by its
home page; where that is a chapter like any other ("Introduction"), by the name that all titles share.
"""

from __future__ import annotations

import re

from octavo.readers.html.site import SitePage, drop_shared_title
from octavo.readers.titles import clean_line, is_same_title, make_title, split_words

_NO_NAMES = frozenset(("contents", "table of contents", "index", "toc", "home", "welcome", "untitled", "top"))
_CHAPTER_NAMES = frozenset(
    (
        *("introduction", "overview", "preface", "foreword", "getting started", "title page"),
        *("home page", "sitemap", "site map", "documentation"),
    )
)
_NO_TITLES = _NO_NAMES | _CHAPTER_NAMES
_HOME_PAGE = re.compile(r"\s+(?:home\s?page|index page|start page)$", re.IGNORECASE)
_WELCOME = re.compile(r"^welcome to (?:the )?", re.IGNORECASE)


def choose_book_title(
    home: SitePage | None, contents: SitePage | None, shared: str, *, is_chapter: bool
) -> str:
    """Choose the title of a site. `is_chapter` says that its home page is also a chapter of the book."""
    choices: list[str] = []
    if home is not None:
        own = drop_shared_title(home.content.title, shared)
        tops = [h.text for h in home.content.headings if h.level == 1]
        named = tops[:1] if len(tops) < 2 or is_same_title(tops[0], own) else []
        choices = [_WELCOME.sub("", text) for text in (*named, own)]
        if shared and own != home.content.title and _is_of_its_own(choices[0], shared, is_chapter=is_chapter):
            choices.insert(0, shared)
    if contents is not None and any(_HOME_PAGE.search(text) for text in choices):
        choices.insert(0, drop_shared_title(contents.content.title, shared))
    choices += [shared, home.content.title if home is not None else ""]
    lines = (clean_line(_HOME_PAGE.sub("", text)) for text in choices)
    return next((line for line in lines if line and line.casefold().strip(". ") not in _NO_TITLES), "")


def _is_of_its_own(name: str, shared: str, *, is_chapter: bool) -> bool:
    """Whether the home page's name is that of a chapter, not of the book that all titles name."""
    words = set(split_words(name))
    return is_chapter and not words <= set(split_words(shared))


def name_head(page: SitePage, own: str, book: str) -> str:
    """Name the chapter of the home page: by its own title if it has one, else like the book."""
    has_heading = any(h.level == 1 for h in page.content.headings)
    return own if has_heading and own.casefold().strip(". ") not in _NO_NAMES else book


def find_page_title(page: SitePage, shared: str) -> str:
    """Find a page's title: its heading, or what its head says without the site's name.

    Of several top headings none names the page, unless its head says the same.
    """
    headings = page.content.headings
    top = min((h.level for h in headings), default=0)
    highest = [h for h in headings if h.level == top]
    own = clean_line(drop_shared_title(page.content.title, shared))
    if highest and (top == 1 or highest[0] is headings[0]):
        first = clean_line(highest[0].text)
        if len(highest) == 1 or not own or _names_page(first, own):
            return first
    return own or make_title(page.stem)


def _names_page(heading: str, own: str) -> bool:
    """Whether a heading and a page's own title have most of their words in common."""
    if is_same_title(heading, own):
        return True
    ours, others = set(split_words(heading)), set(split_words(own))
    return 2 * len(ours & others) >= min(len(ours), len(others)) > 0
