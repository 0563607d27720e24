/** Goal: only a recipient's own request unsubscribes, by a token that nobody else can write. */
import { beforeEach, expect, test } from "bun:test";

import fc from "fast-check";

import { newUuid } from "../../shared/ids.ts";
import { FakeApi } from "../../test/harness/fake-api.ts";
import { UnsubscribeTokens } from "./mails.ts";

let unsubscribed: string[];
let api: FakeApi;
beforeEach(() => {
  unsubscribed = [];
  api = new FakeApi({
    unsubscriber: {
      isValid: (token) => token === "valid",
      async unsubscribe(token) {
        unsubscribed.push(token);
        return token === "valid";
      },
    },
  });
});

test("opening the address only asks, in the reader's language", async () => {
  const { status, text, headers } = await api.send("/unsubscribe/valid", {
    headers: { "accept-language": "de" },
  });
  expect([status, unsubscribed]).toEqual([200, []]);
  expect(text).toContain('<html lang="de"');
  expect(text).toContain('<form method="post">');
  expect(headers.get("content-security-policy")).toContain("form-action 'self'");
  expect(headers.get("vary")).toContain("Accept-Language");
});

test("posting unsubscribes, as a mail program does it too", async () => {
  const { status, text } = await api.send("/unsubscribe/valid", {
    method: "POST",
    body: "List-Unsubscribe=One-Click",
    headers: { "content-type": "application/x-www-form-urlencoded" },
  });
  expect([status, unsubscribed]).toEqual([200, ["valid"]]);
  expect(text).not.toContain("<form");
});

test("another token is found nowhere", async () => {
  for (const method of ["GET", "POST"])
    expect((await api.send("/unsubscribe/other", { method })).status).toBe(404);
});

test("a token names its recipient, and a changed one or another secret's names nobody", () => {
  const tokens = new UnsubscribeTokens("one secret with enough characters");
  const others = new UnsubscribeTokens("another secret with enough characters");
  const recipient = { reportId: newUuid(), userId: newUuid() };
  const token = tokens.write(recipient);
  expect(tokens.read(token)).toEqual(recipient);
  expect(others.read(token)).toBeUndefined();
  fc.assert(
    fc.property(fc.nat(63), fc.constantFrom("A", "B", "x", "0", "-", "_"), (at, character) => {
      const changed = token.slice(0, at) + character + token.slice(at + 1);
      if (changed !== token) expect(tokens.read(changed)).toBeUndefined();
    }),
  );
  for (const text of ["", token.slice(1), `${token}A`, "ä".repeat(64)])
    expect(tokens.read(text)).toBeUndefined();
});
