"""Archives as all kinds of tools pack them, and as bad disks and bad people leave them."""

from __future__ import annotations

import io
import random
import unicodedata
import zipfile
from pathlib import Path

import pytest

from octavo.errors import BadBook
from octavo.limits import MB, Limits
from octavo.readers import read_book
from octavo.readers.files import Archive
from tests.support.epub_files import make_document, write_blank_zip, write_epub

LIMITS = Limits()
TEXT = b"Once upon a time there was a miller who had three sons. " * 40


def pack_members(members: dict[str, bytes], *, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return made.getvalue()


def write_file(folder: Path, data: bytes) -> Path:
    path = folder / "a.zip"
    path.write_bytes(data)
    return path


def book(folder: Path) -> Path:
    chapters = {f"{n}.xhtml": make_document(f"<h1>Tale {n}</h1><p>{TEXT.decode()}</p>") for n in range(4)}
    return write_epub(folder / "book.epub", chapters)


class Stream(io.RawIOBase):
    """A file that can only be written forward, as a network stream."""

    def __init__(self) -> None:
        self.data = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        self.data += bytes(data)  # type: ignore[call-overload]
        return len(bytes(data))  # type: ignore[call-overload]


# As tools pack them


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_stored_and_packed_members_come_out_the_same(tmp_path: Path, method: int) -> None:
    with Archive(
        write_file(tmp_path, pack_members({"a": TEXT, "empty": b""}, method=method)), LIMITS
    ) as archive:
        assert (archive.read("a"), archive.read("empty")) == (TEXT, b"")


def test_members_written_to_a_stream_state_their_sizes_after_them(tmp_path: Path) -> None:
    stream = Stream()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", TEXT)
        archive.writestr("b", b"b")
    assert b"PK\x07\x08" in stream.data
    with Archive(write_file(tmp_path, bytes(stream.data)), LIMITS) as found:
        assert (found.read("a"), found.read("b")) == (TEXT, b"b")


def test_a_zip64_archive_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive, archive.open("a", "w", force_zip64=True) as member:
        member.write(TEXT)
    with Archive(path, LIMITS) as found:
        assert found.read("a") == TEXT


def test_a_program_before_the_archive_and_a_comment_after_it_do_no_harm(tmp_path: Path) -> None:
    made = io.BytesIO(b"MZ this unpacks itself" * 20)
    made.seek(0, io.SEEK_END)
    with zipfile.ZipFile(made, "a") as archive:
        archive.writestr("a", TEXT)
        archive.comment = b"packed with love"
    with Archive(write_file(tmp_path, made.getvalue()), LIMITS) as found:
        assert found.read("a") == TEXT


@pytest.mark.parametrize("name", ["naïve.xhtml", "第一章.xhtml", "Ärger/Öl.xhtml", "📚.xhtml", "a b c.xhtml"])
def test_names_of_all_scripts_are_found_in_either_form(tmp_path: Path, name: str) -> None:
    data = pack_members({unicodedata.normalize("NFD", name): TEXT})
    with Archive(write_file(tmp_path, data), LIMITS) as archive:
        found = archive.find(unicodedata.normalize("NFC", name))
        assert found is not None
        assert archive.read(found) == TEXT


def test_an_exact_name_comes_before_one_that_is_only_alike(tmp_path: Path) -> None:
    with Archive(write_file(tmp_path, pack_members({"A": b"1", "a": b"2", "%41": b"3"})), LIMITS) as archive:
        assert [archive.find(name) for name in ("A", "a", "%41")] == ["A", "a", "%41"]


def test_folders_and_names_that_lead_out_are_no_members(tmp_path: Path) -> None:
    data = pack_members({"folder/": b"", "a": b"1", "../b": b"2", "/c": b"3", "d\\e": b"4", "x/../f": b"5"})
    with Archive(write_file(tmp_path, data), LIMITS) as archive:
        assert archive.names == {"a", "f"}
        assert archive.find("../b") is None


def test_an_archive_inside_an_archive_is_one_member_and_is_not_opened(tmp_path: Path) -> None:
    inner = pack_members({f"{n}": b"x" for n in range(30)}, method=zipfile.ZIP_STORED)
    path = write_file(tmp_path, pack_members({"inner.zip": inner}))
    with Archive(path, Limits(max_members=5)) as archive:
        assert archive.names == {"inner.zip"}
        assert archive.read("inner.zip") == inner


# At the limits


def test_ten_megabytes_are_free_and_the_ratio_counts_after_them(tmp_path: Path) -> None:
    dense = Limits(max_ratio=2)
    with Archive(write_blank_zip(tmp_path / "free.zip", megabytes=10), dense) as archive:
        with pytest.raises(BadBook) as refused:  # its stated checksum is wrong, and only that
            archive.read("a.xhtml")
        assert refused.value.code == "damaged_archive"
    with Archive(write_blank_zip(tmp_path / "dense.zip", megabytes=11), dense) as archive:
        with pytest.raises(BadBook, match="over 2 times its size") as refused:
            archive.read("a.xhtml")
        assert refused.value.code == "too_large_expanded"


def test_a_member_of_exactly_the_limit_is_read(tmp_path: Path) -> None:
    data = pack_members({"a": bytes(MB), "b": bytes(MB + 1)})
    with Archive(write_file(tmp_path, data), Limits(max_member_mb=1)) as archive:
        assert len(archive.read("a")) == MB
        with pytest.raises(BadBook, match="b unpacks to more than 1 MB"):
            archive.read("b")


def test_as_many_members_as_the_limit_are_read(tmp_path: Path) -> None:
    path = write_file(tmp_path, pack_members({f"{n}": b"" for n in range(7)}))
    with Archive(path, Limits(max_members=7)) as archive:
        assert len(archive.names) == 7
    with pytest.raises(BadBook) as refused:
        Archive(path, Limits(max_members=6))
    assert refused.value.code == "too_many_members"


# As bad disks leave them


@pytest.mark.parametrize("tenth", range(1, 10))
def test_a_book_cut_off_anywhere_is_damaged(tmp_path: Path, tenth: int) -> None:
    path = book(tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * tenth // 10])
    with pytest.raises(BadBook) as refused:
        read_book(path, LIMITS)
    assert refused.value.code == "damaged_archive"
    assert "book.epub" in refused.value.message


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_member_packed_as_no_reader_of_epub_can_is_refused(tmp_path: Path, method: int) -> None:
    archive = Archive(write_file(tmp_path, pack_members({"a": TEXT}, method=method)), LIMITS)
    with archive, pytest.raises(BadBook, match="a uses a compression that books do not use") as refused:
        archive.read("a")
    assert refused.value.code == "damaged_archive"


@pytest.mark.parametrize("seed", range(3))
def test_flipped_bytes_give_a_book_or_a_reason_and_nothing_else(tmp_path: Path, seed: int) -> None:
    path = book(tmp_path)
    whole = path.read_bytes()
    chance = random.Random(seed)
    refused = 0
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 1, 2, 8))):
            near_end = chance.random() < 0.6  # where the directory is
            place = chance.randrange(len(data) - 500, len(data)) if near_end else chance.randrange(len(data))
            data[place] = chance.randrange(256)
        path.write_bytes(bytes(data))
        try:
            assert read_book(path, LIMITS).sections
        except BadBook:
            refused += 1
    assert refused > 30


def test_a_member_without_a_name_cannot_be_reached(tmp_path: Path) -> None:
    data = pack_members({"nameless": b"1", "a": b"2"}).replace(b"nameless", b"\0ameless")
    with Archive(write_file(tmp_path, data), LIMITS) as archive:
        assert archive.names == {"a"}


def test_a_directory_that_points_at_itself_is_refused(tmp_path: Path) -> None:
    data = bytearray(pack_members({"a": TEXT, "b": TEXT}))
    entry = data.rfind(b"PK\x01\x02")
    data[entry + 42 : entry + 46] = entry.to_bytes(4, "little")
    with pytest.raises(BadBook) as refused:
        Archive(write_file(tmp_path, bytes(data)), LIMITS)
    assert refused.value.code == "archive_overlap"
