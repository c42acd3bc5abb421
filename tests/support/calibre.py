"""A small real Calibre library: the tables that Calibre makes, filled with the books of a test."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

SCHEMA = """
CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT, pubdate TIMESTAMP, series_index REAL, path TEXT);
CREATE TABLE data (id INTEGER PRIMARY KEY, book INTEGER, format TEXT, uncompressed_size INTEGER, name TEXT);
CREATE TABLE authors (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE tags (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE series (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE publishers (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE languages (id INTEGER PRIMARY KEY, lang_code TEXT);
CREATE TABLE identifiers (id INTEGER PRIMARY KEY, book INTEGER, type TEXT, val TEXT);
CREATE TABLE books_authors_link (id INTEGER PRIMARY KEY, book INTEGER, author INTEGER);
CREATE TABLE books_tags_link (id INTEGER PRIMARY KEY, book INTEGER, tag INTEGER);
CREATE TABLE books_series_link (id INTEGER PRIMARY KEY, book INTEGER, series INTEGER);
CREATE TABLE books_publishers_link (id INTEGER PRIMARY KEY, book INTEGER, publisher INTEGER);
CREATE TABLE books_languages_link (id INTEGER PRIMARY KEY, book INTEGER, lang_code INTEGER);
"""
_LINKS = {
    "authors": ("authors", "author", "name"),
    "tags": ("tags", "tag", "name"),
    "series": ("series", "series", "name"),
    "publishers": ("publishers", "publisher", "name"),
    "languages": ("languages", "lang_code", "lang_code"),
}


def start_library(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(folder / "metadata.db")) as database:
        database.executescript(SCHEMA)
    return folder


def add_entry(
    folder: Path,
    title: str,
    formats: Mapping[str, str],
    *,
    path: str,
    position: float = 1.0,
    date: str = "0101-01-01 00:00:00+00:00",
    identifiers: Mapping[str, str] | None = None,
    **lists: list[str],
) -> None:
    """An entry of the catalogue; `formats` has the name of each format's file without its ending."""
    with closing(sqlite3.connect(folder / "metadata.db")) as database, database:

        def put(statement: str, *values: Any) -> int:
            return database.execute(statement, values).lastrowid or 0

        book = put(
            "INSERT INTO books (title, pubdate, series_index, path) VALUES (?, ?, ?, ?)",
            *(title, date, position, path),
        )
        for kind, name in formats.items():
            put("INSERT INTO data (book, format, name) VALUES (?, ?, ?)", book, kind, name)
        for kind, value in (identifiers or {}).items():
            put("INSERT INTO identifiers (book, type, val) VALUES (?, ?, ?)", book, kind, value)
        for name, values in lists.items():
            table, link, column = _LINKS[name]
            for value in values:
                number = put(f"INSERT INTO {table} ({column}) VALUES (?)", value)
                put(f"INSERT INTO books_{table}_link (book, {link}) VALUES (?, ?)", book, number)
