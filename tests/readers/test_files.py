"""Archives that lie, overlap, point outside or never end."""

from __future__ import annotations

import stat
import struct
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.errors import BadBook
from octavo.limits import Limits
from octavo.readers.files import Archive, resolve_member_name
from tests.support.epub_files import write_blank_zip, write_overlapping_zip


def write_zip(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def catch_refusal(path: Path, *, read: str = "", limits: Limits | None = None) -> BadBook:
    with pytest.raises(BadBook) as refused, Archive(path, limits or Limits()) as archive:
        archive.read(read)
    return refused.value


def test_members_are_read_by_name_whatever_their_capitals(tmp_path: Path) -> None:
    with Archive(write_zip(tmp_path / "a.zip", {"OEBPS/Ch1.xhtml": b"text"}), Limits()) as archive:
        found = archive.find("oebps/ch1.XHTML")
        assert found == "OEBPS/Ch1.xhtml"
        assert archive.read(found) == b"text"
        assert archive.find("other") is None


def test_two_gigabytes_of_blanks_are_refused_after_the_first_few(tmp_path: Path) -> None:
    path = write_blank_zip(tmp_path / "bomb.zip", megabytes=2048)
    assert path.stat().st_size < 3_000_000
    refused = catch_refusal(path, read="a.xhtml")
    assert refused.code == "too_large_expanded"
    assert "a.xhtml" in refused.message


def test_a_member_may_not_exceed_its_own_limit(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("big", b"x" * (2 << 20))
    assert catch_refusal(path, read="big", limits=Limits(max_member_mb=1)).code == "too_large_expanded"


def test_all_members_together_have_one_budget(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "a.zip", {f"{n}": b"x" * 900_000 for n in range(3)})
    with Archive(path, Limits(max_expanded_mb=1)) as archive:
        archive.read("0")
        with pytest.raises(BadBook) as refused:
            archive.read("1")
    assert refused.value.code == "too_large_expanded"


def test_entries_that_overlap_are_refused(tmp_path: Path) -> None:
    assert catch_refusal(write_overlapping_zip(tmp_path / "o.zip")).code == "archive_overlap"


def test_a_stated_size_is_not_believed(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "a.zip", {"a": b"x" * 5_000_000})
    data = path.read_bytes().replace(struct.pack("<I", 5_000_000), struct.pack("<I", 10))
    path.write_bytes(data)
    refused = catch_refusal(path, read="a")
    assert (refused.code, "a is damaged" in refused.message) == ("damaged_archive", True)


@pytest.mark.parametrize("count", [20_001, 100_000])
def test_too_many_members_are_refused_before_they_are_listed(tmp_path: Path, count: int) -> None:
    path = tmp_path / "many.zip"
    entry = (
        struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 20, 20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + b"x"
    )
    path.write_bytes(b"PK\x03\x04" + entry * count)
    assert catch_refusal(path).code == "too_many_members"


def test_a_link_among_the_members_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    link = zipfile.ZipInfo("passwords")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(link, "/etc/passwd")
    assert catch_refusal(path).code == "unsafe_path"


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_an_archive_that_is_cut_off_is_damaged(tmp_path: Path, share: float) -> None:
    path = write_zip(tmp_path / "a.zip", {"a": bytes(range(256)) * 100, "b": b"x"})
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    assert catch_refusal(path).code == "damaged_archive"


def test_a_member_with_flipped_bytes_is_damaged(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "a.zip", {"a": b"some text that is packed " * 50})
    data = bytearray(path.read_bytes())
    data[40] ^= 0xFF
    path.write_bytes(bytes(data))
    assert catch_refusal(path, read="a").code == "damaged_archive"


@pytest.mark.parametrize(
    ("given_name", "path"),
    [
        ("OEBPS/./a.xhtml", "OEBPS/a.xhtml"),
        ("OEBPS/text/../a.xhtml", "OEBPS/a.xhtml"),
        ("../a", None),
        ("a/../../b", None),
        ("/etc/passwd", None),
        ("C:/x", None),
        ("..\\x", None),
        ("a\0b", None),
        ("", None),
    ],
)
def test_names_stay_inside_the_archive(given_name: str, path: str | None) -> None:
    assert resolve_member_name(given_name) == path


@given(st.text("ab./\\:\0", max_size=12))
def test_no_name_ever_leaves_the_archive(name: str) -> None:
    safe = resolve_member_name(name)
    assert safe is None or not ({"..", "", "."} & set(safe.split("/")) or safe.startswith("/"))
    assert safe is None or resolve_member_name(safe) == safe
