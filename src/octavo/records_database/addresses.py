"""Where the records are: the path of a SQLite file, or the address of a PostgreSQL database."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from octavo.errors import RecordsError

_HINT = "It looks like postgresql://user:password@host/name, or is the path of a file."
_POSTGRES = ("postgresql", "postgres", "postgresql+asyncpg", "postgres+asyncpg")
_KNOWN = {"host", "port", "ssl"}
_WITHOUT_MEANING = {"channel_binding", "application_name", "connect_timeout", "target_session_attrs"}


def address(where: Path | str) -> URL:
    """The address as SQLAlchemy takes it, however it was spelled."""
    if isinstance(where, Path) or "://" not in where:
        return URL.create("sqlite+aiosqlite", database=str(where))
    try:
        given = make_url(where)
    except (ArgumentError, ValueError) as error:  # of which neither is told: it may quote the password
        raise RecordsError("the address of the records is not a database URL", hint=_HINT) from error
    if given.drivername in ("sqlite", "sqlite+aiosqlite") and given.database:
        return URL.create("sqlite+aiosqlite", database=given.database)
    if given.drivername not in _POSTGRES or not given.database:
        raise RecordsError("the records can be in SQLite or in a PostgreSQL database", hint=_HINT)
    return given.set(drivername="postgresql+asyncpg", query=_options(given))


def shown(url: URL) -> str:
    """The address for people: no password, nothing after the name."""
    if url.get_backend_name() == "sqlite":
        return url.database or ""
    return URL.create(
        "postgresql", url.username, host=url.host, port=url.port, database=url.database
    ).render_as_string()


def _options(given: URL) -> dict[str, str | tuple[str, ...]]:
    """What stands after `?`, in the words of the driver; what other drivers know is left out."""
    options = {key: value for key, value in given.query.items() if key not in _WITHOUT_MEANING}
    if "sslmode" in options:
        options["ssl"] = options.pop("sslmode")
    unknown = sorted(options.keys() - _KNOWN)
    if unknown:
        raise RecordsError(
            f"the address of the records has an option that is not known: {', '.join(unknown)}",
            hint="Known are host, port and sslmode.",
        )
    return options
