/** Goal: visitors report a link by a form that only its own page can post, a few times an hour. */
import { beforeEach, expect, test } from "bun:test";

import { errorCodeOf, FakeApi } from "../../test/harness/fake-api.ts";

const URL_OF_LINK = "https://sho.rt/abc";

let reported: [url: string, reason: string][];
let api: FakeApi;
beforeEach(() => {
  reported = [];
  api = new FakeApi({
    linkReports: {
      async report(url, reason) {
        reported.push([url, reason]);
        return url === URL_OF_LINK;
      },
    },
  });
});

let visitors = 0;
const newAddress = (): string => `10.7.${++visitors >> 8}.${visitors & 255}`;

const post = (fields: Record<string, string>, headers: Record<string, string> = {}, to = api) =>
  to.send("/report-link", {
    method: "POST",
    body: new URLSearchParams(fields).toString(),
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      origin: "https://api.test",
      "sec-fetch-site": "same-origin",
      "x-forwarded-for": newAddress(),
      ...headers,
    },
  });

test("the page asks for a reason, in the reader's language, and escapes the address", async () => {
  const url = encodeURIComponent(`${URL_OF_LINK}"><script>`);
  const { status, text, headers } = await api.send(`/report-link?url=${url}`, {
    headers: { "accept-language": "de" },
  });
  expect([status, reported]).toEqual([200, []]);
  expect(text).toContain('<html lang="de"');
  expect(text).toContain('<form method="post"');
  expect(text).not.toContain("<script>");
  expect(headers.get("content-security-policy")).toContain("form-action 'self'");
});

test("a report reaches the operator as one line of bounded text", async () => {
  const reason = `it is\r\n\u001b[31mphishing ${"x".repeat(1_000)}`;
  const { status, text } = await post({ url: URL_OF_LINK, reason });
  expect(status).toBe(200);
  expect(text).toContain('role="status"');
  expect(text).not.toContain("<form");
  expect(reported[0]?.[1]).toMatch(/^it is \[31mphishing x+$/);
  expect(reported[0]?.[1].length).toBeLessThanOrEqual(500);
  expect((await post({ url: "https://sho.rt/none", reason: "r" })).status).toBe(404);
});

test("nothing is reported without a reason, nor by another page or a program", async () => {
  expect((await post({ url: URL_OF_LINK, reason: " \n" })).status).toBe(400);
  const fields = { url: URL_OF_LINK, reason: "r" };
  for (const headers of [
    { origin: "https://evil.example" },
    { origin: "null" },
    { "sec-fetch-site": "cross-site" },
  ])
    expect((await post(fields, headers)).status).toBe(403);
  expect((await post({ ...fields, reason: "x".repeat(50_000) })).status).toBe(413);
  expect(reported).toEqual([]);
});

test.each([
  ["22021", 400, "invalid_request"],
  ["22P05", 400, "invalid_request"],
  ["42601", 500, "internal"],
])("PostgreSQL's %s, as for a text with NUL, is %i %s", async (code, status, reason) => {
  const broken = new FakeApi({
    linkReports: {
      report: () => Promise.reject(Object.assign(new Error("rejected"), { code })),
    },
  });
  const response = await post({ url: "https://a\0b/abc", reason: "r" }, {}, broken);
  expect([response.status, errorCodeOf(response)]).toEqual([status, reason]);
});

test("a network reports a few times an hour", async () => {
  const address = { "x-forwarded-for": newAddress() };
  const statuses: number[] = [];
  for (let i = 0; i < 12; i++)
    statuses.push((await post({ url: URL_OF_LINK, reason: "r" }, address)).status);
  expect(statuses).toEqual([...Array<number>(10).fill(200), 429, 429]);
  expect((await post({ url: URL_OF_LINK, reason: "r" })).status).toBe(200);
});
