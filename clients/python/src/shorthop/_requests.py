"""What a request is made of, and when it is sent again; nothing here waits or sends."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import Any, Mapping, NamedTuple, Sequence
from urllib.parse import quote

from ._errors import ShorthopError

#: The delay before the first retry, in seconds, before jitter; doubles with each retry.
BACKOFF_BASE = 0.25

_RETRYABLE_STATUSES = frozenset({429, 502, 503, 504})


class Operation(NamedTuple):
    """An operation of the API, as its document has it."""

    method: str
    path: str
    #: The arguments that are parameters of the query; all others are fields of the body.
    query: frozenset[str] = frozenset()
    has_body: bool = False
    #: Of a list: the most entries of a page.
    limit_max: int = 0


_QueryValue = str | int | float | bool | None


@dataclass(frozen=True)
class Request:
    """One request to the API."""

    method: str
    path: str
    query: list[tuple[str, _QueryValue]] = field(default_factory=list)
    body: Any = None
    has_body: bool = False
    headers: dict[str, str] = field(default_factory=dict)


def request_of(
    operation: Operation,
    ids: Sequence[str],
    arguments: Mapping[str, Any],
    headers: Mapping[str, str | None] | None = None,
) -> Request:
    """The request of an operation; raises ``invalid_argument`` for an id that is no segment."""
    given = {_api_name(name): value for name, value in arguments.items()}
    return Request(
        operation.method,
        _fill(operation.path, ids),
        [
            (name, _query_text(item))
            for name, value in given.items()
            if name in operation.query and value is not None
            for item in (value if isinstance(value, (list, tuple)) else [value])
        ],
        {name: value for name, value in given.items() if name not in operation.query},
        operation.has_body,
        {name: value for name, value in (headers or {}).items() if value is not None},
    )


def _api_name(name: str) -> str:
    """Arguments whose names are words of Python, such as ``class_``, end with an underscore."""
    return name[:-1] if name.endswith("_") else name


def _query_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _fill(path: str, ids: Sequence[str]) -> str:
    """Puts ids into the places of a path, each as one segment."""
    left = iter(ids)
    return "/".join(
        _segment(next(left)) if part.startswith("{") else part for part in path.split("/")
    )


def _segment(text: str) -> str:
    # A URL resolves a segment of dots to another path.
    if not isinstance(text, str) or text in ("", ".", ".."):
        raise ShorthopError(0, "invalid_argument", f"An id must be a non-empty text, not {text!r}.")
    return quote(text, safe="")


def retry_delay(error: ShorthopError, retries: int) -> float | None:
    """Seconds until the next retry, with jitter; None when a retry cannot help."""
    if not (
        error.status in _RETRYABLE_STATUSES
        or error.code == "idempotency_in_progress"
        or (error.status == 0 and error.code in ("network", "timeout"))
    ):
        return None
    if error.retry_after_seconds is not None:
        return error.retry_after_seconds
    return float(BACKOFF_BASE * 2**retries * (0.5 + random.random()))


def is_transient(error: ShorthopError) -> bool:
    """Whether a feed can be read later: without a connection, or while the API is busy or away."""
    return error.status >= 500 or error.status == 429 or error.code in ("network", "timeout")


#: What one request may have: links, those of them with a password, and bytes as JSON.
LINKS_MAX = 100
PASSWORDS_MAX = 10
BYTES_MAX = 1_000_000


def split(items: Sequence[Any]) -> list[list[Any]]:
    """Splits a list into parts that the API accepts, in order."""
    chunks: list[list[Any]] = [[]]
    passwords = size = 0
    for item in items:
        password = int(isinstance(item, dict) and isinstance(item.get("password"), str))
        # A comma and a space are between two; JSON is ASCII.
        length = len(json.dumps(item)) + 2
        is_full = len(chunks[-1]) == LINKS_MAX or passwords + password > PASSWORDS_MAX
        if chunks[-1] and (is_full or size + length > BYTES_MAX):
            chunks.append([])
            passwords = size = 0
        chunks[-1].append(item)
        passwords += password
        size += length
    return chunks


def merge(whole: dict[str, Any], part: Mapping[str, Any], sent: int) -> None:
    """Adds the response about a part of a list, before which ``sent`` entries were sent."""
    whole["data"] += [{**entry, "index": entry["index"] + sent} for entry in part["data"]]
    for name, count in part.items():
        if isinstance(count, int):
            whole[name] = whole.get(name, 0) + count


def midway(error: ShorthopError, whole: Any, key: str | None) -> ShorthopError:
    """The error of a call for many, with what was done before it."""
    error.done = whole
    error.idempotency_key = key
    return error


class ServerEvent(NamedTuple):
    """A server-sent event (https://html.spec.whatwg.org/multipage/server-sent-events.html)."""

    id: str | None
    type: str
    data: str


def event_of(lines: Sequence[str]) -> ServerEvent | None:
    """Parses the lines of an event; None for one without data, such as a comment."""
    data: list[str] = []
    found: str | None = None
    kind = "message"
    for line in lines:
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "data":
            data.append(value)
        elif name == "id":
            found = value
        elif name == "event":
            kind = value
    return ServerEvent(found, kind, "\n".join(data)) if data else None
