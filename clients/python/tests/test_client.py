"""What the client adds to the API: retries, keys, pages, parts of lists, streams and errors."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import time
import unittest
from datetime import datetime, timezone
from typing import Any, Callable
from unittest import mock

import httpx

from shorthop import (
    AsyncShorthop,
    Shorthop,
    ShorthopError,
    WebhookVerificationError,
    verify_webhook,
)
from shorthop._errors import parse_retry_after

Handler = Callable[[httpx.Request], httpx.Response]


def client(
    *answers: httpx.Response | Exception | Handler, **options: Any
) -> tuple[Shorthop, list[httpx.Request]]:
    """A client whose requests get these answers in turn, the last one for good."""
    seen: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        answer = answers[min(len(seen), len(answers) - 1)]
        seen.append(request)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, httpx.Response) else answer(request)

    http = httpx.Client(transport=httpx.MockTransport(handle))
    return Shorthop("https://api.example", "sk_test_1", http_client=http, **options), seen


def refused(status: int, code: str, headers: dict[str, str] | None = None) -> httpx.Response:
    error = {
        "code": code,
        "message": "No.",
        "param": "url",
        "details": [{"param": "url", "message": "No."}],
    }
    return httpx.Response(status, json={"error": error}, headers=headers)


LINK = {"id": "link_1", "short_url": "https://s.example/a"}


class Requests(unittest.TestCase):
    def test_ids_are_one_segment_of_the_path_each(self) -> None:
        for given, sent in [("a/b", "a%2Fb"), ("ä ?#", "%C3%A4%20%3F%23"), ("a..b", "a..b")]:
            shorthop, seen = client(httpx.Response(200, json=LINK))
            shorthop.links.get(given)
            self.assertEqual(seen[0].url.raw_path, f"/v1/links/{sent}".encode())
        for given in ["", ".", ".."]:
            shorthop, seen = client(httpx.Response(200, json=LINK))
            with self.assertRaises(ShorthopError) as caught:
                shorthop.links.get(given)
            self.assertEqual((caught.exception.code, seen), ("invalid_argument", []))

    def test_arguments_are_the_query_or_the_body_as_the_document_says(self) -> None:
        shorthop, seen = client(httpx.Response(201, json=LINK))
        shorthop.links.create(url="https://example.com/", title=None, include="settings")
        self.assertEqual(dict(seen[0].url.params), {"include": "settings"})
        self.assertEqual(
            json.loads(seen[0].content), {"url": "https://example.com/", "title": None}
        )
        shorthop, seen = client(httpx.Response(200, json={"data": [], "next_cursor": None}))
        shorthop.clicks.list(class_="bot", country=["DE", "AT"])
        self.assertEqual(
            seen[0].url.params.multi_items(),
            [("class", "bot"), ("country", "DE"), ("country", "AT")],
        )

    def test_a_key_may_be_the_text_of_a_file(self) -> None:
        seen: list[httpx.Request] = []

        def answer(request: httpx.Request) -> httpx.Response:
            seen.append(request)
            return httpx.Response(200, json=LINK)

        http = httpx.Client(transport=httpx.MockTransport(answer))
        Shorthop("https://api.example", " key\r\n", http_client=http).links.get("a")
        self.assertEqual(seen[0].headers["authorization"], "Bearer key")

    def test_a_url_that_is_none_is_an_invalid_argument(self) -> None:
        for url in ["api.example", "ftp://api.example", "https://[", ""]:
            with self.assertRaises(ShorthopError) as caught:
                Shorthop(url, retries_max=0).limits.get()
            self.assertEqual((url, caught.exception.code), (url, "invalid_argument"))


class Retries(unittest.TestCase):
    def setUp(self) -> None:
        self.slept: list[float] = []
        patch = mock.patch("shorthop._sync.calls.time.sleep", self.slept.append)
        patch.start()
        self.addCleanup(patch.stop)

    def test_what_can_help_is_retried_with_the_same_key_after_retry_after(self) -> None:
        busy = refused(429, "rate_limited", {"retry-after": "7"})
        shorthop, seen = client(busy, httpx.ConnectError("no"), httpx.Response(201, json=LINK))
        self.assertEqual(shorthop.links.create(url="https://example.com/"), LINK)
        keys = {request.headers["idempotency-key"] for request in seen}
        self.assertEqual((len(seen), len(keys), self.slept[0]), (3, 1, 7.0))
        self.assertTrue(0.25 <= self.slept[1] <= 1.0)

    def test_what_cannot_help_is_not_retried(self) -> None:
        for answer in [
            refused(400, "invalid_url"),
            refused(409, "alias_taken"),
            refused(500, "internal"),
            refused(429, "rate_limited", {"retry-after": "3600"}),
        ]:
            shorthop, seen = client(answer)
            with self.assertRaises(ShorthopError) as caught:
                shorthop.links.create(url="x")
            self.assertEqual((len(seen), self.slept), (1, []))
            self.assertEqual(
                (caught.exception.param, caught.exception.details),
                ("url", [{"param": "url", "message": "No."}]),
            )

    def test_the_last_error_is_raised_after_the_retries(self) -> None:
        for answer, code in [
            (httpx.ReadTimeout("late"), "timeout"),
            (httpx.ConnectError("no"), "network"),
            (refused(503, "unavailable"), "unavailable"),
        ]:
            shorthop, seen = client(answer, retries_max=2)
            with self.assertRaises(ShorthopError) as caught:
                shorthop.links.get("link_1")
            self.assertEqual((caught.exception.code, len(seen)), (code, 3))

    def test_a_response_that_is_no_json_is_an_error_of_the_client(self) -> None:
        for status in [200, 404]:
            shorthop, _ = client(httpx.Response(status, text="<html>"))
            with self.assertRaises(ShorthopError) as caught:
                shorthop.links.get("link_1")
            self.assertEqual((caught.exception.status, caught.exception.code), (status, "unknown"))

    def test_retry_after_is_seconds_or_a_date(self) -> None:
        now = datetime(2026, 1, 1, 12, 0, 0, tzinfo=timezone.utc)
        rows = [
            (None, None),
            ("5", 5.0),
            (" 5 ", 5.0),
            ("Thu, 01 Jan 2026 12:00:09 GMT", 9.0),
            ("Thu, 01 Jan 2026 11:00:00 GMT", 0.0),
            ("soon", None),
            ("-1", None),
            ("٣", None),
        ]
        for value, seconds in rows:
            self.assertEqual((value, parse_retry_after(value, now)), (value, seconds))


class Lists(unittest.TestCase):
    def test_every_entry_is_yielded_by_cursor(self) -> None:
        pages = [
            {"data": [{"id": "1"}], "next_cursor": "b"},
            {"data": [{"id": "2"}], "next_cursor": None},
        ]
        shorthop, seen = client(*[httpx.Response(200, json=page) for page in pages])
        self.assertEqual([link["id"] for link in shorthop.links.all(tag="x")], ["1", "2"])
        self.assertEqual([request.url.params["starting_after"] for request in seen], ["", "b"])
        self.assertEqual({request.url.params["limit"] for request in seen}, {"100"})

    def test_long_lists_are_sent_in_parts_and_positions_are_those_of_the_list(self) -> None:
        def answer(request: httpx.Request) -> httpx.Response:
            links = json.loads(request.content)["links"]
            return httpx.Response(
                200,
                json={
                    "data": [{"index": i} for i, _ in enumerate(links)],
                    "created": len(links),
                    "failed": 0,
                },
            )

        shorthop, seen = client(answer)
        links = [
            {"url": "https://example.com/", **({"password": "p"} if i < 12 else {})}
            for i in range(205)
        ]
        result = shorthop.links.create_many(links)  # type: ignore[arg-type]
        self.assertEqual([entry["index"] for entry in result["data"]], list(range(205)))
        self.assertEqual(
            (result["created"], [len(json.loads(each.content)["links"]) for each in seen]),
            (205, [10, 100, 95]),
        )
        self.assertEqual(len({request.headers["idempotency-key"] for request in seen}), 3)

    def test_large_links_are_sent_in_requests_of_less_than_1_mib(self) -> None:
        def answer(request: httpx.Request) -> httpx.Response:
            links = json.loads(request.content)["links"]
            data = [{"index": i} for i, _ in enumerate(links)]
            return httpx.Response(200, json={"data": data, "created": len(links), "failed": 0})

        shorthop, seen = client(answer)
        links = [{"url": "https://example.com/", "notes": "\u00fc" * 4_000}] * 100
        result = shorthop.links.create_many(links)  # type: ignore[arg-type]
        self.assertEqual(result["created"], 100)
        self.assertEqual(len(seen), 3)
        self.assertLess(max(len(request.content) for request in seen), 1024**2)

    def test_a_call_for_many_that_stops_midway_says_what_was_done(self) -> None:
        done = httpx.Response(
            200, json={"data": [{"index": i} for i in range(100)], "created": 100, "failed": 0}
        )
        shorthop, _ = client(done, refused(403, "forbidden"))
        with self.assertRaises(ShorthopError) as caught:
            shorthop.links.create_many([{"url": "https://example.com/"}] * 150)
        self.assertEqual(caught.exception.done["created"], 100)
        self.assertIsNotNone(caught.exception.idempotency_key)

    def test_a_change_of_a_tag_is_repeated_until_no_link_is_left(self) -> None:
        parts = [{"changed": 10_000, "done": False}, {"changed": 5, "done": True}]
        shorthop, seen = client(*[httpx.Response(200, json=part) for part in parts])
        self.assertEqual(shorthop.tags.update("old", name="new")["changed"], 10_005)
        self.assertEqual(
            [json.loads(each.content) for each in seen],
            [{"name": "new"}, {"name": "new", "merge": True}],
        )


class Streams(unittest.TestCase):
    def test_a_stream_goes_on_after_the_last_click(self) -> None:
        def event(number: int) -> str:
            return f': quiet\n\nid: {number}\r\nevent: click\r\ndata: {{"n": {number}}}\r\n\r\n'

        shorthop, seen = client(
            httpx.Response(200, text=event(1)), httpx.Response(200, text=event(2))
        )
        with mock.patch("shorthop._sync.calls.time.sleep"):
            clicks = shorthop.analytics.stream("link_1")
            self.assertEqual([next(clicks)["id"], next(clicks)["id"]], ["1", "2"])
        self.assertEqual([each.headers.get("last-event-id") for each in seen], [None, "1"])

    def test_an_export_that_breaks_off_is_an_error(self) -> None:
        shorthop, _ = client(httpx.Response(200, text='{"a":1}\n{"a"'))
        export = shorthop.clicks.export()
        self.assertEqual(next(export), {"a": 1})
        with self.assertRaises(ShorthopError) as caught:
            next(export)
        self.assertEqual(caught.exception.code, "network")

    def test_events_go_on_after_the_api_was_away(self) -> None:
        page = {"data": [{"id": "event_1"}], "has_more": False, "next_cursor": "c"}
        shorthop, seen = client(
            httpx.Response(200, json=page), refused(500, "internal"), httpx.Response(200, json=page)
        )
        with mock.patch("shorthop._sync.calls.time.sleep"):
            events = shorthop.events.follow()
            self.assertEqual([next(events)["id"], next(events)["id"]], ["event_1", "event_1"])
        self.assertEqual([each.url.params.get("starting_after") for each in seen], [None, "c", "c"])


class Asynchronous(unittest.TestCase):
    def test_the_asynchronous_half_does_the_same(self) -> None:
        pages = iter(
            [
                {"data": [{"id": "1"}], "next_cursor": "b"},
                {"data": [{"id": "2"}], "next_cursor": None},
            ]
        )
        transport = httpx.MockTransport(lambda _: httpx.Response(200, json=next(pages)))

        async def read() -> list[str]:
            async with AsyncShorthop(
                "https://api.example", http_client=httpx.AsyncClient(transport=transport)
            ) as shorthop:
                return [link["id"] async for link in shorthop.links.all()]

        self.assertEqual(asyncio.run(read()), ["1", "2"])


class Webhooks(unittest.TestCase):
    SECRET = "whsec_" + base64.b64encode(b"k" * 24).decode()

    def headers(self, body: bytes, timestamp: str) -> dict[str, str]:
        signed = b"msg_1." + timestamp.encode() + b"." + body
        value = base64.b64encode(hmac.new(b"k" * 24, signed, hashlib.sha256).digest()).decode()
        return {
            "Webhook-Id": "msg_1",
            "Webhook-Timestamp": timestamp,
            "Webhook-Signature": f"v2,x v1,{value}",
        }

    def test_a_right_signature_returns_the_event(self) -> None:
        body = b'{"id": "event_1"}'
        for secret in [self.SECRET, f"{self.SECRET}\n"]:
            headers = self.headers(body, str(int(time.time())))
            self.assertEqual(verify_webhook(body, headers, secret)["id"], "event_1")

    def test_anything_else_is_refused(self) -> None:
        body, now = b"{}", int(time.time())
        right = self.headers(body, str(now))
        rows = [
            (b"{ }", right),
            (body, self.headers(body, str(now - 301))),
            (body, self.headers(body, str(now + 301))),
            (body, self.headers(body, "9" * 5_000)),
            (body, self.headers(body, "soon")),
            (body, {**right, "Webhook-Signature": "v1,!"}),
            (body, {**right, "Webhook-Signature": "v1,"}),
            (body, {}),
        ]
        for sent, headers in rows:
            with self.assertRaises(WebhookVerificationError):
                verify_webhook(sent, headers, self.SECRET)


if __name__ == "__main__":
    unittest.main()
