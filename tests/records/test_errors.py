"""Errors of the database: what they say decides, and not what was being stored."""

from __future__ import annotations

import pytest
from sqlalchemy.exc import DBAPIError

from octavo.records.errors import is_lost


class ServerError(Exception):
    """What a driver raises, with PostgreSQL's five characters."""

    def __init__(self, message: str, sqlstate: str) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate


@pytest.mark.parametrize(
    ("message", "sqlstate", "stored", "lost"),
    [
        ("terminating connection", "57P01", "What is a prepared statement?", True),
        ("unsupported startup parameter: jit", "08P01", "What is a boat?", False),
    ],
)
def test_the_words_that_were_being_stored_say_nothing_about_the_connection(
    message: str, sqlstate: str, stored: str, lost: bool
) -> None:
    raised = DBAPIError("INSERT", {"question": stored}, ServerError(message, sqlstate))
    assert is_lost(raised) is lost
