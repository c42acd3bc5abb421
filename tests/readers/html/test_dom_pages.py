"""Pages as the common generators write them: what a reader of each would see, and nothing else."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.errors import BadBook
from octavo.limits import Limits
from octavo.readers.html.dom import parse_page, read_page
from octavo.readers.pages import Heading, HtmlPage, Text

LIMITS = Limits()


def page(text: str, *, site: bool = True) -> HtmlPage:
    return read_page(parse_page(text, LIMITS, name="page.html"), site=site)


def write_pieces(made: HtmlPage) -> list[str]:
    """Headings as `#`, code and tables between bars, text as it is."""
    lines = []
    for piece in made.pieces:
        if isinstance(piece, Heading):
            lines.append(f"{'#' * piece.level} {piece.text} ({piece.anchor})")
        elif piece.text:
            lines.append(f"|{piece.text}|" if piece.block else piece.text)
    return lines


SPHINX = """<!DOCTYPE html><html lang="en"><head><title>1. Scope &#8212; Manual</title></head><body>
<div class="related" role="navigation"><h3>Navigation</h3><ul><li><a
href="genindex.html">index</a></li></ul></div>
<div class="document"><div class="documentwrapper"><div class="bodywrapper"><div class="body" role="main">
<section id="scope"><h1>1. Scope<a class="headerlink" href="#scope" title="Permalink">¶</a></h1>
<p>This manual has a footnote. <a class="footnote-reference brackets" href="#id2" id="id1">1</a></p>
<div class="toctree-wrapper compound"><ul><li><a href="a.html">1.1 A</a></li></ul></div>
<div class="highlight-c notranslate"><div class="highlight"><pre><span></span><span class="linenos">1</span>
<span class="k">int</span> <span class="n">x</span><span class="p">;</span>
</pre></div></div>
<div class="admonition note"><p class="admonition-title">Note</p><p>Mind the gap.</p></div>
<section id="terms"><span id="s-terms"></span><h2>1.1. Terms<a class="headerlink" href="#terms">¶</a></h2>
<table class="docutils"><thead><tr><th><p>Name</p></th><th><p>Meaning</p></th></tr></thead>
<tbody><tr><td><p>must</p></td><td><p>a <em>rule</em></p></td></tr></tbody></table>
<dl class="footnote brackets"><dt class="label" id="id2"><span class="brackets"><a
href="#id1">1</a></span></dt>
<dd><p>See RFC 2119.</p></dd></dl></section></section></div></div></div>
<div class="sphinxsidebar" role="navigation"><div class="sphinxsidebarwrapper"><h3>Table of Contents</h3>
<p>Previous topic</p></div></div></div><div class="footer" role="contentinfo">&copy; The
Team.</div></body></html>"""


def test_sphinx() -> None:
    assert write_pieces(page(SPHINX)) == [
        "# 1. Scope (scope)",
        "This manual has a footnote. [1]",
        "|int x;|",
        "Note",
        "Mind the gap.",
        "## 1.1. Terms (s-terms)",
        "|Name | Meaning\nmust | a rule|",
        "1",
        "See RFC 2119.",
    ]


DOCBOOK = """<?xml version="1.0" encoding="UTF-8"?><html
xmlns="http://www.w3.org/1999/xhtml"><head><title>6.3.</title>
</head><body><div class="navheader"><table width="100%"><tr><th colspan="3">6.3. Cache</th></tr></table></div>
<p id="title"><a href="index.html"><img alt="Documentation Site" src="i.png" /></a></p>
<ul class="docnav"><li class="previous"><a accesskey="p" href="a.html"><strong>Prev</strong>6.2.
Get</a></li></ul>
<div class="section"><div class="titlepage"><div><div><h2 class="title"><a id="sect.cache"></a>6.3. The
<code>apt-cache</code> Command</h2></div></div></div><a id="ix1" class="indexterm"></a>
<div class="toc"><p class="title">Table of Contents</p><dl class="toc"><dt><a
href="#x">6.3.1</a></dt></dl></div>
<div class="para">The command <code>apt-cache</code>
   can display much.</div><div class="sidebar"><p class="title"><strong>VOCABULARY Cache</strong></p>
<div class="para">A cache is temporary.</div></div><div class="note"><h3 class="title">Note</h3><p>n</p></div>
<pre class="screen"><code>$ apt-cache
  13 results</code></pre><div class="variablelist"><dl><dt><span
class="term">-q</span></dt><dd><p>Quiet.</p></dd></dl>
</div></div><div class="navfooter"><hr /><table><tr><td><a accesskey="n"
href="b">Next</a></td></tr></table></div>
</body></html>"""


def test_docbook() -> None:
    assert write_pieces(page(DOCBOOK)) == [
        "## 6.3. The apt-cache Command (sect.cache)",
        "The command apt-cache can display much.",
        "VOCABULARY Cache",
        "A cache is temporary.",
        "Note",
        "n",
        "|$ apt-cache\n  13 results|",
        "-q",
        "Quiet.",
    ]


MDBOOK = """<!DOCTYPE html><html lang="en"><head><title>Guessing - The Book</title><base
href="/"></head><body>
<nav id="sidebar" class="sidebar"><ol class="chapter"><li><a href="a.html">A</a></li></ol></nav>
<div id="page-wrapper"><div class="page"><div id="menu-bar"><h1 class="menu-title">The Book</h1></div>
<div id="content" class="content"><main><h1 id="guessing"><a class="header" href="#guessing">Guessing</a></h1>
<p>Let’s <a href="b.html">jump</a> in.</p><pre><div class="buttons"><button
class="clip-button"></button></div>
<code class="language-rust">fn main() {
    println!("hi");
}</code></pre><ul><li>one</li><li>two<ol><li>deep</li></ol></li></ul></main>
<nav class="nav-wrapper"><a rel="next" href="b.html" class="mobile-nav-chapters
next"></a></nav></div></div></div>
<script>window.play = 1;</script></body></html>"""


def test_mdbook() -> None:
    assert write_pieces(page(MDBOOK)) == [
        "# Guessing (guessing)",
        "Let’s jump in.",
        '|fn main() {\n    println!("hi");\n}|',
        "- one",
        "- two",
        "  1. deep",
    ]


TEXINFO = """<html><head><title>Manual</title></head><body lang="en"><h1 class="top">Manual</h1>
<div class="header"><p>Next: <a href="#Intro" accesskey="n" rel="next">Intro</a>, Up:
<a href="dir" accesskey="u" rel="up">(dir)</a> &nbsp; [<a href="#toc">Contents</a>][<a
href="#ix">Index</a>]</p></div>
<span id="Intro"></span><h2 class="chapter">1 Intro</h2><p>Text with <samp>‘ls’</samp>.
<div class="example"><pre class="example">$ ls
</pre></div><p>Unclosed paragraph<table><tr><td>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr></table>
<hr></body></html>"""


def test_texinfo() -> None:
    assert write_pieces(page(TEXINFO)) == [
        "# Manual ()",
        "## 1 Intro (Intro)",
        "Text with ‘ls’.",
        "|$ ls|",
        "Unclosed paragraph",
        "|a | b\nc | d|",
    ]


GUTENBERG = """<html xmlns="http://www.w3.org/1999/xhtml"><head><title>Tales</title></head><body>
<p><span class="pagenum"><a name="Page_9" id="Page_9">[Pg 9]</a></span></p><h2><a name="I"></a>CHAPTER I<br/>
The Street</h2><p>“Well,” said he,<br/>and left.</p><div class="poem"><div class="stanza">
<span>O ye</span><br/><span>who sail</span></div></div><blockquote><p>A letter.</p></blockquote>
<div class="footnote"><p><a href="#r1"><span class="label">[1]</span></a> A note.</p></div></body></html>"""


def test_gutenberg() -> None:
    made = page(GUTENBERG, site=False)
    assert write_pieces(made) == [
        "## CHAPTER I The Street (I)",
        "“Well,” said he,\nand left.",
        "O ye\nwho sail",
        "A letter.",
        "[1] A note.",
    ]
    assert [b.label for p in made.pieces for b in p.breaks] == ["9"]


def test_a_box_that_docbook_draws_as_a_table_is_text() -> None:
    body = """<h1>Shares</h1><div class="note"><table border="0"><tr><td rowspan="2"><img src="note.png"></td>
      <th>Note</th></tr><tr><td colspan="2"><p>The assistant cannot do this.</p></td></tr></table></div>
      <p>Enter the price by hand.</p>"""
    wanted = ["# Shares ()", "Note", "The assistant cannot do this.", "Enter the price by hand."]
    assert write_pieces(page(f"<html><body>{body}</body></html>")) == wanted


def test_a_docusaurus_page_keeps_its_admonitions_and_tabs() -> None:
    body = """<div id="__docusaurus"><nav class="navbar">Menu</nav><main><article><nav
class="theme-doc-breadcrumbs">
      Home</nav><div class="theme-doc-markdown markdown"><header><h1>Intro</h1></header>
      <h2 class="anchor" id="a">A<a href="#a" class="hash-link" title="Direct link">&#8203;</a></h2>
      <div class="theme-admonition"><div>tip</div><p>Try it.</p></div>
      <div class="language-bash codeBlockContainer"><pre tabindex="0"><code><span
class="token-line">ls<br></span>
</code></pre><div class="buttonGroup"><button>Copy</button></div></div></div></article>
      <nav class="pagination-nav"><a href="b">Next</a></nav></main><footer>Built</footer></div>"""
    assert write_pieces(page(body)) == ["# Intro ()", "## A (a)", "tip", "Try it.", "|ls|"]


def test_a_page_without_an_article_keeps_notes_and_loses_the_sites_footer() -> None:
    body = """<h1>T</h1><p>Text.</p><aside>A word aside.</aside>
      <footer class="footnotes"><p>1. Note.</p></footer><footer>© Site</footer>"""
    assert write_pieces(page(body)) == ["# T ()", "Text.", "A word aside.", "1. Note."]


def test_links_are_measured_outside_headings() -> None:
    assert page('<h1>Index of the book</h1><p><a href="a">apple</a></p>').linked == 1.0
    assert page('<h1><a href="#x">T</a></h1><p>Plain text of a page.</p>').linked == 0.0
    assert page('<p><a href="https://example.org/">https://example.org/</a></p>').linked == 0.0


tags = st.sampled_from(
    [
        "p",
        "div",
        "h2",
        "ul",
        "ol",
        "li",
        "table",
        "tr",
        "td",
        "pre",
        "b",
        "a",
        "sup",
        "span",
        "section",
        "aside",
        "dl",
        "dd",
        "dt",
        "ruby",
        "rt",
        "br",
        "img",
    ]
)
soup = st.lists(
    st.one_of(
        tags.map(lambda t: f"<{t}>"),
        tags.map(lambda t: f"</{t}>"),
        st.sampled_from(
            ["word", " ", "é", "<hr epub:type=pagebreak title=1>", "<a id=x>", "<", "&amp;", "<!--"]
        ),
    ),
    max_size=40,
).map("".join)


@settings(max_examples=200, deadline=None)
@given(soup)
def test_any_soup_of_tags_keeps_its_words_and_promises(text: str) -> None:
    try:
        made = page(text, site=False)
    except BadBook:
        return
    for piece in made.pieces:
        assert isinstance(piece, Heading | Text)
        assert piece.text == piece.text.rstrip()
        assert all(0 <= b.offset <= len(piece.text) for b in piece.breaks)
    if "<!--" not in text and "<a" not in text and not text.rstrip("< ").endswith("<"):
        said = sum(p.text.count("word") for p in made.pieces)
        assert said == text.count("word") or "<<" in text or "<word" in text
