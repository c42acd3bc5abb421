"""A small Japanese EPUB that is set in columns from right to left, with readings over its words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.epub_files import make_package, write_epub

if TYPE_CHECKING:
    from pathlib import Path

SENTENCE = "東(とう)京(きょう)の坂に猫が住(す)んでいた。"
"""A sentence of it as plain text has it."""
_PAGE = """<?xml version="1.0" encoding="utf-8"?>
<html xmlns="http://www.w3.org/1999/xhtml" lang="ja" xml:lang="ja" style="writing-mode: vertical-rl;
-epub-writing-mode: vertical-rl"><head>
<title>坂の猫</title><style>html { writing-mode: vertical-rl; }</style></head>
<body><h1>第一章</h1><p>これは古い話である。<ruby>東<rp>(</rp><rt>とう</rt><rp>)</rp>京<rp>(</rp><rt>きょう</rt><rp>)</rp></ruby>の坂に猫が<ruby>住<rt>す</rt></ruby>んでいた。名前はまだ無い。</p>
<p>十月<span style="text-combine-upright: all">31</span>日の朝、猫は坂を下りた。</p></body></html>"""


def write_japanese(path: Path) -> Path:
    package = make_package(["1.xhtml"], title="坂の猫").replace(
        "<spine", '<spine page-progression-direction="rtl"', 1
    )
    package = package.replace("<dc:language>en</dc:language>", "<dc:language>ja</dc:language>")
    return write_epub(path, {"1.xhtml": _PAGE}, opf=package)
