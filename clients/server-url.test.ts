/** Goal: no key travels in plain text through networks of others, and private ones go on working. */
import { expect, test } from "bun:test";

import { Settings } from "./cli/src/settings.ts";
import { isReadByOthers } from "./server-url.ts";

test.each([
  "http://links.example.com",
  "HTTP://links.example.com:3000/",
  "http://links.example.com.",
  "http://localhost.example.com",
  "http://evil-local.example",
  "http://10.example.com",
  "http://10.0.0.1.example.com",
  "http://8.8.8.8",
  "http://172.32.0.1",
  "http://192.169.0.1",
  "http://[2001:db8::1]",
  "http://[::2]",
  "http://localhost@links.example.com",
])("others can read what is sent to %s", (url) => {
  expect(isReadByOthers(url)).toBe(true);
});

test.each([
  "https://links.example.com",
  "http://localhost:3000",
  "http://api.localhost",
  "http://127.0.0.1:3000",
  "http://0x7f.1",
  "http://10.1.2.3",
  "http://172.16.0.1",
  "http://172.31.255.1",
  "http://192.168.1.10:8080/",
  "http://169.254.1.1",
  "http://[::1]:3000",
  "http://[fd12:3456::1]",
  "http://[fe80::1]",
  "http://shorthop",
  "http://nas.local",
  "http://links.fritz.home.arpa.",
  "no URL",
])("nobody else reads what is sent to %s", (url) => {
  expect(isReadByOthers(url)).toBe(false);
});

test("the command line has no client for a server where others could read the key", () => {
  const env = { SHORTHOP_URL: "http://links.example.com", SHORTHOP_KEY: "sk_live_x" };
  expect(() => new Settings(env).client()).toThrow("plain text");
  expect(() => new Settings(env).url()).toThrow("plain text");
  expect(new Settings({ ...env, SHORTHOP_ALLOW_HTTP: "1" }).client()).toBeDefined();
  expect(new Settings({ ...env, SHORTHOP_URL: "http://nas.local" }).client()).toBeDefined();
});
