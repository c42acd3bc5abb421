"""Folders of pages as the common tools publish them: the prose in order, and nothing else."""

from __future__ import annotations

from pathlib import Path

from octavo.limits import Limits
from octavo.readers import read_book
from octavo.readers.parsed import ParsedBook
from octavo.readers.sandbox import parse

LIMITS = Limits()
PROSE = "The miller's youngest son got nothing but the cat, and the cat asked for a pair of boots."


def site(root: Path, pages: dict[str, str]) -> Path:
    for name, text in pages.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return root


def places(book: ParsedBook) -> list[tuple[tuple[str, ...], str, str]]:
    return [(s.heading_path, s.url, s.anchor) for s in book.sections]


def words(book: ParsedBook) -> str:
    return " ".join(f"{' '.join(s.heading_path)} {s.text}" for s in book.sections)


# Sphinx


def sphinx(title: str, body: str, *, up: str = "", following: str = "") -> str:
    link = f'<link rel="next" title="x" href="{following}" />' if following else ""
    return f"""<!DOCTYPE html><html lang="en" data-content_root="./"><head><meta charset="utf-8" />
<title>{title} &#8212; Cats 2.1 documentation</title><link rel="index" href="{up}genindex.html"
/>{link}</head><body>
<div class="wy-nav-side"><div class="wy-menu" role="navigation"><p class="caption"><span>Guide</span></p><ul>
<li class="toctree-l1"><a class="reference internal" href="{up}boots.html">Sidebar
boots</a></li></ul></div></div>
<section class="wy-nav-content-wrap"><div role="navigation" aria-label="Page navigation"><ul
class="wy-breadcrumbs">
<li><a href="{up}index.html" class="icon icon-home"></a></li><li class="wy-breadcrumbs-aside"><a
href="_sources/x.txt">
View page source</a></li></ul><hr/></div><div role="main" class="document"><div
itemprop="articleBody">{body}</div></div>
<footer><div class="rst-footer-buttons" role="navigation"><a href="x.html" class="btn"
rel="next">Next</a></div><hr/>
<div role="contentinfo"><p>&#169; Copyright 2024, Perrault.</p></div>Built with <a
href="https://sphinx-doc.org">Sphinx</a>
using a theme.</footer></section></body></html>"""


def permalink(name: str) -> str:
    return f'<a class="headerlink" href="#{name}" title="Link to this heading">¶</a>'


async def test_a_sphinx_site_is_read_in_the_order_of_its_toctree(tmp_path: Path) -> None:
    toctree = """<div class="toctree-wrapper compound"><p class="caption"
role="heading"><span>Guide</span></p><ul>
      <li class="toctree-l1"><a href="mill.html">The mill</a><ul><li class="toctree-l2"><a
href="mill.html#sons">Sons</a>
      </li></ul></li><li class="toctree-l1"><a href="boots.html">Boots</a></li></ul></div><div
class="toctree-wrapper">
      <p class="caption"><span>Reference</span></p><ul><li><a href="api/cat.html">cat</a></li></ul></div>"""
    index = f'<section id="cats"><h1>Cats{permalink("cats")}</h1><p>{PROSE}</p>{toctree}</section>'
    mill = f"""<section id="the-mill"><h1>The mill{permalink("the-mill")}</h1><p>{PROSE}</p>
      <section id="sons"><h2>Sons{permalink("sons")}</h2><div class="admonition warning"><p
class="admonition-title">
      Warning</p><p>Three of them.</p></div><div class="highlight-python notranslate"><div
class="highlight"><pre><span>
</span><span class="kn">import</span> <span class="nn">cats</span></pre></div></div></section></section>"""
    api = f"""<section id="cat"><h1>cat{permalink("cat")}</h1><dl class="py function"><dt class="sig"
id="cat.speak"><span>cat.</span>
      <span>speak</span>(<em>word</em>)<a class="reference internal" href="../_modules/cat.html#speak"><span
      class="viewcode-link">[source]</span></a>{permalink("cat.speak")}</dt><dd><p>Says a
word.</p></dd></dl></section>"""
    pages = {
        "index.html": sphinx("Cats", index, following="mill.html"),
        "mill.html": sphinx("The mill", mill, following="boots.html"),
        "boots.html": sphinx("Boots", f'<section id="boots"><h1>Boots</h1><p>{PROSE}</p></section>'),
        "api/cat.html": sphinx("cat", api, up="../"),
        "genindex.html": sphinx(
            "Index", '<h1>Index</h1><a href="api/cat.html#cat.speak">speak() (in module cat)</a>'
        ),
        "search.html": sphinx("Search", "<h1>Search</h1><p>Please activate JavaScript.</p>"),
    }
    book = await parse(site(tmp_path / "cats", pages), LIMITS)
    assert book.title == "Cats"
    assert places(book) == [
        (("Cats",), "index.html", "cats"),
        (("Guide", "The mill"), "mill.html", "the-mill"),
        (("Guide", "The mill", "Sons"), "mill.html", "sons"),
        (("Guide", "Boots"), "boots.html", "boots"),
        (("Reference", "cat"), "api/cat.html", "cat"),
    ]
    assert book.sections[2].text == "Warning\n\nThree of them.\n\nimport cats"
    assert book.sections[4].text == "cat. speak(word)\nSays a word."
    for gone in ("Sidebar", "View page source", "Copyright", "Built with", "¶", "[source]", "JavaScript"):
        assert gone not in words(book)


# mdBook, built


def mdbook(title: str, body: str, *, up: str = "") -> str:
    return f"""<!DOCTYPE HTML><html lang="en" class="light sidebar-visible" dir="ltr"><head><title>{title} -
Cat Book</title>
</head><body><div id="mdbook-help-container"><div id="mdbook-help-popup" hidden="true"><h2>Keyboard
shortcuts</h2></div></div>
<div id="body-container"><script>var theme;</script><nav id="sidebar" class="sidebar" aria-label="Table of
contents">
<ol class="chapter"><li class="chapter-item affix"><a href="{up}index.html">Preface</a></li><li
class="part-title">Basics</li>
<li class="chapter-item"><a href="{up}ch02.html"><strong aria-hidden="true">1.</strong> Mills</a></li><li><ol
class="section">
<li class="chapter-item"><a href="{up}ch02-01.html"><strong aria-hidden="true">1.1.</strong>
Wheels</a></li></ol></li>
<li class="part-title">Beyond</li><li class="chapter-item"><a href="{up}ch01.html">Boots</a></li></ol></nav>
<div id="page-wrapper" class="page-wrapper"><div class="page"><div id="menu-bar" class="menu-bar"><div
class="left-buttons">
<button id="sidebar-toggle">Toggle</button><ul id="theme-list"
role="menu"><li><button>Rust</button></li></ul></div>
<h1 class="menu-title">Cat Book</h1><div class="right-buttons"><a href="print.html" title="Print this
book">Print</a></div>
</div><div id="content" class="content"><main>{body}</main><nav class="nav-wrapper" aria-label="Page
navigation"><a
rel="next prefetch" href="{up}ch02.html" class="mobile-nav-chapters next">Next
chapter</a></nav></div></div></div></div>
</body></html>"""


def header(level: int, name: str, text: str) -> str:
    return f'<h{level} id="{name}"><a class="header" href="#{name}">{text}</a></h{level}>'


def test_a_built_mdbook_keeps_the_order_and_parts_of_its_sidebar(tmp_path: Path) -> None:
    preface = mdbook("Preface", f"{header(1, 'preface', 'Preface')}<p>{PROSE}</p>")
    wheels = f"""{header(1, "wheels", "Wheels")}<p>{PROSE}</p><pre><div
class="buttons"><button>Copy</button></div><code
      class="language-rust"><span class="boring">#![allow(unused)]
</span>let wheel = 1;</code></pre><blockquote class="blockquote-tag-note"><p>Round.</p></blockquote>"""
    pages = {
        "index.html": preface,
        "ch02.html": mdbook(
            "Mills", f"{header(1, 'mills', 'Mills')}<p>{PROSE}</p>{header(2, 'sails', 'Sails')}<p>Four.</p>"
        ),
        "ch02-01.html": mdbook("Wheels", wheels),
        "ch01.html": mdbook("Boots", f"{header(1, 'boots', 'Boots')}<p>{PROSE}</p>"),
        "print.html": mdbook(
            "Print", f"{header(1, 'preface', 'Preface')}{header(1, 'mills', 'Mills')}<p>{PROSE}</p>"
        ),
        "404.html": mdbook(
            "Page not found", "<h1>Document not found (404)</h1><p>This URL is invalid, sorry.</p>"
        ),
    }
    book = read_book(site(tmp_path / "cat-book", pages), LIMITS)
    assert places(book)[1:] == [
        (("Basics", "Mills"), "ch02.html", "mills"),
        (("Basics", "Mills", "Sails"), "ch02.html", "sails"),
        (("Basics", "Mills", "Wheels"), "ch02-01.html", "wheels"),
        (("Beyond", "Boots"), "ch01.html", "boots"),
    ]
    assert book.sections[0].url == "index.html"
    assert book.sections[3].text.endswith("let wheel = 1;\n\nRound.")
    for gone in ("Toggle", "Rust", "Print", "Copy", "Keyboard", "Next chapter", "invalid"):
        assert gone not in words(book)


# Docusaurus, built


def docusaurus(title: str, slug: str, body: str) -> str:
    menu = "".join(
        f'<li class="menu__list-item"><a class="menu__link" href="/book/docs/{name}">{text}</a></li>'
        for name, text in (("intro", "Side intro"), ("mills", "Side mills"), ("boots", "Side boots"))
    )
    return f"""<!doctype html><html lang="en" dir="ltr" class="docs-wrapper"><head><title>{title} | Cat
Docs</title>
<link rel="canonical" href="https://cats.example/book/docs/{slug}"></head><body
class="navigation-with-keyboard">
<div id="__docusaurus"><div role="region" aria-label="Skip to main content"><a class="skipToContent_x"
href="#main">
Skip to main content</a></div><nav aria-label="Main" class="navbar"><a class="navbar__brand"
href="/book/">Cat Docs</a></nav>
<div class="main-wrapper"><aside class="theme-doc-sidebar-container"><nav class="menu"><ul
class="menu__list">{menu}</ul></nav>
</aside><main class="docMainContainer"><div class="container"><article><nav class="theme-doc-breadcrumbs"><ul
class="breadcrumbs"><li>Crumb</li></ul></nav><div class="tocCollapsible theme-doc-toc-mobile"><button>On this
page</button>
</div><div class="theme-doc-markdown markdown"><header><h1>{title}</h1></header>{body}</div><footer
class="theme-doc-footer docusaurus-mt-lg"><a href="https://git.example/edit"
class="theme-edit-this-page">Edit this page</a>
</footer></article><nav class="pagination-nav" aria-label="Docs pages"><a class="pagination-nav__link"
href="/book/docs/mills">
<div class="pagination-nav__sublabel">Next</div><div
class="pagination-nav__label">Mills</div></a></nav></div><div
class="col col--3"><div class="theme-doc-toc-desktop"><ul class="table-of-contents"><li><a href="#a">Toc
entry</a></li></ul>
</div></div></main></div><footer class="theme-layout-footer footer"><div class="footer__copyright">Copyright
© 2025</div>
</footer></div></body></html>"""


def test_a_built_docusaurus_site_is_read_in_the_order_of_its_menu(tmp_path: Path) -> None:
    hidden = '<div role="tabpanel" class="tabItem_x">npm install</div>'
    hidden += '<div role="tabpanel" hidden="">yarn add cat</div>'
    mills = f"""<p>{PROSE}</p><h2 class="anchor" id="sails">Sails<a href="#sails" class="hash-link">​</a></h2>
      <div class="theme-admonition alert"><div class="admonitionHeading_x"><span>tip</span></div><p>Oil
them.</p></div>
      <div class="tabs-container"><ul role="tablist"><li role="tab">npm</li><li
role="tab">yarn</li></ul>{hidden}</div>"""
    pages = {
        "index.html": docusaurus("Cat Docs", "", f"<p>{PROSE}</p>").replace(
            'book/docs/"></head>', 'book/"></head>'
        ),
        "docs/intro/index.html": docusaurus("Introduction", "intro", f"<p>{PROSE}</p>"),
        "docs/mills/index.html": docusaurus("Mills", "mills", mills),
        "docs/boots/index.html": docusaurus("Boots", "boots", f"<p>{PROSE}</p>"),
        "404.html": docusaurus(
            "Page Not Found", "404", "<p>We could not find what you were looking for.</p>"
        ),
    }
    book = read_book(site(tmp_path / "build", pages), LIMITS)
    assert [(s.heading_path, s.anchor) for s in book.sections] == [
        (("Cat Docs",), ""),
        (("Introduction",), ""),
        (("Mills",), ""),
        (("Mills", "Sails"), "sails"),
        (("Boots",), ""),
    ]
    assert book.base_url == "https://cats.example/book/"
    assert "Oil them." in book.sections[3].text
    assert "npm install\n\nyarn add cat" in book.sections[3].text
    for gone in (
        "Skip to",
        "Side",
        "Crumb",
        "On this page",
        "Edit this page",
        "Next",
        "Toc entry",
        "Copyright",
    ):
        assert gone not in words(book)


# MkDocs Material, built


def mkdocs(title: str, up: str, body: str) -> str:
    rows = (("", "Home"), ("mills/", "Mills"), ("guide/boots/", "Boots"))
    menu = "".join(
        f'<li class="md-nav__item"><a href="{up}{href}" class="md-nav__link">{t}</a></li>' for href, t in rows
    )
    return f"""<!doctype html><html lang="en" class="no-js"><head><title>{title} - Cats</title></head><body
dir="ltr">
<div data-md-component="skip"><a href="#x" class="md-skip">Skip to content</a></div><header
class="md-header"><nav
class="md-header__inner"><span>Cats</span></nav></header><div class="md-container"><nav
class="md-tabs">Tabs</nav>
<main class="md-main"><div class="md-main__inner"><div class="md-sidebar md-sidebar--primary"><nav
class="md-nav"><ul>{menu}
</ul></nav></div><div class="md-sidebar md-sidebar--secondary"><nav class="md-nav" aria-label="Table of
contents"><label>On
page</label></nav></div><div class="md-content"><article class="md-content__inner md-typeset"><a href="edit"
title="Edit this
page" class="md-content__button md-icon"><svg><path
d="M0"/></svg></a>{body}</article></div></div></main><footer
class="md-footer"><nav class="md-footer__inner"><a href="{up}mills/" class="md-footer__link" rel="next">Next
Mills</a></nav>
<div class="md-copyright">Made with Material</div></footer></div></body></html>"""


def test_a_built_mkdocs_site_with_pretty_addresses_is_read_in_order(tmp_path: Path) -> None:
    sign = '<a class="headerlink" href="#sails" title="Permanent link">&para;</a>'
    code = """<div class="language-py highlight"><table class="highlighttable"><tr><td class="linenos"><div
class="linenodiv">
      <pre><span></span>1</pre></div></td><td
class="code"><div><pre><span></span><code>cat()</code></pre></div></td></tr></table>
      </div>"""
    pages = {
        "index.html": mkdocs("Home", "./", f"<h1 id='cats'>Cats</h1><p>{PROSE}</p>"),
        "mills/index.html": mkdocs(
            "Mills", "../", f"<h1 id='mills'>Mills</h1><p>{PROSE}</p><h2 id='sails'>Sails{sign}</h2>{code}"
        ),
        "guide/boots/index.html": mkdocs("Boots", "../../", f"<h1 id='boots'>Boots</h1><p>{PROSE}</p>"),
        "404.html": mkdocs("404", "/", "<h1>404 - Not found</h1>"),
    }
    book = read_book(site(tmp_path / "site", pages), LIMITS)
    assert places(book) == [
        (("Cats",), "index.html", "cats"),
        (("Mills",), "mills/index.html", "mills"),
        (("Mills", "Sails"), "mills/index.html", "sails"),
        (("Boots",), "guide/boots/index.html", "boots"),
    ]
    assert book.sections[2].text == "cat()"
    for gone in ("Skip", "Tabs", "On page", "Edit", "Next", "Material", "¶"):
        assert gone not in words(book)


# HonKit (GitBook), DocBook chunks, Texinfo nodes


def gitbook(title: str, body: str) -> str:
    return f"""<!DOCTYPE HTML><html lang=""><head><title>{title} · Cats</title></head><body><div
class="book"><div
class="book-summary"><nav role="navigation"><ul class="summary"><li class="chapter" data-path="./"><a
href="./">Introduction</a>
</li><li class="chapter"><a href="b.html">Boots</a><ul class="articles"><li class="chapter"><a
href="a.html">Laces</a></li></ul>
</li><li class="divider"></li><li><a href="https://honkit.example" class="gitbook-link">Published with
HonKit</a></li></ul></nav>
</div><div class="book-body"><div class="body-inner"><div class="book-header" role="navigation"><h1><a
href=".">Cats</a></h1>
</div><div class="page-wrapper" role="main"><div class="page-inner"><div class="search-results"><section
class="normal
markdown-section">{body}</section></div></div></div></div><a href="b.html" class="navigation navigation-next"
aria-label="Next page: Boots"><i class="fa"></i></a></div></div></body></html>"""


def test_a_gitbook_is_read_in_the_order_of_its_summary(tmp_path: Path) -> None:
    pages = {
        "index.html": gitbook("Introduction", f'<h1 id="cats">Cats</h1><p>{PROSE}</p>'),
        "b.html": gitbook("Boots", f'<h1 id="boots">Boots</h1><p>{PROSE}</p>'),
        "a.html": gitbook("Laces", f'<h1 id="laces">Laces</h1><p>{PROSE}</p>'),
    }
    book = read_book(site(tmp_path / "_book", pages), LIMITS)
    assert places(book) == [
        (("Cats",), "index.html", "cats"),
        (("Boots",), "b.html", "boots"),
        (("Boots", "Laces"), "a.html", "laces"),
    ]
    assert "HonKit" not in words(book)


def docbook(title: str, body: str, *, previous: str, following: str) -> str:
    row = f'<td align="left"><a accesskey="p" href="{previous}">Prev</a></td>'
    row += '<td align="center"><a accesskey="u" href="x">Up</a></td>'
    row += f'<td align="right"><a accesskey="n" href="{following}">Next</a></td>'
    return f"""<html><head><title>{title}</title><link rel="home" href="index.html" title="Cats"></head><body
bgcolor="white">
<div class="navheader"><table width="100%" summary="Navigation header"><tr><th colspan="3"
align="center">{title}</th></tr>
<tr>{row}</tr></table><hr></div>{body}<div class="navfooter"><hr><table summary="Navigation
footer"><tr>{row}</tr><tr><td>Mills
</td><td><a accesskey="h" href="index.html">Home</a></td><td>Boots</td></tr></table></div></body></html>"""


def test_docbook_chunks_follow_their_table_of_contents(tmp_path: Path) -> None:
    toc = """<div class="toc"><p><b>Table of Contents</b></p><dl class="toc"><dt><span class="chapter"><a
href="ch2.html">1.
      Mills</a></span></dt><dd><dl><dt><span class="section"><a href="ch2s01.html">1.1.
Sails</a></span></dt></dl></dd>
      <dt><span class="chapter"><a href="ch1.html">2. Boots</a></span></dt></dl></div>"""

    def part(kind: str, level: int, name: str, title: str) -> str:
        return f"""<div class="{kind}"><div class="titlepage"><div><div><h{level} class="title"><a
name="{name}"></a>{title}</h{level}>
          </div></div></div><p>{PROSE}</p></div>"""

    front = f"""<div class="book"><div class="titlepage"><div><div><h1 class="title"><a
name="d0"></a>Cats</h1></div><div><div
      class="author"><h3 class="author"><span class="firstname">Charles</span>
Perrault</h3></div></div></div><hr></div>{toc}</div>"""
    pages = {
        "index.html": docbook("Cats", front, previous="", following="ch2.html"),
        "ch2.html": docbook(
            "Chapter 1. Mills",
            part("chapter", 2, "mills", "Chapter 1. Mills"),
            previous="index.html",
            following="ch2s01.html",
        ),
        "ch2s01.html": docbook(
            "Sails", part("section", 2, "sails", "1.1. Sails"), previous="ch2.html", following="ch1.html"
        ),
        "ch1.html": docbook(
            "Chapter 2. Boots",
            part("chapter", 2, "boots", "Chapter 2. Boots"),
            previous="ch2s01.html",
            following="index.html",
        ),
    }
    book = read_book(site(tmp_path / "cats", pages), LIMITS)
    assert (book.title, places(book)) == (
        "Cats",
        [
            (("Chapter 1. Mills",), "ch2.html", "mills"),
            (("Chapter 1. Mills", "1.1. Sails"), "ch2s01.html", "sails"),
            (("Chapter 2. Boots",), "ch1.html", "boots"),
        ],
    )
    assert {s.text for s in book.sections} == {PROSE}


def texinfo(title: str, body: str, bar: str) -> str:
    return f"""<!DOCTYPE html><html><head><title>{title} (Cats 1.0)</title></head><body lang="en"><div
class="section-level-extent"
id="x"><div class="nav-panel"><p>{bar} [<a href="index.html#SEC_Contents" title="Table of contents"
rel="contents">Contents</a>][<a href="Index.html" rel="index">Index</a>]</p></div><hr>{body}</div><hr><div
class="nav-panel">
<p>{bar}</p></div></body></html>"""


def test_texinfo_nodes_follow_their_menu(tmp_path: Path) -> None:
    bar = 'Next: <a href="Boots.html" accesskey="n" rel="next">Boots</a>, '
    bar += 'Up: <a href="index.html" accesskey="u" rel="up">Cats</a>'
    menu = """<ul class="mini-toc"><li><a href="Zeal.html" accesskey="1">Zeal</a></li><li><a href="Boots.html"
      accesskey="2">Boots</a></li></ul>"""
    sign = '<a class="copiable-link" href="#Zeal">&para;</a>'
    pages = {
        "index.html": texinfo("Top", f'<h1 class="top" id="Cats">Cats</h1><p>{PROSE}</p>{menu}', bar),
        "Zeal.html": texinfo("Zeal", f'<h2 class="chapter" id="Zeal">1 Zeal{sign}</h2><p>{PROSE}</p>', bar),
        "Boots.html": texinfo("Boots", f'<h2 class="chapter" id="Boots">2 Boots</h2><p>{PROSE}</p>', bar),
    }
    book = read_book(site(tmp_path / "cats", pages), LIMITS)
    assert places(book) == [
        (("Cats",), "index.html", "Cats"),
        (("1 Zeal",), "Zeal.html", "Zeal"),
        (("2 Boots",), "Boots.html", "Boots"),
    ]
    assert {s.text for s in book.sections} == {PROSE}
