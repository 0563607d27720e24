/** Goal: a mail server's URL is read as it is meant, and a password is sent only under TLS. */
import { expect, test } from "bun:test";

import { parseMailServer } from "./settings.ts";

test.each([
  [
    "smtp://mail.example.com",
    { host: "mail.example.com", port: 587, secure: false, requireTLS: false },
  ],
  ["smtps://mail.example.com", { port: 465, secure: true }],
  ["smtp://127.0.0.1:1025", { port: 1025, requireTLS: false }],
  [
    "smtp://user%40example.com:p%3Aw@mail.example.com:25",
    { port: 25, requireTLS: true, auth: { user: "user@example.com", pass: "p:w" } },
  ],
  ["smtp://user:pw@localhost", { requireTLS: false, auth: { user: "user", pass: "pw" } }],
  ["smtp://user:pw@[::1]", { host: "::1", requireTLS: false }],
])("%s", (url, server) => {
  expect(parseMailServer(url)).toMatchObject(server);
});

test.each([
  "",
  "mail.example.com",
  "http://mail.example.com",
  "smtp://",
  "smtp://a/path",
  "smtp://a?x=1",
  "smtp://a:99999",
  "smtp://%zz@a",
])("%p is none", (url) => {
  expect(parseMailServer(url)).toBeUndefined();
});
