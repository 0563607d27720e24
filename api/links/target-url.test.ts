import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { URL_LENGTH_MAX } from "../../shared/contracts/web-url.ts";
import { parseTarget } from "./target-url.ts";

const rules = {
  allowPrivate: false,
  shortUrl: new URL("https://sho.rt"),
  ownHosts: new Set(["sho.rt"]),
};
const localRules = {
  allowPrivate: true,
  shortUrl: new URL("http://localhost:8080"),
  ownHosts: new Set(["localhost"]),
};

describe("destinations", () => {
  test.each([
    ["https://example.com", "https://example.com/"],
    [" http://EXAMPLE.com/a?b=c#d ", "http://example.com/a?b=c#d"],
    ["https://bücher.example/ä", "https://xn--bcher-kva.example/%C3%A4"],
    ["http://8.8.8.8/", "http://8.8.8.8/"],
    ["http://[2001:4860:4860::8888]/", "http://[2001:4860:4860::8888]/"],
    ["https://example.com:8443/", "https://example.com:8443/"],
    ["https://notsho.rt/", "https://notsho.rt/"],
  ])("%p is allowed", (text, href) => {
    expect(parseTarget(text, rules)).toMatchObject({ original: text.trim(), href });
  });

  test.each([
    "",
    "nonsense",
    "/path",
    "//example.com",
    "javascript:alert(1)",
    "data:text/html,x",
    "ftp://example.com/",
    "https://user@example.com/",
    "https://user:pass@example.com/",
    "https://example.com/a\nb",
    "https://exa\tmple.com/",
    "https://example.com/\u0000",
    "https://singlelabel/",
    "https://./",
    "https://sho.rt/x",
    "https://SHO.RT./x",
    "http://sho.rt:8080/x",
    "http://localhost/",
    "http://a.localhost/",
    "http://127.0.0.1/",
    "http://2130706433/",
    "http://0x7f.1/",
    "http://10.1.2.3/",
    "http://192.168.0.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[fd00::1]/",
    `https://example.com/${"x".repeat(URL_LENGTH_MAX)}`,
  ])("%p is refused with a reason", (text) => {
    expect(parseTarget(text, rules)).toEqual({ problem: expect.stringMatching(/^The URL.*\.$/) });
  });

  test("private targets are for operators who allow them, but never the short domain itself", () => {
    expect(parseTarget("http://localhost:9999/", localRules)).toHaveProperty("href");
    expect(parseTarget("http://10.0.0.1/", localRules)).toHaveProperty("href");
    expect(parseTarget("http://localhost:8080/x", localRules)).toHaveProperty("problem");
  });

  test("whatever comes in, what goes out is an http or https URL without a user", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.webUrl({ withQueryParameters: true })), (text) => {
        const target = parseTarget(text, rules);
        if ("problem" in target) return;
        const url = new URL(target.href);
        expect(["http:", "https:"]).toContain(url.protocol);
        expect(url.username + url.password).toBe("");
      }),
    );
  });
});
