"""A small illustrated book in HTML, Markdown and EPUB, and one that tries to do harm with its pictures."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

from tests.support.epub_files import make_package, write_epub
from tests.support.payloads import FAR, FORMULAS, MATH, PWNED


def make_png(width: int = 120, height: int = 60, colour: tuple[int, int, int] = (120, 60, 160)) -> bytes:
    """Make a picture of one colour."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = (b"\0" + bytes(colour) * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


DRAWING = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 20">'
    '<rect width="40" height="20" fill="teal"/></svg>'
)
HOSTILE_DRAWING = f"""<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"
  onload="{PWNED}" viewBox="0 0 40 20"><script>{PWNED}</script><foreignObject><iframe
  xmlns="http://www.w3.org/1999/xhtml" src="{FAR}"/></foreignObject><image xlink:href="{FAR}x.png"/>
  <style>@import url({FAR}s.css);</style><a xlink:href="javascript:{PWNED}"><text x="1" y="9">boat</text></a>
  <rect width="40" height="20" style="fill:url({FAR}p)" onclick="{PWNED}"/><use href="{FAR}u.svg#x"/></svg>"""

PAGE = """<html lang="en"><head><title>The Sea Chart</title></head><body><h1>The Sea Chart</h1>
<h2 id="tides">Tides</h2>
<p>The <em>tide</em> of the <strong>harbour</strong> is read with <code>tide --now</code>, and
<a href="#ropes">ropes</a> or <a href="https://example.org/x">the almanac</a> help<sup><a href="#n1"
epub:type="noteref">1</a></sup>. Water is H<sub>2</sub>O and the deep has 10<sup>9</sup> fish.</p>
<figure><img src="map.png" alt="A map"><figcaption>The map of the harbour.</figcaption></figure>
<table><caption>Heights of the tide</caption><tr><th>Port</th><th>Height</th></tr>
<tr><td rowspan="2">Northern <b>quay</b></td><td>four fathoms</td></tr><tr><td>five fathoms</td></tr></table>
<p>The height is
<math display="block"><mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></mfrac></math> of both.</p>
<h2 id="ropes">Ropes</h2>
<ol start="3"><li>Take a rope.<ul><li>A long one.</li></ul></li><li>Tie the knot.</li></ol>
<blockquote><p>No rope is long enough.</p></blockquote>
<pre><code class="language-python">def tie(rope):
    return rope * 2
</code></pre>
<pre><code class="language-js">// see <a href="#tides">the tides</a> before "10"
const knots = 10; /* never closed
</code></pre>
<p lang="he" dir="rtl">שלום לכולם</p>
<hr>
<dl><dt>Bowline</dt><dd>A knot that holds.</dd></dl>
<aside epub:type="footnote" id="n1"><p>Measured at <em>noon</em> by the pilot.</p></aside>
</body></html>"""

MARKDOWN = """# The Boat Book

## Rigging

The *mast* of the **boat** uses `sail()`, see [hulls](#hulls) and [the web](https://example.org/y).[^1]

![The mast seen from below](mast.png)

| sail | size |
|------|------|
| *jib* | [small](#hulls) |
| main | large |

$$\\frac{a}{b}$$

[^1]: A note on masts.

## Hulls

1. Lay the keel.
2. Bend the planks.

> [!TIP] Wood
> Use oak.

```rust,ignore
fn hull() {}
```

<p>Seen <img src="drawing.svg" alt="a drawing"> from <em>above</em>.</p>
"""

HOSTILE = f"""# Wreck

Go [here](javascript:{PWNED}) or [there](data:text/html,<script>{PWNED}</script>) for boats.

![leak]({FAR}leak.png) ![drawing](bad.svg) ![page](page.png)

<a href="javascript:{PWNED}">boats</a> <img src=x onerror="{PWNED}">

The last boat sank.
"""
HOSTILE_PAGE = f"""<html><head><title>Reef</title></head><body><h1>Reef</h1><p>The reef has
<math><mi href="javascript:{PWNED}" onclick="{PWNED}" style="background:url({FAR}m)">x</mi><mtext><img src=x
onerror="{PWNED}"><script>{PWNED}</script></mtext><maction actiontype="statusline#{FAR}"><mi>y</mi></maction>
<annotation-xml encoding="text/html"><iframe src="{FAR}"></iframe></annotation-xml></math> corals and
<a href="javascript:{PWNED}">one</a> <a href=" java&#10;script:{PWNED}">two</a> ways.
<img src="{FAR}pixel.gif" alt="far away picture of reefs"> <img src="bad.svg" alt=""></p></body></html>"""


FORMULAS_PAGE = (
    '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>Shoals</title></head><body><h1>Shoals</h1>'
    + "".join(
        f"<p>Shoal number {number} lies at {text} under the water.</p>"
        for number, text in enumerate(FORMULAS, 1)
    )
    + "</body></html>"
)


def write_hostile_formulas(folder: Path) -> tuple[Path, Path]:
    """Write a book of hostile formulas as HTML and as an EPUB."""
    (folder / "shoals.html").write_text(FORMULAS_PAGE, encoding="utf-8")
    page = (
        FORMULAS_PAGE.replace("Shoals", "Sandbanks")
        .replace("under", "deep under")
        .replace("<math>", f'<math xmlns="{MATH}">')
    )
    package = make_package(["one.xhtml"], title="Sandbanks")
    return folder / "shoals.html", write_epub(folder / "sandbanks.epub", {"one.xhtml": page}, opf=package)


JAPANESE_PAGE = """<html xmlns="http://www.w3.org/1999/xhtml" lang="ja"><head><title>潮の本</title>
<style>html { writing-mode: vertical-rl; -epub-writing-mode: vertical-rl }</style></head>
<body style="writing-mode: vertical-rl"><h1>潮の満ち引き</h1>
<p><ruby>漁師<rp>(</rp><rt>りょうし</rt><rp>)</rp></ruby>たちは十二月の夜明けに港を出て七艘の船を網とともに失い、<em>誰も</em>帰らなかった。</p>
</body></html>"""
URDU_PAGE = """<html lang="ur" dir="rtl"><head><title>Samandar</title></head><body><h1>Samandar</h1>
<p>طوفان میں سات کشتیاں اپنے جالوں سمیت ڈوب گئیں۔</p>
<ol start="4"><li>جال کی مرمت کریں۔</li><li>رسی لپیٹیں۔</li></ol>
<p>Octavo کی کتاب میں سمندر اور کشتیوں کا ذکر ہے۔</p></body></html>"""


def write_foreign_books(folder: Path) -> tuple[Path, Path]:
    """Write an EPUB in Japanese, set from top to bottom, and a page in Urdu, from right to left."""
    package = make_package(["one.xhtml"], title="Shio").replace(">en<", ">ja<")
    japanese = write_epub(folder / "shio.epub", {"one.xhtml": JAPANESE_PAGE}, opf=package)
    (folder / "samandar.html").write_text(URDU_PAGE, encoding="utf-8")
    return japanese, folder / "samandar.html"


def write_books(folder: Path) -> tuple[Path, Path]:
    """Write the illustrated book as a folder of HTML and as a folder of Markdown."""
    chart, boats = folder / "chart", folder / "boats"
    chart.mkdir(parents=True)
    boats.mkdir()
    (chart / "index.html").write_text(PAGE, encoding="utf-8")
    (chart / "map.png").write_bytes(make_png())
    (boats / "README.md").write_text(MARKDOWN, encoding="utf-8")
    (boats / "mast.png").write_bytes(make_png(colour=(20, 120, 90)))
    (boats / "drawing.svg").write_text(DRAWING, encoding="utf-8")
    return chart, boats


def write_hostile_books(folder: Path) -> tuple[Path, Path]:
    wreck, reef = folder / "wreck", folder / "reef"
    for place, name, text in ((wreck, "README.md", HOSTILE), (reef, "index.html", HOSTILE_PAGE)):
        place.mkdir(parents=True)
        (place / name).write_text(text, encoding="utf-8")
        (place / "bad.svg").write_text(HOSTILE_DRAWING, encoding="utf-8")
        (place / "page.png").write_text(f"<html><script>{PWNED}</script></html>", encoding="utf-8")
    return wreck, reef
