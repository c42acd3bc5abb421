"""Octavo lets people ask their books, and shows the exact passage behind every result.

>>> from octavo import Library
>>> async with Library.open() as library:
...     book = await library.add("moby-dick.epub")
...     for found in await library.search("Why is the whale white?"):
...         print(found.chunk.source_location, found.chunk.content)
"""

from __future__ import annotations

__version__ = "0.1.0"
