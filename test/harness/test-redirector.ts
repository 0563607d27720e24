/**
 * A redirector whose links, settings and limits a test sets, and which notes what it records:
 * without a socket, a store or a journal.
 */
import { expect, spyOn } from "bun:test";

import { DomainSettingsCache } from "../../redirector/cache/domain-settings.ts";
import { LinkCache } from "../../redirector/cache/link-cache.ts";
import { Takedowns } from "../../redirector/cache/takedowns.ts";
import { RequestHeadParser } from "../../redirector/http/request-head-parser.ts";
import type { RequestHead } from "../../redirector/http/request.ts";
import type { RedirectorResponse } from "../../redirector/http/response.ts";
import type { ClickOutcome } from "../../redirector/limits/holdings.ts";
import { ErrorPages, type LanguagePages } from "../../redirector/pages/error-pages.ts";
import { PasswordCheck } from "../../redirector/passwords/password.ts";
import { Redirector } from "../../redirector/redirect/redirector.ts";
import { sliceToString } from "../../shared/bytes.ts";
import { type Click, decodeClick } from "../../shared/contracts/click-record.ts";
import type { ActiveLink, LinkRecord } from "../../shared/contracts/link-record.ts";
import { DOMAIN_ALIAS, domainNotice, type DomainSettings } from "../../shared/contracts/notices.ts";
import { redirectorConfig } from "./redirector-config.ts";
import { encodeRecord } from "./segments.ts";

export const LINK: ActiveLink = {
  state: "active",
  version: 1,
  domain: "",
  alias: "abc",
  link_id: "0190a5a2-0000-7000-8000-000000000001",
  account_id: "0190a5a2-0000-7000-8000-000000000002",
  mode: "test",
  destination: "https://example.com/a",
  expires_at: null,
  password_hash: null,
  forward_query: false,
};

/** Headers of a posted form. */
export const FORM = { "content-type": "application/x-www-form-urlencoded" };

const CONFIG = redirectorConfig({
  TRUSTED_PROXIES: ["127.0.0.1"],
  ABOUT_PAGE_OFF_HOSTS: ["off.example.com"],
  LINK_UNLOCK_SECRET: "a secret of the test",
});

type Request = {
  method?: string;
  host?: string;
  fields?: Record<string, string>;
  body?: string;
  peer?: string;
};

export class TestRedirector {
  /** The links of the store, of which none is cached, and the settings of domains. */
  links: ActiveLink[] = [LINK];
  settings = new Map<string, DomainSettings>();
  /** Whether reading the store could take long, the store lacks links, or the process is behind. */
  isSlow = true;
  isBroken = false;
  isBehind = false;
  /** Every look-up in the log waits for this. */
  fetchGate: Promise<void> = Promise.resolve();
  /** What the limits of links leave. */
  takeClick: (limit: string) => ClickOutcome | Promise<ClickOutcome> = () => "taken";
  cache = new LinkCache(1024 ** 2);
  takedowns = new Takedowns();
  readonly clicks: Click[] = [];
  readonly failures: string[][] = [];
  /** What was looked up in the log. */
  readonly fetched: string[] = [];
  /** How often the language of a visitor was asked for. */
  languagesAsked = 0;
  readonly #redirector: Redirector;

  /** With these links in its store. */
  constructor(...links: ActiveLink[]) {
    if (links.length > 0) this.links = links;
    const passwords = new PasswordCheck();
    spyOn(passwords, "check").mockImplementation(async (_link, { password }) =>
      password === "right" ? "right" : "wrong",
    );
    this.#redirector = new Redirector(CONFIG, {
      cache: this.cache,
      links: {
        find: (domain, alias) => (this.isSlow ? undefined : (this.#find(domain, alias) ?? null)),
        fetch: async (domain, alias) => {
          this.fetched.push(`${domain}/${alias}`);
          await this.fetchGate;
          if (this.isBroken) throw new Error("The store lacks links.");
          return this.#find(domain, alias);
        },
      },
      domains: new DomainSettingsCache(),
      takedowns: this.takedowns,
      journal: {
        append: (click) => {
          const bytes = encodeRecord(click);
          const decoded = decodeClick(bytes, { start: 0, end: bytes.length });
          if (decoded !== undefined) this.clicks.push(decoded);
        },
        commit: () => undefined,
      },
      passwords,
      isBehind: () => this.isBehind,
      limits: {
        take: (limit) => this.takeClick(limit.id),
        look: () => false,
        isExhausted: () => false,
      },
      failures: {
        countLink: ({ reason, mode, domain }) => void this.failures.push([reason, mode, domain]),
        countUnknownAlias: (domain, alias) =>
          void this.failures.push(["unknown_alias", domain, alias]),
      },
      pages: new CountedPages(() => this.languagesAsked++),
      locate: () => undefined,
    });
  }

  request(
    path: string,
    { method = "GET", host = "sho.rt", fields = {}, body = "", peer = "127.0.0.1" }: Request = {},
  ): RedirectorResponse | Promise<RedirectorResponse> {
    const lines = Object.entries({ host, "content-length": body.length, ...fields });
    const text = `${method} ${path} HTTP/1.1\r\n${lines.map(([n, v]) => `${n}: ${v}\r\n`).join("")}\r\n`;
    const bytes = Buffer.from(text + body);
    const parser = new RequestHeadParser();
    const { head } = parser;
    expect(parser.parse(bytes, 0)).toEqual({ kind: "complete" });
    const form = { bytes, start: head.length, end: bytes.length };
    return this.#redirector.handle({ head, body: form, now: Date.now(), peer });
  }

  /** Posts a form. */
  async post(path: string, body: string, request: Request = {}): Promise<RedirectorResponse> {
    return await this.request(path, { method: "POST", body, fields: FORM, ...request });
  }

  /** Responds without waiting for anything, or fails. */
  atOnce(...request: [path: string, request?: Request]): RedirectorResponse {
    const response = this.request(...request);
    if (response instanceof Promise) throw new Error("It waits.");
    return response;
  }

  async statusOf(...request: [path: string, request?: Request]): Promise<number> {
    return (await this.request(...request)).status;
  }

  /** Where a request leads; undefined for a page. */
  async locationOf(...request: [path: string, request?: Request]): Promise<string | undefined> {
    return locationIn(await this.request(...request));
  }

  async pageOf(...request: [path: string, request?: Request]): Promise<string> {
    return pageIn(await this.request(...request));
  }

  #find(domain: string, alias: string): LinkRecord | undefined {
    const settings = alias === DOMAIN_ALIAS ? this.settings.get(domain) : undefined;
    if (settings !== undefined) return domainNotice(domain, settings, LINK.account_id);
    const found = this.links.find((known) => known.domain === domain && known.alias === alias);
    if (found?.state === "active") this.cache.put(found);
    return found;
  }
}

class CountedPages extends ErrorPages {
  readonly #onAsked: () => void;

  constructor(onAsked: () => void) {
    super();
    this.#onAsked = onAsked;
  }

  override of(head: RequestHead): LanguagePages {
    this.#onAsked();
    return super.of(head);
  }
}

export function locationIn(response: RedirectorResponse): string | undefined {
  if (!("location" in response)) return response.headers["location"];
  const { location } = response;
  return typeof location === "string" ? location : sliceToString(location);
}

export const pageIn = (response: RedirectorResponse): string =>
  "body" in response ? response.body.toString() : "";

export const headerIn = (response: RedirectorResponse | undefined, name: string): string =>
  response !== undefined && "headers" in response ? (response.headers[name] ?? "") : "";
