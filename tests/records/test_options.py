"""What a caller says about a book is checked before anything is read."""

from __future__ import annotations

import pytest

from octavo.errors import InvalidValue
from octavo.records.options import BookOptions


@pytest.mark.parametrize("address", ["https://me:secret@example.org/book", "https://me@example.org/"])
def test_an_address_with_a_user_or_a_password_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(InvalidValue, match="no user and no password") as refused:
        BookOptions(base_url=address)
    assert "secret" not in refused.value.message


def test_other_addresses_are_taken() -> None:
    assert BookOptions(base_url="https://example.org/@me/book").base_url == "https://example.org/@me/book"
