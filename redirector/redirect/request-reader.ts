/**
 * Reads values of the current request and its link, each once: the host, settings, the visitor's
 * facts and address, and the destination. Its objects are reused by all requests, so that a
 * redirect allocates nothing: each is read before the next request is handled.
 */
import { type ByteSlice, sliceToString } from "../../shared/bytes.ts";
import { TrustedProxies } from "../../shared/client-address.ts";
import type { ClickLimit } from "../../shared/contracts/click-limits.ts";
import { clickTextEnd } from "../../shared/contracts/click-text.ts";
import { DEFAULT_DOMAIN } from "../../shared/contracts/link-record.ts";
import { encodeUriPart } from "../../shared/contracts/web-url.ts";
import type { RequestFacts } from "../../shared/decision/facts.ts";
import type { Target } from "../../shared/decision/targets.ts";
import { normalizeHost, ownHosts } from "../../shared/hosts.ts";
import type { CachedLink } from "../../shared/links-store/record.ts";
import { cached } from "../../shared/visitors/cache.ts";
import { type LinkSettings, SettingsCache } from "../cache/settings-cache.ts";
import type { Config } from "../config.ts";
import { decodeLatin1 } from "../http/bytes.ts";
import {
  type IncomingRequest,
  normalizePath,
  type RequestHead,
  toLatin1,
} from "../http/request.ts";
import type { ClickSource } from "../limits/click-limits.ts";
import { type Locate, VisitorFactsReader } from "../visitors/request-facts.ts";
import { suffixOf } from "./beyond-alias.ts";
import type { ShortRequest } from "./decision.ts";
import { forwardPath, forwardQuery } from "./forwarding.ts";

/** A URL: as text, or as the bytes in a link's record. */
export type Location = string | ByteSlice;

export const toText = (location: Location): string =>
  typeof location === "string" ? location : sliceToString(location);

export class RequestReader implements ShortRequest {
  readonly #hosts: HostResolver;
  readonly #proxies: TrustedProxies;
  readonly #facts: VisitorFactsReader;
  readonly #limits: ClickSource;
  readonly #settings = new SettingsCache();
  #current: IncomingRequest | undefined;
  /**
   * The link whose settings were read last, and those settings: a redirect reads them four times.
   */
  #readLink: CachedLink | undefined;
  #readSettings: LinkSettings | undefined;
  /**
   * The request that these facts belong to: a confirmation and the link's rules may both read them.
   */
  #factsRequest: IncomingRequest | undefined;
  #readFacts: RequestFacts | undefined;
  method = "";
  domain: string | undefined;
  now = 0;

  constructor(config: Config, limits: ClickSource, locate: Locate) {
    const hosts = ownHosts(config.SHORT_URL, config.SHORT_HOSTS);
    this.#hosts = new HostResolver(hosts);
    this.#proxies = new TrustedProxies(config.TRUSTED_PROXIES);
    this.#facts = new VisitorFactsReader(locate, hosts);
    this.#limits = limits;
  }

  /**
   * Starts reading a request at a time in Unix milliseconds; must be called before a link is read
   * from the cache for it. The cache returns every link in the same object, and all requests share
   * one, so earlier values are cleared.
   */
  begin(incoming: IncomingRequest, now = incoming.now): this {
    this.#current = incoming;
    this.#readLink = undefined;
    this.#factsRequest = undefined;
    this.method = incoming.head.method;
    this.domain = this.#hosts.resolve(incoming.head.host).domain;
    this.now = now;
    return this;
  }

  /** Decoded only on a miss: the cache is looked up by bytes. */
  get path(): string | undefined {
    const head = this.#current?.head;
    return head === undefined ? undefined : normalizePath(toLatin1(head, head.path));
  }

  get userAgent(): string {
    if (this.#current === undefined) return "";
    const { bytes, userAgent } = this.#current.head;
    return decodeLatin1(bytes, userAgent.start, clickTextEnd("userAgent", bytes, userAgent));
  }

  /** The settings of a link but for its rules; undefined for one without. */
  settingsOf(link: CachedLink): LinkSettings | undefined {
    if (link === this.#readLink) return this.#readSettings;
    this.#readSettings = this.#settings.get(link);
    this.#readLink = link;
    return this.#readSettings;
  }

  /** Whether the path after the alias belongs to the link. */
  forwardsPath(link: CachedLink): boolean {
    return link.settings !== null && this.settingsOf(link)?.settings.forward_path !== undefined;
  }

  isExhausted(limit: ClickLimit): boolean {
    return this.#limits.isExhausted(limit);
  }

  /** The host of a request as clicks record it. */
  hostOf({ host }: RequestHead): string {
    return this.#hosts.resolve(host).host;
  }

  /** The domain that the host of a request resolves to; undefined when nothing is served there. */
  domainOf({ host }: RequestHead): string | undefined {
    return this.#hosts.resolve(host).domain;
  }

  /** The client's address; without `X-Forwarded-For` the peer's, which is normalized. */
  addressOf({ head, peer }: IncomingRequest): string {
    return head.forwardedFor === "" ? peer : this.#proxies.clientOf(peer, head.forwardedFor);
  }

  /** The visitor's facts that rules can use; valid until it is called for another request. */
  factsOf(incoming: IncomingRequest): RequestFacts {
    if (incoming === this.#factsRequest && this.#readFacts !== undefined) return this.#readFacts;
    const { head, now } = incoming;
    const address = this.addressOf(incoming);
    this.#readFacts = this.#facts.read({ head, now, address, host: this.hostOf(head) });
    this.#factsRequest = incoming;
    return this.#readFacts;
  }

  /** Whether a request is not a person's visit, as far as its user agent may be parsed now. */
  isAutomated(incoming: IncomingRequest): boolean {
    this.factsOf(incoming);
    return this.#facts.isAutomated();
  }

  /** The target that replaces the destination for this request; undefined for nearly all links. */
  targetOf(incoming: IncomingRequest, link: CachedLink): Target | undefined {
    if (link.settings === null) return undefined;
    const target = link.rules?.choose(this.factsOf(incoming));
    return target ?? this.settingsOf(link)?.split?.choose(this.factsOf(incoming));
  }

  /** The destination, with the path and query that the link forwards; undefined if too long. */
  locationOf(
    { head }: IncomingRequest,
    link: CachedLink,
    target: Target | undefined,
  ): Location | undefined {
    const destination = this.#withPath(target?.url ?? link.destination, link, head);
    if (destination === undefined) return undefined;
    if (!link.forward_query || head.query.start === head.query.end) return destination;
    return forwardQuery(toText(destination), head.bytes, head.query);
  }

  /** The destination, with the path after the alias if the link forwards it. */
  #withPath(destination: Location, link: CachedLink, head: RequestHead): Location | undefined {
    if (link.settings === null || this.settingsOf(link)?.settings.forward_path !== "append")
      return destination;
    const suffix = encodeUriPart(suffixOf(toLatin1(head, head.path)));
    return suffix === "" ? destination : forwardPath(toText(destination), suffix);
  }
}

/** A host as clicks record it, and its domain; undefined when nothing is served there. */
type HostResolution = { host: string; domain: string | undefined };

const HOSTS_MAX = 5_000;

const CUSTOM_HOST = /^[a-z0-9-]+(\.[a-z0-9-]+)+$/;

class HostResolver {
  readonly #resolutionOf: (host: string) => HostResolution;
  // Nearly always the next request has the same host.
  #lastHost = "";
  #lastResolution: HostResolution = { host: "", domain: undefined };

  /** `hosts` are those of the default short domain. */
  constructor(hosts: ReadonlySet<string>) {
    this.#resolutionOf = cached(HOSTS_MAX, (host: string) => {
      const name = normalizeHost(host);
      const custom = CUSTOM_HOST.test(name) ? name : undefined;
      return { host: name, domain: hosts.has(name) ? DEFAULT_DOMAIN : custom };
    });
  }

  resolve(host: string): HostResolution {
    if (host === this.#lastHost) return this.#lastResolution;
    this.#lastHost = host;
    this.#lastResolution = this.#resolutionOf(host);
    return this.#lastResolution;
  }
}
