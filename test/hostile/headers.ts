import { withHeader } from "./request-edits.ts";
/** The generator of hostile headers. */
import { createValidRequest, type Draft, type HttpRequest } from "./requests.ts";

/** Headers that some process or library parses. */
export const READ_HEADERS: readonly [string, ...string[]] = [
  "Accept-Encoding",
  "Accept-Language",
  "Authorization",
  "Content-Encoding",
  "Content-Length",
  "Content-Type",
  "Cookie",
  "Expect",
  "Forwarded",
  "Host",
  "Idempotency-Key",
  "If-Match",
  "If-None-Match",
  "Last-Event-ID",
  "Origin",
  "Range",
  "Referer",
  "Sec-Fetch-Dest",
  "Sec-Fetch-Site",
  "Sec-Purpose",
  "Transfer-Encoding",
  "Upgrade",
  "User-Agent",
  "X-Forwarded-For",
  "X-Forwarded-Host",
  "X-HTTP-Method-Override",
  "X-Moz",
  "X-Purpose",
  "X-Request-Id",
];

/** Many, repeated, long and malformed headers. */
export function headers(draft: Draft): HttpRequest {
  const { random } = draft;
  const request = createValidRequest(draft);
  const name = random.pick(READ_HEADERS);
  const count = random.pick([2, 50, 101, 1_000, 5_000]);
  const addHeaders = (create: (i: number) => [string, string]): HttpRequest => {
    for (let i = 0; i < count; i++) request.headers.push(create(i));
    return request;
  };
  return random.pick([
    () => addHeaders((i) => [`X-${i}`, "1"]),
    () => addHeaders(() => [name, "1"]),
    () =>
      withHeader(request, "Cookie", Array.from({ length: count }, (_, i) => `c${i}=1`).join("; ")),
    () =>
      withHeader(
        request,
        "X-Forwarded-For",
        Array.from({ length: count }, (_, i) => `10.0.${i & 255}.1`).join(),
      ),
    () =>
      withHeader(
        request,
        "X-Forwarded-For",
        random.pick([
          "::1",
          "[::]:80",
          "1.2.3.4.5",
          "0x7f.1",
          "unknown",
          "fe80::1%eth0",
          "::ffff:1.2.3.4",
        ]),
      ),
    () =>
      withHeader(
        request,
        "Host",
        random.pick([
          `${"a.".repeat(count)}b`,
          "xn--80ak6aa92e.example",
          "[::1",
          "[::1]:x",
          "localhost:99999",
          "a b",
          "",
          "localhost:80:80",
          "a@b",
          "sho.rt/x?",
          "LOCALHOST.",
          "*",
          "é",
        ]),
      ),
    () =>
      withHeader(
        request,
        "Idempotency-Key",
        random.pick(["", " ", "k".repeat(256), "k".repeat(8_000), "same", "\xe9", "a,b"]),
      ),
    () =>
      withHeader(
        request,
        "Authorization",
        random.pick([
          "Bearer",
          "Bearer ",
          `Bearer ${"a".repeat(8_000)}`,
          "Basic Og==",
          `Bearer sk_live_${"a".repeat(61)}`,
          "bearer x",
          "Bearer a b",
          "\xff",
        ]),
      ),
    () =>
      withHeader(
        request,
        "Content-Type",
        random.pick([
          "multipart/form-data; boundary=",
          "multipart/form-data; boundary=x",
          "application/x-www-form-urlencoded",
          "text/csv",
          "application/json; charset=",
          "application/json;;;;",
          `application/json${";a=b".repeat(2_000)}`,
          "*/*",
        ]),
      ),
    () =>
      withHeader(
        request,
        "Content-Encoding",
        random.pick(["gzip", "br", "deflate", "gzip, gzip", "identity", "x"]),
      ),
    () => withHeader(request, "Expect", random.pick(["100-continue", "x", "100-continue, x"])),
    () =>
      withHeader(
        request,
        "Connection",
        random.pick(["close", "upgrade", "keep-alive, close", "host", "transfer-encoding"]),
      ),
    () =>
      withHeader(
        request,
        name,
        random.pick(["", ",", "*", '"', "a\tb", "-1", "9".repeat(400), "\x7f"]),
      ),
    () =>
      withHeader(
        request,
        random.pick(["", " a", "a b", "a:", "\x00", "é", "a\r\n b", "x".repeat(9_000)]),
        "1",
      ),
    () =>
      withHeader(
        request,
        "Last-Event-ID",
        random.pick(["-1", "0", "9".repeat(50), "a:b:c", "::", "\xff"]),
      ),
  ])();
}
