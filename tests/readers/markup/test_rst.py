"""reStructuredText: one file, and the source of a Sphinx project."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.errors import BadBook
from octavo.limits import Limits
from octavo.readers import read_book
from octavo.readers.parsed import ParsedBook
from octavo.readers.sandbox import parse
from octavo.types import BookFormat, ElementKind

PAGE = """\
============
The Sea Book
============

:Author: Ann Writer
:Date: 1999-02-03

Before all |what| else\\ s.

.. |what| replace:: of this
.. _a-target:

Ships
=====

A *fast* **strong** ``code*`` ship, see :ref:`the ports <ports>`, `a page <https://example.org>`_,
:py:func:`~sea.sail` and snake_case names [1]_.

.. [1] A brig.

- one
- two

  more of two

  1. inner

Term : kind
    What it means.

An example::

    def f(x):

        return x

.. note:: Mind the tide.

.. code-block:: python
   :caption: Sailing

   sail()

.. py:function:: moor(ship)
   :async:

   Ties it up.

.. image:: ship.png
   :alt: A small brig in a storm at night

.. raw:: html

   <script>alert(1)</script>

.. a comment

Ports
-----

+------+------+
| Name | Size |
+======+======+
| Hull | 3    |
| town |      |
+------+------+

=====  =====
Name   Size
=====  =====
Cod    1
Whale  30
=====  =====

.. list-table:: Depths
   :header-rows: 1

   * - Where
     - How deep
   * - Bay
     - 9
"""


def read(path: Path) -> ParsedBook:
    return read_book(path, Limits())


def test_a_page_has_its_sections_and_everything_that_stands_in_them(tmp_path: Path) -> None:
    (tmp_path / "sea.rst").write_text(PAGE)
    book = read(tmp_path / "sea.rst")
    assert (book.title, book.format, book.authors) == ("The Sea Book", BookFormat.RST, ("Ann Writer",))
    assert book.metadata.published == "1999-02-03"
    lead, ships, ports = book.sections
    assert lead.text == "Before all of this elses."
    assert (ships.heading_path, ships.anchor) == (("Ships",), "ships")
    assert ships.text.startswith(
        "A fast strong code* ship, see the ports, a page, sail and snake_case names [1].\n\n[1] A brig.\n\n"
        "- one\n- two\n"
    )
    for part in (
        "1. inner",
        "Term : kind\nWhat it means.",
        "An example:\n\ndef f(x):\n\n    return x",
        "Note: Mind the tide.",
        "Sailing\n\nsail()",
        "moor(ship)\nTies it up.",
        "A small brig in a storm at night",
    ):
        assert part in ships.text, part
    assert "alert" not in ships.text
    assert "comment" not in ships.text
    assert ports.heading_path == ("Ships", "Ports")
    assert ports.text == (
        "Name | Size\nHull town | 3\n\nName | Size\nCod | 1\nWhale | 30\n\n"
        "Depths\n\nWhere | How deep\nBay | 9"
    )


def write_project(root: Path) -> Path:
    pages = {
        "conf.py": "import os\nproject = 'Sea Docs'\nauthor = \"Ann Writer\"\nhtml_baseurl = 'https://sea.example/'\n"
        "open('/tmp/never', 'w')\n",
        "index.rst": "Welcome\n=======\n\nHello to the docs.\n\n.. toctree::\n   :caption: Guides\n\n"
        "   guide/start\n"
        "   The Ports <guide/ports>\n   https://example.org\n\n.. toctree::\n   :glob:\n\n   ref/*\n",
        "guide/start.rst": "Start\n=====\n\nBegin here.\n\n.. toctree::\n\n   deep\n\n.. include:: part.inc\n"
        ".. include:: /../../secret.rst\n.. literalinclude:: code.py\n",
        "guide/part.inc": "Included words.\n\nInner\n-----\n\nInner words.\n",
        "guide/code.py": "print('sea')\n",
        "guide/deep.rst": "Deep\n====\n\nDeep words.\n",
        "guide/ports.rst": "Ports and such\n==============\n\nPort words.\n",
        "ref/b.md": "# Bee\n\nMarkdown words.\n",
        "ref/a.rst": "Aye\n===\n\nAye words.\n",
        "lost.rst": "Lost\n====\n\nLost words.\n",
        "_templates/x.rst": "X\n=\n\nNot a page.\n",
    }
    for name, text in pages.items():
        (root / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "docs" / name).write_text(text)
    (root.parent / "secret.rst").write_text("The secret.\n")
    return root


def test_a_sphinx_project_comes_in_the_order_of_its_toctrees_with_its_addresses(tmp_path: Path) -> None:
    book = read(write_project(tmp_path / "sea"))
    assert (book.title, book.authors, book.base_url) == ("Sea Docs", ("Ann Writer",), "https://sea.example/")
    assert [(s.heading_path, s.url, s.anchor) for s in book.sections] == [
        (("Sea Docs",), "index.html", ""),
        (("Sea Docs", "Welcome"), "index.html", "welcome"),
        (("Guides", "Start"), "guide/start.html", "start"),
        (("Guides", "Start", "Inner"), "guide/start.html", "inner"),
        (("Guides", "Start", "Deep"), "guide/deep.html", "deep"),
        (("Guides", "The Ports"), "guide/ports.html", ""),
        (("Guides", "The Ports", "Ports and such"), "guide/ports.html", "ports-and-such"),
        (("Aye",), "ref/a.html", "aye"),
        (("Bee",), "ref/b.html", "bee"),
        (("Lost",), "lost.html", "lost"),
    ]
    text = "\n".join(section.text for section in book.sections)
    assert "Included words." in text
    assert "print('sea')" in text
    assert "secret" not in text
    assert "Not a page" not in text


def test_a_link_to_a_project_elsewhere_is_not_followed(tmp_path: Path) -> None:
    write_project(tmp_path / "sea")
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "docs").symlink_to(tmp_path / "sea" / "docs")
    with pytest.raises(BadBook, match="no file"):
        read(tmp_path / "book")


def test_a_file_that_is_added_alone_reads_no_other(tmp_path: Path) -> None:
    (tmp_path / "other.rst").write_text("The other words.")
    (tmp_path / "one.rst").write_text("Own words.\n\n.. include:: other.rst\n")
    book = read(tmp_path / "one.rst")
    assert [s.text for s in book.sections] == ["Own words."]
    assert "other.rst" in "".join(book.warnings)


def test_only_the_fields_below_the_title_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "one.rst").write_text(
        "Fish\n====\n\n:Author: Ann\n\nWords.\n\n:Size: ten kilos\n\nMore\n----\n\n:Depth: a mile\n"
    )
    book = read(tmp_path / "one.rst")
    text = "\n".join(s.text for s in book.sections)
    assert book.authors == ("Ann",)
    assert "Ann" not in text
    assert "ten kilos" in text
    assert "a mile" in text


def test_the_class_of_a_heading_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "one.rst").write_text(".. rst-class:: hide-header\n\nFish\n====\n\nWords.\n")
    assert [(s.title, s.text) for s in read(tmp_path / "one.rst").sections] == [("Fish", "Words.")]


async def test_pages_that_include_themselves_or_never_end_are_read_or_refused(tmp_path: Path) -> None:
    home = tmp_path / "loop"
    home.mkdir()
    (home / "conf.py").write_text("project = 'Loop'\n")
    (home / "index.rst").write_text(
        "Loop\n====\n\nWords.\n\n.. include:: again.inc\n\n.. toctree::\n\n   index\n   b\n"
    )
    (home / "again.inc").write_text("More words.\n\n.. include:: again.inc\n")
    (home / "b.rst").write_text("B\n=\n\nIn a circle.\n\n.. toctree::\n\n   index\n   b\n")
    book = await parse(home, Limits())
    assert [s.heading_path[-1] for s in book.sections].count("B") == 1
    nasty = (
        "`` " * 20_000 + "\n\n" + "* " * 20_000 + "\n\n" + "".join(" " * n + "- x\n\n" for n in range(300))
    )
    (tmp_path / "nasty.rst").write_text(f"T\n=\n\n{nasty}")
    assert (await parse(tmp_path / "nasty.rst", Limits(parser_seconds=20))).sections
    with pytest.raises(BadBook):
        read_book(home, Limits(max_members=2))


def test_formulas_keep_their_signs_and_stand_in_their_line_or_alone(tmp_path: Path) -> None:
    (tmp_path / "waves.rst").write_text(
        "Waves\n=====\n\nA speed :math:`\\alpha_1 < c` of :math:`\\{1,2\\}`.\n\n.. math:: e = mc^2\n\n"
        ".. math::\n   :label: wave\n\n   a &= b \\\\\n   c &= d\n\n   y = z\n\nAfter.\n"
    )
    (section,) = read_book(tmp_path / "waves.rst", Limits()).sections
    made = [element.attributes for element in section.markup if element.kind is ElementKind.FORMULA]
    assert section.text.startswith(r"A speed \(\alpha_1 < c\) of \(\{1,2\}\).")
    assert section.text.endswith("After.")
    assert [(each["tex"], each.get("display")) for each in made] == [
        (r"\alpha_1 < c", None),
        (r"\{1,2\}", None),
        ("e = mc^2", 1),
        ("a &= b \\\\\nc &= d", 1),
        ("y = z", 1),
    ]
