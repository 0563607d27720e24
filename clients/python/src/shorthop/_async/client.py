"""The API's operations as functions, which raise ``ShorthopError``."""

from __future__ import annotations

from types import TracebackType
from typing import Type

import httpx

from .calls import AsyncCalls
from .resources import AsyncResources


class AsyncShorthop(AsyncResources):
    """A client of the Shorthop API.

    ``timeout`` and ``retry_delay_max`` are seconds, of one attempt and of the longest delay before
    a retry: a longer ``Retry-After`` fails the call at once. Requests that create something carry
    an ``Idempotency-Key``, so a retry never creates a second one.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        *,
        retries_max: int = 3,
        retry_delay_max: float = 30.0,
        timeout: float = 30.0,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        self._calls = AsyncCalls(
            base_url,
            api_key,
            retries_max=retries_max,
            retry_delay_max=retry_delay_max,
            timeout=timeout,
            http_client=http_client,
        )
        super().__init__(self._calls)

    async def close(self) -> None:
        """Closes the connections of the client."""
        await self._calls.close()

    async def __aenter__(self) -> AsyncShorthop:
        return self

    async def __aexit__(
        self,
        kind: Type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
