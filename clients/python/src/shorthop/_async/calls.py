"""Sends requests, and the kinds of call that the resources have in common."""

from __future__ import annotations

import asyncio
import json
import uuid
from typing import Any, AsyncIterator, Mapping, Sequence

import httpx

from .._errors import ShorthopError, error_of, json_of
from .._requests import (
    Operation,
    Request,
    event_of,
    is_transient,
    merge,
    midway,
    request_of,
    retry_delay,
    split,
)

_Ids = Sequence[str]
_Arguments = Mapping[str, Any]

#: The longest time that a request waits for an event, in seconds; half a timeout at most.
_WAIT_MAX = 20

#: The longest delay before a feed or a stream is opened again, in seconds.
_RECONNECT_MAX = 10.0

#: The most characters of a line of a stream; a click has some hundreds.
_LINE_MAX = 1_000_000


class AsyncCalls:
    """Sends requests with the options of a client."""

    def __init__(
        self,
        base_url: str,
        api_key: str | None,
        *,
        retries_max: int,
        retry_delay_max: float,
        timeout: float,
        http_client: httpx.AsyncClient | None,
    ) -> None:
        self._base_url = base_url.rstrip("/")
        # A key that is read from a file ends with a line's end, which no header may have.
        self._headers = {} if api_key is None else {"authorization": f"Bearer {api_key.strip()}"}
        self._retries_max = retries_max
        self._retry_delay_max = retry_delay_max
        self._timeout = timeout
        self._http = httpx.AsyncClient() if http_client is None else http_client
        self._owns_http = http_client is None

    async def close(self) -> None:
        """Closes the connections, unless they are those of a client that was passed in."""
        if self._owns_http:
            await self._http.aclose()

    async def send(self, request: Request, *, stream: bool = False) -> httpx.Response:
        """Returns a successful response, retried as the options allow; a stream is not read."""
        retries = 0
        while True:
            try:
                return await self._attempt(request, stream)
            except ShorthopError as error:
                delay = retry_delay(error, retries)
                if delay is None or retries >= self._retries_max or delay > self._retry_delay_max:
                    raise
                await asyncio.sleep(delay)
                retries += 1

    async def _attempt(self, request: Request, stream: bool) -> httpx.Response:
        content = json.dumps(request.body).encode() if request.has_body else None
        headers = {**self._headers, **request.headers}
        if request.has_body:
            headers["content-type"] = "application/json"
        try:
            sent = self._http.build_request(
                request.method,
                self._base_url + request.path,
                params=request.query,
                content=content,
                headers=headers,
                # A stream may be quiet for as long as nobody clicks.
                timeout=httpx.Timeout(self._timeout, read=None if stream else self._timeout),
            )
            response = await self._http.send(sent, stream=True)
            if response.is_success and stream:
                return response
            try:
                await response.aread()
            finally:
                await response.aclose()
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            message = f"base_url must be an absolute URL, not {self._base_url!r}."
            raise ShorthopError(0, "invalid_argument", message) from error
        except httpx.TimeoutException as error:
            message = "The API did not respond in time."
            raise ShorthopError(0, "timeout", message) from error
        except httpx.HTTPError as error:
            message = f"The API cannot be reached: {error}"
            raise ShorthopError(0, "network", message) from error
        if not response.is_success:
            raise error_of(response)
        return response

    async def json(
        self,
        operation: Operation,
        ids: _Ids,
        arguments: _Arguments,
        headers: Mapping[str, str | None] | None = None,
    ) -> Any:
        return json_of(await self.send(request_of(operation, ids, arguments, headers)))

    async def create(
        self, operation: Operation, ids: _Ids, arguments: _Arguments, key: str | None
    ) -> Any:
        """Sends a request that creates something, which a retry must not create twice."""
        headers = {"idempotency-key": key or str(uuid.uuid4())}
        return await self.json(operation, ids, arguments, headers)

    async def change(
        self, operation: Operation, ids: _Ids, arguments: _Arguments, if_match: str | None
    ) -> Any:
        return await self.json(operation, ids, arguments, {"if-match": if_match})

    async def shared(
        self, operation: Operation, ids: _Ids, arguments: _Arguments, access: str | None
    ) -> Any:
        return await self.json(operation, ids, arguments, {"x-share-access": access})

    async def csv(self, operation: Operation, ids: _Ids, arguments: _Arguments) -> str:
        headers = {"accept": "text/csv"}
        return (await self.send(request_of(operation, ids, arguments, headers))).text

    async def content(self, operation: Operation, ids: _Ids, arguments: _Arguments) -> bytes:
        return (await self.send(request_of(operation, ids, arguments))).content

    async def with_etag(
        self, operation: Operation, ids: _Ids, arguments: _Arguments
    ) -> tuple[Any, str]:
        response = await self.send(request_of(operation, ids, arguments))
        return json_of(response), response.headers.get("etag", "")

    async def pages(
        self, operation: Operation, ids: _Ids, arguments: _Arguments
    ) -> AsyncIterator[Any]:
        """Every entry of a list by cursor, so that none is skipped or repeated meanwhile."""
        # Lists that have numbered pages as well go by cursor when one is sent, if an empty one.
        cursor: str | None = "" if "page" in operation.query else None
        while True:
            position = {} if cursor is None else {"starting_after": cursor}
            query: dict[str, Any] = {"limit": operation.limit_max, **arguments, **position}
            page = await self.json(operation, ids, query)
            for entry in page["data"]:
                yield entry
            cursor = page.get("next_cursor")
            if cursor is None:
                return

    async def many(
        self,
        operation: Operation,
        name: str,
        items: Sequence[Any],
        arguments: _Arguments,
        key: str | None = None,
    ) -> Any:
        """Sends a list in parts, one after another; positions are those in the whole list."""
        chunks = split(items)
        creates = operation.path == "/v1/links/bulk" and operation.method == "POST"
        key = (key or str(uuid.uuid4())) if creates else None
        whole: Any = None
        sent = 0
        for i, chunk in enumerate(chunks):
            own = key if key is None or len(chunks) == 1 else f"{key}-{i}"
            body = {**arguments, name: chunk}
            try:
                part = await self.json(operation, (), body, {"idempotency-key": own})
            except ShorthopError as error:
                raise error if whole is None else midway(error, whole, key)
            if whole is None:
                whole = part
            else:
                merge(whole, part, sent)
            sent += len(chunk)
        return whole

    async def repeat(
        self,
        operation: Operation,
        ids: _Ids,
        arguments: _Arguments,
        then: _Arguments | None = None,
    ) -> Any:
        """Repeats a request until the API has changed every link; ``then`` with all but the first."""
        changed = 0
        while True:
            response = await self.json(operation, ids, arguments)
            changed += response["changed"]
            if response["done"]:
                return {**response, "changed": changed}
            arguments = {**arguments, **(then or {})}

    async def lines(
        self, operation: Operation, ids: _Ids, arguments: _Arguments
    ) -> AsyncIterator[Any]:
        """Every line of a body of JSON, as it arrives."""
        response = await self.send(request_of(operation, ids, arguments), stream=True)
        try:
            async for line in _complete_lines(response):
                yield json.loads(line)
        except (httpx.HTTPError, ValueError) as error:
            raise ShorthopError(0, "network", "The export broke off.") from error
        finally:
            await response.aclose()

    async def clicks(
        self, operation: Operation, ids: _Ids, arguments: _Arguments, last_event_id: str | None
    ) -> AsyncIterator[Any]:
        """Clicks as they happen; connects again after the last one when the connection ends."""
        failures = 0
        while True:
            headers = {"last-event-id": last_event_id}
            response = await self.send(request_of(operation, ids, arguments, headers), stream=True)
            lines: list[str] = []
            try:
                async for line in _complete_lines(response):
                    if line != "":
                        lines.append(line)
                        continue
                    event = event_of(lines)
                    lines = []
                    if event is None or event.type != "click" or event.id is None:
                        continue
                    last_event_id = event.id
                    failures = 0
                    yield {**json.loads(event.data), "id": event.id}
            except (httpx.HTTPError, ValueError):
                # The connection broke off: what was missed comes after the last click's id.
                pass
            finally:
                await response.aclose()
            lost = ShorthopError(0, "network", "The stream has ended.")
            await asyncio.sleep(min(retry_delay(lost, failures) or 0, _RECONNECT_MAX))
            failures += 1

    async def follow(
        self, operation: Operation, ids: _Ids, arguments: _Arguments
    ) -> AsyncIterator[Any]:
        """Every event as it happens, without end, also after the API was away."""
        wait = min(_WAIT_MAX, int(self._timeout / 2))
        position: dict[str, Any] = dict(arguments)
        failures = 0
        while True:
            try:
                query = {**position, "limit": operation.limit_max, "wait": wait}
                page = await self.json(operation, ids, query)
            except ShorthopError as error:
                if not is_transient(error):
                    raise
                await asyncio.sleep(min(retry_delay(error, failures) or 0, _RECONNECT_MAX))
                failures += 1
                continue
            failures = 0
            for event in page["data"]:
                yield event
            position["starting_after"] = page["next_cursor"]


async def _complete_lines(response: httpx.Response) -> AsyncIterator[str]:
    """Lines without their ends; raises ``ValueError`` for one that is too long or has no end."""
    rest = ""
    async for text in response.aiter_text():
        *lines, rest = (rest + text).replace("\r\n", "\n").split("\n")
        for line in lines:
            yield line
        if len(rest) > _LINE_MAX:
            raise ValueError("A line is too long.")
    if rest != "":
        raise ValueError("The last line is not complete.")
