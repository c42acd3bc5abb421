"""How the lines of a text show its layout: so far, how an item of a list begins."""

from __future__ import annotations

import re

MARKER = r"(?:[-*+•‣◦▪–—]|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)])"
"""The bullet, number, letter or roman numeral before an item of a list."""
ITEM = re.compile(rf"\s*{MARKER}\s+")
"""How an item of a list begins. A table's row is none."""
