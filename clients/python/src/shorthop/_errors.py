"""The one error of the client."""

from __future__ import annotations

import math
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any, TypedDict

import httpx


class ErrorDetail(TypedDict):
    """One of several problems of a request: the field or parameter, and what it must be."""

    param: str
    message: str


class ShorthopError(Exception):
    """Why a call failed. Every function of the client raises this error and no other.

    ``code`` is one of the API, such as ``alias_taken``, or of the client, for a call without a
    response: ``network``, ``timeout``, ``invalid_argument``; ``unknown`` for a response that has
    none. ``status`` is the HTTP status, and 0 without a response.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        retry_after_seconds: float | None = None,
        request_id: str | None = None,
        param: str | None = None,
        details: list[ErrorDetail] | None = None,
        doc_url: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.retry_after_seconds = retry_after_seconds
        self.request_id = request_id
        self.param = param
        self.details = details
        self.doc_url = doc_url
        #: Of a call for many that stopped midway: its result so far.
        self.done: Any = None
        #: Of ``links.create_many`` that stopped midway: call it again with this key and all links.
        self.idempotency_key: str | None = None


def error_of(response: httpx.Response) -> ShorthopError:
    """The error of a response that has been read and has no success."""
    try:
        body = response.json()
    except ValueError:
        body = None
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        error = {}
    details = error.get("details")
    return ShorthopError(
        response.status_code,
        _text(error, "code") or "unknown",
        _text(error, "message") or f"The API responded with status {response.status_code}.",
        retry_after_seconds=parse_retry_after(
            response.headers.get("retry-after"), datetime.now(timezone.utc)
        ),
        request_id=response.headers.get("x-request-id"),
        param=_text(error, "param"),
        details=[_detail(each) for each in details] if isinstance(details, list) else None,
        doc_url=_text(error, "doc_url"),
    )


def json_of(response: httpx.Response) -> Any:
    """The body of a successful response; raises ``unknown`` for one that is no JSON."""
    try:
        return response.json()
    except ValueError as error:
        message = "The response is no JSON: is base_url that of the API?"
        raise ShorthopError(response.status_code, "unknown", message) from error


def parse_retry_after(value: str | None, now: datetime) -> float | None:
    """Parses seconds or a date (RFC 9110 §10.2.3) into seconds from ``now``; None for others."""
    if value is None:
        return None
    if value.strip().isascii() and value.strip().isdigit():
        return float(value)
    try:
        date = parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    # A date without a zone is one of UTC.
    date = date if date.tzinfo else date.replace(tzinfo=timezone.utc)
    return float(max(0, math.ceil((date - now).total_seconds())))


def _text(value: Any, name: str) -> str | None:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, str) else None


def _detail(value: Any) -> ErrorDetail:
    return {"param": _text(value, "param") or "", "message": _text(value, "message") or ""}
