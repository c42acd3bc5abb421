"""The rules and state machines of the data model.

Each rule is a function that raises `InvalidValue` with field, rule and value. `types` calls the rules
in its constructors, so a wrong value never exists. The state machines are those of the source documents: a
question's status, an answer's state, the state of a piece of evidence, and the delivery of an answer. A step
that is not in `TRANSITIONS` raises `InvalidTransition`. Other words that the documents use for the same
states are listed in `SEEN_AS`. The flow from a query to a cited response is `octavo.answers.ask`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from itertools import pairwise
from typing import TypeVar
from urllib.parse import urlsplit

from octavo.errors import InvalidTransition, InvalidValue

# The largest integer that is exact in JavaScript.
LARGEST_EXACT_INTEGER = 2**53 - 1
URL_SCHEMES = frozenset({"http", "https", "book"})
_NOT_IN_URL = re.compile(r"[\s\x00-\x1f\x7f<>\"{}|\\^`\ud800-\udfff]")
_CREDENTIALS = re.compile(r"\A((?:[A-Za-z][A-Za-z0-9+.-]*:)?//)[^/?#]*@")
_NOT_IN_TEXT = re.compile(r"[\x00\ud800-\udfff]")

State = TypeVar("State", bound=StrEnum)
Member = TypeVar("Member", bound=StrEnum)
Steps = Mapping[State, tuple[State, ...]]


class QuestionStatus(StrEnum):
    PENDING = "pending"
    PROCESSING = "processing"
    COMPLETED = "completed"
    INSUFFICIENT_DATA = "insufficient_data"
    ERROR = "error"


class AnswerState(StrEnum):
    DRAFT = "draft"
    VALIDATED = "validated"
    PUBLISHED = "published"


class EvidenceState(StrEnum):
    RETRIEVED = "retrieved"
    VALIDATED = "validated"


class Delivery(StrEnum):
    RECEIVED = "received"
    PROCESSING = "processing"
    VALIDATED = "validated"
    FORMATTED = "formatted"
    DELIVERED = "delivered"


class BookState(StrEnum):
    """The state of an edition: readers see it only when it is `ready`."""

    PENDING = "pending"
    READY = "ready"
    SUPERSEDED = "superseded"


def _chain(machine: type[State]) -> Steps[State]:
    """Let each state lead to the one that is defined after it."""
    states = list(machine)
    return {a: (b,) for a, b in pairwise(states)}


_Q = QuestionStatus
TRANSITIONS: Mapping[type[StrEnum], Mapping[StrEnum, tuple[StrEnum, ...]]] = {
    QuestionStatus: {
        _Q.PENDING: (_Q.PROCESSING,),
        _Q.PROCESSING: (_Q.COMPLETED, _Q.INSUFFICIENT_DATA, _Q.ERROR),
    },
    AnswerState: _chain(AnswerState),
    EvidenceState: _chain(EvidenceState),
    Delivery: _chain(Delivery),
    BookState: _chain(BookState),
}

SEEN_AS: Mapping[type[StrEnum], Mapping[StrEnum, tuple[str, ...]]] = {
    QuestionStatus: {
        _Q.PENDING: ("received",),
        _Q.PROCESSING: ("received",),
        _Q.COMPLETED: ("processed",),
        _Q.INSUFFICIENT_DATA: ("processed",),
    },
    AnswerState: {
        AnswerState.DRAFT: ("generating",),
        AnswerState.VALIDATED: ("generating",),
        AnswerState.PUBLISHED: ("completed",),
    },
    EvidenceState: {EvidenceState.VALIDATED: ("retrieved",)},
}


def advance(current: State, to: State) -> State:
    """Return the next state; raise `InvalidTransition` if the machine has no such step."""
    allowed = TRANSITIONS[type(current)].get(current, ())
    # States of two machines may be equal as strings, so compare the types as well.
    if type(to) is not type(current) or to not in allowed:
        steps = " or ".join(f"{s}" for s in allowed) or "nothing: it is final"
        raise InvalidTransition(
            f"{type(current).__name__} cannot go from {current} to {to}; from there it may go to {steps}"
        )
    return to


def view(state: StrEnum) -> tuple[str, ...]:
    """Return the names of a state in all documents, its own first."""
    return (str(state), *SEEN_AS.get(type(state), {}).get(state, ()))


def check_text(field: str, value: str, *, least: int = 1, most: int | None = None) -> None:
    """Require a string that is not blank, of a length within bounds."""
    if not isinstance(value, str):
        raise InvalidValue(field, "must be a string", value)
    if not value.strip():
        raise InvalidValue(field, "must not be empty or only whitespace", value)
    if len(value) < least or (most is not None and len(value) > most):
        bounds = f"{least}-{most}" if most is not None else f"at least {least}"
        raise InvalidValue(field, f"must be {bounds} characters long (this has {len(value)})", value)
    check_storable(field, value)


def check_storable(field: str, value: str) -> None:
    """Require a string, maybe empty, that every database can store."""
    if not isinstance(value, str):
        raise InvalidValue(field, "must be a string", value)
    if _NOT_IN_TEXT.search(value):
        raise InvalidValue(field, "must hold no lone surrogates and no NUL", value)


def check_texts(field: str, value: tuple[str, ...]) -> None:
    """Require a tuple of strings that every database can store."""
    check_tuple(field, value, str)
    for each in value:
        check_storable(field, each)


def check_tuple(field: str, value: tuple[object, ...], kind: type) -> None:
    if not isinstance(value, tuple):
        raise InvalidValue(field, "must be a tuple", value)
    for each in value:
        check_instance(field, each, kind)


def check_instance(field: str, value: object, kind: type) -> None:
    if not isinstance(value, kind):
        raise InvalidValue(field, f"must be of type {kind.__name__}", value)


def check_integer(field: str, value: int, *, least: int, most: int = LARGEST_EXACT_INTEGER) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise InvalidValue(field, f"must be an integer from {least} to {most}", value)


def check_share(field: str, value: float) -> None:
    """Require a number from 0 to 1: a score or a probability."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0.0 <= value <= 1.0:
        raise InvalidValue(field, "must be between 0 and 1", value)


def check_size(field: str, value: float) -> None:
    """Require a finite number above 0."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0.0 < value < math.inf:
        raise InvalidValue(field, "must be a number above 0", value)


def check_url(field: str, value: str) -> None:
    if not isinstance(value, str) or _NOT_IN_URL.search(value):
        raise InvalidValue(field, "must be a valid URL", value)
    try:
        parts = urlsplit(value)
        valid = parts.scheme in URL_SCHEMES and bool(parts.netloc)
        if parts.scheme != "book":
            valid = valid and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise InvalidValue(field, "must be a valid URL (http, https or book)", value)


def remove_credentials(url: str) -> str:
    """Return the address without a user and a password."""
    return _CREDENTIALS.sub(r"\1", url, count=1)


def parse_origin(url: str) -> str:
    """Return the origin of an address as browsers write it; "" for one that has none."""
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname or ""
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not re.fullmatch(r"[a-z0-9.-]+|[0-9a-f:]+", host):
        return ""
    bracketed = f"[{host}]" if ":" in host else host
    usual = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{bracketed}" + (f":{port}" if port is not None and port != usual else "")


def check_origin(field: str, value: object) -> None:
    """Require an origin as browsers send it, such as https://docs.example.com."""
    if not isinstance(value, str) or not value or parse_origin(value) != value:
        rule = "must be origins such as https://docs.example.com, without a path, a trailing slash or a *"
        raise InvalidValue(field, rule, value)


def check_unit_vector(field: str, value: Sequence[float], *, size: int | None = None) -> None:
    """Require a vector of finite numbers and unit length, with `size` numbers if that is given."""
    if not value or (size is not None and len(value) != size):
        raise InvalidValue(field, f"must have {size or 'some'} numbers", value)
    try:
        length = math.hypot(*value)
    except (TypeError, OverflowError):
        raise InvalidValue(field, "must have finite numbers only", value) from None
    if not math.isfinite(length):
        raise InvalidValue(field, "must have finite numbers only", value)
    if abs(length - 1.0) > 1e-3:
        raise InvalidValue(field, f"must have unit length (this has {length:.4f})", value)


def check_json_object(field: str, value: Mapping[str, object]) -> None:
    try:
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            raise TypeError
        if value:
            json.dumps(dict(value), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise InvalidValue(field, "must be a JSON object", value) from None


def check_one_of(field: str, value: object, allowed: Collection[object]) -> None:
    if value not in allowed:
        raise InvalidValue(field, f"must be one of {', '.join(str(a) for a in allowed)}", value)


def to_member(field: str, value: str, kind: type[Member]) -> Member:
    """Return the member of `kind` that `value` is or names."""
    try:
        return kind(value)
    except ValueError:
        raise InvalidValue(field, f"must be one of {', '.join(kind)}", value) from None


def check_datetime(field: str, value: datetime) -> None:
    """Require a datetime with a time zone."""
    if not isinstance(value, datetime) or value.utcoffset() is None:
        raise InvalidValue(field, "must be a datetime with a time zone", value)
    try:
        value.astimezone(UTC)
    except OverflowError:
        raise InvalidValue(field, "must lie in the years 1 to 9999 in every time zone", value) from None


def check_span(field: str, start: int, end: int) -> None:
    check_integer(f"{field}.start", start, least=0)
    if not isinstance(end, int) or isinstance(end, bool) or not start < end <= LARGEST_EXACT_INTEGER:
        raise InvalidValue(f"{field}.end", f"must be greater than start ({start})", end)
