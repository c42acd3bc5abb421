"""Read one HTML document: headings, paragraphs, lists, code, tables and page breaks.

`parse_page` builds the tree only after the guard has checked the markup; `read_page` returns the pieces of
the page without its boilerplate. Nothing is fetched: addresses are only text here. The tree is walked without
recursion, so deep nesting costs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from selectolax.lexbor import LexborHTMLParser, LexborNode

from octavo.errors import BadBook
from octavo.readers.html.boilerplate import (
    Attributes,
    PageRegion,
    find_article,
    find_paging_bars,
    is_boilerplate,
)
from octavo.readers.html.builder import PageBuilder, clean_label
from octavo.readers.html.elements import (
    LEAVES,
    describe_formula,
    describe_link,
    describe_pictured_tex,
    describe_tex,
    find_code_language,
    find_inline_kind,
    has_tex_script,
    is_prose,
    is_tex,
    make_container,
    read_writing,
    split_tex,
)
from octavo.readers.html.guard import check_markup
from octavo.readers.html.inline import (
    BREAK,
    LINE,
    is_layout_table,
    is_note_mark,
    mark_superscript,
    read_alt_text,
    read_line,
    read_page_number,
    read_text_node,
    write_math,
    write_table,
)
from octavo.readers.html.tags import split_names
from octavo.readers.pages import HtmlPage, Piece, Text
from octavo.readers.parts import MarkedRuns, Part, wrap
from octavo.readers.sections import TextBuilder
from octavo.text.clean import clean, collapse, decode
from octavo.types import ElementKind

if TYPE_CHECKING:
    from octavo.limits import Limits
    from octavo.readers.addresses import Locate
    from octavo.types.markup import Attribute

_BLOCK_TAGS = split_names(
    "address article aside blockquote body caption center dd details div dl dt fieldset figcaption "
    "figure footer form header hgroup hr legend li main ol p section summary table tbody td tfoot th "
    "thead tr ul dir dialog search optgroup output"
)
_HEADINGS = {f"h{n}": n for n in range(1, 7)}
_NO_SECTIONS = frozenset(("aside", "figure", "blockquote", "dd", "details", "figcaption"))
_NOTE_CLASSES = split_names(
    "note tip warning caution important admonition sidebar example figure footnote footnotes callout "
    "hint danger informalexample theme-admonition procedure equation"
)
_VERSE = re.compile(r"(?:^|[\s_-])(?:linegroup|line-group|line-block|stanza|verse|poem|poetry)s?(?:$|[\s_-])")
_NO_HEADINGS = frozenset(("author", "subtitle", "editor", "corpauthor", "releaseinfo", "othercredit"))
_LIST_TAGS = frozenset(("ul", "ol", "dir"))
_NOT_IN_CODE = (
    ".linenos, .lineno, .copybtn, .headerlink, .sr-only, [hidden], button, script, style, nav, template, "
    "noscript, select, svg, iframe"
)
_CODE_TAGS = frozenset(("pre", "listing", "xmp"))
_CHARSET_PATTERNS = (
    re.compile(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})["']"""),
    re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE),
)


def find_charset(data: bytes) -> str | None:
    """Return the encoding that the document declares in its XML declaration or a meta tag."""
    head = data[:4096]
    for pattern in _CHARSET_PATTERNS:
        found = pattern.search(head)
        if found:
            return found.group(1).decode("ascii")
    return None


def decode_page(data: bytes, *, name: str, notes: list[str]) -> str:
    """Decode a document; damage is added to `notes` under the file's name, too much of it is refused."""
    try:
        decoded = decode(data, find_charset(data))
    except BadBook as refused:
        raise BadBook(refused.code, f"{name}: {refused.message}") from None
    notes += (f"{name}: {warning}" for warning in decoded.warnings)
    return decoded.text


def parse_page(text: str, limits: Limits, *, name: str) -> LexborHTMLParser:
    """Check the markup of a document and build its tree."""
    return LexborHTMLParser(check_markup(text, limits, name=name))


def read_page(
    tree: LexborHTMLParser,
    *,
    site: bool = False,
    page_ids: Mapping[str, str] | None = None,
    locate: Locate = lambda href: href,
) -> HtmlPage:
    """Read the pieces of a parsed page. With `site`, the header and footer of a web site are dropped.

    `locate` resolves the addresses of links and pictures.
    """
    title = tree.css_first("head > title")
    roots = tree.css("html, body, body > div, body > main, body > article")[:4]
    languages = (node.attributes.get(key) for node in roots for key in ("lang", "xml:lang"))
    language = next((name for name in languages if name), "")
    authors = tuple(
        name
        for meta in tree.css("meta[name=author], meta[name=Author], meta[name='dc.creator']")
        if (name := collapse(clean(meta.attributes.get("content") or "")))
    )
    body = tree.body
    start = find_article(body) if site and body is not None else body
    tex = has_tex_script(tree)
    walk = (
        _PageWalker(start, site=site, page_ids=page_ids or {}, locate=locate, tex=tex)
        if start is not None
        else None
    )
    pieces = walk.run() if walk else ()
    if body is not None and not site and not any(p.text for p in pieces):
        images = tuple(p for p in pieces if isinstance(p, Text) and p.markup)
        pieces = (*images, *_read_drawing(body))
    size = sum(len(p.text) for p in pieces if isinstance(p, Text))
    return HtmlPage(
        title=collapse(clean(title.text(deep=True))) if title else "",
        language=collapse(clean(language))[:20],
        authors=authors,
        pieces=pieces,
        linked=min(1.0, walk.linked / size) if walk and size else 0.0,
    )


def _read_drawing(body: LexborNode) -> tuple[Piece, ...]:
    """Read the text of a page that is one drawing, as in books with a fixed layout."""
    lines = (
        " ".join(read_line(part) for part in node.css("tspan")) or read_line(node)
        for node in body.css("svg text")
    )
    return tuple(Text(text=line) for line in lines if line)


@dataclass(slots=True)
class _OpenNode:
    """A node that is being read, and what to do when it ends."""

    tag: str
    own_id: str = ""
    ends_block: bool = False
    level: int = 0
    after: str = ""
    quiet: bool = False
    article: bool = False
    verse: bool = False
    begun: bool = False
    link: bool = False
    marks: int = 0
    holds: bool = False
    leaf: Part | None = None


class _PageWalker:
    """Walk over one page and build its pieces.

    `page_ids` are the ids that a page list names, with their labels. `bars` are the paging bars, if known.
    With `tex`, a script of the page draws the formulas that stand between signs in its text.
    """

    def __init__(
        self,
        body: LexborNode,
        *,
        site: bool,
        page_ids: Mapping[str, str],
        locate: Locate,
        bars: set[int] | None = None,
        tex: bool = False,
    ) -> None:
        self.body, self.page_ids, self.locate, self.tex = body, page_ids, locate, tex
        self.bars = find_paging_bars(body) if bars is None else bars
        self.site = site
        self.has_article = site and body.css_first("main, article, [role=main]") is not None
        self.builder = PageBuilder()
        self.linked = 0
        self._open_nodes: list[_OpenNode] = []
        self._quiet = self._article = self._links = 0

    def run(self) -> tuple[Piece, ...]:
        node: LexborNode | None = self.body
        while node is not None:
            child = node.first_child if self._enter(node) else None
            if child is not None:
                node = child
                continue
            self._leave()
            while node is not None and (node.next is None or not self._open_nodes):
                node = node.parent if self._open_nodes else None
                if node is not None:
                    self._leave()
            node = node.next if node is not None else None
        return self.builder.finish()

    def _enter(self, node: LexborNode) -> bool:
        """Open a node and return whether its children are to be read."""
        tag = node.tag or ""
        frame = _OpenNode(tag)
        self._open_nodes.append(frame)
        if tag == "-text":
            self._write_text(node)
            return False
        if tag.startswith(("-", "!")):
            return False
        attributes = node.attributes
        self._note_ids(tag, attributes)
        if tag == "svg":
            self._add_picture_in_drawing(node)
        if self._break_page_at(node, attributes) or self._is_boilerplate(node, tag, attributes):
            return False
        level = _find_level(tag, attributes)
        if level:
            self._open_heading(frame, level, attributes)
        elif tag in _CODE_TAGS:
            self._add_code(node)
            return False
        elif tag == "table" and not is_layout_table(node):
            self._add_table(node)
            return False
        elif tag in _BLOCK_TAGS or tag in _HEADINGS:
            self._open_block(frame, attributes)
            if is_tex(node, attributes):
                self._open_mark(frame, ElementKind.FORMULA, describe_tex(node))
        else:
            return self._open_inline(node, frame, attributes)
        return True

    def _leave(self) -> None:
        frame = self._open_nodes.pop()
        if frame.after:
            self.builder.write(frame.after)
        for _ in range(frame.marks):
            self.builder.marks.close()
        if frame.level:
            self.builder.close_heading(frame.level, own_id=frame.own_id)
        if frame.ends_block:
            self.builder.flush()
        if frame.holds:
            self.builder.containers.pop()
        if frame.leaf is not None:
            self.builder.leaf = frame.leaf
        if frame.tag in _LIST_TAGS and frame.ends_block:
            self.builder.close_list()
        elif frame.tag == "li":
            self.builder.close_item()
        self._quiet -= frame.quiet
        self._article -= frame.article
        self._links -= frame.link

    def _is_boilerplate(self, node: LexborNode, tag: str, attributes: Attributes) -> bool:
        outside = self.site and not self._article and (self.has_article or len(self._open_nodes) <= 3)
        place = (
            PageRegion.ARTICLE if not outside else PageRegion.AROUND if self.has_article else PageRegion.TOP
        )
        return node.mem_id in self.bars or is_boilerplate(node, tag, attributes, place=place)

    def _note_ids(self, tag: str, attributes: Attributes) -> None:
        if tag in ("body", "main"):
            return
        for key in ("id", "name") if tag == "a" else ("id",):
            if name := attributes.get(key):
                self.builder.note_id(name)

    def _break_page_at(self, node: LexborNode, attributes: Attributes) -> bool:
        """Whether the element only marks a page break; others that begin a page are read on."""
        label, is_mark = self._find_page_label(node, attributes)
        if label is not None:
            self.builder.break_page(label)
        return is_mark

    def _find_page_label(self, node: LexborNode, attributes: Attributes) -> tuple[str | None, bool]:
        """Return the label of the page that begins with an element, and whether it is only a mark."""
        kinds = (attributes.get("epub:type") or "").split()
        listed = self.page_ids.get(attributes.get("id") or "")
        if "pagebreak" in kinds or attributes.get("role") == "doc-pagebreak":
            label = attributes.get("title") or attributes.get("aria-label") or read_line(node)
            return listed or label, True
        number = read_page_number(node, attributes)
        return (listed or number, bool(number)) if number or listed is not None else (None, False)

    def _write_text(self, node: LexborNode) -> None:
        text = read_text_node(node)
        has_tex = self.tex and "\\" in text and is_prose(node)
        for words, formula in split_tex(text) if has_tex else [(text, None)]:
            if formula is not None:
                self.builder.marks.open(ElementKind.FORMULA, formula)
            self._write(words)
            if formula is not None:
                self.builder.marks.close()

    def _write(self, text: str) -> None:
        self.builder.write(text)
        if self._links and not self.builder.in_heading:
            self.linked += len(text)

    def _open_inline(self, node: LexborNode, frame: _OpenNode, attributes: Attributes) -> bool:
        """Open an element within a line and return whether its children are to be read."""
        builder, tag = self.builder, frame.tag
        kind = find_inline_kind(tag)
        writing = read_writing(attributes)
        if tag == "br":
            builder.write(" " if builder.in_heading else LINE)
        elif tag == "img":
            self._open_picture(node, frame, attributes)
        elif tag == "math":
            self._open_mark(frame, ElementKind.FORMULA, describe_formula(node))
            builder.write(write_math(node))
            return False
        elif tag == "rt":
            self._open_mark(frame, ElementKind.READING, writing)
            builder.write("(")
            frame.after = ")"
        elif kind is not None:
            before = builder.last_run
            self._open_mark(frame, kind, writing)
            if tag == "sup":
                opening, frame.after = mark_superscript(node, before)
                builder.write(opening)
        elif tag == "a" and attributes.get("href"):
            frame.link = "://" not in (attributes.get("href") or "")
            self._links += frame.link
            link, where = describe_link(node, attributes, self.locate)
            self._open_mark(frame, link, where | writing)
            if is_note_mark(node, attributes):
                builder.write("[")
                frame.after = "]"
        elif is_tex(node, attributes):
            self._open_mark(frame, ElementKind.FORMULA, describe_tex(node))
        elif writing:
            self._open_mark(frame, ElementKind.SPAN, writing)
        return True

    def _open_mark(self, frame: _OpenNode, kind: ElementKind, attributes: Mapping[str, Attribute]) -> None:
        self.builder.marks.open(kind, attributes)
        frame.marks += 1

    def _open_picture(self, node: LexborNode, frame: _OpenNode, attributes: Attributes) -> None:
        formula = describe_pictured_tex(node)
        if formula:
            self._open_mark(frame, ElementKind.FORMULA, formula)
            words = str(formula["tex"])
        else:
            alt = attributes.get("alt") if self.builder.in_heading else read_alt_text(node)
            words = f" {alt} " if alt else ""
        self._open_mark(frame, ElementKind.IMAGE, self._describe_image(attributes))
        self.builder.write(words)

    def _describe_image(self, attributes: Attributes) -> dict[str, Attribute]:
        source = attributes.get("src") or attributes.get("data-src") or attributes.get("xlink:href") or ""
        made: dict[str, Attribute] = {"image": self.locate(source)} if source else {}
        alt = collapse(clean(attributes.get("alt") or ""))
        return made | {"alt": alt} if alt else made

    def _add_picture_in_drawing(self, node: LexborNode) -> None:
        """Add the picture that a drawing only wraps, as EPUBs do for plates."""
        for image in node.css("image"):
            attributes = dict(image.attributes)
            attributes["src"] = attributes.get("xlink:href") or attributes.get("href")
            self.builder.marks.open(ElementKind.IMAGE, self._describe_image(attributes))
            self.builder.marks.close()

    def _open_heading(self, frame: _OpenNode, level: int, attributes: Attributes) -> None:
        self.builder.flush()
        frame.ends_block = True
        frame.own_id = attributes.get("id") or ""
        if not self._quiet and not self.builder.in_heading:
            frame.level = level
            self.builder.in_heading = True
        else:
            self._set_leaf(frame, ElementKind.HEADING, {"level": level})

    def _open_block(self, frame: _OpenNode, attributes: Attributes) -> None:
        self.builder.flush()
        tag = frame.tag
        classes = (attributes.get("class") or "").lower()
        frame.ends_block = True
        is_note = attributes.get("role") == "note" or not _NOTE_CLASSES.isdisjoint(classes.split())
        frame.quiet = tag in _NO_SECTIONS or is_note
        frame.article = tag in ("main", "article", "section") or attributes.get("role") == "main"
        frame.verse = bool(classes) and _VERSE.search(classes) is not None
        self._quiet += frame.quiet
        self._article += frame.article
        self._hold(frame, attributes)
        if tag in _LIST_TAGS:
            start = attributes.get("start") or "1"
            number = int(start) if start.isascii() and start.isdigit() and len(start) < 9 else 1
            self.builder.open_list(ordered=tag == "ol", start=number)
        elif tag == "li":
            self.builder.open_item()
        elif tag == "dd":
            self.builder.tight = True
        elif len(self._open_nodes) > 1 and self._open_nodes[-2].verse:
            self.builder.tight = self._open_nodes[-2].begun
            self._open_nodes[-2].begun = True

    def _hold(self, frame: _OpenNode, attributes: Attributes) -> None:
        """Open the container that an element is, or say what its words are."""
        builder, tag = self.builder, frame.tag
        if tag == "hr":
            builder.add_break()
        in_list = any(open_node.tag in _LIST_TAGS for open_node in self._open_nodes)
        container = make_container(tag, attributes, verse=frame.verse, in_list=in_list)
        if container is not None:
            builder.containers.append(container)
            frame.holds = True
        elif tag in LEAVES:
            self._set_leaf(frame, LEAVES[tag], {})
        writing = read_writing(attributes)
        if writing:
            self._set_leaf(frame, builder.leaf.kind, {**builder.leaf.attributes, **writing})

    def _set_leaf(self, frame: _OpenNode, kind: ElementKind, attributes: Mapping[str, Attribute]) -> None:
        """Say what the words of an element are; the words after it are what they were before."""
        if frame.leaf is None:
            frame.leaf = self.builder.leaf
        self.builder.leaf = Part(kind, 0, 0, 0, attributes)

    def _add_code(self, node: LexborNode) -> None:
        self.builder.flush()
        language = find_code_language(node)
        for gone in node.css(_NOT_IN_CODE):
            gone.decompose()
        for line in node.css("br"):
            line.replace_with("\n")
        ids, code = _collect_ids(node), node.text(deep=True)
        labels = self._mark_pages_in_code(node) if BREAK not in code else []
        code = node.text(deep=True) if labels else code.replace(BREAK, "")
        lines = [_strip_end(line) for line in clean(code).expandtabs(4).split("\n")]
        text = _strip_end("\n".join(lines))
        bare = text.lstrip(f"\n{BREAK}")
        kept = BREAK * text.count(BREAK, 0, len(text) - len(bare)) + bare
        named: dict[str, Attribute] = {"language": language} if language else {}
        size = len(bare) - bare.count(BREAK)
        links = self._mark_links(node, kept.replace(BREAK, ""))
        self._add_block(kept, ids, labels, wrap(links, Part(ElementKind.CODE, 0, size, 0, named)))

    def _mark_links(self, node: LexborNode, text: str) -> list[Part]:
        """Return the links in code, whose text without break signs is `text`."""
        if node.css_first("a[href]") is None:
            return []
        runs = MarkedRuns()
        links: list[int] = []
        for inner in node.traverse(include_text=True):
            while links and not _holds(links[-1], inner):
                links.pop()
                runs.close()
            if inner.tag == "-text":
                runs.runs.append(inner.text(deep=False))
            elif inner.tag == "a" and inner.attributes.get("href") and not links:
                runs.open(*describe_link(inner, inner.attributes, self.locate))
                links.append(inner.mem_id)
        for _ in links:
            runs.close()
        return runs.place([text])[0]

    def _mark_pages_in_code(self, node: LexborNode) -> list[str]:
        """Put the break sign where pages begin in code, and return their labels."""
        labels: list[str] = []
        gone: set[int] = set()
        for inner in node.css("[id], [role], [class], [title]"):
            label, is_mark = self._find_page_label(inner, inner.attributes)
            if label is None or inner.mem_id in gone or inner.mem_id == node.mem_id:
                continue
            labels.append(clean_label(label))
            inner.insert_before(BREAK)
            if is_mark:
                gone |= {within.mem_id for within in inner.css("*")}
                inner.decompose()
        return labels

    def _add_table(self, node: LexborNode) -> None:
        self.builder.flush()
        labels: list[str] = []

        def read(cell: LexborNode) -> tuple[str, list[Part]]:
            only = cell.first_child
            is_bare = only is not None and only.tag == "-text" and only.next is None and not cell.attributes
            if is_bare and not self.tex:
                return read_line(cell), []
            walk = _PageWalker(
                cell, site=False, page_ids=self.page_ids, locate=self.locate, bars=self.bars, tex=self.tex
            )
            pieces = walk.run()
            self.linked += walk.linked
            labels.extend(broken.label for piece in pieces for broken in piece.breaks)
            texts = (_insert_breaks(piece) if piece.text else BREAK * len(piece.breaks) for piece in pieces)
            words = _strip_end(" ".join(" ".join(texts).split()))
            return words, _place_in_cell(pieces, words.replace(BREAK, ""))

        text, markup = write_table(node, read)
        self._add_block(text, _collect_ids(node), labels, markup)

    def _add_block(self, text: str, ids: list[str], labels: list[str], markup: list[Part]) -> None:
        if text.replace(BREAK, ""):
            self.builder.add_block(text, ids=ids, labels=labels, markup=markup)
            return
        self.builder.add_images(markup)
        for name in ids:
            self.builder.note_id(name)
        for label in labels:
            self.builder.break_page(label)


def _place_in_cell(pieces: tuple[Piece, ...], words: str) -> list[Part]:
    """Return the markup of a cell, whose pieces stand on one line."""
    body = TextBuilder()
    for piece in pieces:
        if isinstance(piece, Text) and piece.text:
            body.add(piece.text, markup=piece.markup, within=piece.within)
        elif isinstance(piece, Text):
            body.mark(piece.markup, within=piece.within)
        else:
            body.add(piece.text, markup=[Part(ElementKind.STRONG, 0, len(piece.text))])
    blocks = [part for part in body.markup if part.depth == 0 and part.kind is not ElementKind.IMAGE]
    markup = body.markup
    if len(blocks) == 1 and blocks[0].kind is ElementKind.PARAGRAPH:
        # A cell with one paragraph needs no paragraph in it.
        markup = [p._replace(depth=max(0, p.depth - 1)) for p in markup if p is not blocks[0]]
    runs = MarkedRuns()
    runs.add(body.text, markup)
    return runs.place([words])[0]


def _holds(mem_id: int, node: LexborNode) -> bool:
    """Whether a node is inside the one with this id."""
    here = node.parent
    while here is not None and here.mem_id != mem_id:
        here = here.parent
    return here is not None


def _collect_ids(node: LexborNode) -> list[str]:
    found = [inner.attributes for inner in node.css("[id], a[name]")]
    return [name for inner in found for key in ("id", "name") if (name := inner.get(key))]


def _strip_end(line: str) -> str:
    """Strip blanks at the end of a line, also those before page breaks."""
    bare = line.rstrip()
    while bare.endswith(BREAK):
        bare = bare[:-1].rstrip()
    return bare + BREAK * line.count(BREAK, len(bare))


def _insert_breaks(piece: Piece) -> str:
    """Return a piece's text with the break sign where pages begin."""
    text = piece.text
    for broken in reversed(piece.breaks):
        text = f"{text[: broken.offset]}{BREAK}{text[broken.offset :]}"
    return text


def _find_level(tag: str, attributes: Attributes) -> int:
    """Return the level of a heading; 0 for other elements, such as an author's name in a heading tag."""
    if tag in _HEADINGS:
        return 0 if _NO_HEADINGS & set((attributes.get("class") or "").split()) else _HEADINGS[tag]
    if attributes.get("role") != "heading":
        return 0
    level = attributes.get("aria-level") or "2"
    return min(6, max(1, int(level))) if level.isascii() and level.isdigit() and len(level) < 3 else 2
