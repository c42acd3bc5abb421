"""The text inside a line of reStructuredText: emphasis, literals, roles, references, substitutions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape

from octavo.readers.documents.book import write_formula

# Bounded, so that a mark that is never closed costs little.
_MARK = re.compile(
    r"``(?P<literal>.{1,2000}?)``(?!`)"
    r"|:(?P<role>[A-Za-z][\w:+.-]{0,60}):`(?P<said>(?:[^`\\]|\\.){1,2000})`"
    r"|(?<!\w)_?`(?P<phrase>(?:[^`\\]|\\.){1,2000})`(?:__?)?(?::[A-Za-z][\w:+.-]{0,60}:)?"
    r"|\*\*(?P<strong>\S(?:[^*]|\*(?!\*)){0,2000}?)\*\*"
    r"|(?<![\w*])\*(?P<emphasis>[^\s*](?:[^*]{0,2000}[^\s*])?)\*(?!\w)"
    r"|(?<!\w)\|(?P<name>[^|\s](?:[^|]{0,200}?[^|\s])?)\|(?:__?)?"
    r"|\[(?P<note>#?[\w.*-]{0,60}|\#)\]_"
    r"|\\(?P<escaped>.)"
    r"|(?<![\w`])(?P<word>[A-Za-z0-9](?:[\w.-]{0,100}?[A-Za-z0-9])?)__?(?![\w`])",
    re.DOTALL,
)
_TARGETED = re.compile(r"(.*?)\s*<[^<>]*>", re.DOTALL)
_CODE_ROLES = frozenset(
    (
        "code",
        "file",
        "samp",
        "command",
        "program",
        "option",
        "envvar",
        "kbd",
        "regexp",
        "makevar",
        "cmd",
    )
)
_LAST_ONLY = re.compile(r"^~(?:.*[.:/])?(.+?)$", re.DOTALL)
_SILENT_ROLES = frozenset(("raw", "index", "orphan"))


def write_inline(text: str, substitutions: Mapping[str, str]) -> str:
    """Write a run of text as HTML."""
    parts: list[str] = []
    end = 0
    for found in _MARK.finditer(text):
        parts += (escape(text[end : found.start()]), _write_mark(found, substitutions))
        end = found.end()
    return "".join([*parts, escape(text[end:])])


def _write_mark(found: re.Match[str], substitutions: Mapping[str, str]) -> str:
    kind = found.lastgroup if found.lastgroup != "said" else "role"
    said = found.group(found.lastgroup or 0)
    if kind == "literal":
        return f"<code>{escape(said)}</code>"
    if kind == "role":
        return _write_role(found.group("role"), found.group("said"))
    if kind == "strong":
        return f"<strong>{escape(_unescape(said))}</strong>"
    if kind == "emphasis":
        return f"<em>{escape(_unescape(said))}</em>"
    if kind == "name":
        return escape(substitutions.get(said.casefold(), said))
    if kind == "note":
        return f"[{escape(said.lstrip('#') or '*')}]"
    if kind == "escaped":
        return "" if said.isspace() else escape(said)
    return escape(_unescape(_drop_target(said)))


def _write_role(role: str, said: str) -> str:
    name = role.rpartition(":")[2]
    if name in _SILENT_ROLES:
        return ""
    if name == "math":
        return write_formula(said)
    text = _drop_target(_unescape(said)).lstrip("!")
    last = _LAST_ONLY.match(text)
    shown = escape(last.group(1) if last else text)
    if name in ("strong", "emphasis"):
        tag = "em" if name == "emphasis" else "strong"
        return f"<{tag}>{shown}</{tag}>"
    if name in ("sup", "superscript"):
        return f"<sup>{shown}</sup>"
    return f"<code>{shown}</code>" if name in _CODE_ROLES else shown


def _drop_target(text: str) -> str:
    """Return the words of `words <target>`, or the target when there are no others."""
    found = _TARGETED.fullmatch(text)
    return (found.group(1) or text.strip("<> ")) if found else text


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", lambda m: "" if m.group(1).isspace() else m.group(1), text)
