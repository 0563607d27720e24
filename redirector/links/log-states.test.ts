/**
 * Goal: whatever a state of the links log contains, it is applied whole or not at all, nothing
 * throws, and the log goes on. Mutations are random.
 */
import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import {
  type ActiveLink,
  decodeLinkKey,
  decodeLinkRecord,
  type LinkRecord,
} from "../../shared/contracts/link-record.ts";
import { domainNotice, isNotice, takedownNotice } from "../../shared/contracts/notices.ts";
import type { RedirectSettings } from "../../shared/contracts/redirect-settings.ts";
import { keyOf, type ShortLink, shortLinkOfKey } from "../../shared/contracts/short-link.ts";
import { limitSubject } from "../../shared/contracts/streams.ts";
import { encodeRules } from "../../shared/decision/encoded-rules.ts";
import type { RequestFacts } from "../../shared/decision/facts.ts";
import { Targets } from "../../shared/decision/targets.ts";
import { ID_BYTES, newUuid, readUuid, type Uuid, writeUuid } from "../../shared/ids.ts";
import { decodeStoredRecord, encodeStoredRecord } from "../../shared/links-store/schema.ts";
import { activeLink } from "../../test/harness/links-log.ts";
import { casesOf } from "../../test/harness/property-runs.ts";
import { DomainSettingsCache } from "../cache/domain-settings.ts";
import { LinkCache } from "../cache/link-cache.ts";
import { Takedowns } from "../cache/takedowns.ts";
import { creationTimeOf, previewPage } from "../pages/about-page.ts";
import { ErrorPages } from "../pages/error-pages.ts";
import { forwardPath, forwardQuery } from "../redirect/forwarding.ts";

const MUTATIONS = casesOf(10_000);

/** It takes some seconds. */
const TIMEOUT_MS = 120_000;

const HASH = "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaGhhc2g";
const DOMAIN = "go.example.com";

const plain: ActiveLink = { ...activeLink("a", 10), destination: "https://example.com/a?b=c" };

const decided: ActiveLink = {
  ...plain,
  domain: DOMAIN,
  expires_at: 1_900_000_000_000,
  password_hash: HASH,
  forward_query: true,
  host_changed_at: 1_700_000_000_000,
  utm: "utm_source=letter",
  extras: {
    disabled: true,
    starts_at: 1_600_000_000_000,
    expired_url: "https://example.com/over",
    rules: [
      {
        id: newUuid(),
        url: "https://example.com/rule",
        conditions: [
          { type: "country", in: ["DE", "AT"] },
          { type: "os", in: ["iOS"], not: true },
          { type: "language", in: ["de"] },
          { type: "ip", in: ["203.0.113.0/24", "2001:db8::/32"] },
          { type: "query", name: "q", in: ["1"] },
          { type: "time", from: "2030-01-01T00:00:00Z" },
          {
            type: "schedule",
            timezone: "Europe/Berlin",
            days: [1, 2],
            from: "09:00",
            to: "24:00",
          },
        ],
      },
    ],
    split: {
      key: 7,
      arms: [{ id: newUuid(), url: "https://example.com/arm", weight: 30 }],
      until: 1_900_000_000_000,
    },
    preview: { title: "Card", description: "Text", image: "https://example.com/card.png" },
    forward_path: "append",
    limit: { id: newUuid(), max: 5, before: 1, stored: 2, humans: true },
    confirm: true,
  },
};

const MESSAGES: readonly object[] = [
  plain,
  decided,
  { ...plain, extras: { expired_url: "https://example.com/over" } },
  { state: "deleted", version: 10, domain: "", alias: "a" },
  takedownNotice({ accounts: [newUuid()], hosts: ["example.org"] }),
  domainNotice(DOMAIN, {
    root_url: "https://example.com/",
    not_found_url: "https://example.com/no",
    expired_url: "https://example.com/over",
    fold: "all",
    assetlinks: [{ relation: ["a"] }],
  }),
];

/** What a member becomes; undefined removes it. */
const VALUES: readonly unknown[] = [
  undefined,
  null,
  true,
  5,
  -1,
  0.5,
  1e308,
  2 ** 53,
  "",
  "x",
  "NaN",
  "https://",
  "javascript:alert(1)",
  "https://example.com/\r\nset-cookie: a=b",
  "\uD800",
  "x".repeat(300),
  "999.1.1.1/99",
  "2030-99-99",
  "Mars/Olympus",
  "25:99",
  "__proto__",
  [],
  [null],
  [5],
  [[["x"]]],
  {},
  { toString: 5, length: 3 },
  { constructor: { prototype: {} } },
];

const NAMES = ["__proto__", "constructor", "hasOwnProperty", "toString", "of_a_later_version"];

type Path = readonly (string | number)[];

/** The paths of all values within a value. */
function pathsIn(value: unknown, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [path];
  const parts = Object.entries(value).flatMap(([name, part]) => pathsIn(part, [...path, name]));
  return path.length === 0 ? parts : [path, ...parts];
}

/**
 * A copy of a message in which the member at a path has another value, or also a member of another
 * name.
 */
function mutate(value: unknown, [name, ...rest]: Path, replacement: unknown): unknown {
  if (name === undefined) return replacement;
  if (Array.isArray(value))
    return value.map((part, i) => (String(i) === name ? mutate(part, rest, replacement) : part));
  const members = Object.entries(value ?? {});
  return Object.fromEntries(
    members.map(([key, part]) => [key, key === name ? mutate(part, rest, replacement) : part]),
  );
}

const insert = (text: string, name: string): string => text.replace("{", `{"${name}":{"a":1},`);

const mutations = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(fc.constant("member" as const), fc.nat(), fc.nat()) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("flip" as const), fc.nat(), fc.nat()) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("cut" as const), fc.nat(), fc.nat()) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("name" as const), fc.nat(), fc.nat()) },
);

function toBytes(
  message: object,
  [kind, where, what]: ["member" | "flip" | "cut" | "name", number, number],
) {
  const bytes = Buffer.from(JSON.stringify(message));
  if (kind === "cut") return bytes.subarray(0, where % bytes.length);
  if (kind === "flip") {
    const at = where % bytes.length;
    bytes[at] = (bytes[at] ?? 0) ^ (1 << (what % 8));
    return bytes;
  }
  if (kind === "name")
    return Buffer.from(insert(bytes.toString(), NAMES[what % NAMES.length] ?? ""));
  const paths = pathsIn(message);
  const changed = mutate(message, paths[where % paths.length] ?? [], VALUES[what % VALUES.length]);
  // JSON has no infinity, but numbers that are read as one.
  return Buffer.from(JSON.stringify(changed).replace("1e+308", "1e999"));
}

const FACTS: RequestFacts = {
  now: () => Date.now(),
  address: () => "203.0.113.9",
  location: () => ({ country: "DE", continent: "EU" }),
  userAgent: () => "Mozilla/5.0",
  agent: () => undefined,
  language: () => "de",
  source: () => "direct",
  parameter: () => ["1"],
};

const PAGES = new ErrorPages().of({ bytes: Buffer.alloc(0), language: { start: 0, end: 0 } });

/** Does with a link what requests for it do. */
function use(record: LinkRecord): void {
  if (record.state === "deleted") return;
  const { destination, extras = {}, host_changed_at: hostChangedAt } = record;
  const query = Buffer.from("a=b");
  forwardQuery(destination, query, { start: 0, end: query.length });
  forwardPath(destination, "/more");
  const { preview, limit } = extras;
  const targets = new Targets(extras);
  targets.choose(FACTS);
  Array.from(targets.explain(FACTS));
  if (preview !== undefined) previewPage(preview, "https://example.com/a");
  if (limit !== undefined) expect(limitSubject(limit.id)).toMatch(/^limits\.[0-9a-f-]{36}$/i);
  const about = {
    destination,
    varies: false,
    title: extras.preview?.title,
    hostChangedAt,
    path: "/a",
  };
  PAGES.about({ ...about, createdAt: creationTimeOf(record.link_id) }, Date.now());
  expect(destination).not.toMatch(/[\r\n]/);
}

/** What a redirector has of the log. */
function createState() {
  const rows = new Map<string, LinkRecord>();
  const cache = new LinkCache(1);
  const takedowns = new Takedowns();
  // As large as that of a redirector, it would take longer to create than all the rest.
  const domains = new DomainSettingsCache(10);
  return {
    apply(record: LinkRecord, message: Uint8Array): void {
      const stored = decodeStoredRecord(encodeStoredRecord(record, message));
      rows.set(keyOf(stored), stored);
      if (isNotice(stored)) {
        takedowns.apply(stored);
        domains.apply(stored.domain, stored);
      } else cache.put(stored);
    },
    read: () => [...rows.values()],
  };
}

/**
 * A record with its ids as they are written, as a flipped bit may change the case of a letter, and
 * with the bytes of its rules.
 */
const toComparable = (record: LinkRecord): object =>
  record.state === "deleted"
    ? record
    : {
        ...record,
        link_id: readUuid(uuidBytes(record.link_id), 0),
        account_id: readUuid(uuidBytes(record.account_id), 0),
        ...(record.extras === undefined ? {} : { extras: withRulesAsBytes(record.extras) }),
      };

/** No rules are as none that are listed. */
function withRulesAsBytes({ rules = [], ...settings }: RedirectSettings): object {
  const encoded = encodeRules(rules);
  const bytes = Buffer.alloc(encoded.size());
  encoded.writeTo(bytes, 0);
  return { ...settings, bytes };
}

function uuidBytes(uuid: Uuid): Buffer {
  const bytes = Buffer.alloc(ID_BYTES);
  writeUuid(bytes, 0, uuid);
  return bytes;
}

const canary = (version: number): ActiveLink => ({ ...plain, version, alias: "canary" });

const toShortLink = ({ domain, alias }: ShortLink): ShortLink => ({ domain, alias });

describe("the states of the log", () => {
  test(
    "apply whole or not at all, whatever became of them, and the next one applies",
    () => {
      let accepted = 0;
      const property = fc.property(fc.nat(), mutations, (which, mutation) => {
        const message = MESSAGES[which % MESSAGES.length] ?? plain;
        const state = createState();
        const apply = (bytes: Uint8Array) => {
          const record = decodeLinkRecord(bytes);
          if (record !== undefined) state.apply(record, bytes);
        };
        const data = toBytes(message, mutation);
        apply(data);
        const decoded = decodeLinkRecord(data);
        const whole = decoded === undefined ? [] : [decoded];
        accepted += whole.length;
        whole.forEach(use);
        // A malformed one names its link, or none at all.
        const key = decodeLinkKey(data);
        if (key !== undefined) expect(shortLinkOfKey(keyOf(key))).toEqual(toShortLink(key));
        expect(state.read().map(toComparable)).toEqual(whole.map(toComparable));
        apply(Buffer.from(JSON.stringify(canary(1))));
        expect(state.read()).toContainEqual(canary(1));
      });
      fc.assert(property, { numRuns: MUTATIONS, includeErrorInReport: true });
      // Mutations that are no faults, such as other texts and names of a later version, are not
      // refused.
      expect(accepted).toBeGreaterThan(MUTATIONS / 20);
      expect(accepted).toBeLessThan(MUTATIONS / 2);
    },
    TIMEOUT_MS,
  );
});
