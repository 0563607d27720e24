/**
 * The facts of the current request, for rules. Each is computed once, when a rule first needs it.
 */
import { LRUCache } from "lru-cache";

import type { ByteRange } from "../../shared/bytes.ts";
import { clickTextEnd, decodeText } from "../../shared/contracts/click-text.ts";
import {
  type AgentNames,
  rememberFacts,
  type RequestFacts,
  toAgentNames,
} from "../../shared/decision/facts.ts";
import { preferredLanguage } from "../../shared/decision/language.ts";
import { judgeRequest, type Verdict } from "../../shared/visitors/automation.ts";
import { cached } from "../../shared/visitors/cache.ts";
import type { GeoLocation } from "../../shared/visitors/geo.ts";
import { sourceOf } from "../../shared/visitors/referrer.ts";
import { parseAgent } from "../../shared/visitors/user-agent.ts";
import { decodeLatin1 } from "../http/bytes.ts";
import type { RequestHead } from "../http/request-head.ts";
import { createAddressWindow } from "./address-window.ts";

/**
 * Maximum headers whose parsed form is cached. A text has up to 1 KiB, so all take at most a few
 * tens of MB.
 */
const AGENTS_MAX = 10_000;
const SOURCES_MAX = 2_000;
const LANGUAGES_MAX = 2_000;

/**
 * User agents that are not cached, per network; a site may send ten times as many (`SITE_FACTOR`).
 * Parsing one takes up to 0.15 ms of the event loop, and anybody can make them up.
 */
const NEW_AGENTS = { limit: 300, seconds: 60, keysMax: 50_000 };

/** Longer `Accept-Language` headers are parsed each time. */
const KEPT_LANGUAGE_LENGTH_MAX = 256;

/** The visitor's facts that the redirector uses, beyond those for rules. */
export type VisitorFacts = RequestFacts<KnownAgent> & {
  /** Whether the request is not a person's visit, or its user agent may not be parsed now. */
  isAutomated(): boolean;
};

type KnownAgent = AgentNames & { verdict: Verdict };

/** Locates an address; undefined without data. */
export type Locate = (address: string) => GeoLocation | undefined;

/** A request, and values that the handler already has of it. */
type FactsSource = { head: RequestHead; now: number; address: string; host: string };

type FactsDeps = {
  locate: Locate;
  /** Hosts of the default short domain. */
  ownHosts: ReadonlySet<string>;
};

/** Returns a function for the facts of a request; they are valid until it is called again. */
export function createRequestFacts({
  locate,
  ownHosts,
}: FactsDeps): (source: FactsSource) => VisitorFacts {
  const agents = new LRUCache<string, KnownAgent>({ max: AGENTS_MAX });
  const newAgents = createAddressWindow(NEW_AGENTS);
  const languageOf = cached(LANGUAGES_MAX, preferredLanguage);
  const sources = cached(SOURCES_MAX, (hostAndReferrer: string) => {
    const [host = "", ...referrer] = hostAndReferrer.split("\n");
    return sourceOf(decodeText(referrer.join("\n")), host, ownHosts);
  });
  let current: FactsSource;

  /** Header values as clicks store them, so that rules and analytics agree. */
  const clickText = (kind: "userAgent" | "referrer", { start, end }: ByteRange): string => {
    const { bytes } = current.head;
    return decodeLatin1(bytes, start, clickTextEnd(kind, bytes, { start, end }));
  };

  function readLanguage(): string {
    const { bytes, language: range } = current.head;
    const header = decodeLatin1(bytes, range.start, range.end);
    return header.length > KEPT_LANGUAGE_LENGTH_MAX
      ? preferredLanguage(header)
      : languageOf(header);
  }

  /** Parses the user agent; undefined when the visitor's network has sent too many new ones. */
  function readAgent(): KnownAgent | undefined {
    const text = clickText("userAgent", current.head.userAgent);
    const known = agents.get(text);
    if (known !== undefined || newAgents.exhausted(current.address)) return known;
    newAgents.consume(current.address);
    const parsed = parseAgent(decodeText(text));
    const read = { ...toAgentNames(parsed), verdict: parsed.verdict };
    agents.set(text, read);
    return read;
  }

  function readQuery(): string {
    const { bytes, query: range } = current.head;
    return range.start === range.end ? "" : bytes.toString("utf8", range.start, range.end);
  }

  const { facts, forget } = rememberFacts<KnownAgent>({
    now: () => current.now,
    address: () => current.address,
    location: () => locate(current.address),
    userAgent: () => clickText("userAgent", current.head.userAgent),
    agent: readAgent,
    language: readLanguage,
    source: () => sources(`${current.host}\n${clickText("referrer", current.head.referrer)}`),
    query: readQuery,
  });
  const visitorFacts: VisitorFacts = {
    ...facts,
    isAutomated() {
      const agent = facts.agent();
      return agent === undefined || judgeRequest(agent.verdict, current.head).class !== "human";
    },
  };

  return (source) => {
    current = source;
    forget();
    return visitorFacts;
  };
}
