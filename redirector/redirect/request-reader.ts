/**
 * Reads values of the current request and its link, each once: settings, the visitor's facts and
 * address. Its objects are reused by all requests, so that a redirect allocates nothing: each is
 * read before the next request is handled.
 */
import type { ClientAddress } from "../../shared/client-address.ts";
import { clickTextEnd } from "../../shared/contracts/click-text.ts";
import type { CachedLink } from "../../shared/links-store/record.ts";
import { createSettingsCache, type SettingsOf } from "../cache/settings-cache.ts";
import { decodeLatin1 } from "../http/bytes.ts";
import { normalizePath } from "../http/path.ts";
import { type IncomingRequest, toLatin1 } from "../http/request.ts";
import { createRequestFacts, type Locate, type VisitorFacts } from "../visitors/request-facts.ts";
import type { ShortRequest } from "./decision.ts";
import type { ResolveHost } from "./hosts.ts";

type ReaderDeps = {
  resolveHost: ResolveHost;
  clientAddress: ClientAddress;
  locate: Locate;
  /** Hosts of the default short domain. */
  ownHosts: ReadonlySet<string>;
};

export type RequestReader = {
  /**
   * Starts reading a request on a domain; must be called before a link is read from the cache for
   * it.
   */
  begin(incoming: IncomingRequest, domain: string | undefined): ShortRequest;
  /** The settings of a link but for its rules; undefined for one without. */
  settingsOf(link: CachedLink): ReturnType<SettingsOf>;
  /** The visitor's facts that rules can use; valid until it is called for another request. */
  factsOf(incoming: IncomingRequest): VisitorFacts;
  /** The client's address. */
  addressOf(incoming: IncomingRequest): string;
};

export function createRequestReader(deps: ReaderDeps): RequestReader {
  const { resolveHost, clientAddress } = deps;
  const cachedSettingsOf = createSettingsCache();
  const readFacts = createRequestFacts(deps);
  let current: IncomingRequest;
  /**
   * The link whose settings were read last, and those settings: a redirect reads them four times.
   */
  let readLink: CachedLink | undefined;
  let readSettings: ReturnType<SettingsOf>;
  /**
   * The request that these facts belong to: a confirmation and the link's rules may both read them.
   */
  let factsRequest: IncomingRequest | undefined;
  let facts: VisitorFacts;
  const shortRequest: ShortRequest = {
    method: "",
    domain: "",
    // Decoded only on a miss: the cache is looked up by bytes.
    get path() {
      return normalizePath(toLatin1(current.head, current.head.path));
    },
    get userAgent() {
      const { bytes, userAgent } = current.head;
      return decodeLatin1(bytes, userAgent.start, clickTextEnd("userAgent", bytes, userAgent));
    },
  };

  /** Without `X-Forwarded-For` the peer, whose address was normalized when it connected. */
  const addressOf = ({ head, peer }: IncomingRequest): string =>
    head.forwardedFor === "" ? peer : clientAddress(peer, head.forwardedFor);

  return {
    // The cache returns every link in the same object, and all requests share one, so earlier
    // values are cleared.
    begin(incoming, domain) {
      current = incoming;
      readLink = undefined;
      factsRequest = undefined;
      shortRequest.method = incoming.head.method;
      shortRequest.domain = domain;
      return shortRequest;
    },
    settingsOf(link) {
      if (link === readLink) return readSettings;
      readSettings = cachedSettingsOf(link);
      readLink = link;
      return readSettings;
    },
    factsOf(incoming) {
      if (incoming === factsRequest) return facts;
      const { head, now } = incoming;
      const { host } = resolveHost(head.host);
      facts = readFacts({ head, now, address: addressOf(incoming), host });
      factsRequest = incoming;
      return facts;
    },
    addressOf,
  };
}
