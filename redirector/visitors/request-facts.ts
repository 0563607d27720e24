/**
 * The facts of a request's visitor, for rules. Each fact is computed once, when a rule first needs
 * it.
 */
import { LRUCache } from "lru-cache";

import type { ByteRange } from "../../shared/bytes.ts";
import { clickTextEnd, decodeText } from "../../shared/contracts/click-text.ts";
import {
  type AgentNames,
  CachedFacts,
  type RequestFacts,
  toAgentNames,
} from "../../shared/decision/facts.ts";
import { preferredLanguage } from "../../shared/decision/language.ts";
import { judgeRequest, type Verdict } from "../../shared/visitors/automation.ts";
import { cached } from "../../shared/visitors/cache.ts";
import type { GeoDatabases, GeoLocation } from "../../shared/visitors/geo.ts";
import { sourceOf } from "../../shared/visitors/referrer.ts";
import { parseAgent } from "../../shared/visitors/user-agent.ts";
import { decodeLatin1 } from "../http/bytes.ts";
import type { RequestHead } from "../http/request.ts";
import { AddressWindow } from "./address-window.ts";

/** Maximum parsed headers in each cache: of up to 1 KiB each, some tens of MB. */
const AGENTS_MAX = 10_000;
const SOURCES_MAX = 2_000;
const LANGUAGES_MAX = 2_000;

/**
 * User agents that are not cached, per network; a site may send `SITE_FACTOR` times as many.
 * Parsing one takes up to 0.15 ms of the event loop, and anybody can make them up.
 */
const NEW_AGENTS = { limit: 300, seconds: 60, keysMax: 50_000 };

/** Longer `Accept-Language` headers are parsed each time. */
const KEPT_LANGUAGE_LENGTH_MAX = 256;

type KnownAgent = AgentNames & { verdict: Verdict };

/** Locates an address; undefined without data. */
export type Locate = (address: string) => GeoLocation | undefined;

/** A request, and values that the handler already has of it. */
type FactsSource = { head: RequestHead; now: number; address: string; host: string };

export class VisitorFactsReader {
  readonly #locate: Locate;
  readonly #agents = new LRUCache<string, KnownAgent>({ max: AGENTS_MAX });
  readonly #newAgents = new AddressWindow(NEW_AGENTS);
  readonly #languageOf = cached(LANGUAGES_MAX, preferredLanguage);
  readonly #sourceOf: (hostAndReferrer: string) => string;
  /** Reused by all requests. */
  readonly #facts: CachedFacts<KnownAgent>;
  #current: FactsSource | undefined;

  /** `ownHosts` are those of the default short domain. */
  constructor(locate: Locate, ownHosts: ReadonlySet<string>) {
    this.#locate = locate;
    this.#sourceOf = cached(SOURCES_MAX, (hostAndReferrer) => {
      const [host = "", ...referrer] = hostAndReferrer.split("\n");
      return sourceOf(decodeText(referrer.join("\n")), host, ownHosts);
    });
    this.#facts = new CachedFacts<KnownAgent>({
      now: () => this.#source.now,
      address: () => this.#source.address,
      location: () => this.#locate(this.#source.address),
      userAgent: () => this.#clickText("userAgent", this.#source.head.userAgent),
      agent: () => this.#readAgent(),
      language: () => this.#readLanguage(),
      source: () => this.#readSource(),
      query: () => this.#readQuery(),
    });
  }

  /** Returns the facts of a request, which are valid until the next call. */
  read(source: FactsSource): RequestFacts {
    this.#current = source;
    this.#facts.forget();
    return this.#facts;
  }

  /** Whether the request is not a person's, or its user agent may not be parsed now. */
  isAutomated(): boolean {
    const agent = this.#facts.agent();
    return agent === undefined || judgeRequest(agent.verdict, this.#source.head).class !== "human";
  }

  get #source(): FactsSource {
    if (this.#current === undefined) throw new Error("No request has been read.");
    return this.#current;
  }

  /** Header values as clicks store them, so that rules and analytics agree. */
  #clickText(kind: "userAgent" | "referrer", range: ByteRange): string {
    const { bytes } = this.#source.head;
    return decodeLatin1(bytes, range.start, clickTextEnd(kind, bytes, range));
  }

  #readLanguage(): string {
    const { bytes, language: range } = this.#source.head;
    const header = decodeLatin1(bytes, range.start, range.end);
    return header.length > KEPT_LANGUAGE_LENGTH_MAX
      ? preferredLanguage(header)
      : this.#languageOf(header);
  }

  /** Parses the user agent; undefined when the visitor's network has sent too many new ones. */
  #readAgent(): KnownAgent | undefined {
    const { head, address } = this.#source;
    const text = this.#clickText("userAgent", head.userAgent);
    const known = this.#agents.get(text);
    if (known !== undefined || this.#newAgents.isExhausted(address)) return known;
    this.#newAgents.consume(address);
    const parsed = parseAgent(decodeText(text));
    const read = { ...toAgentNames(parsed), verdict: parsed.verdict };
    this.#agents.set(text, read);
    return read;
  }

  #readSource(): string {
    const { head, host } = this.#source;
    return this.#sourceOf(`${host}\n${this.#clickText("referrer", head.referrer)}`);
  }

  #readQuery(): string {
    const { bytes, query: range } = this.#source.head;
    return range.start === range.end ? "" : bytes.toString("utf8", range.start, range.end);
  }
}

/** Locates visitors for rules by country and continent. */
export class RuleGeo {
  readonly #geo: GeoDatabases;
  #undetermined = 0;

  constructor(geo: GeoDatabases) {
    this.#geo = geo;
  }

  locate(address: string): GeoLocation | undefined {
    if (!this.#geo.isEmpty) return this.#geo.locate(address);
    this.#undetermined++;
    return undefined;
  }

  /** Number of databases, and how often a rule needed a location without any. */
  stats(): { databases: number; undetermined: number } {
    return { databases: this.#geo.databases().length, undetermined: this.#undetermined };
  }

  /** Why rules by country do not match; undefined if they do, or if no link has any. */
  warning(): string | undefined {
    return this.#undetermined === 0 || !this.#geo.isEmpty
      ? undefined
      : "no GeoIP database (GEOIP_DATABASES): rules by country or continent do not match";
  }
}
