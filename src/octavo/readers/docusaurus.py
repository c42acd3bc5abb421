"""Docusaurus: a site's docs as one book, each section at the address where the site publishes it.

Takes a site, a folder that holds one, or a docs folder alone. Drafts, unlisted pages, partials, the blog,
other versions and translations are not part of the book.
"""

from __future__ import annotations

import posixpath
from pathlib import Path, PurePosixPath

from octavo.errors import BadBook
from octavo.limits import MB, Limits
from octavo.readers import mdx
from octavo.readers.chapters import chapter
from octavo.readers.docusaurus_contents import Category, Contents, Doc, is_index, split_prefix
from octavo.readers.docusaurus_site import Docs, Site, category_file, is_docusaurus, open_site
from octavo.readers.markdown import Page, open_page, open_pages, pieces
from octavo.readers.parsed import ParsedBook, ParsedSection
from octavo.readers.tree import bound, inside, title_of, walk
from octavo.types import BookFormat

__all__ = ["is_docusaurus", "read"]

_SUFFIXES = frozenset((".md", ".mdx"))
_DEEPEST_PARTIAL = 4


def read(path: Path, limits: Limits) -> ParsedBook:
    site = open_site(path, limits)
    warnings: list[str] = []
    sections: list[ParsedSection] = []
    for docs in site.docs:
        sections += _Shelf(path, site, docs, limits, warnings).sections()
    name = path.resolve().name
    return ParsedBook(
        title=site.title or title_of(path.resolve().parent.name if name == "docs" else name),
        format=BookFormat.DOCUSAURUS,
        sections=bound(sections, limits, name=path.name or "the site"),
        language=site.language,
        base_url=site.base_url,
        warnings=tuple(warnings),
    )


class _Shelf:
    """One set of docs: its pages, read and put in order."""

    def __init__(self, root: Path, site: Site, docs: Docs, limits: Limits, warnings: list[str]) -> None:
        self._root, self._site, self._docs, self._limits = root.resolve(), site, docs, limits
        self._warnings = warnings
        self._home = docs.folder.resolve()
        self._place = self._home.relative_to(self._root).as_posix().removeprefix(".")
        self._size = 0

    def sections(self) -> list[ParsedSection]:
        files = [
            f for f in walk(self._home, _SUFFIXES, self._limits, notes=self._warnings) if not self._private(f)
        ]
        opened = open_pages(self._root, files, self._limits, self._warnings)
        pages = [self._doc(page) for page in opened.values() if not _hidden(page)]
        contents = Contents(self._docs, pages, self._limits, place=self._place)
        return [section for item in contents.items() for section in self._bound(item, ())]

    def _private(self, file: Path) -> bool:
        return any(part.startswith("_") for part in file.relative_to(self._home).parts)

    def _doc(self, page: Page) -> Doc:
        folder, stem = page.path.parent.relative_to(self._home).as_posix().removeprefix("."), page.path.stem
        bare = "/".join(self._bare(part) for part in PurePosixPath(folder).parts)
        base = page.matter.word("id") or self._bare(stem)
        found = pieces(self._markdown(page, _DEEPEST_PARTIAL), code=mdx.shown_code)
        self._size += sum(len(p.text) for p in found)
        if self._size > self._limits.max_text_mb * MB:
            raise BadBook("too_large", f"the docs hold more than {self._limits.max_text_mb} MB of text")
        top = found[1].title if len(found) > 1 and found[1].level == 1 else ""
        doc = Doc(
            id=f"{bare}/{base}".strip("/"),
            title=page.matter.word("title")
            or top
            or page.matter.word("sidebar_label")
            or title_of(PurePosixPath(bare).name if bare and is_index(stem, folder) else self._bare(stem)),
            url="",
            source_file=page.path.relative_to(self._root).as_posix(),
            folder=folder,
            name=stem,
            matter=page.matter,
            pieces=found,
        )
        slug = self._slug(page.matter.word("slug"), bare, "" if doc.is_index else base)
        return Doc(**{**{f: getattr(doc, f) for f in Doc.__slots__}, "url": self._url(slug)})

    def _bare(self, name: str) -> str:
        return split_prefix(name, numbered=self._docs.numbered)[1]

    def _slug(self, said: str, folder: str, base: str) -> str:
        """The address below the docs' own: what the page says, else its folder and name."""
        if said.startswith("/"):
            return said
        here = f"/{folder}/" if folder else "/"
        if not said and not base:
            return here
        return posixpath.normpath(posixpath.join(here, said or base)) + ("/" if said.endswith("/") else "")

    def _url(self, slug: str) -> str:
        url = "/".join(part for part in (self._docs.route, slug.lstrip("/")) if part)
        if slug == "/" and self._docs.route:
            url += "/"
        if self._site.slash is None or not url:
            return url
        return url.rstrip("/") + ("/" if self._site.slash else "")

    def _markdown(self, page: Page, depth: int) -> str:
        def partial(reference: str) -> str | None:
            if not depth or not reference.endswith((".md", ".mdx")):
                return None
            base = self._site.folder if reference.startswith("@site/") else page.path.parent
            file = inside(self._root, base, reference.removeprefix("@site/"))
            if file is None or not file.is_file():
                name = page.path.relative_to(self._root).as_posix()
                self._warnings.append(f"{name}: imports {reference}, which is not in the book")
                return None
            return self._markdown(open_page(file, self._limits, name=file.name), depth - 1)

        return mdx.strip(page.body, partial=partial, strict=page.path.suffix.lower() == ".mdx")

    def _bound(self, item: Doc | Category, path: tuple[str, ...]) -> list[ParsedSection]:
        if isinstance(item, Doc):
            return self._chapter(item, (*path, item.title))
        place = (*path, item.label)
        if item.page:
            made = self._chapter(item.page, place)
        else:
            made = [
                ParsedSection(
                    title=item.label,
                    heading_path=place,
                    text=item.description,
                    source_file=self._source(item),
                    url=self._url(item.url) if item.url else "",
                )
            ]
        return [*made, *(section for inner in item.items for section in self._bound(inner, place))]

    def _source(self, item: Category) -> str:
        file = category_file(self._root / item.source_file)
        return file.relative_to(self._root).as_posix() if file else item.source_file

    def _chapter(self, doc: Doc, place: tuple[str, ...]) -> list[ParsedSection]:
        return chapter(doc.pieces, path=place, source_file=doc.source_file, url=doc.url, anchored=False)


def _hidden(page: Page) -> bool:
    return page.matter.flag("draft") or page.matter.flag("unlisted")
