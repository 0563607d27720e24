"""Verifies what a receiver of webhooks gets, as Standard Webhooks describes."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from typing import Any, Mapping, TypedDict

__all__ = ["WebhookEvent", "WebhookVerificationError", "verify_webhook"]

#: How old or how early a timestamp may be, in seconds.
TOLERANCE_SECONDS = 300


class WebhookEvent(TypedDict):
    """An event. The list of types grows: ignore those that you do not know."""

    id: str
    type: str
    created_at: str
    mode: str
    data: Any
    actor: dict[str, str]


class WebhookVerificationError(Exception):
    """A request does not come from Shorthop, or not now. Respond 400 to it."""


def verify_webhook(
    body: bytes | str,
    headers: Mapping[str, str],
    secret: str,
    *,
    tolerance_seconds: float = TOLERANCE_SECONDS,
) -> WebhookEvent:
    """Verifies a delivery and returns its event. Pass the body as it was received.

    Raises ``WebhookVerificationError`` for a missing, old or wrong signature.
    """
    received = {name.lower(): value for name, value in headers.items()}
    delivery = _header(received, "webhook-id")
    timestamp = _header(received, "webhook-timestamp")
    if not re.fullmatch(r"[0-9]{1,12}", timestamp) or (
        abs(time.time() - int(timestamp)) > tolerance_seconds
    ):
        raise WebhookVerificationError("The timestamp is too far from now.")
    raw = body.encode() if isinstance(body, str) else body
    signed = f"{delivery}.{timestamp}.".encode() + raw
    right = hmac.new(_key(secret), signed, hashlib.sha256).digest()
    for signature in _header(received, "webhook-signature").split(" "):
        scheme, _, value = signature.partition(",")
        if scheme == "v1" and hmac.compare_digest(_decode(value), right):
            event: WebhookEvent = json.loads(raw)
            return event
    raise WebhookVerificationError("No signature is right.")


def _header(headers: Mapping[str, str], name: str) -> str:
    value = headers.get(name)
    if not value:
        raise WebhookVerificationError(f"The header {name} is missing.")
    return value


def _key(secret: str) -> bytes:
    key = _decode(secret.strip().removeprefix("whsec_"))
    if not key:
        raise TypeError("The secret must be the one that the webhook was created with.")
    return key


def _decode(text: str) -> bytes:
    """The bytes of Base64; none for what is not."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""
