"""Small real Word, OpenDocument and FictionBook files."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
STYLES = (
    f"<w:styles {W}>"
    '<w:style w:styleId="T"><w:name w:val="Title"/></w:style>'
    '<w:style w:styleId="H1"><w:name w:val="heading 1"/></w:style>'
    '<w:style w:styleId="Own"><w:name w:val="My Part"/><w:basedOn w:val="H1"/></w:style>'
    '<w:style w:styleId="Deep"><w:name w:val="Deep"/><w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style>'
    '<w:style w:styleId="C"><w:name w:val="Source Code"/></w:style>'
    '<w:style w:styleId="Toc"><w:name w:val="toc 1"/></w:style></w:styles>'
)
NUMBERING = (
    f'<w:numbering {W}><w:abstractNum w:abstractNumId="7"><w:lvl w:ilvl="0">'
    '<w:numFmt w:val="decimal"/></w:lvl>'
    '</w:abstractNum><w:abstractNum w:abstractNumId="8"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl>'
    '</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>'
    '<w:num w:numId="2"><w:abstractNumId w:val="8"/></w:num></w:numbering>'
)
CORE = (
    '<cp:coreProperties xmlns:cp="c" xmlns:dc="d" xmlns:dcterms="t"><dc:title>From the properties</dc:title>'
    "<dc:creator>Ann Writer; Bo Reader</dc:creator><cp:keywords>sea, ships</cp:keywords>"
    "<dc:language>en</dc:language><dcterms:created>1999-02-03T00:00:00Z</dcterms:created></cp:coreProperties>"
)


def paragraph(text: str, *, style: str = "", more: str = "") -> str:
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{named}{more}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def item(text: str, *, number: int, level: int = 0) -> str:
    return paragraph(text, more=f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>')


def write_docx(path: Path, body: str, members: Mapping[str, str] | None = None) -> Path:
    parts = {
        "[Content_Types].xml": "<Types/>",
        "word/document.xml": f"<w:document {W}><w:body>{body}</w:body></w:document>",
        "word/styles.xml": STYLES,
        "word/numbering.xml": NUMBERING,
        "docProps/core.xml": CORE,
    }
    return _write_zip(path, parts | dict(members or {}))


ODT_NAMES = 'xmlns:office="o" xmlns:text="t" xmlns:table="b" xmlns:style="s" xmlns:dc="d" xmlns:meta="m"'


def write_odt(path: Path, body: str, members: Mapping[str, str] | None = None, *, styles: str = "") -> Path:
    content = (
        f"<office:document-content {ODT_NAMES}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:text>{body}</office:text></office:body></office:document-content>"
    )
    meta = (
        f"<office:document-meta {ODT_NAMES}><office:meta>"
        "<meta:initial-creator>Ann Writer</meta:initial-creator>"
        "<meta:keyword>sea; ships</meta:keyword><dc:language>en</dc:language>"
        "<meta:creation-date>2001-05-06T01:02:03</meta:creation-date></office:meta></office:document-meta>"
    )
    parts = {"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content, "meta.xml": meta}
    return _write_zip(path, parts | dict(members or {}))


def write_fb2(path: Path, body: str, *, info: str = "", more: str = "", encoding: str = "utf-8") -> Path:
    text = (
        f'<?xml version="1.0" encoding="{encoding}"?>'
        '<FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0" xmlns:l="http://www.w3.org/1999/xlink">'
        f"<description><title-info><genre>sea_story</genre>{info}</title-info></description>"
        f"{body}{more}</FictionBook>"
    )
    path.write_bytes(text.encode(encoding))
    return path


def _write_zip(path: Path, parts: Mapping[str, str]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            # The kind of the archive is read from its first bytes.
            kind = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            archive.writestr(name, text, compress_type=kind)
    return path
