import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { URL_LENGTH_MAX } from "../../shared/contracts/web-url.ts";
import { classifyHost, parseDestination } from "./destinations.ts";

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
    "https://./",
    "https://sho.rt/x",
    "https://SHO.RT./x",
    "http://sho.rt:8080/x",
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
    expect(parseDestination("http://nodots/", localRules)).toHaveProperty("problem");
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

/** The IANA IPv4 special-purpose registry, and multicast: first and last address of each block. */
const SPECIAL_IPV4 = `
  0.0.0.0 0.255.255.255 0.0.0.1 10.0.0.0 10.255.255.255 10.1.2.3 100.64.0.0 100.127.255.255 127.0.0.0 127.0.0.1
  127.255.255.255 169.254.0.0 169.254.169.254 169.254.255.255 172.16.0.0 172.31.255.255 192.0.0.0 192.0.0.8
  192.0.0.170 192.0.0.255 192.0.2.0 192.0.2.255 192.31.196.0 192.31.196.255 192.52.193.0 192.52.193.255
  192.88.99.0 192.88.99.1 192.88.99.255 192.168.0.0 192.168.1.1 192.168.255.255 192.175.48.0 192.175.48.255
  198.18.0.0 198.19.255.255 198.51.100.0 198.51.100.255 203.0.113.0 203.0.113.255 224.0.0.0 224.0.0.251
  233.252.0.1 239.255.255.255 240.0.0.0 255.255.255.254 255.255.255.255`;

/** Where clouds answer their machines: metadata, DNS and the platform itself, in each embedding. */
const CLOUD_IPV4 = "168.63.129.16 169.254.169.254 169.254.170.2 100.100.100.200 192.0.0.192";

const CLOUD_IPV6 = `
  fd00:ec2::254 fd20:ce::254 ::ffff:168.63.129.16 ::ffff:a83f:8110 64:ff9b::168.63.129.16 64:ff9b::a83f:8110
  ::168.63.129.16 2002:a83f:8110::1 ::ffff:100.100.100.200 64:ff9b::192.0.0.192 2002:6464:64c8::1`;

/** Neighbours of those blocks, and well-known addresses. */
const PUBLIC_IPV4 = `
  1.0.0.0 1.1.1.1 8.8.8.8 9.9.9.9 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0
  168.63.129.15 168.63.129.17 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 191.255.255.255 192.0.1.0 192.0.1.255 192.0.3.0
  192.31.195.255 192.31.197.0 192.52.192.255 192.52.194.0 192.88.98.255 192.88.100.0 192.167.255.255
  192.169.0.0 192.175.47.255 192.175.49.0 198.17.255.255 198.20.0.0 198.51.99.255 198.51.101.0 203.0.112.255
  203.0.114.0 223.255.255.255`;

/** Other spellings of private addresses, which the URL parser normalises as browsers do. */
const SPELLED_IPV4 = `
  127.1 127.0.1 0x7f.1 0x7f000001 2130706433 017700000001 0177.0.0.1 0x7F.0x0.0x0.0x1 127.0.0.1. ①②⑦.0.0.1
  168.63.33040 0xa83f8110 168.63.129.16. 127。0。0。1 0 0x0 10.1 0xa9fea9fe 2852039166 0xC0A80001 192.168.257 %31%32%37.0.0.1 １２７.0.0.1`;

/** The IANA IPv6 special-purpose registry, multicast and unallocated blocks. */
const SPECIAL_IPV6 = `
  :: ::1 ::2 ::ffff:0:0 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:a9fe:a9fe ::ffff:192.168.1.1 ::ffff:0.0.0.0
  ::127.0.0.1 ::10.0.0.1 ::8.8.8.8 ::a9fe:a9fe ::ffff:0:127.0.0.1 ::ffff:0:808:808
  64:ff9b::127.0.0.1 64:ff9b::10.0.0.1 64:ff9b::a9fe:a9fe 64:ff9b::192.168.0.1 64:ff9b::0.0.0.0
  64:ff9b::224.0.0.1 64:ff9b::203.0.113.9 64:ff9b:1:: 64:ff9b:1::a9fe:a9fe 64:ff9b:1::8.8.8.8
  64:ff9b:1:ffff:ffff:ffff:ffff:ffff 64:ff9b:2::1 100:: 100::1 100::ffff:ffff:ffff:ffff 100:0:0:1::1
  2001:: 2001::1 2001:0:53aa:64c:0:0:5601:5601 2001:0:ffff:ffff:ffff:ffff:ffff:ffff 2001:1::1 2001:1::2 2001:2::
  2001:2:0:ffff:ffff:ffff:ffff:ffff 2001:3:: 2001:3:ffff:ffff:ffff:ffff:ffff:ffff 2001:4:112::
  2001:4:112:ffff:ffff:ffff:ffff:ffff 2001:10:: 2001:1f:ffff:ffff:ffff:ffff:ffff:ffff 2001:20::
  2001:2f:ffff:ffff:ffff:ffff:ffff:ffff 2001:30:: 2001:3f:ffff:ffff:ffff:ffff:ffff:ffff
  2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff 2001:db8:: 2001:db8::1 2001:db8:ffff:ffff:ffff:ffff:ffff:ffff
  2002:: 2002:7f00:1:: 2002:a00:1::1 2002:a9fe:a9fe:: 2002:c0a8:101::1 2002:808:808::1
  2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff 2620:4f:8000:: 2620:4f:8000:ffff:ffff:ffff:ffff:ffff 3fff::
  3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff 1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 4000:: 5f00:: 5f00::1
  8000::1 fc00:: fc00::1 fd00::1 fd00:ec2::254 fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff fe00::1 fe80:: fe80::1
  febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff fec0::1 feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ff00:: ff01::1
  ff02::1 ff02::fb ff05::2 ff0e::1 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff`;

const PUBLIC_IPV6 = `
  2000:: 2000::1 2001:200:: 2001:4860:4860::8888 2001:db7:ffff:ffff:ffff:ffff:ffff:ffff 2001:db9:: 2003::
  2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff 2606:4700:4700::1111 2620:4f:7fff:ffff:ffff:ffff:ffff:ffff
  2620:4f:8001:: 2620:fe::fe 2a00:1450:4001:80b::200e 3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff 3fff:1000::
  ::ffff:8.8.8.8 ::ffff:101:101 64:ff9b::8.8.8.8 64:ff9b::101:101`;

const PRIVATE_NAMES = `
  localhost LOCALHOST localhost. a.localhost a.b.localhost localhost.localdomain printer.local PRINTER.LOCAL.
  local _http._tcp.local metadata.google.internal METADATA.GOOGLE.INTERNAL. internal api.internal
  ip-10-0-0-1.ec2.internal router.home.arpa home.arpa nas.lan lan wiki.corp corp wiki.intranet intranet
  host.private private fritz.home home web.default.svc web.default.svc.cluster.local shop.test TEST. a.invalid
  abcdefghijklmnop.onion onion name.alt 10.0.0.1.nip.io app-192-168-0-1.nip.io 0a000001.nip.io --1.sslip.io
  www.127-0-0-1.sslip.io 8.8.8.8.nip.io a.localtest.me A.LVH.ME. 127-0-0-1.traefik.me 10.0.0.1.xip.io
  localtest.me LOCALTEST.ME. lvh.me traefik.me nip.io sslip.io ｌｖｈ．ｍｅ lvh。me a.lndo.site`;

const INVALID_NAMES = `
  singlelabel com x ${"a".repeat(64)}.example ${"a".repeat(8_000)}.example ${"a.".repeat(127)}example`;

const PUBLIC_NAMES = `
  example.com EXAMPLE.com. a.b.c.example bücher.example xn--bcher-kva.example аррӏе.example local.example
  localhost.example internal.example.com mylocal.example notlocal.de home.arpa.example co.uk foo_bar.example
  xlocalhost.com notnip.io notlvh.me lvh.me.example nip.io.example test.example latest.com svc.example saltalt.com corp.com internals.com ${"a".repeat(63)}.example ${"a.".repeat(120)}example 例え.テスト`;

const words = (text: string): string[] => text.trim().split(/\s+/);

const bracketed = (text: string): string[] => words(text).map((address) => `[${address}]`);

const REJECTED = [SPECIAL_IPV4, CLOUD_IPV4, SPELLED_IPV4, PRIVATE_NAMES, INVALID_NAMES]
  .flatMap(words)
  .concat(bracketed(SPECIAL_IPV6), bracketed(CLOUD_IPV6));

const ACCEPTED = [PUBLIC_IPV4, PUBLIC_NAMES].flatMap(words).concat(bracketed(PUBLIC_IPV6));

const isAccepted = (host: string): boolean => "href" in parseDestination(`http://${host}/x`, rules);

describe("hosts of destinations", () => {
  test("in a private network, or invalid, are rejected", () => {
    expect(REJECTED.length).toBeGreaterThan(180);
    expect(REJECTED.filter(isAccepted)).toEqual([]);
  });

  test("on the public internet are accepted", () => {
    expect(ACCEPTED.length).toBeGreaterThan(70);
    expect(ACCEPTED.filter((host) => !isAccepted(host))).toEqual([]);
  });

  test("an IPv4 address has the same class when it is embedded in an IPv6 address", () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        const kind = classifyHost(address);
        for (const prefix of ["::ffff:", "64:ff9b::"]) {
          const { hostname } = new URL(`http://[${prefix}${address}]`);
          expect(classifyHost(hostname)).toBe(kind);
        }
      }),
    );
  });
});
