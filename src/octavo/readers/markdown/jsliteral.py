"""Read the literals of a JavaScript or TypeScript file without ever running it.

Docusaurus keeps its settings in program files. `read_export` finds what a file exports and reads what is
written out: strings, numbers, lists, objects, and names that the same file assigns to those. A call such as
`require.resolve('./sidebars.js')` is read as the string inside it; everything else is None.
"""

from __future__ import annotations

import re
from typing import Any

_DEEPEST = 60
_COMMENT = re.compile(
    r"""("(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|`(?:[^`\\]|\\.)*`?)|/\*.*?(?:\*/|\Z)|//[^\n]*""", re.DOTALL
)
_EXPORT = re.compile(r"\bmodule\.exports\s*=\s*|\bexport\s+default\s+")
_STRING = re.compile(r""""((?:[^"\\\n]|\\.)*)"?|'((?:[^'\\\n]|\\.)*)'?|`((?:[^`\\]|\\.)*)`?""", re.DOTALL)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?![\w.])")
_NAME = re.compile(r"[A-Za-z_$][\w$]*")
_KEY = re.compile(r"""(?:"([^"\n]*)"|'([^'\n]*)'|\[?([A-Za-z_$][\w$.]*)\]?|(\d+))\s*(?=[:,}(])""")
_SPACE = re.compile(r"\s*")
_EDGE = re.compile(r"""[\[\](){},"'`]""")
_WORDS = {"true": True, "false": False, "null": None, "undefined": None}
_ESCAPES = {"n": "\n", "t": "\t", "r": "", "\n": ""}


def read_export(source: str) -> Any:
    """Return what the file exports, as far as it is written out; None if nothing is."""
    reader = _LiteralReader(_COMMENT.sub(lambda m: m.group(1) or " ", source))
    return reader.read_export()


class _LiteralReader:
    """Reads the values of one program text on a budget, so that no text takes more than linear time."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._names = {
            m.group(1): m.end()
            for m in re.finditer(r"\b(?:const|let|var)\s+([\w$]+)\s*(?::[^=\n]{1,200})?=\s*", text)
        }
        self._budget = 20 * len(text) + 1000

    def read_export(self) -> Any:
        found = _EXPORT.search(self._text)
        if found:
            value, _ = self._read_value(found.end(), 0)
            return value
        return next(
            (v for at in self._names.values() if isinstance(v := self._read_value(at, 0)[0], dict)), None
        )

    def _skip_blanks(self, at: int) -> int:
        found = _SPACE.match(self._text, at)
        return found.end() if found else at

    def _read_value(self, at: int, depth: int) -> tuple[Any, int]:
        """Return the value that starts here, and the place after the whole expression."""
        at = self._skip_blanks(at)
        self._budget -= 1
        if depth > _DEEPEST or self._budget < 0:
            return None, len(self._text)
        char = self._text[at : at + 1]
        value: Any
        if char == "{":
            value, end = self._read_object(at + 1, depth + 1)
        elif char == "[":
            value, end = self._read_array(at + 1, depth + 1)
        elif char == "(":
            value, end = self._read_parentheses(at + 1, depth + 1)
        elif string := _STRING.match(self._text, at):
            value, end = _unquote(string), string.end()
        elif number := _NUMBER.match(self._text, at):
            value, end = float(number.group()[:300]), number.end()
        else:
            value, end = self._read_name(at, depth + 1)
        return value, self._find_end(end)

    def _read_parentheses(self, at: int, depth: int) -> tuple[Any, int]:
        """Read `({…})` as what is inside; the parameters of a function are None."""
        value, end = self._read_value(at, depth)
        while self._text[end : end + 1] == ",":
            value, end = None, self._find_end(end + 1)
        end = min(end + 1, len(self._text))
        return (None if self._text.startswith("=>", self._skip_blanks(end)) else value), end

    def _read_name(self, at: int, depth: int) -> tuple[Any, int]:
        name = _NAME.match(self._text, at)
        if not name:
            return None, at
        after = self._text[name.end() : name.end() + 1]
        if name.group() in _WORDS:
            return _WORDS[name.group()], name.end()
        if after not in (".", "(") and name.group() in self._names:
            return self._read_value(self._names[name.group()], depth)[0], name.end()
        end = self._find_end(name.end())
        if "=>" in self._text[at:end] or name.group() == "function":
            return None, end
        strings = [_unquote(m) for m in _STRING.finditer(self._text, at, end)]
        return (strings[-1] if strings else None), end

    def _find_end(self, at: int) -> int:
        """Return the place of the comma or bracket that ends the expression."""
        depth = 0
        while found := _EDGE.search(self._text, at):
            self._budget -= 1
            char, at = found.group(), found.end()
            if char in "\"'`":
                string = _STRING.match(self._text, found.start())
                at = string.end() if string else at
            elif char in "([{":
                depth += 1
            elif depth and char in ")]}":
                depth -= 1
            elif not depth:
                return found.start()
            if self._budget < 0:
                break
        return len(self._text)

    def _read_array(self, at: int, depth: int) -> tuple[list[Any], int]:
        items: list[Any] = []
        while True:
            at = self._skip_blanks(at)
            char = self._text[at : at + 1]
            if char in ("]", "", ")", "}"):
                return items, at + 1
            if char == ",":
                at += 1
                continue
            spread = self._text.startswith("...", at)
            value, at = self._read_value(at + 3 if spread else at, depth)
            if spread and isinstance(value, list):
                items += value
            elif not spread:
                items.append(value)

    def _read_object(self, at: int, depth: int) -> tuple[dict[str, Any], int]:
        fields: dict[str, Any] = {}
        while True:
            at = self._skip_blanks(at)
            char = self._text[at : at + 1]
            if char in ("}", "", ")", "]"):
                return fields, at + 1
            if char == ",":
                at += 1
                continue
            key = _KEY.match(self._text, at)
            if self._text.startswith("...", at):
                value, at = self._read_value(at + 3, depth)
                fields.update(value if isinstance(value, dict) else {})
            elif not key:
                at = max(self._find_end(at), at + 1)
            elif self._text[key.end() : key.end() + 1] == ":":
                fields[next(g for g in key.groups() if g is not None)], at = self._read_value(
                    key.end() + 1, depth
                )
            elif self._text[key.end() : key.end() + 1] == "(":
                at = self._find_end(key.end())
            else:
                fields[key.group().strip()], at = self._read_value(at, depth)


def _unquote(string: re.Match[str]) -> str:
    raw = next((g for g in string.groups() if g is not None), "")
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m.group(1), m.group(1)), raw, flags=re.DOTALL)
