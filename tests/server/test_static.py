"""Which clients get a compressed file."""

from __future__ import annotations

import pytest

from octavo.server.static import StaticFile, accepts_gzip


@pytest.mark.parametrize(
    "header",
    ["gzip", "GZIP", "deflate, gzip;q=0.5, br", "br , gzip", "*", "gzip; q=1.0", "identity, *;q=0.1"],
)
def test_a_client_that_names_gzip_or_anything_gets_it(header: str) -> None:
    assert accepts_gzip(header)


@pytest.mark.parametrize(
    "header", ["", "identity", "br", "gzip;q=0", "gzip;q=0.000, *", "*;q=0", "xgzip", "gzip-like", "gzip;q=x"]
)
def test_a_client_that_refuses_gzip_or_does_not_name_it_does_not(header: str) -> None:
    assert not accepts_gzip(header)


def test_the_same_file_always_has_the_same_bytes_and_tags() -> None:
    one, two = (StaticFile(b"boats " * 9, "text/plain", {}) for _ in range(2))
    assert (one.compressed, one.etag, one.gzip_etag) == (two.compressed, two.etag, two.gzip_etag)
    assert one.etag != StaticFile(b"other", "text/plain", {}).etag
