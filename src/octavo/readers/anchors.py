"""The ids that publishing tools give to headings, so that a citation can link to its exact place."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

_GITHUB = re.compile(r"[^\w\- ]")
_MDBOOK = re.compile(r"[^\w\-\s]")


def github(text: str) -> str:
    """As GitHub and Docusaurus do: lower case, no punctuation, each space a hyphen."""
    return _strip(_GITHUB, text.lower()).replace(" ", "-")


def mdbook(text: str) -> str:
    """As mdBook does: the same, with every kind of white space a hyphen."""
    return re.sub(r"\s", "-", _strip(_MDBOOK, text.strip().lower()))


def _strip(unwanted: re.Pattern[str], text: str) -> str:
    if text.isascii():
        return unwanted.sub("", text)
    return unwanted.sub(lambda m: m.group() if unicodedata.category(m.group())[0] == "M" else "", text)


class Anchors:
    """The ids of one page: each is used once, repeated headings count up."""

    def __init__(self, rule: Callable[[str], str] = github) -> None:
        self._rule = rule
        self._taken: dict[str, int] = {}

    def of(self, title: str, explicit: str = "") -> str:
        if explicit:
            self._taken.setdefault(explicit, 0)
            return explicit
        base = found = self._rule(title)
        while found in self._taken:
            self._taken[base] += 1
            found = f"{base}-{self._taken[base]}"
        self._taken[found] = 0
        return found
