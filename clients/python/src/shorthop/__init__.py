"""A client for the Shorthop API: short links and their click analytics."""

from . import models
from ._async.client import AsyncShorthop
from ._errors import ErrorDetail, ShorthopError
from ._sync.client import Shorthop
from .webhooks import WebhookEvent, WebhookVerificationError, verify_webhook

__all__ = [
    "AsyncShorthop",
    "ErrorDetail",
    "Shorthop",
    "ShorthopError",
    "WebhookEvent",
    "WebhookVerificationError",
    "models",
    "verify_webhook",
]
