import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { URL_LENGTH_MAX } from "../../shared/contracts/web-url.ts";
import { parseDestination } from "./destinations.ts";

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
    expect(parseDestination(text, rules)).toMatchObject({ original: text.trim(), href });
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
    "https://@evil.example/",
    "https://:@evil.example/",
    "https:\\\\@evil.example/",
    "https:@evil.example/",
    "https://good.example@evil.example/",
    "https://example.com/\u202egpj.exe",
    "https://example.com/?a=\u2066b",
    "https://exam\u200eple.com/",
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
  ])("%p is rejected with a reason", (text) => {
    expect(parseDestination(text, rules)).toEqual({
      problem: expect.stringMatching(/^The URL.*\.$/),
    });
  });

  test.each([
    ["path", `https://example.com/${"x".repeat(URL_LENGTH_MAX)}`],
    ["path of parent folders", `https://example.com/${"a/../".repeat(URL_LENGTH_MAX)}`],
    ["host", `https://${"a.".repeat(600)}example/`],
  ])("a %s that is too long is rejected with a reason", (_part, text) => {
    expect(parseDestination(text, rules)).toEqual({
      problem: expect.stringMatching(/^The URL.*\.$/),
    });
  });

  test("private destinations are allowed where the operator allows them, except the short domain itself", () => {
    expect(parseDestination("http://localhost:9999/", localRules)).toHaveProperty("href");
    expect(parseDestination("http://10.0.0.1/", localRules)).toHaveProperty("href");
    expect(parseDestination("http://localhost:8080/x", localRules)).toHaveProperty("problem");
  });

  test("a host of a million labels is rejected before it is parsed", () => {
    const start = performance.now();
    expect(parseDestination(`https://${"ü.".repeat(500_000)}de/`, rules)).toHaveProperty("problem");
    // Parsing it would take 24 s.
    expect(performance.now() - start).toBeLessThan(12_000);
  });

  test("an at sign after the host is not a user", () => {
    for (const url of ["https://example.com/@user", "https://example.com\\@evil.example/"]) {
      expect(parseDestination(url, rules)).toHaveProperty("href");
    }
  });

  test("for any text, an accepted destination is an http or https URL without a user", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.webUrl({ withQueryParameters: true })), (text) => {
        const destination = parseDestination(text, rules);
        if ("problem" in destination) return;
        const url = new URL(destination.href);
        expect(["http:", "https:"]).toContain(url.protocol);
        expect(url.username + url.password).toBe("");
      }),
    );
  });
});
